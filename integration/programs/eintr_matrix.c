/* One thread for each call that a stop may disturb, none with a signal handler.
 *
 *   eintr_matrix SECONDS
 *
 * Each waits 20 ms in its call, again and again.
 * Truth: stdout, a line a call: "<call> calls <n> eintr <n> early <n> short <n>". Unprofiled all
 * but calls are 0: early are those whose time was over before 12 ms (the kernel counts some of
 * these times in clock ticks of up to 4 ms), short those that transferred less than they had to.
 */
#define _GNU_SOURCE
#include "truth.h"
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define MS 1000000ull
#define EARLY_NS (12 * MS)
static const struct timespec wait_20 = {0, 20000000};
static volatile int stop;

struct row { const char *name; int (*call)(struct row *); int fd[2], calls, eintr, early, cut; };

static int epoll_of(struct row *row) {
    if (!row->fd[0]) row->fd[0] = epoll_create1(0);
    return row->fd[0];
}
static void pair(struct row *row, int option) {
    struct timeval wait = {0, 20000};
    if (row->fd[0]) return;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, row->fd)) _exit(1);
    if (option && setsockopt(row->fd[0], SOL_SOCKET, option, &wait, sizeof wait)) _exit(1);
}
static int in_epoll_wait(struct row *row) {
    struct epoll_event got;
    return epoll_wait(epoll_of(row), &got, 1, 20);
}
static int in_epoll_pwait2(struct row *row) {
    struct epoll_event got;
    return (int)syscall(SYS_epoll_pwait2, epoll_of(row), &got, 1, &wait_20, NULL, 8);
}
static int in_semtimedop(struct row *row) {
    struct sembuf take = {0, -1, 0};
    if (!row->fd[0]) row->fd[0] = semget(IPC_PRIVATE, 1, 0600) + 1;
    return semtimedop(row->fd[0] - 1, &take, 1, &wait_20);
}
static int in_sigtimedwait(struct row *row) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return sigtimedwait(&set, NULL, &wait_20) < 0 ? -1 : row->calls;
}
static int in_io_getevents(struct row *row) {
    static aio_context_t context;
    struct io_event got;
    struct timespec wait = wait_20;
    if (!context && syscall(SYS_io_setup, 1, &context)) _exit(1);
    return (int)syscall(SYS_io_getevents, context, 1L, 1L, &got, &wait) < 0 ? -1 : row->calls * 0;
}
static int in_recv_timeo(struct row *row) {
    char c;
    pair(row, SO_RCVTIMEO);
    return (int)recv(row->fd[0], &c, 1, 0);
}
static int in_accept_timeo(struct row *row) {
    struct timeval wait = {0, 20000};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (!row->fd[0]) {
        row->fd[0] = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(row->fd[0], (void *)&name, sizeof(sa_family_t)) || listen(row->fd[0], 1)) _exit(1);
        if (setsockopt(row->fd[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait)) _exit(1);
    }
    return accept(row->fd[0], NULL, NULL);
}
static int in_send_timeo(struct row *row) {
    char bytes[4096] = {0};
    pair(row, SO_SNDTIMEO);
    while (send(row->fd[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) { }
    return (int)send(row->fd[0], bytes, sizeof bytes, 0);
}
static void *feed(void *arg) {
    struct row *row = arg;
    while (!stop) {
        sleep_ns(5 * MS);
        if (send(row->fd[1], "four", 4, MSG_NOSIGNAL) < 0) break;
    }
    shutdown(row->fd[1], SHUT_RDWR);
    return NULL;
}
/* Answers 0, as if its time were over, when it got all. */
static int in_recv_waitall(struct row *row) {
    char bytes[12];
    if (!row->fd[0]) {
        pthread_t feeder;
        pair(row, 0);
        if (pthread_create(&feeder, NULL, feed, row)) _exit(1);
    }
    ssize_t got = recv(row->fd[0], bytes, sizeof bytes, MSG_WAITALL);
    if (got > 0 && got < (ssize_t)sizeof bytes && !stop) row->cut++;
    return got < 0 ? -1 : 1;
}
static int in_poll(struct row *row) { return poll(NULL, 0, 20) + row->calls * 0; }
static int in_select(struct row *row) {
    struct timeval wait = {0, 20000};
    return select(0, NULL, NULL, NULL, &wait) + row->calls * 0;
}
static int in_nanosleep(struct row *row) { return nanosleep(&wait_20, NULL) + row->calls * 0; }
static int in_futex(struct row *row) {
    static int word;
    return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_20, NULL, 0) + row->calls * 0;
}
static int in_sem_timedwait(struct row *row) {
    static sem_t never;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) { until.tv_nsec -= 1000000000; until.tv_sec++; }
    return sem_timedwait(&never, &until) + row->calls * 0;
}

#define ROW(call) {#call, in_##call, {0, 0}, 0, 0, 0, 0}
static struct row rows[] = {
    ROW(epoll_wait), ROW(epoll_pwait2), ROW(semtimedop), ROW(sigtimedwait), ROW(io_getevents),
    ROW(recv_timeo), ROW(accept_timeo), ROW(send_timeo), ROW(recv_waitall), ROW(poll), ROW(select),
    ROW(nanosleep), ROW(futex), ROW(sem_timedwait),
};
#define ROWS (sizeof rows / sizeof *rows)

static void *run(void *arg) {
    struct row *row = arg;
    while (!stop) {
        uint64_t begin = now();
        int got = row->call(row);
        uint64_t took = now() - begin;
        if (stop) break;
        row->calls++;
        if (got < 0 && errno == EINTR) row->eintr++;
        else if (got <= 0 && took < EARLY_NS) row->early++;
    }
    return NULL;
}
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t threads[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        if (pthread_create(&threads[i], NULL, run, &rows[i])) return 1;
    sleep_ns((uint64_t)(atof(argv[1]) * 1e9));
    stop = 1;
    for (size_t i = 0; i < ROWS; i++) pthread_join(threads[i], NULL);
    semctl(rows[2].fd[0] - 1, 0, IPC_RMID);
    for (size_t i = 0; i < ROWS; i++)
        say("%s calls %d eintr %d early %d short %d\n", rows[i].name, rows[i].calls, rows[i].eintr,
            rows[i].early, rows[i].cut);
    return 0;
}

/* Threads that are each blocked in a system call of a known name until the time is over.
 *
 *   blocked SECONDS
 *
 * Truth: stdout, one line a thread, "TID CALL BEGIN END" (CLOCK_MONOTONIC, ns): from BEGIN to END
 * the thread did nothing but wait in CALL. The main thread waits for a child that sleeps.
 */
#include "truth.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static uint64_t length;
static int pipes[2], pairs[2], listener;

static struct timespec whole(void) {
    return (struct timespec){(time_t)(length / 1000000000ull), (long)(length % 1000000000ull)};
}
static void in_poll(void) {
    struct pollfd wanted = {pipes[0], POLLIN, 0};
    syscall(SYS_poll, &wanted, 1, (int)(length / 1000000));
}
static void in_ppoll(void) {
    struct pollfd wanted = {pipes[0], POLLIN, 0};
    struct timespec t = whole();
    syscall(SYS_ppoll, &wanted, 1, &t, NULL, 8);
}
static void in_select(void) {
    struct timeval t = {(time_t)(length / 1000000000ull), 0};
    t.tv_usec = (long)(length % 1000000000ull / 1000);
    syscall(SYS_select, 0, NULL, NULL, NULL, &t);
}
static void in_epoll(void) {
    int poll = epoll_create1(0);
    struct epoll_event got;
    syscall(SYS_epoll_wait, poll, &got, 1, -1);
}
static void in_nanosleep(void) {
    struct timespec t = whole();
    syscall(SYS_nanosleep, &t, NULL);
}
static void in_clock_nanosleep(void) {
    struct timespec t = whole();
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}
static void in_futex(void) {
    static int word;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}
static void in_timed_futex(void) {
    static int word;
    struct timespec t = whole();
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}
static void in_read(void) {
    char byte;
    syscall(SYS_read, pipes[0], &byte, 1);
}
static void in_accept(void) { syscall(SYS_accept, listener, NULL, NULL); }
static void in_recv(void) {
    char byte;
    syscall(SYS_recvfrom, pairs[0], &byte, 1, 0, NULL, NULL);
}
static void in_pause(void) { syscall(SYS_pause); }

static const struct { const char *call; void (*wait)(void); } kinds[] = {
    {"poll", in_poll}, {"ppoll", in_ppoll}, {"select", in_select}, {"epoll_wait", in_epoll},
    {"nanosleep", in_nanosleep}, {"clock_nanosleep", in_clock_nanosleep}, {"futex", in_futex},
    {"futex", in_timed_futex}, {"read", in_read}, {"accept", in_accept}, {"recvfrom", in_recv},
    {"pause", in_pause},
};
enum { KINDS = sizeof kinds / sizeof *kinds };
static int tids[KINDS];

static void *wait_in(void *arg) {
    long kind = (long)arg;
    __atomic_store_n(&tids[kind], (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    kinds[kind].wait();
    return NULL;
}
/* Whether a thread sleeps: then it is in its call. */
static int sleeps(int tid) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    int file = open(path, O_RDONLY);
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) _exit(98);
    text[count] = 0;
    char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}
int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: blocked SECONDS\n"); return 2; }
    length = (uint64_t)(atof(argv[1]) * 1e9);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr name = {.sa_family = AF_UNIX};
    if (pipe(pipes) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pairs) != 0) return 98;
    /* A name of the kernel's choice: only the family is given. */
    if (bind(listener, &name, sizeof(sa_family_t)) != 0 || listen(listener, 1) != 0) return 98;
    /* Nobody waits for less than the length from here on. */
    uint64_t end = now() + length;
    pid_t child = fork();
    if (child < 0) return 98;
    if (child == 0) {
        sleep_ns(length);
        _exit(0);
    }
    for (long kind = 0; kind < KINDS; kind++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_in, (void *)kind) != 0) return 98;
    }
    for (int kind = 0; kind < KINDS; kind++)
        for (int tid; (tid = __atomic_load_n(&tids[kind], __ATOMIC_ACQUIRE)) == 0 || !sleeps(tid);)
            sleep_ns(1000000);
    uint64_t begin = now();
    if (begin >= end || syscall(SYS_wait4, child, NULL, 0, NULL) != child) return 98;
    for (int kind = 0; kind < KINDS; kind++)
        say("%d %s %llu %llu\n", tids[kind], kinds[kind].call, (unsigned long long)begin,
            (unsigned long long)end);
    say("%d wait4 %llu %llu\n", (int)getpid(), (unsigned long long)begin, (unsigned long long)end);
    exit(0);
}

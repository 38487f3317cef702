/* Threads that spin, nap, wait in epoll and poll with timeouts, do all of these in turn, and sleep
 * for long.
 *
 *   wakes FOLDER SECONDS
 *
 * Truth: FOLDER/<pid>.<tid>, one CLOCK_MONOTONIC time in ns a line at which the thread ran: at
 * each of its wakes, and every 20 us while it spins. Stdout: "interrupted N early N late N": waits
 * that failed with EINTR, ended before their time, and ended half a second after it.
 */
#include "truth.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

enum { THREADS = 16, TIMES = 1 << 20 };
static const char *folder;
static uint64_t end;
static int interrupted, early, late;

struct log { uint64_t *times; int count; uint32_t seed; };

static void ran(struct log *log) {
    if (log->count < TIMES) log->times[log->count++] = now();
}
static uint32_t dice(struct log *log) {
    log->seed = log->seed * 1664525u + 1013904223u;
    return log->seed >> 16;
}
static void add(int *to) { __atomic_add_fetch(to, 1, __ATOMIC_RELAXED); }

static FRAME void spin(struct log *log, uint64_t ns) {
    for (uint64_t until = now() + ns; now() < until;) {
        ran(log);
        for (uint64_t next = now() + 20000; now() < next;) { }
    }
}
static FRAME void wait_for(struct log *log, int kind, int poll_fd, int ms) {
    struct epoll_event got;
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    uint64_t begin = now();
    int failed = kind == 0 ? nanosleep(&time, NULL)
               : kind == 1 ? epoll_wait(poll_fd, &got, 1, ms)
                           : poll(NULL, 0, ms);
    uint64_t waited = now() - begin;
    ran(log);
    if (failed < 0 && errno == EINTR) add(&interrupted);
    else if (waited < (uint64_t)ms * 1000000) add(&early);
    else if (waited > (uint64_t)ms * 1000000 + 500000000) add(&late);
}
static void *work(void *arg) {
    long number = (long)arg;
    struct log log = {calloc(TIMES, sizeof(uint64_t)), 0, (uint32_t)number};
    int poll_fd = epoll_create1(0);
    while (now() < end) {
        if (number == 0) spin(&log, 5000000);
        else if (number < 10) wait_for(&log, (int)number % 3, poll_fd, 1 + dice(&log) % 8);
        else if (number < 13) {
            spin(&log, dice(&log) % 1000000);
            wait_for(&log, dice(&log) % 3, poll_fd, 1 + dice(&log) % 30);
        } else wait_for(&log, (int)number % 3, poll_fd, 300);
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%ld", folder, getpid(), syscall(SYS_gettid));
    FILE *file = fopen(path, "w");
    for (int i = 0; i < log.count; i++) fprintf(file, "%llu\n", (unsigned long long)log.times[i]);
    fclose(file);
    return arg;
}
int main(int argc, char **argv) {
    if (argc != 3) return 2;
    folder = argv[1];
    end = now() + (uint64_t)(atof(argv[2]) * 1e9);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    say("interrupted %d early %d late %d\n", interrupted, early, late);
    return 0;
}

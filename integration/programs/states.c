/* Threads that each do one thing all the time, and know how much CPU time it took.
 *
 *   states SECONDS
 *
 * `spin` computes, `sleep` is in one long sleep, `pipe` reads from a pipe that nobody writes to,
 * `fight` and its rival take one lock in turns, `yield` calls sched_yield, and `duty` works for
 * exactly 1 ms of every 10 ms on an absolute timer.
 * Truth: stdout, one line a thread, "TID NAME BEGIN END CPU": from BEGIN to END (CLOCK_MONOTONIC,
 * ns) it used CPU ns (CLOCK_THREAD_CPUTIME_ID, which getrusage(RUSAGE_THREAD) adds up too).
 */
#include "truth.h"
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

static uint64_t deadline;
static int ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
static void until(uint64_t time) {
    struct timespec t = {(time_t)(time / 1000000000ull), (long)(time % 1000000000ull)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) { }
}
static FRAME void spin(void) { while (now() < deadline) { } }
static FRAME void in_sleep(void) { until(deadline); }
static FRAME void in_pipe(void) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) _exit(98);
}
static FRAME void fight(void) {
    while (now() < deadline) {
        pthread_mutex_lock(&lock);
        uint64_t end = now() + 200000;
        while (now() < end) { }
        pthread_mutex_unlock(&lock);
    }
}
static FRAME void yield(void) { while (now() < deadline) syscall(SYS_sched_yield); }
static FRAME void duty(void) {
    for (uint64_t turn = now(); turn < deadline; turn += 10000000) {
        until(turn);
        /* By its own CPU time: what others take of the CPU does not make it work less. */
        for (uint64_t end = used() + 1000000; used() < end;) { }
    }
}
static const struct { const char *name; void (*run)(void); } kinds[] = {
    {"spin", spin}, {"sleep", in_sleep}, {"pipe", in_pipe}, {"fight", fight}, {"fight", fight},
    {"yield", yield}, {"duty", duty},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void *run(void *arg) {
    long kind = (long)arg;
    pthread_setname_np(pthread_self(), kinds[kind].name);
    uint64_t begin = now(), before = used();
    kinds[kind].run();
    uint64_t cpu = used() - before;
    say("%d %s %llu %llu %llu\n", (int)syscall(SYS_gettid), kinds[kind].name,
        (unsigned long long)begin, (unsigned long long)now(), (unsigned long long)cpu);
    return NULL;
}
int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: states SECONDS\n"); return 2; }
    deadline = now() + (uint64_t)(atof(argv[1]) * 1e9);
    if (pipe(ends) != 0) return 98;
    pthread_t threads[KINDS];
    for (long kind = 0; kind < KINDS; kind++)
        if (pthread_create(&threads[kind], NULL, run, (void *)kind) != 0) return 98;
    until(deadline);
    if (write(ends[1], "x", 1) != 1) return 98;
    for (int kind = 0; kind < KINDS; kind++) pthread_join(threads[kind], NULL);
    return 0;
}

/* A program that can say at any time whether all of it still runs.
 *
 *   steady PROCESSES
 *
 * Each process has three threads: its main thread (waiting), "spinner" (in spin) and "sleeper"
 * (in rest, an epoll_wait of 5 ms at a time).
 * Truth: stdout. "ready <pid>" once every thread has begun; for each line on stdin, "alive" once
 * every spinner and sleeper of every process has made progress since that line was read; at the
 * end of stdin, "done" and exit status 0 after every thread and process has ended. A call that is
 * answered otherwise than by its result, or by EINTR, makes the exit status 1.
 */
#include "truth.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PROCESSES_MAX 16

static struct { atomic_ulong steps[PROCESSES_MAX][2]; atomic_int stop; } *shared;
static int processes;

static FRAME void spin(atomic_ulong *steps) {
    while (!shared->stop) (*steps)++;
}
static FRAME void rest(atomic_ulong *steps, int epoll) {
    struct epoll_event event;
    while (!shared->stop) {
        int got = epoll_wait(epoll, &event, 1, 5);
        if (got > 0 || (got < 0 && errno != EINTR)) _exit(1);
        (*steps)++;
    }
}
static void *spinner(void *arg) {
    pthread_setname_np(pthread_self(), "spinner");
    spin(&shared->steps[(uintptr_t)arg][0]);
    return NULL;
}
static void *sleeper(void *arg) {
    pthread_setname_np(pthread_self(), "sleeper");
    int epoll = epoll_create1(0);
    rest(&shared->steps[(uintptr_t)arg][1], epoll);
    close(epoll);
    return NULL;
}
static void wait_for_progress(void) {
    unsigned long before[PROCESSES_MAX][2];
    memcpy(before, shared->steps, sizeof before);
    for (int p = 0; p < processes; p++)
        for (int t = 0; t < 2; t++)
            while (shared->steps[p][t] == before[p][t]) sleep_ns(500000);
}
static void obey(void) {
    char c;
    wait_for_progress();
    say("ready %d\n", getpid());
    for (ssize_t got; (got = read(0, &c, 1)) != 0;) {
        if (got < 0 && errno != EINTR) _exit(1);
        if (got == 1 && c == '\n') { wait_for_progress(); say("alive\n"); }
    }
    shared->stop = 1;
}
static void live(int p) {
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, spinner, (void *)(uintptr_t)p)
        || pthread_create(&threads[1], NULL, sleeper, (void *)(uintptr_t)p)) _exit(1);
    if (p == 0) obey();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
int main(int argc, char **argv) {
    processes = argc == 2 ? atoi(argv[1]) : 0;
    if (processes < 1 || processes > PROCESSES_MAX) return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    for (int p = 1; p < processes; p++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed root leaves nothing behind */
            live(p);
            _exit(0);
        }
    live(0);
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    say("done\n");
    return failed != 0;
}

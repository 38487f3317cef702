/* Signals that are handled on a stack of their own, and stacks that are very deep or fat.
 *
 *   altstack MODE
 *
 * Truth: stdout, lines "<function> <pid> <tid> <begin ns> <end ns>". Modes:
 *   nested   main() in work() gets SIGUSR1, whose handler h1 runs on another stack and sends
 *            SIGUSR2, whose handler h2 spins for 1 s; "h2": the stack is h2, signal, h1, signal,
 *            work, main. Then the same in a thread, below run().
 *   depths   the same, 100 times for 40 ms each, at depths of work() from 1 to 100
 *   deep     dig() calls itself 100000 times, then is in bottom() for 1 s, below main()
 *   fat      a thread is in fat(), whose frame has 200000 bytes, then in bottom(), below run()
 */
#define _GNU_SOURCE
#include "truth.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

static volatile uint64_t sink;
static volatile uint64_t spin_ns = 1000000000ull;
static inline pid_t own_tid(void) { return (pid_t)syscall(SYS_gettid); }

static FRAME void spin(const char *name) {
    uint64_t begin = now(), end = begin;
    while (end < begin + spin_ns) { sink = sink + 1; end = now(); }
    say("%s %d %d %llu %llu\n", name, getpid(), own_tid(), (unsigned long long)begin,
        (unsigned long long)end);
}
static FRAME void h2(int number) { spin("h2"); sink = sink + (uint64_t)number; }
static FRAME void h1(int number) {
    pthread_kill(pthread_self(), SIGUSR2);
    sink = sink + (uint64_t)number;
}
static FRAME void work(int depth) {
    if (depth > 1) work(depth - 1);
    else pthread_kill(pthread_self(), SIGUSR1);
    sink = sink + 1;
}
static void on_other_stack(void) {
    static __thread char bytes[64 << 10];
    stack_t other = {.ss_sp = bytes, .ss_size = sizeof bytes};
    if (sigaltstack(&other, NULL)) _exit(1);
}
static void *run(void *arg) {
    on_other_stack();
    work(1);
    return arg;
}
static FRAME void bottom(void) { spin("bottom"); sink = sink + 1; }
static FRAME int dig(int left) {
    int below = left > 1 ? dig(left - 1) : (bottom(), 0);
    sink = sink + 1;
    return below + 1;
}
static FRAME void fat(void) {
    volatile char bytes[200000];
    memset((char *)bytes, 1, sizeof bytes);
    bottom();
    sink = sink + (uint64_t)bytes[100000];
}
static void *run_fat(void *arg) { fat(); return arg; }

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    struct sigaction one = {.sa_handler = h1, .sa_flags = SA_ONSTACK};
    struct sigaction two = {.sa_handler = h2, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &one, NULL);
    sigaction(SIGUSR2, &two, NULL);
    pthread_t thread;
    if (!strcmp(argv[1], "nested")) {
        on_other_stack();
        work(1);
        return pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL);
    }
    if (!strcmp(argv[1], "depths")) {
        on_other_stack();
        spin_ns = 40000000;
        for (int depth = 1; depth <= 100; depth++) work(depth);
        return 0;
    }
    if (!strcmp(argv[1], "deep")) return dig(100000) != 100000;
    if (!strcmp(argv[1], "fat"))
        return pthread_create(&thread, NULL, run_fat, NULL) || pthread_join(thread, NULL);
    return 2;
}

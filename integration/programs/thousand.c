/* A thousand threads, nearly all of them asleep.
 *
 *   thousand
 *
 * 997 wait in doze(), on a lock that nobody opens before the end; two are in spin() for 2 s; the
 * first one waits for them.
 * Truth: stdout, "sleepers 997 switches <most of any one from the first spin on to the last>" and,
 * for each spinner, "spin <pid> <tid> <begin ns> <end ns>".
 */
#define _GNU_SOURCE
#include "truth.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define SLEEPERS 997
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int asleep;
static atomic_long most;
static volatile uint64_t sink;

static FRAME void doze(void) {
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    asleep++;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    getrusage(RUSAGE_THREAD, &after);
    long switches = after.ru_nvcsw - before.ru_nvcsw, known = most;
    while (switches > known && !atomic_compare_exchange_weak(&most, &known, switches)) { }
}
static FRAME void spin(void) {
    uint64_t begin = now(), end = begin;
    while (end < begin + 2000000000ull) { sink = sink + 1; end = now(); }
    say("spin %d %ld %llu %llu\n", getpid(), syscall(SYS_gettid), (unsigned long long)begin,
        (unsigned long long)end);
}
static void *run_doze(void *arg) { doze(); return arg; }
static void *run_spin(void *arg) { spin(); return arg; }
int main(void) {
    pthread_t sleepers[SLEEPERS], spinners[2];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLEEPERS; i++)
        if (pthread_create(&sleepers[i], &small, run_doze, NULL)) return 1;
    while (asleep < SLEEPERS) sleep_ns(1000000);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&spinners[i], &small, run_spin, NULL)) return 1;
    for (int i = 0; i < 2; i++) pthread_join(spinners[i], NULL);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < SLEEPERS; i++) pthread_join(sleepers[i], NULL);
    say("sleepers %d switches %ld\n", SLEEPERS, most);
    return 0;
}

/* Threads that hardly live, beside one that works all the time.
 *
 *   thread_churn SECONDS
 *
 * Eight creators make and join threads of 0.2 to 3 ms for so long; the main thread stays in hot().
 * Truth: stdout, one line at the end:
 *   hot <pid> <begin ns> <end ns> threads <number of threads that ever lived, all kinds>
 * The main thread was inside hot() from begin to end.
 */
#include "truth.h"
#include <pthread.h>
#include <stdatomic.h>

#define CREATORS 8

static atomic_long lives = 1;
static atomic_int stop;
static volatile uint64_t sink;

static void *brief(void *arg) {
    uint64_t end = now() + (uint64_t)(uintptr_t)arg;
    while (now() < end) sink = sink + 1;
    return NULL;
}
static void *creator(void *arg) {
    uint64_t random = 88172645463325252ull + (uint64_t)(uintptr_t)arg;
    while (!stop) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        pthread_t one;
        if (pthread_create(&one, NULL, brief, (void *)(uintptr_t)(200000 + random % 2800000))) _exit(1);
        lives++;
        pthread_join(one, NULL);
    }
    return NULL;
}
static FRAME uint64_t hot(uint64_t ns, uint64_t *end) {
    uint64_t begin = now();
    while ((*end = now()) < begin + ns) sink = sink + 1;
    return begin;
}
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    pthread_t all[CREATORS];
    for (long i = 0; i < CREATORS; i++) {
        if (pthread_create(&all[i], NULL, creator, (void *)i)) return 1;
        lives++;
    }
    uint64_t end, begin = hot((uint64_t)(atof(argv[1]) * 1e9), &end);
    stop = 1;
    for (int i = 0; i < CREATORS; i++) pthread_join(all[i], NULL);
    say("hot %d %llu %llu threads %ld\n", getpid(), (unsigned long long)begin,
        (unsigned long long)end, lives);
    return 0;
}

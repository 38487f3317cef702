/* Thirty calls deep across three shared objects, without frame pointers and without symbols
 * other than those a shared object cannot do without.
 *
 *   chain SECONDS          built with -DPART=0, 1, 2 (the shared objects) and without (the program)
 *
 * chain_<i> lies in object i % 3 and calls chain_<i+1>; chain_29 spins. On the way: frames of a
 * size known only at run time (i % 4 == 1), alloca in a loop (i % 4 == 2), and a jump in place of
 * the call, by a function hop_<i> that leaves no frame (i % 4 == 3).
 * Truth: stdout, one line a thread: spun <tid> <begin ns> <end ns>; in between the thread's stack
 * is chain_29 .. chain_00 without a gap, and its root is the program's or the thread's start.
 */
#include "truth.h"

#ifdef PART
#include <alloca.h>

#define DECLARE(i) uint64_t chain_##i(uint64_t ns, uint64_t *begin);
#define LINK(i, next, kind) \
    DECLARE(next) \
    static FRAME uint64_t hop_##i(uint64_t ns, uint64_t *begin) { return chain_##next(ns, begin); } \
    FRAME uint64_t chain_##i(uint64_t ns, uint64_t *begin) { \
        volatile char *pad; \
        if (kind == 1) { char sized[16 + ns % 113]; pad = sized; pad[0] = 1; \
            uint64_t r = chain_##next(ns, begin); return r + (uint64_t)(pad[0] == 9); } \
        if (kind == 2) { pad = NULL; \
            for (uint64_t k = 0; k < 1 + ns % 3; k++) { pad = alloca(40); pad[0] = 1; } \
            uint64_t r = chain_##next(ns, begin); return r + (uint64_t)(pad[0] == 9); } \
        if (kind == 3) { uint64_t r = hop_##i(ns, begin); *begin += r == 0; return r; } \
        uint64_t r = chain_##next(ns, begin); *begin += r == 0; return r; }
#if PART == 0
LINK(00, 01, 0) LINK(03, 04, 3) LINK(06, 07, 2) LINK(09, 10, 1) LINK(12, 13, 0)
LINK(15, 16, 3) LINK(18, 19, 2) LINK(21, 22, 1) LINK(24, 25, 0) LINK(27, 28, 3)
#elif PART == 1
LINK(01, 02, 1) LINK(04, 05, 0) LINK(07, 08, 3) LINK(10, 11, 2) LINK(13, 14, 1)
LINK(16, 17, 0) LINK(19, 20, 3) LINK(22, 23, 2) LINK(25, 26, 1) LINK(28, 29, 0)
#else
LINK(02, 03, 2) LINK(05, 06, 1) LINK(08, 09, 0) LINK(11, 12, 3) LINK(14, 15, 2)
LINK(17, 18, 1) LINK(20, 21, 0) LINK(23, 24, 3) LINK(26, 27, 2)
FRAME uint64_t chain_29(uint64_t ns, uint64_t *begin) {
    volatile uint64_t spins = 0;
    *begin = now();
    uint64_t end = *begin;
    while (end < *begin + ns) { spins = spins + 1; end = now(); }
    return end;
}
#endif
#else
#include <pthread.h>
#include <sys/syscall.h>

uint64_t chain_00(uint64_t ns, uint64_t *begin);
static uint64_t length;

static void *run(void *arg) {
    uint64_t begin, end = chain_00(length, &begin);
    say("spun %d %llu %llu\n", (int)syscall(SYS_gettid), (unsigned long long)begin,
        (unsigned long long)end);
    return arg;
}
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    length = (uint64_t)(atof(argv[1]) * 1e9);
    pthread_t other;
    if (pthread_create(&other, NULL, run, NULL)) return 1;
    run(NULL);
    pthread_join(other, NULL);
    return 0;
}
#endif

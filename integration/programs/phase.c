/* Two threads that both follow the clock: in phase k of CLOCK_MONOTONIC (k counts lengths of
 * PHASE_US) each is inside phase_<k % 16>().
 *
 *   phase SECONDS [PHASE_US]        (needs two free cores)
 *
 * Truth: in a tick of one instant both threads show the same phase. The share of ticks in which
 * they do not, times the length of a phase, is the mean skew between the two.
 */
#include "truth.h"
#include <pthread.h>

static uint64_t phase_ns = 1000000, deadline;

#define P(i) static FRAME uint64_t phase_##i(uint64_t k) { \
    volatile uint64_t spins = i; \
    while (now() / phase_ns == k) spins = spins + 1; \
    return spins; }
P(0) P(1) P(2) P(3) P(4) P(5) P(6) P(7) P(8) P(9) P(10) P(11) P(12) P(13) P(14) P(15)
static uint64_t (*const table[16])(uint64_t) = {
    phase_0, phase_1, phase_2, phase_3, phase_4, phase_5, phase_6, phase_7,
    phase_8, phase_9, phase_10, phase_11, phase_12, phase_13, phase_14, phase_15};

static void *follow(void *arg) {
    volatile uint64_t total = 0;
    (void)arg;
    for (uint64_t t; (t = now()) < deadline;) {
        uint64_t k = t / phase_ns;
        total = total + table[k % 16](k);
    }
    return NULL;
}
int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: phase SECONDS [PHASE_US]\n"); return 2; }
    if (argc > 2) phase_ns = strtoull(argv[2], NULL, 10) * 1000ull;
    deadline = now() + (uint64_t)(atof(argv[1]) * 1e9);
    pthread_t other;
    if (pthread_create(&other, NULL, follow, NULL)) return 1;
    pthread_setname_np(other, "follower");
    follow(NULL);
    pthread_join(other, NULL);
    return 0;
}

/* How long signals take to their handlers.
 *
 *   latency
 *
 * A child spins; its parent queues 400 numbered real-time signals to it, one each 2 ms, while an
 * interval timer of the child's fires each millisecond, and 50 of its children end.
 * Truth: stdout, "signals 400 median <ns> p99 <ns>": from just before a signal was sent to its
 * handler. Exit status 0 when all came in order, the timer fired and every child was reaped.
 */
#include "truth.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#define SIGNALS 400
#define CHILDREN 50

static struct { volatile uint64_t sent[SIGNALS], got[SIGNALS]; volatile int ready; } *shared;
static volatile sig_atomic_t received, wrong, alarms, reaped;
static volatile uint64_t sink;

static void on_queued(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    if (info->si_value.sival_int != received) wrong = 1;
    else shared->got[received] = now();
    received = received + 1;
}
static void on_alarm(int number) { (void)number; alarms = alarms + 1; }
static void on_death(int number) {
    int kept = errno, status;
    (void)number;
    while (waitpid(-1, &status, WNOHANG) > 0) reaped = reaped + 1;
    errno = kept;
}
static int child(void) {
    struct sigaction queued = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction timer = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct sigaction death = {.sa_handler = on_death, .sa_flags = SA_RESTART};
    sigaction(SIGRTMIN, &queued, NULL);
    sigaction(SIGALRM, &timer, NULL);
    sigaction(SIGCHLD, &death, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t one = fork();
        if (one < 0) return 1;
        if (one == 0) { sleep_ns((uint64_t)i * 10000000); _exit(0); }
    }
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    shared->ready = 1;
    while (received < SIGNALS || reaped < CHILDREN) sink = sink + 1;
    return wrong || alarms < 100;
}
static int by_size(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}
int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    pid_t to = fork();
    if (to == 0) _exit(child());
    while (!shared->ready) sleep_ns(1000000);
    for (int i = 0; i < SIGNALS; i++) {
        union sigval value = {.sival_int = i};
        shared->sent[i] = now();
        if (sigqueue(to, SIGRTMIN, value) != 0) return 1;
        sleep_ns(2000000);
    }
    int status;
    if (waitpid(to, &status, 0) != to || status != 0) return 1;
    uint64_t took[SIGNALS];
    for (int i = 0; i < SIGNALS; i++) took[i] = shared->got[i] - shared->sent[i];
    qsort(took, SIGNALS, sizeof *took, by_size);
    say("signals %d median %llu p99 %llu\n", SIGNALS, (unsigned long long)took[SIGNALS / 2],
        (unsigned long long)took[SIGNALS * 99 / 100]);
    return 0;
}

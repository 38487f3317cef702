/* Processes and threads that come and go for as long as one likes, and check each other.
 *
 *   soak SECONDS PROCESSES_A_SECOND
 *
 * The main thread makes so many children a second, by fork, by vfork and exec, and by fork and
 * exec in turns; each makes three threads that sum up numbers. A worker thread beside it sums
 * numbers all the time.
 * Truth: stdout, one line at the end:
 *   soak <children> <threads> <wrong>
 * all children that were made and reaped, all threads that they made, and how many sums, exit
 * statuses or calls were not what they must be: 0.
 */
#include "truth.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define THREADS 3
#define NUMBERS 20000

static atomic_int stop;
static atomic_ulong wrong;

static FRAME uint64_t sum_up(uint64_t seed) {
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; i < NUMBERS; i++) sum += i * seed;
    return sum;
}
static uint64_t must_be(uint64_t seed) {
    return seed * ((uint64_t)NUMBERS * (NUMBERS - 1) / 2);
}
static void *sums(void *seed) {
    return (void *)(uintptr_t)(sum_up((uintptr_t)seed) != must_be((uintptr_t)seed));
}
/* The exit code of a child: a number of its own where all is well, else 1. */
static int code_of(unsigned child) {
    return 2 + (int)(child % 100);
}
static int be_child(unsigned child) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, sums, (void *)(child + i))) return 1;
    int bad = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        if (pthread_join(threads[i], &result) || result) bad = 1;
    }
    return bad ? 1 : code_of(child);
}
static void *work(void *none) {
    for (uint64_t seed = 1; !stop; seed++)
        if (sum_up(seed) != must_be(seed)) wrong++;
    return none;
}
static void make_child(char *program, unsigned child) {
    char number[12];
    snprintf(number, sizeof number, "%u", child);
    char *args[] = {program, "child", number, NULL};
    pid_t pid;
    if (child % 3 == 1) {
        pid = vfork();
        if (pid == 0) { execv("/proc/self/exe", args); _exit(1); }
    } else {
        pid = fork();
        if (pid == 0 && child % 3 == 0) _exit(be_child(child));
        if (pid == 0) { execv("/proc/self/exe", args); _exit(1); }
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)
        || WEXITSTATUS(status) != code_of(child)) wrong++;
}
int main(int argc, char **argv) {
    if (argc != 3) return 2;
    if (argv[1][0] == 'c') return be_child((unsigned)atoi(argv[2]));
    uint64_t begin = now(), end = begin + (uint64_t)(atof(argv[1]) * 1e9);
    uint64_t pace = 1000000000ull / (uint64_t)atoi(argv[2]);
    pthread_t worker;
    if (pthread_create(&worker, NULL, work, NULL)) return 1;
    unsigned children = 0;
    for (; now() < end; children++) {
        make_child(argv[0], children);
        uint64_t next = begin + (children + 1) * pace, time = now();
        if (next > time) sleep_ns(next - time);
        else begin += time - next; /* a busy machine is not made up for */
    }
    stop = 1;
    pthread_join(worker, NULL);
    say("soak %u %u %lu\n", children, children * THREADS, wrong);
    return wrong != 0;
}

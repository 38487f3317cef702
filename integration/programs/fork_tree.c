/* A tree of eleven processes, one of which outlives the root as a daemon.
 *
 *   fork_tree LOG
 *
 * The root (number 0) forks 1, 2, 3; process n of these forks 2n+2 and 2n+3 (4 .. 9); process 9
 * also starts the daemon (10) by a double fork and setsid. Process n naps for n * 50 ms, then
 * spins for 400 ms in spin_<n>; the daemon spins until 800 ms after the root has ended.
 * Truth: LOG, one line a process, written when its spin is over:
 *   <n> <pid> <parent's pid> <birth ns> <spin begins ns> <spin ends ns>
 * birth is the first thing a process looks at after its fork. The pid of the short-lived
 * process between 9 and the daemon has a line of its own: middle <pid> <parent's pid>.
 */
#include "truth.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static int log_fd;
static volatile uint64_t sink;

#define SPIN(n) static FRAME void spin_##n(uint64_t ns, uint64_t *begin, uint64_t *end) { \
    *begin = now(); \
    while ((*end = now()) < *begin + ns) sink = sink + n; \
    sink = sink + 1; }
SPIN(0) SPIN(1) SPIN(2) SPIN(3) SPIN(4) SPIN(5) SPIN(6) SPIN(7) SPIN(8) SPIN(9) SPIN(10)
static void (*const table[11])(uint64_t, uint64_t *, uint64_t *) = {
    spin_0, spin_1, spin_2, spin_3, spin_4, spin_5, spin_6, spin_7, spin_8, spin_9, spin_10};

static void work(int n, pid_t parent, uint64_t birth, uint64_t ns) {
    uint64_t begin, end;
    table[n](ns, &begin, &end);
    say_to(log_fd, "%d %d %d %llu %llu %llu\n", n, getpid(), parent, (unsigned long long)birth,
           (unsigned long long)begin, (unsigned long long)end);
}
static void daemon_of(pid_t root) {
    pid_t above = getpid(), middle = fork();
    if (middle != 0) { waitpid(middle, NULL, 0); return; }
    say_to(log_fd, "middle %d %d\n", getpid(), above);
    middle = getpid();
    if (fork() != 0) _exit(0);
    uint64_t birth = now();
    setsid();
    while (kill(root, 0) == 0) sleep_ns(1000000);
    work(10, middle, birth, 800000000);
    _exit(0);
}
static void process(int n, pid_t parent, uint64_t birth, pid_t root) {
    int first = n == 0 ? 1 : 2 * n + 2, children = n == 0 ? 3 : n <= 3 ? 2 : 0;
    pid_t me = getpid();
    for (int c = first; c < first + children; c++)
        if (fork() == 0) { process(c, me, now(), root); _exit(10 + c); }
    if (n == 9) daemon_of(root);
    sleep_ns((uint64_t)n * 50000000ull);
    work(n, parent, birth, 400000000);
    while (wait(NULL) > 0) { }
}
int main(int argc, char **argv) {
    uint64_t birth = now();
    if (argc != 2) return 2;
    log_fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (log_fd < 0) return 1;
    process(0, getppid(), birth, getpid());
    return 0;
}

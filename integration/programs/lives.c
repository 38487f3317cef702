/* Lives that end, begin or go on in ways that few programs use.
 *
 *   lives MODE
 *
 * Truth: stdout, lines "<function> <pid> <tid> <begin ns> <end ns>": the thread was inside the
 * function of that name from begin to end, and has no other name there. Modes:
 *   vfork     the child of a vfork lives for 0.6 s; the parent's other thread is in beside(), and
 *             the parent itself in by_vfork()
 *   leader    the first thread ends; "ready PID"; then in left_behind() to the end of stdin, "done"
 *   exec      the second thread of a process execs this program, which is in reborn() for 0.5 s
 *   untraced  a child and a thread made with CLONE_UNTRACED are in unseen_child() and
 *             unseen_thread() for 3 s
 *   sibling   a grandchild made with CLONE_PARENT is in sibling() for 0.4 s
 *   reuse     eight times: a process in before() for 200 ms, then another one of the same number
 *             (clone3, set_tid) in after() for 200 ms, with a thread of a number that was used
 *   zombies   fifty children end and are never waited for, beside among_dead() for 0.5 s
 *   crowd     as zombies, but they are killed while they spin
 * The exit status is 0 when all of it could be done, 77 when the kernel does not permit it.
 */
#define _GNU_SOURCE
#include "truth.h"
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile uint64_t sink;
static char *self;

static inline pid_t own_tid(void) { return (pid_t)syscall(SYS_gettid); }

/* A function of its own name that spins for so long, and says so. */
#define SPINNER(name)                                                                           \
    static FRAME void name(uint64_t ns) {                                                       \
        uint64_t begin = now(), end = begin;                                                    \
        while (end < begin + ns) { sink = sink + 1; end = now(); }                              \
        say(#name " %d %d %llu %llu\n", getpid(), own_tid(), (unsigned long long)begin,         \
            (unsigned long long)end);                                                           \
    }
SPINNER(reborn)
SPINNER(unseen_child)
SPINNER(sibling)
SPINNER(before)
SPINNER(after)
SPINNER(among_dead)

static volatile int done;

static FRAME void beside(void) {
    uint64_t begin = now();
    while (!done) sink = sink + 1;
    say("beside %d %d %llu %llu\n", getpid(), own_tid(), (unsigned long long)begin,
        (unsigned long long)now());
}
static void *run_beside(void *arg) { beside(); return arg; }

static FRAME int by_vfork(void) {
    uint64_t begin = now();
    pid_t child = vfork();
    if (child == 0) {
        sleep_ns(600000000);
        _exit(3);
    }
    uint64_t end = now();
    int status;
    if (waitpid(child, &status, 0) != child || status != 3 << 8) _exit(1);
    say("by_vfork %d %d %llu %llu\n", getpid(), own_tid(), (unsigned long long)begin,
        (unsigned long long)end);
    return 0;
}
static int with_vfork(void) {
    pthread_t one;
    if (pthread_create(&one, NULL, run_beside, NULL)) return 1;
    by_vfork();
    done = 1;
    pthread_join(one, NULL);
    return 0;
}

static pthread_t leader;
static void *stop_at_end_of_input(void *arg) {
    char c;
    while (read(0, &c, 1) > 0) { }
    done = 1;
    return arg;
}
static FRAME void left_behind(void) {
    while (!done) sink = sink + 1;
}
static void *run_left_behind(void *arg) {
    pthread_t one;
    pthread_join(leader, NULL);
    say("ready %d\n", getpid());
    if (pthread_create(&one, NULL, stop_at_end_of_input, NULL)) _exit(1);
    left_behind();
    say("done\n");
    exit(0);
    return arg;
}
static int without_leader(void) {
    pthread_t one;
    leader = pthread_self();
    if (pthread_create(&one, NULL, run_left_behind, NULL)) return 1;
    pthread_exit(NULL);
}

static void *run_exec(void *arg) {
    execl("/proc/self/exe", self, "reborn", NULL);
    _exit(1);
    return arg;
}
static int exec_by_thread(void) {
    pthread_t one;
    if (pthread_create(&one, NULL, run_exec, NULL)) return 1;
    pthread_join(one, NULL);
    return 1;
}

#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
static volatile uint64_t thread_begin, thread_end;
static volatile int thread_tid;
static FRAME int unseen_thread(void *arg) {
    /* It has no thread local storage of its own: nothing that needs it may be called. */
    thread_begin = now();
    thread_tid = own_tid();
    while (now() < thread_begin + 3000000000ull) sink = sink + 1;
    thread_end = now();
    syscall(SYS_exit, 0);
    return arg != NULL;
}
static int run_unseen_child(void *arg) {
    unseen_child(3000000000ull);
    _exit(0);
    return arg != NULL;
}
static int untraced(void) {
    char *stacks = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED) return 1;
    pid_t child = clone(run_unseen_child, stacks + (1 << 20), CLONE_UNTRACED | SIGCHLD, NULL);
    if (child < 0) return 1;
    if (clone(unseen_thread, stacks + (2 << 20), THREAD | CLONE_UNTRACED, NULL) < 0) return 1;
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 1;
    while (!thread_end) sleep_ns(1000000);
    say("unseen_thread %d %d %llu %llu\n", getpid(), thread_tid, (unsigned long long)thread_begin,
        (unsigned long long)thread_end);
    return status;
}

static int by_sibling(void) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        struct clone_args how = {.flags = CLONE_PARENT};
        pid_t one = (pid_t)syscall(SYS_clone3, &how, sizeof how);
        if (one == 0) { sibling(400000000); _exit(0); }
        _exit(one < 0);
    }
    int status, failed = 0;
    for (int ended = 0; ended < 2;)
        if (wait(&status) > 0) { failed |= status; ended++; }
        else if (errno != EINTR) return 1;
    return failed;
}

static pid_t numbered(pid_t number) {
    struct clone_args how = {.exit_signal = SIGCHLD};
    how.set_tid = (uint64_t)(uintptr_t)&number;
    how.set_tid_size = 1;
    return (pid_t)syscall(SYS_clone3, &how, sizeof how);
}
static void *idle(void *arg) { sleep_ns(30000000); return arg; }
static int reuse(void) {
    for (int round = 0; round < 8; round++) {
        pid_t first = fork();
        if (first == 0) {
            prctl(PR_SET_NAME, "the-old");
            pthread_t one;
            if (pthread_create(&one, NULL, idle, NULL)) _exit(1);
            before(200000000);
            pthread_join(one, NULL);
            _exit(11);
        }
        int status;
        if (first < 0 || waitpid(first, &status, 0) != first || status != 11 << 8) return 1;
        pid_t second = numbered(first);
        if (second < 0 && errno == EEXIST) { round--; continue; } /* the kernel was faster */
        if (second < 0) return 77;
        if (second == 0) {
            prctl(PR_SET_NAME, "the-new");
            after(200000000);
            _exit(12);
        }
        if (second != first || waitpid(second, &status, 0) != second || status != 12 << 8) return 1;
    }
    return 0;
}

static int zombies(int killed) {
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            while (killed) sink = sink + 1;
            _exit(i);
        }
        if (killed) kill(child, SIGKILL);
    }
    among_dead(500000000);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    self = argv[0];
    char *mode = argv[1];
    if (!strcmp(mode, "vfork")) return with_vfork();
    if (!strcmp(mode, "leader")) return without_leader();
    if (!strcmp(mode, "exec")) return exec_by_thread();
    if (!strcmp(mode, "untraced")) return untraced();
    if (!strcmp(mode, "sibling")) return by_sibling();
    if (!strcmp(mode, "reuse")) return reuse();
    if (!strcmp(mode, "zombies")) return zombies(0);
    if (!strcmp(mode, "crowd")) return zombies(1);
    if (!strcmp(mode, "reborn")) { reborn(500000000); return 0; }
    return 2;
}

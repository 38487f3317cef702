/* Three hundred children in three seconds, a third each by vfork and exec, by posix_spawn and by
 * clone3 and exec, while the parent goes on working.
 *
 *   spawn_storm BRIEF
 *
 * BRIEF is the program they run; child i is told to spin for i % 7 ms and to exit with i % 100.
 * Truth: stdout, one line a child as it is reaped: child <pid> <exit code>; then
 *   parent <pid> <begin ns> <end ns>: the parent's main thread was inside conduct() from begin
 * to end.
 */
#include "truth.h"
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILDREN 300
#define PACE_NS 10000000ull

static char *program;

static pid_t by_vfork(char **args) {
    pid_t pid = vfork();
    if (pid == 0) { execv(program, args); _exit(99); }
    return pid;
}
static pid_t by_spawn(char **args) {
    pid_t pid = -1;
    char *none[] = {NULL};
    return posix_spawn(&pid, program, NULL, NULL, args, none) == 0 ? pid : -1;
}
static pid_t by_clone3(char **args) {
    struct clone_args how;
    memset(&how, 0, sizeof how);
    how.exit_signal = SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    if (pid == 0) { execv(program, args); _exit(99); }
    return pid;
}
static int reap(int flags) {
    int status;
    pid_t pid = waitpid(-1, &status, flags);
    if (pid <= 0) return 0;
    say("child %d %d\n", pid, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 1;
}
static FRAME int conduct(void) {
    pid_t (*const ways[3])(char **) = {by_vfork, by_spawn, by_clone3};
    uint64_t begin = now();
    int reaped = 0;
    for (int i = 0; i < CHILDREN; i++) {
        char spin[12], code[12];
        snprintf(spin, sizeof spin, "%d", i % 7);
        snprintf(code, sizeof code, "%d", i % 100);
        char *args[] = {program, spin, code, NULL};
        if (ways[i % 3](args) < 0) return 1;
        while (now() < begin + (uint64_t)(i + 1) * PACE_NS) {
            reaped += reap(WNOHANG);
            sleep_ns(500000);
        }
    }
    while (reaped < CHILDREN && reap(0)) reaped++;
    say("parent %d %llu %llu\n", getpid(), (unsigned long long)begin, (unsigned long long)now());
    return reaped != CHILDREN;
}
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    program = argv[1];
    return conduct();
}

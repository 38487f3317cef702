/* Runs a command whose calls of one kind fail where one likes.
 *
 *   faults CALL FIRST COUNT ERRNO COMMAND...
 *
 * CALL is a system call of the table below; of those that the command and all its threads and
 * children make, COUNT ones from the FIRST on (1 is the very first) are not made but answered with
 * ERRNO, a number; 0: with the result 0, which is a short read. COUNT 0: all from FIRST on.
 * Counted from the first sigaltstack on: with it the Rust library begins, when the loader is done.
 * Of mmap only shared mappings count: the allocator and the library cannot go on without theirs;
 * of write only those into files: not stderr, nor the eight bytes that wake a thread.
 * Truth: the exit status is that of the command, 128 + N where signal N ended it, 124 where it had
 * to be killed after 20 s; the last line on stderr is "faults: <calls> <answered>".
 * Method: a seccomp filter that hands each such call to this program (seccomp_unotify(2)).
 */
#include "truth.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LIMIT_NS 20000000000ull
#define CALL(name) {#name, __NR_##name}

static const struct { const char *name; int number; } calls[] = {
    CALL(read), CALL(write), CALL(openat), CALL(close), CALL(mmap), CALL(munmap), CALL(mprotect),
    CALL(mremap), CALL(madvise), CALL(brk), CALL(lseek), CALL(pread64), CALL(fstat), CALL(statx),
    CALL(newfstatat), CALL(ioctl), CALL(fcntl), CALL(dup3), CALL(ftruncate), CALL(fsync),
    CALL(fdatasync), CALL(unlink), CALL(rename), CALL(linkat), CALL(getdents64), CALL(readlink),
    CALL(readlinkat), CALL(poll), CALL(ppoll), CALL(epoll_create1), CALL(epoll_ctl),
    CALL(epoll_wait), CALL(epoll_pwait), CALL(eventfd2), CALL(signalfd4), CALL(timerfd_create),
    CALL(timerfd_settime), CALL(pipe2), CALL(clone), CALL(clone3), CALL(vfork), CALL(execve),
    CALL(wait4), CALL(waitid), CALL(kill), CALL(tgkill), CALL(pidfd_open),
    CALL(pidfd_send_signal), CALL(ptrace), CALL(process_vm_readv), CALL(perf_event_open),
    CALL(sched_setscheduler), CALL(sched_setattr), CALL(sched_setaffinity),
    CALL(sched_getaffinity), CALL(sched_yield), CALL(setpriority), CALL(getpriority),
    CALL(nanosleep), CALL(clock_nanosleep), CALL(futex), CALL(prctl), CALL(prlimit64),
    CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(getrandom), CALL(uname),
    CALL(sysinfo), CALL(getcwd), CALL(socketpair), CALL(capget), CALL(mlockall), CALL(kcmp),
};

static struct { int number; long first, count; int error; } plan;
/* Where the child leaves the number of its end of the filter. */
static volatile int *listener;

static int filter_calls(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)plan.number, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sigaltstack, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}
static int counts(const struct seccomp_data *call) {
    if (call->nr == __NR_mmap) return (call->args[3] & MAP_SHARED) != 0;
    if (call->nr == __NR_write) return call->args[0] > 2 && call->args[2] != 8;
    return 1;
}
/* Answers calls until nobody is left who could make one, or the time is over: then -1. */
static int serve(int fd, long *seen, long *answered) {
    uint64_t end = now() + LIMIT_NS;
    int begun = 0;
    while (now() < end) {
        struct pollfd ready = {fd, POLLIN, 0};
        if (poll(&ready, 1, 100) == 0) continue;
        if (ready.revents & POLLHUP) return 0;
        struct seccomp_notif call;
        memset(&call, 0, sizeof call);
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call)) continue; /* its caller was killed */
        struct seccomp_notif_resp answer = {call.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (call.data.nr == __NR_sigaltstack) {
            begun = 1;
        } else if (!begun || !counts(&call.data)) {
            /* made as if nobody looked */
        } else if (++*seen >= plan.first && (plan.count == 0 || *seen < plan.first + plan.count)) {
            answer.flags = 0;
            answer.error = -plan.error;
            ++*answered;
        }
        ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    return -1;
}
static int begin(char **command) {
    int fd = filter_calls();
    *listener = fd < 0 ? -2 : fd;
    /* Until the other side has it, this process may make no call that waits for an answer. */
    while (fd >= 0 && *listener != -1) { }
    if (fd >= 0) execv(command[0], command);
    _exit(98);
}
int main(int argc, char **argv) {
    if (argc < 6) return 2;
    size_t i = 0, kinds = sizeof calls / sizeof *calls;
    while (i < kinds && strcmp(calls[i].name, argv[1])) i++;
    if (i == kinds) return 2;
    plan.number = calls[i].number;
    plan.first = atol(argv[2]);
    plan.count = atol(argv[3]);
    plan.error = atoi(argv[4]);
    listener = mmap(NULL, sizeof *listener, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *listener = -1;
    pid_t child = fork();
    if (child == 0) begin(argv + 5);
    while (*listener == -1) { }
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    int fd = *listener < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, *listener, 0);
    if (fd < 0) { kill(child, SIGKILL); return 98; }
    *listener = -1;
    long seen = 0, answered = 0;
    int late = serve(fd, &seen, &answered), status;
    if (late) kill(child, SIGKILL);
    /* The filter's end closes first: a killed thread may wait for its answer no more. */
    close(fd);
    waitpid(child, &status, 0);
    say_to(2, "faults: %ld %ld\n", seen, answered);
    if (late) return 124;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

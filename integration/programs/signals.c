/* Signals by the thousand, all of which must arrive, once and in order.
 *
 *   signals
 *
 * A child gets 5000 queued real-time signals, numbered, from its parent, while a timer of 1 ms
 * interrupts it; the parent reaps 100 children, each announced by SIGCHLD.
 * Truth: stdout, "queued 5000 in order, reaped 100, status 0" when nothing was lost or changed;
 * the exit status is then 7.
 */
#include "truth.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#define QUEUED 5000
#define CHILDREN 100

static volatile sig_atomic_t received, in_order = 1, alarms, deaths;

static void on_queued(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    if (info->si_value.sival_int != received || info->si_code != SI_QUEUE) in_order = 0;
    received = received + 1;
}
static void on_alarm(int number) { (void)number; alarms = alarms + 1; }
static void on_death(int number) { (void)number; deaths = deaths + 1; }

static int receiver(int ready) {
    struct sigaction queued = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction alarm_action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    sigset_t block, open;
    sigemptyset(&block);
    sigaddset(&block, SIGRTMIN);
    sigaddset(&block, SIGALRM);
    sigprocmask(SIG_BLOCK, &block, &open);
    sigaction(SIGRTMIN, &queued, NULL);
    sigaction(SIGALRM, &alarm_action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    if (write(ready, "r", 1) != 1) return 1;
    while (received < QUEUED) sigsuspend(&open);
    return !in_order || alarms == 0;
}
static int send_all(pid_t to) {
    for (int i = 0; i < QUEUED; i++) {
        union sigval value = {.sival_int = i};
        while (sigqueue(to, SIGRTMIN, value) != 0) {
            if (errno != EAGAIN) return 1; /* EAGAIN: the queue is full for the moment */
            sched_yield();
        }
    }
    return 0;
}
int main(void) {
    int ready[2], status, reaped = 0;
    char c;
    if (pipe(ready)) return 1;
    pid_t child = fork();
    if (child == 0) _exit(receiver(ready[1]));
    if (read(ready[0], &c, 1) != 1 || send_all(child) != 0) return 1;
    if (waitpid(child, &status, 0) != child) return 1;

    struct sigaction death = {.sa_handler = on_death};
    sigset_t block, open;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &open);
    sigaction(SIGCHLD, &death, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        int before = deaths;
        pid_t one = fork();
        if (one == 0) _exit(i);
        while (deaths == before) sigsuspend(&open);
        int code;
        if (waitpid(one, &code, 0) == one && WIFEXITED(code) && WEXITSTATUS(code) == i) reaped++;
    }
    say("queued %d in order, reaped %d, status %d\n", QUEUED, reaped, status);
    return status == 0 && reaped == CHILDREN ? 7 : 1;
}

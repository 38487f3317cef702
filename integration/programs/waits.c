/* Waits without a timeout in calls that answer a stop with EINTR: epoll_wait, sigwaitinfo, semop.
 * Each is woken 20 times by another thread, and sent a signal that is ignored by default, which a
 * tracer gets to see. No handler is installed, so no call may ever fail.
 * Truth: stdout, "wakes N interrupted M": M is 0 unprofiled, and must be so profiled. */
#include "truth.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sem.h>

enum { WAKES = 20 };
static int event, semaphores;
static pthread_t signalled;
static int interrupted, wakes;

static void count(int failed) {
    if (!failed) __atomic_add_fetch(&wakes, 1, __ATOMIC_RELAXED);
    else if (errno == EINTR) __atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
    else _exit(98);
}
static void *in_epoll(void *arg) {
    int poll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN}, got;
    if (epoll_ctl(poll, EPOLL_CTL_ADD, event, &wanted) != 0) _exit(98);
    for (int done = 0; done < WAKES;) {
        int failed = epoll_wait(poll, &got, 1, -1) < 0;
        count(failed);
        uint64_t value;
        if (!failed && read(event, &value, sizeof value) == sizeof value) done++;
    }
    return arg;
}
static void *in_sigwait(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int done = 0; done < WAKES;) {
        int failed = sigwaitinfo(&set, NULL) < 0;
        count(failed);
        done += !failed;
    }
    return arg;
}
static void *in_semop(void *arg) {
    struct sembuf take = {0, -1, 0};
    for (int done = 0; done < WAKES;) {
        int failed = semop(semaphores, &take, 1) < 0;
        count(failed);
        done += !failed;
    }
    return arg;
}
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    event = eventfd(0, EFD_SEMAPHORE);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (event < 0 || semaphores < 0) return 98;
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, in_epoll, NULL);
    pthread_create(&signalled, NULL, in_sigwait, NULL);
    threads[1] = signalled;
    pthread_create(&threads[2], NULL, in_semop, NULL);
    struct sembuf give = {0, 1, 0};
    for (int wake = 0; wake < WAKES; wake++) {
        sleep_ns(25000000);
        for (int i = 0; i < 3; i++) pthread_kill(threads[i], SIGURG);
        sleep_ns(25000000);
        uint64_t one = 1;
        if (write(event, &one, sizeof one) != sizeof one) return 98;
        pthread_kill(signalled, SIGUSR1);
        semop(semaphores, &give, 1);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    semctl(semaphores, 0, IPC_RMID);
    say("wakes %d interrupted %d\n", wakes, interrupted);
    return 0;
}

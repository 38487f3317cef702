// A thread whose main function raises a signal, whose handler runs on a stack of its own and raises
// another one, whose handler waits. 2 000 calls deep, to see that none is lost.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE static void wait_here(void) {
    char byte;
    sink = write(1, "r", 1) != 1 || read(0, &byte, 1) != 1;
}

NOINLINE static void inner(int number) {
    wait_here();
    sink = number;
}

NOINLINE static void outer(int number) {
    raise(SIGUSR2);
    sink = number;
}

NOINLINE static int deep(int depth) {
    if (depth == 0) {
        raise(SIGUSR1);
        return sink;
    }
    return deep(depth - 1) + sink;
}

static void *thread(void *unused) {
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&other, 0);
    struct sigaction action = {.sa_handler = outer, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    action.sa_handler = inner;
    sigaction(SIGUSR2, &action, 0);
    sink = deep(1999);
    return unused;
}

int main(void) {
    pthread_t id;
    if (pthread_create(&id, 0, thread, 0) != 0) return 1;
    return pthread_join(id, 0);
}

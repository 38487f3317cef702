/* Threads with names that break careless readers, each renamed twice.
 *
 *   names
 *
 * Thread i is born with the process's name, takes the name "early-<i>", spins for 300 ms, takes
 * the i-th name of the list below, spins for 300 ms, takes "last-<i>" and ends at once.
 * Truth: stdout, one line a thread: thread <i> <tid>
 */
#include "truth.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define THREADS 6
/* The same list, as sprof must show it, is in cases/names.rs. */
static const char *const odd[THREADS] = {
    "two words", ") R 1 (", "quote\"back\\", "line\nbreak", "bad\xff\xfe" "utf",
    "abcdefghijklm\xf0\x9f\x98\x80" /* the kernel keeps 15 bytes: half of the last character */
};
static volatile uint64_t sink;

static FRAME void spin(uint64_t ns) {
    uint64_t end = now() + ns;
    while (now() < end) sink = sink + 1;
}
static void rename_to(const char *name) {
    /* Not pthread_setname_np: it refuses a name that is too long, this cuts it. */
    prctl(PR_SET_NAME, name);
}
static void *life(void *arg) {
    int i = (int)(uintptr_t)arg;
    char name[16];
    snprintf(name, sizeof name, "early-%d", i);
    rename_to(name);
    say("thread %d %d\n", i, (int)syscall(SYS_gettid));
    spin(300000000);
    rename_to(odd[i]);
    spin(300000000);
    snprintf(name, sizeof name, "last-%d", i);
    rename_to(name);
    return NULL;
}
int main(void) {
    pthread_t all[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, life, (void *)i)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    return 0;
}

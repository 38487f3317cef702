/* One stack, to be built as every kind of ELF file.
 *
 *   layout SECONDS
 *
 * Truth: stdout, one line a thread: spun <tid> <begin ns> <end ns>; in between the stack is
 * layout_inner, layout_middle, layout_outer, and below these main for the main thread, run for
 * the other. The functions are not static, so that they have names even without section headers.
 */
#include "truth.h"
#include <pthread.h>
#include <sys/syscall.h>

static uint64_t length;
static volatile uint64_t sink;
uint64_t layout_inner(uint64_t *begin);
uint64_t layout_middle(uint64_t *begin);
uint64_t layout_outer(uint64_t *begin);
void *run(void *arg);

FRAME uint64_t layout_inner(uint64_t *begin) {
    *begin = now();
    uint64_t end = *begin;
    while (end < *begin + length) {
        /* Long enough that hardly a sample finds the clock, which is the C library's code. */
        for (int i = 0; i < 1 << 20; i++) sink = sink + 1;
        end = now();
    }
    return end;
}
FRAME uint64_t layout_middle(uint64_t *begin) {
    uint64_t end = layout_inner(begin);
    sink = sink + 1;
    return end;
}
FRAME uint64_t layout_outer(uint64_t *begin) {
    uint64_t end = layout_middle(begin);
    sink = sink + 1;
    return end;
}
static void tell(uint64_t begin, uint64_t end) {
    say("spun %d %llu %llu\n", (int)syscall(SYS_gettid), (unsigned long long)begin,
        (unsigned long long)end);
}
FRAME void *run(void *arg) {
    uint64_t begin, end = layout_outer(&begin);
    tell(begin, end);
    return arg;
}
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    length = (uint64_t)(atof(argv[1]) * 1e9);
    pthread_t other;
    uint64_t begin, end;
    if (pthread_create(&other, NULL, run, NULL)) return 1;
    end = layout_outer(&begin);
    tell(begin, end);
    pthread_join(other, NULL);
    return 0;
}

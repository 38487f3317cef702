/* A program that knows its own history: every function logs when it was entered and left, so
 * that each sample can be held against what its thread was really doing at that instant.
 *
 *   spans OUT_DIR PROCESSES THREADS SECONDS
 *
 * Truth: OUT_DIR/<pid>.<tid>.log, written as each thread ends, one line an event:
 *   E <function number> <ns>      entered
 *   X <function number> <ns>      left
 * The functions are f00 .. f31; each calls others at random, 2 to 24 deep, and at the bottom
 * burns CPU (burn) or sleeps (nap).
 */
#include "truth.h"
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define EVENTS_MAX (1u << 20)
#define SLEEPS_OF_100 30

typedef struct { uint64_t ns; int32_t function; char kind; } event;
typedef struct { event *events; size_t count; uint64_t random; } history;
static __thread history *mine;
static uint64_t deadline;
static const char *out_dir;

static inline uint32_t rnd(void) {
    mine->random ^= mine->random << 13;
    mine->random ^= mine->random >> 7;
    mine->random ^= mine->random << 17;
    return (uint32_t)(mine->random >> 16);
}
static inline void put(char kind, int function) {
    if (mine->count < EVENTS_MAX) mine->events[mine->count++] = (event){now(), function, kind};
}
static FRAME void burn(uint64_t ns) {
    uint64_t end = now() + ns;
    volatile uint64_t x = 1;
    while (now() < end)
        for (int i = 0; i < 64; i++) x = x * 2862933555777941757ull + 3037000493ull;
}
static FRAME void nap(uint64_t ns) { sleep_ns(ns); }

static void call(int depth);
/* Each does something after its call, so that no call can become a jump; the frames differ in
 * size. 1##i - 100 is the number in decimal: 08 alone would be read as octal. */
#define F(i) static FRAME uint32_t f##i(int depth) { \
    put('E', 1##i - 100); \
    volatile uint32_t keep[1 + (1##i % 7)]; \
    keep[0] = rnd(); \
    call(depth); \
    uint32_t r = keep[0] + (uint32_t)depth; \
    put('X', 1##i - 100); \
    return r; }
F(00) F(01) F(02) F(03) F(04) F(05) F(06) F(07) F(08) F(09) F(10) F(11) F(12) F(13) F(14) F(15)
F(16) F(17) F(18) F(19) F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)
static uint32_t (*const table[32])(int) = {
    f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15,
    f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31};
static volatile uint32_t sink;

static FRAME void call(int depth) {
    if (depth <= 0) {
        uint64_t ns = 300000ull + (uint64_t)(rnd() % 9000) * 1000ull;
        if (rnd() % 100 < SLEEPS_OF_100) nap(ns);
        else burn(ns);
        return;
    }
    int calls = 1 + (int)(rnd() % 2);
    for (int i = 0; i < calls && now() < deadline; i++) {
        sink = sink + table[rnd() % 32](depth - 1 - (int)(rnd() % 3));
        sink = sink + 1;
    }
}

static void save(const history *log) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%d.log", out_dir, getpid(), (int)syscall(SYS_gettid));
    FILE *file = fopen(path, "w");
    if (!file) { perror(path); exit(1); }
    for (size_t i = 0; i < log->count; i++)
        fprintf(file, "%c %d %llu\n", log->events[i].kind, log->events[i].function,
                (unsigned long long)log->events[i].ns);
    if (fclose(file) != 0) { perror(path); exit(1); }
}
static void *thread_main(void *arg) {
    uint64_t number = (uint64_t)(uintptr_t)arg;
    history log = {malloc(EVENTS_MAX * sizeof(event)), 0,
                   0x9E3779B97F4A7C15ull ^ number * 0xD1B54A32D192ED03ull ^ (uint64_t)getpid() << 32};
    if (!log.events) exit(1);
    mine = &log;
    char name[16];
    snprintf(name, sizeof name, "worker-%d", (int)number);
    pthread_setname_np(pthread_self(), name);
    while (now() < deadline) call(2 + (int)(rnd() % 23));
    save(&log);
    return NULL;
}
static void process_main(int threads, int process) {
    pthread_t *all = calloc((size_t)threads, sizeof *all);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, thread_main, (void *)(uintptr_t)(i + 1 + process * 1000)))
            exit(1);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}
int main(int argc, char **argv) {
    if (argc != 5) { fprintf(stderr, "usage: spans OUT_DIR PROCESSES THREADS SECONDS\n"); return 2; }
    out_dir = argv[1];
    int processes = atoi(argv[2]), threads = atoi(argv[3]), status, failed = 0;
    deadline = now() + (uint64_t)(atof(argv[4]) * 1e9);
    for (int p = 1; p < processes; p++)
        if (fork() == 0) { process_main(threads, p); return 0; }
    process_main(threads, 0);
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}

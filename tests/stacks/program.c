// Calls of every shape a compiler makes: recursion, tail calls, alloca, callbacks from libc, the
// procedure linkage table, many arguments, large frames. It waits for a byte on stdin between
// preparation and work, and ends with a checksum that the compiler cannot foresee.
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE static int leaf(int value) { return value * 3 + sink; }

NOINLINE static int recurse(int depth) {
    if (depth == 0) return leaf(depth);
    return recurse(depth - 1) + leaf(depth);
}

NOINLINE static int tail(int value) { return leaf(value + 1); }

NOINLINE static int with_alloca(int size) {
    char *room = alloca(size);
    memset(room, size, size);
    sink = room[size / 2];
    return tail(size);
}

NOINLINE static int aligned(int value) {
    _Alignas(64) volatile char room[128];
    room[value & 127] = value;
    return leaf(room[value & 127]);
}

NOINLINE static int many(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    return leaf(a + b + c + d) + leaf(e + f + g + h + i);
}

NOINLINE static int large_frame(int value) {
    volatile char room[9000];
    room[value] = 1;
    return leaf(room[value]) + recurse(3);
}

static int compare(const void *one, const void *other) {
    return leaf(*(const int *)one) - leaf(*(const int *)other);
}

NOINLINE static int work(void) {
    int values[12];
    int sum = 0;
    for (int i = 0; i < 12; i++) values[i] = (i * 7) % 12;
    qsort(values, 12, sizeof *values, compare);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char text[64];
    sum += snprintf(text, sizeof text, "%d %s", values[3], "text");
    sum += recurse(12) + with_alloca(200) + aligned(7) + many(1, 2, 3, 4, 5, 6, 7, 8, 9);
    sum += large_frame(17) + (int)strlen(text) + (now.tv_sec == 0);
    return sum;
}

int main(void) {
    char byte;
    if (write(1, "r", 1) != 1 || read(0, &byte, 1) != 1) return 1;
    sink = work() == 0;
    return sink;
}

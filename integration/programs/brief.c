/* A short life: brief SPIN_MS EXIT_CODE spins for so long and exits with that code. */
#include "truth.h"

int main(int argc, char **argv) {
    if (argc != 3) return 98;
    uint64_t end = now() + (uint64_t)atoi(argv[1]) * 1000000ull;
    while (now() < end) { }
    return atoi(argv[2]);
}

/* Holds a process by ptrace as a debugger does: tracer PID
 *
 * Truth: stdout, "tracing" once it has; it lets go at the end of stdin.
 */
#include "truth.h"
#include <sys/ptrace.h>

int main(int argc, char **argv) {
    char c;
    if (argc != 2) return 2;
    if (ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0) != 0) { perror("seize"); return 1; }
    say("tracing\n");
    while (read(0, &c, 1) > 0) { }
    return 0;
}

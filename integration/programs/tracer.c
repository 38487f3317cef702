/* Holds all threads of a process by ptrace as a debugger does: tracer PID
 *
 * Truth: stdout, "tracing" once it has them; it lets go at the end of stdin.
 */
#include "truth.h"
#include <dirent.h>
#include <sys/ptrace.h>

int main(int argc, char **argv) {
    char c, path[64];
    if (argc != 2) return 2;
    snprintf(path, sizeof path, "/proc/%d/task", atoi(argv[1]));
    DIR *threads = opendir(path);
    if (!threads) { perror(path); return 1; }
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
        if (atoi(entry->d_name) > 0 && ptrace(PTRACE_SEIZE, atoi(entry->d_name), 0, 0) != 0) {
            perror("seize");
            return 1;
        }
    closedir(threads);
    say("tracing\n");
    while (read(0, &c, 1) > 0) { }
    return 0;
}

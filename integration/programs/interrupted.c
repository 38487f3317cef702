/* Counts the SIGINTs it gets and lives on, also when its terminal is gone.
 *
 *   interrupted LOG STOP
 *
 * Truth: LOG, one line each: "ready <pid>" at the start, "int" for each SIGINT, and
 * "end <number of SIGINTs>" when the file STOP exists; exit status 5 then (6 after a minute
 * without it).
 */
#include "truth.h"
#include <fcntl.h>
#include <signal.h>

static volatile sig_atomic_t count;
static void on_int(int number) { (void)number; count = count + 1; }

static FRAME void linger(void) { sleep_ns(2000000); }

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    struct sigaction action = {.sa_handler = on_int, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    int log = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (log < 0) return 1;
    say_to(log, "ready %d\n", getpid());
    uint64_t limit = now() + 60000000000ull;
    int told = 0;
    while (access(argv[2], F_OK) != 0) {
        linger();
        for (; told < count; told++) say_to(log, "int\n");
        if (now() > limit) return 6;
    }
    say_to(log, "end %d\n", (int)count);
    return 5;
}

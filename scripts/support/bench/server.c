/* A server that many connections ask at once, the load that asks it, and a stranger to both.
 *
 *   server serve SOCKET THREADS
 *       each thread waits by epoll for its share of the connections, works for about 20 us on each
 *       request (64 bytes), and answers with as many. Ends when its stdin does.
 *   server load SOCKET CONNECTIONS REQUESTS_A_SECOND SECONDS
 *       asks at even times, whether answers are late or not: a request that has to wait for its turn
 *       counts from when it was due. Prints {"requests", "seconds", "p50_us", "p99_us", "max_us"}.
 *   server spin SECONDS
 *       counts as fast as it can, prints {"steps"}.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SIZE 64
#define WORK_NS 20000ull

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Work of a fixed amount, not of a fixed time: who is held up is to be late by that. */
static uint64_t steps_a_request;
static __thread volatile uint64_t result;
static void work(uint64_t steps) {
    uint64_t value = result | 1;
    for (uint64_t i = 0; i < steps; i++) value = value * 6364136223846793005u + 1442695040888963407u;
    result = value;
}

static void calibrate(void) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t begin = now();
        work(100000);
        uint64_t took = now() - begin;
        if (took < best) best = took;
    }
    steps_a_request = 100000 * WORK_NS / best;
}

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    return address;
}

static void *serve(void *arg) {
    int epoll = *(int *)arg;
    struct epoll_event events[64];
    char request[SIZE];
    for (;;) {
        int got = epoll_wait(epoll, events, 64, -1);
        if (got < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < got; i++) {
            ssize_t bytes = recv(events[i].data.fd, request, SIZE, 0);
            if (bytes != SIZE) {
                if (bytes < 0 && errno == EINTR) { i--; continue; }
                close(events[i].data.fd);
                continue;
            }
            work(steps_a_request);
            if (send(events[i].data.fd, request, SIZE, MSG_NOSIGNAL) < 0) close(events[i].data.fd);
        }
    }
    return NULL;
}

static void *await_end(void *arg) {
    (void)arg;
    char byte;
    while (read(0, &byte, 1) > 0) {}
    exit(0);
}

static void run_server(const char *path, int threads) {
    calibrate();
    int *epolls = calloc((size_t)threads, sizeof *epolls);
    struct sockaddr_un address = address_of(path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 512)) fail(path);
    pthread_t thread;
    for (int i = 0; i < threads; i++) {
        epolls[i] = epoll_create1(0);
        pthread_create(&thread, NULL, serve, &epolls[i]);
    }
    pthread_create(&thread, NULL, await_end, NULL);
    for (int next = 0;; next = (next + 1) % threads) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0) { if (errno == EINTR) continue; fail("accept"); }
        struct epoll_event event = { .events = EPOLLIN, .data.fd = connection };
        epoll_ctl(epolls[next], EPOLL_CTL_ADD, connection, &event);
    }
}

static int by_size(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static void run_load(const char *path, int connections, double rate, double seconds) {
    prctl(PR_SET_TIMERSLACK, 1);
    struct sockaddr_un address = address_of(path);
    int *sockets = calloc((size_t)connections, sizeof *sockets);
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        sockets[i] = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (connect(sockets[i], (struct sockaddr *)&address, sizeof address)) fail(path);
        struct epoll_event event = { .events = EPOLLIN, .data.fd = sockets[i] };
        epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i], &event);
    }
    uint64_t total = (uint64_t)(rate * seconds), asked = 0, answered = 0;
    uint64_t *latencies = calloc(total + 1, sizeof *latencies), interval = (uint64_t)(1e9 / rate);
    uint64_t start = now() + 1000000;
    char message[SIZE] = { 0 };
    struct epoll_event events[64];
    while (answered < total) {
        uint64_t time = now();
        while (asked < total && start + asked * interval <= time) {
            uint64_t due = start + asked * interval;
            memcpy(message + 8, &due, sizeof due);
            if (send(sockets[asked % (uint64_t)connections], message, SIZE, 0) != SIZE) fail("send");
            asked++;
        }
        uint64_t next = start + asked * interval;
        struct timespec wait = { 0, asked < total && next > time ? (long)(next - time) : asked < total ? 0 : 1000000 };
        int got = epoll_pwait2(epoll, events, 64, &wait, NULL);
        for (int i = 0; i < got; i++) {
            if (recv(events[i].data.fd, message, SIZE, MSG_DONTWAIT) != SIZE) continue;
            uint64_t due;
            memcpy(&due, message + 8, sizeof due);
            latencies[answered++] = now() - due;
        }
    }
    double took = (double)(now() - start) / 1e9;
    qsort(latencies, answered, sizeof *latencies, by_size);
    printf("{\"requests\": %llu, \"seconds\": %.4f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n",
           (unsigned long long)answered, took, (double)latencies[answered / 2] / 1e3,
           (double)latencies[answered * 99 / 100] / 1e3, (double)latencies[answered - 1] / 1e3);
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "serve")) run_server(argv[2], atoi(argv[3]));
    else if (argc == 6 && !strcmp(argv[1], "load")) run_load(argv[2], atoi(argv[3]), atof(argv[4]), atof(argv[5]));
    else if (argc == 3 && !strcmp(argv[1], "spin")) {
        uint64_t end = now() + (uint64_t)(atof(argv[2]) * 1e9), steps = 0;
        while (now() < end) { work(1000); steps++; }
        printf("{\"steps\": %llu}\n", (unsigned long long)steps);
    } else {
        fputs("usage: see the head of the source\n", stderr);
        return 2;
    }
    return 0;
}

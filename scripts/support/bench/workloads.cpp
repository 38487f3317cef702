// Native workloads for measuring what a profiler costs and what it sees: see usage below.
//
// Every mode does a fixed amount of work and then prints one JSON line:
//   wall_s    its own wall time, from the start of main to the end of the work
//   metric_s  the time whose ratio to the bare run is "the slowdown"
//   end_mono  CLOCK_MONOTONIC at the end of the work
//   cpu_s     CPU seconds of the process and of the children it waited for
//   thread_s  the sum of the lifetimes of all its threads (what a wall-clock
//             sampler of every thread should see: rate * thread_s samples)
//   work      a count of units done, tracks  the number of threads ever alive
//   gap_max_ms / stalls  the longest time between two looks at the clock inside
//             a CPU-bound loop, and how many were above 1 ms
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

static double cpu_seconds() {
    double sum = 0;
    for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage r;
        getrusage(who, &r);
        sum += double(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
               double(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
    }
    return sum;
}

// Shared with forked children through an anonymous mapping.
struct Shared {
    std::atomic<uint64_t> work{0}, stalls{0}, gap_max_ns{0}, thread_ns{0}, tracks{0};
};
static Shared* sh;
static thread_local double last_look = 0;

static void look() {
    double t = now();
    if (last_look != 0) {
        uint64_t gap = uint64_t((t - last_look) * 1e9);
        if (gap > 1000000) sh->stalls++;
        uint64_t old = sh->gap_max_ns;
        while (gap > old && !sh->gap_max_ns.compare_exchange_weak(old, gap)) {}
    }
    last_look = t;
}

// One unit: about 20 microseconds of integer work at the bottom of 20 frames.
NOINLINE uint64_t spin_leaf(uint64_t x, int rounds) {
    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}
template <int D> struct Level {
    static NOINLINE uint64_t call(uint64_t x) { return Level<D - 1>::call(x + D) ^ uint64_t(D); }
};
template <> struct Level<0> {
    static NOINLINE uint64_t call(uint64_t x) { return spin_leaf(x | 1, 12000) + 3; }
};

struct Life {  // counts a thread's lifetime
    double t0 = now();
    Life() { sh->tracks++; }
    ~Life() { sh->thread_ns += uint64_t((now() - t0) * 1e9); }
};

static std::atomic<uint64_t> sink;

static NOINLINE void burn(long units) {
    uint64_t x = 88172645463325252ull;
    for (long i = 0; i < units; i++) {
        x = Level<18>::call(x);
        look();
        sh->work++;
    }
    sink += x;
}

static void name_thread(const std::string& n) { prctl(PR_SET_NAME, n.c_str()); }

static NOINLINE void cpu_worker(int i, long units) {
    Life life;
    name_thread("cpu-" + std::to_string(i));
    burn(units);
}

static void run_threads(int n, long units) {
    std::vector<std::thread> ts;
    for (int i = 0; i < n; i++) ts.emplace_back(cpu_worker, i, units / n);
    for (auto& t : ts) t.join();
}

// ---- idle pool --------------------------------------------------------------
static std::mutex pool_m;
static std::condition_variable pool_cv;
static bool pool_stop = false;
static int pool_pipe[2];

template <int D> struct Nest {
    static NOINLINE int futex_wait() { int r = Nest<D - 1>::futex_wait(); asm volatile("" ::: "memory"); return r + 1; }
    static NOINLINE int epoll_sleep(int ep) { int r = Nest<D - 1>::epoll_sleep(ep); asm volatile("" ::: "memory"); return r + 1; }
};
template <> struct Nest<0> {
    static NOINLINE int futex_wait() {
        std::unique_lock<std::mutex> l(pool_m);
        pool_cv.wait(l, [] { return pool_stop; });
        return 0;
    }
    static NOINLINE int epoll_sleep(int ep) {
        epoll_event e;
        while (epoll_wait(ep, &e, 1, -1) < 0 && errno == EINTR) {}
        return 0;
    }
};
static NOINLINE void idle_worker(int i) {
    Life life;
    name_thread("idle-" + std::to_string(i));
    if (i % 2) {
        Nest<8>::futex_wait();
    } else {
        int ep = epoll_create1(0);
        epoll_event e{};
        e.events = EPOLLIN;
        epoll_ctl(ep, EPOLL_CTL_ADD, pool_pipe[0], &e);
        Nest<8>::epoll_sleep(ep);
        close(ep);
    }
}
static void pool(int idle, long units) {
    if (pipe(pool_pipe)) exit(3);
    std::vector<std::thread> ts;
    for (int i = 0; i < idle; i++) ts.emplace_back(idle_worker, i);
    run_threads(2, units);
    { std::lock_guard<std::mutex> l(pool_m); pool_stop = true; }
    pool_cv.notify_all();
    if (write(pool_pipe[1], "x", 1) != 1) exit(3);
    for (auto& t : ts) t.join();
}

// ---- deep recursion ----------------------------------------------------------
NOINLINE uint64_t deep_frame(int depth, uint64_t x, long units) {
    volatile char pad[96];
    pad[depth % 96] = char(x);
    if (depth <= 1) {
        for (long i = 0; i < units; i++) { x = spin_leaf(x | 1, 12000); look(); sh->work++; }
        return x + uint64_t(pad[0]);
    }
    uint64_t r = deep_frame(depth - 1, x + 1, units);
    return r ^ uint64_t(pad[depth % 96]);
}

// ---- process tree -------------------------------------------------------------
static void tree(int procs, int threads, long units) {
    std::vector<pid_t> kids;
    for (int p = 0; p < procs; p++) {
        fflush(stdout);
        pid_t k = fork();
        if (k == 0) {
            name_thread("worker-" + std::to_string(p));
            { Life life; run_threads(threads, units / procs); }
            _exit(0);
        }
        kids.push_back(k);
    }
    for (pid_t k : kids) waitpid(k, nullptr, 0);
}

// ---- churn ----------------------------------------------------------------------
static void churn_piece() { Life life; burn(25); }  // about 0.5 ms
static double churn(long rounds, double hz, long* late) {
    double start = now(), busy = 0;
    for (long i = 0; i < rounds; i++) {
        double due = start + double(i) / hz, t = now();
        if (t < due) { last_look = 0; usleep(useconds_t((due - t) * 1e6)); }
        else if (t > due + 2 / hz) ++*late;
        double b = now();
        std::thread th(churn_piece);
        th.join();
        pid_t k = fork();
        if (k == 0) {
            if (i % 4 == 0) { execl("/bin/true", "true", (char*)nullptr); _exit(9); }
            last_look = 0;
            churn_piece();
            _exit(0);
        }
        waitpid(k, nullptr, 0);
        busy += now() - b;
    }
    return busy;
}

// ---- the address space never rests -------------------------------------------------
static std::atomic<bool> restless_stop;
static NOINLINE void map_and_unmap() {
    Life life;
    name_thread("mapper");
    const size_t size = 4 << 20;
    while (!restless_stop) {
        char* at = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (at == MAP_FAILED) exit(3);
        for (size_t i = 0; i < size; i += 4096) at[i] = 1;
        munmap(at, size);
        sh->work++;
    }
}
static void restless(long rounds) {
    std::thread mappers[2] = {std::thread(map_and_unmap), std::thread(map_and_unmap)};
    for (long i = 0; i < rounds; i++) {
        pid_t k = fork();
        if (k == 0) {
            if (i % 2) _exit(0);
            execl("/bin/true", "true", (char*)nullptr);
            _exit(9);
        }
        waitpid(k, nullptr, 0);
    }
    restless_stop = true;
    for (auto& t : mappers) t.join();
}

// ---- blocking system calls ---------------------------------------------------------
struct Sys { std::atomic<long> calls{0}, eintr{0}, early{0}; std::atomic<long> late_us{0}; };
static Sys sys_epoll, sys_nano, sys_futex, sys_pipe;

static void tally(Sys& s, double t0, double want_s, bool intr) {
    double took = now() - t0;
    s.calls++;
    if (intr) s.eintr++;
    if (took < want_s * 0.98) s.early++;
    else s.late_us += long((took - want_s) * 1e6);
}
static void sys_run(double seconds) {
    double end = now() + seconds;
    std::vector<std::thread> ts;
    ts.emplace_back([end] {
        Life life; name_thread("sys-epoll");
        int ep = epoll_create1(0);
        epoll_event e;
        while (now() < end) { double t = now(); int r = epoll_wait(ep, &e, 1, 20); tally(sys_epoll, t, .020, r < 0 && errno == EINTR); }
        close(ep);
    });
    ts.emplace_back([end] {
        Life life; name_thread("sys-nanosleep");
        while (now() < end) { double t = now(); timespec ts{0, 20000000}; int r = nanosleep(&ts, nullptr); tally(sys_nano, t, .020, r < 0 && errno == EINTR); }
    });
    ts.emplace_back([end] {
        Life life; name_thread("sys-futex");
        static int word = 0;
        while (now() < end) { double t = now(); timespec ts{0, 20000000}; long r = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, nullptr, 0); tally(sys_futex, t, .020, r < 0 && errno == EINTR); }
    });
    int p[2];
    if (pipe(p)) exit(3);
    ts.emplace_back([p] {
        Life life; name_thread("sys-pipe-read");
        char c = 0;
        for (;;) {
            double t = now();
            ssize_t r = read(p[0], &c, 1);
            tally(sys_pipe, t, .020, r < 0 && errno == EINTR);
            if (r == 1 && c == 'q') break;
        }
    });
    while (now() < end) { usleep(20000); if (write(p[1], "x", 1) != 1) exit(3); }
    if (write(p[1], "q", 1) != 1) exit(3);
    for (auto& t : ts) t.join();
    sh->work = uint64_t(sys_epoll.calls + sys_nano.calls + sys_futex.calls + sys_pipe.calls);
}
static std::string sys_json() {
    std::string out;
    Sys* all[] = {&sys_epoll, &sys_nano, &sys_futex, &sys_pipe};
    const char* names[] = {"epoll", "nanosleep", "futex", "pipe"};
    for (int i = 0; i < 4; i++) {
        char b[256];
        long n = all[i]->calls ? long(all[i]->calls) : 1;
        snprintf(b, sizeof b, ", \"%s\": {\"calls\": %ld, \"eintr\": %ld, \"early\": %ld, \"late_us_mean\": %.1f}",
                 names[i], long(all[i]->calls), long(all[i]->eintr), long(all[i]->early), double(all[i]->late_us) / double(n));
        out += b;
    }
    return out;
}

int main(int argc, char** argv) {
    double t0 = now();
    std::string mode = argc > 1 ? argv[1] : "";
    auto arg = [&](int i, double d) { return argc > i ? atof(argv[i]) : d; };
    sh = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
    double metric = -1;
    std::string extra;
    {
        Life life;
        if (mode == "cpu") { if (arg(2, 1) <= 1) burn(long(arg(3, 1000))); else run_threads(int(arg(2, 1)), long(arg(3, 1000))); }
        else if (mode == "pool") pool(int(arg(2, 200)), long(arg(3, 1000)));
        else if (mode == "deep") sink += deep_frame(int(arg(2, 2000)), 1, long(arg(3, 1000)));
        else if (mode == "tree") tree(int(arg(2, 8)), int(arg(3, 4)), long(arg(4, 1000)));
        else if (mode == "churn") { long late = 0; metric = churn(long(arg(2, 400)), arg(3, 200), &late); extra = ", \"late_rounds\": " + std::to_string(late); }
        else if (mode == "restless") restless(long(arg(2, 1000)));
        else if (mode == "sys") { sys_run(arg(2, 2)); extra = sys_json(); metric = double(long(sys_epoll.late_us) + long(sys_nano.late_us) + long(sys_futex.late_us)) * 1e-6; }
        else { fprintf(stderr, "usage: workloads cpu T UNITS | pool IDLE UNITS | deep DEPTH UNITS | tree PROCS THREADS UNITS | churn ROUNDS HZ | restless FORKS | sys SECONDS\n"); return 2; }
    }
    double end = now();
    if (metric < 0) metric = end - t0;
    printf("{\"wall_s\": %.6f, \"metric_s\": %.6f, \"end_mono\": %.6f, \"cpu_s\": %.6f, \"thread_s\": %.6f, \"work\": %llu, \"tracks\": %llu, \"gap_max_ms\": %.3f, \"stalls\": %llu%s}\n",
           end - t0, metric, end, cpu_seconds(), double(sh->thread_ns) * 1e-9, (unsigned long long)sh->work,
           (unsigned long long)sh->tracks, double(sh->gap_max_ns) * 1e-6, (unsigned long long)sh->stalls, extra.c_str());
    fflush(stdout);
    return 0;
}

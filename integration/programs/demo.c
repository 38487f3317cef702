/* Something to look at: a small render farm of one parent and three workers.
 *
 *   demo SECONDS
 *
 * The parent's "dispatcher" hands frames to the workers over pipes; in each worker a "reader"
 * decodes them, two "renderer" threads draw them (with one palette between them, behind a lock),
 * and a "writer" sends them back; the parent's "collector" takes the finished frames in.
 * Truth: stdout, "<n> frames" at the end; each was decoded, rendered and encoded once, in the
 * functions decode, render_tile (below render_sky or render_ground) and encode.
 */
#include "truth.h"
#include <pthread.h>
#include <sys/wait.h>

#define WORKERS 3
#define RENDERERS 2
#define QUEUE 4

typedef struct { long number; uint64_t pixels; } frame;
typedef struct {
    frame slots[QUEUE];
    int first, count, closed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} queue;

static queue to_render = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static queue to_write = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t palette = PTHREAD_MUTEX_INITIALIZER;
static int in_fd, out_fd, to_worker[WORKERS], from_workers;
static uint64_t deadline;

static FRAME uint64_t compute(uint64_t x, uint64_t ns) {
    uint64_t end = now() + ns;
    while (now() < end)
        for (int i = 0; i < 200; i++) x = x * 6364136223846793005ull + 1442695040888963407ull;
    return x | 1;
}
static FRAME void put_frame(queue *q, frame f) {
    pthread_mutex_lock(&q->lock);
    while (q->count == QUEUE) pthread_cond_wait(&q->changed, &q->lock);
    q->slots[(q->first + q->count++) % QUEUE] = f;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}
static FRAME int take_frame(queue *q, frame *f) {
    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && !q->closed) pthread_cond_wait(&q->changed, &q->lock);
    int got = q->count > 0;
    if (got) {
        *f = q->slots[q->first];
        q->first = (q->first + 1) % QUEUE;
        q->count--;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return got;
}
static void close_queue(queue *q) {
    pthread_mutex_lock(&q->lock);
    q->closed = 1;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static FRAME uint64_t decode(uint64_t x) { return compute(x, 2000000) + 1; }
static FRAME uint64_t encode(uint64_t x) { return compute(x, 3000000) + 1; }
static FRAME uint64_t render_tile(uint64_t x, uint64_t ns) { return compute(x, ns) + 1; }
static FRAME uint64_t load_palette(uint64_t x) {
    pthread_mutex_lock(&palette);
    x = compute(x, 4000000) + 1;
    pthread_mutex_unlock(&palette);
    return x;
}
static FRAME uint64_t render_sky(uint64_t x) {
    for (int i = 0; i < 3; i++) x = render_tile(x, 2000000);
    return x;
}
static FRAME uint64_t render_ground(uint64_t x) {
    for (int i = 0; i < 5; i++) x = render_tile(x, 3000000);
    return x;
}
static FRAME uint64_t render_frame(uint64_t x) {
    return render_ground(render_sky(load_palette(x))) + 1;
}

static void *reader(void *arg) {
    frame f;
    while (read(in_fd, &f, sizeof f) == sizeof f) {
        f.pixels = decode(f.pixels);
        put_frame(&to_render, f);
    }
    close_queue(&to_render);
    return arg;
}
static void *renderer(void *arg) {
    frame f;
    while (take_frame(&to_render, &f)) {
        f.pixels = render_frame(f.pixels);
        put_frame(&to_write, f);
    }
    return arg;
}
static void *writer(void *arg) {
    frame f;
    while (take_frame(&to_write, &f)) {
        f.pixels = encode(f.pixels);
        if (write(out_fd, &f, sizeof f) != sizeof f) _exit(1);
    }
    return arg;
}
static pthread_t start(void *(*body)(void *), const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL)) _exit(1);
    pthread_setname_np(thread, name);
    return thread;
}
static void work(void) {
    pthread_t in = start(reader, "reader"), out = start(writer, "writer"), drawing[RENDERERS];
    for (int i = 0; i < RENDERERS; i++) drawing[i] = start(renderer, "renderer");
    pthread_join(in, NULL);
    for (int i = 0; i < RENDERERS; i++) pthread_join(drawing[i], NULL);
    close_queue(&to_write);
    pthread_join(out, NULL);
}
/* In bursts with pauses between them, so that the timeline has phases. */
static void *dispatcher(void *arg) {
    for (long n = 0; now() < deadline; n++) {
        frame f = {n, (uint64_t)n};
        if (write(to_worker[n % WORKERS], &f, sizeof f) != sizeof f) _exit(1);
        sleep_ns(n % 24 == 23 ? 300000000 : 20000000);
    }
    for (int w = 0; w < WORKERS; w++) close(to_worker[w]);
    return arg;
}
static void *collector(void *arg) {
    frame f;
    long frames = 0;
    while (read(from_workers, &f, sizeof f) == sizeof f) frames++;
    say("%ld frames\n", frames);
    return arg;
}
int main(int argc, char **argv) {
    int back[2];
    deadline = now() + (uint64_t)(argc > 1 ? atof(argv[1]) * 1e9 : 3e9);
    if (pipe(back)) return 1;
    for (int w = 0; w < WORKERS; w++) {
        int there[2];
        if (pipe(there)) return 1;
        if (fork() == 0) {
            for (int other = 0; other < w; other++) close(to_worker[other]);
            close(there[1]);
            close(back[0]);
            in_fd = there[0];
            out_fd = back[1];
            work();
            _exit(0);
        }
        close(there[0]);
        to_worker[w] = there[1];
    }
    close(back[1]);
    from_workers = back[0];
    pthread_t out = start(dispatcher, "dispatcher"), in = start(collector, "collector");
    pthread_join(out, NULL);
    pthread_join(in, NULL);
    while (wait(NULL) > 0) { }
    return 0;
}

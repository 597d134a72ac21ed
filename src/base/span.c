#include "base/span.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/border.h"
#include "base/clock.h"

#if HN_HAVE_SDT
/* Tracers count themselves here, so that nothing is timed for nobody. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__extension__ unsigned short hone_span_semaphore __attribute__((unused, section(".probes")));
#define TRACERS (*(volatile unsigned short *)&hone_span_semaphore)
#define PROBE(s) \
    DTRACE_PROBE5(hone, span, (s)->category, (s)->name, (s)->detail, (s)->begin_ns, (s)->end_ns)
#else
#define TRACERS 0
#define PROBE(s) (void)(s)
#endif

typedef void span_fn(void *ctx, const hone_span *span);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static span_fn *listener;
static void *listener_ctx;
static size_t listener_size;  /* of its spans, as its hone.h has them */
static atomic_bool listening; /* what spans look at */

void hone_span_listen_sized(span_fn *fn, void *ctx, const hone_layout *caller) {
    pthread_mutex_lock(&lock);
    listener = fn;
    listener_ctx = ctx;
    listener_size = HN_CALLER(caller, span);
    atomic_store(&listening, fn != NULL);
    pthread_mutex_unlock(&lock);
}

bool hn_span_wanted(void) {
    return atomic_load_explicit(&listening, memory_order_relaxed) || TRACERS != 0;
}

int64_t hn_span_begin(void) { return hn_span_wanted() ? hn_clock_ns() : 0; }

static int this_thread(void) {
    static atomic_int threads;
    static _Thread_local int number;
    if (number == 0) number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

void hn_span_tell(const hone_span *span) {
    hone_span s = *span;
    s.thread = this_thread();
    pthread_mutex_lock(&lock);
    span_fn *fn = listener;
    void *ctx = listener_ctx;
    size_t size = listener_size;
    pthread_mutex_unlock(&lock);
    PROBE(&s);
    hn_callback_struct shown;
    if (fn != NULL) fn(ctx, hn_show_one(&shown, &s, sizeof s, size));
}

void hn_span_end(const char *category, const char *name, int64_t begun, int64_t live_bytes) {
    if (begun == 0) return;
    hn_span_tell(&(hone_span){.category = category,
                              .name = name,
                              .begin_ns = begun,
                              .end_ns = hn_clock_ns(),
                              .live_bytes = live_bytes});
}

/* ---- regions ---- */

enum { MOST_DEEP = 64 };

typedef struct region {
    const char *name;
    int64_t begun;
} region;

/* Regions that have begun on this thread; deeper ones are only counted. */
static _Thread_local region regions[MOST_DEEP];
static _Thread_local int depth;

void hone_region_begin(const char *name) {
    if (depth < MOST_DEEP) regions[depth] = (region){name, hn_span_begin()};
    depth++;
}

void hone_region_end(void) {
    if (depth == 0) return;
    depth--;
    if (depth < MOST_DEEP) hn_span_end("region", regions[depth].name, regions[depth].begun, -1);
}

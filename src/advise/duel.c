#include "advise/duel.h"

#include <math.h>

#include "base/clock.h"
#include "measure/timing.h"

enum { MOST_RUNS = 4096, LEAST_RUNS = 5, WARM_UP = 3 };

typedef struct bout {
    hn_program *of[2];
    const hn_tensor *const *in;
    hn_tensor **out;
    int n_out;
    double ms[2][MOST_RUNS];
} bout;

static hone_status run_once(bout *b, int who, double *ms, hn_error *err) {
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_program_run(b->of[who], b->in, b->out, err));
    *ms = (double)(hn_clock_ns() - begun) * 1e-6;
    for (int i = 0; i < b->n_out; i++) hn_tensor_unref(b->out[i]);
    return HONE_OK;
}

/* The one that begins is another each time. */
static hone_status run_pair(bout *b, int round, int at, hn_error *err) {
    int first = round % 2;
    HN_TRY(run_once(b, first, &b->ms[first][at], err));
    return run_once(b, !first, &b->ms[!first][at], err);
}

static double ratio_of(double a, double b) { return b > 0 ? a / b : 1; }

static double least_of(const double *ms, int from, int to) {
    double least = ms[from];
    for (int i = from + 1; i < to; i++) least = fmin(least, ms[i]);
    return least;
}

void hn_duel_join(hn_duel *d, const hn_duel *more) {
    for (int i = 0; i < 2; i++) {
        d->ms[i] = fmin(d->ms[i], more->ms[i]);
        d->least[i] = fmin(d->least[i], more->least[i]);
    }
    d->ratio = ratio_of(d->least[0], d->least[1]);
    d->spread = fmin(d->spread, more->spread);
    d->slower = d->slower && more->slower;
    d->runs += more->runs;
}

bool hn_duel_is_unsettled(const hn_duel *d) {
    return d->spread > fmin(fabs(d->ratio - 1), 0.05 * d->ratio);
}

static hone_status fight(hn_duel *d, bout *b, double seconds, hn_allocator *alloc, hn_error *err) {
    for (int i = 0; i < WARM_UP; i++) HN_TRY(run_pair(b, i, 0, err));
    int64_t end = hn_clock_ns() + (int64_t)(seconds * 1e9);
    int n = 0;
    for (; n < MOST_RUNS && (n < LEAST_RUNS || hn_clock_ns() < end); n++)
        HN_TRY(run_pair(b, n, n, err));
    hone_timing t[2];
    for (int i = 0; i < 2; i++)
        HN_TRY(hn_timing_of(&t[i], b->ms[i], NULL, 0, (size_t)n, alloc, err));
    d->runs = n;
    for (int i = 0; i < 2; i++) d->ms[i] = t[i].p50;
    for (int i = 0; i < 2; i++) d->least[i] = t[i].min; /* what disturbs only adds */
    d->ratio = ratio_of(d->least[0], d->least[1]);
    double half[2];
    for (int h = 0; h < 2; h++) {
        int from = h * (n / 2), to = h == 0 ? n / 2 : n;
        half[h] = ratio_of(least_of(b->ms[0], from, to), least_of(b->ms[1], from, to));
    }
    d->spread = fabs(half[0] - half[1]);
    d->slower = hn_timing_compare(&t[0], &t[1]).verdict == HONE_CHANGE_SLOWER;
    return HONE_OK;
}

hone_status hn_duel_run(hn_duel *d, hn_program *a, hn_program *b, const hn_tensor *const *in,
                        int n_outputs, double seconds, hn_allocator *alloc, hn_error *err) {
    bout *own = hn_alloc_zero(alloc, sizeof *own, HN_MEM_OTHER);
    hn_tensor **out = hn_alloc_array(alloc, (size_t)n_outputs, sizeof *out, HN_MEM_OTHER);
    hone_status status = HN_NOMEM(err);
    if (own != NULL && out != NULL) {
        own->of[0] = a;
        own->of[1] = b;
        own->in = in;
        own->out = out;
        own->n_out = n_outputs;
        status = fight(d, own, seconds, alloc, err);
    }
    hn_free(alloc, out);
    hn_free(alloc, own);
    return status;
}

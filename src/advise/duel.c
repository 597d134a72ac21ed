#include "advise/duel.h"

#include <math.h>

#include "base/clock.h"
#include "measure/timing.h"

enum { MOST_RUNS = 8192, LEAST_RUNS = 5, WARM_UP = 3 };

/* How long one runs before it is the other's turn. Threads of one that wait for more work stay on
 * the cores for a little, and those that did not run lately have gone to sleep: of many short runs
 * in a row only the first feel that. */
#define TURN_NS 2000000

typedef struct bout {
    hn_program *of[2];
    const hn_tensor *const *in;
    hn_tensor **out;
    int n_out;
    int n[2]; /* runs */
    double ms[2][MOST_RUNS];
} bout;

static hone_status run_once(bout *b, int who, double *ms, hn_error *err) {
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_program_run(b->of[who], b->in, b->out, err));
    *ms = (double)(hn_clock_ns() - begun) * 1e-6;
    for (int i = 0; i < b->n_out; i++) hn_tensor_unref(b->out[i]);
    return HONE_OK;
}

static hone_status take_turn(bout *b, int who, hn_error *err) {
    int64_t end = hn_clock_ns() + TURN_NS;
    do HN_TRY(run_once(b, who, &b->ms[who][b->n[who]++], err));
    while (b->n[who] < MOST_RUNS && hn_clock_ns() < end);
    return HONE_OK;
}

/* The one that begins is another each time. */
static hone_status take_turns(bout *b, int64_t end, hn_error *err) {
    for (int round = 0; b->n[0] < MOST_RUNS && b->n[1] < MOST_RUNS; round++) {
        if (b->n[0] >= LEAST_RUNS && b->n[1] >= LEAST_RUNS && hn_clock_ns() >= end) break;
        HN_TRY(take_turn(b, round % 2, err));
        HN_TRY(take_turn(b, !(round % 2), err));
    }
    return HONE_OK;
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

double hn_duel_doubt(const hn_duel *d) { return d->ratio > 0 ? d->spread / d->ratio : 0; }

bool hn_duel_is_unsettled(const hn_duel *d) {
    return hn_duel_doubt(d) > fmin(fmax(fabs(d->ratio - 1), 0.01), HN_DOUBTFUL);
}

/* Of a half of the runs. */
static double ratio_of_half(const bout *b, int half) {
    double least[2];
    for (int i = 0; i < 2; i++) {
        int middle = b->n[i] / 2;
        least[i] = least_of(b->ms[i], half == 0 ? 0 : middle, half == 0 ? middle : b->n[i]);
    }
    return ratio_of(least[0], least[1]);
}

static hone_status fight(hn_duel *d, bout *b, double seconds, hn_allocator *alloc, hn_error *err) {
    double ignored;
    for (int i = 0; i < 2 * WARM_UP; i++) HN_TRY(run_once(b, i % 2, &ignored, err));
    HN_TRY(take_turns(b, hn_clock_ns() + (int64_t)(seconds * 1e9), err));
    hone_timing t[2];
    for (int i = 0; i < 2; i++)
        HN_TRY(hn_timing_of(&t[i], b->ms[i], NULL, 0, (size_t)b->n[i], alloc, err));
    d->runs = b->n[0] < b->n[1] ? b->n[0] : b->n[1];
    for (int i = 0; i < 2; i++) d->ms[i] = t[i].p50;
    for (int i = 0; i < 2; i++) d->least[i] = t[i].min; /* what disturbs only adds */
    d->ratio = ratio_of(d->least[0], d->least[1]);
    d->spread = fabs(ratio_of_half(b, 0) - ratio_of_half(b, 1));
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

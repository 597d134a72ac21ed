#include "advise/duel.h"

#include <math.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "measure/timing.h"

enum { MOST_RUNS = 8192, LEAST_RUNS = 3, WARM_UP = 2 };

/* How long one runs before it is the other's turn. Threads of one that wait for more work stay on
 * the cores for a little, and those that did not run lately have gone to sleep: of many short runs
 * in a row only the first feel that. */
#define TURN_NS 2000000

typedef struct bout {
    hn_program *of[2];
    const hn_tensor *const *in;
    hn_tensor **out;
    int n_out;
    double pace, best_pace;
    int64_t taken; /* how often a thread of the process has lost its core */
    int n[2];      /* runs */
    double ms[2][MOST_RUNS], paces[2][MOST_RUNS];
    double least[2];
    bool least_is_calm[2]; /* no thread lost its core meanwhile */
} bout;

static int64_t cores_taken(void) {
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (int64_t)use.ru_nivcsw : 0;
}

static hone_status run_once(bout *b, int who, double *ms, hn_error *err) {
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_program_run(b->of[who], b->in, b->out, err));
    *ms = (double)(hn_clock_ns() - begun) * 1e-6;
    for (int i = 0; i < b->n_out; i++) hn_tensor_unref(b->out[i]);
    return HONE_OK;
}

static hone_status run_and_keep(bout *b, int who, hn_error *err) {
    int i = b->n[who];
    HN_TRY(run_once(b, who, &b->ms[who][i], err));
    int64_t taken = cores_taken();
    if (i == 0 || b->ms[who][i] < b->least[who]) {
        b->least[who] = b->ms[who][i];
        b->least_is_calm[who] = taken == b->taken;
    }
    b->taken = taken;
    b->paces[who][i] = b->pace;
    b->n[who]++;
    return HONE_OK;
}

static hone_status take_turn(bout *b, int who, hn_error *err) {
    b->pace = hn_pace(&b->best_pace);
    b->taken = cores_taken();
    int64_t end = hn_clock_ns() + TURN_NS;
    do HN_TRY(run_and_keep(b, who, err));
    while (b->n[who] < MOST_RUNS && hn_clock_ns() < end);
    return HONE_OK;
}

/* The one that begins is another each time. */
static hone_status take_turns(bout *b, int64_t end, hn_error *err) {
    for (int turn = 0; b->n[0] < MOST_RUNS && b->n[1] < MOST_RUNS; turn++) {
        if (b->n[0] >= LEAST_RUNS && b->n[1] >= LEAST_RUNS && hn_clock_ns() >= end) break;
        HN_TRY(take_turn(b, turn % 2, err));
        HN_TRY(take_turn(b, !(turn % 2), err));
    }
    return HONE_OK;
}

static hone_status fight(hn_round *r, bout *b, double seconds, hn_allocator *alloc, hn_error *err) {
    double ignored;
    for (int i = 0; i < 2 * WARM_UP; i++) HN_TRY(run_once(b, i % 2, &ignored, err));
    HN_TRY(take_turns(b, hn_clock_ns() + (int64_t)(seconds * 1e9), err));
    r->runs = b->n[0] < b->n[1] ? b->n[0] : b->n[1];
    r->calm = true;
    r->best_pace = b->best_pace;
    for (int i = 0; i < 2; i++) {
        hone_timing t;
        HN_TRY(hn_timing_of(&t, b->ms[i], b->paces[i], b->best_pace, (size_t)b->n[i], alloc, err));
        r->ms[i] = t.p50;
        r->least[i] = t.min;
        r->calm = r->calm && hn_timing_is_calm(&t) && b->least_is_calm[i];
    }
    return HONE_OK;
}

hone_status hn_round_run(hn_round *r, hn_program *a, hn_program *b, const hn_tensor *const *in,
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
        own->best_pace = r->best_pace;
        status = fight(r, own, seconds, alloc, err);
    }
    hn_free(alloc, out);
    hn_free(alloc, own);
    return status;
}

/* ---- what rounds say together ---- */

static double ratio_of(const double *ms) { return ms[1] > 0 ? ms[0] / ms[1] : 1; }

static void add(hn_rounds *of, const hn_round *r) {
    double ratio = ratio_of(r->least);
    bool first = of->n++ == 0;
    of->low = first ? ratio : fmin(of->low, ratio);
    of->high = first ? ratio : fmax(of->high, ratio);
    for (int i = 0; i < 2; i++)
        of->least[i] = first ? r->least[i] : fmin(of->least[i], r->least[i]);
}

void hn_duel_add(hn_duel *d, const hn_round *r) {
    for (int i = 0; i < 2; i++) d->ms[i] = d->all.n == 0 ? r->ms[i] : fmin(d->ms[i], r->ms[i]);
    add(&d->all, r);
    if (r->calm) add(&d->calm, r);
}

static bool is_calm(const hn_duel *d) { return d->calm.n >= 2; }

static const hn_rounds *counted(const hn_duel *d) { return is_calm(d) ? &d->calm : &d->all; }

double hn_duel_doubt(const hn_duel *d) {
    const hn_rounds *of = counted(d);
    double doubt = (of->high - of->low) / ratio_of(of->least);
    return is_calm(d) ? doubt : fmax(doubt, HN_DISTURBED);
}

double hn_duel_speed(const hn_duel *d) {
    double speed = ratio_of(counted(d)->least);
    return fabs(speed - 1) > HN_LEAST_DIFFERENCE + hn_duel_doubt(d) * speed ? speed : 1;
}

bool hn_duel_is_open(const hn_duel *d) {
    if (d->all.n >= HN_MOST_ROUNDS) return false;
    double difference = fabs(ratio_of(counted(d)->least) - 1);
    return !is_calm(d) || hn_duel_doubt(d) > fmin(fmax(difference, 0.01), HN_DOUBTFUL);
}

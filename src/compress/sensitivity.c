#include "compress/sensitivity.h"

#include <math.h>
#include <stdlib.h>

/* Two sums of one set of products, taken in another order, differ by less: such a step is the same.
 */
#define SAME_DB 100

/* A guess at how many hybrids finding the set takes, for the progress. */
#define GUESS 16

static hone_status measure(const hn_sensitivity *s, hn_sensitivity_score *by, const bool *back,
                           int64_t *tried, double *score, hn_error *err) {
    hn_model *m;
    HN_TRY(hn_pairs_hybrid(s->pairs, back, s->pairs->alloc, &m, err));
    hone_status status = by(s->ctx, m, score, err);
    hn_model_destroy(m);
    ++*tried;
    return status;
}

static hone_status tell(const hn_sensitivity *s, int64_t done, int64_t total, hn_error *err) {
    HN_CHECK(err, s->progress == NULL || s->progress(s->progress_ctx, done, total), HONE_E_LIMIT,
             "stopped after %lld models", (long long)done);
    return HONE_OK;
}

/* ---- harm ---- */

static int by_score(const void *x, const void *y) {
    const hn_step_harm *a = x, *b = y;
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return a->pair - b->pair;
}

hone_status hn_sensitivity_rank(const hn_sensitivity *s, hn_step_harm *harms, int *n,
                                int64_t *tried, hn_error *err) {
    const hn_pairs *p = s->pairs;
    *n = 0;
    for (int i = 0; i < p->n; i++)
        if (hn_distance_sqnr(&s->errors[i].alone) < SAME_DB) harms[(*n)++].pair = i;
    bool *back = hn_alloc_array(p->alloc, (size_t)p->n, sizeof *back, HN_MEM_SCRATCH);
    if (back == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    for (int i = 0; i < p->n; i++) back[i] = true;
    for (int k = 0; k < *n && status == HONE_OK; k++) {
        back[harms[k].pair] = false;
        status = measure(s, s->rank, back, tried, &harms[k].score, err);
        back[harms[k].pair] = true;
        if (status == HONE_OK) status = tell(s, k + 1, *n + GUESS, err);
    }
    hn_free(p->alloc, back);
    if (status == HONE_OK) qsort(harms, (size_t)*n, sizeof *harms, by_score);
    return status;
}

/* ---- the set ---- */

typedef struct search {
    const hn_sensitivity *s;
    const hn_step_harm *harms;
    int n;
    bool *back;
    double score; /* of the last set that passed */
    int64_t *tried;
} search;

/* Whether the steps in w->back are enough. */
static hone_status passes(search *w, bool *pass, hn_error *err) {
    double score;
    HN_TRY(measure(w->s, w->s->decide, w->back, w->tried, &score, err));
    *pass = score >= w->s->enough;
    if (*pass) w->score = score;
    return tell(w->s, w->n + *w->tried % GUESS, w->n + GUESS, err);
}

static void take_first(search *w, int k) {
    for (int i = 0; i < w->n; i++) w->back[w->harms[i].pair] = i < k;
}

/* The fewest of the most harmful that pass. */
static hone_status grow(search *w, hn_error *err) {
    int fails = -1, enough = w->n; /* none may pass */
    bool pass;
    take_first(w, enough);
    HN_TRY(passes(w, &pass, err));
    HN_CHECK(err, pass, HONE_E_NOT_FOUND,
             "it does not pass with all %d steps that differ put back to what they are in the "
             "first model",
             w->n);
    while (enough - fails > 1) {
        int half = fails + (enough - fails) / 2;
        take_first(w, half);
        HN_TRY(passes(w, &pass, err));
        if (pass)
            enough = half;
        else
            fails = half;
    }
    take_first(w, enough);
    return HONE_OK;
}

static hone_status leave_out(search *w, hn_error *err) {
    for (int i = w->n - 1; i >= 0; i--) {
        bool pass, *one = &w->back[w->harms[i].pair];
        if (!*one) continue;
        *one = false;
        HN_TRY(passes(w, &pass, err));
        *one = !pass;
    }
    return HONE_OK;
}

hone_status hn_sensitivity_bisect(const hn_sensitivity *s, const hn_step_harm *harms, int n,
                                  bool *back, double *score, int64_t *tried, hn_error *err) {
    search w = {s, harms, n, back, NAN, tried};
    memset(back, 0, (size_t)s->pairs->n * sizeof *back);
    HN_TRY(grow(&w, err));
    HN_TRY(leave_out(&w, err));
    *score = w.score;
    return HONE_OK;
}

#include "measure/breaks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A step that keeps more than SAME computes the same in another order; more than CLEAN is rounding
 * that nobody notices; more than FINE is as good as the first model for most uses; less than BROKEN
 * is broken, whatever the others keep. */
#define SAME_DB 100
#define CLEAN_DB 60
#define FINE_DB 30
#define BROKEN_DB 15
/* In between, a step stands out when it is this much worse than half of those that differ. */
#define WORSE_DB 10
/* What SQNR falls by where something happens. */
#define FALL_DB 3
/* Steps that are named, the worst included. */
#define MOST_NAMED 5

static const char *node_name(const hn_node *n) {
    return n->name[0] != '\0' ? n->name : hn_node_output(n, 0) != NULL ? n->outputs[0]->name : "";
}

/* ---- the list ---- */

static void fill(hone_tensor_error *t, const hn_node *n, const char *name, const hn_distance *d) {
    *t = (hone_tensor_error){.name = name,
                             .op = n->op_type,
                             .node = node_name(n),
                             .sqnr_db = hn_distance_sqnr(d),
                             .isolated_sqnr_db = hn_distance_sqnr(d),
                             .input_sqnr_db = INFINITY,
                             .cosine = hn_distance_cosine(d),
                             .max_error = hn_distance_max(d)};
}

/* The worst of what the step of pair i reads. */
static hone_status worst_input(const hn_pairs *p, int i, const hn_pair_error *errors, bool *reads,
                               double *worst, hn_error *err) {
    memset(reads, 0, (size_t)p->n * sizeof *reads);
    HN_TRY(hn_pairs_step(p, HN_SIDE_B, i, NULL, reads, err));
    *worst = INFINITY;
    for (int r = 0; r < p->n; r++)
        if (reads[r]) *worst = fmin(*worst, hn_distance_sqnr(&errors[r].own));
    return HONE_OK;
}

static int by_isolated(const void *x, const void *y) {
    const hone_tensor_error *a = x, *b = y;
    if (a->isolated_sqnr_db != b->isolated_sqnr_db)
        return a->isolated_sqnr_db < b->isolated_sqnr_db ? -1 : 1;
    if (a->sqnr_db != b->sqnr_db) return a->sqnr_db < b->sqnr_db ? -1 : 1;
    return a->weight != b->weight ? a->weight - b->weight : strcmp(a->name, b->name);
}

/* ---- in words ---- */

typedef struct text {
    char buf[900];
    size_t n;
} text;

static void put(text *t, const char *format, ...) HONE_PRINTF(2, 3);
static void put(text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->buf + t->n, sizeof t->buf - t->n, format, list);
    va_end(list);
    if (n > 0) t->n += (size_t)n;
    if (t->n >= sizeof t->buf) t->n = sizeof t->buf - 1;
}

static const char *db(double x, char *buf) {
    if (isinf(x))
        strcpy(buf, x > 0 ? "exact" : "nothing left");
    else
        snprintf(buf, 32, "%.0f dB", x);
    return buf;
}

/* As a share of the whole, "12 %". */
static const char *share(double sqnr, char *buf) {
    double x = isinf(sqnr) ? (sqnr > 0 ? 0 : INFINITY) : 100 * pow(10, -sqnr / 20);
    if (x > 1000)
        strcpy(buf, "more than ten times their size");
    else
        snprintf(buf, 40, x >= 10 ? "%.0f %%" : "%.2g %%", x);
    return buf;
}

static const hone_tensor_error *worst_weight(const hone_comparison *c, const char *node) {
    for (size_t i = 0; i < c->n_tensors; i++)
        if (c->tensors[i].weight && strcmp(c->tensors[i].node, node) == 0) return &c->tensors[i];
    return NULL;
}

static void explain(text *t, const hone_comparison *c, const hone_tensor_error *worst) {
    char a[40], b[40];
    if (worst->input_sqnr_db < INFINITY)
        put(t, "SQNR falls from %s to %s", db(worst->input_sqnr_db, a), db(worst->sqnr_db, b));
    else
        put(t, "SQNR is %s behind it", db(worst->sqnr_db, a));
    const hone_tensor_error *w = worst_weight(c, worst->node);
    if (w == NULL)
        put(t, "; alone it keeps %s", db(worst->isolated_sqnr_db, a));
    else if (isinf(w->sqnr_db) && w->sqnr_db > 0)
        put(t, "; its weights are the same");
    else
        put(t, "; its weights are off by %s", share(w->sqnr_db, a));
    bool fine = worst->input_sqnr_db > worst->isolated_sqnr_db + 3;
    put(t, fine ? ", its inputs are fine" : ", and its inputs are no better");
}

/* Below this a step stands out: its error is so far from that of the others that it is the reason.
 * Where few steps differ at all, each of them may be. */
static double find_bound(const hone_comparison *c, size_t n_steps) {
    size_t differ = 0, seen = 0;
    for (size_t i = 0; i < c->n_tensors; i++)
        differ += !c->tensors[i].weight && c->tensors[i].isolated_sqnr_db < SAME_DB;
    for (size_t i = 0; i < c->n_tensors && 4 * differ > n_steps; i++)
        if (!c->tensors[i].weight && seen++ == differ / 2)
            return fmax(BROKEN_DB, fmin(FINE_DB, c->tensors[i].isolated_sqnr_db - WORSE_DB));
    return FINE_DB;
}

/* And what comes out of it is worse than what goes in. */
static bool stands_out(const hone_tensor_error *e, double bound) {
    return !e->weight && e->isolated_sqnr_db < bound &&
           (e->isolated_sqnr_db < BROKEN_DB || e->sqnr_db < e->input_sqnr_db - FALL_DB);
}

static void name_outliers(text *t, const hone_comparison *c, double bound) {
    size_t n = 0;
    char a[40];
    for (size_t i = 0; i < c->n_tensors; i++) {
        const hone_tensor_error *e = &c->tensors[i];
        if (!stands_out(e, bound) || n++ == 0) continue;
        if (n <= MOST_NAMED)
            put(t, "%s%s (%s)", n == 2 ? "; also at " : ", ", e->node, db(e->isolated_sqnr_db, a));
    }
    if (n > MOST_NAMED) put(t, " and %zu more", n - MOST_NAMED);
}

/* How many weights are compared, and how many of them have nothing in common: rounding to one bit
 * leaves 4 dB, other weights of the same size -3. */
static size_t count_weights(const hone_comparison *c, size_t *strange) {
    enum { STRANGE_DB = 1 };
    size_t n = 0;
    *strange = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        n += c->tensors[i].weight;
        *strange += c->tensors[i].weight && c->tensors[i].sqnr_db < STRANGE_DB;
    }
    return n;
}

/* The models were not made of each other: outputs have nothing in common, and few values or weights
 * have. Says so. */
static bool are_different(text *t, const hone_comparison *c, double output) {
    enum { UNLIKE_DB = 3 };
    size_t strange, weights = count_weights(c, &strange);
    if (output >= UNLIKE_DB) return false;
    if (2 * c->n_matched < c->n_values) {
        put(t, "these are different networks: %zu of the %zu values of the first are in the second",
            c->n_matched, c->n_values);
        return true;
    }
    if (strange < 2 || 2 * strange <= weights) return false;
    put(t, "these are different networks: %zu of %zu weights have nothing in common", strange,
        weights);
    return true;
}

static void judge(text *t, hone_comparison *c, size_t n_steps) {
    const hone_tensor_error *worst = NULL, *out = NULL;
    double output = INFINITY, bound = find_bound(c, n_steps);
    char a[40], b[40];
    for (size_t i = c->n_tensors; i-- > 0;) {
        if (!c->tensors[i].weight) worst = &c->tensors[i];
        if (stands_out(&c->tensors[i], bound)) out = &c->tensors[i];
    }
    for (size_t i = 0; i < c->n_outputs; i++) output = fmin(output, c->outputs[i].sqnr_db);
    if (are_different(t, c, output)) return;
    if (worst == NULL) {
        put(t, "no step of one model could be found in the other");
    } else if (isinf(worst->isolated_sqnr_db) && worst->isolated_sqnr_db > 0) {
        put(t, "nothing differs: all %zu steps give the same", n_steps);
    } else if (worst->isolated_sqnr_db >= CLEAN_DB) {
        put(t, "nothing breaks: no step keeps less than %s", db(worst->isolated_sqnr_db, a));
    } else if (out != NULL) {
        c->breaks_at = out->node;
        put(t, "breaks at %s: ", out->node);
        explain(t, c, out);
        name_outliers(t, c, bound);
    } else {
        put(t, "%s: errors of all steps add up to %s at the output; the worst step, %s, keeps %s",
            output >= FINE_DB ? "nothing breaks" : "no single step breaks it", db(output, a),
            worst->node, db(worst->isolated_sqnr_db, b));
    }
}

hone_status hn_breaks(const hn_pairs *p, const hn_run_options how[2],
                      const hn_sample_source *samples,
                      bool (*progress)(void *ctx, int64_t done, int64_t total), void *ctx,
                      hn_arena *arena, hone_comparison *c, hn_error *err) {
    hn_weight_error *weights;
    int n_weights;
    hn_pair_error *errors = hn_arena_array(arena, (size_t)p->n + 1, sizeof *errors);
    if (errors == NULL) return HN_NOMEM(err);
    HN_TRY(hn_pair_errors(p, how, samples, HN_PAIR_ERRORS_BYTES, progress, ctx, errors, err));
    HN_TRY(hn_weight_errors(p, arena, &weights, &n_weights, err));
    size_t n = (size_t)p->n + (size_t)n_weights;
    hone_tensor_error *list = hn_arena_array(arena, n + 1, sizeof *list);
    const char **lost = hn_arena_array(arena, (size_t)p->n_lost + 1, sizeof *lost);
    bool *reads = hn_arena_array(arena, (size_t)p->n + 1, sizeof *reads);
    if (list == NULL || lost == NULL || reads == NULL) return HN_NOMEM(err);
    for (int i = 0; i < p->n; i++) {
        fill(&list[i], p->v[i].a->producer, p->v[i].a->name, &errors[i].own);
        list[i].isolated_sqnr_db = hn_distance_sqnr(&errors[i].alone);
        HN_TRY(worst_input(p, i, errors, reads, &list[i].input_sqnr_db, err));
    }
    for (int i = 0; i < n_weights; i++) {
        fill(&list[p->n + i], weights[i].node, weights[i].weight->name, &weights[i].distance);
        list[p->n + i].weight = true;
    }
    for (int i = 0; i < p->n_lost; i++) lost[i] = p->lost[i]->name;
    qsort(list, n, sizeof *list, by_isolated);
    c->n_tensors = n;
    c->tensors = list;
    c->n_matched = (size_t)p->n;
    c->n_unmatched = (size_t)p->n_lost;
    c->n_values = c->n_matched + c->n_unmatched;
    c->unmatched = lost;
    text t = {.n = 0};
    judge(&t, c, (size_t)p->n);
    c->verdict = hn_arena_strdup(arena, t.buf);
    return c->verdict != NULL ? HONE_OK : HN_NOMEM(err);
}

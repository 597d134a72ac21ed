/* Pruning by what the loss says, to first order: a weight that goes changes it by w * dL/dw.
 *
 *     snip     |sum of w * g over all samples|        Lee et al. 2019
 *     taylor   sum over batches of (w * g)^2          Molchanov et al. 2017, 2019
 *
 * Near a minimum the gradients of batches cancel each other, and what is left of their sum says
 * little; their squares do not cancel. At the start of training there is nothing to cancel.
 */
#include <math.h>
#include <string.h>

#include "compress/gradients.h"
#include "compress/prune.h"
#include "engine/layers.h"

typedef struct sums {
    const hn_weighted *layers;
    int n;
    bool squares;
    double **v; /* by layer and element */
} sums;

static void add(void *ctx, const char *name, const float *gradient, int64_t n) {
    const sums *s = ctx;
    for (int i = 0; i < s->n; i++) {
        const hn_value *w = s->layers[i].weight;
        if (strcmp(w->name, name) != 0 || w->constant->n != n) continue;
        for (int64_t k = 0; k < n; k++) {
            double x = (double)gradient[k] * hn_tensor_f64(w->constant, k);
            s->v[i][k] += s->squares ? x * x : x;
        }
    }
}

static hone_status score(void *ctx, int i, float *out, hn_error *err) {
    const sums *s = ctx;
    (void)err;
    for (int64_t k = 0; k < s->layers[i].weight->constant->n; k++) out[k] = (float)fabs(s->v[i][k]);
    return HONE_OK;
}

static hone_status prune(hn_transform_ctx *c, const hn_pruning *p, bool squares, hn_arena *arena,
                         hn_error *err) {
    hn_weighted *layers;
    sums s = {.squares = squares};
    HN_TRY(hn_prune_layers(c, p, p->m > 0 || p->outputs > 0, arena, &layers, &s.n, err));
    s.layers = layers;
    if (s.n == 0) return HONE_OK;
    s.v = hn_arena_array(arena, (size_t)s.n, sizeof *s.v);
    if (s.v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s.n; i++) {
        size_t n = (size_t)layers[i].weight->constant->n;
        s.v[i] = hn_arena_array(arena, n, sizeof *s.v[i]);
        if (s.v[i] == NULL) return HN_NOMEM(err);
        memset(s.v[i], 0, n * sizeof *s.v[i]);
    }
    HN_TRY(hn_gradients(c, add, &s, err));
    return hn_prune_least(c, p, layers, s.n, false, score, &s, err);
}

static hone_status run(hn_transform_ctx *c, const hn_pruning *p, bool squares, hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = prune(c, p, squares, &arena, err);
    hn_arena_deinit(&arena);
    return status;
}

hone_status hn_prune_snip(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    return run(c, p, false, err);
}

hone_status hn_prune_taylor(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    return run(c, p, true, err);
}

/* AdaRound: rounds each weight up or down so that the layer's outputs, not its weights, change
 * least (Nagel et al., "Up or down?", 2020).
 *
 *     Y = what the float model has        |X q - y|^2 = q^T H q - 2 q^T c + |y|^2
 *     X = what the layer will see         H = X^T X,  c = X^T y,   q on the grid
 *
 * Rounding each weight to the nearest makes the error of each weight least, not that of their sum:
 * errors of weights whose inputs go together should cancel, and some of what the layers before it
 * are off by can be made up for. The paper learns which way to round by gradient steps on samples.
 * But the error is a quadratic form, so it is made less one weight at a time: with r = c - H q,
 * which is kept up to date,
 *
 *     q[i] = grid point nearest to q[i] + r[i] / H[i][i]
 *
 * is the best for weight i as long as the others stay. Sweeps over all weights of a row go on until
 * none moves; each move makes the error less, so that ends. Rows are independent of each other, and
 * samples are looked at once, for H and c.
 *
 * H is damped towards the float weights: those whose inputs hardly vary over the samples stay near
 * where they were. Layers are gone through in order, some at a time: these see the layers before
 * them rounded, but not each other.
 *
 * Conv of any groups, Gemm, and MatMul by a matrix, with weights that nothing else uses; not types
 * of two levels, which have nothing to choose.
 */
#include <math.h>

#include "base/dense.h"
#include "compress/layer_input.h"
#include "ops/infer.h"
#include "ops/nodes.h"

enum {
    SWEEPS = 32,   /* at most */
    SAMPLES = 128, /* at most */
    PASSES = 8,    /* times that the samples are run, about */
    ROWS = 8,      /* of a piece of work */
};
#define DAMPING 0.01
/* Matrices of the layers that are looked at together. */
#define MOST_BYTES ((int64_t)256 << 20)

typedef struct layer {
    const hn_weighted *w;
    hn_layer_matrix m;
    hn_layer_input in; /* its gram damped, with both triangles */
    const hn_grid *grid;
    double *scratch; /* [pieces][2][k] */
    double *damping; /* [groups] */
    float *to;       /* the new weight */
} layer;

static int64_t element(const layer *l, int64_t row, int64_t k) {
    return row * l->m.o_stride + k * l->m.k_stride;
}

static int64_t group_of(const layer *l, int64_t row) { return row / (l->m.n / l->m.groups); }

static double nearest(const layer *l, int64_t at, double x) {
    hn_grid_point p = hn_grid_at(l->grid, l->w->weight->constant, at);
    return (double)hn_grid_value(p, hn_grid_code(&l->grid->type, p, x));
}

/* ---- rows ---- */

/* Weights of a row to the nearest points, and r = c - H q. */
static void begin_row(const layer *l, int64_t row, double *q, double *r) {
    int64_t k = l->m.k, group = group_of(l, row);
    for (int64_t i = 0; i < k; i++) {
        double w = hn_tensor_f64(l->w->weight->constant, element(l, row, i));
        q[i] = nearest(l, element(l, row, i), w);
        r[i] = l->in.cross[row * k + i] + l->damping[group] * w;
    }
    hn_subtract_rows(r, k, q, k, l->in.gram + group * k * k, k);
}

/* False: none moved. */
static bool sweep(const layer *l, int64_t row, double *q, double *r) {
    int64_t k = l->m.k;
    const double *h = l->in.gram + group_of(l, row) * k * k;
    bool moved = false;
    for (int64_t i = 0; i < k; i++) {
        double now = nearest(l, element(l, row, i), q[i] + r[i] / h[i * (k + 1)]);
        double by = now - q[i];
        if (by == 0) continue;
        hn_subtract_rows(r, k, &by, 1, h + i * k, k);
        q[i] = now;
        moved = true;
    }
    return moved;
}

static void round_rows(void *ctx, int64_t piece) {
    const layer *l = ctx;
    int64_t k = l->m.k, from = piece * ROWS, to = from + ROWS < l->m.n ? from + ROWS : l->m.n;
    double *q = l->scratch + piece * 2 * k, *r = q + k;
    for (int64_t row = from; row < to; row++) {
        begin_row(l, row, q, r);
        for (int s = 0; s < SWEEPS && sweep(l, row, q, r); s++) {
        }
        for (int64_t i = 0; i < k; i++) l->to[element(l, row, i)] = (float)q[i];
    }
}

/* ---- layers ---- */

static void damp(const layer *l) {
    int64_t k = l->m.k;
    for (int64_t g = 0; g < l->m.groups; g++) {
        double *h = l->in.gram + g * k * k, first = h[0];
        hn_damp(h, k, DAMPING);
        l->damping[g] = h[0] - first;
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < i; j++) h[j * k + i] = h[i * k + j];
    }
}

static hone_status round_layer(layer *l, hn_transform_ctx *c, hn_arena *arena, hn_error *err) {
    hn_tensor *old = l->w->weight->constant, *made;
    int64_t pieces = (l->m.n + ROWS - 1) / ROWS;
    HN_TRY(hn_layer_choose_grid(&l->grid, l->w, &l->in, c, err));
    l->scratch = hn_arena_array(arena, (size_t)(pieces * 2 * l->m.k), sizeof *l->scratch);
    l->damping = hn_arena_array(arena, (size_t)l->m.groups, sizeof *l->damping);
    if (l->scratch == NULL || l->damping == NULL) return HN_NOMEM(err);
    HN_TRY(hn_tensor_create(&made, c->model->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, old->rank,
                            old->dims, err));
    damp(l);
    l->to = made->data;
    hn_pool_run(c->how->engine.pool, pieces, round_rows, l);
    hn_value_set_constant(l->w->weight, made);
    c->changed++;
    return HONE_OK;
}

/* Layers [0, n) of v, with those before them as they are now. */
static hone_status round_some(layer *v, int n, hn_transform_ctx *c, const hn_model *original,
                              hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hn_weighted *w = hn_arena_array(&arena, (size_t)n, sizeof *w);
    hn_layer_input *in = hn_arena_array(&arena, (size_t)n, sizeof *in);
    hn_layer_output *out = hn_arena_array(&arena, (size_t)n, sizeof *out);
    hn_layer_look look = {.samples = SAMPLES, .gram = true, .outputs = out};
    hone_status status = HONE_OK;
    HN_CHECK_GOTO(err, w != NULL && in != NULL && out != NULL, HONE_E_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) w[i] = *v[i].w;
    HN_TRY_GOTO(hn_layer_outputs(out, w, n, original, c, SAMPLES, err));
    status = hn_layer_inputs(in, w, n, &look, c->model, c, err);
    for (int i = 0; i < n; i++) hn_layer_output_deinit(&out[i], c->alloc);
    if (status != HONE_OK) goto fail;
    for (int i = 0; i < n; i++) {
        v[i].in = in[i];
        if (status == HONE_OK && in[i].rows >= in[i].k) status = round_layer(&v[i], c, &arena, err);
        hn_layer_input_deinit(&v[i].in, c->alloc);
    }
fail:
    hn_arena_deinit(&arena);
    return status;
}

static bool describe(const hn_weighted *w, layer *l) {
    *l = (layer){.w = w};
    if (w->scheme.weights.bits < 2 || !hn_layer_as_matrix(w, &l->m)) return false;
    if (w->alpha != 1) return false;
    if (hn_node_input(w->node, 2) == NULL) return true;
    return w->bias != NULL && w->bias->constant->n == l->m.n;
}

/* How many of the n layers of v are looked at together. */
static int count_some(const layer *v, int n, int all) {
    int64_t bytes = 0;
    int some = 0;
    while (some < n && some < all / PASSES + 1) {
        const hn_layer_matrix *m = &v[some].m;
        bytes += (m->groups * m->k + m->n) * m->k * (int64_t)sizeof(double);
        if (some > 0 && bytes > MOST_BYTES) break;
        some++;
    }
    return some;
}

static hone_status round_all(hn_transform_ctx *c, const hn_model *original, hn_arena *arena,
                             hn_error *err) {
    hn_weighted *found;
    int n_found, n = 0;
    HN_TRY(hn_weighted_layers(c->model, c->scheme, arena, &found, &n_found, err));
    n_found = hn_weighted_to_round(found, n_found);
    layer *v = hn_arena_array(arena, (size_t)n_found + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n_found; i++)
        if (describe(&found[i], &v[n])) n++;
    for (int at = 0, some; at < n; at += some) {
        HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, at, n), HONE_E_LIMIT,
                 "stopped at layer '%s'", v[at].w->node->name);
        some = count_some(v + at, n - at, n);
        HN_TRY(round_some(v + at, some, c, original, err));
    }
    return HONE_OK;
}

hone_status hn_transform_adaround(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_model *original;
    HN_TRY(hn_model_clone(&original, c->model, c->alloc, err));
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_model_infer(original, NULL, err);
    if (status == HONE_OK) status = round_all(c, original, &arena, err);
    hn_arena_deinit(&arena);
    hn_model_destroy(original);
    return status;
}

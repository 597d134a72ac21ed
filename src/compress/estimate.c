#include "compress/estimate.h"

#include <math.h>

/* X^T X of layers that are looked at together. */
#define MOST_BYTES ((int64_t)256 << 20)
/* Inputs whose range is not known reach so many times the size of the largest channel. */
#define REACH 4

typedef struct estimating {
    const hn_calibration *calibration;
    const hn_transform_ctx *c;
} estimating;

/* ---- inputs ---- */

/* What an input is off by on average, squared, where its type is of integers. */
static double input_noise(const estimating *e, const hn_weighted *w, const hn_layer_input *in) {
    hn_qtype type = w->scheme.activations;
    hn_range r;
    if (e->calibration == NULL || w->scheme.kind != HN_LAYER_STATIC ||
        !hn_calibration_range(e->calibration, w->input->name, &type, &r)) {
        double most = 0;
        for (int64_t k = 0; k < in->groups * in->k; k++) most = fmax(most, in->squares[k]);
        r.max = REACH * sqrt(most / (double)in->rows);
        r.min = -r.max;
    }
    double scale = (double)hn_grid_of_range(&type, r).scale;
    return scale * scale / 12;
}

/* ---- weights ---- */

/* The weight as it is in a type. */
static hone_status round_weight(const hn_weighted *w, hn_pool *pool, hn_allocator *alloc,
                                hn_tensor **out, double *bits, hn_error *err) {
    const hn_tensor *t = w->weight->constant;
    if (w->scheme.kind == HN_LAYER_F16 || w->scheme.kind == HN_LAYER_BF16) {
        hone_dtype narrow = w->scheme.kind == HN_LAYER_F16 ? HONE_DTYPE_F16 : HONE_DTYPE_BF16;
        HN_TRY(hn_tensor_create(out, alloc, HN_MEM_SCRATCH, HONE_DTYPE_F32, t->rank, t->dims, err));
        for (int64_t i = 0; i < t->n; i++) {
            uint16_t code;
            hn_store_f64(narrow, &code, 0, hn_tensor_f64(t, i));
            ((float *)(*out)->data)[i] = (float)hn_load_f64(narrow, &code, 0);
        }
        *bits = 16.0 * (double)t->n;
        return HONE_OK;
    }
    hn_grid g;
    hn_tensor *codes;
    HN_TRY(hn_weighted_grid(&g, w, pool, alloc, err));
    *bits = (double)hn_grid_bits(&g, t);
    hone_status status = hn_grid_codes(&g, t, pool, alloc, &codes, err);
    if (status == HONE_OK) {
        status = hn_grid_floats(&g, codes, pool, alloc, out, err);
        hn_tensor_unref(codes);
    }
    hn_grid_deinit(&g);
    return status;
}

/* Sums of squares. */
typedef struct sums {
    double weights, errors; /* of weights, and of what they are off by */
    double inputs;          /* of weights times the inputs they meet */
} sums;

static sums sum_up(const hn_tensor *was, const hn_tensor *is, const hn_layer_matrix *m,
                   const hn_layer_input *in) {
    sums s = {0};
    for (int64_t i = 0; i < was->n; i++) {
        double w = hn_tensor_f64(was, i), d = hn_tensor_f64(is, i) - w;
        s.weights += w * w;
        s.errors += d * d;
    }
    for (int64_t o = 0; in != NULL && o < m->n; o++)
        for (int64_t k = 0; k < m->k; k++) {
            double w = hn_tensor_f64(was, o * m->o_stride + k * m->k_stride);
            s.inputs += w * w * in->squares[o / (m->n / m->groups) * m->k + k];
        }
    return s;
}

/* in NULL: the layer is no matrix. */
static hone_status estimate(const estimating *e, const hn_weighted *w, const hn_layer_input *in,
                            hn_estimate *to, hn_error *err) {
    hn_layer_matrix m;
    hn_tensor *is;
    const hn_tensor *was = w->weight->constant;
    hn_pool *pool = e->c->how->engine.pool;
    hn_allocator *alloc = e->c->alloc;
    hn_layer_kind kind = w->scheme.kind;
    double noise = 0, signal = 0;
    HN_TRY(round_weight(w, pool, alloc, &is, &to->bits, err));
    if (in != NULL) hn_layer_as_matrix(w, &m);
    sums s = sum_up(was, is, &m, in);
    hone_status status = HONE_OK;
    if (in == NULL || in->rows == 0) {
        noise = s.errors;
        signal = s.weights;
    } else {
        status = hn_layer_error(&noise, &m, in, is, was, pool, alloc, err);
        if (status == HONE_OK)
            status = hn_layer_error(&signal, &m, in, NULL, was, pool, alloc, err);
        if (kind == HN_LAYER_F16 || kind == HN_LAYER_BF16)
            noise += s.weights > 0 ? s.errors / s.weights * s.inputs : 0;
        else if (kind > HN_LAYER_WEIGHTS)
            noise += input_noise(e, w, in) * (double)in->rows * s.weights;
    }
    to->error = signal > 0 ? noise / signal : 0;
    hn_tensor_unref(is);
    return status;
}

/* ---- all ---- */

/* Errors of a state come back step after step, which neither an estimate nor a short run shows:
 * recurrent layers get fewer than 8 bits only where a person says so. */
static bool is_too_narrow(const hn_weighted *w, const hn_layer_scheme *type) {
    return w->kind == HN_WEIGHT_STATE && hn_qtype_is_narrow(&type->weights);
}

static bool may_have(const estimating *e, const hn_weighted *w, const hn_layer_scheme *type) {
    hn_scheme_rule rule = {.name = "*", .layer = *type};
    hn_scheme s = {.n_rules = 1, .rules = &rule, .target = e->c->scheme->target};
    hn_weighted as[2];
    return type->kind == HN_LAYER_F16 || type->kind == HN_LAYER_BF16 ||
           (!is_too_narrow(w, type) && hn_weights_of(w->node, &s, as, NULL) > 0);
}

static hone_status estimate_types(const estimating *e, const hn_weighted *layer,
                                  const hn_layer_input *in, const hn_layer_scheme *types,
                                  int n_types, hn_estimate *out, hn_error *err) {
    for (int t = 0; t < n_types; t++) {
        hn_weighted w = *layer;
        w.scheme = types[t];
        out[t] = (hn_estimate){.error = NAN, .bits = 32.0 * (double)w.weight->constant->n};
        if (may_have(e, layer, &types[t])) HN_TRY(estimate(e, &w, in, &out[t], err));
    }
    return HONE_OK;
}

hone_status hn_estimate_layers(hn_estimate *out, const hn_weighted *layers, int n,
                               const hn_layer_scheme *types, int n_types,
                               const hn_calibration *calibration, const hn_model *m,
                               const hn_transform_ctx *c, int64_t samples, hn_error *err) {
    estimating e = {calibration, c};
    hn_layer_look look = {.samples = samples, .gram = true};
    hn_arena arena;
    hone_status status = HONE_OK;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hn_layer_input *in = hn_arena_array(&arena, (size_t)n + 1, sizeof *in);
    hn_weighted *some = hn_arena_array(&arena, (size_t)n + 1, sizeof *some);
    int *of = hn_arena_array(&arena, (size_t)n + 1, sizeof *of);
    HN_CHECK_GOTO(err, in != NULL && some != NULL && of != NULL, HONE_E_NOMEM, "out of memory");
    for (int at = 0; at < n;) {
        int64_t bytes = 0;
        int count = 0;
        for (; at < n && bytes <= MOST_BYTES; at++) {
            hn_layer_matrix matrix;
            hn_estimate *to = out + (size_t)at * (size_t)n_types;
            if (!hn_layer_as_matrix(&layers[at], &matrix)) {
                HN_TRY_GOTO(estimate_types(&e, &layers[at], NULL, types, n_types, to, err));
                continue;
            }
            bytes += matrix.groups * matrix.k * matrix.k * (int64_t)sizeof(double);
            of[count] = at;
            some[count++] = layers[at];
        }
        if (count == 0) break;
        HN_TRY_GOTO(hn_layer_inputs(in, some, count, &look, m, c, err));
        for (int i = 0; i < count; i++) {
            if (status == HONE_OK)
                status = estimate_types(&e, &some[i], &in[i], types, n_types,
                                        out + (size_t)of[i] * (size_t)n_types, err);
            hn_layer_input_deinit(&in[i], c->alloc);
        }
        if (status != HONE_OK) goto fail;
    }
fail:
    hn_arena_deinit(&arena);
    return status;
}

/* Conv: convolution over any number of spatial axes, in groups. */
#include "ops/conv_ref.h"
#include "ops/fused.h"

static hone_status infer(hn_infer *c, hn_error *err) { return hn_conv_infer(c, 0, 1, 2, err); }

static void cost(const hn_infer *c, hn_cost *out) { hn_conv_cost(c, 1, out); }

typedef struct target {
    const hn_conv *conv;
    hn_tensor *y;
    const double *bias; /* [M] or NULL */
    const hn_epilogue *then;
} target;

static void store(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        const double *row = (const double *)sums + r * pitch;
        double bias = t->bias != NULL ? t->bias[hn_conv_channel(t->conv, at, r)] : 0;
        int64_t to = (at->batch * t->conv->m + at->row + r) * t->conv->out_size + at->col;
        double v[64];
        for (int64_t i = 0, n; i < at->n_cols; i += n, to += n) {
            n = at->n_cols - i < 64 ? at->n_cols - i : 64;
            for (int64_t j = 0; j < n; j++) v[j] = row[i + j] + bias;
            if (t->then->add != NULL)
                for (int64_t j = 0; j < n; j++) v[j] += hn_tensor_f64(t->then->add, to + j);
            if (t->then->act.fn != NULL)
                for (int64_t j = 0; j < n; j++) v[j] = hn_activate(&t->then->act, v[j]);
            hn_store_f64_n(t->y->dtype, t->y->data, to, n, v);
        }
    }
}

hone_status hn_conv_fused(hn_eval *e, const hn_epilogue *then, hn_error *err) {
    hn_conv conv;
    HN_TRY(hn_conv_plan(e->node, e->in[0], e->in[1], e->out[0], &conv, err));
    target t = {.conv = &conv, .y = e->out[0], .then = then};
    const hn_tensor *b = hn_eval_in(e, 2);
    if (b != NULL && (t.bias = hn_scratch_f64(e, b)) == NULL) return HN_NOMEM(err);
    return hn_conv_ref(e, &conv, store, &t, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    return hn_conv_fused(e, &(hn_epilogue){0}, err);
}

static const hn_attr_def attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("group", 1),
    HN_ATTR_OPT("kernel_shape", INTS),
    {0},
};

const hn_op_def hn_op_conv = {
    .name = "Conv",
    .versions = "1 11 22",
    .sig = "(X:T, W:T, B:T?) -> (Y:T); T: float",
    .attrs = attrs,
    .quant = HN_QUANT_WEIGHTED,
    .infer = infer,
    .ref = ref,
    .cost = cost,
};

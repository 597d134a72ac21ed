/* Cast, CastLike and BitCast: the elements in another type, by value or by their bits. */
#include "ops/broadcast.h"
#include "ops/grad.h"
#include "ops/strided.h"

#define NUMBERS "num bool fp8 f8e8m0 f4e2m1 int4 int2"
#define LOSS HN_ATTR_I("saturate", 1), HN_ATTR_S("round_mode", "up", "up down nearest")

typedef struct job {
    bool saturate;
    hn_e8m0_round round;
    const hn_tensor *in;
    hn_tensor *out;
} job;

/* Blocks of packed types begin at whole bytes. */
static size_t byte_at(hone_dtype t, int64_t i) {
    return (size_t)i / 8 * (size_t)hone_dtype_bits(t);
}

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    hone_dtype src_type = j->in->dtype, dst_type = j->out->dtype;
    const unsigned char *src = (const unsigned char *)j->in->data + byte_at(src_type, from);
    unsigned char *dst = (unsigned char *)j->out->data + byte_at(dst_type, from);
    if (dst_type != HONE_DTYPE_F8E8M0) {
        hn_cast(src_type, src, dst_type, dst, n, j->saturate);
        return;
    }
    double x[HN_BLOCK];
    hn_load_f64_n(src_type, src, 0, n, x);
    for (int64_t i = 0; i < n; i++) dst[i] = hn_e8m0_from_f64(x[i], j->round, j->saturate);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_node *node = e->node;
    job j = {.saturate = hn_attr_i(node, "saturate") != 0,
             .round = hn_attr_is(node, "round_mode", "up")     ? HN_E8M0_UP
                      : hn_attr_is(node, "round_mode", "down") ? HN_E8M0_DOWN
                                                               : HN_E8M0_NEAREST,
             .in = e->in[0],
             .out = e->out[0]};
    HN_CHECK(err, j.in->dtype != HONE_DTYPE_STRING && j.out->dtype != HONE_DTYPE_STRING,
             HONE_E_UNSUPPORTED, "strings are not supported");
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

static hn_dim known(hn_infer *c, const hn_dim *x) {
    if (c->out[0].dtype != HONE_DTYPE_BOOL) return x[0];
    int64_t lo, hi;
    hn_dim_range(x[0], &lo, &hi);
    if (lo > 0 || hi < 0) return hn_dim_const(c->dims, 1);
    return lo == 0 && hi == 0 ? x[0] : NULL;
}

static hone_status infer_cast(hn_infer *c, hn_error *err) {
    HN_TRY(hn_set_dtype_named(c, 0, "to", err));
    HN_TRY(hn_infer_same(c, err));
    hn_follow_values(c, known);
    return HONE_OK;
}

/* The second input says the type and nothing else, so its contents are out of the way. */
static hone_status infer_cast_like(hn_infer *c, hn_error *err) {
    HN_TRY(hn_infer_same(c, err));
    int n_in = c->n_in;
    c->n_in = 1;
    hn_follow_values(c, known);
    c->n_in = n_in;
    return HONE_OK;
}

/* Back to the type it came in. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    hn_node *n = hn_emit_node(g, "", "Cast", 1, 1, g->dy);
    hn_emit_i(g, n, "to", hn_grad_in(g, 0)->type.dtype);
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

const hn_op_def hn_op_cast = {.name = "Cast",
                              .versions = "1 6 9 13 19 21 23 24 25 28",
                              .sig =
                                  "(input:T1) -> (output:T2);"
                                  "T1: " NUMBERS " string; T2: " NUMBERS " string",
                              .attrs = (const hn_attr_def[]){HN_ATTR_REQ("to", INT), LOSS, {0}},
                              .traits = HN_CONVERTS,
                              .mixing = HN_MIXES_NOTHING,
                              .infer = infer_cast,
                              .ref = ref,
                              .grad = grad};

const hn_op_def hn_op_cast_like = {.name = "CastLike",
                                   .versions = "15 19 21 23 24 25",
                                   .sig =
                                       "(input:T1, target_type:T2) -> (output:T2);"
                                       "T1: " NUMBERS " string; T2: " NUMBERS " string",
                                   .attrs = (const hn_attr_def[]){LOSS, {0}},
                                   .traits = HN_CONVERTS,
                                   .infer = infer_cast_like,
                                   .ref = ref,
                                   .grad = grad};

/* ---- BitCast ---- */

static hone_status infer_bit_cast(hn_infer *c, hn_error *err) {
    HN_TRY(hn_set_dtype_named(c, 0, "to", err));
    hone_dtype from = c->in[0].dtype, to = c->out[0].dtype;
    HN_CHECK(err, from == HONE_DTYPE_NONE || hone_dtype_bits(from) == hone_dtype_bits(to),
             HONE_E_TYPE, "%s has %d bits and %s has %d, not the same", hone_dtype_name(from),
             hone_dtype_bits(from), hone_dtype_name(to), hone_dtype_bits(to));
    return hn_infer_same(c, err);
}

const hn_op_def hn_op_bit_cast = {.name = "BitCast",
                                  .versions = "26",
                                  .sig =
                                      "(input:T1) -> (output:T2);"
                                      "T1: " NUMBERS " c64 c128; T2: " NUMBERS " c64 c128",
                                  .attrs = (const hn_attr_def[]){HN_ATTR_REQ("to", INT), {0}},
                                  .traits = HN_VIEW,
                                  .no_grad = "it takes bits for others",
                                  .infer = infer_bit_cast,
                                  .ref = hn_ref_copy};

/* Products by weights that are integers, of activations that are not: steps of matmul_nbits.
 *
 *   - MatMulNBits of com.microsoft: codes [N, blocks, bytes], scales [N, blocks];
 *   - MatMul and Gemm by a DequantizeLinear, with a Transpose between or not: codes [K, N], a scale
 *     for all, for each column, or for each block along K.
 *
 * Codes are packed and scales are read where they lie. Zero points become codes too, one for all
 * where they agree.
 *
 * accuracy_level 4 is a leave to round activations to 8 bits, and is taken where the instruction
 * set makes that faster.
 */
#include <math.h>
#include <string.h>

#include "engine/lower_quant.h"
#include "kernels/matmul_nbits/matmul_nbits.h"

typedef struct product {
    hn_view x;    /* [..., K] */
    hn_view bias; /* [N] or in no buffer */
    hn_view w, s, z;
    hn_matmul_nbits p;
} product;

/* Adds the step; the result is output 0 of n. */
static hone_status add_step(hn_lower *L, const hn_node *n, product *t, hn_error *err) {
    hn_matmul_nbits *p = &t->p;
    hn_view y = hn_lower_out(n, 0);
    hn_step *s;
    HN_TRY(hn_lower_rows(L, n, &t->x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    if (t->bias.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &t->bias, err));
    p->m = t->x.dims[0];
    p->x_m = t->x.strides[0];
    p->y_m = p->r_m = p->n;
    HN_TRY(hn_lower_step(L, n, &hn_matmul_nbits_family, p, sizeof *p, &s, err));
    hn_step_reads(s, HN_NBITS_X, &t->x);
    hn_step_reads(s, HN_NBITS_W, &t->w);
    hn_step_reads(s, HN_NBITS_S, &t->s);
    if (p->zeros != HN_NBITS_ONE) hn_step_reads(s, HN_NBITS_Z, &t->z);
    if (t->bias.buffer >= 0) hn_step_reads(s, HN_NBITS_BIAS, &t->bias);
    hn_step_writes(s, HN_NBITS_Y, &y);
    s->facts->flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    s->facts->bytes = (double)p->n * (double)p->k * p->bits / 8 +
                      4.0 * (double)(hn_nbits_blocks(p) * p->n + p->m * (p->k + p->n));
    hn_lower_set(L, n, 0, &y, s);
    return HONE_OK;
}

/* Zero points, number i of them given by `at` as a code or as any number, in the order of the
 * scales. */
typedef double zero_at(const void *ctx, int64_t i);

static hone_status set_zeros(hn_lower *L, product *t, int64_t n, zero_at *at, const void *ctx,
                             hn_error *err) {
    double first = at(ctx, 0), most = (1 << t->p.bits) - 1;
    bool same = true, whole = true;
    for (int64_t i = 0; i < n; i++) {
        double z = at(ctx, i);
        same = same && z >= first && z <= first;
        whole = whole && z >= 0 && z <= most && z >= floor(z) && z <= floor(z);
    }
    if (same && whole) {
        t->p.zero = (int32_t)first;
        return HONE_OK;
    }
    hn_tensor *made;
    t->p.zeros = whole ? HN_NBITS_U8 : HN_NBITS_F32;
    HN_TRY(hn_lower_constant(L, whole ? HONE_DTYPE_U8 : HONE_DTYPE_F32, n, &made, &t->z, err));
    for (int64_t i = 0; i < n; i++) {
        if (whole)
            ((uint8_t *)made->data)[i] = (uint8_t)at(ctx, i);
        else
            ((float *)made->data)[i] = (float)at(ctx, i);
    }
    return HONE_OK;
}

/* ---- MatMulNBits ---- */

enum { A, B, SCALES, ZEROS, G_IDX, BIAS };

typedef struct packed_zeros {
    const hn_tensor *t; /* u8: rows of codes, each beginning a byte; else floats */
    int64_t blocks, bits;
} packed_zeros;

static double packed_zero(const void *ctx, int64_t i) {
    const packed_zeros *z = ctx;
    if (z->t->dtype != HONE_DTYPE_U8) return hn_tensor_f64(z->t, i);
    int64_t row = (z->blocks * z->bits + 7) / 8, bit = i % z->blocks * z->bits;
    int byte = ((const uint8_t *)z->t->data)[i / z->blocks * row + bit / 8];
    return byte >> bit % 8 & ((1 << z->bits) - 1);
}

static const char *refuse_node(const hn_node *n, const hn_view *a) {
    int64_t bits = hn_attr_i(n, "bits");
    if (a->dtype != HONE_DTYPE_F32) return "not f32";
    if (bits != 4 && bits != 8) return "neither of 4 bits nor of 8";
    if (hn_node_input(n, G_IDX) != NULL) return "columns that are out of order";
    if (hn_node_input(n, ZEROS) != NULL && hn_node_constant(n, ZEROS) == NULL)
        return "a zero point is computed";
    if (hn_view_count(a) == 0) return "nothing to compute";
    return NULL;
}

hone_status hn_lower_matmul_nbits(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product t = {.x = hn_lower_in(L, n, A),
                 .w = hn_lower_in(L, n, B),
                 .s = hn_lower_in(L, n, SCALES),
                 .bias = hn_lower_in(L, n, BIAS)};
    const char *why = refuse_node(n, &t.x);
    if (why != NULL) HN_DECLINE(L, why);
    hn_matmul_nbits *p = &t.p;
    int64_t block = hn_attr_i(n, "block_size");
    p->bits = (int32_t)hn_attr_i(n, "bits");
    p->k = hn_attr_i(n, "K");
    p->n = hn_attr_i(n, "N");
    p->block = block < p->k ? block : p->k;
    p->s_n = hn_nbits_blocks(p);
    p->s_g = p->w_k = 1;
    p->w_n = p->s_n * block;
    p->zero = 1 << (p->bits - 1);
    packed_zeros z = {hn_node_constant(n, ZEROS), p->s_n, p->bits};
    if (z.t != NULL) HN_TRY(set_zeros(L, &t, p->n * p->s_n, packed_zero, &z, err));
    p->x_rounded = hn_attr_i(n, "accuracy_level") == 4 && hn_nbits_rounds(p, L->isa);
    *done = true;
    HN_TRY(hn_lower_dense(L, n, &t.w, err));
    HN_TRY(hn_lower_dense(L, n, &t.s, err));
    return add_step(L, n, &t, err);
}

/* ---- MatMul and Gemm by what is dequantized ---- */

static bool is(const hn_node *n, const char *op) {
    return n != NULL && n->domain[0] == '\0' && strcmp(n->op_type, op) == 0;
}

/* The DequantizeLinear of constants that computes input 1 of n, perhaps transposed on the way; or
 * NULL. */
static const hn_node *weights_of(const hn_node *n, bool *turned) {
    const hn_node *from = hn_node_input(n, 1)->producer;
    *turned = false;
    if (is(from, "Transpose")) {
        int count;
        const int64_t *perm = hn_attr_ints(from, "perm", &count);
        *turned = count == 0 || perm[0] != 0; /* of a matrix, which read_weights asks for */
        from = hn_node_input(from, 0)->producer;
    }
    if (!is(from, "DequantizeLinear")) return NULL;
    for (int i = 0; i < from->n_inputs; i++)
        if (hn_node_input(from, i) != NULL && hn_node_constant(from, i) == NULL) return NULL;
    return from;
}

static bool is_nbits(hone_dtype t) {
    return t == HONE_DTYPE_U4 || t == HONE_DTYPE_S4 || t == HONE_DTYPE_U8 || t == HONE_DTYPE_S8;
}

/* The weights of t from the inputs of q, [K, N] or, turned, [N, K]. */
static const char *read_weights(const hn_lower *L, const hn_node *q, bool turned, product *t) {
    hn_matmul_nbits *p = &t->p;
    const hn_tensor *s = hn_node_constant(q, 1);
    int64_t block = hn_attr_i(q, "block_size"), axis = hn_attr_i(q, "axis");
    t->w = hn_lower_in(L, q, 0);
    t->s = hn_lower_in(L, q, 1);
    if (t->w.rank != 2 || !is_nbits(t->w.dtype)) return "not a matrix of 4 or 8 bits";
    if (t->s.dtype != HONE_DTYPE_F32) return "scales that are not f32";
    bool along_k = (axis < 0 ? axis + 2 : axis) == turned;
    int k = turned, n = !turned;
    p->bits = hone_dtype_bits(t->w.dtype);
    p->w_signed = t->w.dtype == HONE_DTYPE_S4 || t->w.dtype == HONE_DTYPE_S8;
    p->k = t->w.dims[k], p->w_k = t->w.strides[k];
    p->n = t->w.dims[n], p->w_n = t->w.strides[n];
    p->block = p->k;
    p->s_n = 1, p->s_g = p->n;
    if (s->n == 1) return NULL;
    if (s->rank == 1) return along_k ? "a scale for each row of the weights" : NULL;
    if (!along_k) return "blocks along the columns";
    if (block < p->k) p->block = block;
    if (p->block % 8 != 0 && p->block < p->k) return "blocks that are no multiple of 8";
    p->s_n = t->s.strides[n], p->s_g = t->s.strides[k];
    return NULL;
}

typedef struct plain_zeros {
    const hn_tensor *t;
    int64_t lowest; /* what code 0 is */
} plain_zeros;

static double plain_zero(const void *ctx, int64_t i) {
    const plain_zeros *z = ctx;
    return (double)(hn_tensor_s64(z->t, z->t->n == 1 ? 0 : i) - z->lowest);
}

static const char *refuse_product(const hn_node *n, const product *t, const hn_view *c) {
    if (t->x.dtype != HONE_DTYPE_F32 || t->x.rank < 2) return "not a matrix of f32";
    if (hn_view_count(&t->x) == 0 || t->p.n == 0) return "nothing to compute";
    if (!is(n, "Gemm")) return NULL;
    float alpha = hn_attr_f(n, "alpha"), beta = hn_attr_f(n, "beta");
    if (!(alpha >= 1 && alpha <= 1) || (c->buffer >= 0 && !(beta >= 1 && beta <= 1)))
        return "factors";
    if (hn_attr_i(n, "transA") != 0) return "the first matrix is transposed";
    if (c->buffer >= 0 && (hn_view_count(c) != t->p.n || c->dims[c->rank - 1] != t->p.n))
        return "C is no vector over the columns";
    return NULL;
}

hone_status hn_lower_weight_only(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    bool turned, gemm = is(n, "Gemm");
    const hn_node *q = gemm || is(n, "MatMul") ? weights_of(n, &turned) : NULL;
    *done = false;
    if (q == NULL) return HONE_OK;
    for (int i = 0; i < n->n_inputs; i += 2) HN_TRY(hn_lower_need(L, hn_node_input(n, i), err));
    product t = {.x = hn_lower_in(L, n, 0), .bias = {.buffer = -1}};
    if (gemm) {
        t.bias = hn_lower_in(L, n, 2);
        turned = turned != (hn_attr_i(n, "transB") != 0);
    }
    const char *why = read_weights(L, q, turned, &t);
    if (why == NULL) why = refuse_product(n, &t, &t.bias);
    if (why != NULL) HN_DECLINE(L, why);
    hn_matmul_nbits *p = &t.p;
    p->m = hn_view_count(&t.x) / p->k;
    if (hn_nbits_prefers_floats(p, L->isa)) HN_DECLINE(L, "many rows: floats are faster");
    if (hn_view_count(&t.s) == 1) { /* one for each column */
        hn_tensor *made;
        float s = (float)hn_tensor_f64(hn_node_constant(q, 1), 0);
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, p->n, &made, &t.s, err));
        for (int64_t i = 0; i < p->n; i++) ((float *)made->data)[i] = s;
    }
    plain_zeros z = {hn_node_constant(q, 2), p->w_signed ? -(1 << (p->bits - 1)) : 0};
    p->zero = (int32_t)-z.lowest;
    if (z.t != NULL) HN_TRY(set_zeros(L, &t, hn_nbits_blocks(p) * p->n, plain_zero, &z, err));
    *done = true;
    return add_step(L, n, &t, err);
}

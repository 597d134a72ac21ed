/* MatMulNBits of com.microsoft: A [..., K] times weights of 2, 4 or 8 bits, quantized in blocks
 * along K:
 *
 *     B       u8 [N, blocks, block_size * bits / 8]   the lowest bits of a byte first
 *     scales  [N, blocks]
 *     zeros   [N, blocks] of A's type, or packed like B, each row of N starting a new byte;
 *             none: 2^(bits - 1)
 *     g_idx   s32 [K]: the block whose scale and zero point column k uses, instead of k/block_size
 *
 * The weight (code - zero) * scale is formed in double, the product is that of MatMul.
 * accuracy_level is a leave to be less exact, which the reference does not take.
 */
#include "ops/gemm_ref.h"
#include "ops/grad.h"

enum { A, B, SCALES, ZEROS, G_IDX, BIAS };

typedef struct format {
    int64_t k, n, bits, block, blocks; /* blocks: along K */
    int64_t blob, zero_row;            /* bytes of a block of codes, of a row of packed zeros */
} format;

static hone_status read_format(const hn_node *node, format *f, hn_error *err) {
    *f = (format){.k = hn_attr_i(node, "K"),
                  .n = hn_attr_i(node, "N"),
                  .bits = hn_attr_i(node, "bits"),
                  .block = hn_attr_i(node, "block_size")};
    HN_CHECK(err, f->bits == 2 || f->bits == 4 || f->bits == 8, HONE_E_UNSUPPORTED,
             "attribute 'bits' is %lld, expected 2, 4 or 8", (long long)f->bits);
    HN_CHECK(err, f->k >= 1 && f->k <= INT32_MAX && f->n >= 1 && f->n <= INT32_MAX, HONE_E_ARG,
             "attributes 'K' and 'N' are %lld and %lld, expected 1 to %d", (long long)f->k,
             (long long)f->n, INT32_MAX);
    HN_CHECK(err, f->block >= 16 && f->block <= INT32_MAX && (f->block & (f->block - 1)) == 0,
             HONE_E_ARG, "attribute 'block_size' is %lld, expected a power of 2 from 16 on",
             (long long)f->block);
    HN_CHECK(err, hn_attr_i(node, "weight_prepacked") == 0, HONE_E_UNSUPPORTED,
             "attribute 'weight_prepacked' is %lld: the weights are laid out for one device",
             (long long)hn_attr_i(node, "weight_prepacked"));
    f->blocks = (f->k - 1) / f->block + 1;
    f->blob = f->block * f->bits / 8;
    f->zero_row = (f->blocks * f->bits + 7) / 8;
    return HONE_OK;
}

/* Input i, when its shape is known, has so many elements. */
static hone_status want_count(const hn_infer *c, int i, int64_t wanted, hn_error *err) {
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    const hn_shape *s = hn_in_shape(c, i);
    int64_t found;
    HN_CHECK(err,
             !hn_dim_is_const(hn_shape_product(c->dims, s, 0, s->rank), &found) || found == wanted,
             HONE_E_SHAPE, "input %d has %lld elements, expected %lld", i, (long long)found,
             (long long)wanted);
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    format f;
    HN_TRY(read_format(c->node, &f, err));
    HN_TRY(hn_want_rank(c, A, 1, HONE_MAX_RANK, err));
    bool packed = hn_has_in(c, ZEROS) && c->in[ZEROS].dtype == HONE_DTYPE_U8;
    HN_TRY(want_count(c, B, f.n * f.blocks * f.blob, err));
    HN_TRY(want_count(c, SCALES, f.n * f.blocks, err));
    HN_TRY(want_count(c, ZEROS, f.n * (packed ? f.zero_row : f.blocks), err));
    HN_TRY(want_count(c, BIAS, f.n, err));
    if (hn_in_rank(c, G_IDX) >= 0) {
        int64_t found;
        HN_TRY(hn_want_rank(c, G_IDX, 1, 1, err));
        HN_CHECK(err, !hn_dim_is_const(hn_in_shape(c, G_IDX)->dim[0], &found) || found >= f.k,
                 HONE_E_SHAPE, "g_idx has %lld elements, expected %lld", (long long)found,
                 (long long)f.k);
    }
    if (hn_in_rank(c, A) < 0) return HONE_OK;
    hn_shape y = *hn_in_shape(c, A);
    HN_TRY(hn_want_equal(y.dim[y.rank - 1], hn_dim_const(c->dims, f.k),
                         "columns of A and attribute 'K'", err));
    y.dim[y.rank - 1] = hn_dim_const(c->dims, f.n);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static void cost(const hn_infer *c, hn_cost *out) {
    const hn_shape *a = hn_in_shape(c, A);
    out->macs =
        hn_dim_mulc(c->dims, hn_shape_product(c->dims, a, 0, a->rank), hn_attr_i(c->node, "N"));
}

typedef struct weights {
    format f;
    const hn_tensor *b, *scales, *zeros;
    const int32_t *g_idx; /* or NULL */
} weights;

/* Code number i of packed codes. */
static int code_at(const uint8_t *p, int64_t i, int64_t bits) {
    int64_t at = i * bits;
    return p[at / 8] >> (at % 8) & ((1 << bits) - 1);
}

static void load_weights(const void *ctx, const hn_block *at, void *dst) {
    const weights *w = ctx;
    const format *f = &w->f;
    const uint8_t *codes = w->b->data;
    double *to = dst;
    for (int64_t k = at->row; k < at->row + at->n_rows; k++) {
        int64_t group = w->g_idx != NULL ? w->g_idx[k] : k / f->block;
        for (int64_t n = at->col; n < at->col + at->n_cols; n++) {
            int64_t which = n * f->blocks + group;
            double zero = (double)(1 << (f->bits - 1));
            if (w->zeros != NULL && w->zeros->dtype == HONE_DTYPE_U8)
                zero = code_at((const uint8_t *)w->zeros->data + n * f->zero_row, group, f->bits);
            else if (w->zeros != NULL)
                zero = hn_tensor_f64(w->zeros, which);
            int code = code_at(codes + n * f->blocks * f->blob, k, f->bits);
            *to++ = (code - zero) * hn_tensor_f64(w->scales, which);
        }
    }
}

typedef struct target {
    hn_tensor *y;
    const double *bias; /* [N] or NULL */
    int64_t n;
} target;

static void store(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++)
        for (int64_t j = 0; j < at->n_cols; j++) {
            double v = ((const double *)sums)[r * pitch + j];
            if (t->bias != NULL) v += t->bias[at->col + j];
            hn_store_f64(t->y->dtype, t->y->data, (at->row + r) * t->n + at->col + j, v);
        }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *a = e->in[A], *g_idx = hn_eval_in(e, G_IDX), *bias = hn_eval_in(e, BIAS);
    weights w = {.b = e->in[B], .scales = e->in[SCALES], .zeros = hn_eval_in(e, ZEROS)};
    HN_TRY(read_format(e->node, &w.f, err));
    if (g_idx != NULL) {
        w.g_idx = g_idx->data;
        for (int64_t k = 0; k < w.f.k; k++)
            HN_CHECK(err, w.g_idx[k] >= 0 && w.g_idx[k] < w.f.blocks, HONE_E_ARG,
                     "g_idx holds %d, expected 0 to %lld", (int)w.g_idx[k],
                     (long long)w.f.blocks - 1);
    }
    target t = {.y = e->out[0], .n = w.f.n};
    if (bias != NULL && (t.bias = hn_scratch_f64(e, bias)) == NULL) return HN_NOMEM(err);
    hn_strided_matrix rows = {.t = a, .row_stride = w.f.k, .col_stride = 1};
    hn_gemm g = {.n_batch = 1,
                 .m = t.y->n / w.f.n,
                 .n = w.f.n,
                 .k = w.f.k,
                 .a = hn_matrix_f64(&rows),
                 .b = {load_weights, &w},
                 .store = store,
                 .out = &t};
    return hn_gemm_ref(e, &g, err);
}

/* By A: dY times the weights as floats, [N, K], which are constants; by the bias: its sums. */
static hone_status grad(hn_grad *g, hn_error *err) {
    const hn_tensor *g_idx = hn_grad_known(g, G_IDX);
    weights w = {.b = hn_grad_known(g, B),
                 .scales = hn_grad_known(g, SCALES),
                 .zeros = hn_grad_known(g, ZEROS)};
    HN_TRY(read_format(g->node, &w.f, err));
    bool known = w.b != NULL && w.scales != NULL && (w.zeros != NULL || !hn_grad_in(g, ZEROS)) &&
                 (g_idx != NULL || !hn_grad_in(g, G_IDX));
    if (!known) return hn_grad_refuse(g, "its weights are computed", err);
    for (int64_t k = 0; g_idx != NULL && k < w.f.k; k++)
        HN_CHECK(err,
                 ((const int32_t *)g_idx->data)[k] >= 0 &&
                     ((const int32_t *)g_idx->data)[k] < w.f.blocks,
                 HONE_E_ARG, "g_idx holds a number outside [0, %lld)", (long long)w.f.blocks);
    w.g_idx = g_idx != NULL ? g_idx->data : NULL;
    if (hn_grad_wants(g, A)) {
        const int64_t dims[] = {w.f.n, w.f.k};
        hn_tensor *t;
        hn_value *table = hn_emit_table(g, 2, dims, &t);
        for (int64_t n = 0; table != NULL && n < w.f.n; n++)
            for (int64_t k = 0; k < w.f.k; k++) {
                double v;
                load_weights(&w, &(hn_block){.row = k, .col = n, .n_rows = 1, .n_cols = 1}, &v);
                hn_store_f64(t->dtype, t->data, n * w.f.k + k, v);
            }
        g->dx[A] = HN_EMIT2(g, "MatMul", g->dy[0], table);
    }
    if (hn_grad_wants(g, BIAS)) {
        int64_t y[HONE_MAX_RANK];
        int rank = hn_grad_dims(g, hn_grad_out(g, 0), y);
        g->dx[BIAS] = hn_emit_sum_to(g, g->dy[0], rank, y, hn_grad_in(g, BIAS));
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("K", INT),
    HN_ATTR_REQ("N", INT),
    HN_ATTR_I("accuracy_level", 0),
    HN_ATTR_I("bits", 4),
    HN_ATTR_REQ("block_size", INT),
    HN_ATTR_I("weight_prepacked", 0),
    {0},
};

const hn_op_def hn_op_ms_matmul_nbits = {
    .domain = "com.microsoft",
    .name = "MatMulNBits",
    .versions = "1",
    .sig =
        "(A:T1, B:u8, scales:T1, zero_points:T3?, g_idx:s32?, bias:T1?) -> (Y:T1);"
        " T1: f32 f16 bf16; T3: u8 f32 f16 bf16",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .settings = 1 << SCALES | 1 << ZEROS,
    .cost = cost,
    .grad = grad,
};

/* CumSum and CumProd along an axis, from the front or the back; exclusive ones leave the element
 * itself out. Floats are accumulated in double, integers wrap. x is [outer, size, inner]. */
#include "ops/axes.h"
#include "ops/grad.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    int64_t axis;
    bool known;
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    HN_TRY(hn_one_int(c, 1, &axis, &known, err));
    if (known && hn_in_rank(c, 0) >= 0) HN_TRY(hn_want_axis(&axis, hn_in_rank(c, 0), err));
    hn_set_shape(c, 0, hn_in_shape(c, 0));
    return HONE_OK;
}

/* Elements worked on together. */
#define BLOCK 4096

typedef struct scan {
    int64_t size, inner, rows; /* rows: of `inner` elements, that fit a block */
    bool product, exclusive, reverse;
} scan;

/* The k-th row in the order of the scan, of the n in a block. */
static int64_t row_of(const scan *s, int64_t k, int64_t n) { return s->reverse ? n - 1 - k : k; }

static void scan_f64(const scan *s, double *block, int64_t n, double *sum) {
    for (int64_t k = 0; k < n; k++) {
        double *x = block + row_of(s, k, n) * s->inner;
        for (int64_t i = 0; i < s->inner; i++) {
            double before = sum[i];
            sum[i] = s->product ? before * x[i] : before + x[i];
            x[i] = s->exclusive ? before : sum[i];
        }
    }
}

static void scan_u64(const scan *s, uint64_t *block, int64_t n, uint64_t *sum) {
    for (int64_t k = 0; k < n; k++) {
        uint64_t *x = block + row_of(s, k, n) * s->inner;
        for (int64_t i = 0; i < s->inner; i++) {
            uint64_t before = sum[i];
            sum[i] = s->product ? before * x[i] : before + x[i];
            x[i] = s->exclusive ? before : sum[i];
        }
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    hone_dtype t = x->dtype;
    int64_t axis = hn_tensor_s64(e->in[1], 0), outer = 1;
    scan s = {.inner = 1,
              .product = *(const bool *)e->node->op->data,
              .exclusive = hn_attr_i(e->node, "exclusive") != 0,
              .reverse = hn_attr_i(e->node, "reverse") != 0};
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    if (x->n == 0) return HONE_OK;
    s.size = x->dims[axis];
    for (int i = 0; i < axis; i++) outer *= x->dims[i];
    for (int i = (int)axis + 1; i < x->rank; i++) s.inner *= x->dims[i];
    s.rows = s.inner >= BLOCK ? 1 : BLOCK / s.inner;
    if (s.rows > s.size) s.rows = s.size;
    void *block = hn_scratch(e, s.rows * s.inner, 8), *sum = hn_scratch(e, s.inner, 8);
    if (block == NULL || sum == NULL) return HN_NOMEM(err);
    bool floats = hn_dtype_is_float(t);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < s.inner; i++) {
            if (floats)
                ((double *)sum)[i] = s.product ? 1 : 0;
            else
                ((uint64_t *)sum)[i] = s.product ? 1 : 0;
        }
        for (int64_t k = 0; k < s.size; k += s.rows) {
            int64_t n = s.size - k < s.rows ? s.size - k : s.rows;
            int64_t at = (o * s.size + (s.reverse ? s.size - k - n : k)) * s.inner;
            if (floats) {
                hn_load_f64_n(t, x->data, at, n * s.inner, block);
                scan_f64(&s, block, n, sum);
                hn_store_f64_n(t, y->data, at, n * s.inner, block);
            } else {
                hn_load_s64_n(t, x->data, at, n * s.inner, block);
                scan_u64(&s, block, n, sum);
                hn_store_s64_n(t, y->data, at, n * s.inner, block);
            }
        }
    }
    return HONE_OK;
}

/* ---- gradients ---- */

static hn_value *emit_scan(hn_grad *g, const char *op, hn_value *x, hn_value *axis, bool reverse) {
    hn_value *in[] = {x, axis};
    if (x == NULL || axis == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", op, 1, 2, in);
    hn_emit_copied(g, n, "exclusive");
    hn_emit_i(g, n, "reverse", reverse);
    return hn_emitted(n, 0);
}

/* What an element is part of, from the other end. */
static hone_status grad_sum(hn_grad *g, hn_error *err) {
    (void)err;
    bool reverse = hn_attr_i(g->node, "reverse") != 0;
    hn_grad_give(g, 0, emit_scan(g, "CumSum", g->dy[0], hn_grad_in(g, 1), !reverse));
    return HONE_OK;
}

/* A table [size, size, 1] of 1 where `same` is i == k, or where result k depends on element i. */
static hn_value *pairs(hn_grad *g, int64_t size, bool same) {
    bool exclusive = hn_attr_i(g->node, "exclusive") != 0;
    bool reverse = hn_attr_i(g->node, "reverse") != 0;
    hn_tensor *t;
    hn_value *v = hn_emit_table(g, 3, (const int64_t[]){size, size, 1}, &t);
    for (int64_t i = 0; v != NULL && i < size; i++)
        for (int64_t k = 0; k < size; k++) {
            int64_t ahead = reverse ? i - k : k - i;
            bool on = same ? i == k : exclusive ? ahead > 0 : ahead >= 0;
            hn_store_f64(t->dtype, t->data, i * size + k, on);
        }
    return v;
}

/* Longer axes would need tables of gigabytes. */
enum { MOST_PRODUCT = 2048 };

/* Result k changes with element i by the product of the others up to k: the scan of x with a 1 in
 * its place. Quotients by x would fail at zeros; this takes size times the room. */
static hone_status grad_product(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], axis, outer = 1, inner = 1;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    if (hn_grad_ints(g, 1, &axis, 1) != 1) return hn_grad_refuse(g, "its axis is computed", err);
    HN_TRY(hn_want_axis(&axis, rank, err));
    if (dims[axis] > MOST_PRODUCT)
        return hn_grad_refuse(g, "its axis has more than 2048 elements", err);
    for (int i = 0; i < axis; i++) outer *= dims[i];
    for (int i = (int)axis + 1; i < rank; i++) inner *= dims[i];
    const int64_t rows[] = {outer, 1, dims[axis], inner}, along = 2;
    hn_value *x = hn_emit_reshape(g, hn_grad_in(g, 0), 4, rows);
    hn_value *dy = hn_emit_reshape(g, g->dy[0], 4, rows);
    hn_value *without = HN_TEXT(g, "Where(b > 0, 1, a)", x, pairs(g, dims[axis], true));
    hn_value *others = emit_scan(g, "CumProd", without, hn_emit_ints(g, &along, 1),
                                 hn_attr_i(g->node, "reverse") != 0);
    hn_value *each = HN_TEXT(g, "a * b * c", others, pairs(g, dims[axis], false), dy);
    hn_grad_give(g, 0, hn_emit_reshape(g, hn_emit_sum(g, each, 1u << 2, false), rank, dims));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("exclusive", 0), HN_ATTR_I("reverse", 0), {0}};

const hn_op_def hn_op_cum_sum = {
    .name = "CumSum",
    .versions = "11 14",
    .sig = "(x:T, axis:T2) -> (y:T); T: float s32 s64 u32 u64; T2: s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad_sum,
    .data = &(const bool){false},
};

const hn_op_def hn_op_cum_prod = {
    .name = "CumProd",
    .versions = "26",
    .sig = "(x:T, axis:T2) -> (y:T); T: float s32 s64 u32 u64; T2: s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad_product,
    .data = &(const bool){true},
};

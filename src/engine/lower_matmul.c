/* MatMul and Gemm: by a constant matrix, a problem of conv_f32, which packs it; by another
 * activation, a problem of matmul_f32, which takes any strides, as does matmul_f64. */
#include <string.h>

#include "engine/lower.h"
#include "kernels/matmul_f32/matmul_f32.h"
#include "kernels/matmul_f64/matmul_f64.h"
#include "kernels/matmul_int/matmul_int.h"

void hn_view_swap_last(hn_view *v) {
    int i = v->rank - 1;
    int64_t d = v->dims[i], s = v->strides[i];
    v->dims[i] = v->dims[i - 1];
    v->strides[i] = v->strides[i - 1];
    v->dims[i - 1] = d;
    v->strides[i - 1] = s;
}

/* A vector as a matrix of one row, or of one column. */
static void make_matrix(hn_view *v, bool row) {
    if (v->rank != 1) return;
    v->rank = 2;
    v->dims[1] = row ? v->dims[0] : 1;
    v->strides[1] = row ? v->strides[0] : 0;
    if (!row) return;
    v->dims[0] = 1;
    v->strides[0] = 0;
}

hone_status hn_lower_rows(hn_lower *L, const hn_node *n, hn_view *x, hn_error *err) {
    int64_t k = x->dims[x->rank - 1];
    int64_t dims[2] = {hn_view_count(x) / k, k};
    hn_view rows;
    if ((x->strides[x->rank - 1] != 1 && k > 1) || !hn_view_reshape(x, 2, dims, &rows) ||
        rows.strides[0] < 0) {
        HN_TRY(hn_lower_dense(L, n, x, err));
        hn_view_reshape(x, 2, dims, &rows);
    }
    *x = rows;
    return HONE_OK;
}

hone_status hn_lower_product(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *w,
                             const hn_view *y, hn_step **out, hn_error *err) {
    if (!hn_lower_is_constant(L, w)) return hn_lower_matrices(L, n, x, w, y, 1, out, err);
    hn_conv_f32 p = hn_conv_of_gemm(x->dims[0], w->dims[1], w->dims[0]);
    p.x_pixel = x->strides[0];
    p.x_row = p.x_image = x->strides[0] * x->dims[0];
    p.w_i = w->strides[0];
    p.w_o = w->strides[1];
    HN_TRY(hn_lower_step(L, n, &hn_conv_f32_family, &p, sizeof p, out, err));
    hn_step_reads(*out, HN_CONV_X, x);
    hn_step_reads(*out, HN_CONV_W, w);
    hn_step_writes(*out, HN_CONV_Y, y);
    (*out)->facts->flops = 2.0 * (double)p.w * (double)p.n * (double)p.c;
    (*out)->facts->bytes = 4.0 * (double)(p.w * p.c + p.c * p.n + p.w * p.n);
    return HONE_OK;
}

/* Strides of v's batch axes under those of y; 0 where it is broadcast. */
static void batch_strides(const hn_view *v, const hn_view *y, int64_t *strides) {
    int n = y->rank - 2, missing = y->rank - v->rank;
    for (int i = 0; i < HN_MATMUL_BATCH_AXES; i++) strides[i] = 0;
    for (int i = 0; i < n; i++)
        if (i >= missing && v->dims[i - missing] > 1) strides[i] = v->strides[i - missing];
}

static hn_matmul_f32 problem_of(const hn_view *a, const hn_view *b, const hn_view *y, float alpha) {
    int i = a->rank - 1, k = b->rank - 1, c = y->rank - 1;
    hn_matmul_f32 p = {.m = a->dims[i - 1],
                       .n = b->dims[k],
                       .k = a->dims[i],
                       .a_m = a->strides[i - 1],
                       .a_k = a->strides[i],
                       .b_k = b->strides[k - 1],
                       .b_n = b->strides[k],
                       .c_m = y->strides[c - 1],
                       .c_n = y->strides[c],
                       .r_n = 1,
                       .alpha = alpha};
    for (int d = 0; d < HN_MATMUL_BATCH_AXES; d++) p.batch[d] = d < y->rank - 2 ? y->dims[d] : 1;
    batch_strides(a, y, p.a_batch);
    batch_strides(b, y, p.b_batch);
    batch_strides(y, y, p.c_batch);
    return p;
}

static void set_costs(hn_step *s, const hn_matmul_f32 *p, const hn_view *a, const hn_view *b,
                      const hn_view *y, double bytes) {
    s->facts->flops =
        2.0 * (double)hn_matmul_batches(p) * (double)p->m * (double)p->n * (double)p->k;
    s->facts->bytes = bytes * (double)(hn_view_count(a) + hn_view_count(b) + hn_view_count(y));
}

/* The same problem of f64. */
static hn_matmul_f64 problem_f64(const hn_matmul_f32 *p) {
    hn_matmul_f64 q = {.m = p->m,
                       .n = p->n,
                       .k = p->k,
                       .a_m = p->a_m,
                       .a_k = p->a_k,
                       .b_k = p->b_k,
                       .b_n = p->b_n,
                       .r_m = p->r_m,
                       .r_n = p->r_n,
                       .c_m = p->c_m,
                       .c_n = p->c_n,
                       .alpha = (double)p->alpha};
    memcpy(q.batch, p->batch, sizeof q.batch);
    memcpy(q.a_batch, p->a_batch, sizeof q.a_batch);
    memcpy(q.b_batch, p->b_batch, sizeof q.b_batch);
    memcpy(q.c_batch, p->c_batch, sizeof q.c_batch);
    return q;
}

/* A step of f64; what is added to the product, r, may be absent, its strides are in p. */
static hone_status in_f64(hn_lower *L, const hn_node *n, const hn_matmul_f32 *p, const hn_view *a,
                          const hn_view *b, const hn_view *r, const hn_view *y, hn_error *err) {
    hn_matmul_f64 q = problem_f64(p);
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_matmul_f64_family, &q, sizeof q, &s, err));
    hn_step_reads(s, HN_MATMUL_F64_A, a);
    hn_step_reads(s, HN_MATMUL_F64_B, b);
    if (r->buffer >= 0) hn_step_reads(s, HN_MATMUL_F64_R, r);
    hn_step_writes(s, HN_MATMUL_F64_C, y);
    set_costs(s, p, a, b, y, 8);
    return HONE_OK;
}

hone_status hn_lower_matrices(hn_lower *L, const hn_node *n, const hn_view *a, const hn_view *b,
                              const hn_view *y, float alpha, hn_step **out, hn_error *err) {
    hn_matmul_f32 p = problem_of(a, b, y, alpha);
    *out = NULL;
    if (a->dtype == HONE_DTYPE_F64) return in_f64(L, n, &p, a, b, &(hn_view){.buffer = -1}, y, err);
    HN_TRY(hn_lower_step(L, n, &hn_matmul_f32_family, &p, sizeof p, out, err));
    hn_step_reads(*out, HN_MATMUL_A, a);
    hn_step_reads(*out, HN_MATMUL_B, b);
    hn_step_writes(*out, HN_MATMUL_C, y);
    set_costs(*out, &p, a, b, y, 4);
    return HONE_OK;
}

/* A step of integers. */
static hone_status in_integers(hn_lower *L, const hn_node *n, const hn_matmul_f32 *p,
                               const hn_view *a, const hn_view *b, const hn_view *y,
                               hn_error *err) {
    int bits = hone_dtype_bits(a->dtype);
    hn_matmul_int q = {.at = problem_f64(p), .wide = bits == 64};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_matmul_int_family, &q, sizeof q, &s, err));
    hn_step_reads(s, HN_MATMUL_INT_A, a);
    hn_step_reads(s, HN_MATMUL_INT_B, b);
    hn_step_writes(s, HN_MATMUL_INT_C, y);
    set_costs(s, p, a, b, y, bits / 8);
    return HONE_OK;
}

/* alpha times the product of inputs 0 and 1, which are seen as a and b; of integers the product
 * alone. */
static hone_status multiply(hn_lower *L, const hn_node *n, hn_view a, hn_view b, float alpha,
                            bool *done, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    bool vector = a.rank == 1 || b.rank == 1;
    make_matrix(&a, true);
    make_matrix(&b, false);
    if ((a.rank > b.rank ? a.rank : b.rank) - 2 > HN_MATMUL_BATCH_AXES)
        HN_DECLINE(L, "more than four batch axes");
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_view c = y; /* the output as a batch of matrices */
    if (vector) {
        hn_view whole = a.rank > b.rank ? a : b;
        c.rank = whole.rank;
        for (int i = 0; i + 2 < c.rank; i++) c.dims[i] = whole.dims[i];
        c.dims[c.rank - 2] = a.dims[a.rank - 2];
        c.dims[c.rank - 1] = b.dims[b.rank - 1];
        hn_view_reshape(&y, c.rank, c.dims, &c);
    }
    hn_step *s = NULL;
    hn_matmul_f32 p = problem_of(&a, &b, &c, alpha);
    if (hn_dtype_is_int(a.dtype)) {
        HN_TRY(in_integers(L, n, &p, &a, &b, &c, err));
    } else if (a.dtype == HONE_DTYPE_F32 && hn_lower_is_constant(L, &b) && b.rank == 2 &&
               alpha >= 1 && alpha <= 1) {
        HN_TRY(hn_lower_rows(L, n, &a, err));
        HN_TRY(hn_lower_product(L, n, &a, &b, &y, &s, err));
    } else {
        HN_TRY(hn_lower_matrices(L, n, &a, &b, &c, alpha, &s, err));
    }
    hn_lower_set(L, n, 0, &y, vector ? NULL : s);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_matmul(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view a = hn_lower_in(L, n, 0), b = hn_lower_in(L, n, 1), y = hn_lower_out(n, 0);
    bool integers = a.dtype == HONE_DTYPE_S32 || a.dtype == HONE_DTYPE_U32 ||
                    a.dtype == HONE_DTYPE_S64 || a.dtype == HONE_DTYPE_U64;
    if (a.dtype != HONE_DTYPE_F32 && a.dtype != HONE_DTYPE_F64 && !integers)
        HN_DECLINE(L, "not f32, f64 or integers of 32 or 64 bits");
    if (hn_view_count(&y) == 0 || hn_view_count(&a) == 0) HN_DECLINE(L, "nothing to compute");
    if (a.dtype != HONE_DTYPE_F32) return multiply(L, n, a, b, 1, done, err);
    HN_TRY(hn_lower_attention_product(L, n, done, err));
    return *done ? HONE_OK : multiply(L, n, a, b, 1, done, err);
}

/* FusedMatMul and TransposeMatMul of com.microsoft. */
hone_status hn_lower_fused_matmul(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view a = hn_lower_in(L, n, 0), b = hn_lower_in(L, n, 1), y = hn_lower_out(n, 0);
    bool batches = hn_op_attr(n->op, "transBatchA") != NULL &&
                   (hn_attr_i(n, "transBatchA") != 0 || hn_attr_i(n, "transBatchB") != 0);
    if (a.dtype != HONE_DTYPE_F32 && a.dtype != HONE_DTYPE_F64) HN_DECLINE(L, "not f32 or f64");
    if (hn_view_count(&y) == 0 || hn_view_count(&a) == 0) HN_DECLINE(L, "nothing to compute");
    if (batches) HN_DECLINE(L, "batches that are transposed");
    if (hn_attr_i(n, "transA") != 0 && a.rank > 1) hn_view_swap_last(&a);
    if (hn_attr_i(n, "transB") != 0 && b.rank > 1) hn_view_swap_last(&b);
    return multiply(L, n, a, b, hn_attr_f(n, "alpha"), done, err);
}

/* How C is added to Y. */
typedef enum addend {
    NONE,
    VECTOR, /* one number for each column */
    WHOLE,  /* of the size of Y */
    SPREAD, /* one number for each row, or one for all */
} addend;

static addend addend_of(const hn_view *c, const hn_view *y) {
    if (c->buffer < 0) return NONE;
    if (c->rank == 2 && c->dims[0] == y->dims[0] && c->dims[1] == y->dims[1] && y->dims[0] > 1)
        return WHOLE;
    if (hn_view_count(c) == y->dims[1] && c->rank > 0 && c->dims[c->rank - 1] == y->dims[1])
        return VECTOR;
    return SPREAD;
}

/* c, which is dense, times beta: made with the plan where it is a constant. */
static hone_status scale_addend(hn_lower *L, const hn_node *n, float beta, hn_view *c,
                                hn_error *err) {
    const hn_tensor *from = hn_node_constant(n, 2);
    hn_tensor *to;
    hn_view v;
    if (from == NULL) return hn_lower_times(L, n, beta, c, err);
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, from->n, &to, &v, err));
    for (int64_t i = 0; i < from->n; i++)
        ((float *)to->data)[i] = beta * (float)hn_tensor_f64(from, i);
    hn_view_reshape(&v, c->rank, c->dims, c);
    return HONE_OK;
}

/* c, which is SPREAD, as of the size of y: copied where a step wants its columns adjacent. */
static hone_status spread_addend(hn_lower *L, const hn_node *n, const hn_view *y, bool adjacent,
                                 hn_view *c, hn_error *err) {
    bool rows = c->rank == 2 && c->dims[0] > 1;
    hn_view wide = *c;
    wide.rank = 2;
    wide.dims[0] = y->dims[0], wide.dims[1] = y->dims[1];
    wide.strides[0] = rows ? c->strides[0] : 0, wide.strides[1] = 0;
    *c = wide;
    if (!adjacent) return HONE_OK;
    HN_TRY(hn_lower_place(L, c, NULL, err));
    return hn_lower_copy(L, n, &wide, c, err);
}

hone_status hn_lower_gemm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view a = hn_lower_in(L, n, 0), b = hn_lower_in(L, n, 1), c = hn_lower_in(L, n, 2);
    hn_view y = hn_lower_out(n, 0);
    float alpha = hn_attr_f(n, "alpha"), beta = hn_attr_f(n, "beta");
    bool wide = a.dtype == HONE_DTYPE_F64;
    if (a.dtype != HONE_DTYPE_F32 && !wide) HN_DECLINE(L, "not f32 or f64");
    if (hn_view_count(&y) == 0 || hn_view_count(&a) == 0) HN_DECLINE(L, "nothing to compute");
    addend add = addend_of(&c, &y);
    bool scaled = add != NONE && !(beta >= 1 && beta <= 1);
    if (scaled && wide) HN_DECLINE(L, "C is of f64, and beta is not 1");
    if (hn_attr_i(n, "transA") != 0) hn_view_swap_last(&a);
    if (hn_attr_i(n, "transB") != 0) hn_view_swap_last(&b);
    if (add != NONE) HN_TRY(hn_lower_dense(L, n, &c, err));
    if (scaled) HN_TRY(scale_addend(L, n, beta, &c, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_step *s;
    bool constant = hn_lower_is_constant(L, &b) && alpha >= 1 && alpha <= 1 && !wide;
    if (add == SPREAD) HN_TRY(spread_addend(L, n, &y, constant, &c, err));
    if (constant) {
        HN_TRY(hn_lower_rows(L, n, &a, err));
        HN_TRY(hn_lower_product(L, n, &a, &b, &y, &s, err));
        if (add == VECTOR) hn_step_reads(s, HN_CONV_BIAS, &c);
        if (add == WHOLE || add == SPREAD) hn_step_reads(s, HN_CONV_R, &c);
    } else if (wide) {
        hn_matmul_f32 p = problem_of(&a, &b, &y, alpha);
        p.r_m = add == VECTOR ? 0 : c.strides[0];
        p.r_n = add == VECTOR ? 1 : c.strides[1];
        HN_TRY(in_f64(L, n, &p, &a, &b, &c, &y, err));
        s = NULL;
    } else {
        HN_TRY(hn_lower_matrices(L, n, &a, &b, &y, alpha, &s, err));
        if (add == VECTOR) hn_step_reads(s, HN_MATMUL_BIAS, &c);
        if (add == WHOLE || add == SPREAD) {
            hn_matmul_f32 *p = s->problem;
            p->r_m = c.strides[0];
            p->r_n = c.strides[1];
            hn_step_reads(s, HN_MATMUL_R, &c);
        }
    }
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

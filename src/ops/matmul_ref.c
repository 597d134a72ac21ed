#include "ops/matmul_ref.h"

/* Which axes of an operand of that rank are the rows, the columns and (from `batch` on) the batch.
 * -1: the axis a vector lacks. */
typedef struct roles {
    int row, col, batch, n_batch;
} roles;

static roles roles_of(int rank, bool left, unsigned flags) {
    if (rank == 1) return left ? (roles){.row = -1, .col = 0} : (roles){.row = 0, .col = -1};
    bool trans = (flags & (left ? HN_TRANS_A : HN_TRANS_B)) != 0;
    bool trans_batch = (flags & (left ? HN_TRANS_BATCH_A : HN_TRANS_BATCH_B)) != 0;
    roles r = {.row = trans_batch ? 0 : rank - 2,
               .col = rank - 1,
               .batch = trans_batch ? 1 : 0,
               .n_batch = rank - 2};
    if (trans) {
        int row = r.row;
        r.row = r.col;
        r.col = row;
    }
    return r;
}

hone_status hn_matmul_infer(hn_infer *c, int a, int b, unsigned flags, hn_error *err) {
    HN_TRY(hn_want_rank(c, a, 1, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, b, 1, HONE_MAX_RANK, err));
    const hn_shape *x = hn_in_shape(c, a), *y = hn_in_shape(c, b);
    if (x->rank < 0 || y->rank < 0) return HONE_OK;
    roles rx = roles_of(x->rank, true, flags), ry = roles_of(y->rank, false, flags);
    HN_TRY(hn_want_equal(x->dim[rx.col], y->dim[ry.row], "columns of A and rows of B", err));

    hn_shape batch_x = {.rank = rx.n_batch}, batch_y = {.rank = ry.n_batch}, out;
    for (int i = 0; i < rx.n_batch; i++) batch_x.dim[i] = x->dim[rx.batch + i];
    for (int i = 0; i < ry.n_batch; i++) batch_y.dim[i] = y->dim[ry.batch + i];
    char tx[128], ty[128];
    HN_CHECK(err, hn_shape_broadcast(c->dims, &batch_x, &batch_y, &out), HONE_E_SHAPE,
             "stacks of matrices %s and %s cannot be broadcast together",
             hn_shape_text(x, tx, sizeof tx), hn_shape_text(y, ty, sizeof ty));
    if (rx.row >= 0) out.dim[out.rank++] = x->dim[rx.row];
    if (ry.col >= 0) out.dim[out.rank++] = y->dim[ry.col];
    hn_set_shape(c, 0, &out);
    return HONE_OK;
}

void hn_matmul_cost(const hn_infer *c, int a, int b, unsigned flags, hn_cost *cost) {
    (void)b;
    const hn_shape *x = hn_in_shape(c, a), *y = &c->out[0].shape;
    if (x->rank < 1 || y->rank < 0) return;
    hn_dim k = x->dim[roles_of(x->rank, true, flags).col];
    cost->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, y, 0, y->rank), k);
}

/* The axes of one operand in numbers. */
typedef struct side {
    int64_t rows, cols, row_stride, col_stride;
    int n_batch;
    int64_t dims[HONE_MAX_RANK], strides[HONE_MAX_RANK]; /* of the batch axes */
} side;

static side side_of(const hn_tensor *t, bool left, unsigned flags) {
    int64_t strides[HONE_MAX_RANK], stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= t->dims[i];
    }
    roles r = roles_of(t->rank, left, flags);
    side s = {.rows = r.row < 0 ? 1 : t->dims[r.row],
              .cols = r.col < 0 ? 1 : t->dims[r.col],
              .row_stride = r.row < 0 ? 0 : strides[r.row],
              .col_stride = r.col < 0 ? 0 : strides[r.col],
              .n_batch = r.n_batch};
    for (int i = 0; i < r.n_batch; i++) {
        s.dims[i] = t->dims[r.batch + i];
        s.strides[i] = strides[r.batch + i];
    }
    return s;
}

/* Element at which each matrix of the broadcast stack [n_batch] starts in the operand. */
static int64_t *starts(hn_eval *e, const side *s, int rank, const int64_t *dims, int64_t n_batch) {
    int64_t *start = hn_scratch(e, n_batch, sizeof *start);
    if (start == NULL) return NULL;
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t rest = b, at = 0;
        for (int i = rank - 1; i >= 0; i--) {
            int axis = i - (rank - s->n_batch);
            if (axis >= 0 && s->dims[axis] != 1) at += rest % dims[i] * s->strides[axis];
            rest /= dims[i];
        }
        start[b] = at;
    }
    return start;
}

hone_status hn_matmul_plan(hn_eval *e, const hn_tensor *a, const hn_tensor *b, unsigned flags,
                           hn_tensor *y, hn_matmul *plan, hn_error *err) {
    *plan = (hn_matmul){.out = {.t = y}};
    if (y->n == 0) return HONE_OK; /* other axes may then have sizes whose product overflows */
    side sa = side_of(a, true, flags), sb = side_of(b, false, flags);
    /* The batch axes of the result are its first ones, whatever the flags. */
    int rank = sa.n_batch > sb.n_batch ? sa.n_batch : sb.n_batch;
    int64_t n_batch = 1;
    for (int i = 0; i < rank; i++) n_batch *= y->dims[i];
    int64_t *start_a = starts(e, &sa, rank, y->dims, n_batch);
    int64_t *start_b = starts(e, &sb, rank, y->dims, n_batch);
    if (start_a == NULL || start_b == NULL) return HN_NOMEM(err);
    *plan = (hn_matmul){
        .n_batch = n_batch,
        .m = sa.rows,
        .n = sb.cols,
        .k = sa.cols,
        .a = {.t = a, .start = start_a, .row_stride = sa.row_stride, .col_stride = sa.col_stride},
        .b = {.t = b, .start = start_b, .row_stride = sb.row_stride, .col_stride = sb.col_stride},
        .out = {.t = y, .m = sa.rows, .n = sb.cols}};
    return HONE_OK;
}

/* ---- scales and zero points ---- */

hone_status hn_matmul_param_infer(const hn_infer *c, int operand, int param, bool left,
                                  hn_error *err) {
    if (hn_in_rank(c, param) <= 0 || hn_in_rank(c, operand) <= 0) return HONE_OK;
    const hn_shape *x = hn_in_shape(c, operand), *p = hn_in_shape(c, param);
    int64_t size;
    if (!hn_dim_is_const(hn_shape_product(c->dims, p, 0, p->rank), &size) || size == 1)
        return HONE_OK;
    roles r = roles_of(x->rank, left, 0);
    int own = left ? r.row : r.col, other = left ? r.col : r.row;
    bool fits = own >= 0 && (p->rank == 1 || p->rank == x->rank);
    for (int i = 0; fits && i < p->rank; i++) {
        int64_t found = 1, wanted = 1;
        bool known = hn_dim_is_const(p->dim[i], &found);
        if (p->rank == 1)
            known = known && hn_dim_is_const(x->dim[own], &wanted);
        else if (i != other)
            known = known && hn_dim_is_const(x->dim[i], &wanted);
        fits = !known || found == wanted;
    }
    char tp[128], tx[128];
    HN_CHECK(err, fits, HONE_E_SHAPE,
             "input %d has shape %s, expected one value or one for each %s of input %d, %s", param,
             hn_shape_text(p, tp, sizeof tp), left ? "row" : "column", operand,
             hn_shape_text(x, tx, sizeof tx));
    return HONE_OK;
}

hone_status hn_matmul_param_plan(hn_eval *e, const hn_matmul *plan, const hn_tensor *param,
                                 bool left, hn_matmul_param *out, hn_error *err) {
    *out = (hn_matmul_param){.stride = param->n == 1 ? 0 : 1};
    if (param->n == 1 || param->rank == 1) return HONE_OK;
    const hn_strided_matrix *s = left ? &plan->a : &plan->b;
    int64_t per_matrix = left ? plan->m : plan->n, elements = per_matrix * plan->k;
    int64_t *start = hn_scratch(e, plan->n_batch, sizeof *start);
    if (start == NULL) return HN_NOMEM(err);
    for (int64_t b = 0; b < plan->n_batch; b++)
        start[b] = elements > 0 ? s->start[b] / elements * per_matrix : 0;
    out->start = start;
    return HONE_OK;
}

static hone_status set_zero(hn_eval *e, const hn_matmul *plan, const hn_tensor *zero, bool left,
                            hn_strided_matrix *s, hn_error *err) {
    if (zero == NULL) return HONE_OK;
    hn_matmul_param p;
    HN_TRY(hn_matmul_param_plan(e, plan, zero, left, &p, err));
    s->zero = hn_scratch_s64(e, zero);
    if (s->zero == NULL) return HN_NOMEM(err);
    s->zero_start = p.start;
    *(left ? &s->zero_row : &s->zero_col) = p.stride;
    return HONE_OK;
}

hone_status hn_matmul_zeros(hn_eval *e, hn_matmul *plan, const hn_tensor *a_zero,
                            const hn_tensor *b_zero, hn_error *err) {
    HN_TRY(set_zero(e, plan, a_zero, true, &plan->a, err));
    return set_zero(e, plan, b_zero, false, &plan->b, err);
}

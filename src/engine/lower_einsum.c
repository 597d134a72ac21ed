/* Einsum of one or two operands of f32 or f64.
 *
 *   no label is summed      of one operand a view, of two a product of elements (map_f32)
 *   one operand             a sum over the labels that are not in the output (reduce_f32)
 *   two operands            a product of matrices (matmul_f32): labels in both operands and the
 *                           output tell the matrices apart, those of one operand and the output
 *                           are its rows or columns, those in both and not in the output are
 *                           summed; with neither rows nor columns, a product of elements and a sum
 *
 * Several labels of a kind are one axis where their strides allow it; else the operand is copied.
 */
#include <string.h>

#include "engine/lower.h"
#include "kernels/map_f32/map_f32.h"
#include "kernels/map_int/map_int.h"
#include "kernels/matmul_f32/matmul_f32.h"
#include "kernels/reduce_f32/reduce_f32.h"
#include "ops/einsum.h"

/* Labels in the order they are to lie in. */
typedef struct labels {
    int n;
    uint8_t at[HONE_MAX_RANK];
} labels;

/* A node's equation, with the sizes of its labels and their strides in each operand (0: it does not
 * have the label). */
typedef struct equation {
    int n_in;
    hn_einsum_term in[2], out;
    hn_view x[2];
    bool has[2][HN_EINSUM_LABELS], in_out[HN_EINSUM_LABELS];
    int64_t size[HN_EINSUM_LABELS], stride[2][HN_EINSUM_LABELS];
} equation;

/* False: a label has two sizes. One that an operand has twice is its diagonal. */
static bool read_operand(equation *e, int i) {
    for (int a = 0; a < e->in[i].rank; a++) {
        int l = e->in[i].label[a];
        if (e->size[l] != 0 && e->size[l] != e->x[i].dims[a]) return false;
        e->size[l] = e->x[i].dims[a];
        e->stride[i][l] += e->x[i].strides[a];
        e->has[i][l] = true;
    }
    return true;
}

/* The labels of a term that are in both operands or not, and in the output or not. */
static labels choose(const equation *e, const hn_einsum_term *t, int operand, bool both, bool out) {
    labels g = {0};
    bool seen[HN_EINSUM_LABELS] = {0};
    for (int a = 0; a < t->rank; a++) {
        int l = t->label[a];
        bool shared = e->n_in == 2 && e->has[0][l] && e->has[1][l];
        if (seen[l] || !e->has[operand][l] || shared != both || e->in_out[l] != out) continue;
        seen[l] = true;
        g.at[g.n++] = (uint8_t)l;
    }
    return g;
}

static void append(labels *to, const labels *from) {
    for (int i = 0; i < from->n; i++) to->at[to->n++] = from->at[i];
}

static int64_t count_of(const equation *e, const labels *g) {
    int64_t n = 1;
    for (int i = 0; i < g->n; i++) n *= e->size[g->at[i]];
    return n;
}

/* Operand i with its axes in that order; it repeats along those it does not have. */
static hn_view view_of(const equation *e, int i, const labels *g) {
    hn_view v = e->x[i];
    v.rank = g->n;
    for (int a = 0; a < g->n; a++) {
        v.dims[a] = e->size[g->at[a]];
        v.strides[a] = e->stride[i][g->at[a]];
    }
    return v;
}

/* A step that multiplies doubles, operands with the axes of y; of one axis where y has none. */
static hone_status multiply_doubles(hn_lower *L, const hn_node *n, const hn_view *x,
                                    const hn_view *y, hn_error *err) {
    hn_map_int p = {.op = HN_MAP_INT_MUL,
                    .from = HONE_DTYPE_F64,
                    .to = HONE_DTYPE_F64,
                    .rank = y->rank > 0 ? y->rank : 1,
                    .dims = {1}};
    for (int a = 0; a < y->rank; a++) {
        p.dims[a] = y->dims[a];
        p.stride[HN_MAP_INT_Y][a] = y->strides[a];
        for (int i = 0; i < 2; i++) p.stride[i][a] = x[i].strides[a];
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_int_family, &p, sizeof p, &s, err));
    for (int i = 0; i < 2; i++) hn_step_reads(s, i, &x[i]);
    hn_step_writes(s, HN_MAP_INT_Y, y);
    s->facts->flops = (double)hn_view_count(y);
    s->facts->bytes = 24.0 * (double)hn_view_count(y);
    return HONE_OK;
}

/* A step that multiplies elements of both operands into y, which has the axes g. */
static hone_status multiply_elements(hn_lower *L, const hn_node *n, const equation *e,
                                     const labels *g, const hn_view *y, hn_error *err) {
    hn_map_f32 p = {.rank = g->n, .n_in = 2, .n_out = 1};
    hn_view x[2] = {view_of(e, 0, g), view_of(e, 1, g)};
    if (y->dtype == HONE_DTYPE_F64) return multiply_doubles(L, n, x, y, err);
    for (int a = 0; a < g->n; a++) {
        p.dims[a] = y->dims[a];
        p.out_stride[0][a] = y->strides[a];
        for (int i = 0; i < 2; i++) p.in_stride[i][a] = x[i].strides[a];
    }
    p.out[0] = (uint8_t)hn_map_emit(&p, HN_MAP_MUL, 0, 1, 0, 0, 0);
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, &p, sizeof p, &s, err));
    for (int i = 0; i < 2; i++) hn_step_reads(s, HN_MAP_IN + i, &x[i]);
    hn_step_writes(s, HN_MAP_OUT, y);
    s->facts->flops = (double)hn_view_count(y);
    s->facts->bytes = 12.0 * (double)hn_view_count(y);
    return HONE_OK;
}

/* A step that sums x, dense, over its last r elements each into y. */
static hone_status add_up(hn_lower *L, const hn_node *n, const hn_view *x, int64_t r,
                          const hn_view *y, hn_error *err) {
    hn_step *s;
    int64_t dims[3] = {hn_view_count(x) / r, r, 1};
    return hn_lower_reduce_step(L, n, HN_REDUCE_SUM, dims, x, y, &s, err);
}

static hone_status lower_one(hn_lower *L, const hn_node *n, const equation *e, hn_error *err) {
    labels all = choose(e, &e->out, 0, false, true), summed = choose(e, &e->in[0], 0, false, false);
    append(&all, &summed);
    hn_view x = view_of(e, 0, &all), y = hn_lower_out(n, 0);
    if (summed.n == 0) {
        y = x;
    } else {
        HN_TRY(hn_lower_dense(L, n, &x, err));
        HN_TRY(hn_lower_place(L, &y, NULL, err));
        HN_TRY(add_up(L, n, &x, count_of(e, &summed), &y, err));
    }
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* The output as elements of both operands, summed over `summed`, the labels of both and of no
 * other. */
static hone_status lower_elements(hn_lower *L, const hn_node *n, const equation *e,
                                  const labels *summed, hn_error *err) {
    hn_view y = hn_lower_out(n, 0), product = y;
    labels all = {.n = e->out.rank};
    memcpy(all.at, e->out.label, (size_t)all.n);
    append(&all, summed);
    product.rank = all.n;
    for (int a = 0; a < all.n; a++) product.dims[a] = e->size[all.at[a]];
    HN_TRY(hn_lower_place(L, &product, NULL, err));
    HN_TRY(multiply_elements(L, n, e, &all, &product, err));
    if (summed->n > 0) {
        HN_TRY(hn_lower_place(L, &y, NULL, err));
        HN_TRY(add_up(L, n, &product, count_of(e, summed), &y, err));
    } else {
        y = product;
    }
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* Operand i as [batch..., rows, columns], rows and columns one axis each. */
static hone_status matrices_of(hn_lower *L, const hn_node *n, const equation *e, int i,
                               const labels *batch, const labels *rows, const labels *columns,
                               hn_view *out, hn_error *err) {
    labels all = *batch;
    append(&all, rows);
    append(&all, columns);
    hn_view v = view_of(e, i, &all);
    int64_t dims[HONE_MAX_RANK];
    for (int a = 0; a < batch->n; a++) dims[a] = v.dims[a];
    dims[batch->n] = count_of(e, rows);
    dims[batch->n + 1] = count_of(e, columns);
    if (hn_view_reshape(&v, batch->n + 2, dims, out)) return HONE_OK;
    HN_TRY(hn_lower_dense(L, n, &v, err));
    hn_view_reshape(&v, batch->n + 2, dims, out);
    return HONE_OK;
}

static hone_status lower_product(hn_lower *L, const hn_node *n, const equation *e,
                                 const labels *summed, hn_error *err) {
    /* The operand that has the last label of the output is the second: its columns are adjacent
     * there. */
    int last = e->out.label[e->out.rank - 1], second = e->has[1][last] ? 1 : 0, first = 1 - second;
    labels batch = choose(e, &e->out, 0, true, true);
    labels rows = choose(e, &e->out, first, false, true);
    labels columns = choose(e, &e->out, second, false, true);
    hn_view a, b, c, y = hn_lower_out(n, 0);
    HN_TRY(matrices_of(L, n, e, first, &batch, &rows, summed, &a, err));
    HN_TRY(matrices_of(L, n, e, second, &batch, summed, &columns, &b, err));
    labels all = batch;
    append(&all, &rows);
    append(&all, &columns);
    int order[HONE_MAX_RANK];
    for (int k = 0; k < all.n; k++)
        for (int axis = 0; axis < e->out.rank; axis++)
            if (e->out.label[axis] == all.at[k]) order[k] = axis;
    HN_TRY(hn_lower_place(L, &y, order, err));
    hn_view stacked = y;
    for (int k = 0; k < all.n; k++) {
        stacked.dims[k] = y.dims[order[k]];
        stacked.strides[k] = y.strides[order[k]];
    }
    int64_t dims[HONE_MAX_RANK];
    for (int k = 0; k < batch.n; k++) dims[k] = stacked.dims[k];
    dims[batch.n] = count_of(e, &rows);
    dims[batch.n + 1] = count_of(e, &columns);
    hn_view_reshape(&stacked, batch.n + 2, dims, &c);
    hn_step *s;
    if (y.dtype == HONE_DTYPE_F32 && batch.n == 0 && hn_lower_is_constant(L, &b)) {
        HN_TRY(hn_lower_rows(L, n, &a, err));
        HN_TRY(hn_lower_product(L, n, &a, &b, &c, &s, err));
    } else {
        HN_TRY(hn_lower_matrices(L, n, &a, &b, &c, 1, &s, err));
    }
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

static bool fits(const labels *g, int most) { return g->n <= most; }

hone_status hn_lower_einsum(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    equation e = {.n_in = n->n_inputs};
    hn_view y = hn_lower_out(n, 0);
    int ranks[2];
    if (e.n_in > 2) HN_DECLINE(L, "more than two operands");
    if (y.dtype != HONE_DTYPE_F32 && y.dtype != HONE_DTYPE_F64) HN_DECLINE(L, "not f32 or f64");
    for (int i = 0; i < e.n_in; i++) {
        e.x[i] = hn_lower_in(L, n, i);
        ranks[i] = e.x[i].rank;
        if (hn_view_count(&e.x[i]) == 0) HN_DECLINE(L, "nothing to compute");
    }
    HN_TRY(hn_einsum_parse(hn_attr_s(n, "equation"), e.n_in, ranks, e.in, &e.out, err));
    for (int i = 0; i < e.n_in; i++)
        if (!read_operand(&e, i)) HN_DECLINE(L, "a label that repeats");
    for (int a = 0; a < e.out.rank; a++) e.in_out[e.out.label[a]] = true;
    *done = true;
    if (e.n_in == 1) return lower_one(L, n, &e, err);
    labels summed = choose(&e, &e.in[0], 0, true, false);
    labels batch = choose(&e, &e.out, 0, true, true);
    for (int i = 0; i < 2; i++) {
        labels alone = choose(&e, &e.in[i], i, false, false);
        if (alone.n > 0) HN_DECLINE(L, "a sum over a label of one operand");
    }
    bool elements = summed.n == 0 || batch.n == e.out.rank;
    if (elements && !fits(&summed, HN_MAP_MAX_RANK - e.out.rank))
        HN_DECLINE(L, "more than six axes");
    if (elements) return lower_elements(L, n, &e, &summed, err);
    if (!fits(&batch, HN_MATMUL_BATCH_AXES)) HN_DECLINE(L, "more than four batch axes");
    return lower_product(L, n, &e, &summed, err);
}

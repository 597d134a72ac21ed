/* Reductions: many numbers into one, along any set of axes (groups.h).
 *
 * Floats accumulate in double. Integers accumulate in 128 bits, which holds every sum exactly: the
 * mean and the norm of integers are those of the true sum, all others keep the low bits of theirs.
 */
#include <math.h>

#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/nodes.h"
#include "ops/softmax_ref.h"
#include "ops/spatial.h"
#include "ops/strided.h"

/* Two's complement: arithmetic on it is right modulo 2^128 for signed numbers too. */
__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 swide;

typedef struct reduction {
    void (*fold)(double *acc, const double *x, int64_t n, int64_t step); /* NULL: LogSumExp */
    void (*fold_int)(wide *acc, const wide *x, int64_t n, int64_t step);
    double start;
    /* What the accumulator of n numbers means; NULL: itself. */
    double (*finish)(double acc, int64_t n);
    wide (*finish_int)(wide acc, int64_t n);
    hn_dim (*known)(hn_infer *c, const hn_dim *pair);
} reduction;

/* ---- what is done with the numbers ---- */

#define FOLD(name, type, expression)                                      \
    static void name(type *acc, const type *x, int64_t n, int64_t step) { \
        for (int64_t i = 0; i < n; i++) {                                 \
            type a = acc[i * step], v = x[i];                             \
            acc[i * step] = expression;                                   \
        }                                                                 \
    }

FOLD(sum, double, a + v)
FOLD(sum_abs, double, a + fabs(v))
FOLD(sum_square, double, a + v * v)
FOLD(product, double, a *v)
/* NaN passes. */
FOLD(largest, double, v > a || v != v ? v : a)
FOLD(smallest, double, v < a || v != v ? v : a)

FOLD(sum_int, wide, a + v)
FOLD(sum_abs_int, wide, a + ((swide)v < 0 ? -v : v))
FOLD(sum_square_int, wide, a + v * v)
/* A sum past 2^128 stays there: its root fits no type anyway. */
FOLD(sum_square_most, wide, a + v * v < a ? ~(wide)0 : a + v * v)
FOLD(product_int, wide, a *v)
FOLD(largest_int, wide, (swide)v > (swide)a ? v : a)
FOLD(smallest_int, wide, (swide)v < (swide)a ? v : a)

static double mean(double sum, int64_t n) { return sum / (double)n; }
static double root(double sum, int64_t n) { return (void)n, sqrt(sum); }
static double logarithm(double sum, int64_t n) { return (void)n, log(sum); }

static wide mean_int(wide sum, int64_t n) { return (wide)((swide)sum / n); }

/* Rounded down, bit by bit. */
static wide root_int(wide sum, int64_t n) {
    (void)n;
    wide r = 0;
    for (int bit = 63; bit >= 0; bit--) {
        wide next = r | (wide)1 << bit;
        if (next * next <= sum) r = next;
    }
    return r;
}

static hn_dim larger_known(hn_infer *c, const hn_dim *x) { return hn_dim_max(c->dims, x[0], x[1]); }
static hn_dim smaller_known(hn_infer *c, const hn_dim *x) {
    return hn_dim_min(c->dims, x[0], x[1]);
}

/* ---- inference ---- */

/* Bit k of *reduced is set when axis k is reduced, given the list in input 1 (n = 0: none). */
static hone_status reduced_axes(const hn_node *node, int64_t *axes, int n, int rank,
                                uint32_t *reduced, hn_error *err) {
    *reduced = 0;
    if (n == 0 && hn_attr_i(node, "noop_with_empty_axes") == 0) *reduced = (1u << rank) - 1;
    HN_TRY(hn_want_axes(axes, n, rank, err));
    for (int i = 0; i < n; i++) *reduced |= 1u << axes[i];
    return HONE_OK;
}

static bool is_reduced(uint32_t reduced, int axis) { return ((reduced >> axis) & 1u) != 0; }

/* Known contents: each one joins those of its result. */
static void follow_values(hn_infer *c, uint32_t reduced, const hn_shape *kept) {
    const reduction *op = c->node->op->data;
    int64_t dims[HONE_MAX_RANK], out_dims[HONE_MAX_RANK];
    if (op->known == NULL || c->out[0].dtype == HONE_DTYPE_U64) return;
    const hn_dim *in = hn_known_values(c, 0, dims);
    if (in == NULL) return;
    hn_dim *out = hn_room_for_values(c, 0, kept, out_dims);
    if (out == NULL) return;
    bool all = true;
    for (int i = 0; i < c->out[0].n_values; i++) out[i] = NULL;
    for (int i = 0; i < c->in[0].n_values; i++) {
        int rest = i, at = 0, step = 1;
        for (int k = hn_in_rank(c, 0) - 1; k >= 0; k--) {
            if (!is_reduced(reduced, k)) {
                at += rest % (int)dims[k] * step;
                step *= (int)dims[k];
            }
            rest /= (int)dims[k];
        }
        out[at] = out[at] == NULL ? in[i] : op->known(c, (hn_dim[]){out[at], in[i]});
        if (out[at] == NULL) break;
    }
    for (int i = 0; i < c->out[0].n_values; i++)
        all = all && out[i] != NULL && hn_dim_fits(c->out[0].dtype, out[i]);
    if (all) return;
    c->out[0].values = NULL;
    c->out[0].n_values = 0;
}

/* What the axes leave when they are not known but perhaps how many they are. */
static hone_status infer_unknown_axes(hn_infer *c, bool keep, hn_error *err) {
    int rank = hn_in_rank(c, 0), count;
    HN_TRY(hn_list_length(c, 1, rank, &count, err));
    if (!keep && count < 0) return HONE_OK;
    hn_shape y = hn_shape_fresh(c->dims, keep ? rank : rank - count);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    bool keep = hn_attr_i(c->node, "keepdims") != 0;
    hn_shape y = {.rank = 0}, kept = {.rank = 0};
    int64_t axes[HONE_MAX_RANK];
    int n = 0;
    if (hn_has_in(c, 1)) HN_TRY(hn_list_ints(c, 1, HONE_MAX_RANK, axes, &n, err));
    if (x->rank < 0) {
        bool all = n == 0 && hn_attr_i(c->node, "noop_with_empty_axes") == 0;
        if (all && !keep) hn_set_shape(c, 0, &y);
        return HONE_OK;
    }
    if (n < 0) return infer_unknown_axes(c, keep, err);
    uint32_t reduced;
    HN_TRY(reduced_axes(c->node, axes, n, x->rank, &reduced, err));
    for (int k = 0; k < x->rank; k++) {
        if (!is_reduced(reduced, k))
            y.dim[y.rank++] = kept.dim[kept.rank++] = x->dim[k];
        else if (keep)
            y.dim[y.rank++] = hn_dim_const(c->dims, 1);
    }
    hn_set_shape(c, 0, &y);
    follow_values(c, reduced, &kept);
    return HONE_OK;
}

/* ---- evaluation ---- */

typedef struct job {
    const reduction *op;
    const hn_tensor *in;
    hn_tensor *out;
    hn_groups groups;
} job;

typedef struct floats {
    const job *j;
    double acc[HN_BLOCK];
} floats;

static void take_f64(void *state, int64_t at, int64_t n, int64_t step) {
    floats *f = state;
    double x[HN_BLOCK];
    hn_load_f64_n(f->j->in->dtype, f->j->in->data, at, n, x);
    f->j->op->fold(f->acc, x, n, step);
}

static void run_f64(void *ctx, int64_t to, int64_t width) {
    const job *j = ctx;
    floats f;
    f.j = j;
    for (int64_t i = 0; i < width; i++) f.acc[i] = j->op->start;
    hn_group_walk(&j->groups, to, width, take_f64, &f);
    for (int64_t i = 0; j->op->finish != NULL && i < width; i++)
        f.acc[i] = j->op->finish(f.acc[i], j->groups.n);
    hn_store_f64_n(j->out->dtype, j->out->data, to, width, f.acc);
}

/* The one that is no fold: numbers go in as exp(x - peak). */
static void run_log_sum_exp(void *ctx, int64_t to, int64_t width) {
    const job *j = ctx;
    double peak[HN_BLOCK], sum[HN_BLOCK];
    hn_softmax_sums(&j->groups, j->in, to, width, peak, sum);
    for (int64_t i = 0; i < width; i++)
        if (!isinf(peak[i])) peak[i] += log(sum[i]);
    hn_store_f64_n(j->out->dtype, j->out->data, to, width, peak);
}

typedef struct integers {
    const job *j;
    wide acc[HN_BLOCK];
} integers;

static void take_int(void *state, int64_t at, int64_t n, int64_t step) {
    integers *s = state;
    const hn_tensor *in = s->j->in;
    int64_t raw[HN_BLOCK];
    wide x[HN_BLOCK];
    hn_load_s64_n(in->dtype, in->data, at, n, raw);
    for (int64_t i = 0; i < n; i++)
        x[i] = in->dtype == HONE_DTYPE_U64 ? (wide)(uint64_t)raw[i] : (wide)(swide)raw[i];
    s->j->op->fold_int(s->acc, x, n, step);
}

static wide start_int(const job *j) {
    hone_dtype t = j->out->dtype;
    if (j->op->fold_int == largest_int) return (wide)(swide)hn_dtype_min(t);
    if (j->op->fold_int == smallest_int) return hn_dtype_max(t);
    return (wide)j->op->start;
}

static void run_int(void *ctx, int64_t to, int64_t width) {
    const job *j = ctx;
    integers s;
    int64_t raw[HN_BLOCK];
    s.j = j;
    for (int64_t i = 0; i < width; i++) s.acc[i] = start_int(j);
    hn_group_walk(&j->groups, to, width, take_int, &s);
    for (int64_t i = 0; i < width; i++) {
        if (j->op->finish_int != NULL) s.acc[i] = j->op->finish_int(s.acc[i], j->groups.n);
        raw[i] = (int64_t)(uint64_t)s.acc[i];
    }
    hn_store_s64_n(j->out->dtype, j->out->data, to, width, raw);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *list = hn_eval_in(e, 1);
    int64_t axes[HONE_MAX_RANK];
    int n = list != NULL ? (int)list->n : 0;
    uint32_t reduced;
    for (int i = 0; i < n; i++) axes[i] = hn_tensor_s64(list, i);
    HN_TRY(reduced_axes(e->node, axes, n, e->in[0]->rank, &reduced, err));
    job j = {.op = e->node->op->data, .in = e->in[0], .out = e->out[0]};
    hn_groups_init(&j.groups, j.in->rank, j.in->dims, reduced);
    bool is_float = hn_dtype_is_float(j.out->dtype);
    HN_CHECK(err, is_float || j.op->finish_int != mean_int || j.groups.n > 0 || j.out->n == 0,
             HONE_E_ARG, "no integers to take the mean of");
    hn_for_groups(e->pool, &j.groups,
                  !is_float            ? run_int
                  : j.op->fold != NULL ? run_f64
                                       : run_log_sum_exp,
                  &j);
    return HONE_OK;
}

/* ---- the operators ---- */

static const char *refuse(const hn_node *n) {
    int rank = n->inputs[0].value->type.shape.rank;
    uint32_t axes;
    if (hn_refuse_mean(n) != NULL || !hn_const_axes(n, 1, rank, &axes)) return HN_NO_MEAN;
    return axes == (1u << rank) - 4u ? NULL : HN_NO_MEAN; /* all but the image and the channel */
}

/* ---- gradients ---- */

/* The product of all others along the reduced axes, which a quotient by x would be but for zeros:
 * the exclusive products from both ends. */
static hn_value *others(hn_grad *g, int rank, const int64_t *dims, uint32_t reduced) {
    int64_t perm[HONE_MAX_RANK], back[HONE_MAX_RANK], sizes[HONE_MAX_RANK], flat[2] = {1, 1};
    int n = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < rank; i++)
            if ((int)(reduced >> i & 1) == side) {
                perm[n] = i;
                back[i] = n;
                sizes[n++] = dims[i];
                flat[side] *= dims[i];
            }
    hn_value *x = hn_emit_transposed(g, hn_grad_in(g, 0), rank, perm), *side[2];
    x = hn_emit_reshape(g, x, 2, flat);
    for (int i = 0; i < 2; i++) {
        hn_value *in[] = {x, hn_emit_ints(g, (const int64_t[]){1}, 1)};
        if (x == NULL || in[1] == NULL) return NULL;
        hn_node *scan = hn_emit_node(g, "", "CumProd", 1, 2, in);
        hn_emit_i(g, scan, "exclusive", 1);
        hn_emit_i(g, scan, "reverse", i);
        side[i] = hn_emitted(scan, 0);
    }
    hn_value *all = hn_emit_reshape(g, HN_EMIT2(g, "Mul", side[0], side[1]), rank, sizes);
    return hn_emit_transposed(g, all, rank, back);
}

/* What the result changes by with each number: x and y as in y = reduce(x), where y and dy have
 * the reduced axes with size 1. */
static hn_value *slope(hn_grad *g, const reduction *op, hn_value *x, hn_value *y, uint32_t reduced,
                       int rank, const int64_t *dims) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (reduced >> i & 1) count *= dims[i];
    if (op->fold == sum_abs) return HN_EMIT1(g, "Sign", x);
    /* At 0 the norm has no slope; 0 is the one of least size. */
    if (op->fold == sum_square && op->finish == root)
        return HN_TEXT(g, "a / Where(b == 0, 1, b)", x, y);
    if (op->fold == sum_square) return HN_EMIT2(g, "Mul", x, hn_emit_number(g, 2));
    if (op->fold == product) return others(g, rank, dims, reduced);
    if (op->fold == NULL) return HN_EMIT1(g, "Exp", HN_EMIT2(g, "Sub", x, y));
    if (op->finish == logarithm) return HN_EMIT1(g, "Exp", HN_EMIT1(g, "Neg", y));
    if (op->finish == mean) return hn_emit_number(g, 1 / (double)count);
    if (op->fold == sum) return NULL;
    /* The largest or least: equal ones share. */
    hn_value *hit = hn_emit_cast(g, HN_EMIT2(g, "Equal", x, y));
    return HN_EMIT2(g, "Div", hit, hn_emit_sum(g, hit, reduced, true));
}

static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], kept[HONE_MAX_RANK], axes[HONE_MAX_RANK];
    hn_value *x = hn_grad_in(g, 0);
    int rank = hn_grad_dims(g, x, dims), n = 0;
    uint32_t reduced;
    if (hn_grad_in(g, 1) != NULL) n = hn_grad_ints(g, 1, axes, HONE_MAX_RANK);
    if (n < 0) return hn_grad_refuse(g, "its axes are computed", err);
    HN_TRY(reduced_axes(g->node, axes, n, rank, &reduced, err));
    for (int i = 0; i < rank; i++) kept[i] = reduced >> i & 1 ? 1 : dims[i];
    hn_value *y = hn_emit_reshape(g, hn_grad_out(g, 0), rank, kept);
    hn_value *dy = hn_emit_reshape(g, g->dy[0], rank, kept);
    const reduction *op = g->node->op->data;
    hn_value *by = slope(g, op, x, y, reduced, rank, dims);
    hn_value *v = by != NULL ? HN_EMIT2(g, "Mul", dy, by) : dy;
    hn_grad_give(g, 0, hn_emit_expanded(g, v, rank, dims));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("keepdims", 1), HN_ATTR_I("noop_with_empty_axes", 0), {0}};

#define REDUCE(lc, NAME, VERSIONS, TYPES, ROLE, ...)                                             \
    const hn_op_def hn_op_reduce_##lc = {.name = "Reduce" NAME,                                  \
                                         .versions = VERSIONS,                                   \
                                         .sig = "(data:T, axes:s64?) -> (reduced:T); T: " TYPES, \
                                         .attrs = attrs,                                         \
                                         .role = HN_ROLE_##ROLE,                                 \
                                         .mixing = HN_MIXES_REDUCED,                             \
                                         .refuse = refuse,                                       \
                                         .infer = infer,                                         \
                                         .ref = ref,                                             \
                                         .grad = grad,                                           \
                                         .data = &(const reduction){__VA_ARGS__}};

#define NUMBERS "float s32 s64 u32 u64"
#define BOTH(fn) .fold = fn, .fold_int = fn##_int

/* clang-format off */
REDUCE(l1, "L1", "1 11 13 18", NUMBERS, NONE, BOTH(sum_abs))
REDUCE(l2, "L2", "1 11 13 18", NUMBERS, NONE, .fold = sum_square, .fold_int = sum_square_most,
       .finish = root, .finish_int = root_int)
REDUCE(log_sum, "LogSum", "1 11 13 18 28", "float", NONE, .fold = sum, .finish = logarithm)
REDUCE(log_sum_exp, "LogSumExp", "1 11 13 18 28", "float", NONE, .fold = NULL)
REDUCE(max, "Max", "1 11 12 13 18 20", NUMBERS " u8 s8 bool", NONE, BOTH(largest),
       .start = -INFINITY, .known = larger_known)
REDUCE(mean, "Mean", "1 11 13 18", NUMBERS, MEAN, BOTH(sum), .finish = mean,
       .finish_int = mean_int)
REDUCE(min, "Min", "1 11 12 13 18 20", NUMBERS " u8 s8 bool", NONE, BOTH(smallest),
       .start = INFINITY, .known = smaller_known)
REDUCE(prod, "Prod", "1 11 13 18", NUMBERS, NONE, BOTH(product), .start = 1, .known = hn_known_mul)
REDUCE(sum, "Sum", "1 11 13", NUMBERS, NONE, BOTH(sum), .known = hn_known_add)
REDUCE(sum_square, "SumSquare", "1 11 13 18", NUMBERS, NONE, BOTH(sum_square))
/* clang-format on */

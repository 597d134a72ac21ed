/* Elementwise operators on integers, truth values and doubles: a problem of map_int for each node,
 * and nothing is taken into other steps.
 */
#include <math.h>
#include <string.h>

#include "engine/lower.h"
#include "kernels/map_int/map_int.h"

typedef struct row {
    const char *op;
    int most; /* inputs of its step; 0: a step for each after the first */
    hn_map_int_op map;
} row;

static const row rows[] = {
#define HN_LOWER_MAP_INT(op, most, map) {op, most, HN_MAP_INT_##map},
#include "engine/lower_map_int.def"
#undef HN_LOWER_MAP_INT
};

static const row *row_of(const hn_node *n) {
    const row *r = rows;
    while (strcmp(r->op, n->op->name) != 0) r++;
    return r;
}

/* Whether a divisor of 0 is an error. */
static bool divides(hn_map_int_op op, hone_dtype t) {
    return t != HONE_DTYPE_F64 &&
           (op == HN_MAP_INT_DIV || op == HN_MAP_INT_MOD || op == HN_MAP_INT_FMOD);
}

/* The message of the operator's reference. */
static hone_status check_divisors(const void *problem, void *const *operands, hn_error *err) {
    const hn_map_int *p = problem;
    for (int64_t i = 0; i < p->divisors; i++)
        HN_CHECK(err, hn_load_s64(p->from, operands[HN_MAP_INT_B], i) != 0, HONE_E_ARG,
                 "division by zero: element %lld of the divisor", (long long)i);
    return HONE_OK;
}

/* The strides of v under the dims of `to`, to which it broadcasts. */
static void spread(const hn_view *v, const hn_view *to, int64_t *stride) {
    int missing = to->rank - v->rank;
    for (int i = 0; i < to->rank; i++) {
        bool repeats = i < missing || v->dims[i - missing] == 1;
        stride[i] = repeats ? 0 : v->strides[i - missing];
    }
}

/* A step from these operands to a new buffer for y, its axes as in the first operand that has all
 * its elements. */
static hone_status add_step(hn_lower *L, const hn_node *n, hn_map_int_op op, const hn_view *in,
                            hn_view *y, hn_error *err) {
    int arity = hn_map_int_arity(op), order[HONE_MAX_RANK];
    bool found = false;
    for (int i = 0; i < arity && !found; i++) {
        found = in[i].rank == y->rank && hn_view_count(&in[i]) == hn_view_count(y);
        if (found) hn_lower_order(&in[i], order);
    }
    HN_TRY(hn_lower_place(L, y, found ? order : NULL, err));
    hn_map_int p = {.op = op,
                    .from = in[op == HN_MAP_INT_SELECT ? 1 : 0].dtype,
                    .to = y->dtype,
                    .rank = y->rank};
    for (int i = 0; i < y->rank; i++) {
        p.dims[i] = y->dims[i];
        p.stride[HN_MAP_INT_Y][i] = y->strides[i];
    }
    for (int i = 0; i < arity; i++) spread(&in[i], y, p.stride[i]);
    if (divides(op, p.from)) p.divisors = hn_view_count(&in[1]);
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_int_family, &p, sizeof p, &s, err));
    for (int i = 0; i < arity; i++) {
        hn_step_reads(s, i, &in[i]);
        s->facts->bytes += (double)hn_view_count(&in[i]) * hone_dtype_bits(in[i].dtype) / 8;
    }
    hn_step_writes(s, HN_MAP_INT_Y, y);
    s->facts->bytes += (double)hn_view_count(y) * hone_dtype_bits(y->dtype) / 8;
    if (divides(op, p.from)) s->check = check_divisors;
    s->flag = HN_MAP_INT_BAD;
    return HONE_OK;
}

/* A step for each input after the first, the last of them to y. */
static hone_status fold(hn_lower *L, const hn_node *n, hn_map_int_op op, hn_view *y,
                        hn_error *err) {
    hn_view pair[2] = {hn_lower_in(L, n, 0)};
    for (int i = 1; i < n->n_inputs; i++) {
        pair[1] = hn_lower_in(L, n, i);
        hn_view next = hn_lower_out(n, 0);
        HN_TRY(add_step(L, n, op, pair, &next, err));
        pair[0] = next;
    }
    *y = pair[0];
    return HONE_OK;
}

/* The limits of Clip; one that is absent is the end of the type. */
static hone_status limits(hn_lower *L, const hn_node *n, hn_view *in, hn_error *err) {
    for (int i = 1; i < 3; i++) {
        if (hn_node_input(n, i) != NULL) {
            in[i] = hn_lower_in(L, n, i);
            continue;
        }
        hn_tensor *t;
        HN_TRY(hn_lower_constant(L, in[0].dtype, 1, &t, &in[i], err));
        if (in[0].dtype == HONE_DTYPE_F64)
            hn_store_f64(in[0].dtype, t->data, 0, i == 1 ? -(double)INFINITY : (double)INFINITY);
        else
            hn_store_s64(in[0].dtype, t->data, 0,
                         i == 1 ? hn_dtype_min(in[0].dtype) : (int64_t)hn_dtype_max(in[0].dtype));
    }
    return HONE_OK;
}

/* The power of a node: by few constant exponents it is another operation, which integers have
 * too. */
static hn_map_int_op power(const hn_node *n) {
    const hn_tensor *exponent = hn_node_constant(n, 1);
    double by = exponent != NULL && exponent->n == 1 ? hn_tensor_f64(exponent, 0) : 0;
    bool real = hn_node_input(n, 0)->type.dtype == HONE_DTYPE_F64;
    return by == 2            ? HN_MAP_INT_SQUARE
           : by == 3          ? HN_MAP_INT_CUBE
           : by == -1 && real ? HN_MAP_INT_RECIP
                              : HN_MAP_INT_POW;
}

/* The exponents of Pow, as doubles if they are constant. */
static hone_status exponents(hn_lower *L, const hn_node *n, hn_view *in, hn_error *err) {
    const hn_tensor *given = hn_node_constant(n, 1);
    if (given == NULL || in->dtype == HONE_DTYPE_F64) return HONE_OK;
    hn_view was = *in;
    hn_tensor *t;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F64, given->n, &t, in, err));
    for (int64_t i = 0; i < given->n; i++)
        hn_store_f64(HONE_DTYPE_F64, t->data, i, hn_tensor_f64(given, i));
    hn_view flat = *in;
    hn_view_reshape(&flat, was.rank, was.dims, in);
    return HONE_OK;
}

/* The operation of a node: attributes may choose another than the row's. */
static hn_map_int_op operation(const hn_node *n, const row *r) {
    if (r->map == HN_MAP_INT_POW) return power(n);
    if (r->map == HN_MAP_INT_MOD && hn_attr_i(n, "fmod") != 0) return HN_MAP_INT_FMOD;
    if (r->map == HN_MAP_INT_SHL && hn_attr_is(n, "direction", "RIGHT")) return HN_MAP_INT_SHR;
    return r->map;
}

hone_status hn_lower_map_int(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    const row *r = row_of(n);
    hn_map_int_op op = operation(n, r);
    hn_view y = hn_lower_out(n, 0), in[3];
    if (hn_node_output(n, 0) == NULL) HN_DECLINE(L, "no output");
    hone_dtype type = hn_node_input(n, op == HN_MAP_INT_SELECT)->type.dtype;
    if (!hn_map_int_has(op, type, y.dtype)) HN_DECLINE(L, "not of the types that map_int has");
    if (y.rank > HN_MAP_INT_MAX_RANK) HN_DECLINE(L, "more than six axes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    if (op == HN_MAP_INT_POW && hn_node_constant(n, 1) == NULL &&
        hn_node_input(n, 1)->type.dtype != type)
        HN_DECLINE(L, "exponents of another type are computed");
    if (op == HN_MAP_INT_IS_INF &&
        (hn_attr_i(n, "detect_positive") == 0 || hn_attr_i(n, "detect_negative") == 0))
        HN_DECLINE(L, "infinities of one sign");
    if (r->most == 0) {
        HN_TRY(fold(L, n, op, &y, err));
    } else {
        int given = op == HN_MAP_INT_CLIP ? 1 : hn_map_int_arity(op);
        for (int i = 0; i < given; i++) in[i] = hn_lower_in(L, n, i);
        if (op == HN_MAP_INT_POW) HN_TRY(exponents(L, n, &in[1], err));
        if (op == HN_MAP_INT_CLIP) HN_TRY(limits(L, n, in, err));
        if (divides(op, type)) HN_TRY(hn_lower_dense(L, n, &in[1], err));
        HN_TRY(add_step(L, n, op, in, &y, err));
    }
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* BatchNormalization of doubles by constant statistics: x * factor + shift. */
hone_status hn_lower_batch_norm_f64(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { SCALE = 1, BIAS, MEAN, VARIANCE };
    const hn_tensor *given[VARIANCE + 1];
    hn_view y = hn_lower_out(n, 0), in[3] = {hn_lower_in(L, n, 0)};
    if (in[0].dtype != HONE_DTYPE_F64) HN_DECLINE(L, "not f64");
    if (y.rank < 2 || y.rank > HN_MAP_INT_MAX_RANK) HN_DECLINE(L, "no channels, or too many axes");
    if (hn_attr_i(n, "training_mode") != 0) HN_DECLINE(L, "statistics of the batch");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    for (int i = SCALE; i <= VARIANCE; i++)
        if ((given[i] = hn_node_constant(n, i)) == NULL) HN_DECLINE(L, "statistics are computed");
    hn_tensor *factor, *shift;
    int64_t channels = y.dims[1], dims[HONE_MAX_RANK];
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F64, channels, &factor, &in[1], err));
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F64, channels, &shift, &in[2], err));
    for (int64_t c = 0; c < channels; c++) {
        double f = hn_tensor_f64(given[SCALE], c) /
                   sqrt(hn_tensor_f64(given[VARIANCE], c) + (double)hn_attr_f(n, "epsilon"));
        hn_store_f64(HONE_DTYPE_F64, factor->data, c, f);
        hn_store_f64(HONE_DTYPE_F64, shift->data, c,
                     hn_tensor_f64(given[BIAS], c) - hn_tensor_f64(given[MEAN], c) * f);
    }
    for (int i = 1; i < y.rank; i++) dims[i - 1] = i == 1 ? channels : 1;
    for (int i = 1; i < 3; i++) {
        hn_view flat = in[i];
        hn_view_reshape(&flat, y.rank - 1, dims, &in[i]);
    }
    HN_TRY(add_step(L, n, HN_MAP_INT_MUL_ADD, in, &y, err));
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

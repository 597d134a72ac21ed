/* Elementwise operators on integers: a problem of map_int for each node. They compute indices and
 * masks, a few numbers at a time, so nothing is taken into other steps.
 */
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

static bool is_integer(hone_dtype t) {
    return t == HONE_DTYPE_S64 || t == HONE_DTYPE_S32 || t == HONE_DTYPE_U8;
}

static bool is_other(hone_dtype t) { return t == HONE_DTYPE_BOOL || t == HONE_DTYPE_F32; }
static bool is_half(hone_dtype t) { return t == HONE_DTYPE_F16 || t == HONE_DTYPE_BF16; }

/* Whether map_int has the types: integers, a cast to or from them, or one between floats. */
static bool takes(hn_map_int_op op, hone_dtype from, hone_dtype to) {
    if (op != HN_MAP_INT_CAST) return is_integer(from);
    if (is_half(from) || is_half(to)) return from == HONE_DTYPE_F32 || to == HONE_DTYPE_F32;
    return from != to && (is_integer(from) || is_other(from)) && (is_integer(to) || is_other(to)) &&
           !(is_other(from) && is_other(to));
}

static bool divides(hn_map_int_op op) {
    return op == HN_MAP_INT_DIV || op == HN_MAP_INT_MOD || op == HN_MAP_INT_FMOD;
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
    hn_map_int_collapse(&p);
    if (divides(op)) p.divisors = hn_view_count(&in[1]);
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_int_family, &p, sizeof p, &s, err));
    for (int i = 0; i < arity; i++) {
        hn_step_reads(s, i, &in[i]);
        s->bytes += (double)hn_view_count(&in[i]) * hone_dtype_bits(in[i].dtype) / 8;
    }
    hn_step_writes(s, HN_MAP_INT_Y, y);
    s->bytes += (double)hn_view_count(y) * hone_dtype_bits(y->dtype) / 8;
    if (divides(op)) s->check = check_divisors;
    s->flag = HN_MAP_INT_BAD;
    return HONE_OK;
}

/* A step for each input after the first, the last of them to y. */
static hone_status fold(hn_lower *L, const hn_node *n, hn_map_int_op op, hn_view *y,
                        hn_error *err) {
    hn_view pair[2] = {hn_lower_in(L, n, 0)};
    for (int i = 1; i < n->n_inputs; i++) {
        if (hn_node_input(n, i) == NULL) continue; /* a limit of Clip */
        pair[1] = hn_lower_in(L, n, i);
        bool upper = i == 2 && strcmp(n->op->name, "Clip") == 0;
        hn_view next = hn_lower_out(n, 0);
        HN_TRY(add_step(L, n, upper ? HN_MAP_INT_MIN : op, pair, &next, err));
        pair[0] = next;
    }
    *y = pair[0];
    return HONE_OK;
}

hone_status hn_lower_map_int(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    const row *r = row_of(n);
    hn_view y = hn_lower_out(n, 0), in[3];
    if (hn_node_output(n, 0) == NULL) HN_DECLINE(L, "no output");
    if (!takes(r->map, hn_node_input(n, r->map == HN_MAP_INT_SELECT)->type.dtype, y.dtype))
        HN_DECLINE(L, "not of the types that map_int has");
    if (y.rank > HN_MAP_INT_MAX_RANK) HN_DECLINE(L, "more than six axes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    if (r->most == 0) {
        HN_TRY(fold(L, n, r->map, &y, err));
    } else {
        for (int i = 0; i < r->most; i++) in[i] = hn_lower_in(L, n, i);
        if (divides(r->map)) HN_TRY(hn_lower_dense(L, n, &in[1], err));
        bool cut = r->map == HN_MAP_INT_MOD && hn_attr_i(n, "fmod") != 0;
        HN_TRY(add_step(L, n, cut ? HN_MAP_INT_FMOD : r->map, in, &y, err));
    }
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

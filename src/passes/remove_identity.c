/* A node that hands on its input goes, and the input takes the place of the output.
 *
 *     y = Identity (x)                              y = Sum (x)        (one input; also Max, Min,
 *     y = Cast <to = float> (x)   (x is float)      Mean, Concat)
 *     y = Reshape (x, s)          (same shape)      y = Split (x)      (one output)
 *     y = Transpose <perm = [0,1]> (x)              y = Add (x, 0)     y = Sub (x, 0)
 *     y = Pad (x, [0,0,0,0])                        y = Mul (x, 1)     y = Div (x, 1)
 *     y = Slice (x, 0, end)       (all of x)        y = Expand (x, s), Tile (x, r)  (same shape)
 *     y = Dropout (x)             (not training)
 *
 * Fires when the output has the element type and the shape of the input and the operator, with
 * these attributes and constants, changes no element. Not when an output of a graph would have to
 * be an input, an initializer or another output.
 */
#include "passes/pass.h"

/* Input i is a constant all of whose elements are v. */
static bool is_all(const hn_node *n, int i, double v) {
    const hn_tensor *t = hn_const_in(n, i);
    if (t == NULL || t->n == 0 || t->dtype == HONE_DTYPE_STRING) return false;
    if (hn_dtype_in(t->dtype, HN_DTYPES_COMPLEX)) return false;
    for (int64_t k = 0; k < t->n; k++)
        if (hn_tensor_f64(t, k) != v) return false;
    return true;
}

static bool always(const hn_node *n) {
    (void)n;
    return true;
}

static bool one_input(const hn_node *n) { return n->n_inputs == 1; }
static bool one_output(const hn_node *n) { return n->n_outputs == 1; }

static bool not_training(const hn_node *n) {
    return hn_node_input(n, 2) == NULL || is_all(n, 2, 0);
}

static bool in_order(const hn_node *n) {
    int count;
    const int64_t *perm = hn_attr_ints(n, "perm", &count);
    for (int i = 0; i < count; i++)
        if (perm[i] != i) return false;
    return count > 0 || n->inputs[0].value->type.shape.rank == 1;
}

static bool no_pads(const hn_node *n) { return is_all(n, 1, 0); }
static bool forward(const hn_node *n) { return hn_node_input(n, 4) == NULL || is_all(n, 4, 1); }
static bool second_is_0(const hn_node *n) { return is_all(n, 1, 0); }
static bool second_is_1(const hn_node *n) { return is_all(n, 1, 1); }

/* Given that types agree; views need no more than that. */
static const struct {
    const char *op;
    bool (*neutral)(const hn_node *n);
    bool symmetric; /* the second input may be the one handed on */
} rules[] = {
    {"Add", second_is_0, true},   {"Cast", always, false},      {"CastLike", always, false},
    {"Concat", one_input, false}, {"Div", second_is_1, false},  {"Dropout", not_training, false},
    {"Expand", always, false},    {"Max", one_input, false},    {"Mean", one_input, false},
    {"Min", one_input, false},    {"Mul", second_is_1, true},   {"Pad", no_pads, false},
    {"Slice", forward, false},    {"Split", one_output, false}, {"Sub", second_is_0, false},
    {"Sum", one_input, false},    {"Tile", always, false},      {"Transpose", in_order, false},
};

static bool first_of_two(const hn_node *n) {
    return strcmp(n->op_type, "Add") == 0 ? is_all(n, 0, 0) : is_all(n, 0, 1);
}

/* The input n hands on, or -1. */
static int handed_on(const hn_node *n) {
    if (n->domain[0] != '\0' || n->n_inputs == 0 || n->inputs[0].value == NULL) return -1;
    const hn_value *y = n->outputs[0];
    if ((n->op->traits & HN_VIEW) != 0)
        return strcmp(n->op_type, "Identity") == 0 || hn_same_type(n->inputs[0].value, y) ? 0 : -1;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        if (!hn_same_name(n->op_type, rules[k].op)) continue;
        if (hn_same_type(n->inputs[0].value, y) && rules[k].neutral(n)) return 0;
        if (rules[k].symmetric && hn_same_type(n->inputs[1].value, y) && first_of_two(n)) return 1;
        return -1;
    }
    return -1;
}

static hone_status hand_on(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    (void)err;
    if (n->n_outputs == 0 || n->outputs[0] == NULL) return HONE_OK;
    for (int i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && n->outputs[i]->n_uses > 0) return HONE_OK;
    int i = handed_on(n);
    if (i < 0) return HONE_OK;
    hn_value *x = n->inputs[i].value;
    if (hn_can_replace(n->outputs[0], x)) hn_bypass(c, n, x);
    return HONE_OK;
}

hone_status hn_pass_remove_identity(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, hand_on, err);
}

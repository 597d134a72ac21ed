#include "ops/grad.h"

#include <stdlib.h>

#include "ops/activation.h"
#include "ops/spatial.h"

/* ---- failing ---- */

/* Keeps the first failure; returns whether there is one. */
static bool failed(hn_grad *g, hone_status status) {
    if (g->status == HONE_OK) g->status = status;
    return g->status != HONE_OK;
}

hone_status hn_grad_refuse(const hn_grad *g, const char *why, hn_error *err) {
    char label[200];
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "%s has no gradient: %s",
                   hn_node_label(g->node, label, sizeof label), why);
}

int hn_grad_dims(hn_grad *g, const hn_value *v, int64_t *dims) {
    const hn_shape *s = &v->type.shape;
    bool known = s->rank >= 0;
    for (int i = 0; known && i < s->rank; i++) known = hn_dim_is_const(s->dim[i], &dims[i]);
    if (known) return s->rank;
    char text[200];
    failed(g, HN_FAIL(g->err, HONE_E_SHAPE, "the size of '%s' is %s, a gradient needs numbers",
                      v->name, hn_shape_text(s, text, sizeof text)));
    return 0;
}

int hn_grad_ints(const hn_grad *g, int i, int64_t *v, int most) {
    const hn_tensor *t = hn_grad_known(g, i);
    if (t == NULL || t->n > most || !hn_dtype_is_int(t->dtype)) return -1;
    hn_load_s64_n(t->dtype, t->data, 0, t->n, v);
    return (int)t->n;
}

/* ---- nodes ---- */

hn_node *hn_emit_node(hn_grad *g, const char *domain, const char *op, int n_out, int n_in,
                      hn_value *const *in) {
    hn_node *n = NULL;
    if (g->status != HONE_OK) return NULL;
    if (failed(g, hn_node_create(&n, g->graph, domain, op, g->node != NULL ? g->node->name : "",
                                 n_in, n_out, g->err)))
        return NULL;
    n->op = hn_op_find(domain, op);
    for (int i = 0; i < n_in; i++) hn_node_set_input(n, i, in[i]);
    for (int i = 0; i < n_out; i++) {
        hn_value *v;
        if (failed(g, hn_value_create(&v, g->graph, NULL, "grad", g->err))) return NULL;
        hn_node_set_output(n, i, v);
    }
    hn_node_insert(n, NULL);
    return n;
}

hn_value *hn_emit(hn_grad *g, const char *op, int n_in, hn_value *const *in) {
    for (int i = 0; i < n_in; i++)
        if (in[i] == NULL) return NULL;
    return hn_emitted(hn_emit_node(g, "", op, 1, n_in, in), 0);
}

void hn_emit_i(hn_grad *g, hn_node *n, const char *name, int64_t v) {
    if (n != NULL) failed(g, hn_node_set_i(n, name, v, g->err));
}

void hn_emit_f(hn_grad *g, hn_node *n, const char *name, float v) {
    if (n != NULL) failed(g, hn_node_set_f(n, name, v, g->err));
}

void hn_emit_s(hn_grad *g, hn_node *n, const char *name, const char *v) {
    if (n != NULL) failed(g, hn_node_set_s(n, name, v, g->err));
}

void hn_emit_ints_attr(hn_grad *g, hn_node *n, const char *name, const int64_t *v, int count) {
    if (n != NULL) failed(g, hn_node_set_ints(n, name, v, count, g->err));
}

void hn_emit_copied(hn_grad *g, hn_node *n, const char *name) {
    const hn_attr *a = hn_node_attr(g->node, name);
    char text[64];
    if (n == NULL || a == NULL) return;
    switch (a->type) {
        case HN_ATTR_INT: hn_emit_i(g, n, name, a->u.i); break;
        case HN_ATTR_FLOAT: hn_emit_f(g, n, name, a->u.f); break;
        case HN_ATTR_INTS: hn_emit_ints_attr(g, n, name, a->u.ints, a->n); break;
        case HN_ATTR_STRING:
            if (a->u.s.n >= sizeof text) return;
            memcpy(text, a->u.s.p, a->u.s.n);
            text[a->u.s.n] = '\0';
            hn_emit_s(g, n, name, text);
            break;
        default: break;
    }
}

hn_value *hn_emit_cast(hn_grad *g, hn_value *v) {
    if (v == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "Cast", 1, 1, &v);
    hn_emit_i(g, n, "to", g->dtype);
    return hn_emitted(n, 0);
}

/* ---- constants ---- */

static hn_value *emit_constant(hn_grad *g, hn_tensor *t) {
    hn_value *v = NULL;
    if (failed(g, hn_value_create_constant(&v, g->graph, NULL, "grad", t, g->err))) return NULL;
    return v;
}

hn_value *hn_emit_filled(hn_grad *g, double v, int rank, const int64_t *dims) {
    hn_tensor *t = NULL;
    if (g->status != HONE_OK) return NULL;
    if (failed(g, hn_tensor_create(&t, g->graph->model->alloc, HN_MEM_TENSOR, g->dtype, rank, dims,
                                   g->err)))
        return NULL;
    for (int64_t i = 0; i < t->n; i++) hn_store_f64(t->dtype, t->data, i, v);
    return emit_constant(g, t);
}

hn_value *hn_emit_number(hn_grad *g, double v) { return hn_emit_filled(g, v, 0, NULL); }

hn_value *hn_emit_ints(hn_grad *g, const int64_t *v, int n) {
    hn_tensor *t = NULL;
    int64_t dims[] = {n};
    if (g->status != HONE_OK) return NULL;
    if (failed(g,
               hn_tensor_from_s64(&t, g->graph->model->alloc, HONE_DTYPE_S64, 1, dims, v, g->err)))
        return NULL;
    return emit_constant(g, t);
}

hn_value *hn_emit_table(hn_grad *g, int rank, const int64_t *dims, hn_tensor **t) {
    hn_value *v = hn_emit_filled(g, 0, rank, dims);
    *t = v != NULL ? v->constant : NULL;
    return v;
}

hn_value *hn_emit_indices(hn_grad *g, int rank, const int64_t *dims, int64_t **v) {
    hn_tensor *t = NULL;
    *v = NULL;
    if (g->status != HONE_OK) return NULL;
    if (failed(g, hn_tensor_create(&t, g->graph->model->alloc, HN_MEM_TENSOR, HONE_DTYPE_S64, rank,
                                   dims, g->err)))
        return NULL;
    *v = t->data;
    return emit_constant(g, t);
}

/* ---- shapes ---- */

hn_value *hn_emit_reshape(hn_grad *g, hn_value *v, int rank, const int64_t *dims) {
    if (v == NULL) return NULL;
    hn_value *in[] = {v, hn_emit_ints(g, dims, rank)};
    if (in[1] == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "Reshape", 1, 2, in);
    hn_emit_i(g, n, "allowzero", 1); /* sizes are sizes */
    hn_value *y = hn_emitted(n, 0);
    if (y == NULL) return NULL;
    y->type = v->type;
    y->type.shape.rank = rank;
    for (int i = 0; i < rank; i++)
        y->type.shape.dim[i] = hn_dim_const(&g->graph->model->dims, dims[i]);
    return y;
}

hn_value *hn_emit_shaped(hn_grad *g, hn_value *v, const hn_value *like) {
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, like, dims);
    return hn_emit_reshape(g, v, rank, dims);
}

hn_value *hn_emit_transposed(hn_grad *g, hn_value *v, int rank, const int64_t *perm) {
    if (v == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "Transpose", 1, 1, &v);
    hn_emit_ints_attr(g, n, "perm", perm, rank);
    return hn_emitted(n, 0);
}

hn_value *hn_emit_swapped(hn_grad *g, hn_value *v, int rank) {
    int64_t perm[HONE_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return hn_emit_transposed(g, v, rank, perm);
}

hn_value *hn_emit_slice(hn_grad *g, hn_value *v, int axis, int64_t from, int64_t to) {
    int64_t at = axis;
    hn_value *in[] = {v, hn_emit_ints(g, &from, 1), hn_emit_ints(g, &to, 1),
                      hn_emit_ints(g, &at, 1)};
    return hn_emit(g, "Slice", 4, in);
}

hn_value *hn_emit_concat(hn_grad *g, int axis, int n, hn_value *const *v) {
    for (int i = 0; i < n; i++)
        if (v[i] == NULL) return NULL;
    if (n == 1) return v[0];
    hn_node *concat = hn_emit_node(g, "", "Concat", 1, n, v);
    hn_emit_i(g, concat, "axis", axis);
    return hn_emitted(concat, 0);
}

hn_value *hn_emit_gather_grad(hn_grad *g, hn_value *dy, hn_value *indices, int axis, int rank,
                              const int64_t *dims) {
    hn_value *in[] = {dy, indices};
    if (dy == NULL || indices == NULL) return NULL;
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "GatherGrad", 1, 2, in);
    hn_emit_i(g, n, "axis", axis);
    hn_emit_ints_attr(g, n, "dims", dims, rank);
    return hn_emitted(n, 0);
}

hn_value *hn_emit_expanded(hn_grad *g, hn_value *v, int rank, const int64_t *dims) {
    return HN_EMIT2(g, "Expand", v, hn_emit_ints(g, dims, rank));
}

hn_value *hn_emit_sum(hn_grad *g, hn_value *v, uint32_t axes, bool kept) {
    int64_t list[HONE_MAX_RANK];
    int n = 0;
    if (v == NULL || axes == 0) return v;
    for (int i = 0; i < HONE_MAX_RANK; i++)
        if (axes >> i & 1) list[n++] = i;
    hn_value *in[] = {v, hn_emit_ints(g, list, n)};
    if (in[1] == NULL) return NULL;
    hn_node *sum = hn_emit_node(g, "", "ReduceSum", 1, 2, in);
    hn_emit_i(g, sum, "keepdims", kept);
    return hn_emitted(sum, 0);
}

hn_value *hn_emit_sum_to(hn_grad *g, hn_value *v, int rank, const int64_t *dims,
                         const hn_value *like) {
    int64_t to[HONE_MAX_RANK];
    int to_rank = hn_grad_dims(g, like, to), more = rank - to_rank;
    uint32_t axes = 0;
    if (g->status != HONE_OK) return NULL;
    for (int i = 0; i < rank; i++)
        if (i < more || (to[i - more] == 1 && dims[i] != 1)) axes |= 1u << i;
    v = hn_emit_sum(g, v, axes, true);
    return more > 0 ? hn_emit_reshape(g, v, to_rank, to) : v;
}

/* ---- windows ---- */

void hn_emit_windows(hn_grad *g, hn_node *n, const hn_spatial *s) {
    int64_t pads[2 * HN_MAX_SPATIAL];
    for (int i = 0; i < s->rank; i++) {
        pads[i] = s->pad[i];
        pads[s->rank + i] = s->pad_end[i];
    }
    hn_emit_ints_attr(g, n, "strides", s->stride, s->rank);
    hn_emit_ints_attr(g, n, "dilations", s->dilation, s->rank);
    hn_emit_ints_attr(g, n, "pads", pads, 2 * s->rank);
}

hn_value *hn_emit_conv_grad_w(hn_grad *g, hn_value *x, hn_value *dy, const hn_spatial *s) {
    hn_value *in[] = {x, dy};
    if (x == NULL || dy == NULL) return NULL;
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "ConvGradW", 1, 2, in);
    hn_emit_windows(g, n, s);
    hn_emit_ints_attr(g, n, "kernel_shape", s->kernel, s->rank);
    hn_emit_i(g, n, "group", hn_attr_i(g->node, "group"));
    return hn_emitted(n, 0);
}

/* ---- norms ---- */

hn_value *hn_lp_slope(hn_grad *g, int64_t p, hn_value *dy) {
    hn_value *y = hn_grad_out(g, 0);
    if (p == 1) return dy;
    if (p == 2) return HN_TEXT(g, "Where(a == 0, 0, b / a)", y, dy);
    return HN_TEXT(g, "Where(a == 0, 0, b * Pow(a, c))", y, dy, hn_emit_number(g, 1 - (double)p));
}

hn_value *hn_lp_chain(hn_grad *g, int64_t p, hn_value *slope) {
    hn_value *x = hn_grad_in(g, 0);
    if (p == 1) return HN_TEXT(g, "b * Sign(a)", x, slope);
    if (p == 2) return HN_TEXT(g, "b * a", x, slope);
    return HN_TEXT(g, "b * a * Pow(Abs(a), c)", x, slope, hn_emit_number(g, (double)p - 2));
}

/* ---- the language of derivatives ---- */

/* A number that is known, or a value; `truth`: of bools. */
typedef struct term {
    hn_value *v; /* NULL: the number */
    double number;
    bool truth;
} term;

typedef struct reader {
    hn_grad *g;
    const char *at;
    int n; /* what a, b, ... are; NULL: the inputs of the node */
    hn_value *const *v;
    const hn_activation *f; /* whose alpha and beta $alpha and $beta are; NULL: the node's */
} reader;

static term read_sum(reader *r);

static void skip(reader *r) {
    while (*r->at == ' ') r->at++;
}

static bool next_is(reader *r, const char *text) {
    size_t n = strlen(text);
    skip(r);
    if (strncmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* As a value of the gradients' type. */
static hn_value *value_of(reader *r, term t) {
    if (t.v == NULL) return hn_emit_number(r->g, t.number);
    return t.truth ? hn_emit_cast(r->g, t.v) : t.v;
}

static term wrong(reader *r, const char *wanted) {
    failed(r->g,
           HN_FAIL(r->g->err, HONE_E_UNSUPPORTED, "derivative of %s: found '%.20s', wanted %s",
                   r->g->node->op_type, r->at, wanted));
    return (term){0};
}

static term read_attribute(reader *r) {
    char name[32];
    size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
    if (n == 0 || n >= sizeof name) return wrong(r, "the name of an attribute");
    memcpy(name, r->at, n);
    name[n] = '\0';
    r->at += n;
    if (r->f != NULL) return (term){.number = name[0] == 'a' ? r->f->alpha : r->f->beta};
    return (term){.number = (double)hn_attr_f(r->g->node, name)};
}

static term read_call(reader *r) {
    char op[32];
    hn_value *in[3];
    int n_in = 0;
    size_t n = strcspn(r->at, "( ;");
    if (n >= sizeof op || r->at[n] != '(') return wrong(r, "an operator with operands");
    memcpy(op, r->at, n);
    op[n] = '\0';
    r->at += n + 1;
    do {
        if (n_in == 3) return wrong(r, "at most three operands");
        term t = read_sum(r);
        in[n_in++] = t.truth ? t.v : value_of(r, t);
    } while (next_is(r, ","));
    if (!next_is(r, ")")) return wrong(r, "')'");
    return (term){.v = hn_emit(r->g, op, n_in, in)};
}

static term read_atom(reader *r) {
    skip(r);
    char c = *r->at;
    if (next_is(r, "(")) {
        term t = read_sum(r);
        return next_is(r, ")") ? t : wrong(r, "')'");
    }
    if (c >= '0' && c <= '9') {
        char *end;
        double v = strtod(r->at, &end);
        r->at = end;
        return (term){.number = v};
    }
    if (next_is(r, "$")) return read_attribute(r);
    if (c >= 'A' && c <= 'Z') return read_call(r);
    hn_value *v = r->v != NULL           ? c >= 'a' && c < 'a' + r->n ? r->v[c - 'a'] : NULL
                  : c == 'y'             ? hn_grad_out(r->g, 0)
                  : c >= 'a' && c <= 'c' ? hn_grad_in(r->g, c - 'a')
                                         : NULL;
    if (v == NULL) return wrong(r, "a number, an input or an operator");
    r->at++;
    return (term){.v = v, .truth = v->type.dtype == HONE_DTYPE_BOOL};
}

static term join(reader *r, const char *op, term a, term b) {
    hn_value *in[] = {value_of(r, a), value_of(r, b)};
    return (term){.v = hn_emit(r->g, op, 2, in)};
}

static term times(reader *r, term a, term b) {
    bool known = a.v == NULL && b.v == NULL;
    if (known) return (term){.number = a.number * b.number};
    if (a.v == NULL && a.number == 1) return b;
    if (b.v == NULL && b.number == 1) return a;
    return join(r, "Mul", a, b);
}

static term over(reader *r, term a, term b) {
    if (a.v == NULL && b.v == NULL) return (term){.number = a.number / b.number};
    return join(r, "Div", a, b);
}

static term minus(reader *r, term a) {
    if (a.v == NULL) return (term){.number = -a.number};
    return (term){.v = HN_EMIT1(r->g, "Neg", value_of(r, a))};
}

static term read_factor(reader *r) {
    return next_is(r, "-") ? minus(r, read_factor(r)) : read_atom(r);
}

static term read_product(reader *r) {
    term t = read_factor(r);
    for (;;) {
        if (next_is(r, "*"))
            t = times(r, t, read_factor(r));
        else if (next_is(r, "/"))
            t = over(r, t, read_factor(r));
        else
            return t;
    }
}

static term read_terms(reader *r) {
    term t = read_product(r);
    for (;;) {
        bool plus = next_is(r, "+");
        if (!plus && !next_is(r, "-")) return t;
        term b = read_product(r);
        if (t.v == NULL && b.v == NULL)
            t = (term){.number = plus ? t.number + b.number : t.number - b.number};
        else
            t = join(r, plus ? "Add" : "Sub", t, b);
    }
}

static term read_sum(reader *r) {
    static const struct {
        const char *sign, *op;
    } compares[] = {{"<=", "LessOrEqual"},
                    {">=", "GreaterOrEqual"},
                    {"==", "Equal"},
                    {"<", "Less"},
                    {">", "Greater"}};
    term t = read_terms(r);
    for (size_t i = 0; i < sizeof compares / sizeof *compares; i++)
        if (next_is(r, compares[i].sign)) {
            t = join(r, compares[i].op, t, read_terms(r));
            t.truth = true;
            return t;
        }
    return t;
}

/* dy times the next expression, summed to the shape of input i. */
static hn_value *chain(reader *r, int i, int rank, const int64_t *dims) {
    hn_grad *g = r->g;
    term t = read_sum(r);
    if (g->status != HONE_OK || (t.v == NULL && t.number == 0)) return NULL;
    term dy = {.v = g->dy[0]};
    bool negated = t.v == NULL && t.number == -1;
    hn_value *v = negated ? HN_EMIT1(g, "Neg", dy.v) : value_of(r, times(r, dy, t));
    return hn_emit_sum_to(g, v, rank, dims, hn_grad_in(g, i));
}

hn_value *hn_emit_text(hn_grad *g, const char *text, int n, hn_value *const *v) {
    reader r = {.g = g, .at = text, .n = n, .v = v};
    if (g->status != HONE_OK) return NULL;
    hn_value *made = value_of(&r, read_sum(&r));
    skip(&r);
    if (*r.at != '\0') wrong(&r, "the end");
    return g->status == HONE_OK ? made : NULL;
}

hn_value *hn_emit_activation(hn_grad *g, const hn_activation *f, hn_value *v) {
    reader r = {.g = g, .at = f->text, .n = 1, .v = &v, .f = f};
    return v != NULL ? value_of(&r, read_sum(&r)) : NULL;
}

hone_status hn_grad_by(hn_grad *g, const char *derivative) {
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_out(g, 0), dims);
    const char *at = derivative;
    for (int i = 0; i < g->node->n_inputs && at != NULL; i++) {
        reader r = {.g = g, .at = at};
        skip(&r);
        if (hn_grad_wants(g, i) && *r.at != ';' && *r.at != '\0') {
            g->dx[i] = chain(&r, i, rank, dims);
            skip(&r);
            if (*r.at != ';' && *r.at != '\0') wrong(&r, "';' or the end");
        }
        at = strchr(at, ';');
        if (at != NULL) at++;
    }
    return g->status;
}

hone_status hn_grad_node(hn_grad *g, hn_error *err) {
    const hn_op_def *op = g->node->op;
    g->err = err;
    g->status = HONE_OK;
    if (op == NULL || !hn_op_has_grad(op))
        return hn_grad_refuse(g, op != NULL ? hn_op_no_grad(op) : "hone does not know it", err);
    if (op->derivative != NULL) return hn_grad_by(g, op->derivative);
    if (op->grad == NULL) {
        hn_grad_give(g, 0, hn_emit_shaped(g, g->dy[0], hn_grad_in(g, 0)));
        return g->status;
    }
    HN_TRY(op->grad(g, err));
    return g->status;
}

/* ---- simpler nodes ---- */

/* Output `out` of the node is made by the producer of v, which was emitted, from here on. */
static void take_over(hn_node *n, int out, hn_value *v) {
    hn_value *old = n->outputs[out];
    hn_node *by = v->producer;
    int at = v->out_index;
    hn_node_set_output(n, out, NULL);
    hn_node_set_output(by, at, NULL);
    hn_node_set_output(by, at, old);
    hn_value_replace(v, old);
    hn_value_remove(v);
}

hone_status hn_grad_spell(hn_grad *g, bool *left, hn_error *err) {
    enum { MOST = 8 };
    hn_node *n = (hn_node *)g->node;
    hn_value *y[MOST] = {0};
    int first = g->graph->n_values;
    g->err = err;
    g->status = HONE_OK;
    g->dtype = HONE_DTYPE_NONE;
    for (int i = 0; i < n->n_outputs && g->dtype == HONE_DTYPE_NONE; i++)
        if (n->outputs[i] != NULL) g->dtype = n->outputs[i]->type.dtype;
    HN_CHECK(err, n->n_outputs <= MOST, HONE_E_LIMIT, "%s has more than %d outputs", n->op_type,
             MOST);
    HN_TRY(n->op->spell(g, y, err));
    HN_TRY(g->status);
    for (int i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == NULL) y[i] = NULL;
        if (y[i] == NULL) continue;
        bool own = y[i]->id >= first && y[i]->producer != NULL;
        for (int k = 0; k < i; k++) own = own && y[k] != y[i];
        if (!own) y[i] = HN_EMIT1(g, "Identity", y[i]);
    }
    HN_TRY(g->status);
    *left = false;
    for (int i = 0; i < n->n_outputs; i++) *left = *left || (n->outputs[i] != NULL && y[i] == NULL);
    for (int i = 0; i < n->n_outputs; i++) {
        if (y[i] == NULL) continue;
        take_over(n, i, y[i]);
        hn_value *unused; /* an operator may not do without this output */
        if (!*left) continue;
        HN_TRY(hn_value_create(&unused, g->graph, NULL, "unused", err));
        hn_node_set_output(n, i, unused);
    }
    if (!*left) hn_node_remove(n);
    return HONE_OK;
}

const char *hn_op_no_grad(const hn_op_def *op) {
    if (hn_op_has_grad(op)) return NULL;
    if (op->no_grad != NULL) return op->no_grad;
    if (op->domain != NULL && strcmp(op->domain, HN_TRAIN_DOMAIN) == 0)
        return "differentiating makes it, once";
    const hn_sig *sig = hn_op_sig(op);
    hn_dtypes in = 0, out = 0;
    for (int i = 0; i < sig->n_in; i++) in |= sig->in[i].types;
    for (int i = 0; i < sig->n_out; i++) out |= sig->out[i].types;
    if ((out & HN_DTYPES_FLOAT) == 0) return "its results are no floats";
    if ((in & HN_DTYPES_FLOAT) == 0) return "it reads no floats";
    return "no rule is written for it";
}

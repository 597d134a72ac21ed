/* Weights of A beside what B has in their place, which may be integers with a scale somewhere near.
 */
#include <stdio.h>

#include "measure/pair_errors.h"
#include "ops/eval.h"

/* Constants behind more nodes than this are not followed. */
#define DEEPEST 8
/* The input of plain operators that hn_quantized_def speaks of. */
#define WEIGHT 1

/* The contents of a value that depends on constants alone; *out NULL where it does not. */
static hone_status contents(const hn_value *v, int depth, hn_allocator *alloc, hn_tensor **out,
                            hn_error *err) {
    *out = NULL;
    if (v == NULL || depth == 0) return HONE_OK;
    if (v->constant != NULL) {
        if (v->constant->values != NULL) return hn_tensor_dense(out, v->constant, alloc, err);
        *out = hn_tensor_ref(v->constant);
        return HONE_OK;
    }
    const hn_node *n = v->producer;
    int at = 0;
    if (n == NULL || n->n_inputs == 0 || n->n_inputs > 4 || n->n_outputs > 1 ||
        hn_node_subgraph(n, &at) != NULL)
        return HONE_OK;
    hn_tensor *in[4] = {NULL};
    hone_status status = HONE_OK;
    bool all = true;
    for (int i = 0; i < n->n_inputs && status == HONE_OK && all; i++) {
        status = contents(n->inputs[i].value, depth - 1, alloc, &in[i], err);
        all = n->inputs[i].value == NULL || in[i] != NULL;
    }
    hn_exec_options o = {.alloc = alloc};
    if (status == HONE_OK && all)
        status = hn_node_run(n, &o, (const hn_tensor *const *)in, out, err);
    for (int i = 0; i < 4; i++) hn_tensor_unref(in[i]);
    return status;
}

/* The constant "x_scale" or "x_zero_point" that lies beside "x_quantized". */
static hn_tensor *beside(const hn_value *quantized, const char *what) {
    static const char tail[] = "_quantized";
    size_t n = strlen(quantized->name), cut = sizeof tail - 1;
    char name[1024];
    if (n <= cut || strcmp(quantized->name + n - cut, tail) != 0 || n > 1000) return NULL;
    snprintf(name, sizeof name, "%.*s%s", (int)(n - cut), quantized->name, what);
    const hn_value *v = hn_graph_find(quantized->graph, name);
    return v != NULL ? v->constant : NULL;
}

/* The axis that scales go along: the output channels. -1: one scale for all. */
static int scale_axis(const hn_tensor *q, int64_t n_scales, bool is_conv) {
    int last = q->rank - 1;
    if (n_scales == 1 || q->rank == 0) return -1;
    int axis = is_conv ? 0 : last;
    return q->dims[axis] == n_scales ? axis : last - axis;
}

static hone_status dequantize(const hn_tensor *q, const hn_tensor *scale, const hn_tensor *zero,
                              bool is_conv, hn_allocator *alloc, hn_tensor **out, hn_error *err) {
    int axis = scale_axis(q, scale->n, is_conv);
    int64_t inner = 1;
    if (axis >= 0 && q->dims[axis] != scale->n) return HONE_OK;
    for (int d = axis + 1; d < q->rank && axis >= 0; d++) inner *= q->dims[d];
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_SCRATCH, HONE_DTYPE_F32, q->rank, q->dims, err));
    for (int64_t i = 0; i < q->n; i++) {
        int64_t k = axis >= 0 ? i / inner % scale->n : 0;
        double z = zero == NULL ? 0 : hn_tensor_f64(zero, zero->n == scale->n ? k : 0);
        hn_store_f64(HONE_DTYPE_F32, t->data, i,
                     (hn_tensor_f64(q, i) - z) * hn_tensor_f64(scale, k));
    }
    *out = t;
    return HONE_OK;
}

static bool has_windows(const hn_node *a) {
    return a->op != NULL && a->op->weights != NULL && a->op->weights->kind == HN_WEIGHT_WINDOWS;
}

/* What B's node n has for input `of` of A's, as floats; NULL: it cannot be told. */
static hone_status weight_of(const hn_node *a, const hn_node *n, int of, hn_allocator *alloc,
                             hn_tensor **out, hn_error *err) {
    static const hn_quantized_def plain = {.of = ""};
    const hn_quantized_def *has =
        n->op != NULL && n->op->quantized != NULL ? n->op->quantized : &plain;
    *out = NULL;
    if (has->weight > 0 && of != WEIGHT) return HONE_OK;
    const hn_value *v = hn_node_input(n, has->weight > 0 ? has->weight : of);
    hn_tensor *q, *scale = NULL, *zero = NULL;
    HN_TRY(contents(v, DEEPEST, alloc, &q, err));
    if (q == NULL || hn_dtype_is_float(q->dtype)) {
        *out = q;
        return HONE_OK;
    }
    scale = has->scale > 0 ? hn_node_constant(n, has->scale) : beside(v, "_scale");
    zero = has->zero > 0 ? hn_node_constant(n, has->zero) : beside(v, "_zero_point");
    hone_status status = HONE_OK;
    if (scale != NULL && hn_dtype_is_int(q->dtype) && scale->n > 0)
        status = dequantize(q, scale, zero, has_windows(a), alloc, out, err);
    hn_tensor_unref(q);
    return status;
}

/* Whether what the node of B works on is that of A: not if it was multiplied by something before.
 */
static bool takes_same(const hn_pairs *p, const hn_node *a, const hn_node *b) {
    static const char *const through[] = {"QuantizeLinear", "DequantizeLinear", "Cast", "Identity",
                                          "DynamicQuantizeLinear"};
    const hn_value *x = hn_node_input(a, 0), *y = hn_node_input(b, 0);
    if (x == NULL || x->constant != NULL || x->graph != p->side[HN_SIDE_A].graph) return true;
    int pair = p->side[HN_SIDE_A].pair[x->id];
    for (int depth = 0; y != NULL && depth < DEEPEST; depth++) {
        if (y->graph == p->side[HN_SIDE_B].graph && p->side[HN_SIDE_B].pair[y->id] >= 0)
            return p->side[HN_SIDE_B].pair[y->id] == pair;
        if (y->producer == NULL) return strcmp(x->name, y->name) == 0;
        size_t i = 0;
        while (i < sizeof through / sizeof *through &&
               strcmp(y->producer->op_type, through[i]) != 0)
            i++;
        if (i == sizeof through / sizeof *through) return pair < 0 && x->producer != NULL;
        y = hn_node_input(y->producer, 0);
    }
    return false;
}

static bool can_turn(const hn_node *n) {
    return n->op != NULL && hn_op_attr(n->op, "transB") != NULL;
}

/* A product that became one without its transposition. */
static bool is_turned(const hn_node *a, const hn_node *b) { return can_turn(a) && !can_turn(b); }

static bool is_weight(const hn_tensor *t) {
    return t != NULL && t->data != NULL && hn_dtype_is_float(t->dtype) && t->n > 1;
}

typedef struct list {
    hn_weight_error *v;
    int n, room;
} list;

static hone_status compare_node(const hn_pairs *p, int pair, const hn_node *a, const hn_node *b,
                                list *l, hn_error *err) {
    for (int i = 0; i < a->n_inputs; i++) {
        hn_tensor *own = hn_node_constant(a, i), *other;
        if (!is_weight(own) || l->n == l->room) continue;
        HN_TRY(weight_of(a, b, i, p->alloc, &other, err));
        if (other != NULL && other->data != NULL &&
            hn_tensor_same_dims(other, own->rank, own->dims)) {
            hn_weight_error *w = &l->v[l->n++];
            *w = (hn_weight_error){.pair = pair, .node = a, .weight = a->inputs[i].value};
            hn_distance_add(&w->distance, own, other);
        }
        hn_tensor_unref(other);
    }
    return HONE_OK;
}

static hone_status compare_step(const hn_pairs *p, int i, bool *of_a, bool *of_b, list *l,
                                hn_error *err) {
    const hn_pairs_graph *a = &p->side[HN_SIDE_A];
    memset(of_a, 0, (size_t)a->graph->n_nodes * sizeof *of_a);
    memset(of_b, 0, (size_t)p->side[HN_SIDE_B].graph->n_nodes * sizeof *of_b);
    HN_TRY(hn_pairs_step(p, HN_SIDE_A, i, of_a, NULL, err));
    HN_TRY(hn_pairs_step(p, HN_SIDE_B, i, of_b, NULL, err));
    for (int k = 0; k < a->graph->n_nodes; k++) {
        if (!of_a[k]) continue;
        const hn_node *b = hn_pairs_node(p, of_b, a->nodes[k]);
        if (b != NULL && !is_turned(a->nodes[k], b) && takes_same(p, a->nodes[k], b))
            HN_TRY(compare_node(p, i, a->nodes[k], b, l, err));
    }
    return HONE_OK;
}

hone_status hn_weight_errors(const hn_pairs *p, hn_arena *arena, hn_weight_error **out, int *n,
                             hn_error *err) {
    const hn_graph *a = p->side[HN_SIDE_A].graph;
    list l = {0};
    for (const hn_node *k = a->first; k != NULL; k = k->next) l.room += k->n_inputs;
    l.v = hn_arena_array(arena, (size_t)l.room + 1, sizeof *l.v);
    bool *of_a = hn_alloc_array(p->alloc, (size_t)a->n_nodes, 1, HN_MEM_SCRATCH);
    bool *of_b =
        hn_alloc_array(p->alloc, (size_t)p->side[HN_SIDE_B].graph->n_nodes, 1, HN_MEM_SCRATCH);
    hone_status status = l.v == NULL || of_a == NULL || of_b == NULL ? HN_NOMEM(err) : HONE_OK;
    for (int i = 0; i < p->n && status == HONE_OK; i++)
        status = compare_step(p, i, of_a, of_b, &l, err);
    hn_free(p->alloc, of_a);
    hn_free(p->alloc, of_b);
    if (status != HONE_OK) return status;
    *out = l.v;
    *n = l.n;
    return HONE_OK;
}

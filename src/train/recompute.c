#include "train/recompute.h"

#include <math.h>

#include "ops/infer.h"
#include "ops/nodes.h"

/* Values of at most this part of the mean are small: to keep one costs little. */
#define SMALL 16

/* Marks of nodes while this goes on: 1 + the place in the forward part, or one of these. */
#define ELSEWHERE UINT64_C(0)
#define BACKWARD UINT64_MAX

typedef struct values {
    double bytes;    /* 0: not known, or no value of the forward part */
    int root;        /* the value whose bytes it is a view of: itself, unless it is a view */
    bool kept;       /* from forward to backward */
    bool needed;     /* by backward, and not kept */
    hn_value *again; /* of the copy */
} values;

typedef struct cutter {
    hn_graph *g;
    int n;           /* nodes of the forward part */
    hn_node **nodes; /* in their order */
    int *segment;    /* by place: counted from 0 */
    values *v;       /* by id of those there were */
    double *saved;   /* by place: bytes of the places before it that backward reads */
    double *across;  /* by place: bytes that are made before it and read from it on by forward */
    int n_cuts;
    int *cuts; /* the first place of each segment but the first */
} cutter;

/* ---- what there is ---- */

static void mark(cutter *c, const hn_node *end) {
    bool behind = false;
    for (hn_node *n = c->g->first; n != NULL; n = n->next) n->mark = n == end;
    for (hn_node *n = c->g->last; n != NULL; n = n->prev)
        for (int i = 0; i < n->n_inputs && n->mark != 0; i++) {
            const hn_value *v = hn_node_input(n, i);
            if (v != NULL && v->producer != NULL && v->graph == c->g) v->producer->mark = 1;
        }
    for (hn_node *n = c->g->first; n != NULL; n = n->next) {
        if (n->mark != 0)
            c->nodes[c->n++] = n, n->mark = (uint64_t)c->n;
        else if (behind)
            n->mark = BACKWARD;
        behind |= n == end;
    }
}

static void unmark(hn_graph *g) {
    for (hn_node *n = g->first; n != NULL; n = n->next) n->mark = 0;
}

/* The place of the node that makes v; -1: none of the forward part does. */
static int place_of(const hn_value *v) {
    bool forward = v != NULL && v->producer != NULL && v->producer->mark != ELSEWHERE &&
                   v->producer->mark != BACKWARD;
    return forward ? (int)v->producer->mark - 1 : -1;
}

static bool is_forward(const hn_use *u) {
    return u->node != NULL && u->node->mark != ELSEWHERE && u->node->mark != BACKWARD;
}

static bool is_view(const hn_node *n) {
    return n->op != NULL && (n->op->traits & HN_VIEW) != 0 && place_of(hn_node_input(n, 0)) >= 0;
}

static double bytes_of(const hn_value *v) {
    const hn_shape *s = &v->type.shape;
    int64_t dims[HONE_MAX_RANK];
    if (v->type.kind != HN_TYPE_TENSOR || v->type.dtype == HONE_DTYPE_NONE || s->rank < 0) return 0;
    for (int i = 0; i < s->rank; i++)
        if (!hn_dim_is_const(s->dim[i], &dims[i])) return 0;
    return (double)hone_value_bytes(v->type.dtype, s->rank, dims);
}

/* The engine computes a product with a softmax as attention where nothing else reads the softmax,
 * by sums in another order. Backward reads it: kept, it is read as before, and no bit changes. */
static bool weighs_attention(const hn_node *n) {
    bool multiplied = false;
    const hn_value *y = hn_is(n, "Softmax") ? hn_node_output(n, 0) : NULL;
    for (const hn_use *u = y != NULL ? y->uses : NULL; u != NULL; u = u->next)
        multiplied |= hn_is(u->node, "MatMul");
    return multiplied;
}

/* Sizes, and what is kept wherever the borders are. */
static void look_at_values(cutter *c) {
    double sum = 0;
    int n = 0;
    for (int p = 0; p < c->n; p++)
        for (int i = 0; i < c->nodes[p]->n_outputs; i++) {
            const hn_value *v = c->nodes[p]->outputs[i];
            if (v == NULL) continue;
            bool view = i == 0 && is_view(c->nodes[p]);
            c->v[v->id].bytes = bytes_of(v);
            c->v[v->id].root = view ? c->v[hn_node_input(c->nodes[p], 0)->id].root : v->id;
            if (!view) sum += c->v[v->id].bytes, n++;
        }
    for (int p = 0; p < c->n; p++) {
        const hn_op_def *op = c->nodes[p]->op;
        int at = 0;
        bool fixed = op == NULL || weighs_attention(c->nodes[p]) ||
                     (op->traits & (HN_RANDOM | HN_CONTROL | HN_DYNAMIC)) != 0 ||
                     hn_node_subgraph(c->nodes[p], &at) != NULL;
        for (int i = 0; i < c->nodes[p]->n_outputs; i++) {
            const hn_value *v = c->nodes[p]->outputs[i];
            if (v == NULL) continue;
            values *of = &c->v[v->id];
            of->kept = fixed || v->n_outputs > 0 || of->bytes * SMALL * n <= sum;
            for (const hn_use *u = v->uses; u != NULL; u = u->next) of->kept |= u->graph != c->g;
        }
    }
}

/* What backward reads of each place, and what forward hands on across each. */
static void weigh(cutter *c) {
    for (int p = 0; p < c->n; p++)
        for (int i = 0; i < c->nodes[p]->n_outputs; i++) {
            const hn_value *v = c->nodes[p]->outputs[i];
            if (v == NULL || c->v[v->id].kept) continue;
            const hn_value *root = c->g->values[c->v[v->id].root];
            int made = place_of(root), last = made;
            for (const hn_use *u = v->uses; u != NULL; u = u->next) {
                if (is_forward(u) && (int)u->node->mark - 1 > last) last = (int)u->node->mark - 1;
                if (u->node->mark != BACKWARD || c->v[root->id].needed) continue;
                c->v[root->id].needed = true;
                c->saved[made + 1] += c->v[root->id].bytes;
            }
            /* What one node alone reads may be part of its step: no border makes a second one. */
            double bytes = v->n_uses == 1 ? INFINITY : c->v[root->id].bytes;
            for (int at = made + 1; at <= last; at++) c->across[at] += bytes;
        }
    for (int p = 0; p < c->n; p++) c->saved[p + 1] += c->saved[p];
}

/* ---- segments ---- */

static void cut(cutter *c, int segments) {
    double all = c->saved[c->n];
    int from = 1;
    for (int k = 1; k <= segments && all > 0; k++) {
        double wanted = all * k / (segments + 1), least = INFINITY;
        int best = -1;
        for (int p = from; p < c->n; p++) {
            double off = c->across[p] + fabs(c->saved[p] - wanted);
            if (off < least) least = off, best = p;
        }
        if (best < 0) break;
        c->cuts[c->n_cuts++] = best;
        from = best + 1;
    }
    for (int p = 0, k = 0; p < c->n; p++) {
        while (k < c->n_cuts && c->cuts[k] <= p) k++;
        c->segment[p] = k;
    }
}

/* Keeps what crosses a border, and the last segment. What a kept view shows is kept with it. */
static void keep(cutter *c) {
    for (int p = c->n - 1; p >= 0; p--)
        for (int i = 0; i < c->nodes[p]->n_outputs; i++) {
            const hn_value *v = c->nodes[p]->outputs[i];
            if (v == NULL) continue;
            values *of = &c->v[v->id];
            of->needed = false;
            of->kept |= c->segment[p] == c->n_cuts;
            for (const hn_use *u = v->uses; u != NULL && !of->kept; u = u->next)
                of->kept = is_forward(u) && c->segment[u->node->mark - 1] > c->segment[p];
            if (of->kept && i == 0 && is_view(c->nodes[p]))
                c->v[hn_node_input(c->nodes[p], 0)->id].kept = true;
        }
}

/* Whether v is of the forward part and goes before backward begins. */
static bool goes(const cutter *c, const hn_value *v) {
    return place_of(v) >= 0 && !c->v[v->id].kept;
}

/* Finds the first node of the backward part of each segment, and what backward needs. */
static void need(cutter *c, hn_node **first) {
    for (hn_node *n = c->g->first; n != NULL; n = n->next)
        for (int i = 0; i < n->n_inputs && n->mark == BACKWARD; i++) {
            const hn_value *v = hn_node_input(n, i);
            if (!goes(c, v)) continue;
            c->v[v->id].needed = true;
            int segment = c->segment[place_of(v)];
            if (first[segment] == NULL) first[segment] = n;
        }
}

/* ---- copies ---- */

static bool is_needed(const cutter *c, const hn_node *n) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && c->v[n->outputs[i]->id].needed) return true;
    return false;
}

static hone_status copy_attrs(hn_node *to, const hn_node *from, hn_error *err) {
    for (const hn_attr *a = from->attrs; a != NULL; a = a->next) {
        hn_attr *b;
        HN_TRY(hn_node_add_attr(&b, to, a->name, a->type, err));
        b->n = a->n;
        b->u = a->u;
        if (a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR)
            hn_tensor_ref(a->u.tensor);
        if (a->type == HN_ATTR_TENSORS || a->type == HN_ATTR_SPARSE_TENSORS)
            for (int i = 0; i < a->n; i++) hn_tensor_ref(a->u.tensors[i]);
    }
    return hn_node_set_i(to, "again", 1, err);
}

static hone_status copy(cutter *c, const hn_node *n, hn_node *before, hn_error *err) {
    hn_node *made;
    HN_TRY(hn_node_create_like(&made, c->g, n, err));
    made->op = n->op;
    made->written = n->written;
    HN_TRY(copy_attrs(made, n, err));
    for (int i = 0; i < n->n_inputs; i++) {
        hn_value *v = hn_node_input(n, i);
        hn_node_set_input(made, i, goes(c, v) ? c->v[v->id].again : v);
    }
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *again;
        if (n->outputs[i] == NULL) continue;
        HN_TRY(hn_value_create(&again, c->g, NULL, n->outputs[i]->name, err));
        again->type = n->outputs[i]->type;
        hn_node_set_output(made, i, again);
        c->v[n->outputs[i]->id].again = again;
    }
    hn_node_insert(made, before);
    return HONE_OK;
}

static double macs_of(const hn_node *n) {
    hn_cost cost;
    hn_error ignored;
    int64_t macs;
    bool known = hn_node_cost(n, &cost, &ignored) == HONE_OK && hn_dim_is_const(cost.macs, &macs);
    return known ? (double)macs : 0;
}

static hone_status copy_all(cutter *c, hn_node *const *first, hn_recomputed *out, hn_error *err) {
    double all = 0, twice = 0;
    int last = -1;
    for (const hn_node *n = c->g->first; n != NULL; n = n->next) all += macs_of(n);
    for (int p = c->n - 1; p >= 0; p--) {
        if (!is_needed(c, c->nodes[p])) continue;
        for (int i = 0; i < c->nodes[p]->n_inputs; i++) {
            const hn_value *v = hn_node_input(c->nodes[p], i);
            if (goes(c, v)) c->v[v->id].needed = true;
        }
    }
    for (int p = 0; p < c->n; p++) {
        if (!is_needed(c, c->nodes[p])) continue;
        out->segments += c->segment[p] != last;
        last = c->segment[p];
        twice += macs_of(c->nodes[p]);
        HN_TRY(copy(c, c->nodes[p], first[last], err));
    }
    out->share = all > 0 ? twice / all : 0;
    return HONE_OK;
}

static void read_copies(cutter *c) {
    for (hn_node *n = c->g->first; n != NULL; n = n->next)
        for (int i = 0; i < n->n_inputs && n->mark == BACKWARD; i++) {
            hn_value *v = hn_node_input(n, i);
            if (goes(c, v)) hn_node_set_input(n, i, c->v[v->id].again);
        }
}

static hone_status recompute(cutter *c, const hn_node *end, int segments, hn_arena *scratch,
                             hn_recomputed *out, hn_error *err) {
    size_t n = (size_t)c->g->n_nodes + 2;
    c->nodes = hn_arena_array(scratch, n, sizeof *c->nodes);
    c->segment = hn_arena_array(scratch, n, sizeof *c->segment);
    c->saved = hn_arena_array(scratch, n, sizeof *c->saved);
    c->across = hn_arena_array(scratch, n, sizeof *c->across);
    c->v = hn_arena_array(scratch, (size_t)c->g->n_values + 1, sizeof *c->v);
    c->cuts = hn_arena_array(scratch, (size_t)segments + 1, sizeof *c->cuts);
    hn_node **first = hn_arena_array(scratch, (size_t)segments + 1, sizeof *first);
    if (c->nodes == NULL || c->segment == NULL || c->saved == NULL || c->across == NULL ||
        c->v == NULL || c->cuts == NULL || first == NULL)
        return HN_NOMEM(err);
    mark(c, end);
    look_at_values(c);
    weigh(c);
    cut(c, segments);
    keep(c);
    need(c, first);
    HN_TRY(copy_all(c, first, out, err));
    read_copies(c);
    return HONE_OK;
}

hone_status hn_recompute(hn_graph *g, const hn_node *end, int segments, hn_recomputed *out,
                         hn_error *err) {
    hn_arena scratch;
    cutter c = {.g = g};
    *out = (hn_recomputed){0};
    hn_arena_init(&scratch, g->model->alloc, HN_MEM_SCRATCH);
    hone_status status = recompute(&c, end, segments, &scratch, out, err);
    unmark(g);
    hn_arena_deinit(&scratch);
    return status;
}

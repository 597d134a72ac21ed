/* What is computed twice is computed once.
 *
 *     a = Relu (x)                          a = Relu (x)
 *     b = Relu (x)            becomes       y = Add (a, a)
 *     y = Add (a, b)
 *
 *     two initializers with equal contents  become  one
 *
 * An initializer that nothing uses is left to remove_dead.
 *
 * Fires for two nodes of one graph with the same operator, inputs and attributes; not for random
 * operators, control flow, or operators hone does not know. Initializers over MOST_BYTES are
 * compared by where their bytes lie only.
 */
#include "passes/pass.h"

/* What exporters repeat is small, and large weights are better left untouched in their file. */
#define MOST_BYTES 256

/* Things seen so far, chained by hash. */
typedef struct seen seen;
struct seen {
    uint64_t hash;
    void *what;
    seen *next;
};

typedef struct table {
    seen **slots;
    size_t mask;
    hn_arena *arena;
} table;

static hone_status table_init(table *t, size_t n, hn_arena *arena, hn_error *err) {
    size_t size = 16;
    while (size < 2 * n) size *= 2;
    *t = (table){.mask = size - 1, .arena = arena};
    t->slots = hn_arena_array(arena, size, sizeof *t->slots);
    return t->slots != NULL ? HONE_OK : HN_NOMEM(err);
}

/* The earlier thing that is equal, or NULL after remembering this one. */
static hone_status look_up(table *t, uint64_t hash, void *what, bool (*equal)(void *, void *),
                           void **out, hn_error *err) {
    seen **slot = &t->slots[hash & t->mask];
    *out = NULL;
    for (const seen *s = *slot; s != NULL; s = s->next) {
        if (s->hash != hash || !equal(s->what, what)) continue;
        *out = s->what;
        return HONE_OK;
    }
    seen *s = hn_arena_alloc(t->arena, sizeof *s);
    if (s == NULL) return HN_NOMEM(err);
    *s = (seen){hash, what, *slot};
    *slot = s;
    return HONE_OK;
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t mix_text(uint64_t h, const char *s) { return mix(h, hn_hash_bytes(s, strlen(s))); }

/* ---- constants ---- */

static bool comparable(const hn_value *v) {
    return !v->dead && v->constant != NULL && !v->is_input && v->constant->data != NULL &&
           v->constant->dtype != HONE_DTYPE_STRING && v->n_outputs == 0 && v->n_uses > 0;
}

static uint64_t hash_tensor(const hn_tensor *t) {
    uint64_t h = mix((uint64_t)t->dtype, (uint64_t)t->rank);
    for (int i = 0; i < t->rank; i++) h = mix(h, (uint64_t)t->dims[i]);
    if (t->bytes > MOST_BYTES) return mix(h, (uint64_t)(uintptr_t)t->data);
    return mix(h, hn_hash_bytes(t->data, t->bytes));
}

static bool tensors_equal(const hn_tensor *a, const hn_tensor *b) {
    if (a->bytes > MOST_BYTES && a->data != b->data) return false;
    return hn_tensor_equal(a, b);
}

static bool constants_equal(void *a, void *b) {
    return tensors_equal(((const hn_value *)a)->constant, ((const hn_value *)b)->constant);
}

static hone_status merge_constants(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    table t;
    HN_TRY(table_init(&t, (size_t)g->n_values, &c->scratch, err));
    for (int i = 0; i < g->n_values; i++) {
        hn_value *v = g->values[i];
        void *first;
        if (!comparable(v)) continue;
        HN_TRY(look_up(&t, hash_tensor(v->constant), v, constants_equal, &first, err));
        if (first == NULL) continue;
        hn_value_replace(v, first);
        c->fired += !v->lifted; /* what lifting made comes again with every load */
        hn_value_remove(v);
    }
    return HONE_OK;
}

/* ---- nodes ---- */

static uint64_t hash_attr(const hn_attr *a) {
    uint64_t h = mix_text((uint64_t)a->type, a->name);
    switch (a->type) {
        case HN_ATTR_FLOAT: return mix(h, hn_hash_bytes(&a->u.f, sizeof a->u.f));
        case HN_ATTR_INT: return mix(h, (uint64_t)a->u.i);
        case HN_ATTR_STRING: return mix(h, hn_hash_bytes(a->u.s.p, a->u.s.n));
        default: return mix(h, (uint64_t)a->n);
    }
}

static bool strs_equal(hn_str a, hn_str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static bool attrs_equal(const hn_attr *a, const hn_attr *b) {
    size_t n = (size_t)a->n;
    if (a->type != b->type || a->n != b->n) return false;
    switch (a->type) {
        case HN_ATTR_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
        case HN_ATTR_INT: return a->u.i == b->u.i;
        case HN_ATTR_STRING: return strs_equal(a->u.s, b->u.s);
        case HN_ATTR_TENSOR:
            return a->u.tensor->data != NULL && b->u.tensor->data != NULL &&
                   a->u.tensor->dtype != HONE_DTYPE_STRING &&
                   tensors_equal(a->u.tensor, b->u.tensor);
        case HN_ATTR_FLOATS:
            return n == 0 || memcmp(a->u.floats, b->u.floats, n * sizeof *a->u.floats) == 0;
        case HN_ATTR_INTS:
            return n == 0 || memcmp(a->u.ints, b->u.ints, n * sizeof *a->u.ints) == 0;
        case HN_ATTR_STRINGS:
            for (int i = 0; i < a->n; i++)
                if (!strs_equal(a->u.strings[i], b->u.strings[i])) return false;
            return true;
        default: return false; /* graphs, types and the like: rare, and not worth comparing */
    }
}

/* The order of attributes means nothing, so their hashes are added. */
static uint64_t hash_node(const hn_node *n) {
    uint64_t h = mix_text(mix_text(1, n->op_type), n->domain), attrs = 0;
    for (int i = 0; i < n->n_inputs; i++) h = mix(h, (uint64_t)(uintptr_t)n->inputs[i].value);
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next) attrs += hash_attr(a);
    return mix(h, attrs);
}

static int n_attrs(const hn_node *n) {
    int count = 0;
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next) count++;
    return count;
}

/* b computes nothing that a does not. */
static bool nodes_equal(void *first, void *second) {
    const hn_node *a = first, *b = second;
    if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs ||
        strcmp(a->op_type, b->op_type) != 0 || strcmp(a->domain, b->domain) != 0 ||
        a->written != b->written || n_attrs(a) != n_attrs(b))
        return false;
    for (int i = 0; i < a->n_inputs; i++)
        if (a->inputs[i].value != b->inputs[i].value) return false;
    for (const hn_attr *x = a->attrs; x != NULL; x = x->next) {
        const hn_attr *y = hn_node_attr(b, x->name);
        if (y == NULL || !attrs_equal(x, y)) return false;
    }
    for (int i = 0; i < b->n_outputs; i++)
        if (b->outputs[i] != NULL && a->outputs[i] == NULL) return false;
    return true;
}

static bool replaceable(const hn_node *n, const hn_node *by) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && !hn_can_replace(n->outputs[i], by->outputs[i])) return false;
    return true;
}

hone_status hn_pass_common_subexpressions(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    HN_TRY(merge_constants(g, c, err));
    table t;
    HN_TRY(table_init(&t, (size_t)g->n_nodes, &c->scratch, err));
    for (hn_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        if (n->op == NULL || n->old || (n->op->traits & (HN_RANDOM | HN_CONTROL)) != 0) continue;
        void *first;
        HN_TRY(look_up(&t, hash_node(n), n, nodes_equal, &first, err));
        if (first == NULL || !replaceable(n, first)) continue;
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) hn_replace(n->outputs[i], ((hn_node *)first)->outputs[i]);
        hn_node_remove(n);
        c->fired++;
    }
    return HONE_OK;
}

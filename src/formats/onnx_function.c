/* Inlining of the functions a model brings along.
 *
 * The graph is read first, calls and all. Then every call is replaced by the nodes of the function,
 * read from the file once per call with the function's names standing for the caller's values:
 *
 *     y = f(a)          f: (x) -> (z) { t = Neg(x); z = Exp(t) }
 *     x -> a, z -> y, t -> a new name         =>         t_1 = Neg(a); y = Exp(t_1)
 *
 * The new nodes may be calls again and are met in turn; each remembers the call it was made for, so
 * recursion is seen. Calling can double with each function, so the bytes read this way are limited.
 */
#include "formats/onnx_reader.h"
#include "ops/op.h"

/* Bytes of function bodies that may be read for one model: so many, and so often the file's. */
#define FREE_BYTES ((uint64_t)4 << 20)
#define FILE_MULTIPLE 16

hn_value hn_onnx_absent;

const char *hn_onnx_join(hn_onnx_reader *r, const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    char *text = hn_arena_alloc(&r->scratch, n + m + 2);
    if (text == NULL) return NULL;
    memcpy(text, a, n);
    text[n] = '/';
    memcpy(text + n + 1, b, m + 1);
    return text;
}

/* ---- the functions ---- */

static hone_status function_key(hn_onnx_reader *r, const char *domain, const char *name,
                                const char *overload, hn_bytes *key, hn_error *err) {
    const char *part[] = {domain, name, overload};
    size_t n[3], total = 0;
    for (int i = 0; i < 3; i++) total += n[i] = strlen(part[i]) + 1;
    char *at = hn_arena_alloc(&r->scratch, total);
    if (at == NULL) return HN_NOMEM(err);
    *key = (hn_bytes){at, total};
    for (int i = 0; i < 3; at += n[i++]) memcpy(at, part[i], n[i]);
    return HONE_OK;
}

static hone_status read_default(hn_onnx_reader *r, hn_bytes bytes, hn_onnx_default *out,
                                hn_error *err) {
    *out = (hn_onnx_default){{"", 0}, bytes};
    hn_wire w = hn_onnx_open(r, HN_ONNX_ATTRIBUTE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err))
        if (f.number == HN_ONNX_ATTRIBUTE_NAME) out->name = f.bytes;
    return w.status;
}

static hone_status read_function(hn_onnx_reader *r, hn_onnx_function *fn, hn_error *err) {
    hn_wire w = hn_onnx_open(r, HN_ONNX_FUNCTION, fn->bytes);
    hn_wire_field f;
    fn->domain = fn->name = fn->overload = "";
    const struct {
        uint32_t field;
        int *count;
    } counted[] = {{HN_ONNX_FUNCTION_INPUT, &fn->n_inputs},
                   {HN_ONNX_FUNCTION_OUTPUT, &fn->n_outputs},
                   {HN_ONNX_FUNCTION_OPSET_IMPORT, &fn->n_opsets},
                   {HN_ONNX_FUNCTION_ATTRIBUTE_PROTO, &fn->n_defaults}};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        HN_TRY(
            hn_onnx_count(r, HN_ONNX_FUNCTION, fn->bytes, counted[i].field, counted[i].count, err));
    HN_CHECK(err, fn->n_opsets <= HN_ONNX_MOST_OPSETS && fn->n_defaults <= HN_ONNX_MOST_ATTRS,
             HONE_E_LIMIT, "a function has more than %d opset imports or attributes",
             HN_ONNX_MOST_OPSETS);
    fn->inputs = hn_arena_array(&r->scratch, (size_t)fn->n_inputs, sizeof *fn->inputs);
    fn->outputs = hn_arena_array(&r->scratch, (size_t)fn->n_outputs, sizeof *fn->outputs);
    fn->opsets = hn_arena_array(&r->scratch, (size_t)fn->n_opsets, sizeof *fn->opsets);
    fn->defaults = hn_arena_array(&r->scratch, (size_t)fn->n_defaults, sizeof *fn->defaults);
    if (fn->inputs == NULL || fn->outputs == NULL || fn->opsets == NULL || fn->defaults == NULL)
        return HN_NOMEM(err);
    hn_bytes *input = fn->inputs, *output = fn->outputs;
    hn_opset *opset = fn->opsets;
    hn_onnx_default *attr = fn->defaults;
    while (hn_wire_next(&w, &f, err)) {
        switch (f.number) {
            case HN_ONNX_FUNCTION_NAME:
                HN_TRY(
                    hn_onnx_text(&r->scratch, f.bytes, "the name of a function", &fn->name, err));
                break;
            case HN_ONNX_FUNCTION_DOMAIN:
                HN_TRY(hn_onnx_text(&r->scratch, f.bytes, "a domain", &fn->domain, err));
                break;
            case HN_ONNX_FUNCTION_OVERLOAD:
                HN_TRY(hn_onnx_text(&r->scratch, f.bytes, "an overload", &fn->overload, err));
                break;
            case HN_ONNX_FUNCTION_INPUT: *input++ = f.bytes; break;
            case HN_ONNX_FUNCTION_OUTPUT: *output++ = f.bytes; break;
            case HN_ONNX_FUNCTION_OPSET_IMPORT:
                HN_TRY(hn_onnx_opset(r, f.bytes, opset++, err));
                break;
            case HN_ONNX_FUNCTION_ATTRIBUTE_PROTO:
                HN_TRY(read_default(r, f.bytes, attr++, err));
                break;
        }
    }
    if (strcmp(fn->domain, "ai.onnx") == 0) fn->domain = "";
    HN_CHECK(err, w.status != HONE_OK || fn->name[0] != '\0', HONE_E_MODEL,
             "a function has no name");
    return w.status;
}

hone_status hn_onnx_add_function(hn_onnx_reader *r, hn_bytes bytes, hn_error *err) {
    hn_onnx_function *fn = hn_arena_zero(&r->scratch, sizeof *fn);
    hn_bytes key;
    if (fn == NULL) return HN_NOMEM(err);
    fn->bytes = bytes;
    HN_TRY(read_function(r, fn, err));
    HN_TRY(function_key(r, fn->domain, fn->name, fn->overload, &key, err));
    HN_CHECK(err, hn_map_get(&r->functions, key.p, key.n) == NULL, HONE_E_MODEL,
             "function '%.200s' of domain '%.200s' is given twice", fn->name, fn->domain);
    fn->next = r->last_function;
    r->last_function = fn;
    return hn_map_put(&r->functions, key.p, key.n, fn) ? HONE_OK : HN_NOMEM(err);
}

/* ---- attributes ---- */

hone_status hn_onnx_argument(hn_onnx_reader *r, const hn_onnx_call *call, hn_bytes name,
                             hn_attr **given, hn_bytes *fallback, hn_error *err) {
    const char *text;
    HN_TRY(hn_onnx_text(&r->scratch, name, "the name of an attribute", &text, err));
    *given = hn_node_attr(call->node, text);
    *fallback = (hn_bytes){"", 0};
    for (int i = 0; i < call->function->n_defaults && *given == NULL; i++) {
        const hn_onnx_default *d = &call->function->defaults[i];
        if (d->name.n == name.n && memcmp(d->name.p, name.p, name.n) == 0) *fallback = d->attr;
    }
    return HONE_OK;
}

static hone_status settle(hn_graph *g, hn_node *owner, hn_error *err) {
    g->owner = owner;
    g->parent = owner->graph;
    g->depth = owner->graph->depth + 1;
    HN_CHECK(err, g->depth <= HN_MAX_DEPTH, HONE_E_LIMIT, "subgraphs are nested more than %d deep",
             HN_MAX_DEPTH);
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        int at = 0;
        for (hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) HN_TRY(settle(sub, n, err));
    }
    return HONE_OK;
}

hone_status hn_onnx_move_graphs(hn_node *node, hn_attr *a, hn_attr *from, hn_error *err) {
    a->u = from->u;
    a->n = from->n;
    from->type = HN_ATTR_NONE;
    if (a->type == HN_ATTR_GRAPH) return settle(a->u.graph, node, err);
    for (int i = 0; i < a->n; i++) HN_TRY(settle(a->u.graphs[i], node, err));
    return HONE_OK;
}

/* ---- calls ---- */

typedef struct made_for {
    const hn_onnx_function *function;
    uint64_t caller; /* index of the call this one was made for; 0: none */
    int depth;
} made_for;

typedef struct calls {
    made_for *v; /* [0]: the model itself */
    size_t n, cap;
    uint64_t bytes_left;
} calls;

static hone_status record_call(hn_onnx_reader *r, calls *c, const hn_onnx_function *fn,
                               uint64_t caller, hn_error *err) {
    for (uint64_t i = caller; i != 0; i = c->v[i].caller)
        HN_CHECK(err, c->v[i].function != fn, HONE_E_MODEL, "function '%.200s' calls itself",
                 fn->name);
    int depth = c->n > 0 ? c->v[caller].depth + 1 : 0;
    HN_CHECK(err, depth <= HN_MAX_DEPTH, HONE_E_LIMIT,
             "functions call each other more than %d deep", HN_MAX_DEPTH);
    if (c->n == c->cap) {
        size_t cap = c->cap == 0 ? 16 : c->cap * 2;
        made_for *grown = hn_realloc(r->alloc, c->v, cap * sizeof *grown, HN_MEM_OTHER);
        if (grown == NULL) return HN_NOMEM(err);
        c->v = grown;
        c->cap = cap;
    }
    c->v[c->n++] = (made_for){fn, caller, depth};
    return HONE_OK;
}

/* Makes the names of the function stand for the values of the call, and takes the call's outputs
 * off it, for nodes of the body to claim. */
static hone_status bind(const hn_onnx_call *call, hn_map *names, hn_value **outputs,
                        hn_error *err) {
    const hn_onnx_function *fn = call->function;
    hn_node *n = call->node;
    HN_CHECK(err, n->n_inputs <= fn->n_inputs && n->n_outputs <= fn->n_outputs, HONE_E_MODEL,
             "it has %d inputs and %d outputs, but function '%.200s' has %d and %d", n->n_inputs,
             n->n_outputs, fn->name, fn->n_inputs, fn->n_outputs);
    for (int i = 0; i < fn->n_inputs; i++) {
        hn_bytes name = fn->inputs[i];
        hn_value *v = hn_node_input(n, i);
        HN_CHECK(err, name.n > 0 && hn_map_get(names, name.p, name.n) == NULL, HONE_E_MODEL,
                 "input %d of function '%.200s' has no name of its own", i, fn->name);
        if (!hn_map_put(names, name.p, name.n, v != NULL ? v : &hn_onnx_absent))
            return HN_NOMEM(err);
    }
    for (int i = 0; i < n->n_outputs; i++) {
        hn_bytes name = fn->outputs[i];
        outputs[i] = n->outputs[i];
        hn_node_set_output(n, i, NULL);
        if (outputs[i] == NULL || hn_map_get(names, name.p, name.n) != NULL) continue;
        if (!hn_map_put(names, name.p, name.n, outputs[i])) return HN_NOMEM(err);
    }
    return HONE_OK;
}

/* An output that no node computes is an input of the function, or another output, handed on. */
static hone_status hand_on(const hn_onnx_call *call, const hn_map *names, hn_value *const *outputs,
                           hn_error *err) {
    const hn_onnx_function *fn = call->function;
    for (int i = 0; i < call->node->n_outputs; i++) {
        if (outputs[i] == NULL || !hn_onnx_unclaimed(outputs[i])) continue;
        hn_value *v = hn_map_get(names, fn->outputs[i].p, fn->outputs[i].n);
        HN_CHECK(err, v != outputs[i] && v != &hn_onnx_absent, HONE_E_MODEL,
                 "output %d of function '%.200s' is computed nowhere", i, fn->name);
        hn_node *n;
        HN_TRY(hn_node_create(&n, call->node->graph, "", "Identity", "", 1, 1, err));
        n->op = hn_op_find("", "Identity");
        hn_node_insert(n, call->node);
        hn_node_set_input(n, 0, v);
        hn_node_set_output(n, 0, outputs[i]);
    }
    return HONE_OK;
}

/* The model must import what the nodes it gets are written in. */
static hone_status import_opsets(hn_onnx_reader *r, const hn_onnx_function *fn, hn_error *err) {
    for (int i = 0; i < fn->n_opsets; i++) {
        const hn_opset *o = &fn->opsets[i];
        if (hn_model_opset(r->model, o->domain) != 0) continue;
        HN_CHECK(err, r->model->n_opsets < HN_ONNX_MOST_OPSETS, HONE_E_LIMIT,
                 "the functions of the model import more than %d operator sets",
                 HN_ONNX_MOST_OPSETS);
        HN_TRY(hn_model_set_opset(r->model, o->domain, o->version, err));
    }
    return HONE_OK;
}

static hone_status expand(hn_onnx_reader *r, calls *c, hn_onnx_function *fn, hn_node *n,
                          hn_error *err) {
    fn->called = true;
    HN_TRY(record_call(r, c, fn, n->mark, err));
    HN_CHECK(err, fn->bytes.n <= c->bytes_left, HONE_E_LIMIT,
             "the functions of the model, written out at each call, are too large");
    c->bytes_left -= fn->bytes.n;
    HN_TRY(import_opsets(r, fn, err));
    hn_onnx_call call = {fn, n, c->n - 1};
    hn_value **outputs = hn_arena_array(&r->scratch, (size_t)n->n_outputs, sizeof *outputs);
    if (outputs == NULL) return HN_NOMEM(err);
    hn_map names;
    hn_map_init(&names, r->alloc);
    hn_onnx_scope s = {NULL, n->graph, &names, &call};
    hone_status status = bind(&call, &names, outputs, err);
    if (status == HONE_OK)
        status = hn_onnx_nodes(r, &s, HN_ONNX_FUNCTION, fn->bytes, HN_ONNX_FUNCTION_NODE, n, err);
    if (status == HONE_OK) status = hand_on(&call, &names, outputs, err);
    hn_map_deinit(&names);
    if (status == HONE_OK) hn_node_remove(n);
    return status;
}

static hone_status inline_graph(hn_onnx_reader *r, calls *c, hn_graph *g, hn_error *err) {
    char label[320];
    for (hn_node *n = g->first; n != NULL;) {
        hn_bytes key;
        HN_TRY(function_key(r, n->domain, n->op_type, n->overload, &key, err));
        hn_onnx_function *fn = hn_map_get(&r->functions, key.p, key.n);
        if (fn == NULL) {
            n = n->next;
            continue;
        }
        hn_node *before = n->prev;
        hone_status status = expand(r, c, fn, n, err);
        if (hn_onnx_forgive(r, n, status, err) != HONE_OK) {
            hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
            return status;
        }
        /* A call that was forgiven stays where it is. */
        n = status != HONE_OK ? n->next : before != NULL ? before->next : g->first;
    }
    return HONE_OK;
}

/* A graph of its own for a function that nobody calls, so that what is wrong with it is told. */
static hone_status call_alone(hn_onnx_reader *r, calls *c, const hn_onnx_function *fn,
                              hn_error *err) {
    hn_graph *g;
    hn_node *n;
    HN_TRY(hn_graph_create(&g, r->model, r->model->graph, err));
    HN_TRY(hn_node_create(&n, g, fn->domain, fn->name, fn->name, fn->n_inputs, fn->n_outputs, err));
    hn_node_insert(n, NULL);
    n->overload = fn->overload;
    for (int i = 0; i < fn->n_outputs; i++) {
        hn_value *v;
        HN_TRY(hn_value_create(&v, g, NULL, fn->name, err));
        hn_node_set_output(n, i, v);
    }
    return inline_graph(r, c, g, err);
}

hone_status hn_onnx_inline(hn_onnx_reader *r, hn_error *err) {
    calls c = {.bytes_left = FREE_BYTES + (uint64_t)FILE_MULTIPLE * r->file->bytes};
    hone_status status = record_call(r, &c, NULL, 0, err);
    for (int i = 0; i < r->model->n_graphs && status == HONE_OK; i++)
        status = inline_graph(r, &c, r->model->graphs[i], err);
    for (hn_onnx_function *fn = r->last_function; fn != NULL && r->finding != NULL; fn = fn->next)
        if (status == HONE_OK && !fn->called) status = call_alone(r, &c, fn, err);
    hn_free(r->alloc, c.v);
    return status;
}

/* Parsing: one pass, by recursive descent, over text that may say anything. Subgraphs and types
 * nest at most HN_MAX_DEPTH deep, and nothing is allocated that the text is not long enough to
 * fill.
 *
 * A graph's results and value_info stand before its nodes, so they wait in lists until the nodes
 * are read; uses are resolved at once.
 */
#include <limits.h>

#include "ir/proto.h"
#include "ir/text_reader.h"

/* More attributes of a node, or imports, than this are refused: both are searched one by one. */
#define MOST_ATTRS 256
#define MOST_OPSETS 256

/* ---- values ---- */

/* A value as a list of a graph names it. */
typedef struct decl decl;
struct decl {
    hn_str name;
    size_t at;
    const hn_type *type; /* NULL: not given */
    hn_value *value;
    decl *next;
};

typedef struct decls {
    decl *first, **end;
} decls;

static hone_status parse_decl(hn_text_reader *p, decls *list, decl **out) {
    decl *d = hn_arena_zero(&p->scratch, sizeof *d);
    hone_dtype dtype;
    if (d == NULL) return HN_NOMEM(p->err);
    if (hn_text_type_next(p, &dtype)) {
        hn_type *t = hn_arena_alloc(&p->model->arena, sizeof *t);
        if (t == NULL) return HN_NOMEM(p->err);
        HN_TRY(hn_text_type(p, t, 0));
        if (t->kind == HN_TYPE_OTHER) HN_TRY(hn_text_keep_bytes(p, &t->other));
        d->type = t;
    }
    HN_TRY(hn_text_name(p, "the name of a value", &d->name, &d->at));
    HN_TEXT_CHECK(p, d->name.n > 0, d->at, HONE_E_MODEL, "a value has no name");
    *list->end = *out = d;
    list->end = &d->next;
    return HONE_OK;
}

/* Until the text is read, the mark of a value is the place of its definition. */
static hone_status define(hn_text_reader *p, hn_graph *g, hn_str name, size_t at, hn_value **out) {
    const char *text;
    HN_TEXT_CHECK(p, hn_map_get(&g->names, name.p, name.n) == NULL, at, HONE_E_MODEL,
                  "'%.*s' is already the name of another value", hn_text_shown(name), name.p);
    HN_TRY(hn_text_copy(p, &p->scratch, name, &text));
    HN_TRY(hn_value_create(out, g, text, NULL, p->err));
    (*out)->mark = at;
    return HONE_OK;
}

static hone_status resolve(hn_text_reader *p, const hn_graph *g, hn_str name, size_t at,
                           hn_value **out) {
    for (*out = NULL; g != NULL && *out == NULL; g = g->parent)
        *out = hn_map_get(&g->names, name.p, name.n);
    HN_TEXT_CHECK(p, *out != NULL, at, HONE_E_MODEL, "'%.*s' is not defined here or above",
                  hn_text_shown(name), name.p);
    return HONE_OK;
}

/* What a list says about the type of a value. A constant has the type of its tensor, except that an
 * input with a default keeps its own. */
static hone_status describe(hn_text_reader *p, const decl *d) {
    hn_value *v = d->value;
    if (d->type == NULL) return HONE_OK;
    HN_TEXT_CHECK(p,
                  v->constant == NULL || d->type->dtype == HONE_DTYPE_NONE ||
                      d->type->dtype == v->constant->dtype,
                  d->at, HONE_E_MODEL, "'%s' is %s here, but its contents are %s", v->name,
                  hn_dtype_onnx_name(d->type->dtype), hn_dtype_onnx_name(v->constant->dtype));
    v->stated = d->type;
    if (v->constant == NULL || v->is_input) v->type = *d->type;
    return HONE_OK;
}

/* The contents after '='. */
static hone_status parse_initializer(hn_text_reader *p, const decl *d) {
    hn_tensor *t;
    hn_text_head h = {.at = d->at, .name = d->name};
    if (d->type != NULL) h.type = *d->type;
    HN_TEXT_CHECK(p, d->value->constant == NULL, d->at, HONE_E_MODEL, "'%.*s' gets contents twice",
                  hn_text_shown(d->name), d->name.p);
    HN_TRY(hn_text_contents(p, &h, &t));
    hn_value_set_constant(d->value, t);
    return HONE_OK;
}

static hone_status parse_inputs(hn_text_reader *p, hn_graph *g, decls *inputs) {
    if (!hn_text_accept(p, '(') || hn_text_accept(p, ')')) return HONE_OK;
    do {
        decl *d;
        HN_TRY(parse_decl(p, inputs, &d));
        HN_TRY(define(p, g, d->name, d->at, &d->value));
        if (hn_text_accept(p, '=')) HN_TRY(parse_initializer(p, d));
    } while (hn_text_accept(p, ','));
    return hn_text_want(p, ')');
}

static hone_status parse_outputs(hn_text_reader *p, decls *outputs) {
    decl *d;
    HN_TRY(hn_text_want(p, '('));
    if (hn_text_accept(p, ')')) return HONE_OK;
    do {
        HN_TRY(parse_decl(p, outputs, &d));
    } while (hn_text_accept(p, ','));
    return hn_text_want(p, ')');
}

/* Initializers and value_info. */
static hone_status parse_values(hn_text_reader *p, hn_graph *g, decls *infos) {
    if (!hn_text_accept(p, '<') || hn_text_accept(p, '>')) return HONE_OK;
    do {
        decl *d, **end = infos->end;
        HN_TRY(parse_decl(p, infos, &d));
        if (!hn_text_accept(p, '=')) continue;
        d->value = hn_map_get(&g->names, d->name.p, d->name.n);
        if (d->value == NULL) HN_TRY(define(p, g, d->name, d->at, &d->value));
        HN_TRY(parse_initializer(p, d));
        *end = NULL; /* it is no value_info */
        infos->end = end;
    } while (hn_text_accept(p, ','));
    return hn_text_want(p, '>');
}

/* ---- attributes ---- */

static hone_status parse_graph(hn_text_reader *p, hn_graph *parent, hn_node *owner, hn_graph **out);

static hone_status keep_tensor_name(hn_text_reader *p, hn_str name, hn_attr *a) {
    hn_proto_out o = {.arena = &p->model->arena};
    if (name.n == 0) return HONE_OK;
    hn_proto_put_bytes(&o, HN_PROTO_TENSOR_PROTO_NAME, name.p, name.n);
    a->extra = hn_arena_array(&p->model->arena, 1, sizeof *a->extra);
    if (o.nomem || a->extra == NULL) return HN_NOMEM(p->err);
    *a->extra = (hn_bytes){o.p, o.n};
    return HONE_OK;
}

/* A type alone is a type_proto; followed by a name or by contents it is a tensor. */
static hone_status parse_tensor_or_type(hn_text_reader *p, hn_attr *a) {
    hn_text_head h = {.at = p->at, .name = {a->name, strlen(a->name)}};
    size_t at;
    HN_TRY(hn_text_type(p, &h.type, 0));
    char c = hn_text_peek(p);
    bool named = c == '"' || (hn_text_is_letter(c) && !hn_text_is_word(hn_text_word(p), "ext"));
    if (hn_text_is_letter(c) && !named) { /* ext(...), or a tensor called that */
        size_t before = p->at;
        p->at += 3;
        named = hn_text_peek(p) != '(';
        p->at = before;
    }
    if (!named && !hn_text_is_letter(c) && c != '{' && c != '=') {
        hn_bytes bytes;
        HN_TRY(hn_text_type_proto(p, &h.type, &bytes));
        HN_TRY(hn_text_keep_bytes(p, &bytes));
        a->type = HN_ATTR_TYPE_PROTO;
        a->u.bytes = bytes;
        return HONE_OK;
    }
    if (named) {
        HN_TRY(hn_text_name(p, "a name", &h.name, &at));
        HN_TRY(keep_tensor_name(p, h.name, a));
    }
    (void)hn_text_accept(p, '=');
    HN_TRY(hn_text_contents(p, &h, &a->u.tensor));
    a->type = h.type.kind == HN_TYPE_SPARSE ? HN_ATTR_SPARSE_TENSOR : HN_ATTR_TENSOR;
    return HONE_OK;
}

static hone_status parse_number_value(hn_text_reader *p, hn_attr *a, hn_attr_type wanted) {
    size_t from = p->at, at;
    hn_str s;
    bool whole;
    HN_TRY(hn_text_number(p, &s, &whole, &at));
    p->at = from;
    a->type = whole && wanted != HN_ATTR_FLOAT ? HN_ATTR_INT : HN_ATTR_FLOAT;
    return a->type == HN_ATTR_INT ? hn_text_integer(p, &a->u.i) : hn_text_float(p, &a->u.f);
}

static hone_status parse_string_value(hn_text_reader *p, hn_attr *a) {
    HN_TRY(hn_text_quoted(p, &a->u.s));
    const char *copy;
    HN_TRY(hn_text_copy(p, &p->model->arena, a->u.s, &copy));
    a->u.s.p = copy;
    a->type = HN_ATTR_STRING;
    return HONE_OK;
}

/* wanted NONE: what it is is told by how it looks. */
static hone_status parse_value(hn_text_reader *p, hn_node *n, hn_attr *a, hn_attr_type wanted) {
    char c = hn_text_peek(p);
    size_t at = p->at;
    hn_str word = hn_text_word(p), name;
    hone_dtype dtype;
    bool graph = wanted == HN_ATTR_GRAPH;
    HN_TEXT_CHECK(p, c != '@', at, HONE_E_MODEL,
                  "attribute '%.200s' refers to an attribute of a function, but is in none",
                  a->name);
    if (c == '"' && wanted == HN_ATTR_NONE) { /* a graph may have its name in quotes */
        HN_TRY(hn_text_quoted(p, &name));
        graph = hn_text_peek(p) == '(';
        p->at = at;
    }
    if (word.n > 0 && !graph && hn_text_is_type(word.p, word.n, &dtype)) {
        HN_TRY(parse_tensor_or_type(p, a));
    } else if (graph || (word.n > 0 && !hn_text_is_float(word))) {
        HN_TRY(parse_graph(p, n->graph, n, &a->u.graph));
        a->type = HN_ATTR_GRAPH;
    } else if (c == '"') {
        HN_TRY(parse_string_value(p, a));
    } else if (c == '-' || hn_text_is_digit(c) || word.n > 0) {
        HN_TRY(parse_number_value(p, a, wanted));
    } else {
        return hn_text_unexpected(p, "the value of an attribute");
    }
    if (wanted == HN_ATTR_NONE || wanted == a->type) return HONE_OK;
    return hn_text_fail(p, at, HONE_E_FORMAT, "found a value of type %s, wanted %s",
                        hn_attr_type_name(a->type), hn_attr_type_name(wanted));
}

/* Elements of a list as they come, in scratch memory. */
typedef struct list {
    unsigned char *v;
    size_t size;
    int n, cap;
} list;

static hone_status push(hn_text_reader *p, list *l, const void *element) {
    if (l->n == l->cap) {
        HN_TEXT_CHECK(p, l->cap <= INT_MAX / 2, p->at, HONE_E_LIMIT,
                      "a list has too many elements");
        int cap = l->cap == 0 ? 8 : 2 * l->cap;
        unsigned char *grown = hn_arena_array(&p->scratch, (size_t)cap, l->size);
        if (grown == NULL) return HN_NOMEM(p->err);
        if (l->n > 0) memcpy(grown, l->v, (size_t)l->n * l->size);
        l->v = grown;
        l->cap = cap;
    }
    memcpy(l->v + (size_t)l->n++ * l->size, element, l->size);
    return HONE_OK;
}

static hone_status keep_list(hn_text_reader *p, list *l) {
    void *copy = hn_arena_array(&p->model->arena, (size_t)l->n, l->size);
    if (copy == NULL) return HN_NOMEM(p->err);
    if (l->n > 0) memcpy(copy, l->v, (size_t)l->n * l->size);
    l->v = copy;
    return HONE_OK;
}

static size_t value_size(hn_attr_type t) {
    switch (t) {
        case HN_ATTR_FLOAT: return sizeof(float);
        case HN_ATTR_INT: return sizeof(int64_t);
        case HN_ATTR_STRING: return sizeof(hn_str);
        case HN_ATTR_TYPE_PROTO: return sizeof(hn_bytes);
        default: return sizeof(void *);
    }
}

static void set_list(hn_attr *a, const list *l) {
    a->n = l->n;
    switch (a->type) {
        case HN_ATTR_FLOATS: a->u.floats = (const float *)(const void *)l->v; break;
        case HN_ATTR_INTS: a->u.ints = (const int64_t *)(const void *)l->v; break;
        case HN_ATTR_STRINGS: a->u.strings = (const hn_str *)(const void *)l->v; break;
        case HN_ATTR_TYPE_PROTOS: a->u.protos = (hn_bytes *)(void *)l->v; break;
        case HN_ATTR_GRAPHS: a->u.graphs = (hn_graph **)(void *)l->v; break;
        default: a->u.tensors = (hn_tensor **)(void *)l->v; break;
    }
}

/* From behind '[' on. What is there so far hangs on the attribute, so that it is released with the
 * model. */
static hone_status parse_list(hn_text_reader *p, hn_node *n, hn_attr *a, hn_attr_type wanted) {
    list values = {.size = value_size(wanted)}, extras = {.size = sizeof(hn_bytes)};
    bool named = false;
    a->type = hn_attr_list_of(wanted);
    if (!hn_text_accept(p, ']')) {
        do {
            hn_attr e = {.name = a->name};
            hone_status status = parse_value(p, n, &e, wanted);
            bool tensor = e.type == HN_ATTR_TENSOR || e.type == HN_ATTR_SPARSE_TENSOR;
            if (status == HONE_OK && wanted == HN_ATTR_NONE) {
                wanted = e.type;
                a->type = hn_attr_list_of(wanted);
                values.size = value_size(wanted);
            }
            if (status == HONE_OK) status = push(p, &values, &e.u);
            if (status != HONE_OK && tensor) hn_tensor_unref(e.u.tensor);
            HN_TRY(status);
            set_list(a, &values);
            if (tensor) HN_TRY(push(p, &extras, e.extra != NULL ? e.extra : &(hn_bytes){NULL, 0}));
            named = named || e.extra != NULL;
        } while (hn_text_accept(p, ','));
        HN_TRY(hn_text_want(p, ']'));
    }
    HN_TEXT_CHECK(p, a->type != HN_ATTR_NONE, p->at, HONE_E_FORMAT,
                  "an empty list needs its type, as in 'axes: ints = []'");
    HN_TRY(keep_list(p, &values));
    set_list(a, &values);
    if (named) HN_TRY(keep_list(p, &extras));
    if (named) a->extra = (hn_bytes *)(void *)extras.v;
    return HONE_OK;
}

static bool is_attr_type(hn_str word, hn_attr_type t) {
    const char *name = hn_attr_type_name(t);
    if (strlen(name) != word.n) return false;
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] != (name[i] == '_' ? '_' : name[i] | 0x20)) return false;
    return true;
}

static hone_status parse_attr(hn_text_reader *p, hn_node *n) {
    hn_str name;
    size_t at;
    const char *text;
    hn_attr_type type = HN_ATTR_NONE;
    HN_TRY(hn_text_name(p, "the name of an attribute", &name, &at));
    HN_TEXT_CHECK(p, name.n > 0, at, HONE_E_MODEL, "an attribute has no name");
    HN_TRY(hn_text_copy(p, &p->scratch, name, &text));
    HN_TEXT_CHECK(p, hn_node_attr(n, text) == NULL, at, HONE_E_MODEL,
                  "attribute '%.200s' is given twice", text);
    if (hn_text_accept(p, ':')) {
        hn_str word = hn_text_word(p);
        for (int t = HN_ATTR_FLOAT; t <= HN_ATTR_TYPE_PROTOS; t++)
            if (is_attr_type(word, (hn_attr_type)t)) type = (hn_attr_type)t;
        if (type == HN_ATTR_NONE)
            return hn_text_unexpected(p, "the type of an attribute, such as int");
        p->at += word.n;
    }
    HN_TRY(hn_text_want(p, '='));
    hn_attr *a;
    HN_TRY(hn_node_add_attr(&a, n, text, HN_ATTR_NONE, p->err));
    hn_attr_type element = hn_attr_element_of(type);
    if (type != HN_ATTR_NONE && element == HN_ATTR_NONE) return parse_value(p, n, a, type);
    if (hn_text_accept(p, '[')) return parse_list(p, n, a, element);
    if (type != HN_ATTR_NONE) return hn_text_unexpected(p, "'['");
    return parse_value(p, n, a, HN_ATTR_NONE);
}

static hone_status parse_attrs(hn_text_reader *p, hn_node *n) {
    int count = 0;
    if (!hn_text_accept(p, '<')) return HONE_OK;
    do {
        HN_TEXT_CHECK(p, ++count <= MOST_ATTRS, p->at, HONE_E_LIMIT,
                      "a node has more than %d attributes", MOST_ATTRS);
        HN_TRY(parse_attr(p, n));
    } while (hn_text_accept(p, ','));
    return hn_text_want(p, '>');
}

/* ---- nodes ---- */

typedef struct use {
    hn_str name; /* n 0: absent */
    size_t at;
} use;

/* Names up to what cannot be one. Nothing before a comma is an absent one, after the last nothing.
 */
static hone_status parse_uses(hn_text_reader *p, list *uses) {
    *uses = (list){.size = sizeof(use)};
    for (;;) {
        use u = {.name = {"", 0}};
        char c = hn_text_peek(p);
        bool named = c == '"' || hn_text_is_letter(c);
        if (!named && c != ',') return HONE_OK;
        if (named) HN_TRY(hn_text_name(p, "a name", &u.name, &u.at));
        HN_TRY(push(p, uses, &u));
        if (!hn_text_accept(p, ',')) return HONE_OK;
    }
}

static hone_status parse_node_inputs(hn_text_reader *p, hn_node *n) {
    list uses;
    HN_TRY(hn_text_want(p, '('));
    HN_TRY(parse_uses(p, &uses));
    HN_TRY(hn_text_want(p, ')'));
    HN_TRY(hn_node_resize_inputs(n, uses.n, p->err));
    for (int i = 0; i < uses.n; i++) {
        const use *u = (const use *)(const void *)uses.v + i;
        hn_value *v;
        if (u->name.n == 0) continue;
        HN_TRY(resolve(p, n->graph, u->name, u->at, &v));
        hn_node_set_input(n, i, v);
    }
    return HONE_OK;
}

/* The version of the operator set, as the reader of ONNX files takes it. */
static hone_status set_opset(hn_text_reader *p, hn_node *n, size_t at) {
    n->opset = hn_model_opset(p->model, n->domain);
    HN_TEXT_CHECK(p, n->opset > 0 || n->domain[0] != '\0', at, HONE_E_MODEL,
                  "no opset of ai.onnx is imported, so it is not known what '%.200s' means",
                  n->op_type);
    if (n->opset == 0) n->opset = 1;
    n->old = true;
    return HONE_OK;
}

static hone_status parse_node(hn_text_reader *p, hn_graph *g) {
    hn_str label = {"", 0}, op, overload = {"", 0};
    size_t at, last;
    list outputs;
    const char *name, *domain, *op_type;
    if (hn_text_accept(p, '[')) {
        if (hn_text_peek(p) != ']') HN_TRY(hn_text_name(p, "the name of a node", &label, &at));
        HN_TRY(hn_text_want(p, ']'));
    }
    HN_TRY(parse_uses(p, &outputs));
    HN_TRY(hn_text_want(p, '='));
    hn_text_skip(p);
    size_t op_at = p->at;
    HN_TRY(hn_text_qualified(p, &op, &last));
    HN_TEXT_CHECK(p, op.n > last, op_at, HONE_E_MODEL, "a node names no operator");
    if (hn_text_accept(p, ':')) HN_TRY(hn_text_name(p, "an overload", &overload, &at));

    HN_TRY(hn_text_copy(p, &p->scratch, label, &name));
    HN_TRY(hn_text_copy(p, &p->scratch, (hn_str){op.p, last > 0 ? last - 1 : 0}, &domain));
    HN_TRY(hn_text_copy(p, &p->scratch, (hn_str){op.p + last, op.n - last}, &op_type));
    hn_node *n;
    HN_TRY(hn_node_create(&n, g, domain, op_type, name, 0, outputs.n, p->err));
    hn_node_insert(n, NULL);
    HN_TRY(hn_text_copy(p, &p->model->arena, overload, &n->overload));
    HN_TRY(set_opset(p, n, op_at));
    HN_TRY(parse_attrs(p, n));
    HN_TRY(parse_node_inputs(p, n));
    if (n->attrs == NULL) HN_TRY(parse_attrs(p, n));
    for (int i = 0; i < outputs.n; i++) {
        const use *u = (const use *)(const void *)outputs.v + i;
        hn_value *v;
        if (u->name.n == 0) continue;
        HN_TRY(define(p, g, u->name, u->at, &v));
        hn_node_set_output(n, i, v);
    }
    return HONE_OK;
}

/* ---- graphs ---- */

static hone_status link_outputs(hn_text_reader *p, hn_graph *g, const decls *outputs) {
    for (decl *d = outputs->first; d != NULL; d = d->next) {
        HN_TRY(resolve(p, g, d->name, d->at, &d->value));
        HN_TRY(hn_graph_add_output(g, d->value, p->err));
        if (d->value->graph == g && !d->value->is_input) HN_TRY(describe(p, d));
    }
    return HONE_OK;
}

static hone_status parse_graph(hn_text_reader *p, hn_graph *parent, hn_node *owner,
                               hn_graph **out) {
    decls inputs = {NULL, &inputs.first}, outputs = {NULL, &outputs.first};
    decls infos = {NULL, &infos.first};
    hn_graph *g;
    hn_str name;
    size_t at;
    HN_TRY(hn_text_name(p, "the name of a graph", &name, &at));
    HN_TRY(hn_text_placed(p, at, hn_graph_create(&g, p->model, parent, p->err)));
    g->owner = owner;
    HN_TRY(hn_text_copy(p, &p->model->arena, name, &g->name));
    HN_TRY(parse_inputs(p, g, &inputs));
    HN_TRY(hn_text_want(p, '='));
    if (p->at == p->n || p->text[p->at] != '>') return hn_text_unexpected(p, "'=>'");
    p->at++;
    HN_TRY(parse_outputs(p, &outputs));
    HN_TRY(parse_values(p, g, &infos));
    /* Before IR version 4 every initializer is listed as an input, which does not make it one. */
    for (decl *d = inputs.first; d != NULL; d = d->next) {
        if (d->value->constant == NULL || p->model->ir_version >= 4)
            HN_TRY(hn_graph_add_input(g, d->value, p->err));
        HN_TRY(describe(p, d));
    }
    HN_TRY(hn_text_want(p, '{'));
    while (!hn_text_accept(p, '}')) {
        if (p->at == p->n) return hn_text_unexpected(p, "'}'");
        HN_TRY(parse_node(p, g));
    }
    HN_TRY(link_outputs(p, g, &outputs));
    for (decl *d = infos.first; d != NULL; d = d->next) {
        d->value = hn_map_get(&g->names, d->name.p, d->name.n);
        if (d->value == NULL) continue; /* said of a value that is not there */
        d->value->declared = true;
        if (!d->value->is_input) HN_TRY(describe(p, d));
    }
    *out = g;
    return HONE_OK;
}

/* ---- the model ---- */

static hone_status parse_opsets(hn_text_reader *p) {
    HN_TRY(hn_text_want(p, '['));
    if (hn_text_accept(p, ']')) return HONE_OK;
    do {
        const char *domain;
        int64_t version;
        size_t at = (hn_text_skip(p), p->at);
        HN_TRY(hn_text_string(p, &domain));
        HN_TRY(hn_text_want(p, ':'));
        HN_TRY(hn_text_between(p, 0, INT_MAX, "the version of an opset", &version));
        bool standard = domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
        HN_TEXT_CHECK(p, version > 0, at, HONE_E_MODEL, "opset 0 is imported, wanted 1 or more");
        HN_TEXT_CHECK(p, !standard || version <= HN_NEWEST_OPSET, at, HONE_E_UNSUPPORTED,
                      "opset %lld of ai.onnx is imported; the newest known is %d",
                      (long long)version, HN_NEWEST_OPSET);
        HN_TEXT_CHECK(p, hn_model_opset(p->model, domain) == 0, at, HONE_E_MODEL,
                      "domain '%.200s' is imported twice", domain);
        HN_TEXT_CHECK(p, p->model->n_opsets < MOST_OPSETS, at, HONE_E_LIMIT,
                      "more than %d opsets are imported", MOST_OPSETS);
        HN_TRY(hn_model_set_opset(p->model, domain, version, p->err));
    } while (hn_text_accept(p, ','));
    return hn_text_want(p, ']');
}

static hone_status parse_metadata(hn_text_reader *p, hn_props *out) {
    list props = {.size = sizeof(hn_prop)};
    HN_TRY(hn_text_want(p, '['));
    if (hn_text_accept(p, ']')) return HONE_OK;
    do {
        hn_prop prop;
        HN_TRY(hn_text_string(p, &prop.key));
        HN_TRY(hn_text_want(p, ':'));
        HN_TRY(hn_text_string(p, &prop.value));
        HN_TRY(push(p, &props, &prop));
    } while (hn_text_accept(p, ','));
    HN_TRY(keep_list(p, &props));
    *out = (hn_props){props.n, (hn_prop *)(void *)props.v};
    return hn_text_want(p, ']');
}

static hone_status parse_header(hn_text_reader *p) {
    hn_model *m = p->model;
    enum { IR_VERSION, OPSET_IMPORT, MODEL_VERSION, METADATA, TEXTS };
    const struct {
        const char *word, **text;
    } keys[] = {
        [IR_VERSION] = {"ir_version", NULL},
        [OPSET_IMPORT] = {"opset_import", NULL},
        [MODEL_VERSION] = {"model_version", NULL},
        [METADATA] = {"metadata_props", NULL},
        [TEXTS] = {"producer_name", &m->producer_name},
        {"producer_version", &m->producer_version},
        {"domain", &m->domain},
        {"doc_string", &m->doc},
    };
    enum { N_KEYS = sizeof keys / sizeof *keys };
    unsigned seen = 0;
    m->ir_version = HN_NEWEST_IR;
    bool given = hn_text_accept(p, '<');
    while (given) {
        hn_str word = hn_text_word(p);
        size_t at = p->at, k = 0;
        while (k < N_KEYS && !hn_text_is_word(word, keys[k].word)) k++;
        if (k == N_KEYS) return hn_text_unexpected(p, "a key of the model, such as ir_version");
        HN_TEXT_CHECK(p, (seen >> k & 1) == 0, at, HONE_E_FORMAT, "%s is given twice",
                      keys[k].word);
        seen |= 1u << k;
        p->at += word.n;
        HN_TRY(hn_text_want(p, ':'));
        at = (hn_text_skip(p), p->at);
        switch (k) {
            case IR_VERSION:
                HN_TRY(hn_text_integer(p, &m->ir_version));
                HN_TEXT_CHECK(p, m->ir_version >= HN_OLDEST_IR && m->ir_version <= HN_NEWEST_IR, at,
                              m->ir_version > HN_NEWEST_IR ? HONE_E_UNSUPPORTED : HONE_E_MODEL,
                              "IR version %lld, wanted %d to %d", (long long)m->ir_version,
                              HN_OLDEST_IR, HN_NEWEST_IR);
                break;
            case OPSET_IMPORT: HN_TRY(parse_opsets(p)); break;
            case MODEL_VERSION: HN_TRY(hn_text_integer(p, &m->model_version)); break;
            case METADATA: HN_TRY(parse_metadata(p, &m->metadata)); break;
            default: HN_TRY(hn_text_string(p, keys[k].text)); break;
        }
        given = hn_text_accept(p, ',');
        if (!given) HN_TRY(hn_text_want(p, '>'));
    }
    if ((seen >> OPSET_IMPORT & 1) != 0) return HONE_OK;
    return hn_model_set_opset(m, "", HN_NEWEST_OPSET, p->err);
}

/* A name must not be given again inside a subgraph, before or after. */
static hone_status check_shadows(hn_text_reader *p) {
    for (int i = 0; i < p->model->n_graphs; i++) {
        const hn_graph *g = p->model->graphs[i];
        for (int k = 0; k < g->n_values; k++) {
            hn_value *v = g->values[k];
            for (const hn_graph *up = g->parent; up != NULL; up = up->parent)
                HN_TEXT_CHECK(p, hn_graph_value(up, v->name) == NULL, (size_t)v->mark, HONE_E_MODEL,
                              "'%s' is already the name of a value of a graph around this one",
                              v->name);
        }
    }
    for (int i = 0; i < p->model->n_graphs; i++)
        for (int k = 0; k < p->model->graphs[i]->n_values; k++)
            p->model->graphs[i]->values[k]->mark = 0;
    return HONE_OK;
}

static hone_status parse_model(hn_text_reader *p) {
    hn_graph *g;
    HN_TRY(parse_header(p));
    HN_TRY(parse_graph(p, NULL, NULL, &g));
    (void)hn_text_peek(p);
    HN_TEXT_CHECK(p, p->at == p->n, p->at, HONE_E_UNSUPPORTED,
                  "the text goes on after the graph; functions are not read from text");
    return check_shadows(p);
}

hone_status hn_text_parse(hn_model **out, const char *text, size_t n, hn_file *data,
                          hn_allocator *alloc, hn_error *err) {
    hn_text_reader p = {.text = text, .n = n, .data = data, .err = err};
    HN_TRY(hn_model_create(&p.model, alloc, err));
    hn_arena_init(&p.scratch, alloc, HN_MEM_OTHER);
    hone_status status = parse_model(&p);
    if (status == HONE_OK)
        *out = p.model;
    else
        hn_model_destroy(p.model);
    hn_arena_deinit(&p.scratch);
    return status;
}

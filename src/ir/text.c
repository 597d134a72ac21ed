/* Printing. The first trouble is remembered and silences everything after it, so that the functions
 * that print need no status of their own. */
#include "ir/text.h"

#include <stdio.h>

#include "base/decimal.h"
#include "base/sha256.h"
#include "ir/proto.h"

typedef struct printer {
    const hn_model *model;
    const hn_text_out *out;
    hn_error *err;
    hone_status status;
    int64_t opset; /* of ai.onnx; 0: not imported */
    int indent;
    size_t n;
    char buf[4096];
} printer;

/* ---- characters ---- */

static void flush(printer *w) {
    if (w->status == HONE_OK && w->n > 0)
        w->status = w->out->text(w->out->text_ctx, w->buf, w->n, w->err);
    w->n = 0;
}

static void put(printer *w, const char *s, size_t n) {
    while (n > 0 && w->status == HONE_OK) {
        size_t room = sizeof w->buf - w->n, part = n < room ? n : room;
        memcpy(w->buf + w->n, s, part);
        w->n += part;
        s += part;
        n -= part;
        if (w->n == sizeof w->buf) flush(w);
    }
}

static void put_text(printer *w, const char *s) { put(w, s, strlen(s)); }

static void put_int(printer *w, int64_t v) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    put_text(w, text);
}

static void put_line(printer *w) {
    put_text(w, "\n");
    for (int i = 0; i < w->indent; i++) put_text(w, "   ");
}

static void put_quoted(printer *w, const char *s, size_t n) {
    put_text(w, "\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\') put_text(w, "\\");
        put(w, &s[i], 1);
    }
    put_text(w, "\"");
}

static bool is_identifier(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!hn_text_is_letter(s[i]) && (i == 0 || !hn_text_is_digit(s[i]))) return false;
    return n > 0;
}

static void put_identifier(printer *w, const char *s, size_t n) {
    if (is_identifier(s, n))
        put(w, s, n);
    else
        put_quoted(w, s, n);
}

/* Identifiers with dots between them. */
static void put_qualified(printer *w, const char *s, size_t n) {
    bool plain = true;
    for (size_t from = 0, i = 0; i <= n; i++) {
        if (i < n && s[i] != '.') continue;
        plain = plain && is_identifier(s + from, i - from);
        from = i + 1;
    }
    if (plain)
        put(w, s, n);
    else
        put_quoted(w, s, n);
}

/* Where a type could stand before the name, a name that reads like one is quoted. */
static void put_name(printer *w, const char *s, size_t n) {
    hone_dtype dtype;
    if (hn_text_is_type(s, n, &dtype))
        put_quoted(w, s, n);
    else
        put_identifier(w, s, n);
}

/* ---- types ---- */

bool hn_text_is_type(const char *s, size_t n, hone_dtype *dtype) {
    static const char *const others[] = {"seq",    "map",           "optional",
                                         "opaque", "sparse_tensor", "undefined"};
    *dtype = HONE_DTYPE_NONE;
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++) {
        const char *name = hn_dtype_onnx_name((hone_dtype)t);
        if (strlen(name) != n || memcmp(name, s, n) != 0) continue;
        *dtype = (hone_dtype)t;
        return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && memcmp(others[i], s, n) == 0) return true;
    return false;
}

static void put_dtype(printer *w, hone_dtype t) {
    put_text(w, t != HONE_DTYPE_NONE ? hn_dtype_onnx_name(t) : "undefined");
}

static int64_t note_fresh(void *any, hn_dim symbol) {
    if (hn_dim_is_fresh(symbol)) *(bool *)any = true;
    return 1;
}

static void put_dim(printer *w, hn_dim d) {
    int64_t v;
    const char *name = NULL;
    char text[256];
    bool fresh = false;
    if (hn_dim_is_const(d, &v)) {
        put_int(w, v);
        return;
    }
    if (hn_dim_eval(d, note_fresh, &fresh, &v) && !fresh && !hn_dim_is_symbol(d, &name))
        name = hn_dim_text(d, text, sizeof text);
    if (name == NULL || (name == text && strlen(text) + 1 == sizeof text)) /* it was cut */
        put_text(w, "?");
    else
        put_identifier(w, name, strlen(name));
}

/* A number alone is a scalar, [] is an unknown rank. */
static void put_tensor_type(printer *w, hone_dtype dtype, const hn_shape *s) {
    put_dtype(w, dtype);
    if (s->rank < 0) put_text(w, "[]");
    for (int i = 0; i < s->rank; i++) {
        put_text(w, i == 0 ? "[" : ",");
        put_dim(w, s->dim[i]);
    }
    if (s->rank > 0) put_text(w, "]");
}

static void cannot_say(printer *w) {
    if (w->status == HONE_OK)
        w->status = HN_FAIL(w->err, HONE_E_MODEL,
                            "a type is malformed, or nested more than %d deep", HN_MAX_DEPTH);
}

/* The last field of that number; p NULL: there is none. */
static hn_bytes last_bytes(printer *w, hn_bytes message, uint32_t number) {
    hn_bytes found = {NULL, 0};
    hn_proto_field f;
    while (hn_proto_next(&message, &f))
        if (f.number == number) found = f.bytes;
    if (message.p == NULL) cannot_say(w);
    return found;
}

static void put_proto_dtype(printer *w, hn_bytes message) {
    hn_proto_field f;
    uint64_t t = 0;
    while (hn_proto_next(&message, &f))
        if (f.number == HN_PROTO_TENSOR_ELEM && f.bytes.p == NULL) t = f.value;
    if (message.p == NULL || (t != 0 && (t >= HONE_DTYPE_COUNT_ || !hn_dtype_valid((int)t))))
        cannot_say(w);
    else
        put_dtype(w, (hone_dtype)t);
}

static void put_proto_dim(printer *w, hn_bytes dim) {
    hn_bytes param = last_bytes(w, dim, HN_PROTO_DIM_PARAM);
    hn_proto_field f;
    bool number = false;
    int64_t v = 0;
    while (hn_proto_next(&dim, &f))
        if (f.number == HN_PROTO_DIM_VALUE && f.bytes.p == NULL)
            number = true, v = (int64_t)f.value;
    if (number)
        put_int(w, v);
    else if (param.p != NULL && param.n > 0)
        put_identifier(w, param.p, param.n);
    else
        put_text(w, "?");
}

static void put_proto_tensor(printer *w, hn_bytes type) {
    hn_bytes shape = last_bytes(w, type, HN_PROTO_TENSOR_SHAPE);
    hn_proto_field f;
    put_proto_dtype(w, type);
    if (shape.p == NULL) {
        put_text(w, "[]");
        return;
    }
    bool any = false;
    while (hn_proto_next(&shape, &f)) {
        if (f.number != HN_PROTO_SHAPE_DIM || f.bytes.p == NULL) continue;
        put_text(w, any ? "," : "[");
        put_proto_dim(w, f.bytes);
        any = true;
    }
    if (any) put_text(w, "]");
    if (shape.p == NULL) cannot_say(w);
}

static void put_proto_type(printer *w, hn_bytes type, int depth) {
    hn_proto_field kind = {0}, f;
    while (hn_proto_next(&type, &f))
        if (f.bytes.p != NULL && f.number != HN_PROTO_TYPE_DENOTATION) kind = f;
    if (type.p == NULL || depth > HN_MAX_DEPTH) kind.number = 0;
    switch (w->status == HONE_OK ? kind.number : 0) {
        case HN_PROTO_TYPE_TENSOR: put_proto_tensor(w, kind.bytes); return;
        case HN_PROTO_TYPE_SPARSE:
            put_text(w, "sparse_tensor(");
            put_proto_tensor(w, kind.bytes);
            break;
        case HN_PROTO_TYPE_SEQUENCE:
        case HN_PROTO_TYPE_OPTIONAL:
            put_text(w, kind.number == HN_PROTO_TYPE_SEQUENCE ? "seq(" : "optional(");
            put_proto_type(w, last_bytes(w, kind.bytes, HN_PROTO_ELEM), depth + 1);
            break;
        case HN_PROTO_TYPE_MAP:
            put_text(w, "map(");
            put_proto_dtype(w, kind.bytes);
            put_text(w, ", ");
            put_proto_type(w, last_bytes(w, kind.bytes, HN_PROTO_MAP_VALUE), depth + 1);
            break;
        case HN_PROTO_TYPE_OPAQUE: {
            hn_bytes domain = last_bytes(w, kind.bytes, HN_PROTO_OPAQUE_DOMAIN);
            hn_bytes name = last_bytes(w, kind.bytes, HN_PROTO_OPAQUE_NAME);
            put_text(w, "opaque(");
            if (domain.n > 0) put_qualified(w, domain.p, domain.n);
            if (domain.n > 0) put_text(w, ", ");
            if (name.n > 0) put_qualified(w, name.p, name.n);
            break;
        }
        default: cannot_say(w); return;
    }
    put_text(w, ")");
}

/* The type and a space, or nothing. */
static void put_type(printer *w, const hn_type *t) {
    switch (t->kind) {
        case HN_TYPE_NONE: return;
        case HN_TYPE_TENSOR: put_tensor_type(w, t->dtype, &t->shape); break;
        case HN_TYPE_SPARSE:
            put_text(w, "sparse_tensor(");
            put_tensor_type(w, t->dtype, &t->shape);
            put_text(w, ")");
            break;
        case HN_TYPE_OTHER: put_proto_type(w, t->other, 0); break;
    }
    put_text(w, " ");
}

/* ---- tensors ---- */

hone_dtype hn_text_element(hone_dtype t) {
    if (hn_dtype_in(t, HN_DTYPE_BIT(F16) | HN_DTYPE_BIT(BF16))) return HONE_DTYPE_U16;
    if (hn_dtype_in(t, HN_DTYPES_FP8)) return HONE_DTYPE_U8;
    if (t == HONE_DTYPE_F4E2M1) return HONE_DTYPE_U4;
    if (t == HONE_DTYPE_C64) return HONE_DTYPE_F32;
    return t == HONE_DTYPE_C128 ? HONE_DTYPE_F64 : t;
}

static void put_element(printer *w, hone_dtype t, const void *data, int64_t i) {
    char text[HN_DECIMAL_TEXT];
    if (t == HONE_DTYPE_STRING) {
        const hn_str *s = (const hn_str *)data + i;
        put_quoted(w, s->p, s->n);
    } else if (t == HONE_DTYPE_F32) {
        float v;
        memcpy(&v, (const char *)data + 4 * i, sizeof v);
        put_text(w, hn_decimal_text_f32(v, text));
    } else if (t == HONE_DTYPE_F64) {
        double v;
        memcpy(&v, (const char *)data + 8 * i, sizeof v);
        put_text(w, hn_decimal_text_f64(v, text));
    } else if (t == HONE_DTYPE_U64) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)hn_load_s64(t, data, i));
        put_text(w, text);
    } else {
        put_int(w, hn_load_s64(t, data, i));
    }
}

static void put_contents(printer *w, const hn_tensor *t);

static void put_dims(printer *w, const hn_tensor *t) {
    put_dtype(w, t->dtype);
    for (int i = 0; i < t->rank; i++) {
        put_text(w, i == 0 ? "[" : ",");
        put_int(w, t->dims[i]);
    }
    if (t->rank > 0) put_text(w, "]");
}

static void put_sparse(printer *w, const hn_tensor *t) {
    put_text(w, "{");
    put_dims(w, t->values);
    put_text(w, " ");
    put_contents(w, t->values);
    put_text(w, ", ");
    put_dims(w, t->indices);
    put_text(w, " ");
    put_contents(w, t->indices);
    put_text(w, "}");
}

static void put_companion(printer *w, const hn_tensor *t) {
    char hex[HN_SHA256_HEX], text[HN_SHA256_HEX + 40];
    hn_sha256(t->data, t->bytes, hex);
    snprintf(text, sizeof text, "ext(\"%s\", %zu)", hex, t->bytes);
    put_text(w, text);
    if (w->status == HONE_OK && w->out->data != NULL)
        w->status = w->out->data(w->out->data_ctx, t->data, t->bytes, w->err);
}

static void put_contents(printer *w, const hn_tensor *t) {
    if (t->data == NULL) {
        put_sparse(w, t);
        return;
    }
    if (t->n > HN_TEXT_MOST_INLINE && t->dtype != HONE_DTYPE_STRING) {
        put_companion(w, t);
        return;
    }
    int64_t n = hn_dtype_in(t->dtype, HN_DTYPES_COMPLEX) ? 2 * t->n : t->n;
    put_text(w, "{");
    for (int64_t i = 0; i < n && w->status == HONE_OK; i++) {
        if (i > 0) put_text(w, ", ");
        put_element(w, hn_text_element(t->dtype), t->data, i);
    }
    put_text(w, "}");
}

static void put_tensor(printer *w, const hn_tensor *t, hn_str name) {
    if (t->data == NULL) put_text(w, "sparse_tensor(");
    put_dims(w, t);
    put_text(w, t->data == NULL ? ") " : " ");
    if (name.n > 0) {
        put_name(w, name.p, name.n);
        put_text(w, " = ");
    }
    put_contents(w, t);
}

/* ---- nodes ---- */

static void put_graph(printer *w, const hn_graph *g);

/* The name of a tensor that is an attribute is among its further fields. */
static void put_attr_tensor(printer *w, const hn_attr *a, int i) {
    hn_str name = {NULL, 0};
    hn_bytes extra = a->extra != NULL ? a->extra[i] : (hn_bytes){NULL, 0};
    hn_proto_field f;
    while (hn_proto_next(&extra, &f))
        if (f.number == HN_PROTO_TENSOR_PROTO_NAME) name = (hn_str){f.bytes.p, f.bytes.n};
    bool list = hn_attr_element_of(a->type) != HN_ATTR_NONE;
    put_tensor(w, list ? a->u.tensors[i] : a->u.tensor, name);
}

static void put_attr_value(printer *w, const hn_attr *a, int i) {
    char text[HN_DECIMAL_TEXT];
    switch (a->type) {
        case HN_ATTR_NONE: break;
        case HN_ATTR_FLOAT: put_text(w, hn_decimal_text_f32(a->u.f, text)); break;
        case HN_ATTR_INT: put_int(w, a->u.i); break;
        case HN_ATTR_STRING: put_quoted(w, a->u.s.p, a->u.s.n); break;
        case HN_ATTR_GRAPH: put_graph(w, a->u.graph); break;
        case HN_ATTR_TYPE_PROTO: put_proto_type(w, a->u.bytes, 0); break;
        case HN_ATTR_FLOATS: put_text(w, hn_decimal_text_f32(a->u.floats[i], text)); break;
        case HN_ATTR_INTS: put_int(w, a->u.ints[i]); break;
        case HN_ATTR_STRINGS: put_quoted(w, a->u.strings[i].p, a->u.strings[i].n); break;
        case HN_ATTR_GRAPHS: put_graph(w, a->u.graphs[i]); break;
        case HN_ATTR_TYPE_PROTOS: put_proto_type(w, a->u.protos[i], 0); break;
        case HN_ATTR_TENSOR:
        case HN_ATTR_TENSORS:
        case HN_ATTR_SPARSE_TENSOR:
        case HN_ATTR_SPARSE_TENSORS: put_attr_tensor(w, a, i); break;
    }
}

static void put_attr(printer *w, const hn_attr *a) {
    put_identifier(w, a->name, strlen(a->name));
    put_text(w, ": ");
    for (const char *c = hn_attr_type_name(a->type); *c != '\0'; c++)
        put(w, *c == '_' ? c : &"abcdefghijklmnopqrstuvwxyz"[*c - 'A'], 1);
    put_text(w, " = ");
    if (hn_attr_element_of(a->type) != HN_ATTR_NONE) {
        put_text(w, "[");
        for (int i = 0; i < a->n; i++) {
            if (i > 0) put_text(w, ", ");
            put_attr_value(w, a, i);
        }
        put_text(w, "]");
    } else {
        put_attr_value(w, a, 0);
    }
}

static void put_attrs(printer *w, const hn_attr *first) {
    if (first == NULL) return;
    put_text(w, " <");
    for (const hn_attr *a = first; a != NULL; a = a->next) {
        if (a != first) put_text(w, ", ");
        put_attr(w, a);
    }
    put_text(w, ">");
}

static void put_use(printer *w, const hn_value *v, bool first) {
    if (!first) put_text(w, ", ");
    put_name(w, v != NULL ? v->name : "", v != NULL ? strlen(v->name) : 0);
}

static void put_node(printer *w, const hn_node *n) {
    int at = 0;
    bool subgraphs = hn_node_subgraph(n, &at) != NULL;
    put_line(w);
    if (n->name[0] != '\0') {
        put_text(w, "[");
        put_identifier(w, n->name, strlen(n->name));
        put_text(w, "] ");
    }
    for (int i = 0; i < n->n_outputs; i++) put_use(w, n->outputs[i], i == 0);
    put_text(w, n->n_outputs > 0 ? " = " : "= ");
    if (n->domain[0] != '\0') {
        put_qualified(w, n->domain, strlen(n->domain));
        put_text(w, ".");
    }
    put_identifier(w, n->op_type, strlen(n->op_type));
    if (n->overload[0] != '\0') {
        put_text(w, ":");
        put_identifier(w, n->overload, strlen(n->overload));
    }
    if (!subgraphs) put_attrs(w, n->attrs);
    put_text(w, " (");
    for (int i = 0; i < n->n_inputs; i++) put_use(w, n->inputs[i].value, i == 0);
    put_text(w, ")");
    if (subgraphs) put_attrs(w, n->attrs);
}

/* ---- graphs ---- */

/* Before IR version 4 the initializers are inputs too. */
static bool lists_constants(const printer *w, const hn_graph *g) {
    return w->model->ir_version < 4 && g->parent == NULL;
}

static void put_value(printer *w, const hn_graph *g, const hn_value *v, bool first) {
    if (!first) put_text(w, ", ");
    if (v->graph == g) put_type(w, &v->type);
    put_name(w, v->name, strlen(v->name));
}

static void put_inputs(printer *w, const hn_graph *g) {
    bool first = true;
    if (!lists_constants(w, g)) {
        for (int i = 0; i < g->n_inputs; i++) put_value(w, g, g->inputs[i], i == 0);
        return;
    }
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (v->dead || (!v->is_input && v->constant == NULL)) continue;
        put_value(w, g, v, first);
        first = false;
    }
}

typedef struct items {
    const hn_graph *graph;
    int n;
} items;

static void begin_item(printer *w, items *l) {
    if (l->n == 0) {
        put_line(w);
        put_text(w, "<");
        w->indent++;
    } else {
        put_text(w, ",");
    }
    l->n++;
    put_line(w);
}

static void put_initializer(printer *w, items *l, const hn_value *v) {
    if (v->constant == NULL) return;
    begin_item(w, l);
    put_tensor(w, v->constant, (hn_str){v->name, strlen(v->name)});
}

static bool is_output(const hn_value *v) {
    for (const hn_use *u = v->uses; u != NULL; u = u->next)
        if (u->node == NULL && u->graph == v->graph) return true;
    return false;
}

static void put_info(printer *w, items *l, const hn_value *v) {
    bool wanted = w->out->all_types && v->type.kind != HN_TYPE_NONE && v->producer != NULL;
    if (!v->declared && (!wanted || is_output(v))) return;
    begin_item(w, l);
    put_value(w, l->graph, v, true);
}

/* Values are told in the order in which parsing the text makes them: inputs, other constants,
 * results. */
static void for_each_value(printer *w, items *l,
                           void (*tell)(printer *, items *, const hn_value *)) {
    const hn_graph *g = l->graph;
    bool by_age = lists_constants(w, g);
    for (int i = 0; i < g->n_inputs && !by_age; i++) tell(w, l, g->inputs[i]);
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        bool input = v->is_input && by_age, constant = v->constant != NULL && !v->is_input;
        if (!v->dead && (input || constant)) tell(w, l, v);
    }
    for (const hn_node *n = g->first; n != NULL; n = n->next)
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) tell(w, l, n->outputs[i]);
}

static void put_graph(printer *w, const hn_graph *g) {
    items l = {g, 0};
    put_identifier(w, g->name, strlen(g->name));
    put_text(w, " (");
    put_inputs(w, g);
    put_text(w, ") => (");
    for (int i = 0; i < g->n_outputs; i++) put_value(w, g, g->outputs[i].value, i == 0);
    put_text(w, ")");
    for_each_value(w, &l, put_initializer);
    for_each_value(w, &l, put_info);
    if (l.n > 0) {
        w->indent--;
        put_line(w);
        put_text(w, ">");
        put_line(w);
    }
    put_text(w, l.n > 0 ? "{" : " {");
    w->indent++;
    for (const hn_node *n = g->first; n != NULL; n = n->next) put_node(w, n);
    w->indent--;
    put_line(w);
    put_text(w, "}");
}

/* ---- the model ---- */

static void put_key(printer *w, const char *key) {
    put_text(w, ",\n   ");
    put_text(w, key);
    put_text(w, ": ");
}

static void put_given(printer *w, const char *key, const char *text) {
    if (text[0] == '\0') return;
    put_key(w, key);
    put_quoted(w, text, strlen(text));
}

static void put_opset(printer *w, const char *domain, int64_t version, bool first) {
    if (!first) put_text(w, ", ");
    put_quoted(w, domain, strlen(domain));
    put_text(w, " : ");
    put_int(w, version);
}

static void put_header(printer *w) {
    const hn_model *m = w->model;
    put_text(w, "<\n   ir_version: ");
    put_int(w, m->ir_version);
    put_key(w, "opset_import");
    put_text(w, "[");
    if (w->opset != 0 && hn_model_opset(m, "") == 0) put_opset(w, "", w->opset, true);
    for (int i = 0; i < m->n_opsets; i++)
        put_opset(w, m->opsets[i].domain,
                  m->opsets[i].domain[0] == '\0' ? w->opset : m->opsets[i].version, i == 0);
    put_text(w, "]");
    put_given(w, "producer_name", m->producer_name);
    put_given(w, "producer_version", m->producer_version);
    put_given(w, "domain", m->domain);
    if (m->model_version != 0) {
        put_key(w, "model_version");
        put_int(w, m->model_version);
    }
    put_given(w, "doc_string", m->doc);
    if (m->metadata.n > 0) put_key(w, "metadata_props");
    for (int i = 0; i < m->metadata.n; i++) {
        put_text(w, i == 0 ? "[" : ", ");
        put_quoted(w, m->metadata.v[i].key, strlen(m->metadata.v[i].key));
        put_text(w, ": ");
        put_quoted(w, m->metadata.v[i].value, strlen(m->metadata.v[i].value));
    }
    put_text(w, m->metadata.n > 0 ? "]\n>\n" : "\n>\n");
}

/* The one opset in whose semantics all nodes of ai.onnx stand. */
static hone_status settle_opset(const hn_model *m, int64_t *opset, hn_error *err) {
    const hn_node *other = NULL;
    char a[320], b[320];
    *opset = hn_model_opset(m, "");
    for (int i = 0; i < m->n_graphs; i++) {
        for (const hn_node *n = m->graphs[i]->first; n != NULL; n = n->next) {
            if (n->domain[0] != '\0') continue;
            int64_t stands = n->old ? n->opset : HN_NEWEST_OPSET;
            HN_CHECK(err, other == NULL || stands == *opset, HONE_E_MODEL,
                     "%s stands in the form of opset %lld, %s in that of %lld: infer the model "
                     "before printing it",
                     hn_node_label(other, a, sizeof a), (long long)*opset,
                     hn_node_label(n, b, sizeof b), (long long)stands);
            *opset = stands;
            other = n;
        }
    }
    return HONE_OK;
}

hone_status hn_text_print(const hn_model *m, const hn_text_out *out, hn_error *err) {
    printer w = {.model = m, .out = out, .err = err};
    HN_TRY(settle_opset(m, &w.opset, err));
    put_header(&w);
    put_graph(&w, m->graph);
    put_text(&w, "\n");
    flush(&w);
    return w.status;
}

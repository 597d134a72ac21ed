/* From ModelProto to hn_model.
 *
 * Fields of a message may come in any order, so a graph is read in passes over its fields: first
 * what defines values (initializers, inputs, outputs of nodes), then what uses them (inputs of
 * nodes, attributes with their subgraphs, outputs of the graph). Names are looked up in the graph
 * and then in those around it.
 */
#include <limits.h>
#include <stdio.h>

#include "base/log.h"
#include "base/span.h"
#include "formats/onnx_reader.h"
#include "formats/other_format.h"
#include "formats/package.h"
#include "ops/op.h"

/* A node of a function is called <the calling node>/<its own name>, unless that would let a file
 * write a long name once and have it copied to every node. */
#define LONGEST_PREFIX 200

static const hn_bytes nothing = {"", 0};

/* Arguments for "%.*s". */
#define TEXT(b) (int)((b).n < 200 ? (b).n : 200), (const char *)(b).p

/* In deep graphs the places stop before they push the message itself out. */
static bool has_room(const hn_error *err) {
    return err != NULL && strlen(err->text) < HONE_ERROR_TEXT / 3;
}

hone_status hn_onnx_forgive(hn_onnx_reader *r, const hn_node *n, hone_status status,
                            hn_error *err) {
    char label[320];
    if (status == HONE_OK || r->finding == NULL || status == HONE_E_NOMEM ||
        status == HONE_E_LIMIT || status == HONE_E_FORMAT)
        return status;
    if (n != NULL) hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
    r->finding(r->finding_ctx, err->text);
    return HONE_OK;
}

hone_status hn_onnx_text(hn_arena *arena, hn_bytes b, const char *what, const char **out,
                         hn_error *err) {
    HN_CHECK(err, b.n == 0 || memchr(b.p, 0, b.n) == NULL, HONE_E_FORMAT,
             "%s has a zero byte inside", what);
    *out = b.n == 0 ? "" : hn_arena_strndup(arena, b.p, b.n);
    return *out != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_onnx_extra(hn_onnx_reader *r, hn_onnx_message message, hn_bytes bytes, uint32_t keep,
                          hn_bytes *out, hn_error *err) {
    unsigned char *copy = NULL;
    hn_wire_field f;
    for (int pass = 0; pass < 2; pass++) {
        size_t n = 0;
        hn_wire w = hn_onnx_open(r, message, bytes);
        while (hn_wire_next(&w, &f, err)) {
            if (f.kind != HN_WIRE_UNKNOWN && (keep >> f.number & 1) == 0) continue;
            if (pass == 1) memcpy(copy + n, f.whole.p, f.whole.n);
            n += f.whole.n;
        }
        HN_TRY(w.status);
        *out = (hn_bytes){copy, n};
        if (n == 0) return HONE_OK;
        if (pass == 0 && (copy = hn_arena_alloc(&r->model->arena, n)) == NULL) return HN_NOMEM(err);
    }
    return HONE_OK;
}

/* ---- small messages ---- */

static hone_status read_entry(hn_onnx_reader *r, hn_bytes bytes, hn_prop *out, hn_error *err) {
    hn_bytes key = nothing, value = nothing;
    hn_wire w = hn_onnx_open(r, HN_ONNX_ENTRY, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_ENTRY_KEY) key = f.bytes;
        if (f.number == HN_ONNX_ENTRY_VALUE) value = f.bytes;
    }
    HN_TRY(w.status);
    HN_TRY(hn_onnx_text(&r->model->arena, key, "a metadata key", &out->key, err));
    return hn_onnx_text(&r->model->arena, value, "a metadata value", &out->value, err);
}

hone_status hn_onnx_count(hn_onnx_reader *r, hn_onnx_message message, hn_bytes bytes,
                          uint32_t field, int *count, hn_error *err) {
    hn_wire w = hn_onnx_open(r, message, bytes);
    hn_wire_field f;
    int n = 0;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != field) continue;
        HN_CHECK(err, n < INT_MAX / 2, HONE_E_LIMIT, "a %s has too many fields", w.message->name);
        n++;
    }
    *count = n;
    return w.status;
}

static hone_status read_props(hn_onnx_reader *r, hn_onnx_message message, hn_bytes bytes,
                              uint32_t field, hn_props *out, hn_error *err) {
    int n;
    HN_TRY(hn_onnx_count(r, message, bytes, field, &n, err));
    if (n == 0) return HONE_OK;
    out->v = hn_arena_array(&r->model->arena, (size_t)n, sizeof *out->v);
    if (out->v == NULL) return HN_NOMEM(err);
    hn_wire w = hn_onnx_open(r, message, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err))
        if (f.number == field) HN_TRY(read_entry(r, f.bytes, &out->v[out->n++], err));
    return w.status;
}

hone_status hn_onnx_opset(hn_onnx_reader *r, hn_bytes bytes, hn_opset *out, hn_error *err) {
    hn_bytes domain = nothing;
    int64_t version = 0;
    hn_wire w = hn_onnx_open(r, HN_ONNX_OPSET, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_OPSET_DOMAIN) domain = f.bytes;
        if (f.number == HN_ONNX_OPSET_VERSION) version = (int64_t)f.value;
    }
    HN_TRY(w.status);
    HN_TRY(hn_onnx_text(&r->scratch, domain, "a domain", &out->domain, err));
    if (strcmp(out->domain, "ai.onnx") == 0) out->domain = "";
    int64_t most = out->domain[0] == '\0' ? HN_NEWEST_OPSET : INT_MAX;
    out->version = version > 0 && version <= most ? version : most; /* also if it is forgiven */
    HN_CHECK(err, version > 0 && version <= INT_MAX, HONE_E_MODEL,
             "the opset import of domain '%.200s' has version %lld, expected 1 or more",
             out->domain, (long long)version);
    HN_CHECK(err, out->domain[0] != '\0' || version <= HN_NEWEST_OPSET, HONE_E_UNSUPPORTED,
             "the model uses opset %lld of ai.onnx; the newest known is %d", (long long)version,
             HN_NEWEST_OPSET);
    return HONE_OK;
}

/* ---- types ---- */

/* A name that stands for any size, a new one each time. PaddlePaddle's exporter and others write
 * such sizes as numbers below 0, too. It stays in what the file states, to be written as it came.
 */
#define ANY_SIZE "?"

static hone_status read_dim(hn_onnx_reader *r, hn_bytes bytes, hn_dim *out, const char **denotation,
                            hn_error *err) {
    hn_dims *dims = &r->model->dims;
    const char *name;
    *out = NULL;
    hn_wire w = hn_onnx_open(r, HN_ONNX_DIM, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_DIM_DIM_VALUE) {
            int64_t size = (int64_t)f.value;
            HN_CHECK(err, size <= HN_DIM_MAX, HONE_E_MODEL, "a dim has the size %lld",
                     (long long)size);
            *out = size < 0 ? NULL : hn_dim_const(dims, size);
            if (size < 0) r->negative_dim = size;
        } else if (f.number == HN_ONNX_DIM_DIM_PARAM) {
            HN_TRY(hn_onnx_text(&r->scratch, f.bytes, "a dim_param", &name, err));
            *out = name[0] == '\0' ? NULL : hn_dim_symbol(dims, name);
            if (strcmp(name, ANY_SIZE) == 0) r->any_size = *out;
        } else if (f.number == HN_ONNX_DIM_DENOTATION) {
            HN_TRY(hn_onnx_text(&r->model->arena, f.bytes, "a denotation", denotation, err));
        }
    }
    if (*out == NULL) *out = hn_dim_fresh(dims, -1);
    return w.status;
}

static hone_status read_shape(hn_onnx_reader *r, hn_bytes bytes, hn_type *type, hn_error *err) {
    const char *denotations[HONE_MAX_RANK] = {NULL};
    bool any = false;
    type->shape.rank = 0;
    hn_wire w = hn_onnx_open(r, HN_ONNX_SHAPE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != HN_ONNX_SHAPE_DIM) continue;
        int i = type->shape.rank;
        HN_CHECK(err, i < HONE_MAX_RANK, HONE_E_MODEL, "a shape has more than %d axes",
                 HONE_MAX_RANK);
        HN_TRY(read_dim(r, f.bytes, &type->shape.dim[i], &denotations[i], err));
        any |= denotations[i] != NULL;
        type->shape.rank++;
    }
    if (any) {
        const char **copy =
            hn_arena_array(&r->model->arena, (size_t)type->shape.rank, sizeof *copy);
        if (copy == NULL) return HN_NOMEM(err);
        memcpy(copy, denotations, (size_t)type->shape.rank * sizeof *copy);
        type->dim_denotations = copy;
        type->n_denotations = type->shape.rank;
    }
    return w.status;
}

static hone_status read_tensor_type(hn_onnx_reader *r, hn_bytes bytes, hn_type *type,
                                    hn_error *err) {
    hn_wire w = hn_onnx_open(r, HN_ONNX_TENSOR_TYPE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_TENSOR_TYPE_ELEM_TYPE) {
            HN_CHECK(err, f.value == 0 || (f.value < INT_MAX && hn_dtype_valid((int)f.value)),
                     HONE_E_MODEL, "the element type %lld is unknown", (long long)f.value);
            type->dtype = (hone_dtype)f.value;
        } else if (f.number == HN_ONNX_TENSOR_TYPE_SHAPE) {
            HN_TRY(read_shape(r, f.bytes, type, err));
        }
    }
    return w.status;
}

static hone_status read_type(hn_onnx_reader *r, hn_bytes bytes, hn_type *type, hn_error *err) {
    *type = (hn_type){.shape.rank = -1};
    hn_wire w = hn_onnx_open(r, HN_ONNX_TYPE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        switch (f.number) {
            case HN_ONNX_TYPE_DENOTATION:
                HN_TRY(hn_onnx_text(&r->model->arena, f.bytes, "a denotation", &type->denotation,
                                    err));
                break;
            case HN_ONNX_TYPE_TENSOR_TYPE:
            case HN_ONNX_TYPE_SPARSE_TENSOR_TYPE:
                type->kind = f.number == HN_ONNX_TYPE_TENSOR_TYPE ? HN_TYPE_TENSOR : HN_TYPE_SPARSE;
                HN_TRY(read_tensor_type(r, f.bytes, type, err));
                break;
            case HN_ONNX_TYPE_SEQUENCE_TYPE:
            case HN_ONNX_TYPE_MAP_TYPE:
            case HN_ONNX_TYPE_OPAQUE_TYPE:
            case HN_ONNX_TYPE_OPTIONAL_TYPE: type->kind = HN_TYPE_OTHER; break;
        }
    }
    HN_TRY(w.status);
    if (type->kind != HN_TYPE_OTHER) return HONE_OK;
    void *copy = hn_arena_alloc(&r->model->arena, bytes.n);
    if (copy == NULL) return HN_NOMEM(err);
    memcpy(copy, bytes.p, bytes.n);
    *type = (hn_type){.kind = HN_TYPE_OTHER, .shape.rank = -1, .other = {copy, bytes.n}};
    return HONE_OK;
}

/* ---- names ---- */

static hn_value *resolve(const hn_onnx_scope *s, hn_bytes name) {
    for (; s != NULL; s = s->outer) {
        hn_value *v = hn_map_get(s->names, name.p, name.n);
        if (v != NULL) return v;
    }
    return NULL;
}

bool hn_onnx_unclaimed(const hn_value *v) {
    return v != &hn_onnx_absent && v->producer == NULL && v->constant == NULL && !v->is_input;
}

static hone_status define(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes name,
                          const char *what, hn_value **out, hn_error *err) {
    HN_CHECK(err, name.n > 0, HONE_E_MODEL, "%s has no name", what);
    hn_value *before = hn_map_get(s->names, name.p, name.n);
    if (before != NULL && s->call != NULL && hn_onnx_unclaimed(before)) {
        *out = before;
        return HONE_OK;
    }
    HN_CHECK(err, before == NULL && resolve(s->outer, name) == NULL, HONE_E_MODEL,
             "%s is called '%.*s', but that name is already given to another value", what,
             TEXT(name));
    const char *text;
    HN_TRY(hn_onnx_text(&r->scratch, name, "the name of a value", &text, err));
    if (s->call == NULL) return hn_value_create(out, s->graph, text, NULL, err);
    HN_TRY(hn_value_create(out, s->graph, NULL, text, err));
    return hn_map_put(s->names, name.p, name.n, *out) ? HONE_OK : HN_NOMEM(err);
}

/* Like define; where that is forgiven, a value under a made-up name. */
static hone_status claim(hn_onnx_reader *r, const hn_onnx_scope *s, const hn_node *n, hn_bytes name,
                         const char *what, hn_value **out, hn_error *err) {
    *out = NULL;
    HN_TRY(hn_onnx_forgive(r, n, define(r, s, name, what, out, err), err));
    return *out != NULL ? HONE_OK : hn_value_create(out, s->graph, NULL, "unnamed", err);
}

/* ---- attributes ---- */

static hone_status read_graph(hn_onnx_reader *r, const hn_onnx_scope *outer, hn_node *owner,
                              hn_bytes bytes, hn_graph **out, hn_error *err);

typedef struct attr_head {
    hn_bytes name, ref, doc;
    int64_t type;
    uint32_t present;   /* bit n: value field number n is there */
    hn_wire_field last; /* the last value field: the value of the types that are not lists */
    size_t count;       /* elements of all value fields */
    bool untyped;       /* the type was told from the value */
} attr_head;

static hone_status read_attr_head(hn_onnx_reader *r, hn_bytes bytes, attr_head *h, hn_error *err) {
    *h = (attr_head){.name = nothing, .ref = nothing, .doc = nothing};
    hn_wire w = hn_onnx_open(r, HN_ONNX_ATTRIBUTE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        size_t n = 1;
        switch (f.number) {
            case HN_ONNX_ATTRIBUTE_NAME: h->name = f.bytes; break;
            case HN_ONNX_ATTRIBUTE_REF_ATTR_NAME: h->ref = f.bytes; break;
            case HN_ONNX_ATTRIBUTE_DOC_STRING: h->doc = f.bytes; break;
            case HN_ONNX_ATTRIBUTE_TYPE: h->type = (int64_t)f.value; break;
            default:
                if (f.kind == HN_WIRE_UNKNOWN) break;
                if (f.kind == HN_WIRE_INTS || f.kind == HN_WIRE_FLOATS)
                    HN_TRY(hn_wire_count(&w, &f, &n, err));
                h->present |= 1u << f.number;
                h->count += n;
                h->last = f;
        }
    }
    HN_TRY(w.status);
    HN_CHECK(err, h->name.n > 0, HONE_E_MODEL, "an attribute has no name");
    if (h->ref.n > 0) return HONE_OK; /* the type and value are those of the other */
    h->untyped = h->type == HN_ATTR_NONE;
    if (h->untyped) /* files older than the field */
        for (int t = 1; t < HN_ONNX_ATTR_TYPES; t++)
            if (h->present == 1u << hn_onnx_attr_fields[t]) h->type = t;
    HN_CHECK(err, h->type > 0 && h->type < HN_ONNX_ATTR_TYPES, HONE_E_MODEL,
             "attribute '%.*s' has the unknown type %lld", TEXT(h->name), (long long)h->type);
    HN_CHECK(err, (h->present & ~(1u << hn_onnx_attr_fields[h->type])) == 0, HONE_E_MODEL,
             "attribute '%.*s' says it is %s but holds another type", TEXT(h->name),
             hn_attr_type_name((hn_attr_type)h->type));
    HN_CHECK(err, h->count <= INT_MAX, HONE_E_LIMIT, "attribute '%.*s' has %zu elements",
             TEXT(h->name), h->count);
    return HONE_OK;
}

static hone_status read_string(hn_onnx_reader *r, hn_bytes b, hn_str *out, hn_error *err) {
    *out = (hn_str){b.n > 0 ? hn_arena_strndup(&r->model->arena, b.p, b.n) : "", b.n};
    return out->p != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status copy_bytes(hn_onnx_reader *r, hn_bytes b, hn_bytes *out, hn_error *err) {
    hn_str s;
    HN_TRY(read_string(r, b, &s, err));
    *out = (hn_bytes){s.p, s.n};
    return HONE_OK;
}

static hone_status read_tensor_extra(hn_onnx_reader *r, hn_bytes bytes, hn_attr *a, int i,
                                     hn_error *err) {
    hn_bytes extra;
    HN_TRY(hn_onnx_extra(r, HN_ONNX_TENSOR, bytes, 1u << HN_ONNX_TENSOR_NAME, &extra, err));
    if (extra.n == 0) return HONE_OK;
    if (a->extra == NULL) {
        size_t n = a->type == HN_ATTR_TENSORS ? (size_t)a->n : 1;
        a->extra = hn_arena_array(&r->model->arena, n, sizeof *a->extra);
        if (a->extra == NULL) return HN_NOMEM(err);
    }
    a->extra[i] = extra;
    return HONE_OK;
}

/* Adds the elements of one value field to a list; *at counts them. */
static hone_status read_elements(hn_onnx_reader *r, const hn_onnx_scope *s, hn_node *node,
                                 hn_attr *a, const hn_wire *w, const hn_wire_field *f, int *at,
                                 void *list, hn_error *err) {
    size_t n = 1;
    int i = *at;
    switch (a->type) {
        case HN_ATTR_FLOATS:
            HN_TRY(hn_wire_count(w, f, &n, err));
            hn_wire_floats(f, (float *)list + i);
            break;
        case HN_ATTR_INTS:
            HN_TRY(hn_wire_count(w, f, &n, err));
            hn_wire_ints(f, (int64_t *)list + i);
            break;
        case HN_ATTR_STRINGS: HN_TRY(read_string(r, f->bytes, (hn_str *)list + i, err)); break;
        case HN_ATTR_TENSORS:
            HN_TRY(hn_onnx_tensor(r, f->bytes, &a->u.tensors[i], NULL, err));
            HN_TRY(read_tensor_extra(r, f->bytes, a, i, err));
            break;
        case HN_ATTR_SPARSE_TENSORS:
            HN_TRY(hn_onnx_sparse(r, f->bytes, &a->u.tensors[i], NULL, err));
            break;
        case HN_ATTR_GRAPHS: HN_TRY(read_graph(r, s, node, f->bytes, &a->u.graphs[i], err)); break;
        default: HN_TRY(copy_bytes(r, f->bytes, (hn_bytes *)list + i, err)); break;
    }
    *at += (int)n;
    return HONE_OK;
}

static size_t element_size(hn_attr_type t) {
    switch (t) {
        case HN_ATTR_FLOATS: return sizeof(float);
        case HN_ATTR_INTS: return sizeof(int64_t);
        case HN_ATTR_STRINGS: return sizeof(hn_str);
        case HN_ATTR_TYPE_PROTOS: return sizeof(hn_bytes);
        case HN_ATTR_TENSORS:
        case HN_ATTR_SPARSE_TENSORS:
        case HN_ATTR_GRAPHS: return sizeof(void *);
        default: return 0; /* not a list */
    }
}

static hone_status read_list(hn_onnx_reader *r, const hn_onnx_scope *s, hn_node *node, hn_attr *a,
                             const attr_head *h, hn_bytes bytes, hn_error *err) {
    void *list = hn_arena_array(&r->model->arena, h->count, element_size(a->type));
    if (list == NULL) return HN_NOMEM(err);
    switch (a->type) {
        case HN_ATTR_FLOATS: a->u.floats = list; break;
        case HN_ATTR_INTS: a->u.ints = list; break;
        case HN_ATTR_STRINGS: a->u.strings = list; break;
        case HN_ATTR_GRAPHS: a->u.graphs = list; break;
        case HN_ATTR_TYPE_PROTOS: a->u.protos = list; break;
        default: a->u.tensors = list; break;
    }
    a->n = (int)h->count;
    hn_wire w = hn_onnx_open(r, HN_ONNX_ATTRIBUTE, bytes);
    hn_wire_field f;
    int at = 0;
    while (hn_wire_next(&w, &f, err))
        if (f.number == hn_onnx_attr_fields[a->type])
            HN_TRY(read_elements(r, s, node, a, &w, &f, &at, list, err));
    return w.status;
}

static hone_status read_attr_value(hn_onnx_reader *r, const hn_onnx_scope *s, hn_node *node,
                                   hn_attr *a, const attr_head *h, hn_bytes bytes, hn_error *err) {
    hn_bytes value = h->present != 0 ? h->last.bytes : nothing;
    uint32_t bits = (uint32_t)h->last.value;
    if (element_size(a->type) > 0) return read_list(r, s, node, a, h, bytes, err);
    HN_CHECK(err, h->present != 0 || a->type <= HN_ATTR_STRING, HONE_E_MODEL, "it has no value");
    switch (a->type) {
        case HN_ATTR_FLOAT: memcpy(&a->u.f, &bits, sizeof bits); return HONE_OK;
        case HN_ATTR_INT: a->u.i = (int64_t)h->last.value; return HONE_OK;
        case HN_ATTR_STRING: return read_string(r, value, &a->u.s, err);
        case HN_ATTR_TENSOR:
            HN_TRY(hn_onnx_tensor(r, value, &a->u.tensor, NULL, err));
            return read_tensor_extra(r, value, a, 0, err);
        case HN_ATTR_SPARSE_TENSOR: return hn_onnx_sparse(r, value, &a->u.tensor, NULL, err);
        case HN_ATTR_GRAPH: return read_graph(r, s, node, value, &a->u.graph, err);
        default: return copy_bytes(r, value, &a->u.bytes, err);
    }
}

/* The value of an attribute of the call, under another name. */
static hone_status copy_attr(hn_onnx_reader *r, hn_node *node, hn_attr *a, hn_attr *from,
                             hn_error *err) {
    HN_CHECK(err, from->type != HN_ATTR_NONE, HONE_E_UNSUPPORTED,
             "a function uses the graph of its attribute '%.200s' more than once", from->name);
    a->type = from->type;
    a->extra = from->extra;
    if (a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR) {
        a->u.tensor = hn_tensor_ref(from->u.tensor);
    } else if (a->type == HN_ATTR_TENSORS || a->type == HN_ATTR_SPARSE_TENSORS) {
        a->u.tensors = hn_arena_array(&r->model->arena, (size_t)from->n, sizeof *a->u.tensors);
        if (a->u.tensors == NULL) return HN_NOMEM(err);
        for (; a->n < from->n; a->n++) a->u.tensors[a->n] = hn_tensor_ref(from->u.tensors[a->n]);
    } else if (a->type == HN_ATTR_GRAPH || a->type == HN_ATTR_GRAPHS) {
        return hn_onnx_move_graphs(node, a, from, err);
    } else {
        a->u = from->u;
        a->n = from->n;
    }
    return HONE_OK;
}

/* An attribute that refers to one of the function: the caller's, else its default, else it stays
 * without a type. */
static hone_status read_reference(hn_onnx_reader *r, const hn_onnx_scope *s, hn_node *node,
                                  hn_attr *a, const attr_head *h, hn_error *err) {
    hn_attr *given;
    hn_bytes fallback;
    attr_head d;
    HN_CHECK(err, s->call != NULL, HONE_E_MODEL,
             "it refers to attribute '%.*s' of a function, but is in none", TEXT(h->ref));
    HN_TRY(hn_onnx_argument(r, s->call, h->ref, &given, &fallback, err));
    if (given == NULL && fallback.n == 0) return HONE_OK;
    if (given != NULL) {
        HN_TRY(copy_attr(r, node, a, given, err));
    } else {
        HN_TRY(read_attr_head(r, fallback, &d, err));
        HN_CHECK(err, d.ref.n == 0, HONE_E_MODEL,
                 "the default of '%.*s' refers to another attribute", TEXT(h->ref));
        a->type = (hn_attr_type)d.type;
        HN_TRY(read_attr_value(r, s, node, a, &d, fallback, err));
    }
    HN_CHECK(err, h->type == HN_ATTR_NONE || h->type == (int64_t)a->type, HONE_E_MODEL,
             "it is %s, but the attribute it refers to is %s",
             hn_attr_type_name((hn_attr_type)h->type), hn_attr_type_name(a->type));
    return HONE_OK;
}

/* `end` is where the node's list of attributes ends; it is moved on. */
static hone_status read_attr(hn_onnx_reader *r, const hn_onnx_scope *s, hn_node *node,
                             hn_bytes bytes, hn_attr ***end, hn_error *err) {
    attr_head h;
    HN_TRY(read_attr_head(r, bytes, &h, err));
    if (h.untyped && r->finding != NULL)
        HN_TRY(hn_onnx_forgive(
            r, node,
            HN_FAIL(err, HONE_E_MODEL, "attribute '%.*s' does not say its type", TEXT(h.name)),
            err));
    hn_attr *a = hn_arena_zero(&r->model->arena, sizeof *a);
    if (a == NULL) return HN_NOMEM(err);
    HN_TRY(hn_onnx_text(&r->model->arena, h.name, "the name of an attribute", &a->name, err));
    HN_TRY(hn_onnx_text(&r->model->arena, h.doc, "a doc string", &a->doc, err));
    a->type = h.ref.n == 0 ? (hn_attr_type)h.type : HN_ATTR_NONE;
    **end = a;
    hone_status status = h.ref.n == 0 ? read_attr_value(r, s, node, a, &h, bytes, err)
                                      : read_reference(r, s, node, a, &h, err);
    if (status != HONE_OK && has_room(err)) hn_error_context(err, "attribute '%.200s'", a->name);
    if (status == HONE_OK && a->type == HN_ATTR_NONE)
        **end = NULL;
    else
        *end = &a->next;
    return status;
}

/* ---- nodes ---- */

/* The version of the operator set a node is written in. */
static hone_status opset_of(hn_onnx_reader *r, const hn_onnx_scope *s, const char *domain,
                            int64_t *out, hn_error *err) {
    int64_t version = 0;
    if (s->call == NULL) version = hn_model_opset(r->model, domain);
    for (int i = 0; s->call != NULL && i < s->call->function->n_opsets; i++)
        if (strcmp(s->call->function->opsets[i].domain, domain) == 0)
            version = s->call->function->opsets[i].version;
    *out = version > 0 ? version : 1;
    if (version > 0 || domain[0] != '\0') return HONE_OK;
    HN_TRY(hn_onnx_forgive(
        r, NULL,
        HN_FAIL(err, HONE_E_MODEL,
                "no opset of ai.onnx is imported, so it is not known what its operators mean"),
        err));
    *out = HN_NEWEST_OPSET;
    return hn_model_set_opset(r->model, "", HN_NEWEST_OPSET, err); /* and it is told once */
}

typedef struct node_head {
    hn_bytes name, op_type, domain, overload, doc;
    int n_inputs, n_outputs;
} node_head;

static hone_status read_node_head(hn_onnx_reader *r, hn_bytes bytes, node_head *h, hn_error *err) {
    *h = (node_head){nothing, nothing, nothing, nothing, nothing, 0, 0};
    hn_wire w = hn_onnx_open(r, HN_ONNX_NODE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        HN_CHECK(err, h->n_inputs < INT_MAX && h->n_outputs < INT_MAX, HONE_E_LIMIT,
                 "a node has too many inputs or outputs");
        switch (f.number) {
            case HN_ONNX_NODE_INPUT: h->n_inputs++; break;
            case HN_ONNX_NODE_OUTPUT: h->n_outputs++; break;
            case HN_ONNX_NODE_NAME: h->name = f.bytes; break;
            case HN_ONNX_NODE_OP_TYPE: h->op_type = f.bytes; break;
            case HN_ONNX_NODE_DOMAIN: h->domain = f.bytes; break;
            case HN_ONNX_NODE_OVERLOAD: h->overload = f.bytes; break;
            case HN_ONNX_NODE_DOC_STRING: h->doc = f.bytes; break;
        }
    }
    HN_TRY(w.status);
    if (h->op_type.n > 0) return HONE_OK;
    return hn_onnx_forgive(
        r, NULL, HN_FAIL(err, HONE_E_MODEL, "node '%.*s' names no operator", TEXT(h->name)), err);
}

static hone_status create_node(hn_onnx_reader *r, const hn_onnx_scope *s, const node_head *h,
                               hn_node **out, hn_error *err) {
    const char *name, *op_type, *domain;
    HN_TRY(hn_onnx_text(&r->scratch, h->name, "the name of a node", &name, err));
    HN_TRY(hn_onnx_text(&r->scratch, h->op_type, "an operator", &op_type, err));
    HN_TRY(hn_onnx_text(&r->scratch, h->domain, "a domain", &domain, err));
    if (s->call != NULL && name[0] != '\0') {
        const char *call = s->call->node->name;
        if (call[0] != '\0' && strlen(call) <= LONGEST_PREFIX) name = hn_onnx_join(r, call, name);
        if (name == NULL) return HN_NOMEM(err);
    }
    return hn_node_create(out, s->graph, domain, op_type, name, h->n_inputs, h->n_outputs, err);
}

/* The node with its outputs, so that every value has a name before one is looked up. */
static hone_status begin_node(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                              hn_node *before, hn_node **out, hn_error *err) {
    node_head h;
    hn_node *n;
    HN_TRY(read_node_head(r, bytes, &h, err));
    HN_TRY(create_node(r, s, &h, &n, err));
    hn_node_insert(n, before);
    *out = n;
    n->op = hn_op_find(n->domain, n->op_type);
    n->old = true;
    n->mark = s->call != NULL ? s->call->id : 0;
    HN_TRY(hn_onnx_text(&r->model->arena, h.doc, "a doc string", &n->doc, err));
    HN_TRY(hn_onnx_text(&r->model->arena, h.overload, "an overload", &n->overload, err));
    HN_TRY(read_props(r, HN_ONNX_NODE, bytes, HN_ONNX_NODE_METADATA_PROPS, &n->metadata, err));
    HN_TRY(hn_onnx_extra(r, HN_ONNX_NODE, bytes, 0, &n->extra, err));

    hn_wire w = hn_onnx_open(r, HN_ONNX_NODE, bytes);
    hn_wire_field f;
    for (int i = 0; hn_wire_next(&w, &f, err);) {
        if (f.number != HN_ONNX_NODE_OUTPUT) continue;
        hn_value *v;
        if (f.bytes.n > 0) {
            HN_TRY(claim(r, s, n, f.bytes, "an output", &v, err));
            hn_node_set_output(n, i, v);
        }
        i++;
    }
    HN_TRY(w.status);
    return opset_of(r, s, n->domain, &n->opset, err);
}

/* Its inputs and attributes. */
static hone_status read_input(hn_onnx_reader *r, const hn_onnx_scope *s, hn_node *n, int i,
                              hn_bytes name, hn_error *err) {
    hn_value *v = resolve(s, name);
    if (v == NULL) {
        HN_TRY(hn_onnx_forgive(
            r, n, HN_FAIL(err, HONE_E_MODEL, "input '%.*s' is computed nowhere", TEXT(name)), err));
        HN_TRY(define(r, s, name, "an input", &v, err)); /* so that it is told once */
    }
    hn_node_set_input(n, i, v != &hn_onnx_absent ? v : NULL);
    return HONE_OK;
}

/* Part of what the node says could not be read, so nothing is concluded from the rest. */
static void disown(hn_node *n) {
    n->op = NULL;
    n->old = false;
}

static hone_status finish_node(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                               hn_node *n, hn_error *err) {
    hn_attr **end = &n->attrs;
    int i = 0, n_attrs = 0;
    hn_wire w = hn_onnx_open(r, HN_ONNX_NODE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_NODE_INPUT) {
            if (f.bytes.n > 0) HN_TRY(read_input(r, s, n, i, f.bytes, err));
            i++;
        } else if (f.number == HN_ONNX_NODE_ATTRIBUTE) {
            HN_CHECK(err, ++n_attrs <= HN_ONNX_MOST_ATTRS, HONE_E_LIMIT,
                     "it has more than %d attributes", HN_ONNX_MOST_ATTRS);
            hone_status status = read_attr(r, s, n, f.bytes, &end, err);
            HN_TRY(hn_onnx_forgive(r, n, status, err));
            if (status != HONE_OK) disown(n);
        }
    }
    HN_TRY(w.status);
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next) {
        if (hn_node_attr(n, a->name) == a) continue;
        HN_TRY(hn_onnx_forgive(
            r, n, HN_FAIL(err, HONE_E_MODEL, "attribute '%.200s' is given twice", a->name), err));
    }
    return HONE_OK;
}

hone_status hn_onnx_nodes(hn_onnx_reader *r, const hn_onnx_scope *s, hn_onnx_message message,
                          hn_bytes bytes, uint32_t field, hn_node *before, hn_error *err) {
    char label[320];
    hn_node *first = NULL;
    hn_wire_field f;
    hn_wire w = hn_onnx_open(r, message, bytes);
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != field) continue;
        hn_node *n = NULL;
        hone_status status = begin_node(r, s, f.bytes, before, &n, err);
        if (status != HONE_OK && n != NULL && has_room(err))
            hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
        HN_TRY(status);
        if (first == NULL) first = n;
    }
    HN_TRY(w.status);
    w = hn_onnx_open(r, message, bytes);
    for (hn_node *n = first; n != before && hn_wire_next(&w, &f, err);) {
        if (f.number != field) continue;
        hone_status status = finish_node(r, s, f.bytes, n, err);
        if (status != HONE_OK && has_room(err))
            hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
        HN_TRY(status);
        n = n->next;
    }
    return w.status;
}

/* ---- graphs ---- */

typedef struct value_info {
    hn_bytes name, type, doc;
} value_info;

static hone_status read_value_info(hn_onnx_reader *r, hn_bytes bytes, value_info *out,
                                   hn_error *err) {
    *out = (value_info){nothing, nothing, nothing};
    hn_wire w = hn_onnx_open(r, HN_ONNX_VALUE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_VALUE_NAME) out->name = f.bytes;
        if (f.number == HN_ONNX_VALUE_TYPE) out->type = f.bytes;
        if (f.number == HN_ONNX_VALUE_DOC_STRING) out->doc = f.bytes;
    }
    return w.status;
}

/* What a ValueInfoProto says about the value. A constant has the type of its tensor, except that an
 * input with a default keeps its own: the caller may bring another size. */
static hone_status describe(hn_onnx_reader *r, hn_value *v, const value_info *info, hn_bytes bytes,
                            hn_error *err) {
    hn_type *type = hn_arena_alloc(&r->model->arena, sizeof *type);
    if (type == NULL) return HN_NOMEM(err);
    r->negative_dim = 0;
    hone_status status = read_type(r, info->type, type, err);
    if (r->negative_dim < 0 && r->finding != NULL)
        hn_log(HONE_LOG_WARN, "'%.200s' has an axis of size %lld, which is read as an unknown size",
               v->name, (long long)r->negative_dim);
    if (status != HONE_OK) {
        hn_error_context(err, "'%.200s'", v->name);
        HN_TRY(hn_onnx_forgive(r, NULL, status, err));
        *type = (hn_type){.kind = HN_TYPE_TENSOR, .shape.rank = -1};
    }
    if (v->constant != NULL && type->dtype != HONE_DTYPE_NONE &&
        type->dtype != v->constant->dtype) {
        status =
            HN_FAIL(err, HONE_E_MODEL, "'%.200s' is declared as %s, but its initializer is %s",
                    v->name, hone_dtype_name(type->dtype), hone_dtype_name(v->constant->dtype));
        HN_TRY(hn_onnx_forgive(r, NULL, status, err));
    }
    v->stated = type;
    if (type->kind != HN_TYPE_NONE && (v->constant == NULL || v->is_input)) v->type = *type;
    for (int i = 0; i < v->type.shape.rank && r->any_size != NULL; i++)
        if (v->type.shape.dim[i] == r->any_size)
            v->type.shape.dim[i] = hn_dim_fresh(&r->model->dims, -1);
    if (info->doc.n > 0)
        HN_TRY(hn_onnx_text(&r->model->arena, info->doc, "a doc string", &v->doc, err));
    return read_props(r, HN_ONNX_VALUE, bytes, HN_ONNX_VALUE_METADATA_PROPS, &v->metadata, err);
}

static hone_status read_initializer(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                                    bool sparse, hn_error *err) {
    hn_tensor *t = NULL;
    hn_bytes name = nothing;
    hn_value *v;
    hone_status status = sparse ? hn_onnx_sparse(r, bytes, &t, &name, err)
                                : hn_onnx_tensor(r, bytes, &t, &name, err);
    if (status == HONE_OK) {
        /* Before IR version 4 the inputs are there already. */
        v = hn_map_get(s->names, name.p, name.n);
        if (v == NULL || v->constant != NULL)
            status = define(r, s, name, "an initializer", &v, err);
    }
    if (status != HONE_OK) {
        hn_error_context(err, "initializer '%.*s'", TEXT(name));
        hn_tensor_unref(t);
        HN_TRY(hn_onnx_forgive(r, NULL, status, err));
        /* The name is there, whatever its contents are. */
        return name.n > 0 && resolve(s, name) == NULL
                   ? define(r, s, name, "an initializer", &v, err)
                   : HONE_OK;
    }
    hn_value_set_constant(v, t);
    return sparse ? HONE_OK : hn_onnx_extra(r, HN_ONNX_TENSOR, bytes, 0, &v->extra, err);
}

static hone_status read_initializers(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                                     hn_error *err) {
    hn_wire w = hn_onnx_open(r, HN_ONNX_GRAPH, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err))
        if (f.number == HN_ONNX_GRAPH_INITIALIZER || f.number == HN_ONNX_GRAPH_SPARSE_INITIALIZER)
            HN_TRY(
                read_initializer(r, s, f.bytes, f.number == HN_ONNX_GRAPH_SPARSE_INITIALIZER, err));
    return w.status;
}

/* Before IR version 4, inputs are made before the initializers, so that they are saved in the order
 * they came. */
static hone_status name_inputs(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                               hn_error *err) {
    hn_wire w = hn_onnx_open(r, HN_ONNX_GRAPH, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != HN_ONNX_GRAPH_INPUT) continue;
        value_info info;
        hn_value *v;
        HN_TRY(read_value_info(r, f.bytes, &info, err));
        HN_TRY(claim(r, s, NULL, info.name, "an input of the graph", &v, err));
    }
    return w.status;
}

static hone_status read_inputs(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                               hn_error *err) {
    bool overridable = r->model->ir_version >= 4;
    hn_wire w = hn_onnx_open(r, HN_ONNX_GRAPH, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != HN_ONNX_GRAPH_INPUT) continue;
        value_info info;
        HN_TRY(read_value_info(r, f.bytes, &info, err));
        hn_value *v = hn_map_get(s->names, info.name.p, info.name.n);
        if (v == NULL) HN_TRY(claim(r, s, NULL, info.name, "an input of the graph", &v, err));
        if (v->constant == NULL || overridable) {
            hone_status status = hn_graph_add_input(s->graph, v, err);
            HN_TRY(hn_onnx_forgive(r, NULL, status, err));
            if (status != HONE_OK) continue;
        }
        HN_TRY(describe(r, v, &info, f.bytes, err));
    }
    return w.status;
}

/* Outputs and value_info, once all values are there. */
static hone_status read_outputs(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                                hn_error *err) {
    hn_wire w = hn_onnx_open(r, HN_ONNX_GRAPH, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != HN_ONNX_GRAPH_OUTPUT && f.number != HN_ONNX_GRAPH_VALUE_INFO) continue;
        value_info info;
        HN_TRY(read_value_info(r, f.bytes, &info, err));
        hn_value *v = hn_map_get(s->names, info.name.p, info.name.n);
        bool here = v != NULL;
        if (f.number == HN_ONNX_GRAPH_OUTPUT) {
            if (!here) v = resolve(s, info.name);
            if (v == NULL || v == &hn_onnx_absent) {
                HN_TRY(
                    hn_onnx_forgive(r, NULL,
                                    HN_FAIL(err, HONE_E_MODEL, "output '%.*s' is computed nowhere",
                                            TEXT(info.name)),
                                    err));
                continue;
            }
            HN_TRY(hn_graph_add_output(s->graph, v, err));
        } else if (here) {
            v->declared = true;
        }
        if (here && !v->is_input) HN_TRY(describe(r, v, &info, f.bytes, err));
    }
    return w.status;
}

static hone_status read_graph_head(hn_onnx_reader *r, hn_graph *g, hn_bytes bytes, hn_error *err) {
    hn_wire w = hn_onnx_open(r, HN_ONNX_GRAPH, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_GRAPH_NAME)
            HN_TRY(hn_onnx_text(&r->model->arena, f.bytes, "the name of a graph", &g->name, err));
        if (f.number == HN_ONNX_GRAPH_DOC_STRING)
            HN_TRY(hn_onnx_text(&r->model->arena, f.bytes, "a doc string", &g->doc, err));
    }
    HN_TRY(w.status);
    HN_TRY(read_props(r, HN_ONNX_GRAPH, bytes, HN_ONNX_GRAPH_METADATA_PROPS, &g->metadata, err));
    return hn_onnx_extra(r, HN_ONNX_GRAPH, bytes, 0, &g->extra, err);
}

static hone_status fill_graph(hn_onnx_reader *r, const hn_onnx_scope *s, hn_bytes bytes,
                              hn_error *err) {
    HN_TRY(read_graph_head(r, s->graph, bytes, err));
    if (r->model->ir_version < 4) HN_TRY(name_inputs(r, s, bytes, err));
    HN_TRY(read_initializers(r, s, bytes, err));
    HN_TRY(read_inputs(r, s, bytes, err));
    HN_TRY(hn_onnx_nodes(r, s, HN_ONNX_GRAPH, bytes, HN_ONNX_GRAPH_NODE, NULL, err));
    HN_TRY(read_outputs(r, s, bytes, err));
    HN_CHECK(err, r->model->dims.status == HONE_OK, r->model->dims.status, "%s",
             hone_status_text(r->model->dims.status));
    return HONE_OK;
}

static hone_status read_graph(hn_onnx_reader *r, const hn_onnx_scope *outer, hn_node *owner,
                              hn_bytes bytes, hn_graph **out, hn_error *err) {
    hn_graph *g;
    HN_TRY(hn_graph_create(&g, r->model, outer != NULL ? outer->graph : NULL, err));
    g->owner = owner;
    hn_onnx_scope s = {outer, g, &g->names, outer != NULL ? outer->call : NULL};
    hn_map names; /* in a function, names of the file are not those of the values */
    hn_map_init(&names, r->alloc);
    if (s.call != NULL) s.names = &names;
    hone_status status = fill_graph(r, &s, bytes, err);
    hn_map_deinit(&names);
    if (status == HONE_OK) *out = g;
    return status;
}

/* ---- the model ---- */

static hone_status read_model_head(hn_onnx_reader *r, hn_bytes bytes, hn_bytes *graph,
                                   hn_error *err) {
    hn_model *m = r->model;
    const struct {
        uint32_t field;
        const char *what, **text;
    } texts[] = {
        {HN_ONNX_MODEL_PRODUCER_NAME, "producer_name", &m->producer_name},
        {HN_ONNX_MODEL_PRODUCER_VERSION, "producer_version", &m->producer_version},
        {HN_ONNX_MODEL_DOMAIN, "domain", &m->domain},
        {HN_ONNX_MODEL_DOC_STRING, "doc_string", &m->doc},
    };
    hn_wire w = hn_onnx_open(r, HN_ONNX_MODEL, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        hn_opset opset;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (f.number == texts[i].field)
                HN_TRY(hn_onnx_text(&m->arena, f.bytes, texts[i].what, texts[i].text, err));
        switch (f.number) {
            case HN_ONNX_MODEL_IR_VERSION: m->ir_version = (int64_t)f.value; break;
            case HN_ONNX_MODEL_MODEL_VERSION: m->model_version = (int64_t)f.value; break;
            case HN_ONNX_MODEL_FUNCTIONS:
                HN_TRY(hn_onnx_forgive(r, NULL, hn_onnx_add_function(r, f.bytes, err), err));
                break;
            case HN_ONNX_MODEL_OPSET_IMPORT:
                HN_TRY(hn_onnx_forgive(r, NULL, hn_onnx_opset(r, f.bytes, &opset, err), err));
                HN_TRY(hn_model_set_opset(m, opset.domain, opset.version, err));
                HN_CHECK(err, m->n_opsets <= HN_ONNX_MOST_OPSETS, HONE_E_LIMIT,
                         "the model imports more than %d operator sets", HN_ONNX_MOST_OPSETS);
                break;
            case HN_ONNX_MODEL_GRAPH:
                HN_CHECK(err, graph->p == NULL, HONE_E_MODEL, "the model has two graphs");
                *graph = f.bytes;
                break;
        }
    }
    HN_TRY(w.status);
    if (m->ir_version < HN_OLDEST_IR || m->ir_version > HN_NEWEST_IR) {
        hone_status status =
            HN_FAIL(err, m->ir_version > HN_NEWEST_IR ? HONE_E_UNSUPPORTED : HONE_E_MODEL,
                    "IR version %lld, expected %d to %d", (long long)m->ir_version, HN_OLDEST_IR,
                    HN_NEWEST_IR);
        HN_TRY(hn_onnx_forgive(r, NULL, status, err));
        m->ir_version = HN_NEWEST_IR;
    }
    HN_CHECK(err, graph->p != NULL, HONE_E_MODEL, "the model has no graph");
    HN_TRY(read_props(r, HN_ONNX_MODEL, bytes, HN_ONNX_MODEL_METADATA_PROPS, &m->metadata, err));
    return hn_onnx_extra(r, HN_ONNX_MODEL, bytes, 0, &m->extra, err);
}

/* The node of g that n is or is inside of. */
static const hn_node *node_in(const hn_graph *g, const hn_node *n) {
    while (n->graph != g) n = n->graph->owner;
    return n;
}

/* Tells of each node that uses what a later one computes. */
static hone_status tell_order(hn_onnx_reader *r, hn_error *err) {
    uint64_t at = 0;
    for (int i = 0; i < r->model->n_graphs; i++)
        for (hn_node *n = r->model->graphs[i]->first; n != NULL; n = n->next) n->mark = at++;
    for (int i = 0; i < r->model->n_graphs; i++) {
        for (const hn_node *n = r->model->graphs[i]->first; n != NULL; n = n->next) {
            for (int k = 0; k < n->n_inputs; k++) {
                const hn_value *v = n->inputs[k].value;
                if (v == NULL || v->producer == NULL ||
                    v->producer->mark < node_in(v->graph, n)->mark)
                    continue;
                HN_TRY(
                    hn_onnx_forgive(r, n,
                                    HN_FAIL(err, HONE_E_MODEL,
                                            "input '%.200s' is computed by a later node", v->name),
                                    err));
            }
        }
    }
    return HONE_OK;
}

static hone_status sort_graphs(hn_onnx_reader *r, hn_error *err) {
    hn_model *m = r->model;
    if (r->finding != NULL) HN_TRY(tell_order(r, err));
    for (int i = 0; i < m->n_graphs; i++) {
        bool moved;
        HN_TRY(hn_onnx_forgive(r, NULL, hn_graph_sort(m->graphs[i], &moved, err), err));
        if (moved && r->finding == NULL)
            hn_log(HONE_LOG_WARN, "the nodes of graph '%s' were out of order and have been sorted",
                   m->graphs[i]->name);
    }
    return HONE_OK;
}

static hone_status read_model(hn_onnx_reader *r, hn_error *err) {
    hn_bytes bytes = {r->file->data, r->file->bytes}, graph = {NULL, 0};
    hn_graph *g;
    HN_CHECK(err, bytes.n > 0, HONE_E_FORMAT, "the file is empty");
    HN_TRY(read_model_head(r, bytes, &graph, err));
    HN_TRY(read_graph(r, NULL, NULL, graph, &g, err));
    if (r->last_function != NULL) HN_TRY(hn_onnx_inline(r, err));
    return sort_graphs(r, err);
}

static void reader_init(hn_onnx_reader *r, hn_file *file, hn_allocator *alloc) {
    *r = (hn_onnx_reader){.alloc = alloc, .file = file, .map = true};
    hn_arena_init(&r->scratch, alloc, HN_MEM_OTHER);
    hn_map_init(&r->functions, alloc);
}

static void reader_deinit(hn_onnx_reader *r) {
    for (int i = 0; i < r->n_externals; i++) hn_file_unref(r->externals[i]);
    hn_free(r->alloc, r->externals);
    hn_map_deinit(&r->functions);
    hn_arena_deinit(&r->scratch);
}

/* Whether the first byte is the tag of a field of ModelProto. */
static bool may_be_model(const hn_file *file) {
    static const unsigned char tags[] = {0x08, 0x12, 0x1a, 0x22, 0x28, 0x32,
                                         0x3a, 0x42, 0x72, 0xa2, 0xca};
    return file->bytes > 0 && memchr(tags, file->data[0], sizeof tags) != NULL;
}

/* Says what it is instead; HONE_OK: nothing that is known. */
static hone_status name_other_format(const hn_other_format *other, hn_error *err) {
    if (other == NULL) return HONE_OK;
    return HN_FAIL(err, HONE_E_FORMAT, "this is %s, not an ONNX model; %s", other->name,
                   other->next);
}

static int64_t bytes_on_disk(const hn_onnx_reader *r) {
    int64_t bytes = (int64_t)r->file->bytes;
    for (int i = 0; i < r->n_externals; i++) bytes += (int64_t)r->externals[i]->bytes;
    return bytes;
}

hone_status hn_onnx_load_memory(hn_model **out, hn_file *file, const hn_onnx_options *o,
                                hn_allocator *alloc, hn_error *err) {
    if (hn_package_is(file)) return hn_package_load(out, file, o, alloc, err);
    hn_onnx_reader r;
    reader_init(&r, file, alloc);
    if (o != NULL) r.stored = o->stored;
    if (o != NULL) r.map = !o->no_mmap;
    if (o != NULL) r.folder = o->folder;
    if (o != NULL) r.finding = o->finding;
    if (o != NULL) r.finding_ctx = o->finding_ctx;
    hone_status status = hn_model_create(&r.model, alloc, err);
    const hn_other_format *other = hn_other_format_of(file->data, file->bytes);
    if (status == HONE_OK && !may_be_model(file)) status = name_other_format(other, err);
    if (status == HONE_OK) {
        status = read_model(&r, err);
        if (status != HONE_OK && name_other_format(other, err) != HONE_OK) status = HONE_E_FORMAT;
    }
    if (status == HONE_OK) {
        r.model->file_bytes = bytes_on_disk(&r);
        r.model->path = hn_arena_strdup(&r.model->arena, file->path);
        if (r.model->path == NULL) status = HN_NOMEM(err);
    }
    if (status == HONE_OK) {
        *out = r.model;
    } else {
        hn_error_context(err, "%s", file->path);
        hn_model_destroy(r.model);
    }
    reader_deinit(&r);
    return status;
}

hone_status hn_onnx_load(hn_model **out, const char *path, const hn_onnx_options *o,
                         hn_allocator *alloc, hn_error *err) {
    hn_onnx_options options = o != NULL ? *o : (hn_onnx_options){0};
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *folder = hn_alloc(alloc, n + 1, HN_MEM_OTHER);
    if (folder == NULL) return HN_NOMEM(err);
    memcpy(folder, path, n);
    folder[n] = '\0';
    options.folder = folder;
    hn_file *file;
    int64_t begun = hn_span_begin();
    hone_status status = hn_file_open(&file, path, !options.no_mmap, alloc, err);
    hn_span_end("load", "read", begun, (int64_t)atomic_load(&alloc->live));
    if (status == HONE_OK) {
        begun = hn_span_begin();
        status = hn_onnx_load_memory(out, file, &options, alloc, err);
        hn_span_end("load", "parse", begun, (int64_t)atomic_load(&alloc->live));
        hn_file_unref(file);
    } else if (name_other_format(hn_other_format_of_folder(path), err) != HONE_OK) {
        hn_error_context(err, "%s", path);
        status = HONE_E_FORMAT;
    }
    hn_free(alloc, folder);
    return status;
}

hone_status hn_onnx_read_tensor(hn_tensor **out, hn_file *file, hn_allocator *alloc,
                                hn_error *err) {
    hn_onnx_reader r;
    reader_init(&r, file, alloc);
    hone_status status = hn_onnx_tensor(&r, (hn_bytes){file->data, file->bytes}, out, NULL, err);
    if (status != HONE_OK) hn_error_context(err, "%s", file->path);
    reader_deinit(&r);
    return status;
}

/* From hn_model to ModelProto.
 *
 * One walk over the model serves twice, to measure and to write (wire.h). Before it, each node's
 * form at the opset of the file is settled (ops/lift.h): a node that was lifted and not edited is
 * written as it came, and what lifting added for it is left out.
 * Fields go out in the order of their numbers, as protobuf itself does, and nothing depends on
 * anything but the model: the same model gives the same bytes.
 */
#include <stdio.h>

#include "base/size.h"
#include "formats/onnx.h"
#include "formats/onnx_schema.h"
#include "ops/lift.h"

/* What protobuf implementations read at most. */
#define LARGEST_MESSAGE ((uint64_t)INT32_MAX)
/* Where tensors begin in a file of external data: mappings must start at a page. */
#define EXTERNAL_ALIGNMENT 4096
#define EXTERNAL_THRESHOLD 1024

typedef struct writer {
    hn_model *model;
    hn_error *err;
    hn_wire_out out;
    int64_t opset, ir_version;
    hn_arena arena; /* of the forms */
    hn_form *forms; /* of every node, in the order of the walk */
    size_t n_forms, cap_forms, next_form;
    const char *location; /* of external data; NULL: none is written */
    size_t threshold;
    uint64_t external_bytes; /* given out so far */
    hn_file_writer *data;    /* where they go, while writing */
} writer;

static bool is_given(const char *text) { return text != NULL && text[0] != '\0'; }

static void put_given(writer *w, uint32_t field, const char *text) {
    if (is_given(text)) hn_wire_put_text(&w->out, field, text);
}

static void put_extra(writer *w, hn_bytes extra) { hn_wire_put(&w->out, extra.p, extra.n); }

static void put_entry(writer *w, uint32_t field, const char *key, const char *value) {
    size_t m = hn_wire_begin(&w->out, field);
    hn_wire_put_text(&w->out, HN_ONNX_ENTRY_KEY, key);
    hn_wire_put_text(&w->out, HN_ONNX_ENTRY_VALUE, value);
    hn_wire_end(&w->out, field, m);
}

static void put_props(writer *w, uint32_t field, const hn_props *props) {
    for (int i = 0; i < props->n; i++) put_entry(w, field, props->v[i].key, props->v[i].value);
}

/* ---- types ---- */

static int64_t note_fresh(void *any, hn_dim symbol) {
    if (hn_dim_is_fresh(symbol)) *(bool *)any = true;
    return 1;
}

/* Symbols the file did not name are left unsaid, also inside an expression. */
static void put_dim(writer *w, hn_dim d, const char *denotation) {
    size_t m = hn_wire_begin(&w->out, HN_ONNX_SHAPE_DIM);
    int64_t v;
    const char *name = NULL;
    char text[256];
    bool fresh = false;
    if (hn_dim_is_const(d, &v)) {
        hn_wire_put_int(&w->out, HN_ONNX_DIM_DIM_VALUE, v);
    } else if (hn_dim_eval(d, note_fresh, &fresh, &v) && !fresh) {
        if (!hn_dim_is_symbol(d, &name)) name = hn_dim_text(d, text, sizeof text);
        if (name != text || strlen(text) + 1 < sizeof text) /* else it was cut */
            hn_wire_put_text(&w->out, HN_ONNX_DIM_DIM_PARAM, name);
    }
    put_given(w, HN_ONNX_DIM_DENOTATION, denotation);
    hn_wire_end(&w->out, HN_ONNX_SHAPE_DIM, m);
}

static void put_type(writer *w, uint32_t field, const hn_type *t) {
    if (t->kind == HN_TYPE_OTHER) hn_wire_put_blob(&w->out, field, t->other.p, t->other.n);
    if (t->kind != HN_TYPE_TENSOR && t->kind != HN_TYPE_SPARSE) return;
    uint32_t kind =
        t->kind == HN_TYPE_TENSOR ? HN_ONNX_TYPE_TENSOR_TYPE : HN_ONNX_TYPE_SPARSE_TENSOR_TYPE;
    size_t type = hn_wire_begin(&w->out, field);
    if (t->kind == HN_TYPE_SPARSE) put_given(w, HN_ONNX_TYPE_DENOTATION, t->denotation);
    size_t tensor = hn_wire_begin(&w->out, kind);
    if (t->dtype != HONE_DTYPE_NONE)
        hn_wire_put_int(&w->out, HN_ONNX_TENSOR_TYPE_ELEM_TYPE, t->dtype);
    if (t->shape.rank >= 0) {
        size_t shape = hn_wire_begin(&w->out, HN_ONNX_TENSOR_TYPE_SHAPE);
        bool denoted = t->dim_denotations != NULL && t->n_denotations == t->shape.rank;
        for (int i = 0; i < t->shape.rank; i++)
            put_dim(w, t->shape.dim[i], denoted ? t->dim_denotations[i] : NULL);
        hn_wire_end(&w->out, HN_ONNX_TENSOR_TYPE_SHAPE, shape);
    }
    hn_wire_end(&w->out, kind, tensor);
    if (t->kind == HN_TYPE_TENSOR) put_given(w, HN_ONNX_TYPE_DENOTATION, t->denotation);
    hn_wire_end(&w->out, field, type);
}

/* What the file said about the value's type still holds. */
static bool still_holds(const hn_type *stated, const hn_type *type) {
    if (type->kind == HN_TYPE_NONE || stated->kind == HN_TYPE_NONE) return true;
    if (stated->kind != type->kind) return false;
    if (stated->dtype != type->dtype && type->dtype != HONE_DTYPE_NONE) return false;
    if (stated->shape.rank < 0 || type->shape.rank < 0) return true;
    if (stated->shape.rank != type->shape.rank) return false;
    for (int i = 0; i < type->shape.rank; i++) {
        int64_t a, b;
        if (hn_dim_is_const(stated->shape.dim[i], &a) && hn_dim_is_const(type->shape.dim[i], &b) &&
            a != b)
            return false;
    }
    return true;
}

static void put_value_info(writer *w, uint32_t field, const hn_value *v) {
    size_t m = hn_wire_begin(&w->out, field);
    bool stated = v->stated != NULL && still_holds(v->stated, &v->type);
    hn_wire_put_text(&w->out, HN_ONNX_VALUE_NAME, v->name);
    put_type(w, HN_ONNX_VALUE_TYPE, stated ? v->stated : &v->type);
    put_given(w, HN_ONNX_VALUE_DOC_STRING, v->doc);
    put_props(w, HN_ONNX_VALUE_METADATA_PROPS, &v->metadata);
    hn_wire_end(&w->out, field, m);
}

/* ---- tensors ---- */

static uint64_t align(uint64_t at) {
    return (at + EXTERNAL_ALIGNMENT - 1) / EXTERNAL_ALIGNMENT * EXTERNAL_ALIGNMENT;
}

static bool goes_outside(const writer *w, const hn_tensor *t) {
    return w->location != NULL && t->dtype != HONE_DTYPE_STRING && t->bytes > 0 &&
           t->bytes >= w->threshold;
}

static void put_external(writer *w, const hn_tensor *t) {
    static const unsigned char zeros[EXTERNAL_ALIGNMENT];
    uint64_t offset = align(w->external_bytes);
    size_t gap = (size_t)(offset - w->external_bytes);
    w->external_bytes = offset + t->bytes;
    if (w->data != NULL && w->out.status == HONE_OK)
        w->out.status = hn_file_write_append(w->data, zeros, gap, w->err);
    if (w->data != NULL && w->out.status == HONE_OK)
        w->out.status = hn_file_write_append(w->data, t->data, t->bytes, w->err);
    char number[24];
    put_entry(w, HN_ONNX_TENSOR_EXTERNAL_DATA, "location", w->location);
    snprintf(number, sizeof number, "%llu", (unsigned long long)offset);
    put_entry(w, HN_ONNX_TENSOR_EXTERNAL_DATA, "offset", number);
    snprintf(number, sizeof number, "%zu", t->bytes);
    put_entry(w, HN_ONNX_TENSOR_EXTERNAL_DATA, "length", number);
    hn_wire_put_int(&w->out, HN_ONNX_TENSOR_DATA_LOCATION, 1);
}

/* name NULL: it is the first of the extra fields, if there is one. */
static void put_tensor(writer *w, uint32_t field, const hn_tensor *t, const char *name,
                       const hn_bytes *extra, bool may_go_outside) {
    size_t m = hn_wire_begin(&w->out, field);
    for (int i = 0; i < t->rank; i++) hn_wire_put_int(&w->out, HN_ONNX_TENSOR_DIMS, t->dims[i]);
    hn_wire_put_int(&w->out, HN_ONNX_TENSOR_DATA_TYPE, t->dtype);
    const hn_str *texts = t->data;
    for (int64_t i = 0; t->dtype == HONE_DTYPE_STRING && i < t->n; i++)
        hn_wire_put_blob(&w->out, HN_ONNX_TENSOR_STRING_DATA, texts[i].p, texts[i].n);
    put_given(w, HN_ONNX_TENSOR_NAME, name);
    if (name == NULL && extra != NULL) put_extra(w, *extra);
    if (may_go_outside && goes_outside(w, t))
        put_external(w, t);
    else if (t->dtype != HONE_DTYPE_STRING && t->bytes > 0) /* an empty tensor has no data field */
        hn_wire_put_blob(&w->out, HN_ONNX_TENSOR_RAW_DATA, t->data, t->bytes);
    if (name != NULL && extra != NULL) put_extra(w, *extra);
    hn_wire_end(&w->out, field, m);
}

static void put_sparse(writer *w, uint32_t field, const hn_tensor *t, const char *name) {
    size_t m = hn_wire_begin(&w->out, field);
    put_tensor(w, HN_ONNX_SPARSE_VALUES, t->values, name, NULL, false);
    put_tensor(w, HN_ONNX_SPARSE_INDICES, t->indices, NULL, NULL, false);
    for (int i = 0; i < t->rank; i++) hn_wire_put_int(&w->out, HN_ONNX_SPARSE_DIMS, t->dims[i]);
    hn_wire_end(&w->out, field, m);
}

/* ---- nodes ---- */

static void put_graph(writer *w, uint32_t field, const hn_graph *g);

static void put_attr_value(writer *w, const hn_attr *a) {
    hn_wire_out *o = &w->out;
    switch (a->type) {
        case HN_ATTR_NONE: break;
        case HN_ATTR_FLOAT: hn_wire_put_float(o, HN_ONNX_ATTRIBUTE_F, a->u.f); break;
        case HN_ATTR_INT: hn_wire_put_int(o, HN_ONNX_ATTRIBUTE_I, a->u.i); break;
        case HN_ATTR_STRING: hn_wire_put_blob(o, HN_ONNX_ATTRIBUTE_S, a->u.s.p, a->u.s.n); break;
        case HN_ATTR_TENSOR:
            put_tensor(w, HN_ONNX_ATTRIBUTE_T, a->u.tensor, NULL, a->extra, false);
            break;
        case HN_ATTR_GRAPH: put_graph(w, HN_ONNX_ATTRIBUTE_G, a->u.graph); break;
        case HN_ATTR_SPARSE_TENSOR:
            put_sparse(w, HN_ONNX_ATTRIBUTE_SPARSE_TENSOR, a->u.tensor, NULL);
            break;
        case HN_ATTR_TYPE_PROTO:
            hn_wire_put_blob(o, HN_ONNX_ATTRIBUTE_TP, a->u.bytes.p, a->u.bytes.n);
            break;
        case HN_ATTR_FLOATS:
            for (int i = 0; i < a->n; i++)
                hn_wire_put_float(o, HN_ONNX_ATTRIBUTE_FLOATS, a->u.floats[i]);
            break;
        case HN_ATTR_INTS:
            for (int i = 0; i < a->n; i++) hn_wire_put_int(o, HN_ONNX_ATTRIBUTE_INTS, a->u.ints[i]);
            break;
        case HN_ATTR_STRINGS:
            for (int i = 0; i < a->n; i++)
                hn_wire_put_blob(o, HN_ONNX_ATTRIBUTE_STRINGS, a->u.strings[i].p,
                                 a->u.strings[i].n);
            break;
        case HN_ATTR_TENSORS:
            for (int i = 0; i < a->n; i++)
                put_tensor(w, HN_ONNX_ATTRIBUTE_TENSORS, a->u.tensors[i], NULL,
                           a->extra != NULL ? &a->extra[i] : NULL, false);
            break;
        case HN_ATTR_GRAPHS:
            for (int i = 0; i < a->n; i++) put_graph(w, HN_ONNX_ATTRIBUTE_GRAPHS, a->u.graphs[i]);
            break;
        case HN_ATTR_SPARSE_TENSORS:
            for (int i = 0; i < a->n; i++)
                put_sparse(w, HN_ONNX_ATTRIBUTE_SPARSE_TENSORS, a->u.tensors[i], NULL);
            break;
        case HN_ATTR_TYPE_PROTOS:
            for (int i = 0; i < a->n; i++)
                hn_wire_put_blob(o, HN_ONNX_ATTRIBUTE_TYPE_PROTOS, a->u.protos[i].p,
                                 a->u.protos[i].n);
            break;
    }
}

static void put_attr(writer *w, const hn_attr *a) {
    size_t m = hn_wire_begin(&w->out, HN_ONNX_NODE_ATTRIBUTE);
    hn_wire_put_text(&w->out, HN_ONNX_ATTRIBUTE_NAME, a->name);
    uint32_t field = hn_onnx_attr_fields[a->type];
    if (field < HN_ONNX_ATTRIBUTE_DOC_STRING) put_attr_value(w, a);
    put_given(w, HN_ONNX_ATTRIBUTE_DOC_STRING, a->doc);
    if (field > HN_ONNX_ATTRIBUTE_DOC_STRING && field < HN_ONNX_ATTRIBUTE_TYPE)
        put_attr_value(w, a);
    hn_wire_put_int(&w->out, HN_ONNX_ATTRIBUTE_TYPE, a->type);
    if (field > HN_ONNX_ATTRIBUTE_TYPE) put_attr_value(w, a);
    hn_wire_end(&w->out, HN_ONNX_NODE_ATTRIBUTE, m);
}

static void put_node(writer *w, const hn_node *n, const hn_form *form) {
    size_t m = hn_wire_begin(&w->out, HN_ONNX_GRAPH_NODE);
    for (int i = 0; i < form->n_inputs; i++)
        hn_wire_put_text(&w->out, HN_ONNX_NODE_INPUT,
                         form->inputs[i] != NULL ? form->inputs[i]->name : "");
    for (int i = 0; i < form->n_outputs; i++)
        hn_wire_put_text(&w->out, HN_ONNX_NODE_OUTPUT,
                         form->outputs[i] != NULL ? form->outputs[i]->name : "");
    put_given(w, HN_ONNX_NODE_NAME, n->name);
    hn_wire_put_text(&w->out, HN_ONNX_NODE_OP_TYPE, form->op_type);
    for (const hn_attr *a = form->attrs; a != NULL; a = a->next) put_attr(w, a);
    put_given(w, HN_ONNX_NODE_DOC_STRING, n->doc);
    put_given(w, HN_ONNX_NODE_DOMAIN, n->domain);
    put_given(w, HN_ONNX_NODE_OVERLOAD, n->overload);
    put_props(w, HN_ONNX_NODE_METADATA_PROPS, &n->metadata);
    put_extra(w, n->extra);
    hn_wire_end(&w->out, HN_ONNX_GRAPH_NODE, m);
}

/* ---- graphs ---- */

/* A constant that lifting made, or that only lifted inputs use, is written only where some form
 * still names it. One that nothing uses stays, as it came. */
static bool is_written(const hn_value *v) {
    if (v->dead || v->constant == NULL) return false;
    return v->mark != 0 || v->is_input || (!v->lifted && v->n_uses == 0);
}

static void put_initializers(writer *w, const hn_graph *g, bool sparse) {
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (!is_written(v) || (v->constant->data == NULL) != sparse) continue;
        if (sparse)
            put_sparse(w, HN_ONNX_GRAPH_SPARSE_INITIALIZER, v->constant, v->name);
        else
            put_tensor(w, HN_ONNX_GRAPH_INITIALIZER, v->constant, v->name, &v->extra, true);
    }
}

/* Before IR version 4 initializers are listed too, each where it came. */
static void put_inputs(writer *w, const hn_graph *g) {
    if (w->ir_version >= 4 || g->parent != NULL) {
        for (int i = 0; i < g->n_inputs; i++) put_value_info(w, HN_ONNX_GRAPH_INPUT, g->inputs[i]);
        return;
    }
    for (int i = 0; i < g->n_values; i++)
        if (!g->values[i]->dead && (g->values[i]->is_input || is_written(g->values[i])))
            put_value_info(w, HN_ONNX_GRAPH_INPUT, g->values[i]);
}

static void put_graph(writer *w, uint32_t field, const hn_graph *g) {
    size_t m = hn_wire_begin(&w->out, field);
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        const hn_form *form = &w->forms[w->next_form++];
        if (form->op_type != NULL) put_node(w, n, form);
    }
    put_given(w, HN_ONNX_GRAPH_NAME, g->name);
    put_initializers(w, g, false);
    put_given(w, HN_ONNX_GRAPH_DOC_STRING, g->doc);
    put_inputs(w, g);
    for (int i = 0; i < g->n_outputs; i++)
        put_value_info(w, HN_ONNX_GRAPH_OUTPUT, g->outputs[i].value);
    for (int i = 0; i < g->n_values; i++)
        if (!g->values[i]->dead && g->values[i]->declared)
            put_value_info(w, HN_ONNX_GRAPH_VALUE_INFO, g->values[i]);
    put_initializers(w, g, true);
    put_props(w, HN_ONNX_GRAPH_METADATA_PROPS, &g->metadata);
    put_extra(w, g->extra);
    hn_wire_end(&w->out, field, m);
}

static void put_model(writer *w) {
    const hn_model *m = w->model;
    hn_wire_out *o = &w->out;
    w->next_form = 0;
    w->external_bytes = 0;
    hn_wire_put_int(o, HN_ONNX_MODEL_IR_VERSION, w->ir_version);
    put_given(w, HN_ONNX_MODEL_PRODUCER_NAME, m->producer_name);
    put_given(w, HN_ONNX_MODEL_PRODUCER_VERSION, m->producer_version);
    put_given(w, HN_ONNX_MODEL_DOMAIN, m->domain);
    if (m->model_version != 0) hn_wire_put_int(o, HN_ONNX_MODEL_MODEL_VERSION, m->model_version);
    put_given(w, HN_ONNX_MODEL_DOC_STRING, m->doc);
    put_graph(w, HN_ONNX_MODEL_GRAPH, m->graph);
    for (int i = 0; i < m->n_opsets; i++) {
        const hn_opset *s = &m->opsets[i];
        size_t begun = hn_wire_begin(o, HN_ONNX_MODEL_OPSET_IMPORT);
        hn_wire_put_text(o, HN_ONNX_OPSET_DOMAIN, s->domain);
        hn_wire_put_int(o, HN_ONNX_OPSET_VERSION, s->domain[0] == '\0' ? w->opset : s->version);
        hn_wire_end(o, HN_ONNX_MODEL_OPSET_IMPORT, begun);
    }
    put_props(w, HN_ONNX_MODEL_METADATA_PROPS, &m->metadata);
    put_extra(w, m->extra);
}

/* ---- before the walk ---- */

static hone_status push_form(writer *w, hn_form form) {
    if (w->n_forms == w->cap_forms) {
        size_t cap = w->cap_forms == 0 ? 64 : w->cap_forms * 2;
        hn_form *grown = hn_realloc(w->model->alloc, w->forms, cap * sizeof *grown, HN_MEM_OTHER);
        if (grown == NULL) return HN_NOMEM(w->err);
        w->forms = grown;
        w->cap_forms = cap;
    }
    w->forms[w->n_forms++] = form;
    return HONE_OK;
}

/* Takes the forms of the nodes in the order put_graph meets them, and marks what they name. */
static hone_status collect_forms(writer *w, hn_graph *g) {
    for (int i = 0; i < g->n_values; i++) g->values[i]->mark = 0;
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        hn_form form;
        int64_t need, opset = n->domain[0] == '\0' ? w->opset : hn_model_opset(w->model, n->domain);
        HN_TRY(hn_node_form(n, opset, &w->arena, &form, &need, w->err));
        HN_TRY(push_form(w, form));
        if (form.op_type == NULL) continue;
        for (int i = 0; i < form.n_inputs; i++)
            if (form.inputs[i] != NULL) form.inputs[i]->mark = 1;
        int at = 0;
        for (hn_graph *sub; (sub = hn_attrs_subgraph(form.attrs, &at)) != NULL;)
            HN_TRY(collect_forms(w, sub));
    }
    for (int i = 0; i < g->n_outputs; i++) g->outputs[i].value->mark = 1;
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        /* Only the top graph can list an initializer among its inputs; sparse ones came later. */
        int64_t least = v->constant != NULL && v->constant->data == NULL ? 6
                        : g->parent != NULL                              ? 4
                                                                         : 0;
        if (is_written(v) && w->ir_version < least) w->ir_version = least;
    }
    return HONE_OK;
}

static hone_status measure(writer *w) {
    hn_wire_out_deinit(&w->out);
    hn_wire_out_init(&w->out, w->model->alloc, w->err);
    put_model(w);
    return w->out.status;
}

static void writer_deinit(writer *w) {
    hn_wire_out_deinit(&w->out);
    hn_free(w->model->alloc, w->forms);
    hn_arena_deinit(&w->arena);
}

/* Settles everything up to the size of the file. location: where tensors may go, or NULL. */
static hone_status writer_init(writer *w, hn_model *m, const hn_onnx_save_options *o,
                               const char *location, hn_error *err) {
    *w = (writer){.model = m, .err = err, .ir_version = m->ir_version};
    hn_wire_out_init(&w->out, m->alloc, err);
    hn_arena_init(&w->arena, m->alloc, HN_MEM_OTHER);
    w->threshold = o->external_threshold != 0 ? o->external_threshold : EXTERNAL_THRESHOLD;
    hn_lift_settle(m);
    hone_status status;
    HN_TRY_GOTO(hn_model_save_opset(m, o->opset, o->opset != 0, &w->opset, err));
    HN_TRY_GOTO(collect_forms(w, m->graph));
    if (o->external) w->location = location;
    HN_TRY_GOTO(measure(w));
    if (w->out.at > LARGEST_MESSAGE && location != NULL && w->location == NULL) {
        w->location = location;
        HN_TRY_GOTO(measure(w));
    }
    HN_CHECK_GOTO(err, w->out.at <= LARGEST_MESSAGE, HONE_E_LIMIT,
                  "the model takes %llu bytes%s; an ONNX file holds at most 2 GB",
                  (unsigned long long)w->out.at,
                  w->location != NULL ? " beside its external data" : "");
    return HONE_OK;
fail:
    writer_deinit(w);
    return status;
}

/* Of all that is written. */
static int64_t bytes_of(const writer *w) { return (int64_t)(w->out.at + w->external_bytes); }

/* ---- files ---- */

static hone_status put_to_file(void *ctx, const void *data, size_t bytes, hn_error *err) {
    return hn_file_write_append(ctx, data, bytes, err);
}

static hone_status write_files(writer *w, const char *path, const char *data_path) {
    const hn_model *m = w->model;
    hn_file_writer *file = NULL;
    hone_status status;
    HN_TRY_GOTO(hn_model_check_target(m, path, w->err));
    HN_TRY_GOTO(hn_file_write_begin(&file, path, m->path, m->alloc, w->err));
    if (w->location != NULL) {
        HN_TRY_GOTO(hn_model_check_target(m, data_path, w->err));
        HN_TRY_GOTO(hn_file_write_begin(&w->data, data_path, m->path, m->alloc, w->err));
    }
    hn_wire_out_start(&w->out, put_to_file, file);
    put_model(w);
    HN_TRY_GOTO(w->out.status);
    hn_file_writer *data = w->data;
    w->data = NULL;
    if (data != NULL) HN_TRY_GOTO(hn_file_write_commit(data, w->err));
    return hn_file_write_commit(file, w->err);
fail:
    hn_file_write_abort(w->data);
    hn_file_write_abort(file);
    return status;
}

hone_status hn_onnx_save(hn_model *m, const char *path, const hn_onnx_save_options *o,
                         hn_error *err) {
    static const char suffix[] = ".data";
    size_t n = strlen(path);
    char *data_path = hn_alloc(m->alloc, n + sizeof suffix, HN_MEM_OTHER);
    if (data_path == NULL) return HN_NOMEM(err);
    memcpy(data_path, path, n);
    memcpy(data_path + n, suffix, sizeof suffix);
    const char *slash = strrchr(data_path, '/');
    writer w;
    hone_status status = writer_init(&w, m, o != NULL ? o : &(hn_onnx_save_options){0},
                                     slash != NULL ? slash + 1 : data_path, err);
    if (status == HONE_OK) {
        status = write_files(&w, path, data_path);
        if (status == HONE_OK) m->file_bytes = bytes_of(&w);
        writer_deinit(&w);
    }
    hn_free(m->alloc, data_path);
    return status;
}

hone_status hn_onnx_bytes(hn_model *m, const hn_onnx_save_options *o, int64_t *bytes,
                          hn_error *err) {
    writer w;
    HN_TRY(writer_init(&w, m, o != NULL ? o : &(hn_onnx_save_options){0}, "model.onnx.data", err));
    *bytes = bytes_of(&w);
    writer_deinit(&w);
    return HONE_OK;
}

static hone_status put_to_memory(void *ctx, const void *data, size_t bytes, hn_error *err) {
    (void)err;
    unsigned char **at = ctx;
    memcpy(*at, data, bytes);
    *at += bytes;
    return HONE_OK;
}

hone_status hn_onnx_save_memory(hn_file **out, hn_model *m, const hn_onnx_save_options *o,
                                hn_error *err) {
    writer w;
    HN_TRY(writer_init(&w, m, o != NULL ? o : &(hn_onnx_save_options){0}, NULL, err));
    hone_status status;
    unsigned char *block = hn_alloc(m->alloc, (size_t)w.out.at, HN_MEM_DATA), *at = block;
    size_t bytes = (size_t)w.out.at;
    HN_CHECK_GOTO(err, block != NULL, HONE_E_NOMEM, "out of memory for a model of %zu bytes",
                  bytes);
    hn_wire_out_start(&w.out, put_to_memory, &at);
    put_model(&w);
    HN_TRY_GOTO(w.out.status);
    HN_TRY_GOTO(hn_file_adopt(out, "memory", block, bytes, m->alloc, err));
    block = NULL;
fail:
    hn_free(m->alloc, block);
    writer_deinit(&w);
    return status;
}

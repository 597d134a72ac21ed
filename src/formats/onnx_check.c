/* Findings come from three places: the reader, which leniently reports whatever contradicts itself
 * (onnx.h); inference, which reports what does not fit an operator's definition; and here, what
 * both can do without: declarations that ONNX wants, and operators that its opsets do not have.
 *
 * Each operator is checked against its definition in the model's opset as far as hone knows it:
 * inputs, outputs and attributes by opset, element types by the newest definition.
 */
#include "formats/onnx_check.h"

#include <stdio.h>
#include <string.h>

#include "formats/onnx.h"
#include "ops/infer.h"
#include "ops/lift.h"

typedef struct report {
    void (*finding)(void *ctx, const char *text);
    void *ctx;
    size_t n;
    hn_arena scratch;
    hn_error e; /* of the finding at hand */
} report;

static void tell(report *r) {
    hn_one_line(r->e.text);
    r->n++;
    r->finding(r->ctx, r->e.text);
}

/* Of node n, if it is not NULL. */
#define FIND(r, node, ...)                                                              \
    do {                                                                                \
        char label_[320];                                                               \
        const hn_node *of_ = (node);                                                    \
        hn_fail(&(r)->e, HONE_E_MODEL, __VA_ARGS__);                                    \
        if (of_ != NULL)                                                                \
            hn_error_context(&(r)->e, "%s", hn_node_label(of_, label_, sizeof label_)); \
        tell(r);                                                                        \
    } while (0)

static void on_reading(void *ctx, const char *text) {
    report *r = ctx;
    snprintf(r->e.text, sizeof r->e.text, "%s", text);
    tell(r);
}

/* Inference names the node itself. */
static void on_inference(void *ctx, const hn_node *n, const hn_error *e) {
    (void)n;
    on_reading(ctx, e->text);
}

/* ---- operators ---- */

/* Those of ai.onnx that have no row in the operator table: hone keeps them and cannot run them. */
static const struct kept_op {
    const char *name;
    int since, until; /* the opset that brought it, and the one that took it away (0: none) */
} kept_ops[] = {
    {"ConcatFromSequence", 11, 0}, {"ImageDecoder", 20, 0},
    {"MaxRoiPool", 1, 0},          {"Optional", 15, 0},
    {"OptionalGetElement", 15, 0}, {"OptionalHasElement", 15, 0},
    {"RegexFullMatch", 20, 0},     {"Scatter", 9, 11},
    {"SequenceAt", 11, 0},         {"SequenceConstruct", 11, 0},
    {"SequenceEmpty", 11, 0},      {"SequenceErase", 11, 0},
    {"SequenceInsert", 11, 0},     {"SequenceLength", 11, 0},
    {"SequenceMap", 17, 0},        {"SplitToSequence", 11, 0},
    {"StringConcat", 20, 0},       {"StringNormalizer", 10, 0},
    {"StringSplit", 20, 0},        {"Upsample", 1, 10},
};

static void check_exists(report *r, const hn_node *n) {
    const hn_op_def *op = hn_op_find(n->domain, n->op_type);
    long long opset = (long long)n->opset;
    if (n->op_type[0] == '\0' || n->source != NULL) return;
    if (op != NULL) {
        if (n->domain[0] == '\0' && hn_op_version_at(op, n->opset) == 0)
            FIND(r, n, "opset %lld of ai.onnx does not have the operator yet", opset);
        return;
    }
    if (n->domain[0] != '\0') return; /* other domains define what they like */
    for (size_t i = 0; i < sizeof kept_ops / sizeof *kept_ops; i++) {
        const struct kept_op *k = &kept_ops[i];
        if (strcmp(k->name, n->op_type) != 0) continue;
        if (n->opset < k->since)
            FIND(r, n, "opset %lld of ai.onnx does not have the operator yet", opset);
        if (k->until != 0 && n->opset >= k->until)
            FIND(r, n, "opset %lld of ai.onnx does not have the operator any more", opset);
        return;
    }
    FIND(r, n, "ai.onnx has no such operator");
}

/* Every attribute the operator has had since opset 7 is in its table, or was lifted away. */
static void check_attrs(report *r, const hn_node *n) {
    if (n->op == NULL || n->old || (n->domain[0] == '\0' && n->opset < 7)) return;
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next)
        if (hn_op_attr(n->op, a->name) == NULL)
            FIND(r, n, "the operator has no attribute '%.200s'", a->name);
}

/* Does the node, as the file has it, keep to its opset? */
static hone_status check_form(report *r, const hn_node *n, hn_error *err) {
    if (n->op == NULL || n->old || n->domain[0] != '\0' || hn_op_version_at(n->op, n->opset) == 0)
        return HONE_OK;
    hn_form form;
    int64_t need;
    bool late = false;
    hone_status status = hn_node_form(n, n->opset, &r->scratch, &form, &need, &r->e);
    if (status == HONE_OK && form.op_type == NULL) return HONE_OK; /* another node stands for it */
    if (status == HONE_OK) status = hn_form_fit(n, &form, n->opset, &r->scratch, &need, &r->e);
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    const char *op = n->source != NULL ? n->source->form.op_type : n->op_type;
    const hn_attr *first = n->source != NULL ? n->source->form.attrs : n->attrs;
    for (const hn_attr *a = first; a != NULL; a = a->next) {
        int since = hn_attr_since(op, a->name);
        if (since <= n->opset) continue;
        FIND(r, n, "the operator has attribute '%.200s' from opset %d on, this is %lld", a->name,
             since, (long long)n->opset);
        late = true;
    }
    if (status != HONE_OK && !late)
        FIND(r, n, "the operator can be written like this from opset %lld on, this is %lld",
             (long long)need, (long long)n->opset);
    return HONE_OK;
}

static hone_status check_node(report *r, const hn_node *n, hn_error *err) {
    if (n->n_inputs == 0 && n->n_outputs == 0) FIND(r, n, "it has neither inputs nor outputs");
    if (n->domain[0] != '\0' && hn_model_opset(n->graph->model, n->domain) == 0)
        FIND(r, n, "its domain '%.200s' is not among the model's opset imports", n->domain);
    check_exists(r, n);
    check_attrs(r, n);
    hone_status status = check_form(r, n, err);
    hn_arena_deinit(&r->scratch);
    return status;
}

/* ---- graphs ---- */

/* What the file itself says of an input or output of the main graph. */
static void check_type(report *r, const hn_value *v, const char *what) {
    const hn_type *t = v->stated;
    if (t == NULL || t->kind == HN_TYPE_NONE)
        FIND(r, NULL, "%s '%.200s' has no type", what, v->name);
    else if (t->kind == HN_TYPE_OTHER)
        return;
    else if (t->dtype == HONE_DTYPE_NONE)
        FIND(r, NULL, "%s '%.200s' has no element type", what, v->name);
    else if (t->shape.rank < 0)
        FIND(r, NULL, "%s '%.200s' has no shape", what, v->name);
}

static void check_main(report *r, const hn_graph *g) {
    for (int i = 0; i < g->n_inputs; i++) check_type(r, g->inputs[i], "input");
    for (int i = 0; i < g->n_outputs; i++)
        if (!g->outputs[i].value->is_input) check_type(r, g->outputs[i].value, "output");
    if (g->model->ir_version >= 4) return;
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (!v->dead && v->constant != NULL && !v->lifted && v->stated == NULL)
            FIND(r, NULL, "initializer '%.200s' is not among the inputs, as IR version %lld wants",
                 v->name, (long long)g->model->ir_version);
    }
}

static hone_status check_graph(report *r, const hn_graph *g, hn_error *err) {
    if (g->name[0] == '\0' && (g->parent == NULL || g->owner != NULL))
        FIND(r, g->owner, "a graph has no name");
    for (const hn_node *n = g->first; n != NULL; n = n->next) HN_TRY(check_node(r, n, err));
    return HONE_OK;
}

static hone_status check_metadata(report *r, const hn_model *m, hn_error *err) {
    hn_map keys;
    hn_map_init(&keys, m->alloc);
    hone_status status = HONE_OK;
    for (int i = 0; i < m->metadata.n && status == HONE_OK; i++) {
        hn_prop *p = &m->metadata.v[i];
        if (hn_map_get(&keys, p->key, strlen(p->key)) != NULL)
            FIND(r, NULL, "the metadata has the key '%.200s' twice", p->key);
        else if (!hn_map_put(&keys, p->key, strlen(p->key), p))
            status = HN_NOMEM(err);
    }
    hn_map_deinit(&keys);
    return status;
}

static hone_status check_model(report *r, hn_model *m, hn_error *err) {
    HN_TRY(check_metadata(r, m, err));
    check_main(r, m->graph);
    hn_infer_options o = {.finding = on_inference, .ctx = r};
    HN_TRY(hn_model_infer(m, &o, err));
    for (int i = 0; i < m->n_graphs; i++) HN_TRY(check_graph(r, m->graphs[i], err));
    return HONE_OK;
}

/* path NULL: the model is in `file`. */
static hone_status check(report *r, const char *path, hn_file *file, hn_allocator *alloc,
                         hn_error *err) {
    hn_model *m = NULL;
    hn_onnx_options o = {.check_stored = true, .finding = on_reading, .finding_ctx = r};
    hone_status status = path != NULL ? hn_onnx_load(&m, path, &o, alloc, err)
                                      : hn_onnx_load_memory(&m, file, &o, alloc, err);
    if (status == HONE_OK) {
        status = check_model(r, m, err);
    } else if (status == HONE_E_MODEL || status == HONE_E_UNSUPPORTED) { /* beyond repair */
        const char *name = path != NULL ? path : file->path;
        size_t prefix = strncmp(err->text, name, strlen(name)) == 0 ? strlen(name) + 2 : 0;
        on_reading(r, err->text + prefix); /* findings do not name the file */
        status = HONE_OK;
    }
    hn_model_destroy(m);
    return status;
}

static hone_status report_all(const char *path, hn_file *file,
                              void (*finding)(void *ctx, const char *text), void *ctx, size_t *n,
                              hn_allocator *alloc, hn_error *err) {
    report r = {.finding = finding, .ctx = ctx};
    hn_error e;
    hn_arena_init(&r.scratch, alloc, HN_MEM_SCRATCH);
    hone_status status = check(&r, path, file, alloc, &e);
    hn_arena_deinit(&r.scratch);
    if (status == HONE_OK)
        *n = r.n;
    else if (err != NULL)
        *err = e;
    return status;
}

hone_status hn_onnx_check(const char *path, void (*finding)(void *ctx, const char *text), void *ctx,
                          size_t *n, hn_allocator *alloc, hn_error *err) {
    return report_all(path, NULL, finding, ctx, n, alloc, err);
}

hone_status hn_onnx_check_memory(hn_file *file, void (*finding)(void *ctx, const char *text),
                                 void *ctx, size_t *n, hn_allocator *alloc, hn_error *err) {
    return report_all(NULL, file, finding, ctx, n, alloc, err);
}

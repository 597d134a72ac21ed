#include "formats/onnx_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/onnx.h"
#include "ops/infer.h"

typedef struct report {
    void (*finding)(void *ctx, const char *text);
    void *ctx;
    size_t n;
} report;

static void find(report *r, const char *format, ...) HONE_PRINTF(2, 3);
static void find(report *r, const char *format, ...) {
    hn_error e;
    va_list args;
    va_start(args, format);
    vsnprintf(e.text, sizeof e.text, format, args);
    va_end(args);
    hn_one_line(e.text);
    r->n++;
    r->finding(r->ctx, e.text);
}

static void on_inference(void *ctx, const hn_node *n, const hn_error *e) {
    (void)n;
    find(ctx, "%s", e->text);
}

/* ---- operators ---- */

static void check_node(report *r, const hn_node *n) {
    char label[320];
    const hn_model *m = n->graph->model;
    hn_node_label(n, label, sizeof label);
    const char *domain = n->domain[0] != '\0' ? n->domain : "ai.onnx";
    if (hn_model_opset(m, n->domain) == 0)
        find(r, "%s: its domain '%s' is not among the model's opset imports", label, domain);
    if (n->op == NULL) {
        if (n->domain[0] == '\0') find(r, "%s: ai.onnx has no operator of that name", label);
        return;
    }
    if (n->source == NULL && hn_op_version_at(n->op, n->opset) == 0)
        find(r, "%s: the operator does not exist in opset %lld of %s", label, (long long)n->opset,
             domain);
    /* Older definitions had attributes the newest one lacks; only at the newest can one be unknown.
     */
    if (n->source != NULL ||
        hn_op_version_at(n->op, n->opset) != hn_op_version_at(n->op, INT64_MAX))
        return;
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next)
        if (hn_op_attr(n->op, a->name) == NULL)
            find(r, "%s: the operator has no attribute '%s'", label, a->name);
}

/* ---- graphs ---- */

static void check_type(report *r, const hn_graph *g, const hn_value *v, const char *what) {
    if (v->type.kind == HN_TYPE_NONE ||
        (v->type.kind == HN_TYPE_TENSOR && v->type.dtype == HONE_DTYPE_NONE))
        find(r, "%s '%s' of graph '%s' has no type", what, v->name, g->name);
}

static void check_graph(report *r, const hn_graph *g) {
    if (g->name[0] == '\0')
        find(r, "%s has no name", g->parent != NULL ? "a subgraph" : "the graph");
    if (g->parent == NULL) {
        for (int i = 0; i < g->n_inputs; i++) check_type(r, g, g->inputs[i], "input");
        for (int i = 0; i < g->n_outputs; i++) check_type(r, g, g->outputs[i].value, "output");
    }
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        check_node(r, n);
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) check_graph(r, sub);
    }
}

hone_status hn_onnx_check(const char *path, void (*finding)(void *ctx, const char *text), void *ctx,
                          size_t *n, hn_allocator *alloc, hn_error *err) {
    report r = {finding, ctx, 0};
    hn_model *m = NULL;
    hn_error e;
    hone_status status = hn_onnx_load(&m, path, NULL, alloc, &e);
    if (status == HONE_OK) {
        /* Types before inference: what the file says, not what can be found out. */
        if (hn_model_verify(m, &e) != HONE_OK) find(&r, "%s", e.text);
        hn_infer_options o = {.finding = on_inference, .ctx = &r};
        if (r.n == 0) status = hn_model_infer(m, &o, &e);
        if (status == HONE_OK) check_graph(&r, m->graph);
    } else if (status == HONE_E_MODEL || status == HONE_E_SHAPE || status == HONE_E_TYPE) {
        find(&r, "%s", e.text);
        status = HONE_OK;
    }
    hn_model_destroy(m);
    if (status != HONE_OK) {
        if (err != NULL) *err = e;
        return status;
    }
    *n = r.n;
    return HONE_OK;
}

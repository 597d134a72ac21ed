#include "support/gradient.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "ops/eval.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "support/graph.h"
#include "support/scratch.h"
#include "train/backward.h"

enum { MOST = 64, OPSET = 26 };

static hn_tensor *made(const hn_value *v, hn_rng *rng) {
    int64_t dims[HONE_MAX_RANK];
    hn_tensor *t;
    hn_error err;
    for (int i = 0; i < v->type.shape.rank; i++)
        assert_true(hn_dim_is_const(v->type.shape.dim[i], &dims[i]));
    assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        /* -2.4, -2.2 ... 2.4 but for whole numbers, and a little more with each element. */
        double x = ((double)hn_rng_below(rng, 12) - 6) * 0.4 + 0.2 + (double)(i % 97) * 1e-3;
        if (v->name[0] == 'p') x = fabs(x) + 0.3;
        if (v->name[0] == 'u') x *= 0.35;
        if (v->name[0] == 't') x = (double)hn_rng_below(rng, 3);
        if (hn_dtype_is_float(v->type.dtype))
            hn_store_f64(t->dtype, t->data, i, x);
        else
            hn_store_s64(t->dtype, t->data, i, (int64_t)hn_rng_below(rng, 3));
    }
    return t;
}

static hn_value *node(hn_graph *g, const char *op, hn_value *a, hn_value *b) {
    hn_node *n;
    hn_value *v;
    hn_error err;
    assert_int_equal(hn_node_create(&n, g, "", op, "", b != NULL ? 2 : 1, 1, &err), HONE_OK);
    assert_int_equal(hn_value_create(&v, g, NULL, "loss", &err), HONE_OK);
    n->op = hn_op_find("", op);
    hn_node_set_input(n, 0, a);
    if (b != NULL) hn_node_set_input(n, 1, b);
    hn_node_set_output(n, 0, v);
    hn_node_insert(n, NULL);
    return v;
}

/* Operators that take no doubles are tested in floats, by coarser differences. */
static bool counts(const hn_value *v) {
    return v->type.dtype == HONE_DTYPE_F64 || v->type.dtype == HONE_DTYPE_F32;
}

/* A random sum of the outputs that have the type of the first input. */
static hn_value *loss_of(hn_model *m, hn_rng *rng) {
    hn_graph *g = m->graph;
    hn_value *sum = NULL;
    hn_error err;
    for (int i = 0; i < g->n_outputs; i++) {
        hn_value *y = g->outputs[i].value, *by;
        if (y->type.dtype != g->inputs[0]->type.dtype) continue;
        assert_int_equal(hn_value_create_constant(&by, g, NULL, "by", made(y, rng), &err), HONE_OK);
        hn_node *reduce;
        hn_value *part = node(g, "ReduceSum", node(g, "Mul", y, by), NULL);
        reduce = part->producer;
        assert_int_equal(hn_node_set_i(reduce, "keepdims", 0, &err), HONE_OK);
        sum = sum == NULL ? part : node(g, "Add", sum, part);
    }
    assert_non_null(sum);
    if (hn_model_infer(m, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    return sum;
}

typedef struct checked {
    hn_model *m, *plain; /* plain: as it was, before it was differentiated */
    hn_value *loss, *plain_loss;
    int n; /* inputs that are floats */
    hn_value *by[MOST], *grads[MOST];
    hone_status status;
    hn_error err;
} checked;

static void begin(checked *c, const char *text, hn_rng *rng) {
    hn_rng again = *rng;
    *c = (checked){.m = graph_model(OPSET, text), .plain = graph_model(OPSET, text)};
    hn_graph *g = c->m->graph;
    for (int i = 0; i < g->n_inputs; i++)
        if (counts(g->inputs[i])) c->by[c->n++] = g->inputs[i];
    c->loss = loss_of(c->m, rng);
    c->plain_loss = loss_of(c->plain, &again);
    hn_error err;
    assert_int_equal(hn_graph_add_output(c->plain->graph, c->plain_loss, &err), HONE_OK);
    c->status = hn_backward(g, c->loss, c->n, c->by, c->grads, &c->err);
}

static double loss_at(const hn_graph *g, const hn_value *loss, const hn_tensor *const *in,
                      hn_tensor **out) {
    hn_exec_options o = {.alloc = &scratch_mem, .seed = 1};
    hn_error err;
    if (hn_graph_run(g, &o, in, out, &err) != HONE_OK) fail_msg("%s", err.text);
    double v = 0;
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value == loss) v = hn_tensor_f64(out[i], 0);
    return v;
}

static void release(const hn_graph *g, hn_tensor **out) {
    for (int i = 0; i < g->n_outputs; i++) hn_tensor_unref(out[i]);
}

static void compare(const checked *c, const char *text, int i, const hn_tensor *grad, hn_tensor *x,
                    const hn_tensor *const *in) {
    bool coarse = x->dtype == HONE_DTYPE_F32;
    const double h = coarse ? 4e-3 : 1e-5;
    hn_tensor *out[MOST];
    for (int64_t k = 0; k < x->n; k++) {
        double was = hn_tensor_f64(x, k), side[2], at[2];
        for (int s = 0; s < 2; s++) {
            hn_store_f64(x->dtype, x->data, k, was + (s == 0 ? -h : h));
            at[s] = hn_tensor_f64(x, k);
            side[s] = loss_at(c->plain->graph, c->plain_loss, in, out);
            release(c->plain->graph, out);
        }
        hn_store_f64(x->dtype, x->data, k, was);
        double wanted = (side[1] - side[0]) / (at[1] - at[0]);
        double found = grad != NULL ? hn_tensor_f64(grad, k) : 0;
        double bound = (coarse ? 4e-3 : 2e-6) * (1 + fabs(wanted));
        if (!(fabs(found - wanted) <= bound))
            fail_msg("%s\ngradient by '%s'[%lld] is %.9g, differences say %.9g", text,
                     c->by[i]->name, (long long)k, found, wanted);
    }
}

void gradient_agrees(const char *text) {
    hn_rng rng;
    hn_error err;
    checked c;
    hn_rng_init(&rng, 7);
    begin(&c, text, &rng);
    if (c.status != HONE_OK) fail_msg("%s\n%s", text, c.err.text);
    hn_graph *g = c.m->graph;
    assert_int_equal(hn_graph_add_output(g, c.loss, &err), HONE_OK);
    int place[MOST];
    for (int i = 0; i < c.n; i++) {
        place[i] = c.grads[i] != NULL ? g->n_outputs : -1;
        if (c.grads[i] != NULL) assert_int_equal(hn_graph_add_output(g, c.grads[i], &err), HONE_OK);
    }
    if (hn_model_infer(c.m, NULL, &err) != HONE_OK) fail_msg("%s\n%s", text, err.text);
    if (hn_model_verify(c.m, &err) != HONE_OK) fail_msg("%s\n%s", text, err.text);
    hn_tensor *in[MOST], *out[MOST], *grads[MOST] = {0};
    for (int i = 0; i < g->n_inputs; i++) in[i] = made(g->inputs[i], &rng);
    double loss = loss_at(g, c.loss, (const hn_tensor *const *)in, out), plain;
    for (int i = 0; i < c.n; i++)
        if (place[i] >= 0) grads[i] = hn_tensor_ref(out[place[i]]);
    release(g, out);
    plain = loss_at(c.plain->graph, c.plain_loss, (const hn_tensor *const *)in, out);
    release(c.plain->graph, out);
    /* What simpler nodes compute in the place of others is the same. */
    if (fabs(loss - plain) > 1e-6 * (1 + fabs(plain)))
        fail_msg("%s\nthe loss is %.12g, and %.12g before it was differentiated", text, loss,
                 plain);
    for (int i = 0, k = 0; i < g->n_inputs; i++) {
        if (!counts(g->inputs[i])) continue;
        if (grads[k] != NULL) {
            assert_int_equal(grads[k]->rank, in[i]->rank);
            assert_memory_equal(grads[k]->dims, in[i]->dims,
                                (size_t)in[i]->rank * sizeof *in[i]->dims);
        }
        if (g->inputs[i]->name[0] != 't')
            compare(&c, text, k, grads[k], in[i], (const hn_tensor *const *)in);
        k++;
    }
    for (int i = 0; i < c.n; i++) hn_tensor_unref(grads[i]);
    for (int i = 0; i < g->n_inputs; i++) hn_tensor_unref(in[i]);
    hn_model_destroy(c.m);
    hn_model_destroy(c.plain);
}

void gradient_refused(const char *text, const char *message) {
    hn_rng rng;
    checked c;
    hn_rng_init(&rng, 7);
    begin(&c, text, &rng);
    assert_int_not_equal(c.status, HONE_OK);
    if (strstr(c.err.text, message) == NULL) fail_msg("%s", c.err.text);
    hn_model_destroy(c.m);
    hn_model_destroy(c.plain);
}

void gradient_survives(const char *text) {
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status != HONE_OK; k++) {
        hn_rng rng;
        hn_error err;
        hn_value *grads[MOST], *by[MOST];
        int n = 0;
        hn_rng_init(&rng, 7);
        hn_model *m = graph_model(OPSET, text);
        hn_value *loss = loss_of(m, &rng);
        for (int i = 0; i < m->graph->n_inputs; i++)
            if (counts(m->graph->inputs[i])) by[n++] = m->graph->inputs[i];
        scratch_mem.fail_after = k;
        status = hn_backward(m->graph, loss, n, by, grads, &err);
        scratch_mem.fail_after = -1;
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}

#include "support/metric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "measure/metric.h"

#define MOST 16

static hn_arena arena;
static int asked[3], n_asked;

void metric_ask(int first, int second, int third) {
    asked[0] = first;
    asked[1] = second;
    asked[2] = third;
    n_asked = first < 0 ? 0 : second < 0 ? 1 : third < 0 ? 2 : 3;
}

static hn_metric_task new_task(int64_t samples, bool tables) {
    static hn_allocator alloc;
    if (arena.alloc != NULL) hn_arena_deinit(&arena);
    hn_allocator_init(&alloc);
    hn_arena_init(&arena, &alloc, HN_MEM_OTHER);
    hn_metric_task t = {
        .arena = &arena, .samples = samples, .seed = 1, .n_asked = n_asked, .tables = tables};
    memcpy(t.asked, asked, sizeof asked);
    return t;
}

static void cut(hone_value *to, const hone_value *from, size_t n, int64_t samples, int64_t i,
                int64_t take) {
    assert_true(n <= MOST);
    for (size_t k = 0; k < n; k++) {
        to[k] = from[k];
        size_t bytes = from[k].bytes / (size_t)samples;
        to[k].dims[0] = take;
        to[k].data = (unsigned char *)from[k].data + (size_t)i * bytes;
        to[k].bytes = (size_t)take * bytes;
    }
}

/* Samples [i, i + take) of the batch. */
static hone_status add(const hn_metric *m, void *state, const hn_metric_task *t,
                       const hone_eval_batch *b, int64_t i, int64_t take, hn_error *err) {
    hone_value inputs[MOST], outputs[MOST], targets[MOST];
    int64_t index[MOST];
    assert_true(b->n <= MOST);
    for (int64_t k = 0; k < take; k++) index[k] = i + k;
    hone_eval_batch part = *b;
    cut(inputs, b->inputs, b->n_inputs, b->n, i, take);
    cut(outputs, b->outputs, b->n_outputs, b->n, i, take);
    cut(targets, b->targets, b->n_targets, b->n, i, take);
    part.n = part.rows = take;
    part.index = index;
    part.inputs = inputs;
    part.outputs = outputs;
    part.targets = targets;
    if (b->labels != NULL) part.labels = b->labels + i;
    if (i == 0 && m->begin != NULL) HN_TRY(m->begin(state, t, &part, err));
    return m->add(state, t, &part, err);
}

static hone_status measure(const char *name, const hone_eval_batch *b, int64_t take, bool tables,
                           hone_metric_value *v, hone_evaluation *e, hn_error *err) {
    int at, value;
    hone_metric_value all[HN_METRIC_VALUES];
    HN_TRY(hn_metric_find(name, &at, &value, err));
    const hn_metric *m = hn_metrics[at];
    hn_metric_task t = new_task(b->n, tables);
    void *state = hn_arena_zero(&arena, m->state_bytes);
    assert_non_null(state);
    for (int k = 0; k < HN_METRIC_VALUES; k++)
        all[k] = (hone_metric_value){.value = NAN, .low = NAN, .high = NAN, .part = -1};
    for (int64_t i = 0; i < b->n; i += take) HN_TRY(add(m, state, &t, b, i, take, err));
    HN_TRY(m->end(state, &t, all, e, err));
    *v = all[value];
    return HONE_OK;
}

hone_metric_value metric_tables(const char *name, const hone_eval_batch *b, hone_evaluation *e) {
    hn_error err;
    hone_metric_value whole, single;
    *e = (hone_evaluation){0};
    if (measure(name, b, 1, true, &single, e, &err) != HONE_OK) fail_msg("%s", err.text);
    *e = (hone_evaluation){0};
    if (measure(name, b, b->n, true, &whole, e, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_memory_equal(&whole.value, &single.value, sizeof whole.value);
    assert_memory_equal(&whole.low, &single.low, sizeof whole.low);
    assert_memory_equal(&whole.high, &single.high, sizeof whole.high);
    if (!isnan(whole.low)) assert_true(whole.low <= whole.value && whole.value <= whole.high);
    return whole;
}

hone_metric_value metric_value(const char *name, const hone_eval_batch *b) {
    hone_evaluation e;
    return metric_tables(name, b, &e);
}

void metric_refuses(const char *name, const hone_eval_batch *b, hone_status status,
                    const char *text) {
    hn_error err;
    hone_metric_value v;
    hone_evaluation e = {0};
    assert_int_equal(measure(name, b, b->n, false, &v, &e, &err), status);
    if (strstr(err.text, text) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

unsigned metric_suits(const char *name, const hone_eval_batch *b) {
    int at = 0, value;
    hn_error err;
    hone_eval_batch whole = *b;
    whole.rows = b->n;
    hn_metric_task t = new_task(b->n, false);
    assert_int_equal(hn_metric_find(name, &at, &value, &err), HONE_OK);
    return hn_metrics[at]->suits(&t, &whole);
}

void assert_near(double a, double b) {
    double bound = 1e-9 * fmax(1, fabs(b));
    if (!(fabs(a - b) <= bound)) fail_msg("%.12g is not %.12g", a, b);
}

#include "train/diagnose.h"

#include <math.h>
#include <stdio.h>

int64_t hn_first_not_finite(const float *v, int64_t n) {
    int64_t i = 0;
    while (i < n && isfinite(v[i])) i++;
    return i;
}

/* What was found in a tensor. */
typedef struct finding {
    const hn_value *value; /* NULL: nothing */
    int64_t at, n;
    double element;
} finding;

typedef struct search {
    finding first, negative; /* of NaN or infinity; of minus infinity */
} search;

static void look(search *s, const hn_value *v, const hn_tensor *t) {
    bool seen = s->negative.value != NULL;
    if (t == NULL || t->data == NULL || s->first.value != NULL || !hn_dtype_is_float(t->dtype))
        return;
    for (int64_t i = 0; i < t->n; i++) {
        double x = hn_tensor_f64(t, i);
        if (isfinite(x)) continue;
        finding f = {v, i, t->n, x};
        if (!(x < 0)) {
            s->first = f;
            return;
        }
        if (!seen) s->negative = f, seen = true;
    }
}

/* Marks the nodes that the loss depends on: gradients and running statistics are no cause. The check
 * itself, which ends runs, is left out. */
static void mark(hn_graph *g, const hn_node *check) {
    for (hn_node *n = g->first; n != NULL; n = n->next) n->mark = n == check;
    for (hn_node *n = g->last; n != NULL; n = n->prev)
        for (int i = 0; i < n->n_inputs && n->mark != 0; i++) {
            const hn_value *v = hn_node_input(n, i);
            if (v != NULL && v->producer != NULL) v->producer->mark = 1;
        }
    for (hn_node *n = g->first; n != NULL; n = n->next)
        if (n == check) n->mark = 0;
}

/* The values that are looked at. */
typedef struct watched {
    search found;
    int first, negative; /* which value was found */
    int n;
    const hn_value **values;
} watched;

/* Views are shown before what is computed: the place in the list counts. */
static hone_status show(void *ctx, int i, const hn_tensor *t, hn_error *err) {
    watched *w = ctx;
    search s = {0};
    (void)err;
    look(&s, w->values[i], t);
    if (s.first.value != NULL && (w->found.first.value == NULL || i < w->first))
        w->found.first = s.first, w->first = i;
    if (s.negative.value != NULL && (w->found.negative.value == NULL || i < w->negative))
        w->found.negative = s.negative, w->negative = i;
    return HONE_OK;
}

static void list_values(const hn_graph *g, watched *w) {
    for (const hn_node *n = g->first; n != NULL; n = n->next)
        for (int i = 0; i < n->n_outputs && n->mark != 0; i++)
            if (n->outputs[i] != NULL && hn_dtype_is_float(n->outputs[i]->type.dtype))
                w->values[w->n++] = n->outputs[i];
}

/* Runs the part of the graph that makes the loss, with every value shown. */
static hone_status run(const hn_graph *g, watched *w, const hn_tensor *const *in,
                       const hn_run_options *how, hn_error *err) {
    const hn_value *const *inputs;
    hn_model *m = NULL;
    hn_program *p = NULL;
    hn_run_options own = *how;
    own.engine.shows = true;
    own.engine.prepared = NULL;
    own.engine.n_pairs = 0;
    hone_status status =
        hn_model_extract(&m, &inputs, g, NULL, w->n, w->values, how->engine.alloc, err);
    if (status == HONE_OK) status = hn_program_create(&p, m, &own, err);
    if (status == HONE_OK) status = hn_program_run_shown(p, in, show, w, err);
    hn_program_destroy(p);
    if (m != NULL) hn_model_destroy(m);
    return status;
}

static const hn_kept *kept_of(const hn_train_step *s, int input) {
    for (int i = 0; i < s->n_kept; i++)
        if ((s->update != NULL ? s->kept[i].read : s->kept[i].input) == input) return &s->kept[i];
    return NULL;
}

const char *hn_kept_text(hn_kept_kind kind) {
    static const char *const kinds[] = {[HN_KEPT_PARAMETER] = "parameter",
                                        [HN_KEPT_EXTRA] = "what is trained beside the model,",
                                        [HN_KEPT_STATISTIC] = "statistic",
                                        [HN_KEPT_MOMENT] = "the optimizer's moment of",
                                        [HN_KEPT_AVERAGE] = "the average of"};
    return kinds[kind];
}

/* Parameters come first, then the batch. */
static bool look_at_inputs(const hn_train_step *step, const hn_tensor *const *in, char *text,
                           size_t size) {
    const hn_graph *g = step->model->graph;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->n_inputs; i++) {
            search s = {0};
            const hn_kept *k = kept_of(step, i);
            bool trained = k != NULL && (k->kind == HN_KEPT_PARAMETER || k->kind == HN_KEPT_EXTRA);
            if (in[i] == NULL || (pass == 0 ? !trained : k != NULL)) continue;
            look(&s, g->inputs[i], in[i]);
            if (s.first.value == NULL && s.negative.value == NULL) continue;
            finding f = s.first.value != NULL ? s.first : s.negative;
            const char *kind = k != NULL ? hn_kept_text(k->kind) : "the batch's";
            const char *name = k != NULL ? k->name : g->inputs[i]->name;
            snprintf(text, size,
                     "%s '%s' was not finite before the step: element %lld of %lld is %g", kind,
                     name, (long long)f.at, (long long)f.n, f.element);
            return true;
        }
    return false;
}

void hn_diagnose(const hn_train_step *step, const hn_tensor *const *in, const hn_run_options *how,
                 char *text, size_t size) {
    hn_graph *g = step->model->graph;
    hn_allocator *alloc = how->engine.alloc;
    watched w = {0};
    hn_error err;
    char label[320];
    if (look_at_inputs(step, in, text, size)) return;
    mark(g, g->outputs[step->loss].value->producer);
    w.values = hn_alloc_array(alloc, (size_t)g->n_values, sizeof *w.values, HN_MEM_OTHER);
    hone_status status = w.values != NULL ? HONE_OK : HN_NOMEM(&err);
    if (status == HONE_OK) {
        list_values(g, &w);
        status = run(g, &w, in, how, &err);
    }
    hn_free(alloc, w.values);
    finding f = w.found.first.value != NULL ? w.found.first : w.found.negative;
    if (f.value == NULL && status != HONE_OK) {
        snprintf(text, size, "its cause is not known: %.500s", err.text);
        return;
    }
    if (f.value == NULL) {
        snprintf(text, size, "computed value by value, all are finite");
        return;
    }
    snprintf(text, size,
             "the first value that is not finite is '%s' of %s: element %lld of %lld is %g",
             f.value->name, hn_node_label(f.value->producer, label, sizeof label), (long long)f.at,
             (long long)f.n, f.element);
}

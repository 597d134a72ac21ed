#include "measure/accuracy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/border.h"
#include "base/clock.h"
#include "base/log.h"
#include "measure/loader.h"
#include "measure/metric.h"

#define MOST_CHOSEN 64    /* values of one evaluation */
#define READING_THREADS 1 /* beside those that run the model */
#define FEWEST_GUESSES 50 /* samples that tell answers from guesses */

typedef struct choice {
    int metric, value;
} choice;

typedef struct evaluation {
    hone_evaluation shown;
    hn_arena arena;
    hn_input_values values;
} evaluation;

typedef struct task {
    const hn_graph *graph;
    hn_dataset *ds;
    hn_allocator *alloc;
    hn_accuracy_run *run;
    void *ctx;
    const hone_eval_options *o;
    evaluation *e;
    hn_metric_task metric;
    bool by_default; /* also what suits */
    int n_chosen;
    choice chosen[MOST_CHOSEN];
    void **states; /* by metric; NULL: none of its values is chosen */
    hn_feed *feed;
    hn_look look;
    hn_tensor **out;
    hone_value *shown; /* inputs, targets and outputs of a batch */
} task;

/* ---- what is asked for ---- */

/* Copies the part of a list up to the next comma; what follows it, NULL at the end. */
static const char *next_word(const char *list, char *word, size_t bytes) {
    size_t n = strcspn(list, ",");
    snprintf(word, bytes, "%.*s", (int)(n < bytes ? n : bytes - 1), list);
    return list[n] == ',' ? list + n + 1 : NULL;
}

static hone_status choose(task *k, choice c, hn_error *err) {
    for (int i = 0; i < k->n_chosen; i++)
        if (k->chosen[i].metric == c.metric && k->chosen[i].value == c.value) return HONE_OK;
    HN_CHECK(err, k->n_chosen < MOST_CHOSEN, HONE_E_LIMIT, "more than %d metrics", MOST_CHOSEN);
    k->chosen[k->n_chosen++] = c;
    return HONE_OK;
}

static hone_status choose_by_name(task *k, const char *list, hn_error *err) {
    k->by_default = list == NULL;
    while (list != NULL && *list != '\0') {
        char word[64];
        choice c;
        list = next_word(list, word, sizeof word);
        if (strcmp(word, "default") == 0) {
            k->by_default = true;
            continue;
        }
        HN_TRY(hn_metric_find(word, &c.metric, &c.value, err));
        HN_TRY(choose(k, c, err));
    }
    return HONE_OK;
}

static hone_status find_output(const hn_graph *g, const char *name, int *at, hn_error *err) {
    char names[500] = "";
    size_t used = 0;
    for (int i = 0; i < g->n_outputs; i++) {
        const char *known = g->outputs[i].value->name;
        if (strcmp(known, name) == 0) {
            *at = i;
            return HONE_OK;
        }
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s'%s'",
                                     used > 0 ? ", " : "", known);
    }
    return HN_FAIL(err, HONE_E_NOT_FOUND, "the model has no output '%s'; it has %s", name, names);
}

static hone_status choose_outputs(task *k, const char *list, hn_error *err) {
    hn_metric_task *t = &k->metric;
    const int most = sizeof t->asked / sizeof *t->asked;
    while (list != NULL && *list != '\0') {
        char word[400];
        list = next_word(list, word, sizeof word);
        HN_CHECK(err, t->n_asked < most, HONE_E_ARG, "at most %d outputs can be named", most);
        HN_TRY(find_output(k->graph, word, &t->asked[t->n_asked], err));
        t->n_asked++;
    }
    return HONE_OK;
}

/* The first metric that has values for such a batch; with `tables`, that makes tables too. */
static hone_status choose_what_suits(task *k, const hone_eval_batch *b, bool tables,
                                     hn_error *err) {
    for (int m = 0; m < hn_n_metrics; m++) {
        if (tables && !hn_metrics[m]->tabulates) continue;
        uint32_t suits = hn_metrics[m]->suits(&k->metric, b);
        for (int v = 0; v < HN_METRIC_VALUES; v++)
            if ((suits >> v & 1) != 0) HN_TRY(choose(k, (choice){m, v}, err));
        if (suits != 0) break;
    }
    return HONE_OK;
}

static hone_status no_labels(const task *k, hn_error *err) {
    const char *how = hn_dataset_how_labelled(k->ds);
    return HN_FAIL(err, HONE_E_ARG, "the dataset has no labels to score by%s%s",
                   how != NULL ? "; it gets them by " : "", how != NULL ? how : "");
}

/* Whether the model may be one of texts, which are scored by the words that follow. */
static bool may_be_text(const task *k) {
    int rank = k->graph->outputs[0].value->type.shape.rank;
    if (k->metric.n_asked > 0) rank = k->graph->outputs[k->metric.asked[0]].value->type.shape.rank;
    if (rank >= 0 && rank != 3) return false;
    for (int i = 0; i < k->graph->n_inputs; i++)
        if (hn_dtype_is_int(k->graph->inputs[i]->type.dtype)) return true;
    return false;
}

/* Says that labels are missing before anything is computed. */
static hone_status check_labels(const task *k, hn_error *err) {
    if (hn_dataset_has_labels(k->ds)) return HONE_OK;
    for (int i = 0; i < k->n_chosen; i++)
        if (hn_metrics[k->chosen[i].metric]->by_labels) return no_labels(k, err);
    bool scored = !k->by_default || hn_dataset_n_targets(k->ds) > 0 || k->metric.n_asked > 1;
    return scored || may_be_text(k) ? HONE_OK : no_labels(k, err);
}

static hone_status nothing_suits(const task *k, const hone_eval_batch *b, hn_error *err) {
    if (b->labels == NULL && b->n_targets == 0) return no_labels(k, err);
    const hone_value *output = hn_metric_output(&k->metric, b, 0);
    char text[400];
    int64_t elements;
    HN_TRY(hn_metric_sample(b, output, &elements, err));
    return HN_FAIL(err, HONE_E_ARG, "%s: no metric is known to suit it; name one",
                   hn_metric_text("output", output, text, sizeof text));
}

/* What suits goes before what was asked for. */
static hone_status choose_default(task *k, const hone_eval_batch *b, hn_error *err) {
    choice named[MOST_CHOSEN];
    int n = k->n_chosen;
    memcpy(named, k->chosen, sizeof named);
    k->n_chosen = 0;
    HN_TRY(choose_what_suits(k, b, false, err));
    if (k->n_chosen == 0) return nothing_suits(k, b, err);
    for (int i = 0; i < n; i++) HN_TRY(choose(k, named[i], err));
    return HONE_OK;
}

static hone_status complete_choice(task *k, const hone_eval_batch *b, hn_error *err) {
    if (k->by_default) HN_TRY(choose_default(k, b, err));
    bool tables = !k->metric.tables;
    for (int i = 0; i < k->n_chosen; i++) tables |= hn_metrics[k->chosen[i].metric]->tabulates;
    return tables ? HONE_OK : choose_what_suits(k, b, true, err);
}

/* ---- running ---- */

/* The n samples of a tensor whose first axis is the batch. */
static void show(hone_value *v, const char *name, const hn_tensor *t, int64_t rows, int64_t n) {
    *v = (hone_value){.name = name, .dtype = t->dtype, .rank = t->rank, .data = t->data};
    memcpy(v->dims, t->dims, sizeof v->dims);
    if (v->rank > 0 && v->dims[0] == rows) v->dims[0] = n;
    v->bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    if (t->dtype == HONE_DTYPE_STRING) { /* which cannot be handed over */
        v->data = NULL;
        v->bytes = 0;
    }
}

static hone_status begin_metrics(task *k, const hone_eval_batch *b, hn_error *err) {
    HN_TRY(complete_choice(k, b, err));
    for (int i = 0; i < k->n_chosen; i++) {
        int m = k->chosen[i].metric;
        if (k->states[m] != NULL) continue;
        k->states[m] = hn_arena_zero(&k->e->arena, hn_metrics[m]->state_bytes);
        if (k->states[m] == NULL) return HN_NOMEM(err);
        if (hn_metrics[m]->begin != NULL)
            HN_TRY(hn_metrics[m]->begin(k->states[m], &k->metric, b, err));
    }
    return HONE_OK;
}

static hone_status score(task *k, const hn_samples *s, hn_error *err) {
    const hn_graph *g = k->graph;
    hone_value *inputs = k->shown, *targets = inputs + s->n_in, *outputs = targets + s->n_targets;
    hone_eval_batch b = {.size = sizeof b,
                         .n = s->n,
                         .index = s->index,
                         .rows = hn_feed_rows(k->feed, s->n),
                         .n_outputs = (size_t)g->n_outputs,
                         .n_targets = (size_t)s->n_targets,
                         .inputs = inputs,
                         .outputs = outputs,
                         .targets = targets,
                         .labels = s->labels};
    for (int i = 0; i < s->n_in; i++)
        if (s->in[i] != NULL)
            show(&inputs[b.n_inputs++], g->inputs[i]->name, s->in[i], b.rows, b.n);
    for (int i = 0; i < s->n_targets; i++)
        show(&targets[i], hn_dataset_target_at(k->ds, i)->name, s->targets[i], b.n, b.n);
    for (int i = 0; i < g->n_outputs; i++)
        show(&outputs[i], g->outputs[i].value->name, k->out[i], b.rows, b.n);
    HN_TRY(hn_look_add(&k->look, inputs, b.n_inputs, b.n, b.index, err));
    if (k->e->shown.samples == 0) HN_TRY(begin_metrics(k, &b, err));
    for (int m = 0; m < hn_n_metrics; m++)
        if (k->states[m] != NULL) HN_TRY(hn_metrics[m]->add(k->states[m], &k->metric, &b, err));
    k->e->shown.samples += b.n;
    return k->o->on_batch == NULL ? HONE_OK : k->o->on_batch(k->o->on_batch_ctx, &b, err);
}

static hone_status do_batch(task *k, const hn_samples *s, hn_error *err) {
    HN_TRY(k->run(k->ctx, (const hn_tensor *const *)s->in, k->out, err));
    hone_status status = score(k, s, err);
    for (int i = 0; i < k->graph->n_outputs; i++) hn_tensor_unref(k->out[i]);
    return status;
}

static hone_status do_all(task *k, hn_loader *loader, hn_error *err) {
    int64_t total = hn_dataset_count(k->ds);
    for (;;) {
        hn_samples s;
        HN_TRY(hn_loader_next(loader, &s, err));
        int64_t done = s.n > 0 ? s.index[s.n - 1] + 1 : total;
        hone_status status = s.n > 0 ? do_batch(k, &s, err) : HONE_OK;
        bool last = s.n == 0;
        hn_samples_deinit(&s);
        HN_TRY(status);
        if (last) break;
        HN_CHECK(err, k->o->progress == NULL || k->o->progress(k->o->progress_ctx, done, total),
                 HONE_E_LIMIT, "stopped after %lld of %lld samples", (long long)done,
                 (long long)total);
    }
    HN_CHECK(err, k->e->shown.samples > 0, HONE_E_FORMAT,
             "none of the %lld samples of the dataset can be decoded", (long long)total);
    k->e->shown.skipped = total - k->e->shown.samples;
    char text[400];
    const char *verdict = hn_look_verdict(&k->look, text, sizeof text);
    if (verdict != NULL) hn_log(HONE_LOG_WARN, "dataset: %s", verdict);
    k->e->values = hn_look_values(&k->look);
    k->e->values.bytes = hn_dataset_field_at(k->ds, 0)->dtype == HONE_DTYPE_U8;
    return HONE_OK;
}

/* ---- results ---- */

static hone_status end_metrics(task *k, hn_error *err) {
    hone_evaluation *e = &k->e->shown;
    hone_metric_value *values = hn_arena_array(&k->e->arena, (size_t)k->n_chosen, sizeof *values);
    if (values == NULL) return HN_NOMEM(err);
    for (int m = 0; m < hn_n_metrics; m++) {
        if (k->states[m] == NULL) continue;
        hone_metric_value all[HN_METRIC_VALUES];
        for (int v = 0; v < HN_METRIC_VALUES; v++) {
            const hn_metric_name *name = &hn_metrics[m]->values[v];
            all[v] = (hone_metric_value){.name = name->name,
                                         .value = NAN,
                                         .low = NAN,
                                         .high = NAN,
                                         .part = -1,
                                         .is_share = name->is_share,
                                         .lower_better = name->lower_better};
        }
        HN_TRY(hn_metrics[m]->end(k->states[m], &k->metric, all, e, err));
        for (int i = 0; i < k->n_chosen; i++) {
            if (k->chosen[i].metric != m) continue;
            values[i] = all[k->chosen[i].value];
            if (isnan(values[i].low)) values[i].interval = NULL;
        }
    }
    e->metrics = values;
    e->n_metrics = (size_t)k->n_chosen;
    return HONE_OK;
}

static hone_status measure(task *k, hn_error *err) {
    const hn_graph *g = k->graph;
    hn_arena *arena = &k->e->arena;
    size_t n_out = (size_t)g->n_outputs;
    size_t n_shown = (size_t)g->n_inputs + (size_t)hn_dataset_n_targets(k->ds) + n_out;
    HN_TRY(hn_feed_create(&k->feed, g, k->ds, k->o->batch, k->alloc, err));
    k->out = hn_arena_array(arena, n_out, sizeof *k->out);
    k->shown = hn_arena_array(arena, n_shown, sizeof *k->shown);
    k->states = hn_arena_array(arena, (size_t)hn_n_metrics, sizeof *k->states);
    if (k->out == NULL || k->shown == NULL || k->states == NULL) return HN_NOMEM(err);
    hn_loader *loader;
    hn_loader_options ahead = {.threads = READING_THREADS};
    HN_TRY(hn_loader_create(&loader, k->feed, &ahead, k->alloc, err));
    hone_status status = do_all(k, loader, err);
    hn_loader_destroy(loader);
    return status == HONE_OK ? end_metrics(k, err) : status;
}

hone_status hn_accuracy_measure(const hn_graph *g, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                                const hone_eval_options *o, hn_allocator *alloc, hn_allocator *keep,
                                hone_evaluation **out, hn_error *err) {
    int64_t begun = hn_clock_ns();
    task k = {.graph = g, .ds = ds, .alloc = alloc, .run = run, .ctx = ctx, .o = o};
    HN_CHECK(err, g->n_outputs >= 1, HONE_E_MODEL, "the model has no output to score");
    HN_TRY(choose_outputs(&k, o->outputs, err));
    HN_TRY(choose_by_name(&k, o->metrics, err));
    HN_TRY(check_labels(&k, err));
    k.e = hn_alloc_zero(keep, sizeof *k.e, HN_MEM_OTHER);
    if (k.e == NULL) return HN_NOMEM(err);
    hn_arena_init(&k.e->arena, keep, HN_MEM_OTHER);
    k.e->shown.size = sizeof k.e->shown;
    k.e->shown.owner = k.e;
    k.metric.arena = &k.e->arena;
    k.metric.samples = hn_dataset_count(ds);
    k.metric.seed = o->seed;
    k.metric.tables = o->tables;
    hn_look_init(&k.look, alloc);
    hone_status status = measure(&k, err);
    hn_look_deinit(&k.look);
    hn_feed_destroy(k.feed);
    k.e->shown.seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    if (status == HONE_OK)
        *out = &k.e->shown;
    else
        hn_evaluation_destroy(&k.e->shown);
    return status;
}

void hn_evaluation_destroy(hone_evaluation *e) {
    if (e == NULL) return;
    evaluation *own = e->owner;
    hn_allocator *alloc = own->arena.alloc;
    hn_arena_deinit(&own->arena);
    hn_shown_free(e, &own->shown);
    hn_free(alloc, own);
}

int64_t hn_evaluation_guessed(const hone_evaluation *e) {
    const hone_metric_value *v = &e->metrics[0];
    if (e->n_metrics == 0 || strcmp(v->name, "top1") != 0 || e->classes < 2) return 0;
    return e->samples >= FEWEST_GUESSES && v->low * (double)e->classes <= 1 ? e->classes : 0;
}

hn_input_values hn_evaluation_input_values(const hone_evaluation *e) {
    return ((const evaluation *)e->owner)->values;
}

void hn_warn_of_guessing(double top1, int64_t classes, const hn_input_values *values) {
    char seen[600] = "";
    if (values->name != NULL) hn_input_values_text(values, seen, sizeof seen);
    hn_log(HONE_LOG_WARN,
           "top1 is %.2f %%, and guessing among %lld classes may do as well: are samples scaled "
           "and labels numbered as they were when the model was trained?%s%s",
           100 * top1, (long long)classes, *seen != '\0' ? " " : "", seen);
}

hone_status hn_accuracy_top(const hn_graph *g, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                            const hone_eval_options *o, hn_allocator *alloc,
                            hone_eval_result *result, hn_error *err) {
    hone_eval_options top = *o;
    hone_evaluation *e;
    top.metrics = "top1,top5";
    HN_TRY(hn_accuracy_measure(g, run, ctx, ds, &top, alloc, alloc, &e, err));
    *result = (hone_eval_result){.size = sizeof *result,
                                 .samples = e->samples,
                                 .classes = e->classes,
                                 .top1 = e->metrics[0].part,
                                 .top5 = e->metrics[1].part,
                                 .seconds = e->seconds};
    hn_evaluation_destroy(e);
    return HONE_OK;
}

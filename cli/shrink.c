/* The verbs that take weights away or tie them to each other. Each is a transform: its parameters
 * are the verb's options (options_of), and what the verb does is a recipe of one or more lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "epochs.h"
#include "write.h"

extern const verb verb_cluster, verb_factorize, verb_prune, verb_replace;

typedef struct shrunk_size {
    int64_t file_bytes, params, zeros, macs;
    double ms; /* NaN: not measured */
} shrunk_size;

/* What is known of a model before and after. */
typedef struct measured {
    shrunk_size size;
    hone_inspection *nodes;
    hone_session *session; /* NULL: it is not timed */
    feed feed;
    hone_profile *profile;
} measured;

typedef struct job {
    const args *a;
    const char *output, *spec;
    char *recipe;
    hone_session_options run;
    hone_qat_options training; /* of which samples to judge by, and who is told of epochs, count */
    epochs epochs;
    progress bar;
    measured before, after;
    hone_model *model, *made;
    hone_dataset *data, *val;
    hone_quantization *report;
} job;

/* ---- the recipe ---- */

/* Options of the verbs that are parameters of `train`. */
static const struct {
    const char *option, *param;
} of_training[] = {
    {"--epochs", "epochs"},       {"--batch", "batch"},       {"--lr", "rate"},
    {"--optimizer", "optimizer"}, {"--schedule", "schedule"}, {"--weight-decay", "decay"},
    {"--augment", "augment"},
};

/* A line of `train`, if --epochs asks for that. */
static bool add_training(job *j) {
    const args *a = j->a;
    size_t n = sizeof of_training / sizeof *of_training;
    for (size_t i = 0; i < n && !has(a, "--epochs"); i++)
        if (has(a, of_training[i].option)) {
            complain("%s is for training, which --epochs N asks for", of_training[i].option);
            return false;
        }
    if (!has(a, "--epochs")) return true;
    j->recipe = recipe_add(j->recipe, "train");
    for (size_t i = 0; i < n; i++)
        if (has(a, of_training[i].option))
            j->recipe = recipe_add_word(j->recipe, of_training[i].param,
                                        value_of(a, of_training[i].option), false);
    j->recipe = recipe_add(j->recipe, "\n");
    return true;
}

/* A line of the verb's transform, and behind it what other options ask for. */
static bool write_recipe(job *j) {
    const args *a = j->a;
    char head[64];
    int64_t seed = 1;
    if (!number_of(a, "--seed", 0, INT64_MAX, &seed)) return false;
    snprintf(head, sizeof head, "hone recipe 2\nseed %lld\n", (long long)seed);
    j->recipe = recipe_add(NULL, head);
    if (has(a, "--samples")) {
        int64_t samples = 0;
        if (!number_of(a, "--samples", 0, INT64_MAX, &samples)) return false;
        snprintf(head, sizeof head, "samples %lld\n", (long long)samples);
        j->recipe = recipe_add(j->recipe, head);
    }
    j->recipe = recipe_add_options(j->recipe, a);
    if (!add_training(j)) return false;
    if (has(a, "--sparse-initializers")) j->recipe = recipe_add(j->recipe, "sparse_form\n");
    return true;
}

static bool read_options(job *j) {
    const args *a = j->a;
    j->output = value_of(a, "--output");
    j->spec = value_of(a, "--data");
    if (j->output == NULL && !has(a, "--scan"))
        complain("--output FILE says where the smaller model goes");
    else if (j->output == NULL && has(a, "--epochs"))
        complain("--epochs trains what is left: --output FILE says where it goes");
    else if (has(a, "--epochs") && j->spec == NULL)
        complain("--epochs wants --data KIND:PATH, samples to train on");
    else
        return write_recipe(j) && session_options(a, &j->run);
    return false;
}

/* ---- measuring ---- */

static hone_status inspect(hone_model *m, measured *out, hone_error *err) {
    hone_status status = hone_model_inspect(m, NULL, 0, &out->nodes, err);
    if (status != HONE_OK) return status;
    const hone_inspection *in = out->nodes;
    out->size = (shrunk_size){in->file_bytes, in->params, in->params_zero, in->macs, NAN};
    return HONE_OK;
}

/* Whatever comes in the way, the model is made, and times are not told. */
static bool open_timed(job *j, hone_model *m, measured *out) {
    hone_error err;
    args none = *j->a;
    none.n_options = 0;
    hone_session_options o = j->run;
    return hone_session_create(&out->session, m, &o, &err) == HONE_OK &&
           feed_init(&out->feed, &none, m) == EXIT_DONE &&
           feed_fill(&out->feed, HONE_FILL_RANDOM, 1, 0) == EXIT_DONE;
}

enum { ROUNDS = 5, RUNS = 10 };

static void profile(measured *m, const hone_profile_options *o) {
    hone_profile *p;
    feed *f = &m->feed;
    if (hone_profile_create(&p, m->session, f->n_in, f->in, f->n_out, f->out, o, NULL) != HONE_OK)
        return;
    if (isnan(m->size.ms) || p->wall_ms < m->size.ms) {
        hone_profile *was = m->profile;
        m->profile = p;
        m->size.ms = p->wall_ms;
        p = was;
    }
    hone_profile_destroy(p);
}

/* Both models run in turns; the least of the rounds' medians counts, and the steps of that round. */
static void time_both(job *j) {
    hone_profile_options o;
    if (has(j->a, "--no-timing") || j->output == NULL) return;
    hush_notes();
    if (!open_timed(j, j->model, &j->before) || !open_timed(j, j->made, &j->after)) return;
    hone_profile_options_init(&o);
    o.runs = RUNS;
    for (int i = 0; i < ROUNDS && progress_tell(&j->bar, "time", i, ROUNDS); i++) {
        profile(&j->before, &o);
        profile(&j->after, &o);
    }
    progress_end(&j->bar);
}

static void measured_deinit(measured *m) {
    hone_profile_destroy(m->profile);
    hone_session_destroy(m->session);
    feed_deinit(&m->feed);
    hone_inspection_destroy(m->nodes);
}

/* ---- what is printed ---- */

typedef struct layer_cost {
    int64_t macs;
    double ms; /* NaN: not measured */
} layer_cost;

typedef struct shrunk_told {
    const hone_shrunk_layer *l;
    layer_cost before, after;
} shrunk_told;

/* The layer, or what came in its place. */
static bool is_of(const char *node, const char *layer) {
    size_t n = strlen(layer);
    return node != NULL && strncmp(node, layer, n) == 0 && (node[n] == '\0' || node[n] == '/');
}

static layer_cost cost_of(const measured *m, const char *layer) {
    layer_cost c = {0, NAN};
    for (size_t i = 0; i < m->nodes->n_nodes; i++) {
        const hone_node_info *n = &m->nodes->nodes[i];
        const char *name = n->name != NULL && n->name[0] != '\0' ? n->name : n->output_name;
        if (is_of(name, layer) && n->macs > 0) c.macs += n->macs;
    }
    for (size_t i = 0; m->profile != NULL && i < m->profile->n_steps; i++) {
        const hone_step_profile *s = &m->profile->steps[i];
        if (is_of(s->node, layer)) c.ms = (isnan(c.ms) ? 0 : c.ms) + s->ms;
    }
    return c;
}

static shrunk_told told(const job *j, size_t i) {
    const hone_shrunk_layer *l = &j->report->changes[i];
    return (shrunk_told){l, cost_of(&j->before, l->layer), cost_of(&j->after, l->layer)};
}

/* A layer of what was scanned. */
typedef struct scan_row {
    const hone_quantization *q;
    size_t row;
} scan_row;

#include "schema/epochs.def"
#include "schema/prune.def"
/* Behind that, whose records they have. */
#include "schema/cluster.def"
#include "schema/factorize.def"
#include "schema/replace.def"

static exit_code write_results(const job *w) {
    json j;
    results_begin(&j, w->a);
    if (w->a->verb == &verb_cluster)
        write_cluster(&j, w->a, w);
    else if (w->a->verb == &verb_factorize)
        write_factorize(&j, w->a, w);
    else if (w->a->verb == &verb_replace)
        write_replace(&j, w->a, w);
    else
        write_prune(&j, w->a, w);
    return results_end(&j, w->a);
}

enum { MOST_LEVELS = 16 }; /* shares that a table has room for */

static void print_ms(table *t, double ms) { table_cell(t, isnan(ms) ? "-" : "%.4f", ms); }

static void print_layers(const job *j) {
    static const char *const heads[] = {"layer", "operator", "change", "weights", "not zero",
                                        "MACs",  "then",     "ms",     "then",    "noise"};
    table *t = NULL;
    char buf[32];
    for (size_t i = 0; i < j->report->n_changes; i++) {
        shrunk_told w = told(j, i);
        if (w.l->what == NULL) continue;
        if (t == NULL) t = table_new(heads, "tltrrrrrrr");
        table_cell(t, "%s", w.l->layer);
        table_cell(t, "%s", w.l->op);
        table_cell(t, "%s", w.l->what);
        table_cell(t, "%s", human_count(w.l->weights, buf));
        table_cell(t, "%s", human_count(w.l->kept, buf));
        table_cell(t, "%s", human_count(w.before.macs, buf));
        table_cell(t, "%s", human_count(w.after.macs, buf));
        print_ms(t, w.before.ms);
        print_ms(t, w.after.ms);
        table_cell(t, isnan(w.l->error) ? "-" : "%.1e", w.l->error);
    }
    if (t != NULL) table_print(t);
}

/* Layers that were left alone, by reason. */
static void print_left(const hone_quantization *q) {
    static const char *const heads[] = {"left alone", "because"};
    table *t = NULL;
    for (size_t i = 0; i < q->n_changes; i++) {
        const char *why = q->changes[i].why_not;
        int n = 0;
        for (size_t k = 0; why != NULL && k < q->n_changes; k++) {
            if (q->changes[k].why_not == NULL || strcmp(q->changes[k].why_not, why) != 0) continue;
            if (k < i) why = NULL;
            n++;
        }
        if (why == NULL) continue;
        if (t == NULL) t = table_new(heads, "rh");
        if (n > 1)
            table_cell(t, "%d", n);
        else
            table_cell(t, "%s", q->changes[i].layer);
        table_cell(t, "%s", why);
    }
    if (t == NULL) return;
    line("%s", "");
    table_print(t);
}

/* What each layer loses alone: of the metric where it is known, else as noise at the outputs. */
static void print_scan(const hone_quantization *q) {
    static char shares[MOST_LEVELS][24];
    const char *heads[MOST_LEVELS + 1] = {"layer"};
    char columns[MOST_LEVELS + 2] = "t";
    size_t n = q->n_scan_levels < MOST_LEVELS ? q->n_scan_levels : MOST_LEVELS;
    bool scored = q->scan_scores != NULL;
    double unit = scored && q->scan_is_share ? 100 : 1;
    for (size_t k = 0; k < n; k++) {
        snprintf(shares[k], sizeof shares[k], "%g %%", 100 * q->scan_levels[k]);
        heads[k + 1] = shares[k];
        strcat(columns, "r");
    }
    if (scored)
        line("%s%s when so much of one layer is gone; %.4g of the model as it is", q->scan_metric,
             q->scan_is_share ? " in %" : "", unit * q->scan_before);
    else
        line("%s", "signal to noise of the outputs in dB when so much of one layer is gone");
    line("%s", "");
    table *t = table_new(heads, columns);
    for (size_t i = 0; i < q->n_scanned; i++) {
        table_cell(t, "%s", q->scan_layers[i]);
        for (size_t k = 0; k < n; k++) {
            size_t at = i * q->n_scan_levels + k;
            double v = scored ? unit * q->scan_scores[at] : q->scan_sqnr[at];
            table_cell(t, isfinite(v) ? "%.*f" : "-", scored ? 2 : 1, v);
        }
    }
    table_print(t);
}

static void print_text(const job *j) {
    static const char *const heads[] = {"", "before", "after", "ratio"};
    const shrunk_size *b = &j->before.size, *n = &j->after.size;
    char buf[32];
    if (has(j->a, "--scan")) print_scan(j->report);
    if (j->output == NULL) return;
    if (has(j->a, "--scan")) line("%s", "");
    print_layers(j);
    print_left(j->report);
    line("%s", "");
    table *t = table_new(heads, "lrrr");
    const struct {
        const char *what;
        int64_t before, after;
        bool bytes;
    } rows[] = {{"file", b->file_bytes, n->file_bytes, true},
                {"parameters", b->params, n->params, false},
                {"not zero", b->params - b->zeros, n->params - n->zeros, false},
                {"MACs", b->macs, n->macs, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        table_cell(t, "%s", rows[i].what);
        for (int k = 0; k < 2; k++) {
            int64_t v = k == 0 ? rows[i].before : rows[i].after;
            table_cell(t, "%s", rows[i].bytes ? human_bytes(v, buf) : human_count(v, buf));
        }
        table_cell(t, rows[i].after > 0 ? "%.2f" : "-",
                   (double)rows[i].before / (double)rows[i].after);
    }
    if (!isnan(b->ms) && !isnan(n->ms)) {
        table_cell(t, "ms of a run");
        table_cell(t, "%.4f", b->ms);
        table_cell(t, "%.4f", n->ms);
        table_cell(t, "%.2f", b->ms / n->ms);
    }
    table_print(t);
    if (has(j->a, "--verbose")) print_stages(j->report->n_stages, j->report->stages);
    const char *words[] = {j->a->argument[0], j->output, "--data", j->spec};
    char *next = command_text("compare", j->spec != NULL ? 4 : 2, words);
    line("%s", "");
    line("model  %s", j->output);
    line("next   %s", next);
    free(next);
}

/* ---- the whole ---- */

static hone_status shrink(job *j, hone_error *err) {
    hone_transform_options o;
    hone_status status = load_model(j->a, &j->model, err);
    if (status == HONE_OK) status = inspect(j->model, &j->before, err);
    if (status == HONE_OK && j->spec != NULL) status = hone_dataset_open(&j->data, j->spec, err);
    if (status == HONE_OK && has(j->a, "--val"))
        status = hone_dataset_open(&j->val, value_of(j->a, "--val"), err);
    if (status != HONE_OK) return status;
    hone_qat_options_init(&j->training);
    j->training.val = j->val;
    j->training.epoch = epochs_tell;
    j->training.epoch_ctx = &j->epochs;
    hone_transform_options_init(&o);
    o.run = &j->run;
    o.progress = progress_tell;
    o.progress_ctx = &j->bar;
    o.qat = &j->training;
    status = hone_model_transform(&j->made, j->model, j->recipe, j->data, &o, &j->report, err);
    progress_end(&j->bar);
    if (status == HONE_OK && j->output != NULL)
        status = hone_model_save(j->made, j->output, NULL, err);
    return status == HONE_OK ? inspect(j->made, &j->after, err) : status;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    hone_error err;
    exit_code code = EXIT_USAGE;
    j.epochs = (epochs){.a = a, .bar = &j.bar, .float_val = NAN, .before_val = NAN};
    if (read_options(&j)) {
        hone_status status = shrink(&j, &err);
        if (status != HONE_OK) {
            code = fail_with(&err);
            if (status == HONE_E_ARG || (status == HONE_E_FORMAT && j.model != NULL))
                code = EXIT_USAGE;
        } else {
            for (size_t i = 0; i < j.report->n_warnings && !has(a, "--quiet"); i++)
                complain("warning: %s", j.report->warnings[i]);
            time_both(&j);
            if (!has(a, "--json")) print_text(&j);
            epochs_note_no_gain(&j.epochs);
            code = write_results(&j);
        }
    }
    measured_deinit(&j.before);
    measured_deinit(&j.after);
    hone_quantization_destroy(j.report);
    hone_model_destroy(j.made);
    hone_model_destroy(j.model);
    hone_dataset_destroy(j.data);
    hone_dataset_destroy(j.val);
    free(j.epochs.v);
    free(j.recipe);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the smaller model", false, NULL},
    {"--data", 'd', "SPEC", "samples to use: to look at and to train on, KIND:PATH[,key=value...]",
     false, NULL},
    {"--samples", 0, "N", "how many samples to look at (default: 512; 0: all)", false, NULL},
    {"--val", 0, "SPEC", "samples to judge by: after each epoch, and with --max-drop", false, NULL},
    {"--epochs", 0, "N", "how often to go through the data, to train what is left", false, NULL},
    {"--batch", 'b', "N", "samples per run, with --epochs (default: 64)", false, NULL},
    {"--lr", 0, "R", "highest learning rate, with --epochs (default: 0.002, of sgd 0.01)", false,
     NULL},
    {"--optimizer", 0, "NAME", "adam (default), adamw or sgd, with --epochs", false, NULL},
    {"--schedule", 0, "NAME", "of the rate: cosine (default), constant, one-cycle or step", false,
     NULL},
    {"--weight-decay", 0, "W", "of weights, with --epochs (default: 0)", false, NULL},
    {"--augment", 0, "LIST", "change samples: flip:crop=4:cutout=8:noise=0.1, with --epochs", false,
     NULL},
    {"--sparse-initializers", 0, NULL,
     "store weights of which less than a third is not 0 as sparse initializers", false, NULL},
    {"--no-timing", 0, NULL, "do not run the models before and after in turns to time them", false,
     NULL},
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_ISA,
    OPTION_MAX_MEMORY,
    OPTION_TIME_LIMIT,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

#define VERB_OF(verb_name, text)                                                            \
    {                                                                                       \
        .name = verb_name, .usage = "MODEL -o FILE", .n_arguments = 1, .most_arguments = 1, \
        .summary = text, .options = options, .transform = verb_name, .run = run,            \
    }
const verb verb_prune =
    VERB_OF("prune", "take away the weights, channels or heads that matter least");
const verb verb_cluster = VERB_OF("cluster", "make the weights of a layer a few numbers");
const verb verb_factorize =
    VERB_OF("factorize", "put two or three layers of lower rank in the place of one");
const verb verb_replace =
    VERB_OF("replace", "put a depthwise and a pointwise convolution in the place of one");

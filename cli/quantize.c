/* hone quantize: a model in fewer bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epochs.h"
#include "write.h"

typedef struct sizes {
    int64_t file_bytes, params_bytes;
} sizes;

typedef struct job {
    const args *a;
    const char *output, *spec;
    char *recipe; /* the text of --recipe; NULL: options say what is done */
    hone_quantize_options o;
    hone_session_options run;
    hone_layer_rule rules[MOST_OPTIONS];
    hone_qat_options qat;
    epochs epochs; /* of --qat, or of a recipe that trains */
    progress bar;
    sizes before, after;
    hone_model *model, *made;
    hone_dataset *data, *val;
    hone_quantization *report;
    bool refused;              /* no choice of types is within limits, or nothing can be changed */
    hone_comparison *compared; /* with the model as it was; NULL: they were not */
} job;

/* ---- options ---- */

/* The names of a table, ending with NULL; free it. */
static const char **names_of(hone_quantize_table of) {
    size_t n = hone_n_quantize_choices(of);
    const char **names = must(calloc(n + 1, sizeof *names));
    for (size_t i = 0; i < n; i++) {
        hone_quantize_choice c;
        if (hone_quantize_choice_at(of, i, &c, NULL) == HONE_OK) names[i] = c.name;
    }
    return names;
}

bool is_choice(hone_quantize_table of, const char *kind, const char *word, bool *needs_data) {
    for (size_t i = 0; i < hone_n_quantize_choices(of); i++) {
        hone_quantize_choice c;
        if (hone_quantize_choice_at(of, i, &c, NULL) != HONE_OK || strcmp(c.name, word) != 0)
            continue;
        if (needs_data != NULL) *needs_data = *needs_data || c.needs_data;
        return true;
    }
    const char **names = names_of(of);
    has_no("hone", kind, word, names);
    free(names);
    return false;
}

/* Every word of a list separated by commas is. */
static bool are_choices(hone_quantize_table of, const char *kind, const char *list,
                        bool *needs_data) {
    char *copy = must(strdup(list != NULL ? list : "")), *rest = NULL;
    bool good = true;
    for (char *w = strtok_r(copy, ",", &rest); w != NULL && good; w = strtok_r(NULL, ",", &rest))
        good = is_choice(of, kind, w, needs_data);
    free(copy);
    return good;
}

static bool dtype_of(const args *a, const char *name, hone_dtype *out) {
    const char *text = value_of(a, name);
    if (text == NULL) return true;
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++)
        if (strcmp(hone_dtype_name((hone_dtype)t), text) == 0) *out = (hone_dtype)t;
    if (*out == HONE_DTYPE_NONE) complain("%s wants a type such as s8 or u8, got '%s'", name, text);
    return *out != HONE_DTYPE_NONE;
}

/* --layer PATTERN=TYPE, then --keep-f32 PATTERN. Cuts the options' texts. */
static bool read_rules(job *j, bool *needs_data) {
    char *text;
    j->o.layers = j->rules;
    for (int k = 0; (text = value_at(j->a, "--layer", k)) != NULL; k++) {
        char *eq = strrchr(text, '=');
        if (eq == NULL || eq == text) {
            complain("--layer wants PATTERN=TYPE, got '%s'", text);
            return false;
        }
        *eq = '\0';
        if (!is_choice(HONE_QUANTIZE_TYPES, "type", eq + 1, needs_data)) return false;
        j->rules[j->o.n_layers++] = (hone_layer_rule){text, eq + 1};
    }
    for (int k = 0; (text = value_at(j->a, "--keep-f32", k)) != NULL; k++)
        j->rules[j->o.n_layers++] = (hone_layer_rule){text, "f32"};
    return true;
}

static bool read_paths(job *j) {
    const args *a = j->a;
    j->output = value_of(a, "--output");
    if (j->output == NULL)
        complain("--output FILE says where the quantized model goes");
    else
        return true;
    return false;
}

/* --bits W[,A] */
static bool read_bits(job *j) {
    const char *text = value_of(j->a, "--bits");
    int read = 0;
    j->o.weight_bits = j->o.activation_bits = 0;
    if (text == NULL) return true;
    int n = sscanf(text, "%2d%n,%2d%n", &j->o.weight_bits, &read, &j->o.activation_bits, &read);
    bool good = n >= 1 && text[read] == '\0' && j->o.weight_bits >= 1 && j->o.weight_bits <= 16 &&
                (n == 1 || (j->o.activation_bits >= 2 && j->o.activation_bits <= 16));
    if (!good)
        complain("--bits wants W or W,A, of weights 1 to 16, of activations 2 to 16, got '%s'",
                 text);
    return good;
}

static bool read_numbers(job *j) {
    const args *a = j->a;
    int64_t seed = 1;
    if (!read_bits(j) || !number_of(a, "--group", 0, INT32_MAX, &j->o.group) ||
        !number_of(a, "--samples", 0, INT64_MAX, &j->o.samples) ||
        !number_of(a, "--seed", 0, INT64_MAX, &seed) ||
        !real_of(a, "--percentile", 50, 100, &j->o.percentile) ||
        !real_of(a, "--bits-per-weight", 0.01, 32, &j->o.bits_per_weight) ||
        !real_of(a, "--max-latency", 1e-6, 1e9, &j->o.max_latency_ms) ||
        !megabytes_of(a, "--max-size", &j->o.max_file_bytes))
        return false;
    if (!drop_of(a, &j->o.max_drop, &j->o.max_drop_relative)) return false;
    j->o.seed = (uint64_t)seed;
    return dtype_of(a, "--weights", &j->o.weights) &&
           dtype_of(a, "--activations", &j->o.activations);
}

/* --qat and how it is done. */
static bool read_training(job *j) {
    static const char *const others[] = {
        "--epochs",       "--batch",     "--optimizer", "--lr",          "--schedule", "--augment",
        "--weight-decay", "--by-labels", "--bit-steps", "--temperature", "--val"};
    const args *a = j->a;
    hone_qat_options *q = &j->qat;
    hone_qat_options_init(q);
    if (!has(a, "--qat")) {
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (has(a, others[i])) {
                complain("%s is for training, which --qat asks for", others[i]);
                return false;
            }
        return true;
    }
    if (j->spec == NULL) {
        complain("--qat wants --data KIND:PATH, samples to train on");
        return false;
    }
    if (value_of(a, "--optimizer") != NULL) q->optimizer = value_of(a, "--optimizer");
    if (value_of(a, "--schedule") != NULL) q->schedule = value_of(a, "--schedule");
    q->augment = value_of(a, "--augment");
    q->bits = value_of(a, "--bit-steps");
    q->labels = has(a, "--by-labels");
    j->o.qat = q;
    return number_of(a, "--epochs", 1, 1000000, &q->epochs) &&
           number_of(a, "--batch", 1, 1000000, &q->batch) &&
           real_of(a, "--lr", 1e-12, 1e6, &q->rate) &&
           real_of(a, "--weight-decay", 0, 1e3, &q->decay) &&
           real_of(a, "--temperature", 0.01, 100, &q->temperature);
}

/* A recipe says all that is done: options say where and how. */
static bool goes_with_recipe(const char *option) {
    static const char *const those[] = {
        "--recipe", "--output",     "--data",  "--load-ranges", "--save-ranges",
        "--val",    "--threads",    "--isa",   "--no-mmap",     "--json",
        "--report", "--max-memory", "--quiet", "--time-limit",  "--verbose",
    };
    bool is = false;
    for (size_t i = 0; i < sizeof those / sizeof *those; i++) is |= !strcmp(those[i], option);
    return is;
}

static bool read_recipe(job *j) {
    const args *a = j->a;
    for (int i = 0; i < a->n_options; i++) {
        if (goes_with_recipe(a->option[i].def->name)) continue;
        complain("--recipe says all that is done, so %s cannot be given as well",
                 a->option[i].def->name);
        return false;
    }
    return session_options(a, &j->run);
}

static bool read_options(job *j) {
    const args *a = j->a;
    bool needs_data = false;
    hone_quantize_options_init(&j->o);
    if (!read_paths(j)) return false;
    j->spec = value_of(a, "--data");
    j->o.load_ranges = value_of(a, "--load-ranges");
    j->o.save_ranges = value_of(a, "--save-ranges");
    if (has(a, "--recipe")) {
        hone_qat_options_init(&j->qat);
        return read_recipe(j);
    }
    if (!read_training(j) || !read_numbers(j)) return false;
    j->o.simulate = has(a, "--simulate");
    if (has(a, "--type"))
        j->o.type = value_of(a, "--type");
    else if (j->o.simulate && j->o.weight_bits > 0 && j->o.activation_bits == 0)
        j->o.type = "int8-weights";
    j->o.mix = value_of(a, "--mix");
    j->o.sensitivity = value_of(a, "--sensitivity");
    j->o.methods = value_of(a, "--methods");
    j->o.ranges = value_of(a, "--ranges");
    j->o.runtime = value_of(a, "--for");
    j->o.per_tensor = has(a, "--per-tensor");
    j->o.symmetric = has(a, "--symmetric");
    j->o.reduce_range = has(a, "--reduce-range");
    j->o.embeddings = has(a, "--embeddings");
    j->o.integer_io = has(a, "--integer-io");
    if (!is_choice(HONE_QUANTIZE_TYPES, "type", j->o.type, &needs_data) ||
        !read_rules(j, &needs_data) ||
        !are_choices(HONE_QUANTIZE_RUNTIMES, "runtime", j->o.runtime, NULL) ||
        !are_choices(HONE_QUANTIZE_RANGES, "way to find ranges", j->o.ranges, NULL))
        return false;
    if (j->o.load_ranges != NULL) needs_data = false;
    if (j->o.mix != NULL) needs_data = true;
    if (!are_choices(HONE_QUANTIZE_METHODS, "method", j->o.methods, &needs_data)) return false;
    if (needs_data && j->spec == NULL) {
        complain(
            "this needs samples of what the model will see: --data SPEC "
            "(types that need none: int8-dynamic, int8-weights, int4, f16, bf16)");
        return false;
    }
    return session_options(a, &j->run);
}

/* ---- what is printed ---- */

/* What the model takes; a simulated one, if its weights were stored in their bits. */
static sizes packed(const job *w) {
    int64_t less = 0;
    if (!w->report->simulated) return w->after;
    for (size_t i = 0; i < w->report->n_layers; i++)
        less += w->report->layers[i].bytes_before - w->report->layers[i].bytes_after;
    return (sizes){w->before.file_bytes - less, w->before.params_bytes - less};
}

/* What a node computes, or a value is, beside what it was; NaN: not known. */
static hone_tensor_error error_of(const job *w, const char *node, const char *value) {
    for (size_t i = 0; w->compared != NULL && i < w->compared->n_tensors; i++) {
        const hone_tensor_error *t = &w->compared->tensors[i];
        const char *found = node != NULL ? t->node : t->name;
        if (!t->weight && found != NULL && strcmp(found, node != NULL ? node : value) == 0)
            return *t;
    }
    return (hone_tensor_error){.isolated_sqnr_db = NAN, .sqnr_db = NAN};
}

typedef struct layer_told {
    const hone_quantized_layer *l;
    hone_tensor_error error;
} layer_told;

typedef struct value_told {
    const hone_quantized_value *v;
    hone_tensor_error error;
} value_told;

#include "schema/epochs.def"
#include "schema/quantize.def"

static exit_code write_results(const job *w) {
    json j;
    results_begin(&j, w->a);
    write_quantize(&j, w->a, w);
    return results_end(&j, w->a);
}

/* Those with weights; of the others, how many were changed. */
static void print_layers(const hone_quantization *q) {
    static const char *const heads[] = {"layer",  "operator", "type",  "weights", "activations",
                                        "params", "before",   "after", "noise",   "estimate"};
    bool mixed = q->n_points > 0;
    table *t = table_new(heads, mixed ? "tllllrrrrr" : "tllllrrr");
    char buf[32];
    int others = 0;
    for (size_t i = 0; i < q->n_layers; i++) {
        const hone_quantized_layer *l = &q->layers[i];
        if (l->params == 0) others += l->why_not == NULL;
        if (l->params == 0) continue;
        table_cell(t, "%s", l->node);
        table_cell(t, "%s", l->op);
        table_cell(t, "%s", l->type);
        table_cell(t, "%s", l->weights != NULL ? l->weights : "-");
        table_cell(t, "%s", l->activations != NULL ? l->activations : "-");
        table_cell(t, "%s", human_count(l->params, buf));
        table_cell(t, "%s", human_bytes(l->bytes_before, buf));
        table_cell(t, "%s", human_bytes(l->bytes_after, buf));
        if (!mixed) continue;
        table_cell(t, isnan(l->harm) ? "-" : "%.1e", l->harm);
        table_cell(t, isnan(l->estimate) ? "-" : "%.1e", l->estimate);
    }
    table_print(t);
    if (others > 0) line("and %d node%s without weights", others, others == 1 ? "" : "s");
}

/* The front that types were chosen from: the chosen point, and some on either side. */
static void print_points(const hone_quantization *q) {
    static const char *const heads[] = {"set of types", "noise",    "bits per weight",
                                        "layers ms",    "accuracy", "changes"};
    if (q->n_points == 0) return;
    size_t chosen = 0, step = (q->n_points + 11) / 12;
    while (chosen < q->n_points - 1 && !q->points[chosen].chosen) chosen++;
    table *t = table_new(heads, "rrrrrt");
    for (size_t i = 0; i < q->n_points; i++) {
        const hone_mix_point *p = &q->points[i];
        if (i % step != 0 && i != chosen && i != q->n_points - 1 && isnan(p->accuracy)) continue;
        table_cell(t, "%s%zu", i == chosen ? "> " : "", i);
        table_cell(t, "%.2e", p->harm);
        table_cell(t, "%.2f", p->bits_per_weight);
        table_cell(t, isnan(p->ms) ? "-" : "%.3f", p->ms);
        table_cell(t, isnan(p->accuracy) ? "-" : "%.2f %%", 100 * p->accuracy);
        if (p->layer != NULL)
            table_cell(t, "%s to %s", p->layer, p->type);
        else
            table_cell(t, "-");
    }
    line("%s", "");
    table_print(t);
}

/* What stayed in floats, by reason, where it was first met. */
static void print_left(const hone_quantization *q) {
    static const char *const heads[] = {"left in floats", "because"};
    table *t = NULL;
    for (size_t i = 0; i < q->n_layers; i++) {
        const char *why = q->layers[i].why_not;
        int n = 0;
        for (size_t k = 0; why != NULL && k < q->n_layers; k++) {
            if (q->layers[k].why_not == NULL || strcmp(q->layers[k].why_not, why) != 0) continue;
            if (k < i) why = NULL;
            n++;
        }
        if (why == NULL) continue;
        if (t == NULL) t = table_new(heads, "rh");
        table_cell(t, "%d", n);
        table_cell(t, "%s", why);
    }
    if (t == NULL) return;
    line("%s", "");
    table_print(t);
}

static void print_size(const char *what, int64_t before, int64_t after, const char *more) {
    char a[32], b[32], times[64] = "";
    double least = (double)(before < after ? before : after);
    if (least > 0)
        snprintf(times, sizeof times, ", %.2f times %s",
                 (double)(before < after ? after : before) / least,
                 before < after ? "larger" : "smaller");
    wrapped(0, 9, "%-8s %s before, %s after%s%s", what, human_bytes(before, a),
            human_bytes(after, b), times, more);
}

/* Some layer has activations by ranges, which were looked for. */
static bool finds_ranges(const job *w) {
    bool yes = false;
    for (size_t i = 0; i < w->report->n_layers; i++)
        yes = yes || strcmp(w->report->layers[i].type, "int8") == 0;
    return yes && w->o.load_ranges == NULL;
}

/* How many values have ranges by each method, where each has its own. */
static void print_methods(const hone_quantization *q) {
    char text[200] = "";
    int methods = 0;
    for (size_t m = 0; m < hone_n_quantize_choices(HONE_QUANTIZE_RANGES); m++) {
        hone_quantize_choice c;
        size_t n = 0, at = strlen(text);
        if (hone_quantize_choice_at(HONE_QUANTIZE_RANGES, m, &c, NULL) != HONE_OK) continue;
        for (size_t i = 0; i < q->n_values; i++)
            n += q->values[i].method != NULL && strcmp(q->values[i].method, c.name) == 0;
        if (n == 0) continue;
        snprintf(text + at, sizeof text - at, "%s%s for %zu", at > 0 ? ", " : "", c.name, n);
        methods++;
    }
    if (methods > 0) line("         by %s of the values", text);
}

static void print_text(const job *w) {
    const hone_quantization *q = w->report;
    char bits[64] = "";
    print_layers(q);
    print_left(q);
    print_points(q);
    line("%s", "");
    if (q->weights > 0)
        snprintf(bits, sizeof bits, "; %.2f bits per quantized weight", q->bits_per_weight);
    sizes after = q->simulated ? packed(w) : w->after;
    if (q->simulated) line("simulated: weights are rounded and stay f32; in their bits they have");
    print_size("file", w->before.file_bytes, after.file_bytes, "");
    print_size("weights", w->before.params_bytes, after.params_bytes, bits);
    if (q->stable_after > 0)
        line("ranges   stable after %lld of %lld samples", (long long)q->stable_after,
             (long long)q->samples);
    else if (finds_ranges(w))
        line("ranges   still moved by more than 1 %% with the last of %lld samples",
             (long long)q->samples);
    if (finds_ranges(w)) print_methods(q);
    if (has(w->a, "--verbose")) print_stages(q->n_stages, q->stages);
    const char *words[] = {w->a->argument[0], w->output, "--data", w->spec};
    char *next = command_text("compare", w->spec != NULL ? 4 : 2, words);
    line("model    %s", w->output);
    if (has(w->a, "--report")) line("report   %s", value_of(w->a, "--report"));
    line("next     %s", next);
    free(next);
}

/* ---- the whole ---- */

static hone_status measure(hone_model *m, sizes *out, hone_error *err) {
    hone_inspection *in;
    hone_status status = hone_model_inspect(m, NULL, 0, &in, err);
    if (status != HONE_OK) return status;
    *out = (sizes){in->file_bytes, in->params_bytes};
    hone_inspection_destroy(in);
    return HONE_OK;
}

static hone_status read_sample(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    const job *j = ctx;
    return hone_dataset_read(j->data, j->model, run, 1, in, err);
}

static bool compare_step(void *ctx, int64_t done, int64_t total) {
    return progress_tell(ctx, "compare", done, total);
}

/* For the page: what each layer computes beside what it did, on a few samples. Whatever comes in
 * the way, the model is made, and the page has less to show. */
static void compare(job *j) {
    enum { SAMPLES = 64 };
    hone_session *before = NULL, *after = NULL;
    hone_compare_options o;
    hone_error err;
    if (!has(j->a, "--report") || j->data == NULL || j->o.integer_io) return;
    int64_t count = hone_dataset_count(j->data);
    hone_samples samples = {count < SAMPLES ? count : SAMPLES, 1, read_sample, j};
    hone_compare_options_init(&o);
    o.progress = compare_step;
    o.progress_ctx = &j->bar;
    hone_status status = hone_session_create(&before, j->model, &j->run, &err);
    if (status == HONE_OK) status = hone_session_create(&after, j->made, &j->run, &err);
    if (status == HONE_OK)
        status = hone_session_compare(before, after, &samples, &o, &j->compared, &err);
    progress_end(&j->bar);
    if (status != HONE_OK) note("the page does not show the noise of layers: %s", err.text);
    hone_session_destroy(before);
    hone_session_destroy(after);
}

static hone_status make(job *j, hone_error *err) {
    if (j->recipe == NULL)
        return hone_model_quantize(&j->made, j->model, j->data, &j->o, &j->report, err);
    hone_transform_options o;
    hone_transform_options_init(&o);
    o.run = j->o.run;
    o.load_ranges = j->o.load_ranges;
    o.save_ranges = j->o.save_ranges;
    o.progress = progress_tell;
    o.progress_ctx = &j->bar;
    o.qat = &j->qat;
    return hone_model_transform(&j->made, j->model, j->recipe, j->data, &o, &j->report, err);
}

static hone_status quantize(job *j, hone_error *err) {
    hone_status status = load_model(j->a, &j->model, err);
    if (status == HONE_OK) status = measure(j->model, &j->before, err);
    if (status == HONE_OK && j->spec != NULL) status = hone_dataset_open(&j->data, j->spec, err);
    if (status == HONE_OK && has(j->a, "--val"))
        status = hone_dataset_open(&j->val, value_of(j->a, "--val"), err);
    j->qat.val = j->val;
    j->qat.epoch = epochs_tell;
    j->qat.epoch_ctx = &j->epochs;
    j->o.run = &j->run;
    j->o.progress = progress_tell;
    j->o.progress_ctx = &j->bar;
    if (status == HONE_OK) status = make(j, err);
    j->refused = status == HONE_E_NOT_FOUND && (j->spec == NULL || j->data != NULL);
    progress_end(&j->bar);
    if (status == HONE_OK) status = hone_model_save(j->made, j->output, NULL, err);
    return status == HONE_OK ? measure(j->made, &j->after, err) : status;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    j.epochs = (epochs){.a = a, .bar = &j.bar, .float_val = NAN, .before_val = NAN};
    hone_error err;
    if (!read_options(&j)) return EXIT_USAGE;
    if (has(a, "--recipe") && !read_text(value_of(a, "--recipe"), &j.recipe)) return EXIT_INPUT;
    hone_status status = quantize(&j, &err);
    exit_code code = EXIT_DONE;
    if (status != HONE_OK) {
        code = fail_with(&err);
        if (status == HONE_E_ARG && j.recipe == NULL) code = EXIT_USAGE;
        if (j.refused) code = EXIT_FAILED;
    } else {
        for (size_t i = 0; i < j.report->n_warnings && !has(a, "--quiet"); i++)
            complain("warning: %s", j.report->warnings[i]);
        compare(&j);
        if (!has(a, "--json")) print_text(&j);
        epochs_note_no_gain(&j.epochs);
        code = write_results(&j);
    }
    hone_comparison_destroy(j.compared);
    hone_quantization_destroy(j.report);
    hone_model_destroy(j.made);
    hone_model_destroy(j.model);
    hone_dataset_destroy(j.data);
    hone_dataset_destroy(j.val);
    free(j.epochs.v);
    free(j.recipe);
    return code;
}

/* --ranges FILE, which is called --load-ranges now: a file that no way to find ranges is called. */
static bool names_a_table(const option_def *d, const char *value) {
    if (strcmp(d->name, "--ranges") != 0 || value == NULL || access(value, R_OK) != 0) return false;
    const char **names = names_of(HONE_QUANTIZE_RANGES), **at = names;
    while (*at != NULL && strcmp(*at, value) != 0) at++;
    bool is_name = *at != NULL;
    free(names);
    return !is_name;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the quantized model", false, NULL},
    {"--type", 0, "TYPE",
     "type of layers: int8 (default), int8-dynamic, int8-weights, int4, int4-dynamic, w4a8, w4a4, "
     "w2a8, f16, bf16, f32",
     false, NULL},
    {"--data", 'd', "SPEC", "samples to use: what the model will see, KIND:PATH[,key=value...]",
     false, NULL},
    {"--samples", 0, "N", "how many samples to look at (default: 512; 0: all)", false, NULL},
    {"--ranges", 0, "NAME",
     "how ranges are found: auto (default), percentile, minmax, average, entropy, mse", false,
     "--method"},
    {"--percentile", 0, "P", "share of values that stay inside a range, in % (default: 99.99)",
     false, NULL},
    {"--weights", 0, "TYPE", "integers that weights are stored in: s8, u8, s4, u4 ...", false,
     NULL},
    {"--activations", 0, "TYPE",
     "integers that activations are stored in, with --type int8: u8, s8, u16, s16", false, NULL},
    {"--bits", 0, "W[,A]", "bits of weights, 1 to 16, and of activations", false, NULL},
    {"--simulate", 0, NULL, "round to so many bits but store f32, to see what the bits would do",
     false, NULL},
    {"--group", 0, "N", "weights that share a scale (default of int4 and int4-dynamic: 64)", false,
     NULL},
    {"--per-tensor", 0, NULL, "one scale per weight tensor, not one per channel", false, NULL},
    {"--symmetric", 0, NULL, "zero point 0 for activations too", false, NULL},
    {"--reduce-range", 0, NULL,
     "int8 weights use 7 of 8 bits: faster on CPUs without VNNI, such as AVX2", false, NULL},
    {"--layer", 0, "PATTERN=TYPE", "type of layers by name; * and ? stand for letters", true, NULL},
    {"--keep-f32", 0, "PATTERN", "leave layers of these names as they are", true, NULL},
    {"--mix", 0, "TYPE,...",
     "choose one of these types for each layer, by measuring, within a limit", false, NULL},
    {"--sensitivity", 0, "NAME",
     "with --mix: how the error of a type is found, measured (by runs) or estimated", false, NULL},
    {"--bits-per-weight", 0, "N",
     "with --mix: the most bits per weight, scales and zero points included", false, NULL},
    {"--max-size", 0, "MB", "the largest the file may be, with --mix", false, NULL},
    {"--max-latency", 0, "MS", "the longest a run may take, with --mix: all layers, for one sample",
     false, NULL},
    {"--max-drop", 0, "P", "the most accuracy that may be lost, with --mix: 1%, 1%rel", false,
     NULL},
    {"--methods", 0, "NAME,...", "methods that improve quantized weights (docs/quantize.md)", false,
     "--with"},
    {"--for", 0, "RUNTIME",
     "runtime that will run the model: hone (default), onnxruntime, openvino, tensorrt", false,
     NULL},
    {"--integer-io", 0, NULL, "make inputs and outputs of the model integers too", false, NULL},
    {"--embeddings", 0, NULL, "quantize the tables that Gather reads, too", false, NULL},
    {"--load-ranges", 0, "<FILE", "read the ranges from this table instead of finding them", false,
     "--ranges"},
    {"--save-ranges", 0, ">FILE", "write the ranges that were found", false, NULL},
    {"--qat", 0, NULL, "train weights and scales on --data in the types they will have", false,
     NULL},
    {"--val", 0, "SPEC", "samples to judge by: after each epoch, with --qat", false, NULL},
    {"--epochs", 0, "N", "how often to go through the data, with --qat (default: 10)", false, NULL},
    {"--batch", 'b', "N", "samples per run, with --qat (default: 64)", false, NULL},
    {"--lr", 0, "R", "highest learning rate, with --qat (default: 0.002, of sgd 0.01)", false,
     NULL},
    {"--optimizer", 0, "NAME", "adam (default), adamw or sgd, with --qat", false, NULL},
    {"--schedule", 0, "NAME", "of the rate: cosine (default), constant, one-cycle or step", false,
     NULL},
    {"--weight-decay", 0, "W", "of weights, with --qat (default: 0)", false, NULL},
    {"--augment", 0, "LIST", "change samples: flip:crop=4:cutout=8:noise=0.1, with --qat", false,
     NULL},
    {"--bit-steps", 0, "BITS,...", "bits to train in one after the other, with --qat: 8,6,4", false,
     NULL},
    {"--by-labels", 0, NULL, "train by labels or targets, not by what the float model answers",
     false, NULL},
    {"--temperature", 0, "T", "divide scores by it before they are compared (default: 3)", false,
     NULL},
    {"--recipe", 0, "<FILE", "do again what a recipe says, without measuring", false, NULL},
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

const verb verb_quantize = {
    .name = "quantize",
    .usage = "MODEL -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "store and compute a model in fewer bits",
    .options = options,
    .run = run,
    .means_old = names_a_table,
};

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "write.h"

/* What was made; what is not known is NULL or -1. */
typedef struct made {
    const char *name, *output, *description;
    const hone_model *model;
    int64_t n_inputs, n_outputs, n_architectures;
    int64_t seed, nodes, params, trainable, macs, file_bytes;
} made;

static const made nothing = {.n_inputs = -1,
                             .n_outputs = -1,
                             .n_architectures = -1,
                             .seed = -1,
                             .nodes = -1,
                             .params = -1,
                             .trainable = -1,
                             .macs = -1,
                             .file_bytes = -1};

static hone_architecture_info architecture_at(size_t i) {
    hone_architecture_info a = {0};
    hone_architecture(i, &a, NULL);
    return a;
}

#include "schema/make.def"

static exit_code write_results(const args *a, const made *it) {
    json j;
    results_begin(&j, a);
    write_make(&j, a, it);
    return results_end(&j, a);
}

/* ---- the list ---- */

static void print_list(void) {
    static const char *const heads[] = {"architecture", "what it is"};
    table *t = table_new(heads, "lh");
    for (size_t i = 0; i < hone_n_architectures(); i++) {
        hone_architecture_info arch = architecture_at(i);
        table_cell(t, "%s", arch.name);
        table_cell(t, "%s", arch.help);
    }
    table_print(t);
}

static exit_code list_all(const args *a) {
    made it = nothing;
    it.n_architectures = (int64_t)hone_n_architectures();
    if (!has(a, "--json")) print_list();
    return write_results(a, &it);
}

/* ---- what to make ---- */

typedef struct job {
    const char *name; /* the architecture, or the path of a description */
    const char *output;
    char *text;     /* of the file; NULL: an architecture */
    char *settings; /* "width=0.5 classes=10" */
    int64_t seed;
    hone_make_options how;
} job;

static void job_deinit(job *j) {
    free(j->text);
    free(j->settings);
}

static bool is_architecture(const char *word) {
    for (size_t i = 0; i < hone_n_architectures(); i++)
        if (strcmp(architecture_at(i).name, word) == 0) return true;
    return false;
}

static exit_code no_such_architecture(const char *word) {
    const char **names = must(calloc(hone_n_architectures() + 1, sizeof *names));
    for (size_t i = 0; i < hone_n_architectures(); i++) names[i] = architecture_at(i).name;
    has_no("hone", "architecture or file", word, names);
    free(names);
    return EXIT_USAGE;
}

/* One more setting. */
static bool add_setting(job *j, const char *name, const char *value) {
    if (value == NULL) return true;
    if (strchr(value, ' ') != NULL || *value == '\0') {
        complain("%s wants a value without spaces, got '%s'", name, value);
        return false;
    }
    size_t bytes = strlen(j->settings) + strlen(name) + strlen(value) + 3;
    j->settings = must(realloc(j->settings, bytes));
    size_t n = strlen(j->settings);
    snprintf(j->settings + n, bytes - n, "%s%s=%s", n > 0 ? " " : "", name, value);
    return true;
}

/* Words behind the name: NAME=VALUE, or the sizes of layers. */
static bool read_settings(const args *a, int first, job *j) {
    static const struct {
        const char *option, *name;
    } options[] = {{"--width", "width"},     {"--depth", "depth"},   {"--resolution", "resolution"},
                   {"--classes", "classes"}, {"--layers", "layers"}, {NULL, NULL}};
    j->settings = must(calloc(1, 1));
    for (int i = first; i < a->n; i++) {
        const char *word = a->argument[i], *eq = strchr(word, '=');
        char *name = must(eq != NULL ? strndup(word, (size_t)(eq - word)) : strdup("layers"));
        bool good = add_setting(j, name, eq != NULL ? eq + 1 : word);
        free(name);
        if (!good) return false;
    }
    for (int i = 0; options[i].option != NULL; i++)
        if (!add_setting(j, options[i].name, value_of(a, options[i].option))) return false;
    return true;
}

static exit_code read_source(const args *a, job *j, int *first) {
    const char *from = value_of(a, "--from");
    *first = from == NULL ? 1 : 0;
    j->name = from;
    if (from == NULL && a->n == 0) {
        complain("make wants an architecture or the file of a description; --list names all");
        return EXIT_USAGE;
    }
    if (from == NULL) {
        j->name = a->argument[0];
        if (is_architecture(j->name)) return EXIT_DONE;
        if (access(j->name, F_OK) != 0) return no_such_architecture(j->name);
    }
    return read_text(j->name, &j->text) ? EXIT_DONE : EXIT_INPUT;
}

static exit_code read_output(const args *a, job *j) {
    j->output = value_of(a, "--output");
    const char *why = j->output != NULL ? unwritable(j->output) : NULL;
    if (j->output == NULL && !has(a, "--text")) {
        complain("--output FILE says where the model goes; --text prints its description instead");
        return EXIT_USAGE;
    }
    if (why == NULL) return EXIT_DONE;
    complain("%s: cannot be written (%s)", j->output, why);
    return EXIT_INPUT;
}

static exit_code read_options(const args *a, job *j) {
    int first;
    double compound = 0;
    exit_code code = read_source(a, j, &first);
    if (code == EXIT_DONE) code = read_output(a, j);
    if (code != EXIT_DONE) return code;
    if (!read_settings(a, first, j) || !number_of(a, "--seed", 0, INT64_MAX, &j->seed) ||
        !real_of(a, "--compound", -8, 8, &compound))
        return EXIT_USAGE;
    hone_make_options_init(&j->how);
    j->how.seed = (uint64_t)j->seed;
    j->how.settings = j->settings;
    j->how.compound = compound;
    j->how.text = j->text;
    return EXIT_DONE;
}

/* ---- the whole ---- */

static void print_text(const made *it) {
    char params[32], macs[32], bytes[32];
    line("%s: %s parameters, %s MACs, %lld nodes, %s", it->output,
         human_count(it->trainable, params), human_count(it->macs, macs), (long long)it->nodes,
         human_bytes(it->file_bytes, bytes));
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < (k == 0 ? it->n_inputs : it->n_outputs); i++) {
            hone_value_info v = value_info(it->model, k == 0, (size_t)i);
            char *type = type_text(&v);
            line("%-7s %s  %s", k == 0 ? "input" : "output", v.name, type);
            free(type);
        }
}

static hone_status measure(hone_model *m, made *it, hone_error *err) {
    hone_inspection *in;
    hone_status status = hone_model_inspect(m, NULL, 0, &in, err);
    if (status != HONE_OK) return status;
    it->nodes = (int64_t)in->n_nodes;
    it->params = in->params;
    it->trainable = in->trainable;
    it->macs = in->macs;
    it->file_bytes = in->file_bytes;
    hone_inspection_destroy(in);
    return HONE_OK;
}

static exit_code trouble(const hone_error *err) {
    exit_code code = fail_with(err);
    return err->status == HONE_E_ARG ? EXIT_USAGE : code;
}

static exit_code describe(const args *a, const job *j) {
    hone_error err;
    char *text;
    if (hone_make_describe(&text, j->name, &j->how, &err) != HONE_OK) return trouble(&err);
    made it = nothing;
    it.name = j->name;
    it.description = text;
    if (!has(a, "--json")) fputs(text, stdout);
    exit_code code = write_results(a, &it);
    hone_free(text);
    return code;
}

static exit_code make(const args *a, const job *j) {
    hone_error err;
    hone_model *m = NULL;
    made it = nothing;
    hone_status status = hone_make(&m, j->name, &j->how, &err);
    if (status == HONE_OK) status = hone_model_save(m, j->output, NULL, &err);
    if (status == HONE_OK) status = measure(m, &it, &err);
    exit_code code;
    if (status != HONE_OK) {
        code = trouble(&err);
    } else {
        it.name = j->name;
        it.output = j->output;
        it.seed = j->seed;
        it.model = m;
        it.description = hone_model_metadata(m, "hone.description");
        it.n_inputs = (int64_t)hone_model_n_inputs(m);
        it.n_outputs = (int64_t)hone_model_n_outputs(m);
        if (!has(a, "--json")) print_text(&it);
        code = write_results(a, &it);
    }
    hone_model_destroy(m);
    return code;
}

static exit_code run(const args *a) {
    job j = {.seed = 1};
    if (has(a, "--list")) return list_all(a);
    exit_code code = read_options(a, &j);
    if (code == EXIT_DONE) code = has(a, "--text") ? describe(a, &j) : make(a, &j);
    job_deinit(&j);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the model", false, NULL},
    {"--list", 0, NULL, "list the architectures that hone knows", false, NULL},
    {"--text", 0, NULL, "print the description instead of making the model", false, NULL},
    {"--from", 0, "<FILE", "make the model that this description says", false, NULL},
    {"--width", 0, "X", "multiply the channels or features by X", false, NULL},
    {"--depth", 0, "X", "multiply the number of blocks by X", false, NULL},
    {"--resolution", 0, "N", "rows and columns of the input image", false, NULL},
    {"--classes", 0, "N", "number of outputs", false, NULL},
    {"--layers", 0, "N", "number of encoder blocks, or sizes of all layers as in 784-300-10", false,
     NULL},
    {"--compound", 0, "X", "scale depth, width and resolution by 1.2, 1.1 and 1.15 to this power",
     false, NULL},
    OPTION_SEED,
    OPTION_TIME_LIMIT,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_make = {
    .name = "make",
    .usage = "NAME|FILE [NAME=VALUE...] -o FILE",
    .n_arguments = 0,
    .most_arguments = MOST_ARGUMENTS,
    .summary = "make a model ready to be trained, of a known architecture or a description",
    .options = options,
    .run = run,
};

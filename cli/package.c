#include "write.h"

typedef struct packaged {
    const char *output;
    const hone_package *package;
} packaged;

#include "schema/package.def"

static void print_row(table *t, const char *what, const char *tensors, int64_t bytes,
                      int64_t stored) {
    char before[32], after[32];
    table_cell(t, "%s", what);
    table_cell(t, "%s", tensors);
    table_cell(t, "%s", human_bytes(bytes, before));
    table_cell(t, "%s", human_bytes(stored, after));
    table_cell(t, stored > 0 ? "%.2f" : "", (double)bytes / (double)stored);
}

/* --dim as "N=1,S=128". */
static bool join_dims(const args *a, char *text, size_t bytes) {
    hone_dim_value dims[MOST_OPTIONS];
    size_t n, at = 0;
    text[0] = '\0';
    if (!dims_of(a, dims, &n)) return false;
    for (size_t i = 0; i < n && at < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%s=%lld", i > 0 ? "," : "", dims[i].name,
                               (long long)dims[i].value);
    if (at < bytes) return true;
    complain("the names of --dim take more than %zu bytes", bytes);
    return false;
}

static void print_text(const hone_package *p) {
    static const char *const heads[] = {"code", "tensors", "before", "stored", "times smaller"};
    table *t = table_new(heads, "lrrrr");
    char n[32], graph[48];
    for (size_t i = 0; i < p->n_codes; i++) {
        const hone_package_code *c = &p->codes[i];
        snprintf(n, sizeof n, "%lld", (long long)c->tensors);
        print_row(t, c->code, n, c->bytes, c->stored_bytes);
    }
    snprintf(graph, sizeof graph, "graph (%s)", p->graph_code);
    print_row(t, graph, "", p->graph_bytes, p->graph_stored_bytes);
    snprintf(n, sizeof n, "%zu", p->n_tensors);
    print_row(t, "file", n, p->source_bytes, p->file_bytes);
    table_print(t);
    print_ready(p);
}

static exit_code run(const args *a) {
    const char *output = value_of(a, "--output");
    hone_package_options o;
    hone_package *p;
    hone_error err;
    progress bar;
    json j;
    char dims[1000];
    if (output == NULL) {
        complain("--output FILE says where the package goes");
        return EXIT_USAGE;
    }
    hone_package_options_init(&o);
    o.fast = has(a, "--fast");
    if (has(a, "--ready")) o.ready = value_of(a, "--isa") != NULL ? value_of(a, "--isa") : "";
    if (!join_dims(a, dims, sizeof dims)) return EXIT_USAGE;
    o.ready_dims = dims;
    o.progress = progress_step;
    o.progress_ctx = &bar;
    catch_interrupt();
    progress_start(&bar, "package", "bytes");
    hone_status status = hone_package_write(output, model_path(a->argument[0]), &o, &err);
    progress_end(&bar);
    if (status == HONE_E_LIMIT && !not_interrupted(NULL)) return say_interrupted();
    if (status == HONE_OK) status = hone_package_inspect(&p, output, &err);
    if (status != HONE_OK) {
        name_standard_input(err.text);
        exit_code code = fail_with(&err);
        return status == HONE_E_ARG ? EXIT_USAGE : code;
    }
    if (!has(a, "--json")) print_text(p);
    results_begin(&j, a);
    write_package(&j, a, &(packaged){output, p});
    hone_package_destroy(p);
    return results_end(&j, a);
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the package", false, NULL},
    {"--fast", 0, NULL, "leave tensors as they are unless that halves them: faster to load", false,
     NULL},
    {"--ready", 0, NULL,
     "store it also as sessions of this version of hone start from: simplified, weights packed",
     false, NULL},
    OPTION_DIM,
    OPTION_ISA,
    OPTION_TIME_LIMIT,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_package = {
    .name = "package",
    .usage = "MODEL -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "put a model into one small file, which every verb reads",
    .options = options,
    .run = run,
};

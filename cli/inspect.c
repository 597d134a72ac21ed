#include <stdlib.h>
#include <string.h>

#include "write.h"

/* Rows of the table of nodes that are shown unless asked otherwise. */
#define SHOWN_NODES 40

/* Of hone_inspection.bytes_at. */
static const char *const size_names[5] = {"f32", "f16", "int8", "int4", "1 bit"};

static double share(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* ---- JSON ---- */

typedef struct inspected {
    const hone_model *model;
    const hone_inspection *in;
    const hone_memory_use *use;
} inspected;

static const char *domain_name(const char *domain) {
    return domain[0] != '\0' ? domain : "ai.onnx";
}

#include "schema/inspect.def"

static exit_code write_results(const args *a, const inspected *found) {
    json j;
    results_begin(&j, a);
    write_inspect(&j, a, found);
    return results_end(&j, a);
}

/* ---- text ---- */

static void add_values(table *t, const char *title, const hone_model *m, bool inputs) {
    size_t n = inputs ? hone_model_n_inputs(m) : hone_model_n_outputs(m);
    for (size_t i = 0; i < n; i++) {
        hone_value_info v = value_info(m, inputs, i);
        char *type = type_text(&v);
        table_cell(t, "%-10s", i == 0 ? title : "");
        table_cell(t, "%s", v.name);
        table_cell(t, "%s", type);
        free(type);
    }
}

static const struct {
    const char *key, *metadata;
} lineage[] = {{"version", "hone.version"},
               {"recipe", "hone.recipe"},
               {"source", "hone.source"},
               {"data", "hone.data"}};
enum { N_LINEAGE = sizeof lineage / sizeof *lineage };

/* What hone made it of, and how. */
static void print_lineage(const hone_model *m) {
    bool first = true;
    for (int i = 0; i < N_LINEAGE; i++) {
        const char *text = hone_model_metadata(m, lineage[i].metadata);
        if (text == NULL) continue;
        line("%-12s%-9s%s", first ? "lineage" : "", lineage[i].key, text);
        first = false;
    }
}

void print_ready(const hone_package *p) {
    char bytes[32];
    for (size_t i = 0; i < p->n_ready; i++) {
        const hone_package_ready *r = &p->ready[i];
        line("%-12sfor %s, made on %s: %lld packed weight%s in %s%s%s", i == 0 ? "ready" : "",
             r->isa, r->cpu, (long long)r->packed, r->packed == 1 ? "" : "s",
             human_bytes(r->bytes, bytes), r->unused != NULL ? "; not used here: " : "",
             r->unused != NULL ? r->unused : "");
    }
}

/* How the model is stored, if it is in a package. */
static void print_package(const char *path) {
    hone_package *p;
    char before[32], after[32];
    if (hone_package_inspect(&p, model_path(path), NULL) != HONE_OK) return;
    printf("%-12s%s of files in %s:", "package", human_bytes(p->source_bytes, before),
           human_bytes(p->file_bytes, after));
    for (size_t i = 0; i < p->n_codes; i++)
        printf("%s %lld %s", i > 0 ? "," : "", (long long)p->codes[i].tensors, p->codes[i].code);
    printf("%s\n", p->n_codes > 0 ? "" : " no large tensors");
    print_ready(p);
    hone_package_destroy(p);
}

static void print_head(const char *path, const hone_model *m, const hone_inspection *in,
                       const hone_memory_use *plan) {
    char a[32], b[32], c[32];
    line("%-12s%s (%s)", "model", path, human_bytes(in->file_bytes, a));
    print_package(path);
    line("%-12s%s, IR version %lld", "opset", in->opsets, (long long)in->ir_version);
    if (in->producer[0] != '\0')
        line("%-12s%s%s%s", "producer", in->producer, in->producer_version[0] != '\0' ? " " : "",
             in->producer_version);
    print_lineage(m);
    table *t = table_new(NULL, "lth");
    add_values(t, "inputs", m, true);
    add_values(t, "outputs", m, false);
    table_print(t);
    if (in->params == 0)
        line("%-12snone", "parameters");
    else
        line("%-12s%s (%s trainable), %s, %.1f %% zeros", "parameters", human_count(in->params, a),
             human_count(in->trainable, b), human_bytes(in->params_bytes, c),
             100 * share(in->params_zero, in->params));
    line("%-12s%s MACs = %s FLOPs", "arithmetic", human_count(in->macs, a),
         human_count(2 * in->macs, b));
    if (in->macs_unknown > 0)
        line("%-12swithout %lld node%s whose arithmetic is not known", "",
             (long long)in->macs_unknown, in->macs_unknown == 1 ? "" : "s");
    if (in->activation_peak < 0)
        line("%-12snot known, since some sizes are not", "memory");
    else
        line("%-12s%s of activations at once (estimated)", "memory",
             human_bytes(in->activation_peak, a));
    if (plan != NULL) print_memory("plan        ", plan);
    for (size_t i = 0; i < in->n_dims; i++)
        line("%-12s%s = %lld%s", i == 0 ? "symbols" : "", in->dims[i].name,
             (long long)in->dims[i].value, i == 0 ? " (--dim NAME=N takes another size)" : "");
    for (size_t i = 0, n = 0; i < in->n_ops; i++) {
        if (in->ops[i].supported) continue;
        line("%-12s%s of %s", n++ == 0 ? "cannot run" : "", in->ops[i].op,
             domain_name(in->ops[i].domain));
    }
}

static void print_sizes(const hone_inspection *in) {
    char a[32];
    static const char *const heads[] = {"stored as", "tensors", "elements", "bytes"};
    table *t = table_new(heads, "lrrr");
    for (size_t i = 0; i < in->n_dtypes; i++) {
        const hone_dtype_use *d = &in->dtypes[i];
        table_cell(t, "%s", hone_dtype_name(d->dtype));
        table_cell(t, "%lld", (long long)d->tensors);
        table_cell(t, "%lld", (long long)d->elements);
        table_cell(t, "%s", human_bytes(d->bytes, a));
    }
    for (int i = 0; i < 5; i++) {
        table_cell(t, "if all %s", size_names[i]);
        table_cell(t, "%s", "");
        table_cell(t, "%lld", (long long)in->params);
        table_cell(t, "%s", human_bytes(in->bytes_at[i], a));
    }
    table_print(t);
}

static void print_ops(const hone_inspection *in) {
    char a[32];
    static const char *const heads[] = {"operator", "count", "params", "MACs", "share"};
    table *t = table_new(heads, "trrrr");
    for (size_t i = 0; i < in->n_ops; i++) {
        const hone_op_use *o = &in->ops[i];
        char *name = op_text(o->domain, o->op);
        table_cell(t, "%s", name);
        table_cell(t, "%lld", (long long)o->count);
        table_cell(t, "%s", o->params > 0 ? human_count(o->params, a) : "");
        table_cell(t, "%s", o->macs > 0 ? human_count(o->macs, a) : "");
        if (o->macs > 0)
            table_cell(t, "%.1f %%", 100 * share(o->macs, in->macs));
        else
            table_cell(t, "%s", "");
        free(name);
    }
    table_print(t);
}

static void print_nodes(const hone_inspection *in, size_t shown) {
    char a[32];
    static const char *const heads[] = {"node", "operator", "output", "params", "zeros", "MACs"};
    table *t = table_new(heads, "tlhrrr");
    for (size_t i = 0; i < in->n_nodes && i < shown; i++) {
        const hone_node_info *n = &in->nodes[i];
        table_cell(t, "%s", n->name[0] != '\0' ? n->name : n->output_name);
        table_cell(t, "%s", n->op);
        table_cell(t, "%s", n->output_type);
        table_cell(t, "%s", n->params > 0 ? human_count(n->params, a) : "");
        if (n->params > 0)
            table_cell(t, "%.1f %%", 100 * share(n->params_zero, n->params));
        else
            table_cell(t, "%s", "");
        table_cell(t, "%s", n->macs == 0 ? "" : human_count(n->macs, a));
    }
    table_print(t);
    if (in->n_nodes > shown)
        line("... and %zu more (--top all shows every node)", in->n_nodes - shown);
}

static void print_text(const char *path, const hone_model *m, const hone_inspection *in,
                       const hone_memory_use *plan, size_t shown) {
    print_head(path, m, in, plan);
    if (in->n_dtypes > 0) {
        line("%s", "");
        print_sizes(in);
    }
    if (in->n_ops > 0) {
        line("%s", "");
        print_ops(in);
    }
    if (in->n_nodes > 0 && shown > 0) {
        line("%s", "");
        print_nodes(in, shown);
    }
}

static void take_size(feed *f, const char *symbol, const hone_inspection *in) {
    for (size_t i = 0; i < in->n_dims && symbol != NULL; i++)
        if (strcmp(in->dims[i].name, symbol) == 0) feed_size(f, symbol, in->dims[i].value);
}

/* The memory that a plan for this machine takes; inputs are of the sizes that inspecting took. */
static exit_code plan(hone_model *m, const hone_inspection *in, hone_memory_use *use) {
    hone_error err;
    hone_session *s;
    feed f = {0};
    if (hone_session_create(&s, m, NULL, &err) != HONE_OK) return fail_with(&err);
    exit_code code = feed_init(&f, &(args){0}, m);
    for (size_t i = 0; i < f.n_in; i++)
        for (int d = 0; d < f.info[i].rank; d++) take_size(&f, f.info[i].dim_names[d], in);
    if (code == EXIT_DONE) code = feed_fill(&f, HONE_FILL_ZEROS, 0, 0);
    if (code == EXIT_DONE && hone_session_prepare(s, f.n_in, f.in, &err) != HONE_OK)
        code = fail_with(&err);
    *use = hone_session_memory(s);
    feed_deinit(&f);
    hone_session_destroy(s);
    return code;
}

static exit_code run(const args *a) {
    hone_error err;
    hone_memory_use use = {0};
    hone_dim_value dims[MOST_OPTIONS];
    size_t n_dims;
    int64_t shown = SHOWN_NODES;
    if (!dims_of(a, dims, &n_dims) || !top_of(a, &shown)) return EXIT_USAGE;
    hone_model *m = NULL;
    hone_inspection *in = NULL;
    exit_code code = EXIT_DONE;
    hone_status status = load_model(a, &m, &err);
    if (status == HONE_OK) status = hone_model_inspect(m, dims, n_dims, &in, &err);
    if (status != HONE_OK) {
        code = fail_with(&err);
        if (m != NULL && status == HONE_E_NOT_FOUND) code = EXIT_USAGE; /* a --dim of that name */
    }
    if (code == EXIT_DONE && has(a, "--plan")) code = plan(m, in, &use);
    if (code == EXIT_DONE && !has(a, "--json"))
        print_text(a->argument[0], m, in, has(a, "--plan") ? &use : NULL, (size_t)shown);
    if (code == EXIT_DONE) code = write_results(a, &(inspected){m, in, &use});
    hone_inspection_destroy(in);
    hone_model_destroy(m);
    return code;
}

static const option_def options[] = {
    {"--top", 0, "N|all", "rows of the table (default: 40)", false, "--nodes -n"},
    {"--plan", 0, NULL, "plan a run on this machine and print the memory it takes", false, NULL},
    OPTION_DIM,
    OPTION_TIME_LIMIT,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_inspect = {
    .name = "inspect",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "size, parameters, arithmetic, memory and operators of a model",
    .options = options,
    .run = run,
};

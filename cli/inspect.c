#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Rows of the table of nodes that are shown unless asked otherwise. */
#define SHOWN_NODES 40

static const char *const size_names[5] = {"f32", "f16", "int8", "int4", "1 bit"};
static const char *const size_keys[5] = {"f32", "f16", "int8", "int4", "bit1"};

static const char *domain_name(const char *domain) {
    return domain[0] != '\0' ? domain : "ai.onnx";
}

static double share(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* ---- JSON ---- */

static void json_values(json *j, const char *key, hone_model *m, bool inputs) {
    hone_error err;
    size_t n = inputs ? hone_model_n_inputs(m) : hone_model_n_outputs(m);
    json_begin(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        hone_value_info v;
        hone_status s =
            inputs ? hone_model_input(m, i, &v, &err) : hone_model_output(m, i, &v, &err);
        if (s == HONE_OK) json_value_info(j, &v);
    }
    json_end(j, ']');
}

static void print_json(const char *path, hone_model *m, const hone_inspection *in) {
    json j = {0};
    json_begin(&j, NULL, '{');
    json_text(&j, "schema", "hone.inspect/1");
    json_text(&j, "model", path);
    json_int(&j, "file_bytes", in->file_bytes);
    json_int(&j, "ir_version", in->ir_version);
    json_int(&j, "opset", in->opset);
    json_text(&j, "opsets", in->opsets);
    json_text(&j, "producer", in->producer);
    json_text(&j, "producer_version", in->producer_version);
    json_text(&j, "graph", in->graph_name);
    json_values(&j, "inputs", m, true);
    json_values(&j, "outputs", m, false);
    json_begin(&j, "dims", '{');
    for (size_t i = 0; i < in->n_dims; i++) json_int(&j, in->dims[i].name, in->dims[i].value);
    json_end(&j, '}');
    json_int(&j, "params", in->params);
    json_int(&j, "trainable", in->trainable);
    json_int(&j, "params_bytes", in->params_bytes);
    json_number(&j, "sparsity", share(in->params_zero, in->params));
    json_begin(&j, "bytes_at", '{');
    for (int i = 0; i < 5; i++) json_int(&j, size_keys[i], in->bytes_at[i]);
    json_end(&j, '}');
    json_int(&j, "macs", in->macs);
    json_int(&j, "flops", in->macs < 0 ? -1 : 2 * in->macs);
    json_int(&j, "activation_peak_bytes", in->activation_peak);
    json_begin(&j, "dtypes", '[');
    for (size_t i = 0; i < in->n_dtypes; i++) {
        json_begin(&j, NULL, '{');
        json_text(&j, "dtype", hone_dtype_name(in->dtypes[i].dtype));
        json_int(&j, "tensors", in->dtypes[i].tensors);
        json_int(&j, "elements", in->dtypes[i].elements);
        json_int(&j, "bytes", in->dtypes[i].bytes);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_begin(&j, "ops", '[');
    for (size_t i = 0; i < in->n_ops; i++) {
        json_begin(&j, NULL, '{');
        json_text(&j, "op", in->ops[i].op);
        json_text(&j, "domain", domain_name(in->ops[i].domain));
        json_bool(&j, "supported", in->ops[i].supported);
        json_int(&j, "count", in->ops[i].count);
        json_int(&j, "params", in->ops[i].params);
        json_int(&j, "macs", in->ops[i].macs);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_begin(&j, "nodes", '[');
    for (size_t i = 0; i < in->n_nodes; i++) {
        const hone_node_info *n = &in->nodes[i];
        json_begin(&j, NULL, '{');
        json_text(&j, "name", n->name);
        json_text(&j, "op", n->op);
        json_text(&j, "domain", domain_name(n->domain));
        json_bool(&j, "supported", n->supported);
        json_text(&j, "output", n->output_name);
        json_text(&j, "type", n->output_type);
        json_int(&j, "params", n->params);
        json_int(&j, "params_bytes", n->params_bytes);
        json_number(&j, "sparsity", n->sparsity);
        json_int(&j, "macs", n->macs);
        json_int(&j, "read_bytes", n->read_bytes);
        json_int(&j, "written_bytes", n->written_bytes);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

/* ---- text ---- */

static void print_values(const char *title, hone_model *m, bool inputs) {
    hone_error err;
    size_t n = inputs ? hone_model_n_inputs(m) : hone_model_n_outputs(m);
    for (size_t i = 0; i < n; i++) {
        hone_value_info v;
        char type[600];
        hone_status s =
            inputs ? hone_model_input(m, i, &v, &err) : hone_model_output(m, i, &v, &err);
        if (s != HONE_OK) continue;
        printf("%-12s%s  %s\n", i == 0 ? title : "", v.name, type_text(&v, type, sizeof type));
    }
}

static void print_head(const char *path, hone_model *m, const hone_inspection *in) {
    char a[32], b[32], c[32];
    printf("%-12s%s (%s)\n", "model", path, human_bytes(in->file_bytes, a));
    printf("%-12s%s", "opset", in->opsets);
    printf(", IR version %lld\n", (long long)in->ir_version);
    if (in->producer[0] != '\0')
        printf("%-12s%s %s\n", "producer", in->producer, in->producer_version);
    print_values("inputs", m, true);
    print_values("outputs", m, false);
    printf("%-12s%s (%s trainable), %s; %.1f %% are zero\n", "parameters",
           human_count(in->params, a), human_count(in->trainable, b),
           human_bytes(in->params_bytes, c), 100 * share(in->params_zero, in->params));
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
    if (in->n_dtypes > 1) {
        table_cell(t, "all");
        table_cell(t, "%s", "");
        table_cell(t, "%lld", (long long)in->params);
        table_cell(t, "%s", human_bytes(in->params_bytes, a));
    }
    for (int i = 0; i < 5; i++) {
        table_cell(t, "if all %s", size_names[i]);
        table_cell(t, "%s", "");
        table_cell(t, "%s", "");
        table_cell(t, "%s", human_bytes(in->bytes_at[i], a));
    }
    table_print(t, stdout);
}

static void print_ops(const hone_inspection *in) {
    char a[32], b[32];
    static const char *const heads[] = {"operator", "count", "params", "MACs", "share", ""};
    table *t = table_new(heads, "lrrrrl");
    for (size_t i = 0; i < in->n_ops; i++) {
        const hone_op_use *o = &in->ops[i];
        table_cell(t, "%s%s%s", o->domain, o->domain[0] != '\0' ? "." : "", o->op);
        table_cell(t, "%lld", (long long)o->count);
        table_cell(t, "%s", human_count(o->params, a));
        table_cell(t, "%s", human_count(o->macs, b));
        if (o->macs > 0 && in->macs > 0)
            table_cell(t, "%.1f %%", 100 * share(o->macs, in->macs));
        else
            table_cell(t, "%s", "");
        table_cell(t, "%s", o->supported ? "" : "cannot be run");
    }
    table_print(t, stdout);
}

static void print_nodes(const hone_inspection *in, size_t shown) {
    char a[32], b[32];
    static const char *const heads[] = {"node", "operator", "output", "params", "zeros", "MACs"};
    table *t = table_new(heads, "lllrrr");
    for (size_t i = 0; i < in->n_nodes && i < shown; i++) {
        const hone_node_info *n = &in->nodes[i];
        table_cell(t, "%.60s", n->name[0] != '\0' ? n->name : n->output_name);
        table_cell(t, "%s", n->op);
        table_cell(t, "%.60s", n->output_type);
        table_cell(t, "%s", n->params > 0 ? human_count(n->params, a) : "");
        if (n->params > 0)
            table_cell(t, "%.1f %%", 100 * n->sparsity);
        else
            table_cell(t, "%s", "");
        table_cell(t, "%s", n->macs == 0 ? "" : human_count(n->macs, b));
    }
    table_print(t, stdout);
    if (in->n_nodes > shown) printf("... and %zu more nodes (--nodes all)\n", in->n_nodes - shown);
}

static exit_code run(const args *a) {
    hone_error err;
    hone_dim_value dims[MOST_OPTIONS];
    size_t n_dims, shown = SHOWN_NODES;
    const char *nodes = value_of(a, "--nodes");
    if (!dims_of(a, dims, &n_dims)) return EXIT_USAGE;
    if (nodes != NULL && strcmp(nodes, "all") == 0) {
        shown = SIZE_MAX;
    } else if (nodes != NULL) {
        int64_t n = 0;
        if (!number_of(a, "--nodes", 0, INT32_MAX, &n)) return EXIT_USAGE;
        shown = (size_t)n;
    }
    hone_model *m = NULL;
    hone_inspection *in = NULL;
    hone_status status = hone_model_load(&m, a->argument[0], NULL, &err);
    if (status == HONE_OK) status = hone_model_inspect(m, dims, n_dims, &in, &err);
    if (status != HONE_OK) {
        hone_model_destroy(m);
        return fail_with(&err);
    }
    if (has(a, "--json")) {
        print_json(a->argument[0], m, in);
    } else {
        char x[32], y[32];
        print_head(a->argument[0], m, in);
        printf("%-12s%s MACs = %s FLOPs", "arithmetic", human_count(in->macs, x),
               human_count(in->macs < 0 ? -1 : 2 * in->macs, y));
        printf("\n%-12s%s of activations at once (estimated)\n", "memory",
               human_bytes(in->activation_peak, x));
        for (size_t i = 0; i < in->n_dims; i++)
            printf("%-12s%s = %lld%s\n", i == 0 ? "taken" : "", in->dims[i].name,
                   (long long)in->dims[i].value, i == 0 ? " (--dim NAME=N changes it)" : "");
        printf("\n");
        print_sizes(in);
        printf("\n");
        print_ops(in);
        if (shown > 0) {
            printf("\n");
            print_nodes(in, shown);
        }
    }
    hone_inspection_destroy(in);
    hone_model_destroy(m);
    return EXIT_DONE;
}

static const option_def options[] = {
    OPTION_DIM,     {"--nodes", 'n', "N|all", "rows of the table of nodes (default 40)", false},
    OPTION_JSON,    OPTION_QUIET,
    OPTION_VERBOSE, {0},
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

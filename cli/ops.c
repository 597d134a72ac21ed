#include <string.h>

#include "cli.h"

static bool shown(const args *a, const hone_op_info *op) {
    return a->n == 0 || strcmp(a->argument[0], op->name) == 0;
}

static void print_json(const args *a) {
    json j = {0};
    hone_error err;
    hone_op_info op;
    json_begin(&j, NULL, '{');
    json_text(&j, "schema", "hone.ops/1");
    json_begin(&j, "ops", '[');
    for (size_t i = 0; i < hone_n_ops(); i++) {
        if (hone_op(i, &op, &err) != HONE_OK || !shown(a, &op)) continue;
        json_begin(&j, NULL, '{');
        json_text(&j, "domain", op.domain[0] != '\0' ? op.domain : "ai.onnx");
        json_text(&j, "name", op.name);
        json_text(&j, "versions", op.versions);
        json_text(&j, "signature", op.signature);
        json_bool(&j, "kept", true);
        json_bool(&j, "ref", op.runs);
        json_bool(&j, "fast", op.fast);
        json_bool(&j, "int8", op.int8);
        json_bool(&j, "infer", op.infers);
        json_bool(&j, "cost", op.costs);
        json_bool(&j, "grad", op.differentiates);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

static exit_code run(const args *a) {
    hone_error err;
    hone_op_info op;
    size_t found = 0;
    for (size_t i = 0; i < hone_n_ops(); i++)
        found += hone_op(i, &op, &err) == HONE_OK && shown(a, &op);
    if (found == 0) {
        complain("there is no operator '%s' (names are as ONNX spells them)", a->argument[0]);
        return EXIT_FAILED;
    }
    if (has(a, "--json")) {
        print_json(a);
        return EXIT_DONE;
    }
    static const char *const heads[] = {"operator", "kept", "ref",  "fast",  "int8",
                                        "infer",    "cost", "grad", "opsets"};
    table *t = table_new(heads, "lllllllll");
    for (size_t i = 0; i < hone_n_ops(); i++) {
        if (hone_op(i, &op, &err) != HONE_OK || !shown(a, &op)) continue;
        table_cell(t, "%s%s%s", op.domain, op.domain[0] != '\0' ? "." : "", op.name);
        const bool marks[] = {true,      op.runs,  op.fast,          op.int8,
                              op.infers, op.costs, op.differentiates};
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
            table_cell(t, "%s", marks[k] ? "x" : "-");
        table_cell(t, "%s", op.versions);
    }
    table_print(t, stdout);
    if (a->n == 1) {
        for (size_t i = 0; i < hone_n_ops(); i++)
            if (hone_op(i, &op, &err) == HONE_OK && shown(a, &op)) printf("\n%s\n", op.signature);
    } else {
        printf(
            "\n%zu operators. kept: read and saved; ref: runs; fast: has a kernel of its own; "
            "int8: lowers "
            "to integers;\ninfer: shapes are inferred; cost: multiply-accumulates are counted; "
            "grad: can be "
            "trained through.\nAny other operator is kept, and named when a model that holds it is "
            "to run.\n",
            found);
    }
    return EXIT_DONE;
}

static const option_def options[] = {
    OPTION_JSON,
    OPTION_QUIET,
    {0},
};

const verb verb_ops = {
    .name = "ops",
    .usage = "[OPERATOR]",
    .n_arguments = 0,
    .most_arguments = 1,
    .summary = "the operators hone knows, and what it can do with each",
    .options = options,
    .run = run,
};

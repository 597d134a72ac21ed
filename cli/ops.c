#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What `hone ops` can say of an operator, in the order of the columns. */
static const char *const facts[] = {"kept", "ref", "fast", "int8", "infer", "cost", "grad"};
enum { N_FACTS = sizeof facts / sizeof *facts };

static bool fact(const hone_op_info *op, int i) {
    const bool of[N_FACTS] = {true,       op->runs,  op->fast,          op->int8,
                              op->infers, op->costs, op->differentiates};
    return of[i];
}

/* The i-th operator, if it is one that was asked for: all of them, or those of the name given. */
static bool asked_for(const args *a, size_t i, hone_op_info *op) {
    hone_op(i, op, NULL);
    if (a->n == 0 || strcmp(a->argument[0], op->name) == 0) return true;
    char *whole = op_text(op->domain, op->name);
    bool same = strcmp(a->argument[0], whole) == 0;
    free(whole);
    return same;
}

static exit_code write_results(const args *a) {
    json j;
    hone_op_info op;
    results_begin(&j, a);
    results_object(&j, a);
    json_begin(&j, "ops", '[');
    for (size_t i = 0; i < hone_n_ops(); i++) {
        if (!asked_for(a, i, &op)) continue;
        json_begin(&j, NULL, '{');
        json_text(&j, "domain", op.domain[0] != '\0' ? op.domain : "ai.onnx");
        json_text(&j, "name", op.name);
        json_text(&j, "versions", op.versions);
        json_text(&j, "signature", op.signature);
        for (int k = 0; k < N_FACTS; k++) json_bool(&j, facts[k], fact(&op, k));
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    return results_end(&j, a);
}

static void print_table(const args *a) {
    const char *heads[N_FACTS + 2] = {"operator"};
    memcpy(heads + 1, facts, sizeof facts);
    heads[N_FACTS + 1] = "opsets";
    table *t = table_new(heads, "lllllllll");
    hone_op_info op;
    for (size_t i = 0; i < hone_n_ops(); i++) {
        if (!asked_for(a, i, &op)) continue;
        char *name = op_text(op.domain, op.name);
        table_cell(t, "%s", name);
        for (int k = 0; k < N_FACTS; k++) table_cell(t, "%s", fact(&op, k) ? "x" : "-");
        table_cell(t, "%s", op.versions);
        free(name);
    }
    table_print(t);
    line("%s", "");
    for (size_t i = 0; a->n > 0 && i < hone_n_ops(); i++)
        if (asked_for(a, i, &op)) line("%s%s", op.name, op.signature);
    if (a->n > 0) return;
    line("%zu operators. Any other is kept, and named when a model that holds it is to run.",
         hone_n_ops());
    line("kept   read and saved            infer  shapes are inferred before running");
    line("ref    runs                      cost   multiply-accumulates are counted");
    line("fast   has a kernel of its own   grad   can be trained through");
    line("int8   lowers to integers");
}

static exit_code no_such_op(const char *word) {
    const char **names = must(calloc(hone_n_ops() + 1, sizeof *names));
    hone_op_info op;
    for (size_t i = 0; i < hone_n_ops(); i++) {
        hone_op(i, &op, NULL);
        names[i] = op.name;
    }
    const char *near = nearest(word, names);
    complain("hone knows no operator '%s'%s%s%s", word, near != NULL ? "; did you mean " : "",
             near != NULL ? near : "", near != NULL ? "?" : "");
    free(names);
    return EXIT_FAILED;
}

static exit_code run(const args *a) {
    hone_op_info op;
    bool found = false;
    for (size_t i = 0; i < hone_n_ops() && !found; i++) found = asked_for(a, i, &op);
    if (!found) return no_such_op(a->argument[0]);
    if (!has(a, "--json")) print_table(a);
    return write_results(a);
}

static const option_def options[] = {OPTION_JSON, OPTION_QUIET, OPTION_VERBOSE, {0}};

const verb verb_ops = {
    .name = "ops",
    .usage = "[OPERATOR]",
    .n_arguments = 0,
    .most_arguments = 1,
    .summary = "the operators hone knows, and what it can do with each",
    .options = options,
    .run = run,
};

#include <stdlib.h>
#include <string.h>

#include "write.h"

/* What `hone ops` can say of an operator, in the order of the columns. */
static const char *const facts[] = {"kept", "ref", "fast", "int8", "infer", "cost", "grad"};
enum { N_FACTS = sizeof facts / sizeof *facts };

static bool fact(const hone_op_info *op, int i) {
    const bool of[N_FACTS] = {true,       op->runs,  op->fast,          op->int8,
                              op->infers, op->costs, op->differentiates};
    return of[i];
}

/* The operators that were asked for: all of them, or those of the name given. */
typedef struct choice {
    size_t n;
    hone_op_info *ops;
} choice;

#include "schema/ops.def"

static bool is_called(const hone_op_info *op, const char *word) {
    char *whole = op_text(op->domain, op->name);
    bool same = strcmp(word, op->name) == 0 || strcmp(word, whole) == 0;
    free(whole);
    return same;
}

static choice choose(const args *a) {
    choice c = {.ops = must(calloc(hone_n_ops() + 1, sizeof *c.ops))};
    for (size_t i = 0; i < hone_n_ops(); i++) {
        hone_op(i, &c.ops[c.n], NULL);
        c.n += a->n == 0 || is_called(&c.ops[c.n], a->argument[0]);
    }
    return c;
}

static exit_code write_results(const args *a, const choice *c) {
    json j;
    results_begin(&j, a);
    write_ops(&j, a, c);
    return results_end(&j, a);
}

static void print_table(const args *a, const choice *c) {
    const char *heads[N_FACTS + 2] = {"operator"};
    memcpy(heads + 1, facts, sizeof facts);
    heads[N_FACTS + 1] = "opsets";
    table *t = table_new(heads, "lllllllll");
    for (size_t i = 0; i < c->n; i++) {
        char *name = op_text(c->ops[i].domain, c->ops[i].name);
        table_cell(t, "%s", name);
        for (int k = 0; k < N_FACTS; k++) table_cell(t, "%s", fact(&c->ops[i], k) ? "x" : "-");
        table_cell(t, "%s", c->ops[i].versions);
        free(name);
    }
    table_print(t);
    line("%s", "");
    for (size_t i = 0; a->n > 0 && i < c->n; i++) {
        line("%s%s", c->ops[i].name, c->ops[i].signature);
        if (c->ops[i].no_gradient != NULL) line("no gradient: %s", c->ops[i].no_gradient);
    }
    if (a->n > 0) return;
    line("%zu operators. A model with any other can be read and saved, but not run.", c->n);
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
    choice c = choose(a);
    if (c.n > 0 && !has(a, "--json")) print_table(a, &c);
    exit_code code = c.n > 0 ? write_results(a, &c) : no_such_op(a->argument[0]);
    free(c.ops);
    return code;
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

#include <stdlib.h>
#include <string.h>

#include "write.h"

/* The kernels that were asked for: all of them, or a family's. */
typedef struct choice {
    size_t n;
    hone_kernel_info *kernels;
} choice;

#include "schema/kernels.def"

static choice choose(const args *a) {
    choice c = {.kernels = must(calloc(hone_n_kernels() + 1, sizeof *c.kernels))};
    for (size_t i = 0; i < hone_n_kernels(); i++) {
        hone_kernel(i, &c.kernels[c.n], NULL);
        c.n += a->n == 0 || strcmp(a->argument[0], c.kernels[c.n].family) == 0;
    }
    return c;
}

static exit_code write_results(const args *a, const choice *c) {
    json j;
    results_begin(&j, a);
    write_kernels(&j, a, c);
    return results_end(&j, a);
}

static void print_table(const choice *c) {
    static const char *const heads[] = {"family", "kernel", "isa", "here", "packs", "sums"};
    table *t = table_new(heads, "llllll");
    const char *family = "";
    for (size_t i = 0; i < c->n; i++) {
        const hone_kernel_info *k = &c->kernels[i];
        table_cell(t, "%s", strcmp(family, k->family) == 0 ? "" : k->family);
        table_cell(t, "%s", k->name);
        table_cell(t, "%s", k->isa);
        table_cell(t, "%s", k->available ? "x" : "-");
        table_cell(t, "%s", k->packs ? "x" : "-");
        table_cell(t, "%s", k->order);
        family = k->family;
    }
    table_print(t);
    line("%s", "");
    family = "";
    for (size_t i = 0; i < c->n; i++) {
        const hone_kernel_info *k = &c->kernels[i];
        if (strcmp(family, k->family) == 0) continue;
        line("%s: %s", k->family, k->help);
        family = k->family;
    }
    line("Within a family, the first kernel that runs here and accepts a problem computes it.");
}

static exit_code no_such_family(const char *word) {
    const char **names = must(calloc(hone_n_kernels() + 1, sizeof *names));
    hone_kernel_info k;
    size_t n = 0;
    for (size_t i = 0; i < hone_n_kernels(); i++) {
        hone_kernel(i, &k, NULL);
        if (n == 0 || strcmp(names[n - 1], k.family) != 0) names[n++] = k.family;
    }
    has_no("hone", "family of kernels", word, names);
    free(names);
    return EXIT_FAILED;
}

static exit_code run(const args *a) {
    choice c = choose(a);
    if (c.n > 0 && !has(a, "--json")) print_table(&c);
    exit_code code = c.n > 0 ? write_results(a, &c) : no_such_family(a->argument[0]);
    free(c.kernels);
    return code;
}

static const option_def options[] = {OPTION_JSON, OPTION_QUIET, OPTION_VERBOSE, {0}};

const verb verb_kernels = {
    .name = "kernels",
    .usage = "[FAMILY]",
    .n_arguments = 0,
    .most_arguments = 1,
    .summary = "the kernels hone has, and which of them run on this machine",
    .options = options,
    .run = run,
};

#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool asked_for(const args *a, size_t i, hone_kernel_info *k) {
    hone_kernel(i, k, NULL);
    return a->n == 0 || strcmp(a->argument[0], k->family) == 0;
}

static exit_code write_results(const args *a) {
    json j;
    hone_kernel_info k;
    results_begin(&j, a);
    results_object(&j, a);
    json_begin(&j, "kernels", '[');
    for (size_t i = 0; i < hone_n_kernels(); i++) {
        if (!asked_for(a, i, &k)) continue;
        json_begin(&j, NULL, '{');
        json_text(&j, "family", k.family);
        json_text(&j, "name", k.name);
        json_text(&j, "isa", k.isa);
        json_text(&j, "order", k.order);
        json_bool(&j, "available", k.available);
        json_bool(&j, "packs", k.packs);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    return results_end(&j, a);
}

static void print_table(const args *a) {
    static const char *const heads[] = {"family", "kernel", "isa", "here", "packs", "sums"};
    table *t = table_new(heads, "llllll");
    hone_kernel_info k;
    const char *family = "";
    for (size_t i = 0; i < hone_n_kernels(); i++) {
        if (!asked_for(a, i, &k)) continue;
        table_cell(t, "%s", strcmp(family, k.family) == 0 ? "" : k.family);
        table_cell(t, "%s", k.name);
        table_cell(t, "%s", k.isa);
        table_cell(t, "%s", k.available ? "x" : "-");
        table_cell(t, "%s", k.packs ? "x" : "-");
        table_cell(t, "%s", k.order);
        family = k.family;
    }
    table_print(t);
    line("%s", "");
    family = "";
    for (size_t i = 0; i < hone_n_kernels(); i++) {
        if (!asked_for(a, i, &k) || strcmp(family, k.family) == 0) continue;
        line("%s: %s", k.family, k.help);
        family = k.family;
    }
    line("Within a family the first kernel that is here and accepts a problem computes it.");
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
    hone_kernel_info k;
    bool found = false;
    for (size_t i = 0; i < hone_n_kernels() && !found; i++) found = asked_for(a, i, &k);
    if (!found) return no_such_family(a->argument[0]);
    if (!has(a, "--json")) print_table(a);
    return write_results(a);
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

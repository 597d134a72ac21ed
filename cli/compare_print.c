/* What `hone compare` found, for people and for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "write.h"

const char *db_text(double x, char *buf) {
    if (isfinite(x))
        snprintf(buf, 32, "%.1f dB", x);
    else
        strcpy(buf, isnan(x) ? "" : x > 0 ? "exact" : "broken");
    return buf;
}

/* The worst of the outputs. */
static hone_output_error worst_output(const hone_comparison *c) {
    hone_output_error w = {.sqnr_db = INFINITY, .cosine = NAN};
    for (size_t i = 0; i < c->n_outputs; i++) {
        const hone_output_error *o = &c->outputs[i];
        w.sqnr_db = fmin(w.sqnr_db, o->sqnr_db);
        w.cosine = fmin(w.cosine, o->cosine);
        w.mean_error = fmax(w.mean_error, o->mean_error);
        w.max_error = fmax(w.max_error, o->max_error);
    }
    return w;
}

/* ---- models side by side ---- */

typedef void cell_text(const entry *e, char *buf);
typedef double cell_number(const entry *e);

static void size_text(const entry *e, char *buf) { human_bytes(e->file_bytes, buf); }
static double size_number(const entry *e) { return (double)e->file_bytes; }
static void params_text(const entry *e, char *buf) { human_count(e->params, buf); }
static double params_number(const entry *e) { return (double)e->params; }
static void macs_text(const entry *e, char *buf) { human_count(e->macs, buf); }
static double macs_number(const entry *e) { return (double)e->macs; }
static void p50_text(const entry *e, char *buf) { snprintf(buf, 32, "%.3g ms", e->p50); }
static double p50_number(const entry *e) { return e->p50; }
static void p95_text(const entry *e, char *buf) { snprintf(buf, 32, "%.3g ms", e->p95); }
static double p95_number(const entry *e) { return e->p95; }
static double rate_number(const entry *e) { return 1e3 / e->p50; }
static void rate_text(const entry *e, char *buf) {
    human_count((int64_t)rate_number(e), buf);
    strcat(buf, "/s");
}
static void memory_text(const entry *e, char *buf) { human_bytes(e->peak_bytes, buf); }
static double memory_number(const entry *e) { return (double)e->peak_bytes; }
static void accuracy_text(const entry *e, char *buf) {
    snprintf(buf, 32, "%.2f %%", 100 * e->accuracy);
}
static void agreement_text(const entry *e, char *buf) {
    if (e->with_first == NULL || isnan(e->with_first->agreement)) return;
    snprintf(buf, 32, "%.2f %%", 100 * e->with_first->agreement);
}
/* The first model says what its outputs are, so all are compared by one measure. */
static const char *measure_name(const comparison *c) { return c->models[1].with_first->measure; }
static void sqnr_text(const entry *e, char *buf) {
    if (e->with_first != NULL) db_text(worst_output(e->with_first).sqnr_db, buf);
}
static void cosine_text(const entry *e, char *buf) {
    double x = e->with_first != NULL ? worst_output(e->with_first).cosine : NAN;
    if (!isnan(x)) snprintf(buf, 32, "%.6f", x);
}
static void mean_text(const entry *e, char *buf) {
    if (e->with_first != NULL) snprintf(buf, 32, "%.2g", worst_output(e->with_first).mean_error);
}
static void max_text(const entry *e, char *buf) {
    if (e->with_first != NULL) snprintf(buf, 32, "%.2g", worst_output(e->with_first).max_error);
}

static const struct row {
    const char *name;
    cell_text *text;
    cell_number *number; /* of the ratio; NULL: there is none */
    enum { ALWAYS, TIMED, SCORED } when;
} rows[] = {
    {"size", size_text, size_number, ALWAYS},
    {"parameters", params_text, params_number, ALWAYS},
    {"MACs", macs_text, macs_number, ALWAYS},
    {"latency p50", p50_text, p50_number, TIMED},
    {"latency p95", p95_text, p95_number, TIMED},
    {"throughput", rate_text, rate_number, TIMED},
    {"memory", memory_text, memory_number, TIMED},
    {"accuracy", accuracy_text, NULL, SCORED},
    {"agreement", agreement_text, NULL, ALWAYS},
    {"output SQNR", sqnr_text, NULL, ALWAYS},
    {"cosine", cosine_text, NULL, ALWAYS},
    {"mean error", mean_text, NULL, ALWAYS},
    {"max error", max_text, NULL, ALWAYS},
};

static void print_models(const comparison *c) {
    const char *heads[1 + 2 * MOST_MODELS] = {"", c->models[0].label};
    char align[2 + 2 * MOST_MODELS] = "lr";
    for (int k = 1; k < c->n; k++) {
        heads[2 * k] = c->models[k].label;
        heads[2 * k + 1] = "";
        strcat(align, "rr");
    }
    table *t = table_new(heads, align);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        if ((r->when == TIMED && isnan(c->models[0].p50)) ||
            (r->when == SCORED && isnan(c->models[0].accuracy)))
            continue;
        table_cell(t, "%s", r->text == agreement_text ? measure_name(c) : r->name);
        for (int k = 0; k < c->n; k++) {
            char text[40] = "";
            r->text(&c->models[k], text);
            table_cell(t, "%s", text);
            if (k == 0) continue;
            double first = r->number != NULL ? r->number(&c->models[0]) : 0;
            if (first > 0)
                table_cell(t, "%.2fx", r->number(&c->models[k]) / first);
            else
                table_cell(t, "%s", "");
        }
    }
    table_print(t);
}

/* What is worst in each of the models that differ. */
static void print_worst(const comparison *c) {
    for (int k = 1; k < c->n; k++) {
        const hone_comparison *with = c->models[k].with_first;
        if (!(with->agreement < 1)) continue;
        if (c->n > 2)
            line("least alike in %s: %s", c->models[k].label, with->worst);
        else
            line("least alike: %s", with->worst);
    }
}

/* ---- tensors ---- */

static void print_tensors(const hone_comparison *c, size_t top) {
    static const char *const heads[] = {"tensor",   "op",     "",         "SQNR",
                                        "isolated", "cosine", "max error"};
    size_t n = c->n_tensors < top ? c->n_tensors : top;
    char a[40], b[40];
    if (n == 0) return;
    line("%s", "");
    table *t = table_new(heads, "tllrrrr");
    for (size_t i = 0; i < n; i++) {
        const hone_tensor_error *e = &c->tensors[i];
        table_cell(t, "%s", e->name);
        table_cell(t, "%s", e->op);
        table_cell(t, "%s", e->weight ? "weight" : "activation");
        table_cell(t, "%s", db_text(e->sqnr_db, a));
        table_cell(t, "%s", e->weight ? "" : db_text(e->isolated_sqnr_db, b));
        if (isnan(e->cosine))
            table_cell(t, "%s", "");
        else
            table_cell(t, "%.6f", e->cosine);
        table_cell(t, "%.2g", e->max_error);
    }
    table_print(t);
    if (c->n_tensors > n)
        line("%zu of %zu tensors, worst in isolation first (--top N shows more)", n, c->n_tensors);
}

static void print_unmatched(const hone_comparison *c) {
    if (c->n_unmatched == 0) return;
    line("%zu of %zu values of the first model have no partner in the second: %s%s%s%s",
         c->n_unmatched, c->n_values, c->unmatched[0], c->n_unmatched > 1 ? ", " : "",
         c->n_unmatched > 1 ? c->unmatched[1] : "", c->n_unmatched > 2 ? " ..." : "");
}

/* ---- searches ---- */

static void print_bisection(const comparison *c) {
    const hone_bisection *b = c->bisection;
    static const char *const heads[] = {"return", "op", "output SQNR with it alone"};
    bool by_accuracy = c->wants.drop_given;
    char x[40], y[40];
    line("%s", "");
    if (b->n_steps == 0) {
        line("no step needs to run as in the first model: %s passes as it is", c->models[1].label);
        return;
    }
    table *t = table_new(heads, "tlr");
    for (size_t i = 0; i < b->n_steps; i++) {
        table_cell(t, "%s", b->steps[i].node);
        table_cell(t, "%s", b->steps[i].op);
        table_cell(t, "%s", db_text(b->steps[i].sqnr_db, x));
    }
    table_print(t);
    if (by_accuracy) {
        snprintf(x, sizeof x, "%.2f %%", 100 * b->before);
        snprintf(y, sizeof y, "%.2f %%", 100 * b->after);
    } else {
        db_text(b->before, x);
        db_text(b->after, y);
    }
    line("returning %s %zu of %zu steps that differ takes the %s from %s to %s",
         b->n_steps == 1 ? "this" : "these", b->n_steps, b->n_differ,
         by_accuracy ? "accuracy" : "output", x, y);
}

static void print_reduction(const comparison *c) {
    const hone_reduction *r = c->reduction;
    line("%zu of %zu nodes still fail: %s, inputs in %s", r->nodes_after, r->nodes_before,
         c->reduced_path, c->reduced_inputs);
    if (c->reduced_first != NULL)
        line("hone compare %s %s --data npz:%s shows it", c->reduced_first, c->reduced_path,
             c->reduced_inputs);
    else
        line("hone compare %s --against %s --data npz:%s shows it", c->reduced_path,
             value_of(c->a, "--against"), c->reduced_inputs);
}

/* "1.70x faster, ": how much more of it the first has; nearly as much has no number. */
static void print_times(FILE *to, double first, double second, const char *more, const char *less,
                        const char *same) {
    enum { NEARLY = 5 }; /* per cent */
    if (!(first > 0) || !(second > 0)) return;
    double times = first > second ? first / second : second / first;
    if (100 * (times - 1) < NEARLY)
        fprintf(to, "%s, ", same);
    else
        fprintf(to, "%.*fx %s, ", times < 10 ? 2 : 1, times, first > second ? more : less);
}

/* What the second model is beside the first, in one line. */
static void print_summary(const comparison *c) {
    const entry *a = &c->models[0], *b = &c->models[1];
    char *text = NULL;
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    double lost = 100 * (a->accuracy - b->accuracy);
    print_times(to, a->p50, b->p50, "faster", "slower", "as fast");
    print_times(to, (double)a->file_bytes, (double)b->file_bytes, "smaller", "larger",
                "of the same size");
    if (fabs(lost) < 0.1)
        fprintf(to, "as accurate");
    else
        fprintf(to, "%.2f points %s accurate", fabs(lost), lost > 0 ? "less" : "more");
    if (fclose(to) != 0) must(NULL);
    line("%s is %s", b->label, text);
    line("%s", "");
    free(text);
}

void compare_print(const comparison *c, int64_t top) {
    const hone_comparison *two = c->n == 2 ? c->models[1].with_first : NULL;
    if (two != NULL && !isnan(c->models[1].accuracy)) print_summary(c);
    if (two != NULL && two->verdict != NULL) {
        line("%s", two->verdict);
        line("%s", "");
    }
    if (c->models[1].with_first != NULL) {
        print_models(c);
        print_worst(c);
    }
    if (two != NULL) {
        print_tensors(two, (size_t)top);
        print_unmatched(two);
    }
    if (c->bisection != NULL)
        print_bisection(c);
    else if (two != NULL && two->breaks_at != NULL)
        line("--bisect finds which steps to return to those of %s to pass a tolerance",
             c->models[0].label);
    if (c->reduction != NULL) print_reduction(c);
}

/* ---- JSON ---- */

typedef struct output_told {
    const hone_output_error *error;
    double kept;
} output_told;

/* Nothing is known, and all lists are empty. */
static const hone_comparison none = {.agreement = NAN, .agreement_low = NAN, .agreement_high = NAN};

static const hone_comparison *with_first(const entry *e) {
    return e->with_first != NULL ? e->with_first : &none;
}

/* What is told of two models alone. */
static const hone_comparison *of_two(const comparison *c) {
    return c->n == 2 ? with_first(&c->models[1]) : &none;
}

#include "schema/compare.def"

void compare_json(const comparison *c, json *j) { write_compare(j, c->a, c); }

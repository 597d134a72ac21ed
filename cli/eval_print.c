/* What `hone eval` found, as tables and as JSON. */
#include <math.h>
#include <string.h>

#include "eval.h"
#include "write.h"

const char *metric_text(const hone_metric_value *v, double x, char *buf) {
    if (isnan(x))
        snprintf(buf, 32, "-");
    else if (v->is_share)
        snprintf(buf, 32, "%.2f %%", 100 * x);
    else
        snprintf(buf, 32, "%.6g", x);
    return buf;
}

static void interval_cell(table *t, const hone_metric_value *v) {
    char low[32], high[32];
    if (isnan(v->low))
        table_cell(t, "-");
    else if (v->is_share)
        table_cell(t, "%.2f to %.2f %%", 100 * v->low, 100 * v->high);
    else
        table_cell(t, "%s to %s", metric_text(v, v->low, low), metric_text(v, v->high, high));
}

static void print_metrics(const findings *f) {
    static const char *const heads[] = {"metric", "value", "95 % interval", "by", "correct"};
    bool counts = false;
    char text[32];
    for (size_t i = 0; i < f->n; i++) counts |= f->values[i].part >= 0;
    table *t = table_new(heads, counts ? "lrrlr" : "lrrl");
    for (size_t i = 0; i < f->n; i++) {
        const hone_metric_value *v = &f->values[i];
        table_cell(t, "%s", v->name);
        table_cell(t, "%s", metric_text(v, v->value, text));
        interval_cell(t, v);
        table_cell(t, "%s", v->interval != NULL ? v->interval : "-");
        if (counts && v->part >= 0)
            table_cell(t, "%lld", (long long)v->part);
        else if (counts)
            table_cell(t, "-");
    }
    table_print(t);
}

/* ---- tables of classes ---- */

typedef struct column {
    const char *head;
    size_t at; /* in hone_class_value */
    bool count;
} column;

static const column columns[] = {
    {"samples", offsetof(hone_class_value, samples), true},
    {"answers", offsetof(hone_class_value, answers), true},
    {"correct", offsetof(hone_class_value, correct), true},
    {"precision", offsetof(hone_class_value, precision), false},
    {"recall", offsetof(hone_class_value, recall), false},
    {"f1", offsetof(hone_class_value, f1), false},
    {"ap", offsetof(hone_class_value, ap), false},
    {"ap50", offsetof(hone_class_value, ap50), false},
    {"iou", offsetof(hone_class_value, iou), false},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static double value_in(const hone_class_value *row, const column *c) {
    const char *at = (const char *)row + c->at;
    return c->count ? (double)*(const int64_t *)(const void *)at
                    : *(const double *)(const void *)at;
}

/* -1 and NaN: not known. */
static bool is_known(double x) { return x >= 0; }

static void print_classes(const hone_evaluation *e) {
    const char *heads[N_COLUMNS + 1] = {"class"};
    char align[N_COLUMNS + 2] = "r";
    bool shown[N_COLUMNS];
    for (int c = 0, n = 1; c < N_COLUMNS; c++) {
        shown[c] = false;
        for (size_t i = 0; i < e->n_class_rows; i++)
            shown[c] |= is_known(value_in(&e->class_rows[i], &columns[c]));
        if (!shown[c]) continue;
        heads[n] = columns[c].head;
        align[n++] = 'r';
    }
    table *t = table_new(heads, align);
    for (size_t i = 0; i < e->n_class_rows; i++) {
        table_cell(t, "%lld", (long long)e->class_rows[i].id);
        for (int c = 0; c < N_COLUMNS; c++) {
            double x = value_in(&e->class_rows[i], &columns[c]);
            if (!shown[c]) continue;
            if (!is_known(x))
                table_cell(t, "-");
            else if (columns[c].count)
                table_cell(t, "%.0f", x);
            else
                table_cell(t, "%.2f %%", 100 * x);
        }
    }
    line("%s", "");
    table_print(t);
}

/* Wider than this no terminal shows it: then the most frequent mistakes are listed. */
#define MOST_WIDE 24
#define MOST_MISTAKES 20

static void print_square(const hone_evaluation *e) {
    int64_t n = e->classes;
    char names[MOST_WIDE][24], align[MOST_WIDE + 2] = "r";
    const char *heads[MOST_WIDE + 1] = {"label"};
    for (int64_t c = 0; c < n; c++) {
        snprintf(names[c], sizeof names[c], "%lld", (long long)c);
        heads[c + 1] = names[c];
        align[c + 1] = 'r';
    }
    table *t = table_new(heads, align);
    for (int64_t r = 0; r < n; r++) {
        table_cell(t, "%lld", (long long)r);
        for (int64_t c = 0; c < n; c++) {
            int64_t x = e->confusion[r * n + c];
            if (x > 0)
                table_cell(t, "%lld", (long long)x);
            else
                table_cell(t, ".");
        }
    }
    line("%s", "");
    line("answers (columns) by label (rows)");
    table_print(t);
}

static void print_mistakes(const hone_evaluation *e) {
    static const char *const heads[] = {"label", "answer", "samples"};
    int64_t n = e->classes, last = INT64_MAX, last_at = -1;
    table *t = table_new(heads, "rrr");
    for (int k = 0; k < MOST_MISTAKES; k++) {
        int64_t best = -1;
        for (int64_t at = 0; at < n * n; at++) {
            int64_t x = e->confusion[at];
            bool after = x < last || (x == last && at > last_at);
            if (at / n != at % n && x > 0 && after && (best < 0 || x > e->confusion[best]))
                best = at;
        }
        if (best < 0) break;
        last = e->confusion[best];
        last_at = best;
        table_cell(t, "%lld", (long long)(best / n));
        table_cell(t, "%lld", (long long)(best % n));
        table_cell(t, "%lld", (long long)last);
    }
    line("%s", "");
    line("the most frequent mistakes of %lld classes (--json has all answers by label)",
         (long long)n);
    table_print(t);
}

static void print_confusion(const hone_evaluation *e) {
    if (e->confusion == NULL)
        note(
            "there is no table of answers by label: the metrics make none, or not for so many "
            "classes");
    else if (e->classes <= MOST_WIDE)
        print_square(e);
    else
        print_mistakes(e);
}

/* How well the first metric is known. */
static void print_meaning(const findings *f) {
    if (f->n == 0 || isnan(f->values[0].low)) return;
    const hone_metric_value *v = &f->values[0];
    double half = (v->high - v->low) / 2;
    line("%s", "");
    line("With so many samples %s is known to about %.2g%s; a smaller difference means little.",
         v->name, v->is_share ? 100 * half : half, v->is_share ? " points" : "");
}

void print_findings(const findings *f) {
    line("samples: %lld of %s", (long long)f->e->samples, f->spec);
    print_metrics(f);
    if (f->per_class && f->e->n_class_rows > 0) print_classes(f->e);
    if (f->per_class && f->e->n_class_rows == 0) note("the metrics make no table of classes");
    if (f->confusion) print_confusion(f->e);
    print_meaning(f);
    note("%.2f s, %.1f samples/s", f->e->seconds,
         f->e->seconds > 0 ? (double)f->e->samples / f->e->seconds : 0);
}

/* ---- JSON ---- */

/* A metric by its name; one of values that are not known where it was not measured. */
static hone_metric_value find(const findings *f, const char *name) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->values[i].name, name) == 0) return f->values[i];
    return (hone_metric_value){.value = NAN, .part = -1};
}

#include "schema/eval.def"

exit_code write_findings(const args *a, const findings *f) {
    json j;
    results_begin(&j, a);
    write_eval(&j, a, f);
    return results_end(&j, a);
}

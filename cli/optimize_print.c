/* What `hone optimize` found, for people and for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimize.h"
#include "write.h"

/* "0.0581", "12.3"; "" if it was not measured. */
static const char *number_text(double v, const char *format, char *buf) {
    buf[0] = '\0';
    if (isfinite(v)) snprintf(buf, 32, format, v);
    return buf;
}

static const char *times_text(double v, char *buf) {
    return number_text(v > 0 ? v : NAN, "%.2fx", buf);
}

static const char *bytes_text(int64_t n, char *buf) {
    buf[0] = '\0';
    return n < 0 ? buf : human_bytes(n, buf);
}

static double smaller(const hone_optimization *o, size_t i) {
    return i > 0 && o->rows[i].file_bytes > 0
               ? (double)o->rows[0].file_bytes / (double)o->rows[i].file_bytes
               : NAN;
}

/* What became of a row, in a word. */
static const char *outcome(const hone_optimize_row *r) {
    static const char *const words[][2] = {
        {"original", ""}, {"gate", "worse"}, {"held-out", "worse"}, {"unfinished", "not finished"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(r->state, words[i][0]) == 0) return words[i][1];
    return r->state;
}

/* 80 columns for names of up to 12 letters. */
static void print_rows(const hone_optimization *o) {
    char metric[64], buf[32];
    const char *percent = o->is_share ? " %" : "", *format = o->is_share ? "%.2f" : "%.4g";
    snprintf(metric, sizeof metric, "%.40s%s", o->metric != NULL ? o->metric : "accuracy", percent);
    const char *heads[] = {"  model", "ms",   "speed", "file",   "size",
                           "memory",  metric, "loss",  "outcome"};
    table *t = table_new(heads, "lrrrrrrrl");
    double unit = o->is_share ? 100 : 1;
    bool any_doubtful = false;
    for (size_t i = 0; i < o->n_rows; i++) {
        const hone_optimize_row *r = &o->rows[i];
        bool chosen = i > 0 && i == o->chosen;
        table_cell(t, "%s %s", chosen ? "*" : r->front ? "+" : " ", r->name);
        table_cell(t, "%s", number_text(r->ms, "%.3g", buf));
        bool doubtful = i > 0 && r->doubt > 0.05;
        any_doubtful |= doubtful;
        if (doubtful && r->speed == 1)
            table_cell(t, "~1.0x");
        else if (o->by_rule && i > 0)
            table_cell(t, "by rule");
        else
            table_cell(t, "%s%s", doubtful ? "~" : "", times_text(i > 0 ? r->speed : NAN, buf));
        table_cell(t, "%s", bytes_text(r->file_bytes, buf));
        table_cell(t, "%s", times_text(smaller(o, i), buf));
        table_cell(t, "%s", bytes_text(r->memory_bytes, buf));
        table_cell(t, "%s", number_text(unit * r->value, format, buf));
        table_cell(t, "%s", number_text(i > 0 ? unit * r->drop : NAN, format, buf));
        table_cell(t, "%s", outcome(r));
    }
    table_print(t);
    line("* chosen   + none that passed is faster, smaller and more accurate at once");
    if (any_doubtful) line("~ measurements differ by more than 5 %%: others used the cores");
}

/* Why those that were tried are out. */
static void print_reasons(const hone_optimization *o) {
    bool any = false;
    for (size_t i = 0; i < o->n_rows; i++) {
        if (o->rows[i].why == NULL) continue;
        if (!any) line("%s", "");
        if (!any) line("tried, and not taken");
        any = true;
        wrapped(2, 4, "%s: %s", o->rows[i].name, o->rows[i].why);
    }
}

/* "NAME: reason"; names that have one reason share a line. */
static void print_left_out(const hone_optimization *o) {
    if (o->n_left_out == 0) return;
    line("%s", "");
    line("not tried");
    for (size_t i = 0, k; i < o->n_left_out; i = k) {
        const char *why = strstr(o->left_out[i], ": ");
        char *names;
        size_t bytes;
        FILE *to = must(open_memstream(&names, &bytes));
        for (k = i; k < o->n_left_out; k++) {
            const char *other = strstr(o->left_out[k], ": ");
            if (k > i && (why == NULL || other == NULL || strcmp(why, other) != 0)) break;
            int n = other != NULL ? (int)(other - o->left_out[k]) : (int)strlen(o->left_out[k]);
            fprintf(to, "%s%.*s", k > i ? ", " : "", n, o->left_out[k]);
        }
        if (fclose(to) != 0) must(NULL);
        wrapped(2, 4, "%s%s", names, why != NULL ? why : "");
        free(names);
    }
}

static void print_verdicts(const char *title, const hone_verdict *v, size_t n) {
    if (n == 0) return;
    line("%s", "");
    line("%s", title);
    for (size_t i = 0; i < n; i++) {
        line("  %-9s  %s", v[i].answer, v[i].question);
        wrapped(13, 13, "%s", v[i].evidence);
    }
}

static void print_written(const telling *t) {
    line("%s", "");
    line("model    %s", t->to->model);
    line("recipe   %s", t->to->recipe);
    if (t->report != NULL) line("report   %s", t->report);
    line("again    %s", t->again);
    line("next     %s", t->next);
}

/* Whose speeds the table holds. */
static void print_runtime(const hone_optimization *o, const telling *t) {
    if (o->by_rule)
        wrapped(0, 2, "by rule, not measured: %s",
                t->unmeasured != NULL ? t->unmeasured : o->runtime);
    else if (t->of->timer != NULL)
        line("speeds are those of %s", t->of->timer->name);
    else
        line("speeds are hone's (--for onnxruntime, openvino or tensorrt: for another runtime)");
}

void print_optimization(const hone_optimization *o, const telling *t) {
    if (o->n_rows > 0) print_rows(o);
    if (o->n_rows > 0) print_runtime(o, t);
    print_reasons(o);
    print_left_out(o);
    print_verdicts("criteria", o->criteria, o->n_criteria);
    print_stages(o->n_stages, o->stages);
    if (o->n_rows > 0 && o->n_stages == 0) line("%s", "");
    wrapped(0, 0, "%s", o->verdict);
    if (t->to != NULL) print_written(t);
}

typedef struct optimized {
    const hone_optimization *o;
    const telling *t;
    const hone_machine *machine; /* that times were measured on; NULL: not known */
    int threads;
    double max_drop; /* in the metric's unit */
} optimized;

#include "schema/optimize.def"

void write_optimization(json *j, const args *a, const hone_optimization *o, const telling *t) {
    hone_machine *m = NULL;
    hone_error unused;
    double original = o->n_rows > 0 ? o->rows[0].value : NAN;
    int threads = t->of->session != NULL ? t->of->session->threads : 0;
    if (hone_machine_look(&m, &unused) != HONE_OK) m = NULL;
    if (threads <= 0 && m != NULL) threads = m->threads;
    write_optimize(j, a,
                   &(optimized){o, t, m, threads,
                                t->of->max_drop * (t->of->max_drop_relative ? fabs(original) : 1)});
    hone_machine_destroy(m);
}

/* What `hone optimize` found, for people and for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimize.h"

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
    if (o->n_rows > 0) line("%s", "");
    wrapped(0, 0, "%s", o->verdict);
    if (t->to != NULL) print_written(t);
}

static void write_verdicts(json *j, const char *key, const hone_verdict *v, size_t n) {
    json_begin(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        json_begin(j, NULL, '{');
        json_text(j, "question", v[i].question);
        json_text(j, "answer", v[i].answer);
        json_text(j, "evidence", v[i].evidence);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void write_row(json *j, const hone_optimization *o, size_t i) {
    const hone_optimize_row *r = &o->rows[i];
    json_begin(j, NULL, '{');
    json_text(j, "name", r->name);
    json_text(j, "help", r->help);
    json_text(j, "state", r->state);
    json_text(j, "why", r->why);
    json_text(j, "expected", r->gain);
    json_number(j, "ms", r->ms);
    json_number(j, "speed", r->speed);
    json_number(j, "doubt", r->doubt);
    json_count(j, "file_bytes", r->file_bytes);
    json_count(j, "weights_bytes", r->weights_bytes);
    json_count(j, "memory_bytes", r->memory_bytes);
    json_number(j, "value", r->value);
    json_number(j, "low", r->low);
    json_number(j, "high", r->high);
    json_number(j, "drop", r->drop);
    json_bool(j, "front", r->front);
    json_number(j, "seconds", r->seconds);
    json_end(j, '}');
}

/* What times depend on. */
static void write_machine(json *j, const hone_optimize_options *o) {
    hone_machine *m = NULL;
    hone_error unused;
    int threads = o->session != NULL ? o->session->threads : 0;
    if (hone_machine_look(&m, &unused) != HONE_OK) m = NULL;
    json_text(j, "cpu", m != NULL ? m->cpu : NULL);
    json_count(j, "threads", threads > 0 ? threads : m != NULL ? m->threads : -1);
    hone_machine_destroy(m);
}

void write_optimization(json *j, const hone_optimization *o, const telling *t) {
    double original = o->n_rows > 0 ? o->rows[0].value : NAN;
    json_text(j, "output", t->to != NULL ? t->to->model : NULL);
    json_text(j, "recipe", t->to != NULL ? t->to->recipe : NULL);
    json_text(j, "recipe_text", t->to != NULL ? o->recipe : NULL);
    json_text(j, "replay", t->again);
    write_machine(j, t->of);
    json_text(j, "runtime", o->runtime);
    json_text(j, "runtime_version", t->of->timer != NULL ? t->of->timer->name : NULL);
    json_bool(j, "by_rule", o->by_rule);
    json_text(j, "verdict", o->verdict);
    json_bool(j, "met", o->met);
    json_bool(j, "interrupted", o->interrupted);
    json_bool(j, "out_of_time", o->out_of_time);
    json_bool(j, "checked", o->checked);
    json_text(j, "chosen", o->chosen > 0 ? o->rows[o->chosen].name : NULL);
    json_text(j, "metric", o->metric);
    json_bool(j, "is_share", o->is_share);
    json_bool(j, "lower_better", o->lower_better);
    json_number(j, "max_drop", t->of->max_drop * (t->of->max_drop_relative ? fabs(original) : 1));
    json_int(j, "calibration_samples", o->calibration_samples);
    json_int(j, "choosing_samples", o->choosing_samples);
    json_int(j, "verifying_samples", o->verifying_samples);
    json_number(j, "verified", o->verified);
    json_number(j, "verified_low", o->verified_low);
    json_number(j, "verified_high", o->verified_high);
    json_number(j, "verified_original", o->verified_original);
    json_number(j, "profile_ms", o->profile_ms);
    json_text(j, "profile", o->profile);
    json_begin(j, "rows", '[');
    for (size_t i = 0; i < o->n_rows; i++) write_row(j, o, i);
    json_end(j, ']');
    write_verdicts(j, "criteria", o->criteria, o->n_criteria);
    write_verdicts(j, "guards", o->guards, o->n_guards);
    json_begin(j, "left_out", '[');
    for (size_t i = 0; i < o->n_left_out; i++) json_text(j, NULL, o->left_out[i]);
    json_end(j, ']');
    json_number(j, "seconds", o->seconds);
}

/* What `hone optimize` found, for people and for programs. */
#include <math.h>
#include <string.h>

#include "optimize.h"

/* "91.73 %" or "0.0123"; "" if it was not measured. */
static const char *value_text(const hone_optimization *o, double v, char *buf) {
    buf[0] = '\0';
    if (isfinite(v)) snprintf(buf, 32, o->is_share ? "%.2f %%" : "%.4g", o->is_share ? 100 * v : v);
    return buf;
}

static const char *times_text(double v, char *buf) {
    buf[0] = '\0';
    if (isfinite(v) && v > 0) snprintf(buf, 32, "%.2fx", v);
    return buf;
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

static void print_rows(const hone_optimization *o) {
    const char *heads[] = {"",     "model",   "latency", "speed",
                           "file", "size",    "memory",  o->metric != NULL ? o->metric : "accuracy",
                           "loss", "verdict", "",        NULL};
    table *t = table_new(heads, "llrrrrrrrlh");
    char buf[32];
    for (size_t i = 0; i < o->n_rows; i++) {
        const hone_optimize_row *r = &o->rows[i];
        table_cell(t, "%s", i == o->chosen && !o->interrupted ? "*" : r->front ? "+" : "");
        table_cell(t, "%s", r->name);
        if (isfinite(r->ms))
            table_cell(t, "%.3g ms", r->ms);
        else
            table_cell(t, "%s", "");
        table_cell(t, "%s", times_text(i > 0 ? r->speed : NAN, buf));
        table_cell(t, "%s", bytes_text(r->file_bytes, buf));
        table_cell(t, "%s", times_text(smaller(o, i), buf));
        table_cell(t, "%s", bytes_text(r->memory_bytes, buf));
        table_cell(t, "%s", value_text(o, r->value, buf));
        table_cell(t, "%s", value_text(o, i > 0 ? r->drop : NAN, buf));
        table_cell(t, "%s", i > 0 ? r->state : "");
        table_cell(t, "%s", r->why != NULL ? r->why : "");
    }
    table_print(t);
    line("* taken   + none is faster, smaller and more accurate at once");
}

static void print_verdicts(const char *title, const hone_verdict *v, size_t n) {
    if (n == 0) return;
    line("%s", "");
    line("%s", title);
    table *t = table_new(NULL, "lll");
    for (size_t i = 0; i < n; i++) {
        table_cell(t, "  %s", v[i].question);
        table_cell(t, "%s", v[i].answer);
        table_cell(t, "%s", v[i].evidence);
    }
    table_print(t);
}

void print_optimization(const hone_optimization *o) {
    if (o->n_rows > 0) print_rows(o);
    if (o->n_left_out > 0) {
        line("%s", "");
        line("left out");
        for (size_t i = 0; i < o->n_left_out; i++) line("  %s", o->left_out[i]);
    }
    print_verdicts("criteria", o->criteria, o->n_criteria);
    if (o->n_rows > 0) line("%s", "");
    line("%s", o->verdict);
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

void write_optimization(json *j, const hone_optimization *o, const outputs *to) {
    json_text(j, "output", to != NULL ? to->model : NULL);
    json_text(j, "recipe", to != NULL ? to->recipe : NULL);
    json_text(j, "verdict", o->verdict);
    json_bool(j, "met", o->met);
    json_bool(j, "interrupted", o->interrupted);
    json_text(j, "chosen", o->chosen > 0 ? o->rows[o->chosen].name : NULL);
    json_text(j, "metric", o->metric);
    json_bool(j, "is_share", o->is_share);
    json_bool(j, "lower_better", o->lower_better);
    json_int(j, "calibration_samples", o->calibration_samples);
    json_int(j, "choosing_samples", o->choosing_samples);
    json_int(j, "verifying_samples", o->verifying_samples);
    json_number(j, "verified", o->verified);
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

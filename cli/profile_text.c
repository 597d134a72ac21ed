/* Profiles for people: tables of steps and groups of steps, the questions they answer. */
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/* A step, or several that belong together. */
typedef struct row {
    char *name;
    const hone_step_profile *step; /* the only one, or the first */
    size_t n, at;                  /* how many; the place of the first */
    double ms, flops, bytes, roof_ms, lost_ms;
} row;

static double rate(double amount, double ms) { return ms > 0 ? amount / ms * 1e-6 : 0; }

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static double roof_share(const row *r) { return r->ms > 0 ? r->roof_ms / r->ms : 0; }

/* ---- rows ---- */

/* "encoder/layer.0" of "encoder/layer.0/MatMul"; "." of a name without a path. */
static char *scope_of(const char *node) {
    const char *end = strrchr(node, '/');
    if (end == NULL) end = strrchr(node, '.');
    if (end == NULL || end == node) return must(strdup("."));
    return must(strndup(node, (size_t)(end - node)));
}

static char *name_of(const hone_step_profile *s, grouping by) {
    return by == BY_SCOPE ? scope_of(s->node) : must(strdup(by == BY_OP ? s->op : s->node));
}

static size_t rows_of(const hone_profile *p, grouping by, row *rows) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        const hone_step_profile *s = &p->steps[i];
        char *name = name_of(s, by);
        size_t k = by == BY_NODE ? n : 0;
        while (k < n && strcmp(rows[k].name, name) != 0) k++;
        if (k == n)
            rows[n++] = (row){.name = name, .step = s, .at = i};
        else
            free(name);
        rows[k].n++;
        rows[k].ms += s->ms;
        rows[k].flops += s->flops;
        rows[k].bytes += s->bytes;
        rows[k].roof_ms += s->roof_ms;
        rows[k].lost_ms += s->lost_ms;
    }
    return n;
}

static int more(double a, double b) { return a > b ? -1 : a < b; }
static int in_order(const row *a, const row *b) { return a->at < b->at ? -1 : a->at > b->at; }
static int by_time(const void *a, const void *b) {
    const row *x = a, *y = b;
    int c = more(x->ms, y->ms);
    return c != 0 ? c : in_order(x, y);
}
static int by_name(const void *a, const void *b) {
    const row *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c != 0 ? c : in_order(x, y);
}
static int by_order(const void *a, const void *b) { return in_order(a, b); }
static int by_lost(const void *a, const void *b) {
    const row *x = a, *y = b;
    int c = more(x->lost_ms, y->lost_ms);
    return c != 0 ? c : by_time(a, b);
}
/* The least of the roof first. */
static int by_share(const void *a, const void *b) {
    const row *x = a, *y = b;
    int c = -more(roof_share(x), roof_share(y));
    return c != 0 ? c : by_time(a, b);
}

static void sort_rows(row *rows, size_t n, sorting sort) {
    static int (*const orders[])(const void *, const void *) = {by_time, by_name, by_order, by_lost,
                                                                by_share};
    if (n > 0) qsort(rows, n, sizeof *rows, orders[sort]);
}

static void free_rows(row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) free(rows[i].name);
    free(rows);
}

/* ---- tables ---- */

static void number_cell(table *t, const char *format, bool known, double v) {
    if (!known)
        table_cell(t, "-");
    else
        table_cell(t, format, v);
}

/* ms, %, sum %, GOP/s, GB/s, roof %, lost ms; an operation is one of floats or of integers */
static void rate_cells(table *t, const row *r, double total, double *sum) {
    *sum += r->ms;
    table_cell(t, "%.3f", r->ms);
    table_cell(t, "%.1f", percent(r->ms, total));
    table_cell(t, "%.1f", percent(*sum, total));
    number_cell(t, "%.1f", r->flops > 0, rate(r->flops, r->ms));
    number_cell(t, "%.1f", r->bytes > 0, rate(r->bytes, r->ms));
    number_cell(t, "%.0f", r->roof_ms > 0, 100 * roof_share(r));
    number_cell(t, "%.3f", r->roof_ms > 0, r->lost_ms);
}

static void print_nodes(const plan *p, sorting sort, int64_t top) {
    static const char *const heads[] = {"node",  "op",   "kernel", "ms",      "%",    "sum %",
                                        "GOP/s", "GB/s", "roof %", "lost ms", "bound"};
    const hone_profile *f = p->profile;
    row *rows = must(calloc(f->n_steps + 1, sizeof *rows));
    size_t n = rows_of(f, BY_NODE, rows), shown = (size_t)top < n ? (size_t)top : n;
    double sum = 0;
    sort_rows(rows, n, sort);
    table *t = table_new(heads, "thhrrrrrrrl");
    for (size_t i = 0; i < shown; i++) {
        const hone_step_profile *s = rows[i].step;
        table_cell(t, "%s", s->node);
        table_cell(t, "%s", s->op);
        table_cell(t, "%s", s->kernel);
        rate_cells(t, &rows[i], f->ms, &sum);
        table_cell(t, "%s", s->bound != NULL ? s->bound : "-");
    }
    table_print(t);
    if (shown < n)
        line("... and %zu more, %.3f ms (--top all shows every row)", n - shown, f->ms - sum);
    free_rows(rows, n);
}

static void print_groups(const plan *p, sorting sort, grouping by, int64_t top) {
    static const char *const op_heads[] = {"op",    "steps", "ms",     "%",      "sum %",
                                           "GOP/s", "GB/s",  "roof %", "lost ms"};
    static const char *const scope_heads[] = {"scope", "steps", "ms",     "%",      "sum %",
                                              "GOP/s", "GB/s",  "roof %", "lost ms"};
    const hone_profile *f = p->profile;
    row *rows = must(calloc(f->n_steps + 1, sizeof *rows));
    size_t n = rows_of(f, by, rows), shown = (size_t)top < n ? (size_t)top : n;
    double sum = 0;
    sort_rows(rows, n, sort);
    table *t =
        table_new(by == BY_OP ? op_heads : scope_heads, by == BY_OP ? "hrrrrrrrr" : "trrrrrrrr");
    for (size_t i = 0; i < shown; i++) {
        table_cell(t, "%s", rows[i].name);
        table_cell(t, "%zu", rows[i].n);
        rate_cells(t, &rows[i], f->ms, &sum);
    }
    table_print(t);
    if (shown < n)
        line("... and %zu more, %.3f ms (--top all shows every row)", n - shown, f->ms - sum);
    free_rows(rows, n);
}

/* Which kernels there are and why, the slowest first. */
typedef struct used {
    const hone_step_profile *first;
    size_t n;
    double ms;
} used;

static int slower_first(const void *a, const void *b) {
    return more(((const used *)a)->ms, ((const used *)b)->ms);
}

static bool same_choice(const hone_step_profile *a, const hone_step_profile *b) {
    const char *x = a->family != NULL ? a->family : a->op;
    const char *y = b->family != NULL ? b->family : b->op;
    return strcmp(x, y) == 0 && strcmp(a->kernel, b->kernel) == 0 && strcmp(a->why, b->why) == 0;
}

static void print_kernels(const hone_profile *p, int64_t top) {
    static const char *const heads[] = {"family", "kernel", "in", "steps", "ms", "why"};
    used *list = must(calloc(p->n_steps + 1, sizeof *list));
    size_t n = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        size_t k = 0;
        while (k < n && !same_choice(list[k].first, &p->steps[i])) k++;
        if (k == n) list[n++].first = &p->steps[i];
        list[k].n++;
        list[k].ms += p->steps[i].ms;
    }
    qsort(list, n, sizeof *list, slower_first);
    table *t = table_new(heads, "hllrrh");
    for (size_t i = 0; i < n && (top == 0 || i < (size_t)top); i++) {
        const hone_step_profile *s = list[i].first;
        table_cell(t, "%s", s->family != NULL ? s->family : s->op);
        table_cell(t, "%s", s->kernel);
        table_cell(t, "%s", s->precision);
        table_cell(t, "%zu", list[i].n);
        table_cell(t, "%.3f", list[i].ms);
        table_cell(t, "%s", s->why);
    }
    table_print(t);
    free(list);
}

static void print_counters(const hone_profile *p) {
    double cycles = 0, instructions = 0, misses = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        if (p->steps[i].cycles < 0) return;
        cycles += p->steps[i].cycles;
        instructions += p->steps[i].instructions;
        misses += p->steps[i].cache_misses;
    }
    if (p->n_steps > 0 && cycles > 0)
        line(
            "counters  %.4g million cycles, %.2f instructions per cycle, %.4g thousand cache "
            "misses",
            cycles * 1e-6, instructions / cycles, misses * 1e-3);
}

/* ---- all of it ---- */

static void print_times(const plan *p) {
    const hone_profile *f = p->profile;
    const startup *s = &p->startup;
    line("run       %.3f ms, of which %zu steps take %.1f %% (medians of %lld runs, %d %s)",
         f->wall_ms, f->n_steps, 100 * f->coverage, (long long)f->runs, f->threads,
         f->threads == 1 ? "thread" : "threads");
    line(
        "start-up  read %.1f ms, parse %.1f, passes %.1f, compile %.1f, tune %.1f, pack %.1f, "
        "first "
        "run %.1f",
        s->read_ms, s->parse_ms, s->passes_ms, s->compile_ms, s->tune_ms, s->pack_ms,
        s->first_run_ms);
    hone_memory_use use = hone_session_memory(p->session);
    print_memory("memory    ", &use);
    print_counters(f);
    const stages *d = &p->stages;
    if (d->known)
        line(
            "stages    decode %.3f ms, preprocess %.3f, copy %.3f, inference %.3f, postprocess "
            "%.3f",
            d->decode_ms, d->preprocess_ms, d->copy_ms, d->inference_ms, d->postprocess_ms);
    if (p->cost.requests_per_day > 0)
        line("cost      %.4g requests a day keep %.4g machines %.1f %% busy: %.2f a month",
             p->cost.requests_per_day, p->cost.machines,
             100 * p->cost.utilization / p->cost.machines, p->cost.per_month);
}

static void print_verdicts(size_t n, const hone_verdict *v) {
    for (size_t i = 0; i < n; i++) {
        line("%s? %s", v[i].question, v[i].answer);
        line("    %s", v[i].evidence);
    }
}

void print_profile(const plan *p, sorting sort, grouping by, int64_t top) {
    if (by == BY_NODE)
        print_nodes(p, sort, top);
    else
        print_groups(p, sort, by, top);
    line("%s", "");
    if (by == BY_NODE) {
        print_groups(p, BY_TIME, BY_OP, top);
        line("%s", "");
    }
    print_kernels(p->profile, top);
    line("%s", "");
    print_times(p);
    line("%s", "");
    print_verdicts(p->profile->n_verdicts, p->profile->verdicts);
    print_verdicts((size_t)p->n_verdicts, p->verdicts);
}

/* ---- what is computed in which precision ---- */

static bool is_quantized(const hone_profile *p) {
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].why_float != NULL || strcmp(p->steps[i].precision, "int8") == 0)
            return true;
    return false;
}

static void print_floats(const plan *p) {
    static const char *const heads[] = {"node", "op", "ms", "%", "why in floats"};
    const hone_profile *f = p->profile;
    row *rows = must(calloc(f->n_steps + 1, sizeof *rows));
    size_t n = rows_of(f, BY_NODE, rows), floats = 0;
    double ms = 0;
    sort_rows(rows, n, BY_TIME);
    table *t = table_new(heads, "thrrl");
    for (size_t i = 0; i < n; i++) {
        const hone_step_profile *s = rows[i].step;
        if (s->why_float == NULL) continue;
        floats++;
        ms += s->ms;
        table_cell(t, "%s", s->node);
        table_cell(t, "%s", s->op);
        table_cell(t, "%.3f", s->ms);
        table_cell(t, "%.1f", percent(s->ms, f->ms));
        table_cell(t, "%s", s->why_float);
    }
    line(
        "%.2f %% of %.4g million multiply-accumulates run in integers; %zu of %zu steps, "
        "%.3f of %.3f ms (%.1f %%), in floats",
        percent(f->integer_macs, f->macs), f->macs * 1e-6, floats, f->n_steps, ms, f->ms,
        percent(ms, f->ms));
    if (floats > 0) line("%s", "");
    table_print(t);
    free_rows(rows, n);
}

static void print_products(const plan *p) {
    static const char *const heads[] = {"product", "op", "ms", "%", "in", "why"};
    const hone_profile *f = p->profile;
    row *rows = must(calloc(f->n_steps + 1, sizeof *rows));
    size_t n = rows_of(f, BY_NODE, rows);
    sort_rows(rows, n, BY_TIME);
    table *t = table_new(heads, "thrrll");
    for (size_t i = 0; i < n; i++) {
        const hone_step_profile *s = rows[i].step;
        if (s->why_precision == NULL) continue;
        table_cell(t, "%s", s->node);
        table_cell(t, "%s", s->op);
        table_cell(t, "%.3f", s->ms);
        table_cell(t, "%.1f", percent(s->ms, f->ms));
        table_cell(t, "%s", s->precision);
        table_cell(t, "%s", s->why_precision);
    }
    table_print(t);
    free_rows(rows, n);
}

void print_explained(const plan *p) {
    if (is_quantized(p->profile)) {
        print_floats(p);
        line("%s", "");
    }
    print_products(p);
}

/* ---- two plans ---- */

typedef struct pair {
    const char *node;
    const hone_step_profile *of[MOST_PLANS];
    double ms[MOST_PLANS]; /* 0: it has no step of that name */
} pair;

static int by_difference(const void *a, const void *b) {
    const pair *x = a, *y = b;
    double dx = x->ms[1] - x->ms[0], dy = y->ms[1] - y->ms[0];
    return more(dx < 0 ? -dx : dx, dy < 0 ? -dy : dy);
}

static void print_ratio(const char *what, double a, double b) {
    if (b > 0 && a >= b)
        line("%s: %.3f ms, %.3f ms: the second is %.2f times as fast", what, a, b, a / b);
    else
        line("%s: %.3f ms, %.3f ms: the second is %.2f times as slow", what, a, b,
             a > 0 ? b / a : 0);
}

void print_side_by_side(const plan *a, const plan *b, int64_t top) {
    static const char *const heads[] = {"node", "kernel",   "ms", "kernel of the second",
                                        "ms",   "change ms"};
    const plan *plans[MOST_PLANS] = {a, b};
    pair *pairs = must(calloc(a->profile->n_steps + b->profile->n_steps + 1, sizeof *pairs));
    size_t n = 0;
    for (int k = 0; k < MOST_PLANS; k++)
        for (size_t i = 0; i < plans[k]->profile->n_steps; i++) {
            const hone_step_profile *s = &plans[k]->profile->steps[i];
            size_t at = 0;
            while (at < n && strcmp(pairs[at].node, s->node) != 0) at++;
            if (at == n) pairs[n++].node = s->node;
            if (pairs[at].of[k] == NULL) pairs[at].of[k] = s;
            pairs[at].ms[k] += s->ms;
        }
    qsort(pairs, n, sizeof *pairs, by_difference);
    table *t = table_new(heads, "thrhrr");
    for (size_t i = 0; i < n && (top == 0 || i < (size_t)top); i++) {
        const pair *p = &pairs[i];
        table_cell(t, "%s", p->node);
        for (int k = 0; k < MOST_PLANS; k++) {
            table_cell(t, "%s", p->of[k] != NULL ? p->of[k]->kernel : "-");
            number_cell(t, "%.3f", p->of[k] != NULL, p->ms[k]);
        }
        table_cell(t, "%+.3f", p->ms[1] - p->ms[0]);
    }
    table_print(t);
    line("%s", "");
    print_ratio("run", a->profile->wall_ms, b->profile->wall_ms);
    if (a->cost.requests_per_day > 0)
        line("cost a month: %.2f before, %.2f after; machines: %.4g before, %.4g after",
             a->cost.per_month, b->cost.per_month, a->cost.machines, b->cost.machines);
    free(pairs);
}

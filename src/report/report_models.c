/* The head of a report: what was measured of which model, in words and numbers, and where there are
 * several models, which is faster, smaller, more accurate. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MODELS = 64 };

typedef struct model {
    const char *path;
    const char *label; /* what a comparison calls it; NULL: none did */
    double p50, p95, throughput, accuracy, agreement, file_bytes, params, macs, memory;
} model;

typedef struct models {
    model of[MOST_MODELS];
    size_t n;
    const char *metric;                /* what accuracy is */
    const char *cpu, *precision, *isa; /* the first that is told */
    double threads;
} models;

static bool is_model(const model *x, const char *path, const char *label) {
    bool other = label != NULL && x->label != NULL && strcmp(x->label, label) != 0;
    return strcmp(x->path, path) == 0 && !other;
}

/* A file may be compared with itself at another precision: then labels tell the two apart. */
static model *model_of(models *m, const char *path, const char *label) {
    size_t i = 0;
    if (path == NULL) return NULL;
    while (i < m->n && !is_model(&m->of[i], path, label)) i++;
    if (i == MOST_MODELS) return NULL;
    if (i == m->n) m->of[m->n++] = (model){path, NULL, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (m->of[i].label == NULL) m->of[i].label = label;
    return &m->of[i];
}

static const char *name_of(const model *x) {
    return x->label != NULL ? x->label : hn_base_name(x->path);
}

static void take(double *v, double found) {
    if (!isfinite(*v)) *v = found; /* the first document that tells it */
}

static void read_compared(models *m, const hn_doc_compare *d) {
    for (size_t i = 0; i < d->models.n; i++) {
        const hn_doc_compared_model *o = &d->models.at[i];
        model *x = model_of(m, o->model, o->label);
        if (x == NULL) continue;
        take(&x->p50, o->latency_ms.p50);
        take(&x->p95, o->latency_ms.p95);
        take(&x->throughput, o->throughput);
        take(&x->accuracy, o->accuracy);
        take(&x->agreement, o->agreement);
        take(&x->file_bytes, o->file_bytes);
        take(&x->params, o->params);
        take(&x->macs, o->macs);
        take(&x->memory, o->peak_bytes);
    }
}

static void read_bench(models *m, model *x, const hn_doc_bench *o) {
    if (m->isa == NULL) m->isa = o->isa;
    take(&m->threads, o->threads);
    take(&x->p50, o->latency_ms.p50);
    take(&x->p95, o->latency_ms.p95);
    take(&x->throughput, o->throughput);
    take(&x->memory, o->peak_rss_bytes);
}

static void read_profile(models *m, model *x, const hn_doc_profile *o) {
    take(&m->threads, o->threads);
    take(&x->macs, o->macs);
    take(&x->p50, isfinite(o->wall_ms) ? o->wall_ms : o->ms);
    take(&x->memory, o->memory.planned_bytes);
}

/* Top-1, or the first metric there is. */
static void read_eval(models *m, model *x, const hn_doc_eval *o) {
    bool top = isfinite(o->top1) || o->metrics.n == 0;
    double v = top ? o->top1 : o->metrics.at[0].value;
    if (m->metric == NULL && isfinite(v)) m->metric = top ? "top-1" : o->metrics.at[0].name;
    take(&x->accuracy, v);
}

static void read_inspect(model *x, const hn_doc_inspect *o) {
    take(&x->file_bytes, o->file_bytes);
    take(&x->params, o->params);
    take(&x->macs, o->macs);
}

/* What a document says of one model and of the machine. */
typedef struct told {
    const char *model, *cpu, *precision;
} told;

static told told_by(const hn_document *d) {
    if (d->bench != NULL) return (told){d->bench->model, d->bench->cpu, d->bench->precision};
    if (d->profile != NULL)
        return (told){d->profile->model, d->profile->machine.cpu, d->profile->precision};
    if (d->optimize != NULL) return (told){d->optimize->model, d->optimize->cpu, NULL};
    if (d->machine != NULL) return (told){.cpu = d->machine->cpu};
    if (d->run != NULL) return (told){d->run->model, NULL, d->run->precision};
    return (told){.model = d->inspect != NULL     ? d->inspect->model
                           : d->check != NULL     ? d->check->model
                           : d->simplify != NULL  ? d->simplify->model
                           : d->quantize != NULL  ? d->quantize->model
                           : d->prune != NULL     ? d->prune->shrinking.output
                           : d->cluster != NULL   ? d->cluster->shrinking.output
                           : d->factorize != NULL ? d->factorize->shrinking.output
                           : d->replace != NULL   ? d->replace->shrinking.output
                           : d->compress != NULL  ? d->compress->compressed.output
                           : d->apply != NULL     ? d->apply->compressed.output
                           : d->eval != NULL      ? d->eval->model
                           : d->train != NULL     ? d->train->training.output
                           : d->distill != NULL   ? d->distill->training.output
                                                  : NULL};
}

static void read_document(models *m, const hn_document *d) {
    told t = told_by(d);
    if (m->cpu == NULL) m->cpu = t.cpu;
    if (d->compare != NULL) read_compared(m, d->compare);
    model *x = model_of(m, t.model, NULL);
    if (x == NULL) return;
    if (m->precision == NULL) m->precision = t.precision;
    if (d->optimize != NULL) take(&m->threads, d->optimize->threads);
    if (d->bench != NULL) read_bench(m, x, d->bench);
    if (d->profile != NULL) read_profile(m, x, d->profile);
    if (d->eval != NULL) read_eval(m, x, d->eval);
    if (d->inspect != NULL) read_inspect(x, d->inspect);
}

/* ---- what is shown ---- */

static void put_tile(hn_page *p, const char *name, double v, hn_unit unit) {
    char buf[HN_SHOWN];
    if (!isfinite(v)) return;
    char *space = strchr(hn_show(v, unit, buf), ' ');
    if (space != NULL) *space = '\0';
    hn_page_print(p, "<div><dd>%s<small>%s</small></dd><dt>", buf, space != NULL ? space + 1 : "");
    hn_page_text(p, name);
    hn_page_put(p, "</dt></div>");
}

static hn_unit accuracy_unit(double v) { return v >= 0 && v <= 1 ? HN_UNIT_SHARE : HN_UNIT_PLAIN; }

static const double *value_at(const model *x, size_t at) {
    return (const double *)(const void *)((const char *)x + at);
}

static void put_tiles(hn_page *p, const models *m) {
    const model *x = &m->of[0];
    hn_page_put(p, "<dl class=\"tiles\">");
    put_tile(p, "latency, median", x->p50, HN_UNIT_MS);
    put_tile(p, "items per second", x->throughput, HN_UNIT_PLAIN);
    put_tile(p, m->metric, x->accuracy, accuracy_unit(x->accuracy));
    put_tile(p, "memory", x->memory, HN_UNIT_BYTES);
    put_tile(p, "file", x->file_bytes, HN_UNIT_BYTES);
    put_tile(p, "parameters", x->params, HN_UNIT_COUNT);
    put_tile(p, "multiply-adds", x->macs, HN_UNIT_COUNT);
    hn_page_put(p, "</dl>");
}

/* Without the columns that no document tells anything of. */
static void put_models(hn_page *p, const models *m) {
    static const struct {
        const char *head;
        size_t at; /* of the value in a model */
        int decimals;
        hn_unit unit; /* decimals -1 */
    } columns[] = {{"=p50 ms", offsetof(model, p50), 3, 0},
                   {"=p95 ms", offsetof(model, p95), 3, 0},
                   {"=items/s", offsetof(model, throughput), 1, 0},
                   {"=accuracy", offsetof(model, accuracy), -1, HN_UNIT_SHARE},
                   {"=agreement", offsetof(model, agreement), -1, HN_UNIT_SHARE},
                   {"=file", offsetof(model, file_bytes), -1, HN_UNIT_BYTES},
                   {"=parameters", offsetof(model, params), -1, HN_UNIT_COUNT},
                   {"=MACs", offsetof(model, macs), -1, HN_UNIT_COUNT},
                   {"=memory", offsetof(model, memory), -1, HN_UNIT_BYTES}};
    enum { N = sizeof columns / sizeof *columns };
    const char *heads[N + 2] = {"model"};
    size_t shown[N], n = 0;
    for (size_t k = 0; k < N; k++) {
        bool any = false;
        for (size_t i = 0; i < m->n; i++) any |= isfinite(*value_at(&m->of[i], columns[k].at));
        if (!any) continue;
        shown[n] = k;
        heads[++n] = columns[k].head;
    }
    if (n == 0) return;
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < m->n; i++) {
        hn_table_row(p);
        hn_table_text(p, name_of(&m->of[i]));
        for (size_t k = 0; k < n; k++) {
            double v = *value_at(&m->of[i], columns[shown[k]].at);
            hn_unit unit = columns[shown[k]].unit;
            if (columns[shown[k]].decimals >= 0)
                hn_table_number(p, v, columns[shown[k]].decimals);
            else
                hn_table_shown(p, v, unit == HN_UNIT_SHARE ? accuracy_unit(v) : unit);
        }
    }
    hn_table_end(p, NULL);
}

/* How far above (less than 0) or below its mark a name stands: beside it, unless marks at the same
 * height would come in the way; then in turn. at: heights of the marks. */
static double name_shift(const double *at, size_t n, size_t i, double r) {
    int before = 0, near = 0;
    for (size_t k = 0; k < n; k++) {
        if (k == i || fabs(at[k] - at[i]) >= 16) continue;
        near++;
        before += k < i;
    }
    return near == 0 ? 0 : (before % 2 == 0 ? -1 : 1) * (r + 10 + 16 * (before / 2));
}

/* Latency against accuracy, or where that is not known against size; area is size. */
static void draw_models(hn_page *p, const models *m) {
    size_t with_accuracy = 0, n = 0, k = 0;
    double largest = 0, heights[MOST_MODELS];
    for (size_t i = 0; i < m->n; i++) with_accuracy += isfinite(m->of[i].accuracy);
    bool by_size = with_accuracy < 2;
    hn_axis x = {1, 0, false, 72, 700}, y = {1, 0, false, 300, 40};
    for (size_t i = 0; i < m->n; i++) {
        const model *o = &m->of[i];
        double height = by_size ? o->file_bytes / 1e6 : o->accuracy;
        if (!isfinite(o->p50) || !isfinite(height)) continue;
        hn_axis_see(&x, o->p50);
        hn_axis_see(&y, height);
        if (o->file_bytes > largest) largest = o->file_bytes;
        n++;
    }
    if (n < 2) return;
    hn_axis_see(&x, 0);
    if (by_size) hn_axis_see(&y, 0);
    hn_axis_round(&x);
    hn_axis_round(&y);
    hn_plot_begin(
        p, by_size ? "Latency and size" : "Accuracy, latency and size",
        "Each mark is a model: further left is faster, and the area of a mark is the size "
        "of its file.",
        352);
    hn_plot_axes(p, &x, &y, "latency, ms", by_size ? "file, MB" : m->metric);
    for (size_t i = 0; i < m->n; i++) {
        double height = by_size ? m->of[i].file_bytes / 1e6 : m->of[i].accuracy;
        if (isfinite(m->of[i].p50) && isfinite(height)) heights[k++] = hn_axis_at(&y, height);
    }
    for (size_t i = 0, at = 0; i < m->n; i++) {
        const model *o = &m->of[i];
        double height = by_size ? o->file_bytes / 1e6 : o->accuracy;
        if (!isfinite(o->p50) || !isfinite(height)) continue;
        double at_x = hn_axis_at(&x, o->p50), at_y = hn_axis_at(&y, height);
        double r = o->file_bytes > 0 ? 5 + 13 * sqrt(o->file_bytes / largest) : 6;
        char a[HN_SHOWN], b[HN_SHOWN];
        hn_mark_point(p, "c1 p", 0, at_x, at_y, r);
        hn_page_text(p, name_of(o));
        hn_page_print(p, ": %s, %s", hn_show(o->p50, HN_UNIT_MS, a),
                      hn_show(o->file_bytes, HN_UNIT_BYTES, b));
        if (isfinite(o->accuracy))
            hn_page_print(p, ", %s", hn_show(o->accuracy, accuracy_unit(o->accuracy), a));
        hn_mark_end(p);
        bool left = at_x > 480;
        double shift = name_shift(heights, n, at++, r), aside = shift == 0 ? r + 6 : 0;
        hn_page_print(p, "<text%s x=\"%.1f\" y=\"%.1f\" dy=\".35em\">", left ? " class=\"e\"" : "",
                      at_x + (left ? -aside : aside), at_y + shift);
        hn_page_text(p, name_of(o));
        hn_page_put(p, "</text>");
    }
    hn_plot_end(p);
    hn_figure_end(p);
}

static void put_heading(hn_page *p, const models *m) {
    hn_page_put(p, "<header><p class=\"by\">hone report</p><h1>");
    if (m->n == 1)
        hn_page_text(p, name_of(&m->of[0]));
    else if (m->n > 1)
        hn_page_print(p, "%zu models", m->n);
    else
        hn_page_text(p, m->cpu != NULL ? m->cpu : "Results");
    hn_page_put(p, "</h1><p class=\"of\">");
    const char *parts[] = {m->n > 0 ? m->cpu : NULL, m->precision, m->isa};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (parts[i] == NULL) continue;
        if (any) hn_page_put(p, " · ");
        hn_page_text(p, parts[i]);
        any = true;
    }
    if (m->threads > 0)
        hn_page_print(p, "%s%.6g thread%s", any ? " · " : "", m->threads,
                      m->threads == 1 ? "" : "s");
    hn_page_put(p, "</p></header>");
}

static void put_words(hn_page *p) {
    static const struct {
        const char *verb;
        void (*say)(hn_page *p, const hn_document *d);
    } sayers[] = {{"train", hn_report_say_train},       {"distill", hn_report_say_train},
                  {"advise", hn_report_say_advise},     {"optimize", hn_report_say_optimize},
                  {"quantize", hn_report_say_quantize}, {"prune", hn_report_say_shrink},
                  {"cluster", hn_report_say_shrink},    {"factorize", hn_report_say_shrink},
                  {"replace", hn_report_say_shrink},    {"compress", hn_report_say_compress},
                  {"apply", hn_report_say_compress},    {"bench", hn_report_say_bench},
                  {"bench", hn_report_say_noise},       {"eval", hn_report_say_eval},
                  {"compare", hn_report_say_compare},   {"profile", hn_report_say_profile}};
    enum { MOST_SAID = 3 }; /* of one verb: a sweep is for the tables */
    hn_page_put(p, "<ul class=\"words\">");
    for (size_t k = 0; k < sizeof sayers / sizeof *sayers; k++)
        for (size_t i = 0, said = 0; i < p->n_documents && said < MOST_SAID; i++) {
            if (strcmp(p->documents[i].verb, sayers[k].verb) != 0) continue;
            sayers[k].say(p, &p->documents[i]);
            said++;
        }
    hn_page_put(p, "</ul>");
}

void hn_report_models(hn_page *p) {
    models m = {.threads = NAN};
    /* What a benchmark says of time and memory goes before what a profile says. */
    for (int profiles = 0; profiles < 2; profiles++)
        for (size_t i = 0; i < p->n_documents; i++)
            if ((p->documents[i].profile != NULL) == profiles) read_document(&m, &p->documents[i]);
    if (m.metric == NULL) m.metric = "accuracy";
    put_heading(p, &m);
    if (m.n == 1) put_tiles(p, &m);
    put_words(p);
    if (m.n < 2) return;
    hn_section_begin(p, "Models");
    draw_models(p, &m);
    put_models(p, &m);
    hn_section_end(p);
}

#endif

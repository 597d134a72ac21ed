/* What benchmarks show: how latencies are distributed, and configurations side by side. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BARS = 24, MOST_HISTOGRAMS = 12, MOST_COLUMNS = 1000 };

static const hn_doc_bench *next_bench(const hn_page *p, size_t *i) {
    while (*i < p->n_documents && p->documents[*i].bench == NULL) ++*i;
    return *i < p->n_documents ? p->documents[(*i)++].bench : NULL;
}

/* "batch 1, 2 threads, f32, amx" */
static const char *config_text(const hn_doc_bench *o, char *buf, size_t bytes) {
    const char *precision = o->precision, *isa = o->isa;
    double threads = o->threads;
    char a[HN_SHOWN], b[HN_SHOWN];
    snprintf(buf, bytes, "batch %s, %s thread%s, %.20s, %.20s", hn_show(o->batch, HN_UNIT_PLAIN, a),
             hn_show(threads, HN_UNIT_PLAIN, b), threads == 1 ? "" : "s",
             precision != NULL ? precision : "?", isa != NULL ? isa : "?");
    return buf;
}

static void draw_percentile(hn_page *p, const hn_axis *x, const hn_axis *y, double v,
                            const char *name, double text_y) {
    if (!isfinite(v) || v < x->lo || v > x->hi) return;
    double at = hn_axis_at(x, v);
    hn_page_print(p, "<g class=\"at\"><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", at,
                  at, text_y + 4, y->from);
    hn_page_print(p, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" dx=\"%s\">%s</text></g>",
                  at > 600 ? "e" : "", at, text_y + 8, at > 600 ? "-5" : "5", name);
}

static void draw_histogram(hn_page *p, const hn_doc_bench *o) {
    static const char *const heads[] = {"=from ms", "=to ms", "=runs", NULL};
    const hn_numbers *counts = &o->histogram.counts;
    size_t n = counts->n;
    double low = o->histogram.low_ms;
    double width = (o->histogram.high_ms - low) / (double)n;
    if (n == 0 || n > MOST_COLUMNS || !(width > 0) || width > 1e30) return;
    hn_axis x = {low, low + width * (double)n, false, 64, 712}, y = {0, 0, false, 250, 46};
    char title[200], a[HN_SHOWN], b[HN_SHOWN], config[160];
    for (size_t i = 0; i < n; i++) hn_axis_see(&y, counts->at[i]);
    hn_axis_round(&y);
    snprintf(title, sizeof title, "Latency: %s", config_text(o, config, sizeof config));
    hn_plot_begin(p, title, "How many runs took how long, with the median and the tail.", 302);
    hn_plot_axes(p, &x, &y, "latency, ms", "runs");
    for (size_t i = 0; i < n; i++) {
        double count = counts->at[i], from = low + (double)i * width;
        if (!(count > 0)) continue;
        double at = hn_axis_at(&x, from), top = hn_axis_at(&y, count);
        double wide = hn_axis_at(&x, from + width) - at;
        hn_mark_rect(p, "c1", at, top, wide > 2 ? wide - 1 : wide, y.from - top);
        hn_page_print(p, "%.0f runs of %s to %s", count, hn_show(from, HN_UNIT_MS, a),
                      hn_show(from + width, HN_UNIT_MS, b));
        hn_mark_end(p);
    }
    draw_percentile(p, &x, &y, o->latency_ms.p50, "p50", 20);
    draw_percentile(p, &x, &y, o->latency_ms.p95, "p95", 52);
    draw_percentile(p, &x, &y, o->latency_ms.p99, "p99", 84);
    hn_plot_end(p);
    hn_table_begin(p, "Data", heads);
    for (size_t i = 0; i < n; i++) {
        hn_table_row(p);
        hn_table_number(p, low + (double)i * width, 4);
        hn_table_number(p, low + (double)(i + 1) * width, 4);
        hn_table_number(p, counts->at[i], 0);
    }
    hn_table_end(p, "Data");
    hn_figure_end(p);
}

static void draw_configs(hn_page *p, size_t n) {
    hn_bar bars[MOST_BARS];
    char labels[MOST_BARS][160];
    size_t k = 0, at = 0;
    for (const hn_doc_bench *o; k < MOST_BARS && (o = next_bench(p, &at)) != NULL; k++) {
        bars[k] = (hn_bar){.label = config_text(o, labels[k], sizeof labels[k]),
                           .note = hn_base_name(o->model),
                           .look = "c1",
                           .value = o->latency_ms.p50,
                           .unit = HN_UNIT_MS,
                           .share = NAN};
    }
    hn_page_bars(p, "Median latency by configuration",
                 k < n ? "The first configurations; the table has all." : "Every configuration.",
                 bars, k);
    hn_page_bars_end(p, bars, k);
}

static void put_all(hn_page *p) {
    static const char *const heads[] = {
        "model",  "configuration", "=runs",     "=mean ms",    "=std",
        "=p50",   "=p90",          "=p95",      "=p99",        "=p99.9",
        "=max",   "=items/s",      "=load ms",  "=compile ms", "=first run ms",
        "=noise", "=weights",      "=peak RSS", NULL};
    char config[160];
    size_t at = 0;
    hn_table_begin(p, NULL, heads);
    for (const hn_doc_bench *o; (o = next_bench(p, &at)) != NULL;) {
        const hn_doc_latency *ms = &o->latency_ms;
        const double latencies[] = {ms->mean, ms->std, ms->p50,   ms->p90,
                                    ms->p95,  ms->p99, ms->p99_9, ms->max};
        hn_table_row(p);
        hn_table_text(p, hn_base_name(o->model));
        hn_table_text(p, config_text(o, config, sizeof config));
        hn_table_number(p, o->iterations, 0);
        for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
            hn_table_number(p, latencies[i], 3);
        hn_table_number(p, o->throughput, 1);
        hn_table_number(p, o->load_ms, 1);
        hn_table_number(p, o->compile_ms, 1);
        hn_table_number(p, o->first_run_ms, 1);
        hn_table_shown(p, o->noise, HN_UNIT_SHARE);
        hn_table_shown(p, o->memory.weights_bytes, HN_UNIT_BYTES);
        hn_table_shown(p, o->peak_rss_bytes, HN_UNIT_BYTES);
    }
    hn_table_end(p, NULL);
}

void hn_report_say_bench(hn_page *p, const hn_document *d) {
    const hn_doc_bench *o = d->bench;
    char config[160], a[HN_SHOWN], b[HN_SHOWN];
    double p50 = o->latency_ms.p50, p99 = o->latency_ms.p99;
    if (!isfinite(p50)) return;
    hn_page_print(p, "<li>A run takes <b>%s</b>; of 100 runs 99 take at most %s (",
                  hn_show(p50, HN_UNIT_MS, a), hn_show(p99, HN_UNIT_MS, b));
    hn_page_text(p, config_text(o, config, sizeof config));
    hn_page_put(p, ").</li>");
}

/* Once for all, with the first. */
void hn_report_say_noise(hn_page *p, const hn_document *first) {
    size_t n = 0, noisy = 0, at = 0;
    double most = 0;
    char a[HN_SHOWN];
    for (const hn_doc_bench *o; (o = next_bench(p, &at)) != NULL; n++) {
        if (n == 0 && o != first->bench) return;
        if (o->stable != 0) continue;
        noisy++;
        if (o->noise > most) most = o->noise;
    }
    if (noisy == 0) return;
    hn_page_put(p, "<li><b>The machine was noisy</b>");
    if (n > 1) hn_page_print(p, " in %zu of %zu configurations", noisy, n);
    hn_page_print(p, ": windows of runs differ by %s%s.</li>", noisy > 1 ? "up to " : "",
                  hn_show(most, HN_UNIT_SHARE, a));
}

void hn_report_bench(hn_page *p) {
    size_t n = 0, at = 0;
    while (next_bench(p, &at) != NULL) n++;
    if (n == 0) return;
    hn_section_begin(p, "Latency");
    if (n > 1) draw_configs(p, n);
    at = 0;
    for (size_t i = 0; i < n && i < MOST_HISTOGRAMS; i++) draw_histogram(p, next_bench(p, &at));
    put_all(p);
    hn_section_end(p);
}

#endif

/* What benchmarks show: how latencies are distributed, and configurations side by side. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BARS = 24, MOST_HISTOGRAMS = 12, MOST_COLUMNS = 1000 };

static const hn_document *next_bench(const hn_page *p, size_t *i) {
    while (*i < p->n_documents && strcmp(p->documents[*i].verb, "bench") != 0) ++*i;
    return *i < p->n_documents ? &p->documents[(*i)++] : NULL;
}

/* "batch 1, 2 threads, f32, amx" */
static const char *config_text(hn_page *p, const hn_json *o, char *buf, size_t bytes) {
    const char *precision = hn_page_string(p, o, "precision"), *isa = hn_page_string(p, o, "isa");
    double threads = hn_page_number(p, o, "threads");
    char a[HN_SHOWN], b[HN_SHOWN];
    snprintf(buf, bytes, "batch %s, %s thread%s, %.20s, %.20s",
             hn_show(hn_page_number(p, o, "batch"), HN_UNIT_PLAIN, a),
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

static void draw_histogram(hn_page *p, const hn_json *o) {
    static const char *const heads[] = {"=from ms", "=to ms", "=runs", NULL};
    const hn_json *h = hn_page_object(p, o, "histogram");
    const hn_json *counts = h != NULL ? hn_page_list(p, h, "counts") : NULL;
    size_t n = hn_page_count(counts);
    double low = hn_page_number(p, o, "histogram.low_ms");
    double width = (hn_page_number(p, o, "histogram.high_ms") - low) / (double)n;
    if (n == 0 || n > MOST_COLUMNS || !(width > 0) || width > 1e30) return;
    hn_axis x = {low, low + width * (double)n, false, 64, 712}, y = {0, 0, false, 250, 46};
    char title[200], a[HN_SHOWN], b[HN_SHOWN], config[160];
    for (size_t i = 0; i < n; i++) hn_axis_see(&y, hn_page_element(p, counts, "counts", i));
    hn_axis_round(&y);
    snprintf(title, sizeof title, "Latency: %s", config_text(p, o, config, sizeof config));
    hn_plot_begin(p, title, "How many runs took how long, with the median and the tail.", 302);
    hn_plot_axes(p, &x, &y, "latency, ms", "runs");
    for (size_t i = 0; i < n; i++) {
        double count = hn_page_element(p, counts, "counts", i), from = low + (double)i * width;
        if (!(count > 0)) continue;
        double at = hn_axis_at(&x, from), top = hn_axis_at(&y, count);
        double wide = hn_axis_at(&x, from + width) - at;
        hn_mark_rect(p, "c1", at, top, wide > 2 ? wide - 1 : wide, y.from - top);
        hn_page_print(p, "%.0f runs of %s to %s", count, hn_show(from, HN_UNIT_MS, a),
                      hn_show(from + width, HN_UNIT_MS, b));
        hn_mark_end(p);
    }
    draw_percentile(p, &x, &y, hn_page_number(p, o, "latency_ms.p50"), "p50", 20);
    draw_percentile(p, &x, &y, hn_page_number(p, o, "latency_ms.p95"), "p95", 52);
    draw_percentile(p, &x, &y, hn_page_number(p, o, "latency_ms.p99"), "p99", 84);
    hn_plot_end(p);
    hn_table_begin(p, "Data", heads);
    for (size_t i = 0; i < n; i++) {
        hn_table_row(p);
        hn_table_number(p, low + (double)i * width, 4);
        hn_table_number(p, low + (double)(i + 1) * width, 4);
        hn_table_number(p, hn_page_element(p, counts, "counts", i), 0);
    }
    hn_table_end(p, "Data");
    hn_figure_end(p);
}

static void draw_configs(hn_page *p, size_t n) {
    hn_bar bars[MOST_BARS];
    char labels[MOST_BARS][160];
    size_t k = 0, at = 0;
    for (const hn_document *d; k < MOST_BARS && (d = next_bench(p, &at)) != NULL; k++) {
        const hn_json *o = hn_page_enter(p, d);
        bars[k] = (hn_bar){.label = config_text(p, o, labels[k], sizeof labels[k]),
                           .note = hn_base_name(hn_page_string(p, o, "model")),
                           .look = "c1",
                           .value = hn_page_number(p, o, "latency_ms.p50"),
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
    static const char *const keys[] = {"latency_ms.mean",  "latency_ms.std", "latency_ms.p50",
                                       "latency_ms.p90",   "latency_ms.p95", "latency_ms.p99",
                                       "latency_ms.p99_9", "latency_ms.max"};
    char config[160];
    size_t at = 0;
    hn_table_begin(p, NULL, heads);
    for (const hn_document *d; (d = next_bench(p, &at)) != NULL;) {
        const hn_json *o = hn_page_enter(p, d);
        hn_table_row(p);
        hn_table_text(p, hn_base_name(hn_page_string(p, o, "model")));
        hn_table_text(p, config_text(p, o, config, sizeof config));
        hn_table_number(p, hn_page_number(p, o, "iterations"), 0);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            hn_table_number(p, hn_page_number(p, o, keys[i]), 3);
        hn_table_number(p, hn_page_number(p, o, "throughput"), 1);
        hn_table_number(p, hn_page_number(p, o, "load_ms"), 1);
        hn_table_number(p, hn_page_number(p, o, "compile_ms"), 1);
        hn_table_number(p, hn_page_number(p, o, "first_run_ms"), 1);
        hn_table_shown(p, hn_page_number(p, o, "noise"), HN_UNIT_SHARE);
        hn_table_shown(p, hn_page_number(p, o, "weights_bytes"), HN_UNIT_BYTES);
        hn_table_shown(p, hn_page_number(p, o, "peak_rss_bytes"), HN_UNIT_BYTES);
    }
    hn_table_end(p, NULL);
}

void hn_report_say_bench(hn_page *p, const hn_document *d) {
    const hn_json *o = hn_page_enter(p, d);
    char config[160], a[HN_SHOWN], b[HN_SHOWN];
    double p50 = hn_page_number(p, o, "latency_ms.p50"),
           p99 = hn_page_number(p, o, "latency_ms.p99");
    if (!isfinite(p50)) return;
    hn_page_print(p, "<li>A run takes <b>%s</b>; of 100 runs 99 take at most %s (",
                  hn_show(p50, HN_UNIT_MS, a), hn_show(p99, HN_UNIT_MS, b));
    hn_page_text(p, config_text(p, o, config, sizeof config));
    hn_page_put(p, ").</li>");
}

/* Once for all, with the first. */
void hn_report_say_noise(hn_page *p, const hn_document *first) {
    size_t n = 0, noisy = 0, at = 0;
    double most = 0;
    char a[HN_SHOWN];
    for (const hn_document *d; (d = next_bench(p, &at)) != NULL; n++) {
        if (n == 0 && d != first) return;
        const hn_json *o = hn_page_enter(p, d);
        double noise = hn_page_number(p, o, "noise");
        if (hn_page_bool(p, o, "stable") != 0) continue;
        noisy++;
        if (noise > most) most = noise;
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
    for (size_t i = 0; i < n && i < MOST_HISTOGRAMS; i++)
        draw_histogram(p, hn_page_enter(p, next_bench(p, &at)));
    put_all(p);
    hn_section_end(p);
}

#endif

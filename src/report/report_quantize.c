/* What quantizing shows: how much smaller the model is, what became of each layer and the noise
 * that adds, the ranges of activations and how their values are spread, what stayed in floats and
 * why, the types that were chosen among, and what the model was made of. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REASONS = 2000, MOST_NAMED = 6 };

/* Ways in which the noise of a layer is counted. */
static const struct {
    const char *look, *text;
} noises[] = {{"c1", "of the layer alone, from exact inputs"},
              {"c2", "in the model, the noise of layers before it included"}};
enum { N_NOISES = sizeof noises / sizeof *noises };

typedef hn_doc_quantize made;
typedef hn_doc_layer layer;
typedef hn_doc_quantized_value range;

static double noise_of(const layer *l, int k) { return k == 0 ? l->isolated_sqnr_db : l->sqnr_db; }

/* ---- in words ---- */

typedef struct tally {
    int layers, quantized, left; /* with weights, of them in fewer bits; nodes left in floats */
} tally;

static tally count_layers(const made *o) {
    tally c = {0};
    for (size_t i = 0; i < o->layers.n; i++) {
        const layer *l = &o->layers.at[i];
        c.layers += l->params > 0;
        c.quantized += l->params > 0 && l->weights != NULL;
        c.left += l->why_not != NULL;
    }
    return c;
}

/* Of a model whose weights are only rounded, what it would take with them in their bits. */
static double size_of(double packed, double after) { return isfinite(packed) ? packed : after; }

void hn_report_say_quantize(hn_page *p, const hn_document *d) {
    const made *o = d->quantize;
    tally c = count_layers(o);
    char a[HN_SHOWN], b[HN_SHOWN];
    double was = o->before.file_bytes, is = size_of(o->packed.file_bytes, o->after.file_bytes);
    if (!(was > 0 && is > 0) || !isfinite(was / is)) return;
    hn_page_print(p, "<li>The file is <b>%.2f times</b> smaller: %s \xe2\x86\x92 %s. ", was / is,
                  hn_show(was, HN_UNIT_BYTES, a), hn_show(is, HN_UNIT_BYTES, b));
    hn_page_print(p, "%d of %d layers with weights are in fewer bits", c.quantized, c.layers);
    if (c.left > 0)
        hn_page_print(p, "; %d node%s stayed in floats", c.left, c.left == 1 ? "" : "s");
    hn_page_put(p, ".</li>");
    if (o->compared > 0 && o->agreement >= 0 && o->agreement <= 1)
        hn_page_print(p,
                      "<li>On %.15g samples, both models give the same answer for <b>%s</b>.</li>",
                      o->compared, hn_show(o->agreement, HN_UNIT_SHARE, a));
    hn_page_put(p, "<li>What it costs in accuracy, <code>hone compare</code> tells.</li>");
    for (size_t i = 0; i < o->warnings.n; i++) {
        hn_page_put(p, "<li>Warning: ");
        hn_page_text(p, o->warnings.at[i]);
        hn_page_put(p, "</li>");
    }
}

/* ---- totals ---- */

static void put_tile(hn_page *p, const char *figure, const char *what, const char *more) {
    hn_page_print(p, "<div><dd>%s</dd><dt>%s<br>%s</dt></div>", figure, what, more);
}

static void put_totals(hn_page *p, const made *o) {
    const struct {
        double was, is;
        const char *what;
    } sizes[] = {
        {o->before.file_bytes, size_of(o->packed.file_bytes, o->after.file_bytes), "smaller file"},
        {o->before.params_bytes, size_of(o->packed.params_bytes, o->after.params_bytes),
         "smaller constants"}};
    char a[HN_SHOWN], b[HN_SHOWN], text[96], figure[HN_SHOWN];
    hn_page_put(p, "<dl class=\"tiles\">");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double was = sizes[i].was, is = sizes[i].is;
        if (!(was > 0 && is > 0) || !isfinite(was / is)) continue;
        snprintf(figure, sizeof figure, "%.2f\xc3\x97", was / is);
        snprintf(text, sizeof text, "%s \xe2\x86\x92 %s", hn_show(was, HN_UNIT_BYTES, a),
                 hn_show(is, HN_UNIT_BYTES, b));
        put_tile(p, figure, sizes[i].what, text);
    }
    double bits = o->bits_per_weight;
    snprintf(text, sizeof text, "of %s quantized weights, scales and zero points included",
             hn_show(o->weights, HN_UNIT_COUNT, a));
    snprintf(figure, sizeof figure, "%.2f", bits);
    if (isfinite(bits) && fabs(bits) < 1e6) put_tile(p, figure, "bits per weight", text);
    if (o->samples > 0) {
        if (o->stable_after > 0)
            snprintf(text, sizeof text, "no range moved by 1 %% after %s of them",
                     hn_show(o->stable_after, HN_UNIT_PLAIN, a));
        else
            snprintf(text, sizeof text, "looked at");
        put_tile(p, hn_show(o->samples, HN_UNIT_PLAIN, figure), "samples", text);
    }
    hn_page_put(p, "</dl>");
}

/* ---- layers ---- */

static void put_small(hn_page *p, const char *text) {
    if (text == NULL || text[0] == '\0') return;
    hn_page_put(p, "<small>");
    hn_page_text(p, text);
    hn_page_put(p, "</small>");
}

static void put_layer(hn_page *p, const layer *l, bool noise) {
    double ratio = l->bytes_before / l->bytes_after;
    hn_table_row(p);
    hn_table_text(p, l->node);
    put_small(p, l->op);
    hn_table_text(p, l->type);
    if (l->weights != NULL) {
        hn_page_put(p, "<small>");
        hn_page_text(p, l->weights);
        if (l->activations != NULL && strcmp(l->weights, l->activations) != 0) {
            hn_page_put(p, " by ");
            hn_page_text(p, l->activations);
        }
        hn_page_put(p, "</small>");
    }
    put_small(p, l->why_not);
    hn_table_shown(p, l->params, HN_UNIT_COUNT);
    hn_table_shown(p, l->bytes_before, HN_UNIT_BYTES);
    hn_table_shown(p, l->bytes_after, HN_UNIT_BYTES);
    if (l->bytes_after > 0 && isfinite(ratio) && l->weights != NULL)
        hn_page_print(p, "<small>%.3g\xc3\x97</small>", ratio);
    if (!noise) return;
    for (int k = 0; k < N_NOISES; k++) hn_table_number(p, noise_of(l, k), 1);
}

static bool tells_noise(const made *o) {
    bool any = false;
    for (size_t i = 0; i < o->layers.n; i++)
        for (int k = 0; k < N_NOISES; k++) any |= isfinite(noise_of(&o->layers.at[i], k));
    return any;
}

static void put_layers(hn_page *p, const made *o) {
    const char *heads[] = {"layer",  "type",    "=parameters", "=before",
                           "=after", "=own dB", "=in all dB",  NULL};
    size_t shown = 0, others = 0;
    bool noise = tells_noise(o);
    if (!noise) heads[5] = NULL;
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < o->layers.n && p->status == HONE_OK; i++) {
        const layer *l = &o->layers.at[i];
        if (!(l->params > 0))
            others += l->why_not == NULL;
        else if (shown++ < HN_MOST_ROWS)
            put_layer(p, l, noise);
    }
    hn_table_end(p, NULL);
    hn_page_put(p, "<p class=\"note\">");
    if (noise)
        hn_page_put(p,
                    "dB: signal by noise of what a layer computes, from exact inputs and in the "
                    "model; at 20 dB the noise is a tenth of the signal, at 40 dB a hundredth. ");
    if (others > 0)
        hn_page_print(p, "%zu node%s without weights %s in fewer bits, too.", others,
                      others == 1 ? "" : "s", others == 1 ? "is" : "are");
    hn_page_put(p, "</p>");
}

/* Of each layer, the noise it adds and that it ends up with. */
static void draw_layers(hn_page *p, const made *o) {
    enum { MOST = 1000 };
    const layer *of[MOST];
    size_t n = 0;
    bool seen[N_NOISES] = {false};
    hn_axis x = {0, 0, false, 64, 712}, y = {1, 0, false, 272, 34};
    for (size_t i = 0; i < o->layers.n && n < MOST; i++) {
        const layer *l = &o->layers.at[i];
        if (!(l->params > 0)) continue;
        of[n++] = l;
        for (int k = 0; k < N_NOISES; k++) {
            hn_axis_see(&y, noise_of(l, k));
            seen[k] |= isfinite(noise_of(l, k));
        }
    }
    if (n < 2 || (!seen[0] && !seen[1])) return;
    hn_axis_see(&y, 0);
    hn_axis_round(&y);
    x.hi = (double)n + 1;
    hn_plot_begin(p, "Noise of each layer",
                  "Signal to noise in dB of what each layer computes, in the order of the model: "
                  "higher is better.",
                  324);
    hn_plot_axes(p, &x, &y, "layer", "SNR, dB");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < N_NOISES; k++) {
            char text[HN_SHOWN];
            double db = noise_of(of[i], k);
            if (!isfinite(db)) continue;
            hn_mark_point(p, noises[k].look, k, hn_axis_at(&x, (double)i + 1), hn_axis_at(&y, db),
                          n > 100 ? 3 : 4.5);
            hn_page_text(p, of[i]->node);
            hn_page_print(p, ": %s dB, %s", hn_show(db, HN_UNIT_PLAIN, text), noises[k].text);
            hn_mark_end(p);
        }
    hn_plot_end(p);
    hn_legend_begin(p);
    for (int k = 0; k < N_NOISES; k++)
        if (seen[k]) hn_legend(p, noises[k].look, k, noises[k].text);
    hn_legend_end(p);
    hn_figure_end(p);
}

/* ---- ranges of activations ---- */

/* Of the drawing of a spread, in units; and bars of one, at most. */
enum { SPREAD_WIDTH = 640, SPREAD_HEIGHT = 160, MOST_BARS = 256 };

typedef struct spread {
    double low, high, from, step, most;
    size_t n;
    double bars[MOST_BARS];
} spread;

/* False: there is nothing to draw. */
static bool read_spread(const range *v, spread *s) {
    *s = (spread){
        .low = v->low, .high = v->high, .from = v->bins_from, .step = v->bins_step, .n = v->bins.n};
    if (s->n == 0 || s->n > MOST_BARS || !isfinite(s->from) || !(s->step > 0)) return false;
    for (size_t i = 0; i < s->n; i++) {
        double n = v->bins.at[i];
        s->bars[i] = isfinite(n) && n > 0 ? n : 0;
        s->most = fmax(s->most, s->bars[i]);
    }
    return s->most > 0 && s->low <= s->high;
}

static bool is_inside(const spread *s, size_t i) {
    double middle = s->from + ((double)i + 0.5) * s->step;
    return middle >= s->low && middle <= s->high;
}

/* The outline of bars [i, end); heights by the logarithm, or rare values would not be seen. */
static void put_outline(hn_page *p, const spread *s, const hn_axis *x, size_t i, size_t end) {
    hn_page_print(p, "<path class=\"c%d\" d=\"M%.0f %d", is_inside(s, i) ? 1 : 2,
                  hn_axis_at(x, s->from + (double)i * s->step), SPREAD_HEIGHT);
    for (; i < end; i++)
        hn_page_print(p, "V%.0fH%.0f",
                      SPREAD_HEIGHT - (SPREAD_HEIGHT - 4) * log1p(s->bars[i]) / log1p(s->most),
                      hn_axis_at(x, s->from + (double)(i + 1) * s->step));
    hn_page_print(p, "V%dz\"/>", SPREAD_HEIGHT);
}

static void put_spread(hn_page *p, const range *v) {
    char a[HN_SHOWN], b[HN_SHOWN];
    spread s;
    if (!read_spread(v, &s)) return;
    hn_axis x = {1, 0, false, 0, SPREAD_WIDTH};
    hn_axis_see(&x, s.from);
    hn_axis_see(&x, s.from + (double)s.n * s.step);
    hn_axis_see(&x, s.low);
    hn_axis_see(&x, s.high);
    if (!(x.lo < x.hi)) return;
    hn_page_put(p, "\n<figure><figcaption><b>");
    hn_page_text(p, v->name);
    hn_page_put(p, "</b>");
    hn_page_text(p, v->type);
    hn_page_print(p, ", %s to %s", hn_show(s.low, HN_UNIT_PLAIN, a),
                  hn_show(s.high, HN_UNIT_PLAIN, b));
    if (v->clipped >= 0 && v->clipped <= 1) hn_page_print(p, "; %.2g %% clipped", 100 * v->clipped);
    if (v->zeros > 0) hn_page_print(p, ", %s are 0", hn_show(v->zeros, HN_UNIT_SHARE, a));
    hn_page_print(p, "</figcaption><svg viewBox=\"0 0 %d %d\" aria-hidden=\"true\">", SPREAD_WIDTH,
                  SPREAD_HEIGHT + 4);
    for (size_t i = 0, end; i < s.n; i = end) {
        for (end = i + 1; end < s.n && is_inside(&s, end) == is_inside(&s, i);) end++;
        put_outline(p, &s, &x, i, end);
    }
    hn_page_print(p, "<path class=\"base\" d=\"M0 %dH%d\"/>", SPREAD_HEIGHT, SPREAD_WIDTH);
    hn_page_print(p, "<path class=\"end\" d=\"M%.0f 0V%dM%.0f 0V%d\"/></svg>",
                  hn_axis_at(&x, s.low), SPREAD_HEIGHT, hn_axis_at(&x, s.high), SPREAD_HEIGHT);
    hn_page_print(p, "<div class=\"ends\"><span>%s</span>", hn_show(x.lo, HN_UNIT_PLAIN, a));
    hn_page_print(p, "<span>%s</span></div></figure>", hn_show(x.hi, HN_UNIT_PLAIN, a));
}

typedef struct noisy {
    double db;
    const range *of;
    size_t at;
} noisy;

static int by_noise(const void *a, const void *b) {
    const noisy *x = a, *y = b;
    if (x->db != y->db) return x->db < y->db ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_ranges(hn_page *p, const noisy *v, size_t n) {
    static const char *const heads[] = {"value",      "type",      "=from",      "=to",
                                        "=least",     "=greatest", "=clipped %", "=own dB",
                                        "=in all dB", NULL};
    hn_table_begin(p, "All ranges", heads);
    for (size_t i = 0; i < n; i++) {
        const range *of = v[i].of;
        hn_table_row(p);
        hn_table_text(p, of->name);
        hn_table_text(p, of->type);
        hn_table_shown(p, of->low, HN_UNIT_PLAIN);
        hn_table_shown(p, of->high, HN_UNIT_PLAIN);
        hn_table_shown(p, of->least, HN_UNIT_PLAIN);
        hn_table_shown(p, of->greatest, HN_UNIT_PLAIN);
        hn_table_number(p, 100 * of->clipped, 4);
        hn_table_number(p, of->isolated_sqnr_db, 1);
        hn_table_number(p, of->sqnr_db, 1);
    }
    hn_table_end(p, "All ranges");
}

/* The noisiest first: what is wrong is there. */
static void put_values(hn_page *p, const made *o) {
    enum { MOST = 1000, OPEN = 12 };
    noisy v[MOST];
    size_t n = o->values.n < MOST ? o->values.n : MOST, drawn = 0, shown = 0;
    spread s;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) {
        const range *of = &o->values.at[i];
        double db = of->isolated_sqnr_db;
        v[i] = (noisy){isnan(db) ? INFINITY : db, of, i};
        drawn += read_spread(of, &s);
    }
    qsort(v, n, sizeof *v, by_noise);
    hn_section_begin(p, "Ranges of activations");
    hn_page_put(p, drawn > 0
                       ? "<p class=\"note\">How often values other than 0 occur over the samples, "
                         "on a logarithmic scale; dashed: the range that has codes; orange: "
                         "clipped. What adds most noise comes first.</p><div class=\"spreads\">"
                       : "<p class=\"note\">How values are spread is not known: ranges of a table "
                         "say nothing of it, and not every method looks at it.</p>");
    for (size_t i = 0; i < n && drawn > 0; i++) {
        if (!read_spread(v[i].of, &s)) continue;
        if (shown++ == OPEN)
            hn_page_print(p, "</div><details><summary>%zu more</summary><div class=\"spreads\">",
                          drawn - OPEN);
        put_spread(p, v[i].of);
    }
    if (drawn > 0) hn_page_put(p, drawn > OPEN ? "</div></details>" : "</div>");
    put_ranges(p, v, n);
    hn_section_end(p);
}

/* ---- what stayed in floats ---- */

static bool stayed_for(const layer *l, const char *why) {
    return l->why_not != NULL && strcmp(l->why_not, why) == 0;
}

static bool said_before(const made *o, size_t i, const char *why) {
    for (size_t k = 0; k < i; k++)
        if (stayed_for(&o->layers.at[k], why)) return true;
    return false;
}

static void put_reason(hn_page *p, const made *o, size_t from, const char *why) {
    size_t n = 0;
    hn_table_row(p);
    hn_table_text(p, why);
    hn_page_put(p, "<small>");
    for (size_t i = from; i < o->layers.n; i++) {
        const layer *l = &o->layers.at[i];
        if (!stayed_for(l, why)) continue;
        if (n++ >= MOST_NAMED) continue;
        if (n > 1) hn_page_put(p, ", ");
        hn_page_text(p, l->node);
        hn_page_put(p, " (");
        hn_page_text(p, l->op);
        hn_page_put(p, ")");
    }
    if (n > MOST_NAMED) hn_page_print(p, " and %zu more", n - MOST_NAMED);
    hn_page_put(p, "</small>");
    hn_table_number(p, (double)n, 0);
}

static void put_left(hn_page *p, const made *o) {
    static const char *const heads[] = {"because", "=nodes", NULL};
    size_t n = o->layers.n < MOST_REASONS ? o->layers.n : MOST_REASONS;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const char *why = o->layers.at[i].why_not;
        if (why == NULL || said_before(o, i, why)) continue;
        if (!any) {
            hn_section_begin(p, "What stayed in floats");
            hn_table_begin(p, NULL, heads);
        }
        any = true;
        put_reason(p, o, i, why);
    }
    if (!any) return;
    hn_table_end(p, NULL);
    hn_section_end(p);
}

/* ---- types that were chosen by measuring ---- */

static void draw_points(hn_page *p, const made *o) {
    enum { MOST = 2000 };
    size_t n = o->points.n < MOST ? o->points.n : MOST;
    hn_axis x = {1, 0, false, 64, 704}, y = {1, 0, true, 300, 34};
    char a[HN_SHOWN], b[HN_SHOWN];
    if (n < 2) return;
    for (size_t i = 0; i < n; i++) {
        hn_axis_see(&x, o->points.at[i].bits_per_weight);
        hn_axis_see(&y, o->points.at[i].noise);
    }
    hn_axis_round(&x);
    hn_axis_round(&y);
    hn_section_begin(p, "Types that were chosen by measuring");
    hn_plot_begin(p, "Bits and noise",
                  "Each mark is a set of types, a layer apart from the one before: further left is "
                  "smaller, further down does less harm at the outputs.",
                  352);
    hn_plot_axes(p, &x, &y, "bits per weight", "noise by signal");
    for (size_t i = 0; i < n; i++) {
        const hn_doc_point *point = &o->points.at[i];
        double bits = point->bits_per_weight, noise = point->noise;
        bool chosen = point->chosen == 1;
        if (!isfinite(bits) || !isfinite(noise)) continue;
        double at_x = hn_axis_at(&x, bits), at_y = hn_axis_at(&y, noise);
        hn_mark_point(p, chosen ? "c2" : "c1 p", chosen ? 2 : 0, at_x, at_y, chosen ? 7 : 3.5);
        hn_page_print(p, "%s bits, noise %s", hn_show(bits, HN_UNIT_PLAIN, a),
                      hn_show(noise, HN_UNIT_PLAIN, b));
        if (point->layer != NULL) {
            hn_page_put(p, ": ");
            hn_page_text(p, point->layer);
            hn_page_put(p, " to ");
            hn_page_text(p, point->type);
        }
        hn_mark_end(p);
        if (chosen)
            hn_page_print(
                p, "<text class=\"%s strong\" x=\"%.1f\" y=\"%.1f\" dy=\"-.9em\">chosen</text>",
                at_x > 600 ? "e" : "m", at_x, at_y);
    }
    hn_plot_end(p);
    hn_table_of(p, "Data", o->points.json);
    hn_figure_end(p);
    hn_section_end(p);
}

/* ---- where it comes from ---- */

static void put_fact(hn_page *p, const char *name, const char *value) {
    if (value == NULL) return;
    hn_page_print(p, "\n<tr><th scope=\"row\">%s</th>", name);
    hn_table_text(p, value);
}

static void put_lineage(hn_page *p, const made *o) {
    hn_section_begin(p, "Where it comes from");
    hn_page_put(p, "<div class=\"scroll\" tabindex=\"0\"><table class=\"facts long\"><tbody>");
    put_fact(p, "made of", o->model);
    put_fact(p, "its SHA-256", o->source);
    put_fact(p, "samples' SHA-256", o->data);
    put_fact(p, "recipe", o->recipe);
    put_fact(p, "written to", o->output);
    hn_page_put(p,
                "</tbody></table></div><p class=\"note\">The file's metadata says the same; "
                "<code>hone inspect</code> shows it. The same model, samples and options give "
                "the same bytes.</p>");
    hn_section_end(p);
}

void hn_report_quantize(hn_page *p, const hn_document *d) {
    const made *o = d->quantize;
    hn_section_begin(p, "What became of it");
    hn_page_of(p, o->output);
    put_totals(p, o);
    draw_layers(p, o);
    put_layers(p, o);
    hn_section_end(p);
    put_values(p, o);
    put_left(p, o);
    draw_points(p, o);
    put_lineage(p, o);
}

#endif

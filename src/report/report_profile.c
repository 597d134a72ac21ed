/* What a profile shows: the steps under the roofline, their time, memory over time, start-up. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Points and rows of a plot; more are unreadable, and would make the page slow. */
enum { MOST_POINTS = 4000, MOST_BARS = 20, MOST_BINS = 360, MOST_ROOFS = 8 };

typedef hn_doc_step step;

typedef struct profile {
    step *steps;    /* in the order they run */
    step **longest; /* longest first */
    size_t n;
    double ms, threads;
    const hn_doc_limits *limits; /* of the machine; NULL: not known */
} profile;

static const struct {
    const char *name, *look;
    int shape;
    const char *text;
} bounds[] = {
    {"compute", "c1", 0, "limited by arithmetic"},
    {"memory", "c2", 1, "limited by memory"},
    {"overhead", "c4", 2, "limited by overhead"},
    {"", "c0", 0, "not known"},
};
enum { N_BOUNDS = sizeof bounds / sizeof *bounds };

static int bound_of(const step *s) {
    int i = 0;
    while (i < N_BOUNDS - 1 && (s->bound == NULL || strcmp(s->bound, bounds[i].name) != 0)) i++;
    return i;
}

/* What the colours of those that are seen mean; of points their shapes too. */
static void put_bounds(hn_page *p, const bool *seen, bool shapes) {
    hn_legend_begin(p);
    for (int i = 0; i < N_BOUNDS; i++)
        if (seen[i]) hn_legend(p, bounds[i].look, shapes ? bounds[i].shape : 1, bounds[i].text);
    hn_legend_end(p);
}

/* Longest first; equal ones in the order they run. */
static int by_ms(const void *a, const void *b) {
    const step *x = *(step *const *)a, *y = *(step *const *)b;
    if (x->ms != y->ms) return x->ms < y->ms ? 1 : -1;
    return (x > y) - (x < y);
}

static double positive(double v) { return isfinite(v) && v > 0 ? v : 0; }

/* What is missing in documents of versions that did not work it out, or did not tell. */
static void complete(step *s) {
    s->ms = positive(s->ms);
    if (!isfinite(s->intensity) && s->bytes > 0) s->intensity = s->flops / s->bytes;
    if (!isfinite(s->gflops) && s->ms > 0) s->gflops = s->flops / s->ms / 1e6;
    if (!isfinite(s->gb_s) && s->ms > 0) s->gb_s = s->bytes / s->ms / 1e6;
    if (s->node == NULL || s->node[0] == '\0') s->node = s->op != NULL ? s->op : "?";
}

/* False where there are no steps, or memory is out; free the list. */
static bool read_profile(hn_page *p, const hn_document *d, profile *f) {
    const hn_doc_profile *o = d->profile;
    *f = (profile){.n = o->steps.n, .steps = o->steps.at, .threads = o->threads};
    if (o->machine.given) f->limits = &o->machine.limits;
    for (size_t i = 0; i < p->n_documents && f->limits == NULL; i++)
        if (p->documents[i].machine != NULL) f->limits = &p->documents[i].machine->limits;
    if (f->n == 0 || p->status != HONE_OK) return false;
    f->longest = hn_alloc_array(p->alloc, f->n, sizeof *f->longest, HN_MEM_OTHER);
    if (f->longest == NULL) {
        p->status = HN_NOMEM(p->err);
        return false;
    }
    for (size_t i = 0; i < f->n; i++) {
        complete(&f->steps[i]);
        f->ms += f->steps[i].ms;
        f->longest[i] = &f->steps[i];
    }
    qsort(f->longest, f->n, sizeof *f->longest, by_ms);
    return true;
}

static void forget(hn_page *p, profile *f) { hn_free(p->alloc, f->longest); }

static double share(double part, double whole) { return whole > 0 ? part / whole : NAN; }

/* ---- the roofline ---- */

typedef struct roof {
    const char *name;
    double rate, threads;
} roof;

static roof peak_at(const hn_doc_limits *l, size_t i) {
    const hn_doc_peak *k = &l->peaks.at[i];
    return (roof){k->precision, k->gops, k->threads};
}

static roof slope_at(const hn_doc_limits *l, size_t i) {
    const hn_doc_bandwidth *k = &l->bandwidths.at[i];
    return (roof){k->level, k->read_gb_s, k->threads};
}

/* The best rate of each name among n limits, at the profile's threads where they were measured. */
static size_t read_roofs(const profile *f, size_t n_limits,
                         roof (*at)(const hn_doc_limits *l, size_t i), roof *out) {
    size_t n = 0;
    double best = 0; /* threads that come nearest */
    for (size_t i = 0; i < n_limits; i++) {
        double t = at(f->limits, i).threads;
        if (t > best && (!(f->threads > 0) || t <= f->threads)) best = t;
    }
    for (size_t i = 0; i < n_limits; i++) {
        roof r = at(f->limits, i);
        if (r.name == NULL || !(r.rate > 0) || r.rate > 1e30) continue;
        if (best > 0 && r.threads != best) continue;
        size_t k = 0;
        while (k < n && strcmp(out[k].name, r.name) != 0) k++;
        if (k == MOST_ROOFS) continue;
        if (k == n) out[n++] = r;
        if (r.rate > out[k].rate) out[k] = r;
    }
    return n;
}

static void draw_roofs(hn_page *p, const hn_axis *x, const hn_axis *y, const roof *peaks,
                       size_t n_peaks, const roof *slopes, size_t n_slopes) {
    char buf[HN_SHOWN];
    double top = 0, fastest = 0;
    for (size_t i = 0; i < n_peaks; i++) top = fmax(top, peaks[i].rate);
    for (size_t i = 0; i < n_slopes; i++) fastest = fmax(fastest, slopes[i].rate);
    if (top == 0) top = y->hi;
    hn_page_put(p, "<g class=\"roofs\">");
    for (size_t i = 0; i < n_peaks; i++) {
        double from = fastest > 0 ? fmax(peaks[i].rate / fastest, x->lo) : x->lo;
        double at = hn_axis_at(y, peaks[i].rate);
        hn_page_print(p, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                      hn_axis_at(x, from), x->to, at, at);
        hn_page_print(p, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">", x->to, at - 5);
        hn_page_text(p, peaks[i].name);
        hn_page_print(p, "<tspan class=\"wide\"> %s GOP/s</tspan></text>",
                      hn_show(peaks[i].rate, HN_UNIT_PLAIN, buf));
    }
    double across = (x->to - x->from) / log(x->hi / x->lo);
    double up = (y->from - y->to) / log(y->hi / y->lo);
    double angle = -atan2(up, across) * 180 / 3.14159265358979;
    for (size_t i = 0; i < n_slopes; i++) {
        double rate = slopes[i].rate, from = fmax(x->lo, y->lo / rate),
               to = fmin(top / rate, x->hi);
        if (!(to > from)) continue;
        hn_page_print(p, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
                      hn_axis_at(x, from), hn_axis_at(y, from * rate), hn_axis_at(x, to),
                      hn_axis_at(y, to * rate));
        double at = from * pow(to / from, 0.04);
        hn_page_print(p,
                      "<text class=\"wide\" transform=\"translate(%.1f %.1f) rotate(%.1f)\" "
                      "dy=\"-5\">",
                      hn_axis_at(x, at), hn_axis_at(y, at * rate), angle);
        hn_page_text(p, slopes[i].name);
        hn_page_print(p, " %s GB/s</text>", hn_show(rate, HN_UNIT_PLAIN, buf));
    }
    hn_page_put(p, "</g>");
}

/* A step without arithmetic is drawn at the left edge, as high as its bandwidth reaches there. */
static void place(const step *s, const hn_axis *x, double *intensity, double *gflops) {
    bool moves = !(s->flops > 0);
    *intensity = moves ? x->lo : s->intensity;
    *gflops = moves ? positive(s->gb_s) * x->lo : s->gflops;
}

static void put_point_title(hn_page *p, const step *s, double ms) {
    char a[HN_SHOWN], b[HN_SHOWN], c[HN_SHOWN];
    hn_page_text(p, s->node);
    hn_page_put(p, " (");
    hn_page_text(p, s->op);
    hn_page_print(p, "): %s, %s of the run; %s GOP/s, ", hn_show(s->ms, HN_UNIT_MS, a),
                  hn_show(share(s->ms, ms), HN_UNIT_SHARE, b),
                  hn_show(s->gflops, HN_UNIT_PLAIN, c));
    hn_page_print(p, "%s GB/s", hn_show(s->gb_s, HN_UNIT_PLAIN, a));
    if (isfinite(s->roof_ms) && s->ms > 0)
        hn_page_print(p, "; %s of the roofline", hn_show(s->roof_ms / s->ms, HN_UNIT_SHARE, a));
}

static void roofline_table(hn_page *p, const profile *f, size_t shown) {
    static const char *const heads[] = {"step",     "operators", "bound by",   "=ms",
                                        "=FLOP/B",  "=GOP/s",    "=GB/s",      "=of roof",
                                        "=lost ms", "kernel",    "what to do", NULL};
    char fold[96];
    snprintf(fold, sizeof fold, shown < f->n ? "The %zu longest of %zu steps" : "All %zu steps",
             shown, f->n);
    hn_table_begin(p, fold, heads);
    for (size_t i = 0; i < shown; i++) {
        const step *s = f->longest[i];
        hn_table_row(p);
        hn_table_text(p, s->node);
        hn_table_text(p, s->op);
        hn_table_text(p, s->bound);
        hn_table_number(p, s->ms, 4);
        hn_table_number(p, s->intensity, 2);
        hn_table_number(p, s->gflops, 1);
        hn_table_number(p, s->gb_s, 1);
        hn_table_shown(p, share(s->roof_ms, s->ms), HN_UNIT_SHARE);
        hn_table_number(p, s->lost_ms, 4);
        hn_table_text(p, s->kernel);
        hn_table_text(p, s->advice);
    }
    hn_table_end(p, fold);
}

static void draw_roofline(hn_page *p, const profile *f) {
    roof peaks[MOST_ROOFS], slopes[MOST_ROOFS];
    const hn_doc_limits *l = f->limits;
    size_t n_peaks = l != NULL ? read_roofs(f, l->peaks.n, peak_at, peaks) : 0;
    size_t n_slopes = l != NULL ? read_roofs(f, l->bandwidths.n, slope_at, slopes) : 0;
    size_t n = f->n < MOST_POINTS ? f->n : MOST_POINTS;
    bool seen[N_BOUNDS] = {0};
    hn_axis x = {1, 0, true, 64, 712}, y = {1, 0, true, 400, 34};
    for (size_t i = 0; i < n; i++) {
        hn_axis_see(&x, f->longest[i]->flops > 0 ? f->longest[i]->intensity : NAN);
        hn_axis_see(&y, f->longest[i]->flops > 0 ? f->longest[i]->gflops : NAN);
    }
    for (size_t i = 0; i < n_peaks; i++) {
        hn_axis_see(&y, peaks[i].rate * 1.6);
        for (size_t k = 0; k < n_slopes; k++) hn_axis_see(&x, peaks[i].rate / slopes[k].rate * 1.5);
    }
    hn_axis_see(&x, 0.1);
    if (y.hi > 0 && y.lo < y.hi / 1e5) y.lo = y.hi / 1e5;
    hn_axis_round(&x);
    hn_axis_round(&y);
    hn_plot_begin(p, "Every step under the roofline",
                  "Each mark is a step of the run: to the right with more arithmetic per byte, "
                  "higher with more arithmetic per second, larger with more of the time. Lines are "
                  "the measured limits of this machine.",
                  450);
    hn_plot_axes(p, &x, &y, "arithmetic per byte, FLOP/B", "GOP/s");
    draw_roofs(p, &x, &y, peaks, n_peaks, slopes, n_slopes);
    for (size_t i = 0; i < n; i++) { /* the largest first, so that none is hidden */
        const step *s = f->longest[i];
        int b = bound_of(s);
        double intensity, gflops, largest = f->longest[0]->ms;
        char look[16];
        place(s, &x, &intensity, &gflops);
        snprintf(look, sizeof look, "%s%s", bounds[b].look, s->flops > 0 ? " p" : " p hollow");
        hn_mark_point(p, look, bounds[b].shape, hn_axis_at(&x, intensity), hn_axis_at(&y, gflops),
                      3 + 12 * sqrt(largest > 0 ? s->ms / largest : 0));
        put_point_title(p, s, f->ms);
        hn_mark_end(p);
        seen[b] = true;
    }
    hn_plot_end(p);
    put_bounds(p, seen, true);
    hn_page_put(p,
                "<p class=\"note\">Area stands for time. Hollow marks at the left edge move data "
                "without arithmetic.</p>");
    roofline_table(p, f, f->n < HN_MOST_ROWS ? f->n : HN_MOST_ROWS);
    hn_figure_end(p);
}

/* ---- time per layer, memory, start-up ---- */

static void draw_layers(hn_page *p, const profile *f) {
    hn_bar bars[MOST_BARS];
    size_t n = f->n < MOST_BARS ? f->n : MOST_BARS;
    bool seen[N_BOUNDS] = {false};
    char title[64];
    for (size_t i = 0; i < n; i++) {
        const step *s = f->longest[i];
        seen[bound_of(s)] = true;
        bars[i] = (hn_bar){.label = s->node,
                           .note = s->op,
                           .look = bounds[bound_of(s)].look,
                           .value = s->ms,
                           .unit = HN_UNIT_MS,
                           .share = share(s->ms, f->ms)};
    }
    snprintf(title, sizeof title, n < f->n ? "The %zu longest of %zu steps" : "The %zu steps", n,
             f->n);
    hn_page_bars(p, title, "The steps that take longest, with their share of the run.", bars, n);
    put_bounds(p, seen, false);
    hn_page_bars_end(p, bars, n);
}

static const char *op_of(const step *s) { return s->op != NULL ? s->op : "?"; }

static int by_op(const void *a, const void *b) {
    const step *x = *(step *const *)a, *y = *(step *const *)b;
    int order = strcmp(op_of(x), op_of(y));
    return order != 0 ? order : (x > y) - (x < y);
}

static int longer_bar(const void *a, const void *b) {
    const hn_bar *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return strcmp(x->label, y->label);
}

/* Time by kind of step; the table of longest steps is used up. */
static void draw_kinds(hn_page *p, profile *f) {
    hn_bar *bars = hn_alloc_array(p->alloc, f->n, sizeof *bars, HN_MEM_OTHER);
    size_t n = 0;
    if (bars == NULL) {
        p->status = HN_NOMEM(p->err);
        return;
    }
    qsort(f->longest, f->n, sizeof *f->longest, by_op);
    for (size_t i = 0; i < f->n; i++) {
        const char *op = op_of(f->longest[i]);
        if (n == 0 || strcmp(bars[n - 1].label, op) != 0)
            bars[n++] = (hn_bar){.label = op, .look = "c1", .unit = HN_UNIT_MS};
        bars[n - 1].value += f->longest[i]->ms;
    }
    qsort(bars, n, sizeof *bars, longer_bar);
    if (n > MOST_BARS) n = MOST_BARS;
    for (size_t i = 0; i < n; i++) bars[i].share = share(bars[i].value, f->ms);
    if (n > 1) {
        hn_page_bars(p, "Time by kind of step",
                     "The time of steps that compute the same operators.", bars, n);
        hn_page_bars_end(p, bars, n);
    }
    hn_free(p->alloc, bars);
}

static void draw_memory(hn_page *p, const profile *f) {
    static const char *const heads[] = {"step", "=from ms", "=live", NULL};
    hn_axis x = {0, f->ms, false, 64, 712}, y = {0, 0, false, 260, 34};
    size_t n = f->n < MOST_BINS ? f->n : MOST_BINS, most = 0;
    char buf[HN_SHOWN];
    for (size_t i = 0; i < f->n; i++) {
        if (f->steps[i].live_bytes > f->steps[most].live_bytes || !(f->steps[most].live_bytes >= 0))
            most = i;
        hn_axis_see(&y, f->steps[i].live_bytes / 1e6);
    }
    if (!(y.hi > 0) || !(f->ms > 0)) return;
    y.lo = 0;
    hn_axis_round(&y);
    hn_axis_round(&x);
    x.hi = f->ms;
    hn_plot_begin(p, "Memory over one run", "Memory of activations that is in use at each step.",
                  310);
    hn_plot_axes(p, &x, &y, "time, ms", "MB in use");
    double t = 0;
    for (size_t i = 0, k = 0; i < n; i++) { /* each bin is the largest of its steps */
        const step *top = &f->steps[k];
        double begun = t;
        for (size_t end = (i + 1) * f->n / n; k < end; k++) {
            if (f->steps[k].live_bytes > top->live_bytes) top = &f->steps[k];
            t += f->steps[k].ms;
        }
        double from = hn_axis_at(&x, begun), at = hn_axis_at(&y, positive(top->live_bytes) / 1e6);
        hn_mark_rect(p, "c3 solid", from, at, fmax(hn_axis_at(&x, t) - from, 0.5), y.from - at);
        hn_page_text(p, top->node);
        hn_page_print(p, ": %s", hn_show(top->live_bytes, HN_UNIT_BYTES, buf));
        hn_mark_end(p);
    }
    hn_plot_end(p);
    hn_page_print(p, "<p class=\"note\">The most is %s, at step ",
                  hn_show(f->steps[most].live_bytes, HN_UNIT_BYTES, buf));
    hn_page_text(p, f->steps[most].node);
    hn_page_put(p, ".</p>");
    hn_table_begin(p, "Data", heads);
    t = 0;
    for (size_t i = 0; i < f->n && i < HN_MOST_ROWS; i++) {
        hn_table_row(p);
        hn_table_text(p, f->steps[i].node);
        hn_table_number(p, t, 3);
        hn_table_shown(p, f->steps[i].live_bytes, HN_UNIT_BYTES);
        t += f->steps[i].ms;
    }
    hn_table_end(p, "Data");
    hn_figure_end(p);
}

static void draw_startup(hn_page *p, const hn_doc_startup *s) {
    const struct {
        double ms;
        const char *text;
    } parts[] = {
        {s->read_ms, "read the file"},   {s->parse_ms, "parse it"},
        {s->passes_ms, "simplify"},      {s->compile_ms, "choose kernels and plan"},
        {s->tune_ms, "measure kernels"}, {s->pack_ms, "pack weights"},
        {s->first_run_ms, "first run"},
    };
    enum { N = sizeof parts / sizeof *parts };
    hn_bar bars[N];
    size_t n = 0;
    double sum = 0;
    for (int i = 0; i < N; i++) {
        if (!(parts[i].ms > 0)) continue;
        bars[n++] = (hn_bar){parts[i].text, "", "c3", parts[i].ms, HN_UNIT_MS, 0};
        sum += parts[i].ms;
    }
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) bars[i].share = share(bars[i].value, sum);
    hn_page_bars(p, "Start-up", "What happens before the second run.", bars, n);
    hn_page_bars_end(p, bars, n);
}

/* ---- words ---- */

static void put_verdicts(hn_page *p, const hn_doc_profile *o) {
    if (o->verdicts.n == 0) return;
    hn_page_put(p, "<dl class=\"verdicts\">");
    for (size_t i = 0; i < o->verdicts.n; i++) {
        const hn_doc_verdict *v = &o->verdicts.at[i];
        hn_page_put(p, "<dt>");
        hn_page_text(p, v->question);
        hn_page_put(p, "</dt><dd>");
        hn_page_text(p, v->answer);
        hn_page_put(p, " <span class=\"q\">");
        hn_page_text(p, v->evidence);
        hn_page_put(p, "</span></dd>");
    }
    hn_page_put(p, "</dl>");
}

void hn_report_say_profile(hn_page *p, const hn_document *d) {
    char a[HN_SHOWN];
    profile f;
    if (read_profile(p, d, &f) && f.ms > 0) {
        double of[N_BOUNDS] = {0}, roof_ms = 0, lost = 0;
        const step *worst = NULL;
        for (size_t i = 0; i < f.n; i++) {
            const step *s = f.longest[i];
            of[bound_of(s)] += s->ms;
            roof_ms += positive(s->roof_ms);
            if (s->lost_ms > lost) lost = s->lost_ms, worst = s;
        }
        hn_page_put(p, "<li>The longest of ");
        hn_page_print(p, "%zu steps, <b>", f.n);
        hn_page_text(p, f.longest[0]->node);
        hn_page_print(p, "</b>, takes %s of the run",
                      hn_show(f.longest[0]->ms / f.ms, HN_UNIT_SHARE, a));
        if (of[N_BOUNDS - 1] < f.ms / 2) {
            hn_page_print(p, "; %s of the time is limited by arithmetic",
                          hn_show(of[0] / f.ms, HN_UNIT_SHARE, a));
            hn_page_print(p, ", %s by memory", hn_show(of[1] / f.ms, HN_UNIT_SHARE, a));
            hn_page_print(p, ", %s by overhead", hn_show(of[2] / f.ms, HN_UNIT_SHARE, a));
        }
        hn_page_put(p, ".</li>");
        if (roof_ms > 0)
            hn_page_print(
                p, "<li>All steps together reach <b>%s</b> of what the roofline allows.</li>",
                hn_show(roof_ms / f.ms, HN_UNIT_SHARE, a));
        if (worst != NULL) {
            hn_page_put(p, "<li>Most is to be gained at <b>");
            hn_page_text(p, worst->node);
            hn_page_print(p, "</b>: %s above its roofline.</li>", hn_show(lost, HN_UNIT_MS, a));
        }
    }
    forget(p, &f);
}

void hn_report_profile(hn_page *p, const hn_document *d) {
    profile f;
    bool any = read_profile(p, d, &f);
    hn_section_begin(p, "Where the time goes");
    hn_page_of(p, d->profile->model);
    put_verdicts(p, d->profile);
    if (any) {
        draw_layers(p, &f);
        draw_roofline(p, &f);
        draw_kinds(p, &f);
        draw_memory(p, &f);
    } else {
        hn_page_put(p, "<p>No step was timed.</p>");
    }
    draw_startup(p, &d->profile->startup);
    hn_section_end(p);
    forget(p, &f);
}

#endif

/* Plots of a report, as SVG: axes, marks, legends, bars.
 *
 * A plot is HN_PLOT_WIDTH units wide and scales with the page. Letters would shrink with it, so the
 * style makes them larger, in units, on narrow screens; what is marked `wide` is left out there. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- axes ---- */

void hn_axis_see(hn_axis *a, double v) {
    if (!isfinite(v) || fabs(v) > 1e100 || (a->log && v < 1e-100)) return;
    bool empty = !(a->lo <= a->hi);
    if (empty || v < a->lo) a->lo = v;
    if (empty || v > a->hi) a->hi = v;
}

/* 1, 2 or 5 times a power of ten, for about n steps over the range. */
static double step_of(double range, int n) {
    double power = pow(10, floor(log10(range / n))), rest = range / n / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

void hn_axis_round(hn_axis *a) {
    if (!(a->lo <= a->hi)) a->lo = a->log ? 1 : 0, a->hi = a->log ? 10 : 1;
    if (a->log) {
        if (a->hi / a->lo > 1e9) a->lo = a->hi / 1e9; /* what is below is drawn at the edge */
        double lo = pow(10, floor(log10(a->lo))), hi = pow(10, ceil(log10(a->hi) - 1e-9));
        a->lo = a->lo >= 5 * lo ? 5 * lo : a->lo >= 2 * lo ? 2 * lo : lo;
        a->hi = a->hi <= hi / 5 ? hi / 5 : a->hi <= hi / 2 ? hi / 2 : hi;
        if (a->hi <= a->lo) a->hi = 10 * a->lo;
        return;
    }
    double least = fmax(fabs(a->lo), fabs(a->hi)) * 1e-6;
    if (a->hi - a->lo <= least) {
        double more = a->hi != 0 ? fabs(a->hi) * 0.5 : 1;
        a->lo -= more;
        a->hi += more;
    }
    double step = step_of(a->hi - a->lo, 5);
    a->lo = floor(a->lo / step + 1e-9) * step;
    a->hi = ceil(a->hi / step - 1e-9) * step;
}

double hn_axis_at(const hn_axis *a, double v) {
    double share =
        a->log ? log(fmax(v, a->lo) / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);
    return a->from + (a->to - a->from) * (share > 0 ? share < 1 ? share : 1 : 0);
}

/* The value of tick i, or NaN behind the last one. */
static double tick(const hn_axis *a, int i) {
    static const double parts[] = {1, 2, 5};
    int n = a->hi / a->lo > 500 ? 1 : 3; /* per power of ten */
    double v, slack = 1e-9 * (a->log ? a->hi : a->hi - a->lo);
    if (a->log) {
        double first = floor(log10(a->lo) + 1e-9);
        for (int k = 0;; k++) {
            v = pow(10, first + k / n) * parts[k % n];
            if (v >= a->lo * (1 - 1e-9) && i-- == 0) break;
        }
    } else {
        double step = step_of(a->hi - a->lo, 5);
        v = (ceil(a->lo / step - 1e-9) + i) * step;
    }
    return v <= a->hi + slack ? v : NAN;
}

static const char *tick_text(double v, char buf[HN_SHOWN]) {
    if (fabs(v) >= 1e4) return hn_show(v, HN_UNIT_COUNT, buf);
    snprintf(buf, HN_SHOWN, "%.6g", v);
    return buf;
}

static void draw_ticks(hn_page *p, const hn_axis *a, const hn_axis *x, const hn_axis *y) {
    char buf[HN_SHOWN];
    double v;
    for (int i = 0; i < 40 && isfinite(v = tick(a, i)); i++) {
        double at = hn_axis_at(a, v), left = a == x ? at : x->from, top = a == x ? y->from : at;
        hn_page_print(p, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", left,
                      a == x ? at : x->to, top, a == x ? top + 5 : at);
        hn_page_print(p, "<text class=\"%s%s\" x=\"%.1f\" y=\"%.1f\" dy=\"%s\">%s</text>",
                      a == x ? "m" : "e", i % 2 ? " wide" : "", a == x ? at : left - 8,
                      a == x ? top + 6 : at, a == x ? "1.2em" : ".35em", tick_text(v, buf));
    }
}

void hn_plot_axes(hn_page *p, const hn_axis *x, const hn_axis *y, const char *x_title,
                  const char *y_title) {
    hn_page_put(p, "<g class=\"axes\">");
    if (y_title != NULL) {
        draw_ticks(p, y, x, y);
        hn_page_put(p, "<text class=\"t\" x=\"0\" y=\"16\">");
        hn_page_text(p, y_title);
        hn_page_put(p, "</text>");
    }
    draw_ticks(p, x, x, y);
    hn_page_print(p, "<text class=\"t e\" x=\"%.1f\" y=\"%.1f\" dy=\"2.6em\">", x->to, y->from + 6);
    hn_page_text(p, x_title);
    hn_page_put(p, "</text></g>");
}

/* ---- frame ---- */

void hn_plot_begin(hn_page *p, const char *title, const char *shows, int height) {
    int n = ++p->n_plots;
    p->marks = 0;
    hn_page_put(p, "\n<figure class=\"plot\"><h3>");
    hn_page_text(p, title);
    hn_page_put(p, "</h3><p class=\"note\" aria-hidden=\"true\">");
    hn_page_text(p, shows);
    hn_page_print(p,
                  "</p><svg viewBox=\"0 0 %d %d\" role=\"img\" tabindex=\"0\" "
                  "aria-labelledby=\"t%d d%d\"><title id=\"t%d\">",
                  HN_PLOT_WIDTH, height, n, n, n);
    hn_page_text(p, title);
    hn_page_print(p, "</title><desc id=\"d%d\">", n);
    hn_page_text(p, shows);
    hn_page_put(p, "</desc>");
}

void hn_plot_end(hn_page *p) {
    hn_page_print(p, "<metadata data-marks=\"%zu\"></metadata></svg>", p->marks);
    hn_page_put(p, "<output aria-live=\"polite\"></output>");
}

void hn_figure_end(hn_page *p) { hn_page_put(p, "</figure>"); }

/* ---- marks ---- */

void hn_mark_rect(hn_page *p, const char *look, double x, double y, double width, double height) {
    p->marks++;
    p->mark = "rect";
    hn_page_print(p,
                  "<rect class=\"mark %s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">"
                  "<title>",
                  look, x, y, width, height);
}

static void put_shape(hn_page *p, const char *look, int shape, double x, double y, double r) {
    double s = shape == 1 ? r * 0.89 : r * 1.25; /* of the same area as the circle */
    if (shape == 0)
        hn_page_print(p, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", look, x, y, r);
    else if (shape == 1)
        hn_page_print(p, "<path class=\"%s\" d=\"M%.1f %.1fh%.1fv%.1fh-%.1fz\">", look, x - s,
                      y - s, 2 * s, 2 * s, 2 * s);
    else
        hn_page_print(p, "<path class=\"%s\" d=\"M%.1f %.1fl%.1f %.1fl-%.1f %.1fl-%.1f -%.1fz\">",
                      look, x, y - s, s, s, s, s, s, s);
}

void hn_mark_point(hn_page *p, const char *look, int shape, double x, double y, double r) {
    char class[40] = "mark ";
    strncat(class, look, sizeof class - 6);
    p->marks++;
    p->mark = shape == 0 ? "circle" : "path";
    put_shape(p, class, shape, x, y, r);
    hn_page_put(p, "<title>");
}

void hn_mark_end(hn_page *p) { hn_page_print(p, "</title></%s>", p->mark); }

/* ---- legend ---- */

void hn_legend_begin(hn_page *p) { hn_page_put(p, "<ul class=\"legend\">"); }

void hn_legend(hn_page *p, const char *look, int shape, const char *text) {
    hn_page_put(p, "<li><svg viewBox=\"-8 -8 16 16\" aria-hidden=\"true\">");
    put_shape(p, look, shape, 0, 0, 6);
    hn_page_put(p, shape == 0 ? "</circle></svg>" : "</path></svg>");
    hn_page_text(p, text);
    hn_page_put(p, "</li>");
}

void hn_legend_end(hn_page *p) { hn_page_put(p, "</ul>"); }

/* ---- bars ---- */

enum { MOST_LABEL = 32, MOST_NOTE = 36 };

/* What may be cut off the labels of bars: bytes that all begin with, and that all end with. */
typedef struct shared {
    size_t head, tail;
} shared;

static shared shared_of(const hn_bar *bars, size_t n) {
    const char *first = n > 0 && bars[0].label != NULL ? bars[0].label : "";
    size_t length = strlen(first);
    shared s = {length, n > 1 ? length : 0};
    for (size_t i = 1; i < n; i++) {
        const char *other = bars[i].label != NULL ? bars[i].label : "";
        size_t m = strlen(other), k = 0;
        while (k < s.head && first[k] == other[k]) k++;
        s.head = k;
        for (k = 0; k < s.tail && k < m && first[length - 1 - k] == other[m - 1 - k];) k++;
        s.tail = k;
    }
    return s;
}

/* Whether a letter of UTF-8 begins here. */
static bool begins_letter(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

static void put_first(hn_page *p, const char *text, size_t n) {
    char part[MOST_LABEL + MOST_NOTE];
    while (n > 0 && !begins_letter(text[n])) n--;
    snprintf(part, sizeof part, "%.*s", (int)n, text);
    hn_page_text(p, part);
}

static void put_last(hn_page *p, const char *text, size_t n) {
    text += strlen(text) - n;
    while (!begins_letter(*text)) text++;
    hn_page_text(p, text);
}

/* At most so many bytes of the text, less what the others have too. */
static void put_cut(hn_page *p, const char *text, size_t most, shared s) {
    size_t n = text != NULL ? strlen(text) : 0;
    if (n <= most) {
        hn_page_text(p, text);
        return;
    }
    size_t over = n - most + 1; /* the dots take one */
    bool by_end = s.tail > s.head;
    size_t first = over > (by_end ? s.tail : s.head) ? (most - 1) / 2 : by_end ? most - 1 : 0;
    put_first(p, text, first);
    hn_page_put(p, "\xe2\x80\xa6");
    put_last(p, text, most - 1 - first);
}

void hn_page_bars(hn_page *p, const char *title, const char *shows, const hn_bar *bars, size_t n) {
    enum { ROW = 46 };
    char buf[HN_SHOWN];
    double most = 0;
    shared common = shared_of(bars, n);
    for (size_t i = 0; i < n; i++)
        if (isfinite(bars[i].value)) most = fmax(most, bars[i].value);
    hn_plot_begin(p, title, shows, (int)n * ROW + 4);
    for (size_t i = 0; i < n; i++) {
        const hn_bar *b = &bars[i];
        double y = (double)i * ROW, width = most > 0 ? HN_PLOT_WIDTH * fmax(b->value, 0) / most : 0;
        hn_page_print(p, "<text x=\"0\" y=\"%.0f\">", y + 22);
        put_cut(p, b->label, MOST_LABEL, common);
        hn_page_put(p, "<tspan class=\"q wide\" dx=\"10\">");
        put_cut(p, b->note, MOST_NOTE, (shared){SIZE_MAX, 0}); /* the end of a name tells most */
        hn_page_put(p, "</tspan></text>");
        if (isfinite(b->share))
            hn_page_print(p, "<text class=\"e v q\" x=\"%d\" y=\"%.0f\">%s</text>",
                          HN_PLOT_WIDTH - 116, y + 22, hn_show(b->share, HN_UNIT_SHARE, buf));
        hn_page_print(p, "<text class=\"e v\" x=\"%d\" y=\"%.0f\">%s</text>", HN_PLOT_WIDTH, y + 22,
                      hn_show(b->value, b->unit, buf));
        hn_page_print(p, "<rect class=\"track\" y=\"%.0f\" width=\"%d\" height=\"8\"/>", y + 30,
                      HN_PLOT_WIDTH);
        hn_mark_rect(p, b->look, 0, y + 30, isfinite(width) ? fmax(width, 1) : 1, 8);
        hn_page_text(p, b->label);
        hn_page_print(p, ": %s", hn_show(b->value, b->unit, buf));
        hn_mark_end(p);
    }
    hn_plot_end(p);
}

void hn_page_bars_end(hn_page *p, const hn_bar *bars, size_t n) {
    static const char *const heads[] = {"name", "kind", "=value", "=share", NULL};
    static const char *const plain[] = {"name", "=value", NULL};
    bool shares = false;
    for (size_t i = 0; i < n; i++) shares |= isfinite(bars[i].share);
    hn_table_begin(p, "Data", shares ? heads : plain);
    for (size_t i = 0; i < n; i++) {
        hn_table_row(p);
        hn_table_text(p, bars[i].label);
        if (shares) hn_table_text(p, bars[i].note);
        hn_table_shown(p, bars[i].value, bars[i].unit);
        if (shares) hn_table_shown(p, bars[i].share, HN_UNIT_SHARE);
    }
    hn_table_end(p, "Data");
    hn_figure_end(p);
}

#endif

/* What an optimization shows: what came of it, every model that was tried with what people are told
 * to expect of it beside what it gave, how that was judged, and the recipe. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 64 };

typedef hn_doc_tried row;

typedef struct result {
    const hn_doc_optimize *o;
    const char *metric;
    bool is_share, lower_better;
    double max_drop;
    row *rows;
    size_t n;          /* that are shown */
    const row *chosen; /* NULL: the original stays */
} result;

static bool is_chosen(const row *x) { return strcmp(x->state, "chosen") == 0; }

static void read_result(const hn_doc_optimize *o, result *to) {
    *to = (result){.o = o,
                   .metric = o->metric != NULL ? o->metric : "accuracy",
                   .is_share = o->is_share == 1,
                   .lower_better = o->lower_better == 1,
                   .max_drop = o->max_drop,
                   .rows = o->rows.at,
                   .n = o->rows.n < MOST_ROWS ? o->rows.n : MOST_ROWS};
    for (size_t i = 0; i < to->n; i++) {
        row *x = &to->rows[i];
        if (x->name == NULL) x->name = "";
        if (x->state == NULL) x->state = "";
        if (is_chosen(x)) to->chosen = x;
    }
}

/* "91.73 %": what is chosen between may differ in the last digit. */
static const char *value_text(const result *r, double v, char buf[HN_SHOWN]) {
    if (!isfinite(v)) return hn_show(v, HN_UNIT_PLAIN, buf);
    if (r->is_share && fabs(v) < 1e6)
        snprintf(buf, HN_SHOWN, "%.2f %%", 100 * v);
    else
        snprintf(buf, HN_SHOWN, "%.4g", v);
    return buf;
}

static const char *times_text(double v, char buf[HN_SHOWN]) {
    snprintf(buf, HN_SHOWN, "%.2f\xc3\x97", v);
    return buf;
}

/* A speed, with a word before it where measurements disagree. */
static const char *speed_text(const row *x, char buf[HN_SHOWN]) {
    snprintf(buf, HN_SHOWN, "%s%.2f\xc3\x97", x->doubt > 0.05 ? "about " : "", x->speed);
    return buf;
}

static double times_smaller(const result *r, const row *x) {
    return r->n > 0 && x->file_bytes > 0 ? r->rows[0].file_bytes / x->file_bytes : NAN;
}

/* ---- what came of it ---- */

static void put_tile(hn_page *p, const char *figure, const char *what, const char *was,
                     const char *is) {
    hn_page_print(p, "<div><dd>%s</dd><dt>", figure);
    hn_page_text(p, what);
    hn_page_print(p, "<br>%s%s%s</dt></div>", was, was[0] != '\0' ? " \xe2\x86\x92 " : "", is);
}

static void put_tiles(hn_page *p, const result *r) {
    char a[HN_SHOWN], b[HN_SHOWN], c[HN_SHOWN];
    const row *was = &r->rows[0], *is = r->chosen != NULL ? r->chosen : was;
    bool changed = r->chosen != NULL;
    hn_page_put(p, "<dl class=\"tiles\">");
    if (isfinite(is->speed) && changed)
        put_tile(p, speed_text(is, a), "as fast", hn_show(was->ms, HN_UNIT_MS, b),
                 hn_show(is->ms, HN_UNIT_MS, c));
    else if (isfinite(is->ms))
        put_tile(p, hn_show(is->ms, HN_UNIT_MS, a), "a run of one sample", "", "");
    if (isfinite(times_smaller(r, is)) && changed)
        put_tile(p, times_text(times_smaller(r, is), a), "smaller",
                 hn_show(was->file_bytes, HN_UNIT_BYTES, b),
                 hn_show(is->file_bytes, HN_UNIT_BYTES, c));
    else if (isfinite(is->file_bytes))
        put_tile(p, hn_show(is->file_bytes, HN_UNIT_BYTES, a), "in the file", "", "");
    if (isfinite(is->value)) {
        const char *before = changed ? value_text(r, was->value, b) : "";
        put_tile(p, value_text(r, is->value, a), r->metric, before,
                 changed ? value_text(r, is->value, c) : "");
    }
    if (isfinite(is->memory_bytes)) {
        const char *before = changed ? hn_show(was->memory_bytes, HN_UNIT_BYTES, b) : "";
        put_tile(p, hn_show(is->memory_bytes, HN_UNIT_BYTES, a), "of memory in a run", before,
                 changed ? hn_show(is->memory_bytes, HN_UNIT_BYTES, c) : "");
    }
    hn_page_put(p, "</dl>");
}

/* ---- the plot ---- */

typedef struct box {
    double left, top, right, bottom;
} box;

static bool meets(const box *a, const box *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

typedef struct dot {
    const row *of;
    double x, y, r;
    bool key; /* its name is shown on narrow screens too, in larger letters */
} dot;

typedef struct picture {
    dot dots[MOST_ROWS];
    box taken[2 * MOST_ROWS]; /* by dots, and behind them by names */
    size_t n, n_taken;
    box within;
} picture;

static bool is_free(const picture *d, const box *b, size_t own) {
    if (b->left < d->within.left || b->right > d->within.right || b->top < d->within.top ||
        b->bottom > d->within.bottom)
        return false;
    for (size_t i = 0; i < d->n_taken; i++)
        if (i != own && meets(b, &d->taken[i])) return false;
    return true;
}

/* Beside the mark, or the nearest place around it that nothing covers. */
static box place_name(const picture *d, size_t i) {
    static const struct {
        double x, y;
    } ways[] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}};
    const dot *at = &d->dots[i];
    double letter = at->key ? 13 : 7.4, height = at->key ? 26 : 16;
    double wide = letter * (double)strlen(at->of->name);
    box first = {0};
    for (double far = 0; far < 200; far += 12)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            double x = at->x + ways[k].x * (at->r + 5 + far);
            double y = at->y + ways[k].y * (at->r + height / 2 + 1 + far);
            double left = ways[k].x > 0 ? x : ways[k].x < 0 ? x - wide : x - wide / 2;
            box b = {left, y - height / 2, left + wide, y + height / 2};
            if (far == 0 && k == 0) first = b;
            if (is_free(d, &b, i)) return b;
        }
    return first;
}

static const char *look_of(const row *x) {
    bool passed = strcmp(x->state, "passed") == 0 || strcmp(x->state, "original") == 0;
    return is_chosen(x) ? "c2 p" : x->front == 1 ? "c1 p" : passed ? "c0 p" : "c0 p hollow";
}

static void draw_name(hn_page *p, picture *d, size_t i) {
    const dot *at = &d->dots[i];
    box b = place_name(d, i);
    double x = (b.left + b.right) / 2, y = (b.top + b.bottom) / 2;
    double aside = fmax(fmax(b.left - at->x, at->x - b.right), 0);
    double above = fmax(fmax(b.top - at->y, at->y - b.bottom), 0);
    d->taken[d->n_taken++] = b;
    if (hypot(aside, above) > at->r + 10)
        hn_page_print(p, "<line class=\"lead%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
                      at->key ? "" : " wide", at->x, at->y, fmin(fmax(at->x, b.left), b.right),
                      fmin(fmax(at->y, b.top), b.bottom));
    bool left = b.left >= at->x, right = b.right <= at->x;
    hn_page_print(p, "<text class=\"%s%s%s\" x=\"%.1f\" y=\"%.1f\" dy=\".35em\">",
                  left    ? ""
                  : right ? "e"
                          : "m",
                  at->key ? "" : " wide", is_chosen(at->of) ? " strong" : "",
                  left    ? b.left
                  : right ? b.right
                          : x,
                  y);
    hn_page_text(p, at->of->name);
    hn_page_put(p, "</text>");
}

static void draw_dot(hn_page *p, const result *r, const dot *at) {
    char a[HN_SHOWN], b[HN_SHOWN], c[HN_SHOWN];
    hn_mark_point(p, look_of(at->of), 0, at->x, at->y, at->r);
    hn_page_text(p, at->of->name);
    hn_page_print(p, ": %s as fast, %s, ", speed_text(at->of, a),
                  hn_show(at->of->file_bytes, HN_UNIT_BYTES, b));
    hn_page_text(p, r->metric);
    hn_page_print(p, " %s, ", value_text(r, at->of->value, c));
    hn_page_text(p, at->of->state);
    hn_mark_end(p);
}

/* Whether another that passed is faster and more accurate. */
static bool is_behind(const result *r, const row *x) {
    double sign = r->lower_better ? -1 : 1;
    for (size_t i = 0; i < r->n; i++) {
        const row *o = &r->rows[i];
        if (o->front != 1 || o == x || !isfinite(o->value)) continue;
        bool no_worse = o->speed >= x->speed && sign * o->value >= sign * x->value;
        if (no_worse && (o->speed > x->speed || sign * o->value > sign * x->value)) return true;
    }
    return false;
}

/* Joins those that are fastest for their accuracy. */
static void draw_front(hn_page *p, const result *r, const picture *d) {
    const dot *on[MOST_ROWS];
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->dots[i].of->front != 1 || is_behind(r, d->dots[i].of)) continue;
        size_t k = n++;
        for (; k > 0 && on[k - 1]->x > d->dots[i].x; k--) on[k] = on[k - 1];
        on[k] = &d->dots[i];
    }
    if (n < 2) return;
    hn_page_put(p, "<polyline class=\"front\" points=\"");
    for (size_t i = 0; i < n; i++) hn_page_print(p, "%.1f,%.1f ", on[i]->x, on[i]->y);
    hn_page_put(p, "\"/>");
}

/* A share in per cent. */
static double height_of(const result *r, double v) { return r->is_share ? 100 * v : v; }

static void see_heights(const result *r, hn_axis *y, double gate) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < r->n; i++) {
        const row *x = &r->rows[i];
        bool out = isfinite(x->drop) && isfinite(r->max_drop) && x->drop > 3 * r->max_drop;
        if (!isfinite(x->value) || !isfinite(x->speed) || out) continue;
        least = fmin(least, x->value);
        most = fmax(most, x->value);
    }
    if (isfinite(gate)) least = fmin(least, gate), most = fmax(most, gate);
    double more = fmax(0.12 * (most - least), r->is_share ? 0.001 : 0.01 * fabs(most));
    hn_axis_see(y, height_of(r, least - more));
    hn_axis_see(y, height_of(r, r->is_share ? fmin(most + more, 1) : most + more));
}

static void draw_gate(hn_page *p, const result *r, const hn_axis *x, const hn_axis *y,
                      double gate) {
    char a[HN_SHOWN];
    if (!isfinite(gate)) return;
    double at = hn_axis_at(y, height_of(r, gate));
    hn_page_print(
        p,
        "<g class=\"at\"><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
        "<text class=\"e q\" x=\"%.1f\" y=\"%.1f\" dy=\"-.4em\">%s allowed: %s</text></g>",
        x->from, x->to, at, at, x->to, at, r->lower_better ? "most" : "least",
        value_text(r, gate, a));
}

static void put_legend(hn_page *p, const picture *d) {
    static const char *const kinds[][2] = {
        {"c2 p", "chosen"},
        {"c1 p", "on the front: none that passed is faster, smaller and more accurate at once"},
        {"c0 p", "passed"},
        {"c0 p hollow", "not good enough"}};
    hn_legend_begin(p);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < d->n; i++)
            if (strcmp(look_of(d->dots[i].of), kinds[k][0]) == 0) {
                hn_legend(p, kinds[k][0], 0, kinds[k][1]);
                break;
            }
    hn_legend_end(p);
}

/* Speed against accuracy; the area of a mark is the size of the file. */
static void draw_tried(hn_page *p, const result *r) {
    picture d = {.within = {64, 24, 716, 330}};
    hn_axis x = {1, 0, false, 64, 704}, y = {1, 0, false, 332, 40};
    double largest = 0, fastest = 0, sign = r->lower_better ? -1 : 1;
    double gate = r->n > 0 ? r->rows[0].value - sign * r->max_drop : NAN;
    for (size_t i = 0; i < r->n; i++) {
        const row *o = &r->rows[i];
        if (!isfinite(o->speed) || !isfinite(o->value)) continue;
        d.dots[d.n++] = (dot){.of = o, .key = is_chosen(o) || i == 0};
        hn_axis_see(&x, o->speed);
        largest = fmax(largest, o->file_bytes);
        fastest = fmax(fastest, o->speed);
    }
    if (d.n < 2) return;
    hn_axis_see(&x, fastest + 0.08 * (fastest - x.lo) + 0.02);
    hn_axis_see(&x, x.lo - 0.08 * (fastest - x.lo) - 0.02);
    see_heights(r, &y, gate);
    hn_axis_round(&x);
    hn_axis_round(&y);
    for (size_t i = 0; i < d.n; i++) {
        dot *at = &d.dots[i];
        at->x = hn_axis_at(&x, at->of->speed);
        at->y = hn_axis_at(&y, height_of(r, at->of->value));
        at->r = at->of->file_bytes > 0 ? 3 + 15 * sqrt(at->of->file_bytes / largest) : 5;
        d.taken[d.n_taken++] = (box){at->x - at->r, at->y - at->r, at->x + at->r, at->y + at->r};
    }
    char title[80];
    snprintf(title, sizeof title, "%.40s%s", r->metric, r->is_share ? ", %" : "");
    hn_plot_begin(
        p, "Speed, accuracy and size",
        "Each mark is a model that was tried: further right is faster, further up more "
        "accurate, and the area of a mark is the size of its file. A line joins those that are "
        "fastest for their accuracy.",
        392);
    hn_plot_axes(p, &x, &y, "times as fast as the original", title);
    draw_gate(p, r, &x, &y, gate);
    draw_front(p, r, &d);
    for (size_t i = 0; i < d.n; i++) draw_dot(p, r, &d.dots[i]);
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < d.n; i++)
            if (d.dots[i].key == (others == 0)) draw_name(p, &d, i);
    hn_plot_end(p);
    put_legend(p, &d);
    hn_figure_end(p);
}

/* ---- the table ---- */

static void put_small(hn_page *p, const char *text) {
    if (text == NULL || text[0] == '\0') return;
    hn_page_put(p, "<small>");
    hn_page_text(p, text);
    hn_page_put(p, "</small>");
}

static void put_name(hn_page *p, const row *x) {
    hn_page_put(p, is_chosen(x) ? "<td><b>" : "<td>");
    hn_page_text(p, x->name);
    if (is_chosen(x)) hn_page_put(p, "</b>");
    put_small(p, x->help);
    if (x->expected == NULL || x->expected[0] == '\0') return;
    hn_page_put(p, "<small>guides expect ");
    hn_page_text(p, x->expected);
    hn_page_put(p, "</small>");
}

static void put_rows(hn_page *p, const result *r) {
    const char *heads[] = {"model", "=latency", "=file", "=memory", NULL, "outcome", NULL};
    char metric[80], buf[HN_SHOWN];
    snprintf(metric, sizeof metric, "=%.60s", r->metric);
    heads[4] = metric;
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < r->n; i++) {
        const row *x = &r->rows[i];
        hn_table_row(p);
        put_name(p, x);
        hn_table_shown(p, x->ms, HN_UNIT_MS);
        if (i > 0 && isfinite(x->speed)) put_small(p, speed_text(x, buf));
        hn_table_shown(p, x->file_bytes, HN_UNIT_BYTES);
        if (i > 0 && isfinite(times_smaller(r, x)))
            put_small(p, times_text(times_smaller(r, x), buf));
        hn_table_shown(p, x->memory_bytes, HN_UNIT_BYTES);
        hn_page_put(p, "<td class=\"n\"");
        if (isfinite(x->value)) hn_page_print(p, " data-v=\"%.9g\"", x->value);
        hn_page_print(p, ">%s", value_text(r, x->value, buf));
        if (i > 0 && isfinite(x->drop))
            hn_page_print(p, "<small>%s%s</small>", x->drop < 0 ? "gains " : "loses ",
                          value_text(r, fabs(x->drop), buf));
        hn_table_text(p, i > 0 ? x->state : "");
        put_small(p, x->why);
    }
    hn_table_end(p, NULL);
}

/* Where the reason of "NAME: reason" begins, with its colon; at the end where there is none. */
static const char *reason_of(const char *text) {
    const char *at = text != NULL ? strstr(text, ": ") : NULL;
    return at != NULL ? at : text != NULL ? text + strlen(text) : "";
}

/* Names that have one reason share a line. */
static void put_left_out(hn_page *p, const hn_texts *all) {
    const char *last = NULL;
    if (all->n == 0) return;
    hn_page_put(p, "<h3>Not tried</h3><ul class=\"words small\">");
    for (size_t i = 0; i < all->n; i++) {
        const char *text = all->at[i], *why = reason_of(text);
        bool same = last != NULL && strcmp(last, why) == 0;
        if (last != NULL && !same) hn_page_text(p, last);
        hn_page_put(p, same ? ", " : "<li>");
        for (const char *at = text; at != NULL && at < why; at++)
            hn_page_text(p, (const char[]){*at, '\0'});
        last = why;
    }
    hn_page_text(p, last);
    hn_page_put(p, "</ul>");
}

/* ---- how it was judged ---- */

static void put_samples(hn_page *p, const result *r) {
    char a[HN_SHOWN], b[HN_SHOWN], low[HN_SHOWN], high[HN_SHOWN];
    const hn_doc_optimize *o = r->o;
    if (o->choosing_samples > 0) {
        hn_page_print(p, "<p>Models were judged on %.15g samples", o->choosing_samples);
        if (o->calibration_samples > 0)
            hn_page_print(p, ", calibrated on %.15g others", o->calibration_samples);
        if (o->verifying_samples > 0 && isfinite(o->verified))
            hn_page_print(p,
                          ", and the chosen one was verified on %.15g that no choice was made by: "
                          "%s, the original %s",
                          o->verifying_samples, value_text(r, o->verified, a),
                          value_text(r, o->verified_original, b));
        if (o->verifying_samples > 0 && isfinite(o->verified_low) && isfinite(o->verified_high))
            hn_page_print(p, " (95 %% interval of the former: %s to %s)",
                          value_text(r, o->verified_low, low),
                          value_text(r, o->verified_high, high));
        hn_page_put(p, ".</p>");
    } else {
        hn_page_put(p,
                    "<p>There were no samples: answers were compared with the original's on "
                    "made-up inputs.</p>");
    }
}

static void put_verdicts(hn_page *p, const char *title, size_t n, const hn_doc_verdict *all) {
    if (n == 0) return;
    hn_page_print(p, "<h3>%s</h3><ul class=\"checks\">", title);
    for (const hn_doc_verdict *v = all; v < all + n; v++) {
        const char *answer = v->answer;
        if (answer == NULL) answer = "";
        bool good = strcmp(answer, "yes") == 0 || strcmp(answer, "avoided") == 0;
        bool open = strcmp(answer, "not asked") == 0;
        hn_page_print(p, "\n<li class=\"%s\"><b>", good ? "good" : open ? "open" : "bad");
        hn_page_text(p, v->question);
        hn_page_put(p, "</b> ");
        hn_page_text(p, answer);
        put_small(p, v->evidence);
        hn_page_put(p, "</li>");
    }
    hn_page_put(p, "</ul>");
}

/* ---- the recipe ---- */

static void put_recipe(hn_page *p, const hn_doc_optimize *o) {
    const char *text = o->recipe_text;
    const char *replay = o->replay;
    if (text == NULL && replay == NULL) return;
    hn_section_begin(p, "The recipe");
    hn_page_put(p, "<p>It makes the same bytes again, on any machine, without measuring:</p>");
    if (replay != NULL) {
        hn_page_put(p, "<pre tabindex=\"0\">");
        hn_page_text(p, replay);
        hn_page_put(p, "</pre>");
    }
    if (text != NULL) {
        hn_page_put(p, "<p class=\"of\">");
        hn_page_text(p, o->recipe);
        hn_page_put(p, "</p><pre tabindex=\"0\">");
        hn_page_lines(p, text);
        hn_page_put(p, "</pre>");
    }
    hn_section_end(p);
}

void hn_report_say_optimize(hn_page *p, const hn_document *d) {
    const char *words = d->optimize->verdict;
    if (words == NULL) return;
    hn_page_put(p, "<li>");
    hn_page_text(p, words);
    hn_page_put(p, "</li>");
}

void hn_report_optimize(hn_page *p, const hn_document *d) {
    result r;
    const hn_doc_optimize *o = d->optimize;
    read_result(o, &r);
    hn_section_begin(p, "What came of it");
    hn_page_of(p, o->output);
    if (r.n > 0) put_tiles(p, &r);
    hn_section_end(p);
    hn_section_begin(p, "What was tried");
    hn_page_of(p, o->model);
    draw_tried(p, &r);
    put_rows(p, &r);
    put_left_out(p, &o->left_out);
    hn_section_end(p);
    hn_section_begin(p, "How it was judged");
    put_samples(p, &r);
    put_verdicts(p, "Criteria of a well-made optimization", o->criteria.n, o->criteria.at);
    put_verdicts(p, "Mistakes people make", o->guards.n, o->guards.at);
    hn_section_end(p);
    put_recipe(p, o);
}

#endif

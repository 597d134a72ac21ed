/* What to do to a model: the verdict, the plan, the tree with the path that was taken, symptoms, and
 * the reasons to stop. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef hn_doc_remedy remedy;

enum { MOST_BRANCHES = 16, MOST_REMEDIES = 64, HEAD = 44, ROW = 25, GAP = 14, SPINE = 14 };
/* Letters that a line of the tree has room for. */
enum { LINE_ROOM = 100, NAME_ROOM = 44 };

static const char *known(const char *text) { return text != NULL ? text : ""; }
static bool is(const char *text, const char *word) { return strcmp(known(text), word) == 0; }

static size_t n_branches(const hn_doc_advise *o) {
    return o->branches.n < MOST_BRANCHES ? o->branches.n : MOST_BRANCHES;
}
static size_t n_remedies(const hn_doc_advise *o) {
    return o->remedies.n < MOST_REMEDIES ? o->remedies.n : MOST_REMEDIES;
}

/* ---- words ---- */

void hn_report_say_advise(hn_page *p, const hn_document *d) {
    const hn_doc_advise *o = d->advise;
    if (o->verdict == NULL) return;
    hn_page_put(p, "<li>For <b>");
    hn_page_text(p, known(o->target));
    hn_page_put(p, "</b>: ");
    hn_page_text(p, o->verdict);
    hn_page_put(p, ".</li>");
}

static void put_fact(hn_page *p, const char *what, const char *text, const char *more) {
    if (known(text)[0] == '\0') return;
    hn_page_print(p, "<dt>%s</dt><dd>", what);
    hn_page_text(p, text);
    hn_page_put(p, " <span class=\"q\">");
    hn_page_text(p, known(more));
    hn_page_put(p, "</span></dd>");
}

static void put_head(hn_page *p, const hn_doc_advise *o) {
    char ms[HN_SHOWN], here[HN_SHOWN], time[160];
    bool wanted = known(o->wanted)[0] != '\0';
    hn_show(o->run_ms, HN_UNIT_MS, ms);
    hn_show(o->here_ms, HN_UNIT_MS, here);
    snprintf(time, sizeof time, "%s a run%s", ms,
             o->measured == 1 ? ", measured" : ", worked out and not measured");
    if (o->measured != 1 && isfinite(o->here_ms))
        snprintf(time + strlen(time), sizeof time - strlen(time), "; %s here, measured", here);
    hn_page_put(p, "<dl class=\"verdicts\">");
    put_fact(p, "Verdict", o->verdict, NULL);
    put_fact(p, "Target", o->target, o->strategy);
    put_fact(p, "Machine", o->machine,
             o->typical == 1 ? "by typical figures of its class" : "with its measured limits");
    put_fact(p, "Time", time, NULL);
    put_fact(p, "Wanted", wanted ? o->wanted : "no limit is given", o->use);
    put_fact(p, "Bottleneck", o->bottleneck, o->evidence);
    put_fact(p, "Guides for it", o->bottleneck_remedies, NULL);
    hn_page_put(p, "</dl>");
}

/* ---- the plan ---- */

static void put_times(hn_page *p, const remedy *r) {
    char text[HN_SHOWN];
    bool throughput = isfinite(r->throughput);
    double v = throughput ? r->throughput : r->speed;
    snprintf(text, sizeof text, "%.1f\xc3\x97%s", v, throughput ? " per second" : "");
    hn_table_text(p, isfinite(v) ? text : NULL);
    snprintf(text, sizeof text, "%.1f\xc3\x97", r->smaller);
    hn_table_text(p, isfinite(r->smaller) ? text : NULL);
}

static void put_plan(hn_page *p, const hn_doc_advise *o) {
    static const char *const heads[] = {"=#",        "remedy",     "speed",  "file",
                                        "=run then", "guides say", "effort", NULL};
    size_t n = n_remedies(o), planned = 0;
    for (size_t i = 0; i < n; i++) planned += o->remedies.at[i].rank > 0;
    if (planned == 0) return;
    hn_page_put(p, "<h3>The plan</h3>");
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < n; i++) {
        const remedy *r = &o->remedies.at[i];
        if (!(r->rank > 0)) continue;
        hn_table_row(p);
        hn_table_number(p, r->rank, 0);
        hn_table_text(p, r->name);
        put_times(p, r);
        hn_table_shown(p, r->then_ms, HN_UNIT_MS);
        hn_table_text(p, known(r->guides)[0] != '\0' ? r->guides : NULL);
        hn_table_text(p, r->effort);
    }
    hn_table_end(p, NULL);
    hn_page_put(p,
                "<p class=\"note\">Speed and file are what each remedy gives alone, by the "
                "roofline; the time of a run is that with all remedies before it.</p>"
                "<dl class=\"verdicts\">");
    for (size_t i = 0; i < n; i++) {
        const remedy *r = &o->remedies.at[i];
        if (!(r->rank > 0)) continue;
        hn_page_print(p, "<dt>%.0f. ", r->rank);
        hn_page_text(p, known(r->name));
        hn_page_put(p, "</dt><dd>");
        hn_page_text(p, known(r->why));
        hn_page_put(p, "<span class=\"q\">Cost: ");
        hn_page_text(p, known(r->effort));
        hn_page_put(p, "; data: ");
        hn_page_text(p, known(r->data));
        hn_page_put(p, r->training == 1 ? "; with training. Risk: " : "; no training. Risk: ");
        hn_page_text(p, known(r->risk));
        hn_page_put(p, "</span>");
        if (r->command != NULL) {
            hn_page_put(p, "<code>");
            hn_page_text(p, r->command);
            hn_page_put(p, "</code>");
        }
        hn_page_put(p, "</dd>");
    }
    hn_page_put(p, "</dl>");
}

/* ---- the tree ---- */

/* At most so many letters of a text, the last of them dots where it is cut. */
static void put_cut(hn_page *p, const char *text, int room) {
    char cut[4 * LINE_ROOM + 8];
    size_t n = 0;
    int letters = 0;
    for (; text[n] != '\0' && n + 8 < sizeof cut; n++) {
        bool first = ((unsigned char)text[n] & 0xc0) != 0x80;
        if (first && ++letters > room) break;
        cut[n] = text[n];
    }
    snprintf(cut + n, 4, "%s", text[n] != '\0' ? "..." : "");
    hn_page_text(p, cut);
}

static void draw_line(hn_page *p, bool taken, double x, double y, double to_x, double to_y) {
    hn_page_print(p, "<path class=\"curve %s\" d=\"M%.1f %.1fL%.1f %.1f\"/>", taken ? "c1" : "c0",
                  x, y, to_x, to_y);
}

static void draw_remedy(hn_page *p, const remedy *r, bool taken, double y) {
    char ms[HN_SHOWN];
    bool planned = r->rank > 0, done = is(r->state, "done");
    draw_line(p, taken && (planned || done), SPINE, y, 40, y);
    hn_mark_point(p, planned ? "c1" : done ? "c3" : "c0 p hollow", 0, 50, y, 10);
    hn_page_text(p, known(r->name));
    hn_page_put(p, ": ");
    hn_page_text(p, known(r->state));
    hn_page_put(p, "; ");
    hn_page_text(p, known(r->why));
    hn_mark_end(p);
    if (planned)
        hn_page_print(p, "<text class=\"m cell on\" x=\"50\" y=\"%.1f\" dy=\".35em\">%.0f</text>",
                      y, r->rank);
    hn_page_print(p, "<text class=\"%s\" x=\"68\" y=\"%.1f\" dy=\".35em\">",
                  planned ? "strong" : "q", y);
    put_cut(p, known(r->name), NAME_ROOM);
    hn_page_print(p, "</text><text class=\"q wide\" x=\"372\" y=\"%.1f\" dy=\".35em\">", y);
    hn_page_text(p, known(r->state));
    hn_page_put(p, "</text>");
    if (planned && isfinite(r->then_ms))
        hn_page_print(p, "<text class=\"e v wide\" x=\"%d\" y=\"%.1f\" dy=\".35em\">then %s</text>",
                      HN_PLOT_WIDTH - 8, y, hn_show(r->then_ms, HN_UNIT_MS, ms));
}

static void draw_branch(hn_page *p, const hn_doc_branch *b, double y) {
    bool taken = b->taken == 1, asked = known(b->question)[0] != '\0';
    hn_mark_point(p, taken ? "c1" : "c0 p hollow", 2, SPINE, y, 6);
    hn_page_text(p, asked ? b->question : "always");
    hn_page_put(p, " ");
    hn_page_text(p, known(b->answer));
    hn_page_put(p, ": ");
    hn_page_text(p, known(b->evidence));
    hn_mark_end(p);
    hn_page_print(p, "<text class=\"%s\" x=\"30\" y=\"%.1f\" dy=\".35em\">", taken ? "strong" : "q",
                  y);
    hn_page_text(p, asked ? b->question : "always");
    if (asked) {
        hn_page_put(p, " ");
        hn_page_text(p, known(b->answer));
    }
    hn_page_put(p, "</text>");
    if (!asked) return;
    hn_page_print(p, "<text class=\"q wide\" x=\"30\" y=\"%.1f\" dy=\".35em\">", y + 18);
    put_cut(p, known(b->evidence), LINE_ROOM);
    hn_page_put(p, "</text>");
}

static void draw_tree(hn_page *p, const hn_doc_advise *o) {
    size_t branches = n_branches(o), n = n_remedies(o);
    if (branches == 0) return;
    int height = (int)(branches * (HEAD + GAP) + n * ROW + GAP);
    hn_plot_begin(
        p, "The decision tree",
        "From top to bottom: questions, and the remedies of each in the order they are to "
        "be tried. The blue path was taken; numbers are places in the plan, filled marks "
        "without one are in effect already, and hollow ones are left out.",
        height);
    double y = GAP, last = 0, most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, o->remedies.at[i].rank);
    bool on = true; /* the path goes on from here: something behind is planned, or asked */
    for (size_t b = 0; b < branches; b++) {
        const hn_doc_branch *d = &o->branches.at[b];
        double top = y;
        on = on && (most > 0 || d->taken == 1);
        if (b > 0) draw_line(p, on, SPINE, last + 6, SPINE, top - 6);
        y += HEAD;
        double end = top;
        for (size_t i = 0; i < n; i++) {
            const remedy *r = &o->remedies.at[i];
            if (r->branch != (double)b) continue;
            draw_line(p, on, SPINE, end + (end == top ? 6 : 0), SPINE, y);
            on = on && !(r->rank > 0 && r->rank == most); /* the last of the plan */
            draw_remedy(p, r, d->taken == 1, y);
            end = y;
            y += ROW;
        }
        draw_branch(p, d, top);
        last = end == top ? top : end - 6;
        y += GAP;
    }
    hn_plot_end(p);
    hn_figure_end(p);
}

static void put_reasons(hn_page *p, const hn_doc_advise *o) {
    static const char *const heads[] = {"remedy", "state", "why", NULL};
    hn_table_begin(p, "Remedies that are not in the plan", heads);
    for (size_t i = 0; i < n_remedies(o); i++) {
        const remedy *r = &o->remedies.at[i];
        if (r->rank > 0) continue;
        hn_table_row(p);
        hn_table_text(p, r->name);
        hn_table_text(p, r->state);
        hn_table_text(p, r->why);
    }
    for (size_t i = 0; i < o->refused.n; i++) {
        hn_table_row(p);
        hn_table_text(p, NULL);
        hn_table_text(p, "no remedy there");
        hn_table_text(p, o->refused.at[i]);
    }
    hn_table_end(p, "Remedies that are not in the plan");
}

/* ---- symptoms, and reasons to stop ---- */

/* Begins an item of a list of answers. */
static void put_answer(hn_page *p, const char *question, const char *more, const char *answer,
                       const char *bad, const char *good) {
    const char *look = is(answer, bad) ? "bad" : is(answer, good) ? "" : "open";
    hn_page_print(p, "<li class=\"%s\"><b>", look);
    hn_page_text(p, known(question));
    hn_page_text(p, more);
    hn_page_put(p, "</b> ");
    hn_page_text(p, known(answer));
    hn_page_put(p, "<small>");
}

static void put_symptoms(hn_page *p, const hn_doc_advise *o) {
    if (o->symptoms.n == 0) return;
    hn_page_put(p, "<h3>Symptoms</h3><ul class=\"checks\">");
    for (size_t i = 0; i < o->symptoms.n; i++) {
        const hn_doc_symptom *s = &o->symptoms.at[i];
        put_answer(p, s->sign, "?", s->answer, "yes", "no");
        hn_page_text(p, known(s->evidence));
        hn_page_put(p, ". Guides for it (");
        hn_page_text(p, known(s->kind));
        hn_page_put(p, "): ");
        hn_page_text(p, known(s->remedies));
        hn_page_put(p, "</small></li>");
    }
    hn_page_put(p, "</ul>");
}

static void put_stops(hn_page *p, const hn_doc_advise *o) {
    if (o->stops.n == 0) return;
    hn_page_put(p, "<h3>Reasons to stop, or not to begin</h3><ul class=\"checks\">");
    for (size_t i = 0; i < o->stops.n; i++) {
        const hn_doc_verdict *v = &o->stops.at[i];
        put_answer(p, v->question, "", v->answer, "stop", "go on");
        hn_page_text(p, known(v->evidence));
        hn_page_put(p, "</small></li>");
    }
    hn_page_put(p, "</ul>");
}

void hn_report_advise(hn_page *p, const hn_document *d) {
    const hn_doc_advise *o = d->advise;
    hn_section_begin(p, "What to do");
    hn_page_of(p, o->model);
    put_head(p, o);
    put_plan(p, o);
    draw_tree(p, o);
    put_reasons(p, o);
    put_symptoms(p, o);
    put_stops(p, o);
    hn_section_end(p);
}

#endif

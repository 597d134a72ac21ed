/* What a comparison of two models shows: the error of each tensor, and where it begins. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_POINTS = 2000 };

/* Ways in which an error is counted. */
static const struct {
    const char *look;
    int shape;
    const char *text;
} ways[] = {
    {"c1", 0, "error so far (accumulated)"},
    {"c2", 1, "error of this node alone (isolated)"},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static double error_of(const hn_doc_tensor_error *o, int way) {
    return way == 0 ? o->sqnr_db : o->isolated_sqnr_db;
}

static bool is_weight(const hn_doc_tensor_error *o) {
    return o->kind != NULL && strcmp(o->kind, "weight") == 0;
}

/* Of the activations or the weights, in the order of the list: the worst first. */
static void draw_errors(hn_page *p, const hn_doc_compare *d, bool weights) {
    size_t n = d->tensors.n, shown = 0;
    int n_ways = weights ? 1 : N_WAYS; /* nothing adds up in a weight */
    bool seen[N_WAYS] = {0};
    hn_axis x = {0, 0, false, 64, 712}, y = {1, 0, false, 300, 34};
    for (size_t i = 0; i < n && shown < MOST_POINTS; i++) {
        const hn_doc_tensor_error *o = &d->tensors.at[i];
        if (is_weight(o) != weights) continue;
        shown++;
        for (int k = 0; k < n_ways; k++) {
            double db = error_of(o, k);
            hn_axis_see(&y, db);
            seen[k] |= isfinite(db);
        }
    }
    if (!seen[0] && !seen[1]) return;
    hn_axis_see(&y, 0);
    hn_axis_round(&y);
    x.hi = (double)shown + 1;
    hn_plot_begin(
        p, weights ? "Error of each weight" : "Error of each tensor",
        "Signal to noise in dB, the worst first: higher is better, at 20 dB the noise is a "
        "tenth of the signal.",
        352);
    hn_plot_axes(p, &x, &y, weights ? "weight, worst first" : "tensor, worst first", "SQNR, dB");
    for (size_t i = 0, at = 0; i < n && at < shown && p->status == HONE_OK; i++) {
        const hn_doc_tensor_error *o = &d->tensors.at[i];
        if (is_weight(o) != weights) continue;
        at++;
        for (int k = n_ways; k-- > 0;) {
            char db_text[HN_SHOWN];
            double db = error_of(o, k);
            if (!isfinite(db)) continue;
            hn_mark_point(p, ways[k].look, ways[k].shape, hn_axis_at(&x, (double)at),
                          hn_axis_at(&y, db), shown > 100 ? 3 : 4.5);
            hn_page_text(p, o->name);
            hn_page_put(p, " (");
            hn_page_text(p, o->op);
            hn_page_print(p, "): %s dB%s", hn_show(db, HN_UNIT_PLAIN, db_text),
                          weights  ? ""
                          : k == 0 ? ", accumulated"
                                   : ", isolated");
            hn_mark_end(p);
        }
    }
    hn_plot_end(p);
    if (!weights) {
        hn_legend_begin(p);
        for (int k = 0; k < N_WAYS; k++)
            if (seen[k]) hn_legend(p, ways[k].look, ways[k].shape, ways[k].text);
        hn_legend_end(p);
    }
    static const char *const heads[] = {"tensor",  "operator",       "=SQNR dB", "=isolated dB",
                                        "=cosine", "=largest error", NULL};
    static const char *const weight_heads[] = {"weight",  "operator",       "=SQNR dB",
                                               "=cosine", "=largest error", NULL};
    hn_table_begin(p, "Data", weights ? weight_heads : heads);
    for (size_t i = 0, rows = 0; i < n && rows < HN_MOST_ROWS && p->status == HONE_OK; i++) {
        const hn_doc_tensor_error *o = &d->tensors.at[i];
        if (is_weight(o) != weights) continue;
        rows++;
        hn_table_row(p);
        hn_table_text(p, o->name);
        hn_table_text(p, o->op);
        hn_table_number(p, o->sqnr_db, 1);
        if (!weights) hn_table_number(p, o->isolated_sqnr_db, 1);
        hn_table_number(p, o->cosine, 6);
        hn_table_shown(p, o->max_error, HN_UNIT_PLAIN);
    }
    hn_table_end(p, "Data");
    hn_figure_end(p);
}

void hn_report_say_compare(hn_page *p, const hn_document *d) {
    const hn_doc_compare *o = d->compare;
    const char *at = o->breaks_at, *words = o->verdict;
    if (words != NULL) {
        hn_page_put(p, "<li>");
        hn_page_text(p, words);
        hn_page_put(p, "</li>");
    } else if (at != NULL) {
        hn_page_put(p, "<li>The models part at <b>");
        hn_page_text(p, at);
        hn_page_put(p, "</b>.</li>");
    }
}

void hn_report_compare(hn_page *p, const hn_document *d) {
    if (d->compare->tensors.n == 0) return;
    hn_section_begin(p, "Where errors come from");
    draw_errors(p, d->compare, false);
    draw_errors(p, d->compare, true);
    hn_section_end(p);
}

#endif

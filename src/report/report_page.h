/* What the sections of a report share: text that grows, tables and plots.
 *
 * A page keeps the first thing that goes wrong (out of memory) and from
 * then on does nothing, so that sections are written without a check after every call. */
#ifndef HN_REPORT_REPORT_PAGE_H
#define HN_REPORT_REPORT_PAGE_H

#include "report/documents.h"

typedef struct hn_page {
    hn_allocator *alloc;
    hn_error *err;
    hone_status status;
    char *text;
    size_t bytes, room;
    const hn_document *documents;
    size_t n_documents;
    size_t marks;     /* drawn in the plot that is open */
    const char *mark; /* the element of the mark that is open */
    int n_plots;
} hn_page;

/* ---- text ---- */

void hn_page_put(hn_page *p, const char *html);
void hn_page_print(hn_page *p, const char *format, ...) HONE_PRINTF(2, 3);
void hn_page_text(hn_page *p, const char *text);  /* of a document: escaped */
void hn_page_lines(hn_page *p, const char *text); /* likewise, line by line as it is */

/* A number as people read it, three significant digits; not finite: a dash. */
typedef enum hn_unit {
    HN_UNIT_PLAIN,
    HN_UNIT_MS,    /* "12.3 ms", "45.6 µs" */
    HN_UNIT_BYTES, /* "1.23 MB" */
    HN_UNIT_COUNT, /* "4.12 G" */
    HN_UNIT_SHARE, /* 0.915: "91.5 %" */
} hn_unit;
#define HN_SHOWN 40
const char *hn_show(double v, hn_unit unit, char buf[HN_SHOWN]);

/* The last part of a path. */
const char *hn_base_name(const char *path);

/* ---- tables ---- */

/* heads: "=number" is right-aligned. Ends with NULL. Long tables are inside <details>, whose
 * summary is `fold`; NULL: open. */
void hn_table_begin(hn_page *p, const char *fold, const char *const *heads);
void hn_table_row(hn_page *p); /* begins one */
void hn_table_text(hn_page *p, const char *text);
void hn_table_number(hn_page *p, double v, int decimals);
void hn_table_shown(hn_page *p, double v, hn_unit unit);
void hn_table_end(hn_page *p, const char *fold);
/* A list of objects with the keys of its first one as columns; nothing of an empty one, or NULL. */
void hn_table_of(hn_page *p, const char *fold, const hn_json *list);
/* The keys of an object whose values are no lists or objects. */
void hn_table_facts(hn_page *p, const hn_json *object);
/* Rows beyond this are left out, with a word. */
enum { HN_MOST_ROWS = 5000 };

/* ---- plots ---- */

enum { HN_PLOT_WIDTH = 720 };

typedef struct hn_axis {
    double lo, hi;
    bool log;
    double from, to; /* where lo and hi are drawn */
} hn_axis;
/* Widened to round numbers; values that are not finite, or not positive on a log axis, do not
 * count. */
void hn_axis_see(hn_axis *a, double v);
void hn_axis_round(hn_axis *a);
double hn_axis_at(const hn_axis *a, double v); /* kept within the axis */

/* The figure and its SVG, open; what it shows is a sentence. Marks are written between with
 * hn_mark_* and hn_page_print; hn_plot_end closes the SVG, and hn_figure_end the figure, into which
 * a table of the data goes. */
void hn_plot_begin(hn_page *p, const char *title, const char *shows, int height);
/* y_title NULL: nothing is measured upwards, and y says where the x axis is. */
void hn_plot_axes(hn_page *p, const hn_axis *x, const hn_axis *y, const char *x_title,
                  const char *y_title);
void hn_plot_end(hn_page *p);
void hn_figure_end(hn_page *p);
/* A mark; the text that follows is shown when it is pointed at, and hn_mark_end closes both. */
void hn_mark_rect(hn_page *p, const char *look, double x, double y, double width, double height);
/* shape 0: circle, 1: square, 2: diamond */
void hn_mark_point(hn_page *p, const char *look, int shape, double x, double y, double r);
void hn_mark_end(hn_page *p);
void hn_legend_begin(hn_page *p);
void hn_legend(hn_page *p, const char *look, int shape, const char *text);
void hn_legend_end(hn_page *p);

typedef struct hn_bar {
    const char *label, *note;
    const char *look; /* "c1" */
    double value;
    hn_unit unit;
    double share; /* NaN: none is shown */
} hn_bar;
/* Horizontal bars in a figure that stays open for a legend; hn_page_bars_end puts the table of
 * their data and closes it. A label that is too long loses what all labels have in common, at its
 * beginning or its end, else its middle. */
void hn_page_bars(hn_page *p, const char *title, const char *shows, const hn_bar *bars, size_t n);
void hn_page_bars_end(hn_page *p, const hn_bar *bars, size_t n);

/* ---- sections ---- */

void hn_section_begin(hn_page *p, const char *title);
void hn_page_of(hn_page *p, const char *model); /* what the section is of */
void hn_section_end(hn_page *p);
void hn_report_models(hn_page *p); /* summary; where there are several models, the comparison */
void hn_report_bench(hn_page *p);  /* all of them in one section */
void hn_report_profile(hn_page *p, const hn_document *d);
void hn_report_compare(hn_page *p, const hn_document *d);
void hn_report_compress(hn_page *p, const hn_document *d);
void hn_report_eval(hn_page *p, const hn_document *d);
void hn_report_inspect(hn_page *p, const hn_document *d);
void hn_report_machine(hn_page *p, const hn_document *d);
void hn_report_advise(hn_page *p, const hn_document *d);
void hn_report_optimize(hn_page *p, const hn_document *d);
void hn_report_quantize(hn_page *p, const hn_document *d);
void hn_report_shrink(hn_page *p, const hn_document *d); /* of hone prune and its like */
void hn_report_train(hn_page *p, const hn_document *d);  /* of hone distill as well */
/* What a document says in words, as items of the summary's list. */
void hn_report_say_advise(hn_page *p, const hn_document *d);
void hn_report_say_bench(hn_page *p, const hn_document *d);
void hn_report_say_noise(hn_page *p, const hn_document *d); /* of all benchmarks */
void hn_report_say_profile(hn_page *p, const hn_document *d);
void hn_report_say_eval(hn_page *p, const hn_document *d);
void hn_report_say_compare(hn_page *p, const hn_document *d);
void hn_report_say_compress(hn_page *p, const hn_document *d);
void hn_report_say_optimize(hn_page *p, const hn_document *d);
void hn_report_say_quantize(hn_page *p, const hn_document *d);
void hn_report_say_shrink(hn_page *p, const hn_document *d);
void hn_report_say_train(hn_page *p, const hn_document *d);
extern const char hn_report_style[], hn_report_script[];

#endif

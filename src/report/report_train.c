/* How training went: the loss step by step and epoch by epoch, the metric, the learning rate. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>

enum { MOST_POINTS = 2000, BOTTOM = 250 };

/* A line through points, where there are numbers for them. */
typedef struct curve {
    size_t n;
    const double *x, *y;
    const double *epoch; /* of each; NULL: they are of steps */
} curve;

static bool is_drawn(const curve *c, size_t i) { return isfinite(c->x[i]) && isfinite(c->y[i]); }

static void see(const curve *c, hn_axis *x, hn_axis *y) {
    for (size_t i = 0; i < c->n; i++) {
        if (!is_drawn(c, i)) continue;
        hn_axis_see(x, c->x[i]);
        hn_axis_see(y, c->y[i]);
    }
}

static void draw_line(hn_page *p, const curve *c, const hn_axis *x, const hn_axis *y,
                      const char *look) {
    hn_page_print(p, "<polyline class=\"curve %s\" points=\"", look);
    for (size_t i = 0; i < c->n; i++)
        if (is_drawn(c, i))
            hn_page_print(p, "%.1f,%.1f ", hn_axis_at(x, c->x[i]), hn_axis_at(y, c->y[i]));
    hn_page_put(p, "\"/>");
}

static void draw_points(hn_page *p, const curve *c, const hn_axis *x, const hn_axis *y,
                        const char *name, hn_unit unit) {
    char buf[HN_SHOWN];
    for (size_t i = 0; i < c->n; i++) {
        if (!is_drawn(c, i)) continue;
        hn_mark_point(p, "c1", 0, hn_axis_at(x, c->x[i]), hn_axis_at(y, c->y[i]),
                      c->n > 60 ? 2.5 : 4);
        hn_page_print(p, "epoch %s: ", hn_show(c->epoch[i], HN_UNIT_PLAIN, buf));
        hn_page_text(p, name);
        hn_page_print(p, " %s", hn_show(c->y[i], unit, buf));
        hn_mark_end(p);
    }
}

static void put_data(hn_page *p, const curve *c) {
    static const char *const heads[] = {"=epoch", "=value", NULL};
    hn_table_begin(p, "Data", heads);
    for (size_t i = 0; i < c->n; i++) {
        if (!is_drawn(c, i)) continue;
        hn_table_row(p);
        hn_table_number(p, c->epoch[i], 0);
        hn_table_number(p, c->y[i], 6);
    }
    hn_table_end(p, "Data");
}

static hn_axis steps_axis(void) { return (hn_axis){1, 0, false, 64, 712}; }

/* One value per epoch, over steps. */
static void draw_epochs(hn_page *p, const curve *c, const char *title, const char *shows,
                        const char *name, hn_unit unit) {
    hn_axis x = steps_axis(), y = {1, 0, false, BOTTOM, 30};
    size_t found = 0;
    for (size_t i = 0; i < c->n; i++) found += is_drawn(c, i);
    if (found == 0) return;
    see(c, &x, &y);
    hn_axis_see(&x, 0);
    hn_axis_round(&x);
    hn_axis_round(&y);
    if (unit == HN_UNIT_SHARE && y.hi > 1) y.hi = 1;
    hn_plot_begin(p, title, shows, BOTTOM + 52);
    hn_plot_axes(p, &x, &y, "steps", name);
    draw_line(p, c, &x, &y, "c1");
    draw_points(p, c, &x, &y, name, unit);
    hn_plot_end(p);
    put_data(p, c);
    hn_figure_end(p);
}

/* Steps as a thin line, the means of epochs as points. */
static void draw_loss(hn_page *p, const hn_doc_training *o, const curve *epochs) {
    double at[MOST_POINTS];
    curve steps = {o->step_losses.n < MOST_POINTS ? o->step_losses.n : MOST_POINTS, at,
                   o->step_losses.at, NULL};
    for (size_t i = 0; i < steps.n; i++)
        at[i] = o->first_step + ((double)i + 0.5) * o->steps_per_point;
    hn_axis x = steps_axis(), y = {1, 0, false, BOTTOM, 30};
    see(&steps, &x, &y);
    see(epochs, &x, &y);
    if (!(x.lo <= x.hi)) return;
    y.log = y.lo > 0 && y.hi > 50 * y.lo;
    hn_axis_see(&x, 0);
    hn_axis_round(&x);
    hn_axis_round(&y);
    hn_plot_begin(p, "Loss", "The loss as training went on; points are the means of epochs.",
                  BOTTOM + 52);
    hn_plot_axes(p, &x, &y, "steps", "loss");
    draw_line(p, &steps, &x, &y, "c0");
    draw_line(p, epochs, &x, &y, "c1");
    draw_points(p, epochs, &x, &y, "loss", HN_UNIT_PLAIN);
    hn_plot_end(p);
    hn_legend_begin(p);
    hn_legend(p, "c1", 0, "mean of an epoch");
    hn_legend(p, "c0", 1, o->steps_per_point > 1 ? "means of a few steps" : "steps");
    hn_legend_end(p);
    put_data(p, epochs);
    hn_figure_end(p);
}

static const hn_doc_training *training_of(const hn_document *d) {
    return d->train != NULL ? &d->train->training : &d->distill->training;
}

static hn_unit metric_unit(const hn_doc_training *o) {
    return o->is_share == 1 ? HN_UNIT_SHARE : HN_UNIT_PLAIN;
}

void hn_report_say_train(hn_page *p, const hn_document *d) {
    const hn_doc_training *o = training_of(d);
    char a[HN_SHOWN], b[HN_SHOWN];
    hn_page_print(p, "<li>After %s epochs the loss is <b>%s</b>",
                  hn_show(o->epochs, HN_UNIT_PLAIN, a), hn_show(o->train_loss, HN_UNIT_PLAIN, b));
    if (isfinite(o->val) && o->metric != NULL) {
        hn_page_put(p, " and ");
        hn_page_text(p, o->metric);
        hn_page_print(p, " of the model that was kept, that of epoch %s, <b>%s</b>",
                      hn_show(o->kept_epoch, HN_UNIT_PLAIN, a), hn_show(o->val, metric_unit(o), b));
    }
    hn_page_print(p, ": %s samples per second.</li>",
                  hn_show(o->samples_per_second, HN_UNIT_PLAIN, a));
}

void hn_report_train(hn_page *p, const hn_document *d) {
    const hn_doc_training *o = training_of(d);
    double x[MOST_POINTS], middle[MOST_POINTS], loss[MOST_POINTS], val[MOST_POINTS],
        rate[MOST_POINTS];
    double epoch[MOST_POINTS];
    size_t each = o->history.n / MOST_POINTS + 1, n = o->history.n / each;
    for (size_t i = 0; i < n; i++) { /* of more epochs than that, one of a few */
        const hn_doc_epoch *e = &o->history.at[i * each];
        epoch[i] = e->epoch;
        x[i] = e->steps, loss[i] = e->train_loss, val[i] = e->val, rate[i] = e->rate;
        middle[i] = (x[i] + (i > 0 ? x[i - 1] : o->first_step)) / 2;
    }
    hn_section_begin(p, "Training");
    hn_page_of(p, o->model);
    draw_loss(p, o, &(curve){n, middle, loss, epoch});
    draw_epochs(p, &(curve){n, x, val, epoch}, "Validation", "The metric on the samples of --val.",
                o->metric != NULL ? o->metric : "metric", metric_unit(o));
    draw_epochs(p, &(curve){n, x, rate, epoch}, "Learning rate",
                "The rate of the last step of an epoch.", "learning rate", HN_UNIT_PLAIN);
    hn_table_of(p, "Epochs", o->history.json);
    hn_table_facts(p, d->root);
    hn_section_end(p);
}

#endif

#include "epochs.h"

#include <math.h>
#include <stdlib.h>

static void print_score(const epochs *e, const char *what, double score) {
    line(e->share ? "%s  %s %.2f%%" : "%s  %s %.6g", what, e->metric,
         e->share ? 100 * score : score);
}

bool epochs_tell(void *ctx, int64_t epoch, int64_t of, double loss, double rate, double score,
                 const char *metric, bool share) {
    epochs *e = ctx;
    progress_end(e->bar);
    e->bar->what = NULL;
    snprintf(e->metric, sizeof e->metric, "%s", metric != NULL ? metric : "");
    e->share = share;
    if (epoch < 0) e->float_val = score;
    if (epoch == 0) e->before_val = score;
    if (epoch > 0) {
        e->v = must(realloc(e->v, (e->n + 1) * sizeof *e->v));
        e->v[e->n++] = (epoch_line){epoch, loss, rate, score};
    }
    if (has(e->a, "--json") || has(e->a, "--quiet")) return not_interrupted(NULL);
    char head[100];
    int width = of > 9 ? 2 : 1;
    snprintf(head, sizeof head, "epoch %*lld/%lld  loss %.4f  lr %.3g", width, (long long)epoch,
             (long long)of, loss, rate);
    if (epoch <= 0)
        print_score(e, epoch < 0 ? "floats" : "before training", score);
    else if (metric != NULL)
        print_score(e, head, score);
    else
        line("%s", head);
    fflush(stdout);
    return not_interrupted(NULL);
}

/* Of a share more is better; of other metrics it is not known here. */
void epochs_note_no_gain(const epochs *e) {
    bool gained = !e->share || isnan(e->before_val);
    for (size_t i = 0; i < e->n; i++) gained |= e->v[i].val > e->before_val;
    if (e->n > 0 && !gained && !has(e->a, "--quiet"))
        note("no epoch was better than the model before training, which is what was written");
}

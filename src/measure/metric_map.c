/* Detection: average precision as COCO defines it.
 *
 * Of each image and class the 100 detections with the highest scores are matched with its boxes,
 * best first: each takes the free box it overlaps most, if intersection over union reaches the
 * threshold. Over all images, detections in the order of their scores give precision as a function
 * of recall; made falling from the right, it is averaged at recalls 0, 0.01, ..., 1. `map` is the
 * mean over the classes that have boxes and the thresholds 0.50, 0.55, ..., 0.95; `map50` and
 * `map75` take one threshold.
 *
 * Boxes are x1, y1, x2, y2, in any unit that outputs and targets share. Outputs: boxes [N, M, 4]
 * with scores [N, M] and classes [N, M], or with scores [N, M, C] of which the highest counts; in
 * that order where they are asked for by name, else found by their names; or one output [N, M, 6]
 * of box, score and class. Targets: boxes [N, K, 4] with classes [N, K], or one [N, K, 5] of box
 * and class. A negative class is no box; a score that is not above 0 is no detection.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "measure/interval.h"
#include "measure/metric.h"

#define MOST_PER_IMAGE 100 /* detections of a class */
#define THRESHOLDS 10
#define RECALLS 101
#define MOST_CLASSES (1 << 16)

typedef struct box {
    double x1, y1, x2, y2;
} box;

typedef struct detection {
    box at;
    double score;
    int32_t class_;
    int32_t image;    /* place in the order of samples */
    uint32_t matched; /* a bit per threshold */
} detection;

typedef struct object {
    box at;
    int32_t class_;
    int32_t image;
    uint32_t taken; /* a bit per threshold */
} object;

typedef struct list {
    void *items;
    size_t n, room;
} list;

typedef struct state {
    int64_t images;
    int32_t classes;
    list detections, objects; /* of all images, in order */
} state;

/* The outputs or targets that hold what is needed; NULL: not there. */
typedef struct parts {
    const hone_value *boxes, *scores, *classes;
    bool joined; /* all in boxes */
} parts;

/* ---- finding what is what ---- */

static bool is_list(const hone_value *v, const hone_eval_batch *b, int64_t wide) {
    return v != NULL && hn_metric_is_real(v) && v->rank == (wide > 0 ? 3 : 2) &&
           v->dims[0] == b->n && (wide <= 1 || v->dims[2] == wide);
}

static const hone_value *by_name(const hone_value *v, size_t n, const char *part,
                                 const char *other) {
    for (size_t i = 0; i < n; i++)
        if (strstr(v[i].name, part) != NULL || (other != NULL && strstr(v[i].name, other) != NULL))
            return &v[i];
    return NULL;
}

static bool same_rows(const hone_value *a, const hone_value *b) { return a->dims[1] == b->dims[1]; }

static bool find_outputs(const hn_metric_task *t, const hone_eval_batch *b, parts *p) {
    *p = (parts){0};
    if (t->n_asked >= 2) {
        p->boxes = hn_metric_output(t, b, 0);
        p->scores = hn_metric_output(t, b, 1);
        p->classes = t->n_asked > 2 ? hn_metric_output(t, b, 2) : NULL;
    } else if (is_list(hn_metric_output(t, b, 0), b, 6)) {
        p->boxes = hn_metric_output(t, b, 0);
        p->joined = true;
        return true;
    } else {
        p->boxes = by_name(b->outputs, b->n_outputs, "box", NULL);
        p->scores = by_name(b->outputs, b->n_outputs, "score", NULL);
        p->classes = by_name(b->outputs, b->n_outputs, "class", "label");
    }
    if (!is_list(p->boxes, b, 4) || p->scores == NULL) return false;
    if (p->classes == NULL) return is_list(p->scores, b, 1) && same_rows(p->boxes, p->scores);
    return is_list(p->scores, b, 0) && is_list(p->classes, b, 0) &&
           same_rows(p->boxes, p->scores) && same_rows(p->boxes, p->classes);
}

static bool find_targets(const hone_eval_batch *b, parts *p) {
    *p = (parts){.boxes = hn_metric_target(b, "box")};
    if (is_list(p->boxes, b, 5)) {
        p->joined = true;
        return true;
    }
    p->classes = by_name(b->targets, b->n_targets, "class", "label");
    return is_list(p->boxes, b, 4) && is_list(p->classes, b, 0) && same_rows(p->boxes, p->classes);
}

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    parts p;
    return find_outputs(t, b, &p) && find_targets(b, &p) ? 7 : 0;
}

/* ---- collecting ---- */

/* Room for one more item of `bytes`; NULL: out of memory. */
static void *append(list *l, hn_arena *arena, size_t bytes) {
    if (l->n == l->room) {
        size_t room = l->room > 0 ? 2 * l->room : 256;
        void *grown = hn_arena_array(arena, room, bytes);
        if (grown == NULL) return NULL;
        if (l->n > 0) memcpy(grown, l->items, l->n * bytes);
        l->items = grown;
        l->room = room;
    }
    return (unsigned char *)l->items + l->n++ * bytes;
}

static box box_at(const hone_value *v, int64_t row) {
    double x[4];
    hn_load_f64_n(v->dtype, v->data, row * v->dims[2], 4, x);
    return (box){x[0], x[1], x[2], x[3]};
}

static hone_status take_class(state *s, const hone_eval_batch *b, int64_t i, int64_t class_,
                              int32_t *to, hn_error *err) {
    HN_CHECK(err, class_ < MOST_CLASSES, HONE_E_ARG,
             "sample %lld has a box of class %lld; classes go from 0 to %d", (long long)b->index[i],
             (long long)class_, MOST_CLASSES - 1);
    *to = (int32_t)class_;
    if (*to >= s->classes) s->classes = *to + 1;
    return HONE_OK;
}

/* Of a row of scores, the highest and its class. */
static double best_score(const hone_value *v, int64_t row, int64_t *class_) {
    double best = NAN;
    for (int64_t c = 0; c < v->dims[2]; c++) {
        double x = hn_load_f64(v->dtype, v->data, row * v->dims[2] + c);
        if (!(x > best) && !isnan(best)) continue;
        best = x;
        *class_ = c;
    }
    return best;
}

static hone_status add_detections(state *s, const hn_metric_task *t, const hone_eval_batch *b,
                                  const parts *p, int64_t i, hn_error *err) {
    for (int64_t k = 0, n = p->boxes->dims[1]; k < n; k++) {
        int64_t row = i * n + k, class_ = -1;
        double score;
        if (p->joined) {
            score = hn_load_f64(p->boxes->dtype, p->boxes->data, row * 6 + 4);
            class_ = hn_load_s64(p->boxes->dtype, p->boxes->data, row * 6 + 5);
        } else if (p->classes == NULL) {
            score = best_score(p->scores, row, &class_);
        } else {
            score = hn_load_f64(p->scores->dtype, p->scores->data, row);
            class_ = hn_load_s64(p->classes->dtype, p->classes->data, row);
        }
        if (!(score > 0) || class_ < 0) continue;
        detection *d = append(&s->detections, t->arena, sizeof *d);
        if (d == NULL) return HN_NOMEM(err);
        *d = (detection){box_at(p->boxes, row), score, 0, (int32_t)s->images, 0};
        HN_TRY(take_class(s, b, i, class_, &d->class_, err));
    }
    return HONE_OK;
}

static hone_status add_objects(state *s, const hn_metric_task *t, const hone_eval_batch *b,
                               const parts *p, int64_t i, hn_error *err) {
    for (int64_t k = 0, n = p->boxes->dims[1]; k < n; k++) {
        int64_t row = i * n + k;
        int64_t class_ = p->joined ? hn_load_s64(p->boxes->dtype, p->boxes->data, row * 5 + 4)
                                   : hn_load_s64(p->classes->dtype, p->classes->data, row);
        if (class_ < 0) continue;
        object *o = append(&s->objects, t->arena, sizeof *o);
        if (o == NULL) return HN_NOMEM(err);
        *o = (object){box_at(p->boxes, row), 0, (int32_t)s->images, 0};
        HN_TRY(take_class(s, b, i, class_, &o->class_, err));
    }
    return HONE_OK;
}

/* ---- matching: one image ---- */

static double overlap(const box *a, const box *b) {
    double w = fmin(a->x2, b->x2) - fmax(a->x1, b->x1), h = fmin(a->y2, b->y2) - fmax(a->y1, b->y1);
    if (!(w > 0 && h > 0)) return 0;
    double both = w * h;
    return both / ((a->x2 - a->x1) * (a->y2 - a->y1) + (b->x2 - b->x1) * (b->y2 - b->y1) - both);
}

/* By class, then the highest score first; equal ones as they came (they lie in one array). */
static int by_score(const void *a_, const void *b_) {
    const detection *a = *(const detection *const *)a_, *b = *(const detection *const *)b_;
    if (a->class_ != b->class_) return a->class_ < b->class_ ? -1 : 1;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void match(detection *d, object *objects, size_t n, int threshold) {
    double best = 0.5 + 0.05 * threshold - 1e-10; /* rounding must not keep one below */
    object *found = NULL;
    for (size_t k = 0; k < n; k++) {
        object *o = &objects[k];
        if (o->class_ != d->class_ || (o->taken >> threshold & 1) != 0) continue;
        double x = overlap(&d->at, &o->at);
        if (!(x >= best)) continue;
        best = x;
        found = o;
    }
    if (found == NULL) return;
    found->taken |= 1u << threshold;
    d->matched |= 1u << threshold;
}

/* Matches what was added from these places on; detections beyond the most that count get a score of
 * 0. */
static hone_status match_image(state *s, const hn_metric_task *t, size_t detections, size_t objects,
                               hn_error *err) {
    size_t n = s->detections.n - detections;
    if (n == 0) return HONE_OK;
    detection *d = (detection *)s->detections.items + detections;
    hn_arena_mark here = hn_arena_here(t->arena);
    detection **order = hn_arena_array(t->arena, n, sizeof *order);
    if (order == NULL) return HN_NOMEM(err);
    for (size_t k = 0; k < n; k++) order[k] = &d[k];
    qsort(order, n, sizeof(detection *), by_score);
    int of_class = 0;
    for (size_t k = 0; k < n; k++) {
        of_class = k > 0 && order[k]->class_ == order[k - 1]->class_ ? of_class + 1 : 0;
        if (of_class >= MOST_PER_IMAGE)
            order[k]->score = 0;
        else
            for (int h = 0; h < THRESHOLDS; h++)
                match(order[k], (object *)s->objects.items + objects, s->objects.n - objects, h);
    }
    hn_arena_back(t->arena, here);
    return HONE_OK;
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    state *s = state_;
    parts found, wanted;
    char text[400];
    HN_CHECK(err, find_outputs(t, b, &found), HONE_E_SHAPE,
             "%s; map wants boxes [%lld, M, 4], scores [%lld, M] and classes [%lld, M], or one "
             "[%lld, M, 6]",
             hn_metric_text("output", hn_metric_output(t, b, 0), text, sizeof text),
             (long long)b->n, (long long)b->n, (long long)b->n, (long long)b->n);
    HN_CHECK(err, find_targets(b, &wanted), b->n_targets > 0 ? HONE_E_SHAPE : HONE_E_ARG,
             "map wants targets of boxes [%lld, K, 4] and classes [%lld, K], or one [%lld, K, 5]%s",
             (long long)b->n, (long long)b->n, (long long)b->n,
             b->n_targets > 0 ? "" : "; the dataset has none");
    HN_CHECK(err, b->n <= INT32_MAX - s->images, HONE_E_LIMIT, "map takes at most %d images",
             INT32_MAX);
    for (int64_t i = 0; i < b->n; i++, s->images++) {
        size_t detections = s->detections.n, objects = s->objects.n;
        HN_TRY(add_detections(s, t, b, &found, i, err));
        HN_TRY(add_objects(s, t, b, &wanted, i, err));
        HN_TRY(match_image(s, t, detections, objects, err));
    }
    return HONE_OK;
}

/* ---- average precision ---- */

typedef struct tally {
    int64_t objects;
    double ap[THRESHOLDS]; /* meaningless without objects */
} tally;

typedef struct scoring {
    const state *s;
    detection **order;
    double *precision; /* at each detection, as many as there are */
    double *recall;
    int *times; /* an image counts */
    tally *classes;
} scoring;

/* Of the detections order[0 .. n) of a class with so many objects. */
static double average(scoring *c, detection **order, size_t n, int64_t objects, int threshold) {
    double right = 0, all = 0, sum = 0;
    for (size_t k = 0; k < n; k++) {
        double times = c->times[order[k]->image];
        right += (order[k]->matched >> threshold & 1) != 0 ? times : 0;
        all += times;
        c->recall[k] = right / (double)objects;
        c->precision[k] = all > 0 ? right / all : 0;
    }
    for (size_t k = n; k-- > 1;) c->precision[k - 1] = fmax(c->precision[k - 1], c->precision[k]);
    size_t k = 0;
    for (int r = 0; r < RECALLS; r++) {
        while (k < n && c->recall[k] < r / 100.0) k++;
        if (k < n) sum += c->precision[k];
    }
    return sum / RECALLS;
}

static void average_all(scoring *c) {
    const object *objects = c->s->objects.items;
    memset(c->classes, 0, (size_t)c->s->classes * sizeof *c->classes);
    for (size_t k = 0; k < c->s->objects.n; k++)
        c->classes[objects[k].class_].objects += c->times[objects[k].image];
    for (size_t k = 0, n; k < c->s->detections.n; k += n) {
        tally *to = &c->classes[c->order[k]->class_];
        size_t counted = 0;
        for (n = 0; k + n < c->s->detections.n && c->order[k + n]->class_ == c->order[k]->class_;
             n++)
            counted += c->order[k + n]->score > 0;
        for (int h = 0; h < THRESHOLDS && to->objects > 0; h++)
            to->ap[h] = average(c, c->order + k, counted, to->objects, h);
    }
}

/* Means over the classes that have objects: of all thresholds, of the first, of 0.75. */
static void means(const scoring *c, double v[3]) {
    int64_t n = 0;
    v[0] = v[1] = v[2] = 0;
    for (int32_t i = 0; i < c->s->classes; i++) {
        const tally *x = &c->classes[i];
        if (x->objects == 0) continue;
        for (int h = 0; h < THRESHOLDS; h++) v[0] += x->ap[h] / THRESHOLDS;
        v[1] += x->ap[0];
        v[2] += x->ap[5];
        n++;
    }
    for (int k = 0; k < 3; k++) v[k] = n > 0 ? v[k] / (double)n : NAN;
}

static hone_status make_table(const scoring *c, const hn_metric_task *t, hone_evaluation *e,
                              hn_error *err) {
    hone_class_value *rows = hn_arena_array(t->arena, (size_t)c->s->classes, sizeof *rows);
    if (rows == NULL) return HN_NOMEM(err);
    for (int32_t i = 0; i < c->s->classes; i++) {
        const tally *x = &c->classes[i];
        double sum = 0;
        for (int h = 0; h < THRESHOLDS; h++) sum += x->ap[h] / THRESHOLDS;
        if (x->objects == 0) continue;
        rows[e->n_class_rows++] = (hone_class_value){.id = i,
                                                     .samples = x->objects,
                                                     .answers = -1,
                                                     .correct = -1,
                                                     .precision = NAN,
                                                     .recall = NAN,
                                                     .f1 = NAN,
                                                     .ap = sum,
                                                     .ap50 = x->ap[0],
                                                     .iou = NAN};
    }
    e->class_rows = rows;
    return HONE_OK;
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    state *s = state_;
    size_t n = s->detections.n;
    scoring c = {.s = s};
    double drawn[3][HN_REPLICATES], found[3];
    c.order = hn_arena_array(t->arena, n, sizeof *c.order);
    c.precision = hn_arena_array(t->arena, n, sizeof *c.precision);
    c.recall = hn_arena_array(t->arena, n, sizeof *c.recall);
    c.times = hn_arena_array(t->arena, (size_t)s->images, sizeof *c.times);
    c.classes = hn_arena_array(t->arena, (size_t)s->classes, sizeof *c.classes);
    if (c.order == NULL || c.precision == NULL || c.recall == NULL || c.times == NULL ||
        c.classes == NULL)
        return HN_NOMEM(err);
    for (size_t k = 0; k < n; k++) c.order[k] = (detection *)s->detections.items + k;
    if (n > 0) qsort(c.order, n, sizeof(detection *), by_score);
    for (int r = 0; r < HN_REPLICATES; r++) {
        for (int64_t i = 0; i < s->images; i++) c.times[i] = hn_bootstrap_times(t->seed, i, r);
        average_all(&c);
        means(&c, found);
        for (int k = 0; k < 3; k++) drawn[k][r] = found[k];
    }
    for (int64_t i = 0; i < s->images; i++) c.times[i] = 1;
    average_all(&c);
    means(&c, found);
    for (int k = 0; k < 3; k++) {
        hn_interval i = hn_bootstrap_interval(drawn[k]);
        v[k].value = found[k];
        v[k].low = i.low;
        v[k].high = i.high;
        v[k].interval = "bootstrap";
    }
    e->classes = s->classes;
    return t->tables ? make_table(&c, t, e, err) : HONE_OK;
}

const hn_metric hn_metric_map = {
    .values = {{"map", "detection: average precision, mean of classes and of IoU 0.50 to 0.95",
                .is_share = true},
               {"map50", "detection: average precision at IoU 0.50, mean of classes",
                .is_share = true},
               {"map75", "detection: average precision at IoU 0.75, mean of classes",
                .is_share = true}},
    .state_bytes = sizeof(state),
    .tabulates = true,
    .suits = suits,
    .add = add,
    .end = end,
};

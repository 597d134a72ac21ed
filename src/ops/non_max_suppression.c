/* NonMaxSuppression: of each class in each image, boxes in falling order of score (equal scores: in
 * the order of the boxes), dropping those that overlap one already taken by more than
 * iou_threshold. Only sums, products and quotients of double decide, so every machine selects the
 * same boxes. */
#include <math.h>

#include "ops/axes.h"
#include "ops/order.h"

enum { BOXES, SCORES, MOST, IOU, SCORE };

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *boxes = hn_in_shape(c, BOXES), *scores = hn_in_shape(c, SCORES);
    hn_dims *t = c->dims;
    int64_t form = hn_attr_i(c->node, "center_point_box"), most = 0;
    bool known = true;
    HN_CHECK(err, form == 0 || form == 1, HONE_E_ARG, "center_point_box is %lld, expected 0 or 1",
             (long long)form);
    HN_TRY(hn_want_rank(c, BOXES, 3, 3, err));
    HN_TRY(hn_want_rank(c, SCORES, 3, 3, err));
    for (int i = IOU; i <= SCORE; i++) {
        int n = 1;
        if (hn_has_in(c, i)) HN_TRY(hn_list_length(c, i, 1, &n, err));
        HN_CHECK(err, n != 0, HONE_E_SHAPE, "input %d is empty, expected one number", i);
    }
    if (hn_has_in(c, MOST)) HN_TRY(hn_one_int(c, MOST, &most, &known, err));
    if (boxes->rank == 3)
        HN_TRY(
            hn_want_equal(boxes->dim[2], hn_dim_const(t, 4), "the coordinates per box and 4", err));
    if (boxes->rank == 3 && scores->rank == 3) {
        HN_TRY(
            hn_want_equal(boxes->dim[0], scores->dim[0], "the batches of boxes and scores", err));
        HN_TRY(hn_want_equal(boxes->dim[1], scores->dim[2], "the boxes and their scores", err));
    }
    hn_shape y = {.rank = 2, .dim = {hn_dim_fresh(t, -1), hn_dim_const(t, 3)}};
    if (known && most <= 0) {
        y.dim[0] = hn_dim_const(t, 0);
    } else if (scores->rank == 3) {
        hn_dim per_class = scores->dim[2];
        /* A larger number stands for "all of them". */
        if (known && most <= INT32_MAX) per_class = hn_dim_min(t, per_class, hn_dim_const(t, most));
        hn_dim classes = hn_dim_mul(t, scores->dim[0], scores->dim[1]);
        y.dim[0] = hn_dim_at_most(t, hn_dim_mul(t, classes, per_class));
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

typedef struct box {
    double x0, x1, y0, y1;
} box;

static box read_box(const double *v, bool center) {
    if (center) return (box){v[0] - v[2] / 2, v[0] + v[2] / 2, v[1] - v[3] / 2, v[1] + v[3] / 2};
    return (box){fmin(v[1], v[3]), fmax(v[1], v[3]), fmin(v[0], v[2]), fmax(v[0], v[2])};
}

static double area(const box *b) { return (b->x1 - b->x0) * (b->y1 - b->y0); }

static bool overlap(const box *a, const box *b, double threshold) {
    box both = {fmax(a->x0, b->x0), fmin(a->x1, b->x1), fmax(a->y0, b->y0), fmin(a->y1, b->y1)};
    if (both.x1 <= both.x0 || both.y1 <= both.y0) return false;
    double shared = area(&both), all = area(a) + area(b) - shared;
    return shared > 0 && all > 0 && area(a) > 0 && area(b) > 0 && shared / all > threshold;
}

typedef struct selection {
    const box *boxes; /* of the image */
    int64_t n_boxes, most;
    double iou, score;
    bool has_score;
    int64_t *keys, *order, *tmp; /* [n_boxes] */
    int64_t *taken;              /* results, 3 numbers each */
    int64_t n_taken;
} selection;

static void select_class(selection *s, const hn_tensor *scores, int64_t image, int64_t class) {
    int64_t from = (image * scores->dims[1] + class) * s->n_boxes, n = 0, first = s->n_taken;
    hn_load_keys(scores->dtype, scores->data, from, s->n_boxes, s->keys);
    for (int64_t i = 0; i < s->n_boxes; i++) {
        if (s->has_score && !(hn_tensor_f64(scores, from + i) > s->score)) continue;
        s->order[n++] = i;
        /* Turned around for a falling order that stays stable; NaN is last either way. */
        if (s->keys[i] != HN_KEY_NAN) s->keys[i] = -1 - s->keys[i];
    }
    hn_sort_rows(s->keys, 1, s->order, n, s->tmp);
    for (int64_t i = 0; i < n && s->n_taken - first < s->most; i++) {
        bool keep = true;
        for (int64_t k = first; k < s->n_taken && keep; k++)
            keep = !overlap(&s->boxes[s->order[i]], &s->boxes[s->taken[3 * k + 2]], s->iou);
        if (!keep) continue;
        int64_t *to = s->taken + 3 * s->n_taken++;
        to[0] = image;
        to[1] = class;
        to[2] = s->order[i];
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *boxes = e->in[BOXES], *scores = e->in[SCORES];
    const hn_tensor *most = hn_eval_in(e, MOST), *iou = hn_eval_in(e, IOU);
    const hn_tensor *score = hn_eval_in(e, SCORE);
    int64_t images = scores->dims[0], classes = scores->dims[1], n = scores->dims[2];
    bool center = hn_attr_i(e->node, "center_point_box") != 0;
    selection s = {.n_boxes = n,
                   .most = most != NULL ? hn_tensor_s64(most, 0) : 0,
                   .iou = iou != NULL ? hn_tensor_f64(iou, 0) : 0,
                   .score = score != NULL ? hn_tensor_f64(score, 0) : 0,
                   .has_score = score != NULL};
    if (s.most > n) s.most = n;
    if (s.most < 0 || scores->n == 0) s.most = 0;
    const double *v = hn_scratch_f64(e, boxes);
    box *all = hn_scratch(e, boxes->n / 4, sizeof *all);
    s.keys = hn_scratch(e, s.most > 0 ? n : 0, sizeof *s.keys);
    s.order = hn_scratch(e, s.most > 0 ? n : 0, sizeof *s.order);
    s.tmp = hn_scratch(e, s.most > 0 ? n : 0, sizeof *s.tmp);
    /* Never more than there are scores. */
    s.taken = hn_scratch(e, s.most > 0 ? images * classes * s.most : 0, 3 * sizeof *s.taken);
    if (v == NULL || all == NULL || s.keys == NULL || s.order == NULL || s.tmp == NULL ||
        s.taken == NULL)
        return HN_NOMEM(err);
    for (int64_t i = 0; i < boxes->n / 4; i++) all[i] = read_box(v + 4 * i, center);
    for (int64_t image = 0; s.most > 0 && image < images; image++) {
        s.boxes = all + image * n;
        for (int64_t class = 0; class < classes; class ++) select_class(&s, scores, image, class);
    }
    HN_TRY(hn_eval_alloc(e, 0, HONE_DTYPE_S64, 2, (const int64_t[]){s.n_taken, 3}, err));
    if (s.n_taken > 0) memcpy(e->out[0]->data, s.taken, (size_t)s.n_taken * 3 * sizeof *s.taken);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("center_point_box", 0), {0}};

const hn_op_def hn_op_non_max_suppression = {
    .name = "NonMaxSuppression",
    .versions = "10 11",
    .sig =
        "(boxes:f32, scores:f32, max_output_boxes_per_class:s64?, iou_threshold:f32?,"
        " score_threshold:f32?) -> (selected_indices:s64)",
    .attrs = attrs,
    .traits = HN_DYNAMIC,
    .infer = infer,
    .ref = ref,
};

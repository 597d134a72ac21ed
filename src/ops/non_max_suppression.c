/* NonMaxSuppression: of each class in each image, boxes in falling order of score (equal scores: in
 * the order of the boxes), dropping those that overlap one already taken by more than
 * iou_threshold. Only sums, products and quotients of double decide, so every machine selects the
 * same boxes.
 *
 * Scores come from a heap, so that few boxes of many cost little. Taken boxes are filed by strips
 * of the x axis: a box is compared with those alone that lie in its own strips. Detectors that put
 * each class beside the others, so that one call serves all, then compare within a class only.
 *
 *     strip     0    |    1    |    2    |    3
 *     taken    [--------]                            filed under 0 and 1
 *     box                [-------]                   looks through 1 and 2
 */
#include <math.h>

#include "ops/axes.h"

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

static box read_box(const float *v, bool center) {
    double a = (double)v[0], b = (double)v[1], c = (double)v[2], d = (double)v[3];
    if (center) return (box){a - c / 2, a + c / 2, b - d / 2, b + d / 2};
    return (box){b < d ? b : d, b < d ? d : b, a < c ? a : c, a < c ? c : a};
}

static double area(const box *b) { return (b->x1 - b->x0) * (b->y1 - b->y0); }

/* Both have an area, so none of their numbers is NaN. Most boxes lie apart: one branch tells. */
static inline bool overlap(const box *a, const box *b, double threshold) {
    double x0 = a->x0 > b->x0 ? a->x0 : b->x0, x1 = a->x1 < b->x1 ? a->x1 : b->x1;
    double y0 = a->y0 > b->y0 ? a->y0 : b->y0, y1 = a->y1 < b->y1 ? a->y1 : b->y1;
    if ((x1 <= x0) | (y1 <= y0)) return false;
    double shared = (x1 - x0) * (y1 - y0), all = area(a) + area(b) - shared;
    return shared > 0 && all > 0 && shared / all > threshold;
}

/* ---- boxes by falling score ---- */

typedef struct candidate {
    uint32_t key; /* the smaller, the higher the score; NaN has the largest */
    int64_t box;
} candidate;

static uint32_t key_of(float score) {
    uint32_t u;
    score += 0.0F; /* -0 is 0 */
    if (score != score) return UINT32_MAX;
    memcpy(&u, &score, sizeof u);
    return u >> 31 ? u : ~u & INT32_MAX;
}

static bool before(const candidate *a, const candidate *b) {
    return a->key < b->key || (a->key == b->key && a->box < b->box);
}

/* Puts c where it belongs in the heap of n below place i, which is free. */
static void sink(candidate *heap, int64_t n, int64_t i, candidate c) {
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &c)) break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

/* Heaps one after the other: whatever is in one comes before all in the next. */
enum { MOST_HEAPS = 2048 };

typedef struct heaps {
    candidate *entries;
    int64_t n;
    int64_t end[MOST_HEAPS]; /* of each heap, in entries */
    int64_t at, left;        /* the heap that is being emptied, and how many it has left */
} heaps;

static int64_t begin_of(const heaps *h, int64_t i) { return i == 0 ? 0 : h->end[i - 1]; }

static void open_heap(heaps *h, int64_t i) {
    candidate *heap = h->entries + begin_of(h, i);
    h->at = i;
    h->left = h->end[i] - begin_of(h, i);
    for (int64_t k = h->left / 2 - 1; k >= 0; k--) sink(heap, h->left, k, heap[k]);
}

/* Deals n candidates out to about half as many heaps by the leading bits of their keys, into
 * h->entries. Most heaps are then of a few, and those that are not reached are never ordered. */
static void fill_heaps(heaps *h, const candidate *from, int64_t n) {
    uint64_t least = UINT32_MAX, most = 0; /* of 64 bits, so that they can be shifted by 32 */
    int shift = 0;
    uint64_t wanted = n < 2 ? 1 : n < 2 * MOST_HEAPS ? (uint64_t)n / 2 : MOST_HEAPS;
    int64_t begin = 0;
    for (int64_t i = 0; i < n; i++) {
        least = from[i].key < least ? from[i].key : least;
        most = from[i].key > most ? from[i].key : most;
    }
    while (n > 0 && (most - least) >> shift >= wanted) shift++;
    h->n = n > 0 ? (int64_t)((most - least) >> shift) + 1 : 0;
    for (int64_t i = 0; i < h->n; i++) h->end[i] = 0;
    for (int64_t i = 0; i < n; i++) h->end[(from[i].key - least) >> shift]++;
    for (int64_t i = 0; i < h->n; i++) {
        int64_t count = h->end[i];
        h->end[i] = begin;
        begin += count;
    }
    for (int64_t i = 0; i < n; i++) h->entries[h->end[(from[i].key - least) >> shift]++] = from[i];
    if (h->n > 0) open_heap(h, 0);
}

/* Takes the box with the highest score; -1: there is none left. */
static int64_t take_box(heaps *h) {
    if (h->n == 0) return -1;
    while (h->left == 0) {
        if (h->at + 1 == h->n) return -1;
        open_heap(h, h->at + 1);
    }
    candidate *heap = h->entries + begin_of(h, h->at);
    int64_t first = heap[0].box;
    h->left--;
    sink(heap, h->left, 0, heap[h->left]);
    return first;
}

/* ---- taken boxes by place ---- */

enum { MOST_STRIPS = 4096, WIDE = 8, FEW = 32, SAMPLE = 128 };

/* A taken box in one of the lists; lists end with -1. */
typedef struct filed {
    box box;
    int64_t next;
} filed;

typedef struct strips {
    double from, per_unit; /* the x axis from there on, strips per unit */
    int64_t n;             /* 0: not laid yet */
    int64_t *first; /* [n + 1]: by strip; the last list holds boxes of more than WIDE strips */
    filed *entries;
    int64_t n_entries;
} strips;

static int64_t strip_of(const strips *s, double x) {
    double at = (x - s->from) * s->per_unit;
    return !(at > 0) ? 0 : at < (double)(s->n - 1) ? (int64_t)at : s->n - 1;
}

/* Strips about as wide as the n boxes at v are, no more of them than boxes. Some of the boxes tell:
 * what lies outside of the strips is filed under the first or the last. */
static void lay_strips(strips *s, const float *v, int64_t n, bool center) {
    double low = INFINITY, high = -INFINITY, width = 0;
    int64_t solid = 0;
    for (int64_t i = 0; i < n; i += n / SAMPLE + 1) {
        box b = read_box(v + 4 * i, center);
        if (!(area(&b) > 0) || !isfinite(b.x0) || !isfinite(b.x1)) continue;
        low = b.x0 < low ? b.x0 : low;
        high = b.x1 > high ? b.x1 : high;
        width += b.x1 - b.x0;
        solid++;
    }
    double wanted = solid > 0 ? (high - low) / width * (double)solid : 1;
    double most = (double)(n < MOST_STRIPS ? n : MOST_STRIPS);
    s->n = wanted >= 1 && wanted < most ? (int64_t)wanted : wanted >= most ? (int64_t)most : 1;
    s->from = solid > 0 ? low : 0;
    s->per_unit = high > low && isfinite(high - low) ? (double)s->n / (high - low) : 0;
}

static void file(strips *s, int64_t list, const box *b) {
    s->entries[s->n_entries] = (filed){*b, s->first[list]};
    s->first[list] = s->n_entries++;
}

static void file_all(strips *s, const box *b) {
    int64_t from = strip_of(s, b->x0), to = strip_of(s, b->x1);
    if (to - from >= WIDE) {
        file(s, s->n, b);
        return;
    }
    for (int64_t i = from; i <= to; i++) file(s, i, b);
}

static void clear_strips(strips *s) {
    s->n_entries = 0;
    for (int64_t i = 0; i <= s->n; i++) s->first[i] = -1;
}

static bool overlaps_filed(const strips *s, int64_t list, const box *b, double threshold) {
    for (int64_t k = s->first[list]; k >= 0; k = s->entries[k].next)
        if (overlap(b, &s->entries[k].box, threshold)) return true;
    return false;
}

static bool overlaps_any(const strips *s, const box *b, double threshold) {
    int64_t to = strip_of(s, b->x1);
    for (int64_t i = strip_of(s, b->x0); i <= to; i++)
        if (overlaps_filed(s, i, b, threshold)) return true;
    return overlaps_filed(s, s->n, b, threshold);
}

/* ---- all of it ---- */

typedef struct selection {
    const float *boxes; /* of the image */
    bool center;
    int64_t n_boxes, most;
    double iou;
    const float *score; /* NULL: any will do */
    candidate *found;   /* [n_boxes + 1] */
    heaps heaps;
    box few[FEW]; /* the first taken of the class that have an area */
    int64_t n_few;
    strips strips;  /* the others; laid when the first of them comes */
    int64_t *taken; /* results, 3 numbers each */
    int64_t n_taken;
} selection;

/* Without a branch for each box: which ones have the score cannot be foretold. */
static void collect(selection *s, const float *scores) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_boxes; i++) {
        s->found[n] = (candidate){key_of(scores[i]), i};
        n += s->score == NULL || scores[i] > *s->score;
    }
    fill_heaps(&s->heaps, s->found, n);
}

/* Whether box i overlaps none that is taken; if so, it is kept for those to come. */
static bool keep(selection *s, int64_t i) {
    box b = read_box(s->boxes + 4 * i, s->center);
    if (!(area(&b) > 0)) return true;
    for (int64_t k = 0; k < s->n_few; k++)
        if (overlap(&b, &s->few[k], s->iou)) return false;
    if (s->n_few < FEW) {
        s->few[s->n_few++] = b;
        if (s->n_few == FEW && s->strips.n == 0)
            lay_strips(&s->strips, s->boxes, s->n_boxes, s->center);
        if (s->n_few == FEW) clear_strips(&s->strips);
        return true;
    }
    if (overlaps_any(&s->strips, &b, s->iou)) return false;
    file_all(&s->strips, &b);
    return true;
}

static void select_class(selection *s, const float *scores, int64_t image, int64_t class) {
    int64_t last = s->n_taken + s->most, i;
    collect(s, scores);
    s->n_few = 0;
    while (s->n_taken < last && (i = take_box(&s->heaps)) >= 0) {
        if (!keep(s, i)) continue;
        memcpy(s->taken + 3 * s->n_taken++, (int64_t[]){image, class, i}, 3 * sizeof *s->taken);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *boxes = e->in[BOXES], *scores = e->in[SCORES];
    const hn_tensor *most = hn_eval_in(e, MOST), *iou = hn_eval_in(e, IOU);
    const hn_tensor *score = hn_eval_in(e, SCORE);
    int64_t images = scores->dims[0], classes = scores->dims[1], n = scores->dims[2];
    selection s = {.center = hn_attr_i(e->node, "center_point_box") != 0,
                   .n_boxes = n,
                   .most = most != NULL ? hn_tensor_s64(most, 0) : 0,
                   .iou = iou != NULL ? hn_tensor_f64(iou, 0) : 0,
                   .score = score != NULL ? score->data : NULL};
    if (s.most > n) s.most = n;
    if (s.most < 0 || scores->n == 0) s.most = 0;
    s.found = hn_scratch(e, s.most > 0 ? n + 1 : 0, sizeof *s.found);
    s.heaps.entries = hn_scratch(e, s.most > 0 ? n : 0, sizeof *s.heaps.entries);
    s.strips.first = hn_scratch(e, (n < MOST_STRIPS ? n : MOST_STRIPS) + 2, sizeof *s.strips.first);
    s.strips.entries = hn_scratch(e, s.most, WIDE * sizeof *s.strips.entries);
    /* Never more than there are scores. */
    s.taken = hn_scratch(e, s.most > 0 ? images * classes * s.most : 0, 3 * sizeof *s.taken);
    if (s.found == NULL || s.heaps.entries == NULL || s.strips.first == NULL ||
        s.strips.entries == NULL || s.taken == NULL)
        return HN_NOMEM(err);
    for (int64_t image = 0; s.most > 0 && image < images; image++) {
        s.boxes = (const float *)boxes->data + 4 * image * n;
        s.strips.n = 0;
        for (int64_t class = 0; class < classes; class ++)
            select_class(&s, (const float *)scores->data + (image * classes + class) * n, image,
                         class);
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

#include "measure/heads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PLACES 16
#define MOST_CANDIDATES 1000 /* of a sample and group: the best; detectors cut there too */
#define SLACK 1e-3           /* by which a score may leave 0..1: rounding */
#define LOGITS_BELOW (-1.5)  /* the mean of logits of which nearly all say no */
#define BACKGROUND 0.9       /* share of the places that it wins at */
#define ORDERED 0.995        /* share of the boxes that must obey their order */
#define NEAR 0.5             /* standard deviations */

/* ---- parts ---- */

static int64_t places_of(const hn_head_part *p, const hn_head_output *out, bool list) {
    const hn_head_output *o = &out[p->output];
    if (list) return o->n / p->n;
    return o->rank < 2 ? o->n : o->dims[p->across ? 1 : 0];
}

static double number_at(const hn_head_part *p, const hn_head_output *out, int64_t places,
                        int64_t place, int64_t channel) {
    const hn_head_output *o = &out[p->output];
    int64_t c = p->first + channel;
    return p->across ? o->x[c * places + place] : o->x[place * (o->n / places) + c];
}

typedef struct range {
    double least, most, mean;
} range;

static range range_of(const hn_head_part *p, const hn_head_output *out, int64_t places) {
    range r = {INFINITY, -INFINITY, 0};
    for (int64_t c = 0; c < p->n; c++)
        for (int64_t i = 0; i < places; i++) {
            double x = number_at(p, out, places, i, c);
            r.least = fmin(r.least, x);
            r.most = fmax(r.most, x);
            r.mean += x;
            if (!isfinite(x)) r.most = INFINITY;
        }
    r.mean /= (double)(p->n * places);
    return r;
}

static bool are_scores(const range *r) { return r->least >= -SLACK && r->most <= 1 + SLACK; }

/* ---- boxes ---- */

static void corners_of(const double b[4], hn_box_code code, double to[4]) {
    if (code == HN_BOX_CORNERS) {
        memcpy(to, b, 4 * sizeof *to);
        return;
    }
    to[0] = b[0] - b[2] / 2;
    to[1] = b[1] - b[3] / 2;
    to[2] = b[0] + b[2] / 2;
    to[3] = b[1] + b[3] / 2;
}

static void read_box(const hn_head_part *p, const hn_head_output *out, int64_t places, int64_t i,
                     hn_box_code code, double to[4]) {
    double b[4];
    for (int k = 0; k < 4; k++) b[k] = number_at(p, out, places, i, k);
    corners_of(b, code, to);
}

static double area_of(const double b[4]) { return fmax(b[2] - b[0], 0) * fmax(b[3] - b[1], 0); }

static double iou(const double a[4], const double b[4]) {
    const double both[4] = {fmax(a[0], b[0]), fmax(a[1], b[1]), fmin(a[2], b[2]), fmin(a[3], b[3])};
    double shared = area_of(both), all = area_of(a) + area_of(b) - shared;
    return all > 0 ? shared / all : 0;
}

/* The centres of boxes along an axis: what they spread over, and how. */
typedef struct centres {
    double least, most;
    int64_t small;   /* boxes less than half as large as this */
    int64_t side[2]; /* centres in the lower and in the upper half */
} centres;

/* Whether boxes read so are in order, and spread over the image. */
static bool is_code(const hn_head_part *p, const hn_head_output *out, int64_t places,
                    hn_box_code code) {
    int64_t ordered = 0;
    centres axis[2] = {{.least = INFINITY, .most = -INFINITY},
                       {.least = INFINITY, .most = -INFINITY}};
    double box[4];
    for (int64_t i = 0; i < places; i++) {
        read_box(p, out, places, i, code, box);
        ordered += box[2] >= box[0] && box[3] >= box[1];
        for (int k = 0; k < 2; k++) {
            axis[k].least = fmin(axis[k].least, (box[k] + box[k + 2]) / 2);
            axis[k].most = fmax(axis[k].most, (box[k] + box[k + 2]) / 2);
        }
    }
    for (int64_t i = 0; i < places; i++) {
        read_box(p, out, places, i, code, box);
        for (int k = 0; k < 2; k++) {
            centres *a = &axis[k];
            a->small += 2 * (box[k + 2] - box[k]) < a->most - a->least;
            a->side[box[k] + box[k + 2] > a->least + a->most]++;
        }
    }
    bool spreads = (double)ordered >= ORDERED * (double)places;
    for (int k = 0; k < 2; k++)
        spreads = spreads && 2 * axis[k].small > places && 5 * axis[k].side[0] >= places &&
                  5 * axis[k].side[1] >= places;
    return spreads;
}

static hn_box_code find_code(const hn_head_part *p, const hn_head_output *out, int64_t places) {
    return is_code(p, out, places, HN_BOX_CORNERS)  ? HN_BOX_CORNERS
           : is_code(p, out, places, HN_BOX_CENTRE) ? HN_BOX_CENTRE
                                                    : HN_BOX_UNKNOWN;
}

/* ---- scores ---- */

static double score_at(const hn_head_group *g, const hn_head_output *out, int64_t places, int64_t i,
                       int64_t c) {
    double x = number_at(&g->score, out, places, i, c);
    if (g->logits) x = 1 / (1 + exp(-x));
    if (g->objectness.n > 0) x *= number_at(&g->objectness, out, places, i, 0);
    return x;
}

/* The best class of a place but the background, and its score; -1: none is a number. */
static int64_t best_class(const hn_head_group *g, const hn_head_output *out, int64_t places,
                          int64_t i, double *score) {
    int64_t best = -1;
    *score = -INFINITY;
    for (int64_t c = 0; c < g->score.n; c++) {
        double x = score_at(g, out, places, i, c);
        if (!(x > *score)) continue;
        best = c;
        *score = x;
    }
    return best == g->background ? -1 : best;
}

/* A class that wins nearly everywhere also wins a vote in which each place takes one vote of
 * another class away. */
static int64_t find_background(const hn_head_group *g, const hn_head_output *out, int64_t places) {
    int64_t leader = -1, votes = 0, wins = 0;
    double score;
    if (g->score.n < 2) return -1;
    for (int64_t i = 0; i < places; i++) {
        int64_t best = best_class(g, out, places, i, &score);
        if (votes == 0) leader = best;
        votes += best == leader ? 1 : -1;
    }
    for (int64_t i = 0; i < places; i++)
        wins += best_class(g, out, places, i, &score) == leader && score > HN_DETECTED;
    return (double)wins > BACKGROUND * (double)places ? leader : -1;
}

/* ---- one tensor ---- */

/* Whether the fifth channel is the objectness: where it is high another is high too. */
static void decide_objectness(hn_head *h, const hn_head_output *out) {
    hn_head_group *g = &h->group[0];
    int64_t places = places_of(&g->score, out, false), high = 0, both = 0, any = 0;
    for (int64_t i = 0; i < places; i++) {
        double first = number_at(&g->score, out, places, i, 0), others = -INFINITY;
        for (int64_t c = 1; c < g->score.n; c++)
            others = fmax(others, number_at(&g->score, out, places, i, c));
        high += first > HN_DETECTED;
        both += first > HN_DETECTED && others > HN_DETECTED;
        any += first > HN_DETECTED || others > HN_DETECTED;
    }
    h->undecided = any == 0;
    if (2 * both <= high) return;
    g->objectness = g->score;
    g->objectness.n = 1;
    g->score.first++;
    g->score.n--;
}

static bool find_one(hn_head *h, const hn_head_output *out, int output) {
    const hn_head_output *o = &out[output];
    if (!o->is_float || o->rank != 2) return false;
    bool across = o->dims[0] < o->dims[1];
    int64_t channels = o->dims[across ? 0 : 1], places = o->dims[across ? 1 : 0];
    if (channels < 5 || places < LEAST_PLACES || places <= channels) return false;
    hn_head_group g = {
        .score = {output, 4, 0, across}, .box = {output, 0, 4, across}, .background = -1};
    while (g.score.n < channels - 4) {
        hn_head_part next = {output, 4 + g.score.n, 1, across};
        range r = range_of(&next, out, places);
        if (!are_scores(&r)) break;
        g.score.n++;
    }
    if (g.score.n == 0) return false;
    g.code = find_code(&g.box, out, places);
    if (g.code == HN_BOX_UNKNOWN) return false;
    int64_t rest = channels - 4 - g.score.n;
    if (rest > 0)
        g.companion[g.n_companions++] = (hn_head_part){output, 4 + g.score.n, rest, across};
    *h = (hn_head){.kind = HN_HEAD_GRID, .n_groups = 1, .group = {g}};
    if (g.score.n > 1) decide_objectness(h, out);
    h->group[0].background = find_background(&h->group[0], out, places);
    return true;
}

/* ---- several ---- */

/* Whether an output is [A, k], and of which A; k is 1 where there is one axis. */
static bool is_row_of_places(const hn_head_output *o, hn_head_part *p, int output) {
    if (!o->is_float || o->rank < 1 || o->rank > 2 || o->dims[0] < LEAST_PLACES) return false;
    *p = (hn_head_part){output, 0, o->rank == 2 ? o->dims[1] : 1, false};
    return p->n > 0;
}

/* Of the outputs with these places: which hold scores. False: it is not sure. */
static bool take_scores(hn_head_group *g, const hn_head_part *part, int n,
                        const hn_head_output *out, int64_t places, bool *is_score) {
    int within[2] = {-1, -1}, n_within = 0, low = -1, n_low = 0;
    for (int i = 0; i < n; i++) {
        range r = range_of(&part[i], out, places);
        is_score[i] = false;
        if (are_scores(&r) && n_within < 2) within[n_within] = i;
        n_within += are_scores(&r);
        if (isfinite(r.most) && r.mean < LOGITS_BELOW) low = i, n_low++;
    }
    if (n_within == 0 && n_low == 1) {
        g->score = part[low];
        g->logits = is_score[low] = true;
        return true;
    }
    if (n_within < 1 || n_within > 2) return false;
    int classes = within[0];
    if (n_within == 2) {
        int single = part[within[0]].n == 1 ? 0 : 1;
        if (part[within[single]].n != 1) return false;
        g->objectness = part[within[single]];
        is_score[within[single]] = true;
        classes = within[!single];
    }
    g->score = part[classes];
    is_score[classes] = true;
    return true;
}

static bool find_group(hn_head_group *g, const hn_head_output *out, int n_outputs, int64_t places) {
    enum { MOST = HN_HEAD_COMPANIONS + 2 };
    hn_head_part part[MOST];
    bool is_score[MOST], large = false;
    int n = 0;
    *g = (hn_head_group){.background = -1};
    for (int i = 0; i < n_outputs; i++) {
        hn_head_part p;
        if (!is_row_of_places(&out[i], &p, i) || out[i].dims[0] != places) continue;
        if (n == MOST) return false;
        part[n++] = p;
    }
    if (!take_scores(g, part, n, out, places, is_score)) return false;
    for (int i = 0; i < n; i++) {
        if (is_score[i]) continue;
        large |= part[i].n >= 4;
        if (part[i].n == 4 && g->box.n == 0)
            g->box = part[i];
        else
            g->companion[g->n_companions++] = part[i];
    }
    if (!large) return false;
    if (g->box.n > 0) g->code = find_code(&g->box, out, places);
    if (g->box.n > 0 && g->code == HN_BOX_UNKNOWN && g->n_companions < HN_HEAD_COMPANIONS)
        g->companion[g->n_companions++] = g->box;
    g->background = find_background(g, out, places);
    return true;
}

static bool find_several(hn_head *h, const hn_head_output *out, int n_outputs) {
    *h = (hn_head){.kind = HN_HEAD_GRID};
    for (int i = 0; i < n_outputs; i++) {
        hn_head_part p;
        bool known = false;
        if (!is_row_of_places(&out[i], &p, i)) continue;
        for (int k = 0; k < i && !known; k++)
            known = is_row_of_places(&out[k], &p, k) && out[k].dims[0] == out[i].dims[0];
        if (known || h->n_groups == HN_HEAD_GROUPS) continue;
        if (find_group(&h->group[h->n_groups], out, n_outputs, out[i].dims[0])) h->n_groups++;
    }
    return h->n_groups > 0;
}

/* ---- a list ---- */

static bool is_list_of(const hn_head_output *o, int64_t n, int64_t each, bool is_float) {
    return o->is_float == is_float && o->n == n * each && o->rank <= 3 &&
           (each == 1 || (o->rank > 0 && o->dims[o->rank - 1] == each));
}

static bool find_list(hn_head *h, const hn_head_output *out, int n_outputs) {
    int boxes = -1, scores = -1, labels = -1;
    for (int i = 0; i < n_outputs && boxes < 0; i++) {
        const hn_head_output *o = &out[i];
        bool rows = o->rank >= 2 || (o->rank == 1 && o->counted);
        if (o->is_float && rows && o->dims[o->rank - 1] == 4) boxes = i;
    }
    if (boxes < 0 || n_outputs > 4) return false;
    int64_t n = out[boxes].n / 4;
    for (int i = 0; i < n_outputs; i++) {
        if (i == boxes) continue;
        if (is_list_of(&out[i], n, 1, true) && scores < 0) scores = i;
        if (is_list_of(&out[i], n, 1, false) && labels < 0) labels = i;
    }
    if (scores < 0 || labels < 0) return false;
    hn_head_group g = {.score = {scores, 0, 1, false},
                       .box = {boxes, 0, 4, false},
                       .labels = {labels, 0, 1, false},
                       .code = HN_BOX_CORNERS,
                       .background = -1};
    range r = n > 0 ? range_of(&g.score, out, n) : (range){0, 1, 0};
    if (!are_scores(&r)) return false;
    *h = (hn_head){.kind = HN_HEAD_LIST, .n_groups = 1, .group = {g}};
    return true;
}

void hn_head_find(hn_head *h, const hn_head_output *out, int n_outputs) {
    if (find_list(h, out, n_outputs)) return;
    for (int i = 0; i < n_outputs; i++)
        if (find_one(h, out, i)) return;
    if (!find_several(h, out, n_outputs)) *h = (hn_head){.kind = HN_HEAD_NONE};
}

static bool part_is_of(const hn_head_part *p, int output) {
    return p->n > 0 && p->output == output;
}

bool hn_head_covers(const hn_head *h, int output) {
    for (int k = 0; h->kind != HN_HEAD_NONE && k < h->n_groups; k++) {
        const hn_head_group *g = &h->group[k];
        if (part_is_of(&g->score, output) || part_is_of(&g->objectness, output) ||
            part_is_of(&g->box, output) || part_is_of(&g->labels, output))
            return true;
        for (int i = 0; i < g->n_companions; i++)
            if (part_is_of(&g->companion[i], output)) return true;
    }
    return false;
}

/* ---- shapes of later samples ---- */

static bool part_fits(const hn_head_part *p, const hn_head_output *out, int64_t places, bool list) {
    const hn_head_output *o = &out[p->output];
    if (p->n == 0) return true;
    if (list) return o->n == places * p->n;
    if (o->rank < 2) return o->n == places && p->first + p->n == 1;
    return o->rank == 2 && o->dims[p->across ? 1 : 0] == places &&
           o->dims[p->across ? 0 : 1] >= p->first + p->n && o->dims[0] * o->dims[1] == o->n;
}

/* Whether a sample has all that the group was found with: sizes may depend on the input. */
static bool group_fits(const hn_head_group *g, const hn_head_output *out, bool list) {
    int64_t places = places_of(&g->score, out, list);
    bool fits = part_fits(&g->score, out, places, list) &&
                part_fits(&g->objectness, out, places, list) &&
                part_fits(&g->box, out, places, list) && part_fits(&g->labels, out, places, list);
    for (int i = 0; i < g->n_companions; i++)
        fits = fits && part_fits(&g->companion[i], out, places, list);
    return fits;
}

void hn_head_look_again(hn_head *h, const hn_head_output *out) {
    if (h->undecided && group_fits(&h->group[0], out, false)) decide_objectness(h, out);
}

/* ---- detections ---- */

typedef struct detection {
    double score, box[4];
    int64_t class_id, place;
    bool best;     /* class of its place */
    bool repeated; /* one with a higher score is about the same object */
} detection;

typedef struct side {
    const hn_head_output *out;
    int64_t places;
    int64_t n;      /* scores of at least HN_STILL_DETECTED: a place may have several */
    detection *all; /* the highest first where boxes are known, else by place */
} side;

static int by_place(const void *x, const void *y) {
    const detection *a = x, *b = y;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return a->class_id < b->class_id ? -1 : a->class_id > b->class_id;
}

static int by_score(const void *x, const void *y) {
    const detection *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return by_place(x, y);
}

static const detection *at_place(const side *s, int64_t place, int64_t class_id) {
    const detection key = {.place = place, .class_id = class_id};
    return bsearch(&key, s->all, (size_t)s->n, sizeof *s->all, by_place);
}

/* Without boxes: in a square grid, those with a higher score of their class in a cell beside them.
 */
static void mark_lower(side *s) {
    int64_t width = (int64_t)lround(sqrt((double)s->places));
    for (int64_t i = 0; width * width == s->places && i < s->n; i++) {
        detection *d = &s->all[i];
        for (int k = 0; k < 9; k++) {
            int64_t x = d->place % width + k % 3 - 1, y = d->place / width + k / 3 - 1;
            if (k == 4 || x < 0 || x >= width || y < 0 || y >= width) continue;
            const detection *beside = at_place(s, y * width + x, d->class_id);
            d->repeated |= beside != NULL && by_score(beside, d) < 0;
        }
    }
}

/* With boxes: those that one with a higher score has too. */
static void mark_repeated(side *s) {
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = 0; k < i && !s->all[i].repeated; k++)
            s->all[i].repeated = !s->all[k].repeated && s->all[k].class_id == s->all[i].class_id &&
                                 iou(s->all[k].box, s->all[i].box) >= HN_SAME_BOX;
}

/* The scores of a place that may be partners, to `to` unless it is NULL: how many. */
static int64_t detect_at(const hn_head_group *g, const side *s, int64_t place, detection *to) {
    detection d = {.place = place};
    int64_t n = 0, best = best_class(g, s->out, s->places, place, &d.score);
    if (best < 0 || d.score < HN_STILL_DETECTED) return 0;
    if (to != NULL && g->code != HN_BOX_UNKNOWN)
        read_box(&g->box, s->out, s->places, place, g->code, d.box);
    for (int64_t c = 0; c < g->score.n; c++) {
        d.score = score_at(g, s->out, s->places, place, c);
        if (c == g->background || !(d.score >= HN_STILL_DETECTED)) continue;
        d.best = c == best;
        d.class_id =
            g->labels.n > 0 ? (int64_t)number_at(&g->labels, s->out, s->places, place, 0) : c;
        if (to != NULL) to[n] = d;
        n++;
    }
    return n;
}

static hone_status detect(const hn_head_group *g, bool list, side *s, hn_allocator *alloc,
                          hn_error *err) {
    int64_t n = 0;
    s->places = places_of(&g->score, s->out, list);
    for (int64_t i = 0; i < s->places; i++) n += detect_at(g, s, i, NULL);
    s->all = hn_alloc_array(alloc, (size_t)n + 1, sizeof *s->all, HN_MEM_OTHER);
    if (s->all == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < s->places; i++) s->n += detect_at(g, s, i, s->all + s->n);
    if (g->code == HN_BOX_UNKNOWN) {
        mark_lower(s);
        return HONE_OK;
    }
    qsort(s->all, (size_t)s->n, sizeof *s->all, by_score);
    if (s->n > MOST_CANDIDATES) s->n = MOST_CANDIDATES;
    mark_repeated(s);
    return HONE_OK;
}

/* The standard deviations of a companion's channels, over all places of the original. */
static void spread_of(const hn_head_part *p, const side *a, double *spread) {
    for (int64_t c = 0; c < p->n; c++) {
        double sum = 0, square = 0, n = (double)a->places;
        for (int64_t i = 0; i < a->places; i++) {
            double x = number_at(p, a->out, a->places, i, c);
            sum += x;
            square += x * x;
        }
        spread[c] = sqrt(fmax(square / n - sum / n * (sum / n), 0));
    }
}

typedef struct match {
    const hn_head_group *g;
    const side *a, *b;
    double *spread[HN_HEAD_COMPANIONS];
} match;

/* Whether companions of place i of a are as those of place k of b. */
static bool companions_agree(const match *m, int64_t i, int64_t k) {
    for (int p = 0; p < m->g->n_companions; p++) {
        const hn_head_part *part = &m->g->companion[p];
        double sum = 0;
        for (int64_t c = 0; c < part->n; c++) {
            double off = fabs(number_at(part, m->a->out, m->a->places, i, c) -
                              number_at(part, m->b->out, m->b->places, k, c));
            if (off > 0) sum += pow(off / m->spread[p][c], 2);
        }
        if (!(sum <= NEAR * NEAR * (double)part->n)) return false;
    }
    return true;
}

static bool are_partners(const match *m, const detection *x, const detection *y, bool from_a) {
    if (x->class_id != y->class_id) return false;
    if (m->g->code != HN_BOX_UNKNOWN && iou(x->box, y->box) < HN_SAME_BOX) return false;
    return companions_agree(m, from_a ? x->place : y->place, from_a ? y->place : x->place);
}

static bool has_partner(const match *m, const detection *d, bool from_a) {
    const side *other = from_a ? m->b : m->a;
    if (m->g->code == HN_BOX_UNKNOWN) {
        const detection *there = at_place(other, d->place, d->class_id);
        return there != NULL && are_partners(m, d, there, from_a);
    }
    for (int64_t k = 0; k < other->n; k++)
        if (are_partners(m, d, &other->all[k], from_a)) return true;
    return false;
}

/* Detections of one side, and those without a partner on the other. */
static void count(const match *m, bool from_a, int64_t *all, int64_t *alone) {
    const side *of = from_a ? m->a : m->b;
    for (int64_t i = 0; i < of->n; i++) {
        const detection *d = &of->all[i];
        if (d->score <= HN_DETECTED || d->repeated || !d->best) continue;
        ++*all;
        *alone += !has_partner(m, d, from_a);
    }
}

static hone_status compare_group(const hn_head_group *g, bool list, side s[2], hn_allocator *alloc,
                                 hn_detections *out, hn_error *err) {
    match m = {.g = g, .a = &s[0], .b = &s[1]};
    hone_status status = HONE_OK;
    for (int k = 0; k < 2 && status == HONE_OK; k++) status = detect(g, list, &s[k], alloc, err);
    for (int p = 0; p < g->n_companions && status == HONE_OK; p++) {
        size_t n = (size_t)g->companion[p].n;
        m.spread[p] = hn_alloc_array(alloc, n, sizeof *m.spread[p], HN_MEM_OTHER);
        if (m.spread[p] == NULL)
            status = HN_NOMEM(err);
        else
            spread_of(&g->companion[p], &s[0], m.spread[p]);
    }
    if (status == HONE_OK) {
        count(&m, true, &out->wanted, &out->lost);
        count(&m, false, &out->found, &out->added);
    }
    for (int p = 0; p < g->n_companions; p++) hn_free(alloc, m.spread[p]);
    for (int k = 0; k < 2; k++) hn_free(alloc, s[k].all);
    return status;
}

hone_status hn_head_compare(const hn_head *h, const hn_head_output *a, const hn_head_output *b,
                            hn_allocator *alloc, hn_detections *out, hn_error *err) {
    *out = (hn_detections){0};
    bool list = h->kind == HN_HEAD_LIST;
    for (int i = 0; i < h->n_groups; i++) {
        side s[2] = {{.out = a}, {.out = b}};
        if (!group_fits(&h->group[i], a, list)) continue;
        HN_CHECK(err, group_fits(&h->group[i], b, list), HONE_E_SHAPE,
                 "the boxes, scores and labels of a detector differ in number");
        HN_TRY(compare_group(&h->group[i], list, s, alloc, out, err));
    }
    return HONE_OK;
}

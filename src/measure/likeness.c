#include "measure/likeness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/interval.h"

#define TOKENS 8192   /* a row of more numbers holds scores of tokens */
#define QUIET 0.05    /* of the largest value: what the noise of a quiet channel is compared with */
#define MOST_PEAKS 10 /* of a channel and sample */
#define LEAST_VALUES 20 /* of a channel and sample, for an order of the highest */
#define PEAK_STAYS 0.1  /* of the channel's range */

typedef struct channel {
    hn_ratio noise; /* by sample: the sum of squares, of so many values */
    double sum, square;
    double largest; /* |value| */
    int64_t peaks, kept;
    bool broken; /* something is not finite on one side only */
} channel;

typedef struct compared {
    hn_ratio same; /* answers or labels, by sample */
    int64_t n_channels;
    channel *channels;
    double *x[2]; /* a sample of the original and of the other */
    int64_t room[2];
} compared;

struct hn_likeness {
    hn_output_forms *forms;
    hn_allocator *alloc;
    int n;
    compared *of;
    hn_head_output *view[2];
    double *line[2]; /* one channel */
    int64_t line_room[2];
    int64_t samples;
    hn_ratio kept; /* detections, by sample */
    hn_detections detections;
};

/* ---- forms ---- */

hone_status hn_output_forms_init(hn_output_forms *f, const hn_graph *original, bool noise,
                                 hn_arena *arena, hn_error *err) {
    *f = (hn_output_forms){.graph = original, .noise = noise};
    f->of = hn_arena_array(arena, (size_t)original->n_outputs + 1, sizeof *f->of);
    return f->of != NULL ? HONE_OK : HN_NOMEM(err);
}

/* An axis of a sample: the element (before, k, behind) is at (before * n + k) * stride + behind. */
typedef struct axis {
    int64_t outer, n, stride;
} axis;

static axis axis_of(const hn_head_output *o, int at) {
    axis a = {1, 1, 1};
    if (at >= o->rank) at = o->rank - 1; /* the rank may depend on the input */
    if (at < 0) return (axis){1, 1, o->n};
    for (int i = 0; i < at; i++) a.outer *= o->dims[i];
    a.n = o->dims[at];
    for (int i = at + 1; i < o->rank; i++) a.stride *= o->dims[i];
    return a;
}

static int64_t at_row(const axis *a, int64_t row) {
    return row / a->stride * a->n * a->stride + row % a->stride;
}

static bool are_probabilities(const hn_head_output *o, int at) {
    axis a = axis_of(o, at);
    for (int64_t row = 0; row < a.outer * a.stride; row++) {
        const double *x = o->x + at_row(&a, row);
        double sum = 0;
        for (int64_t k = 0; k < a.n; k++) {
            double v = x[k * a.stride];
            if (!(v >= -1e-3 && v <= 1 + 1e-3)) return false;
            sum += v;
        }
        if (!(fabs(sum - 1) < 1e-2)) return false;
    }
    return a.n > 1 && o->n > 0;
}

static bool has_length_one(const hn_head_output *o) {
    double sum = 0;
    for (int64_t i = 0; i < o->n; i++) sum += o->x[i] * o->x[i];
    return fabs(sum - 1) < 1e-3;
}

static int channel_axis(const hn_head_output *o) {
    if (o->rank < 2) return o->rank - 1;
    if (o->rank == 2) return o->dims[0] < o->dims[1] / 4 ? 0 : 1;
    if (o->rank > 3) return o->rank - 1;
    return o->dims[2] < o->dims[0] && o->dims[2] < o->dims[1] ? 2 : 0;
}

/* Whether a sample of an input has as many numbers. */
static bool is_as_an_input(const hn_head_output *o, const hn_tensor *const *in, int n_in,
                           int64_t rows) {
    for (int i = 0; i < n_in; i++)
        if (in[i] != NULL && in[i]->n == o->n * rows && hn_dtype_is_float(in[i]->dtype))
            return true;
    return false;
}

static hn_output_form form_of(const hn_output_forms *f, const hn_head_output *o, bool by_row,
                              const hn_tensor *const *in, int64_t rows) {
    hn_output_form channels = {HN_OUTPUT_CHANNELS, by_row || o->rank > 1 ? channel_axis(o) : -1};
    if (!o->is_float) return (hn_output_form){HN_OUTPUT_LABELS, -1};
    if (f->noise || o->rank < 1) return channels;
    int to_last = o->rank > 1 ? o->rank - 1 : 1;
    for (int at = 0; at < o->rank; at += to_last)
        if (are_probabilities(o, at)) return (hn_output_form){HN_OUTPUT_ANSWERS, at};
    bool scores = o->rank == 1 && by_row && o->n > 1 && !has_length_one(o) &&
                  !is_as_an_input(o, in, f->graph->n_inputs, rows);
    if (scores || o->dims[o->rank - 1] > TOKENS)
        return (hn_output_form){HN_OUTPUT_ANSWERS, o->rank - 1};
    return channels;
}

/* ---- a sample ---- */

static hone_status make_room(hn_allocator *alloc, double **block, int64_t *room, int64_t n,
                             hn_error *err) {
    if (*block != NULL && *room >= n) return HONE_OK;
    hn_free(alloc, *block);
    *room = 0;
    *block = hn_alloc_array(alloc, (size_t)n + 1, sizeof **block, HN_MEM_OTHER);
    if (*block == NULL) return HN_NOMEM(err);
    *room = n;
    return HONE_OK;
}

static bool is_by_row(const hn_tensor *t, int64_t rows) {
    return t->rank > 0 && t->dims[0] == rows;
}

/* Whether the model leaves the first dim of an output open, and no input has it. */
static bool is_counted(const hn_graph *g, int output) {
    const hn_shape *shape = &g->outputs[output].value->type.shape;
    int64_t unused;
    if (shape->rank < 1 || hn_dim_is_const(shape->dim[0], &unused)) return false;
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i]->type.shape.rank > 0 && g->inputs[i]->type.shape.dim[0] == shape->dim[0])
            return false;
    return true;
}

/* Sample s of an output as doubles. One without an axis for the batch is all of sample 0. */
static hone_status view_sample(hn_likeness *l, int side, int i, const hn_tensor *t, int64_t rows,
                               int64_t s, hn_error *err) {
    compared *c = &l->of[i];
    hn_head_output *o = &l->view[side][i];
    bool by_row = is_by_row(t, rows), text = t->dtype == HONE_DTYPE_STRING;
    *o = (hn_head_output){.n = by_row ? t->n / rows : t->n, .rank = t->rank - by_row};
    if (text || (!by_row && s > 0)) o->n = 0;
    for (int d = 0; d < o->rank; d++) o->dims[d] = t->dims[d + by_row];
    o->is_float = hn_dtype_is_float(t->dtype);
    o->counted = is_counted(l->forms->graph, i);
    HN_TRY(make_room(l->alloc, &c->x[side], &c->room[side], o->n, err));
    if (o->n > 0) hn_load_f64_n(t->dtype, t->data, by_row ? s * o->n : 0, o->n, c->x[side]);
    o->x = c->x[side];
    return HONE_OK;
}

/* ---- answers ---- */

/* The place of the highest number; -1: there is none. */
static int64_t highest(const double *x, int64_t n, int64_t stride) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(x[i * stride]) && (best < 0 || x[i * stride] > x[best * stride])) best = i;
    return best;
}

static void add_answers(compared *c, const hn_head_output *a, const hn_head_output *b, int at) {
    axis x = axis_of(a, at);
    int64_t rows = x.outer * x.stride, same = 0;
    if (a->n == 0) return;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = at_row(&x, r);
        same += highest(a->x + from, x.n, x.stride) == highest(b->x + from, x.n, x.stride);
    }
    hn_ratio_add(&c->same, (double)same, (double)rows);
}

static void add_labels(compared *c, const hn_head_output *a, const hn_head_output *b) {
    int64_t same = 0;
    for (int64_t i = 0; i < a->n; i++) same += a->x[i] == b->x[i];
    if (a->n > 0) hn_ratio_add(&c->same, (double)same, (double)a->n);
}

/* ---- channels ---- */

static void add_noise(channel *c, const double *a, const double *b, int64_t n) {
    double noise = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i])) {
            c->broken |= !(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
            continue;
        }
        noise += (a[i] - b[i]) * (a[i] - b[i]);
        c->sum += a[i];
        c->square += a[i] * a[i];
        c->largest = fmax(c->largest, fabs(a[i]));
        counted++;
    }
    if (counted > 0) hn_ratio_add(&c->noise, noise, (double)counted);
}

/* The places of the k highest values, in any order. */
static void find_highest(const double *x, int64_t n, int k, int64_t *place) {
    int have = 0, low = 0;
    for (int64_t i = 0; i < n; i++) {
        if (have == k && !(x[i] > x[place[low]])) continue;
        place[have < k ? have++ : low] = i;
        for (int j = low = 0; j < have; j++)
            if (!(x[place[j]] >= x[place[low]])) low = j;
    }
}

/* Whether fewer than `most` other values are as high; ties count against it. */
static bool is_among(const double *x, int64_t n, int64_t at, int64_t most) {
    int64_t as_high = 0;
    for (int64_t i = 0; i < n && as_high < most; i++) as_high += i != at && !(x[i] < x[at]);
    return as_high < most;
}

static void add_peaks(channel *c, const double *a, const double *b, int64_t n) {
    int64_t place[MOST_PEAKS];
    double least = INFINITY, most = -INFINITY;
    if (n < LEAST_VALUES) return;
    int k = n / 10 < MOST_PEAKS ? (int)(n / 10) : MOST_PEAKS;
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, a[i]);
        most = fmax(most, a[i]);
    }
    find_highest(a, n, k, place);
    c->peaks += k;
    for (int i = 0; i < k; i++) {
        int64_t at = place[i];
        c->kept += a[at] == b[at] || fabs(a[at] - b[at]) <= PEAK_STAYS * (most - least) ||
                   is_among(b, n, at, 2 * k);
    }
}

static hone_status make_channels(hn_likeness *l, compared *c, int64_t n, hn_error *err) {
    if (n <= c->n_channels) return HONE_OK;
    channel *more = hn_alloc_array(l->alloc, (size_t)n, sizeof *more, HN_MEM_OTHER);
    if (more == NULL) return HN_NOMEM(err);
    memset(more, 0, (size_t)n * sizeof *more);
    if (c->n_channels > 0) memcpy(more, c->channels, (size_t)c->n_channels * sizeof *more);
    hn_free(l->alloc, c->channels);
    c->channels = more;
    c->n_channels = n;
    return HONE_OK;
}

static hone_status add_channels(hn_likeness *l, compared *c, const hn_head_output *a,
                                const hn_head_output *b, int at, hn_error *err) {
    axis x = axis_of(a, at);
    int64_t n = x.outer * x.stride;
    if (a->n == 0) return HONE_OK;
    HN_TRY(make_channels(l, c, x.n, err));
    for (int k = 0; k < 2; k++) HN_TRY(make_room(l->alloc, &l->line[k], &l->line_room[k], n, err));
    for (int64_t k = 0; k < x.n; k++) {
        for (int64_t r = 0; r < n; r++) {
            int64_t from = at_row(&x, r) + k * x.stride;
            l->line[0][r] = a->x[from];
            l->line[1][r] = b->x[from];
        }
        add_noise(&c->channels[k], l->line[0], l->line[1], n);
        add_peaks(&c->channels[k], l->line[0], l->line[1], n);
    }
    return HONE_OK;
}

/* ---- adding ---- */

hone_status hn_likeness_create(hn_likeness **out, hn_output_forms *forms, hn_allocator *alloc,
                               hn_error *err) {
    hn_likeness *l = hn_alloc_zero(alloc, sizeof *l, HN_MEM_OTHER);
    if (l == NULL) return HN_NOMEM(err);
    l->forms = forms;
    l->alloc = alloc;
    l->n = forms->graph->n_outputs;
    size_t n = (size_t)l->n + 1;
    l->of = hn_alloc_zero(alloc, n * sizeof *l->of, HN_MEM_OTHER);
    for (int k = 0; k < 2; k++)
        l->view[k] = hn_alloc_zero(alloc, n * sizeof *l->view[k], HN_MEM_OTHER);
    if (l->of == NULL || l->view[0] == NULL || l->view[1] == NULL) {
        hn_likeness_destroy(l);
        return HN_NOMEM(err);
    }
    *out = l;
    return HONE_OK;
}

void hn_likeness_destroy(hn_likeness *l) {
    if (l == NULL) return;
    for (int i = 0; l->of != NULL && i < l->n; i++) {
        hn_free(l->alloc, l->of[i].channels);
        for (int k = 0; k < 2; k++) hn_free(l->alloc, l->of[i].x[k]);
    }
    for (int k = 0; k < 2; k++) {
        hn_free(l->alloc, l->view[k]);
        hn_free(l->alloc, l->line[k]);
    }
    hn_free(l->alloc, l->of);
    hn_free(l->alloc, l);
}

static void look(hn_likeness *l, const hn_tensor *const *in, const hn_tensor *const *a,
                 int64_t rows) {
    hn_output_forms *f = l->forms;
    if (f->looked) {
        if (!f->noise) hn_head_look_again(&f->head, l->view[0]);
        return;
    }
    f->looked = true;
    for (int i = 0; i < l->n; i++)
        f->of[i] = a[i]->dtype == HONE_DTYPE_STRING
                       ? (hn_output_form){HN_OUTPUT_TEXT, -1}
                       : form_of(f, &l->view[0][i], is_by_row(a[i], rows), in, rows);
    if (!f->noise) hn_head_find(&f->head, l->view[0], l->n);
}

static bool have_one_shape(const hn_tensor *a, const hn_tensor *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static bool have_one_kind(hone_dtype a, hone_dtype b) {
    return hn_dtype_is_float(a) == hn_dtype_is_float(b) &&
           (a == HONE_DTYPE_STRING) == (b == HONE_DTYPE_STRING);
}

static bool is_in_list(const hn_likeness *l, int i) {
    return l->forms->head.kind == HN_HEAD_LIST && hn_head_covers(&l->forms->head, i);
}

static hone_status check(const hn_likeness *l, const hn_tensor *const *a, const hn_tensor *const *b,
                         hn_error *err) {
    for (int i = 0; i < l->n; i++) {
        const char *name = l->forms->graph->outputs[i].value->name;
        HN_CHECK(err, have_one_kind(a[i]->dtype, b[i]->dtype), HONE_E_TYPE,
                 "the models cannot be compared: '%s' is %s in the first and %s in the second",
                 name, hone_dtype_name(a[i]->dtype), hone_dtype_name(b[i]->dtype));
        HN_CHECK(err, is_in_list(l, i) || have_one_shape(a[i], b[i]), HONE_E_SHAPE,
                 "the models cannot be compared: the shapes of '%s' differ", name);
    }
    return HONE_OK;
}

static hone_status add_detections(hn_likeness *l, hn_error *err) {
    hn_detections d;
    HN_TRY(hn_head_compare(&l->forms->head, l->view[0], l->view[1], l->alloc, &d, err));
    /* One that moved is lost here and added there, and counts once. */
    int64_t missed = d.lost > d.added ? d.lost : d.added;
    hn_ratio_add(&l->kept, (double)(d.wanted - missed), (double)d.wanted);
    l->detections.wanted += d.wanted;
    l->detections.found += d.found;
    l->detections.lost += d.lost;
    l->detections.added += d.added;
    return HONE_OK;
}

static hone_status add_output(hn_likeness *l, int i, hn_error *err) {
    const hn_output_form *f = &l->forms->of[i];
    const hn_head_output *a = &l->view[0][i], *b = &l->view[1][i];
    if (is_in_list(l, i) || f->kind == HN_OUTPUT_TEXT) return HONE_OK;
    if (f->kind == HN_OUTPUT_CHANNELS) return add_channels(l, &l->of[i], a, b, f->axis, err);
    if (f->kind == HN_OUTPUT_ANSWERS)
        add_answers(&l->of[i], a, b, f->axis);
    else
        add_labels(&l->of[i], a, b);
    return HONE_OK;
}

hone_status hn_likeness_add(hn_likeness *l, const hn_tensor *const *in, const hn_tensor *const *a,
                            const hn_tensor *const *b, int64_t rows, int64_t samples,
                            hn_error *err) {
    for (int64_t s = 0; s < samples; s++) {
        for (int i = 0; i < l->n; i++) HN_TRY(view_sample(l, 0, i, a[i], rows, s, err));
        look(l, in, a, rows);
        if (s == 0) HN_TRY(check(l, a, b, err));
        for (int i = 0; i < l->n; i++) HN_TRY(view_sample(l, 1, i, b[i], rows, s, err));
        for (int i = 0; i < l->n; i++) HN_TRY(add_output(l, i, err));
        if (l->forms->head.kind != HN_HEAD_NONE) HN_TRY(add_detections(l, err));
        l->samples++;
    }
    return HONE_OK;
}

/* ---- figures ---- */

static const hn_likeness_result no_figure = {
    .value = NAN, .low = NAN, .high = NAN, .output = -1, .channel = -1, .sqnr_db = NAN};

static double within_one(double x) { return fmin(fmax(x, 0), 1); }

/* A share of things that come several to a sample: not better known than if they were independent,
 * nor than the samples say. */
static void set_share(hn_likeness_result *f, const hn_ratio *r) {
    f->value = within_one(hn_ratio_value(r));
    f->counted = r->weight;
    hn_interval by_count =
                    hn_interval_share((int64_t)fmax(f->value * r->weight, 0), (int64_t)r->weight),
                by_sample = hn_ratio_interval(r);
    f->low = within_one(fmin(by_count.low, by_sample.low));
    f->high = within_one(fmax(by_count.high, by_sample.high));
}

static hn_likeness_result of_answers(const compared *c, int output) {
    hn_likeness_result f = no_figure;
    f.measure = "agreement";
    f.output = output;
    if (c->same.n == 0) return f;
    set_share(&f, &c->same);
    f.of = (int64_t)c->same.weight;
    f.missed = (int64_t)(c->same.weight - c->same.part);
    return f;
}

static bool is_unit(const channel *c) { return c->largest <= 1; }

/* What noise in a channel is compared with: its variance, or that of a quiet one. */
static double power_of(const channel *c, double largest) {
    double n = c->noise.weight, mean = c->sum / n, floor = QUIET * largest;
    return fmax(c->square / n - mean * mean, floor * floor);
}

static void set_signal(hn_likeness_result *f, const channel *c, double power) {
    double noise = hn_ratio_value(&c->noise);
    hn_interval i = hn_ratio_interval(&c->noise);
    f->value = noise > 0 ? within_one(1 - noise / power) : 1;
    f->low = noise > 0 ? within_one(1 - i.high / power) : 1;
    f->high = noise > 0 ? within_one(1 - i.low / power) : 1;
    if (isnan(i.low)) f->low = f->high = NAN;
    f->sqnr_db = noise > 0 ? 10 * log10(power / noise) : INFINITY;
    if (c->broken) f->value = f->low = f->high = 0, f->sqnr_db = -INFINITY;
}

static void set_order(hn_likeness_result *f, const channel *c) {
    hn_interval i = hn_interval_share(c->kept, c->peaks);
    f->value = (double)c->kept / (double)c->peaks;
    f->low = i.low;
    f->high = i.high;
    f->of = c->peaks;
    f->missed = c->peaks - c->kept;
}

static bool is_worse(const hn_likeness_result *a, const hn_likeness_result *b) {
    return isnan(b->value) || a->value < b->value;
}

static hn_likeness_result of_channels(const hn_likeness *l, const compared *c, int output) {
    hn_likeness_result worst = no_figure;
    double unit = 0; /* the largest value of the channels within -1..1 */
    worst.measure = "signal kept";
    worst.output = output;
    for (int64_t k = 0; k < c->n_channels; k++)
        if (is_unit(&c->channels[k])) unit = fmax(unit, c->channels[k].largest);
    for (int64_t k = 0; k < c->n_channels; k++) {
        const channel *x = &c->channels[k];
        double largest = is_unit(x) ? unit : x->largest;
        hn_likeness_result f = no_figure;
        f.measure = worst.measure;
        f.output = output;
        f.channel = k;
        f.counted = (double)l->samples;
        if (x->noise.n == 0 && !x->broken) continue;
        set_signal(&f, x, power_of(x, largest));
        if (is_worse(&f, &worst)) worst = f;
        if (x->peaks == 0 || x->largest < QUIET * largest) continue;
        set_order(&f, x);
        f.sqnr_db = NAN;
        if (is_worse(&f, &worst)) worst = f;
    }
    return worst;
}

hn_likeness_result hn_likeness_of(const hn_likeness *l, int output) {
    hn_output_kind kind = l->forms->of[output].kind;
    if (kind == HN_OUTPUT_TEXT) return no_figure;
    return kind == HN_OUTPUT_CHANNELS ? of_channels(l, &l->of[output], output)
                                      : of_answers(&l->of[output], output);
}

static hn_likeness_result of_head(const hn_likeness *l) {
    hn_likeness_result f = no_figure;
    f.measure = "detections kept";
    f.detections = l->detections;
    if (l->detections.wanted > 0)
        set_share(&f, &l->kept);
    else
        f.value = l->detections.added > 0 ? 0 : 1; /* where there was nothing nothing is found */
    return f;
}

static bool judges_alone(const hn_likeness *l) {
    return l->forms->head.kind == HN_HEAD_LIST || l->detections.wanted >= HN_FEW_DETECTIONS;
}

hn_likeness_result hn_likeness_figure(const hn_likeness *l) {
    bool head = l->forms->head.kind != HN_HEAD_NONE;
    int kinds[HN_OUTPUT_TEXT + 1] = {0};
    hn_likeness_result worst = head ? of_head(l) : no_figure;
    for (int i = 0; i < l->n; i++) {
        if (head && judges_alone(l) && hn_head_covers(&l->forms->head, i)) continue;
        hn_likeness_result f = hn_likeness_of(l, i);
        if (isnan(f.value)) continue;
        kinds[l->forms->of[i].kind]++;
        if (is_worse(&f, &worst)) worst = f;
    }
    bool several = head || kinds[HN_OUTPUT_ANSWERS] + kinds[HN_OUTPUT_LABELS] > 0;
    worst.measure = head && judges_alone(l) ? "detections kept"
                    : several               ? "agreement"
                                            : "signal kept";
    return worst;
}

void hn_likeness_result_text(const hn_likeness_result *f, const hn_output_forms *forms, char *buf,
                             size_t bytes) {
    const char *name = f->output >= 0 ? forms->graph->outputs[f->output].value->name : "";
    if (isnan(f->value))
        snprintf(buf, bytes, "nothing was compared");
    else if (f->output < 0)
        snprintf(buf, bytes, "%lld of %lld detections lost, %lld added",
                 (long long)f->detections.lost, (long long)f->detections.wanted,
                 (long long)f->detections.added);
    else if (f->channel < 0)
        snprintf(buf, bytes, "output '%s': %lld of %lld answers differ", name, (long long)f->missed,
                 (long long)f->of);
    else if (isnan(f->sqnr_db))
        snprintf(buf, bytes, "output '%s', channel %lld: %lld of %lld highest values fall behind",
                 name, (long long)f->channel, (long long)f->missed, (long long)f->of);
    else if (isinf(f->sqnr_db))
        snprintf(buf, bytes, "output '%s', channel %lld: %s", name, (long long)f->channel,
                 f->sqnr_db > 0 ? "exact" : "values are not finite");
    else
        snprintf(buf, bytes, "output '%s', channel %lld: signal to noise %.1f dB", name,
                 (long long)f->channel, f->sqnr_db);
}

/* grid_sample_f32 over the vector vocabulary. A task is a block of positions of an image, in a
 * group of its channels.
 *
 * The taps of the positions are found once for the group, as lists of offsets and weights. Channels
 * adjacent: those of a position are summed in the lanes. Channels apart: a few channels at a time
 * go through the lists, so that offsets and weights are loaded once for them. A group is no larger
 * than a near cache, since positions may lie anywhere in it.
 */
#include "kernels/grid_sample_f32/grid_sample_f32.h"
#include "kernels/grid_sample_f32/grid_sample_f32_taps.h"
#include "simd/part.h"

enum {
    BLOCK = 64,
    MOST = SAMPLE_TAPS * SAMPLE_TAPS * SAMPLE_TAPS,
    TOGETHER = 4,           /* channels */
    GROUP_FLOATS = 1 << 18, /* of the channels of a group, where channels are apart */
    TURNED_CHANNELS = 8,    /* the fewest that are worth turning */
    TURNED_FLOATS = 1 << 24,
    TURNED_GROUP = 1 << 19, /* floats of the channels of a group */
};

/* Taps along all axes: offsets within a plane. */
typedef struct spots {
    int32_t n;
    struct {
        int32_t at;
        float weight;
    } tap[MOST];
} spots;

static bool ok(const void *problem, const char **why) {
    const hn_grid_sample_f32 *p = problem;
    double reach = (double)p->d * (double)p->x_slice + (double)p->h * (double)p->x_row +
                   (double)p->w * (double)p->x_pixel;
    if (reach < 0x1p31) return true;
    return *why = "very large images", false;
}

static bool adjacent(const hn_grid_sample_f32 *p) {
    return p->c > 1 && p->x_channel == 1 && p->y_channel == 1;
}

/* Whether images are turned. */
static bool turned(const hn_grid_sample_f32 *p) {
    int64_t pixels = p->d * p->h * p->w;
    return !adjacent(p) && p->c >= TURNED_CHANNELS && p->y_position == 1 &&
           p->positions >= pixels / 4 && pixels <= TURNED_FLOATS / (p->images * (p->c + HN_VL));
}

/* Vectors of all channels. */
static int64_t vectors_of(const hn_grid_sample_f32 *p) { return (p->c + HN_VL - 1) / HN_VL; }

/* Channels of a group. */
static int64_t group_of(const hn_grid_sample_f32 *p) {
    int64_t vectors = TURNED_GROUP / (p->d * p->h * p->w * HN_VL);
    if (turned(p))
        return HN_VL * (vectors < 1 ? 1 : vectors < vectors_of(p) ? vectors : vectors_of(p));
    int64_t most = GROUP_FLOATS / (p->d * p->h * p->w) / TOGETHER * TOGETHER;
    if (adjacent(p) || most >= p->c) return p->c;
    return most > 2 * TOGETHER ? most : 2 * TOGETHER;
}

static int64_t groups_of(const hn_grid_sample_f32 *p) {
    return (p->c + group_of(p) - 1) / group_of(p);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_grid_sample_f32 *p = problem;
    (void)lanes;
    int64_t parts = p->images * groups_of(p), blocks = (p->positions + BLOCK - 1) / BLOCK;
    *w = (hn_work){.n_phases = 1, .tasks = {parts * blocks}, .lane_scratch = BLOCK * sizeof(spots)};
    if (!turned(p)) return;
    w->n_phases = 2;
    w->tasks[0] = p->images * vectors_of(p) * p->d * p->h, w->tasks[1] = parts * blocks;
    w->scratch = (size_t)(w->tasks[0] * p->w * HN_VL) * sizeof(float);
}

/* ---- lists ---- */

static void put(spots *s, int64_t at, double weight) {
    s->tap[s->n].at = (int32_t)at;
    s->tap[s->n++].weight = (float)weight;
}

static void find_spots(const hn_grid_sample_f32 *p, const float *at, spots *s) {
    sample_taps t[3];
    sample_all_taps(p, at, t);
    s->n = 0;
    for (int e = 0; e < t[2].n; e++)
        for (int r = 0; r < t[1].n; r++)
            for (int k = 0; k < t[0].n; k++)
                put(s, t[2].at[e] * p->x_slice + t[1].at[r] * p->x_row + t[0].at[k] * p->x_pixel,
                    t[2].weight[e] * t[1].weight[r] * t[0].weight[k]);
}

/* The element below coordinate v of an axis, and how far above it v lies. False: not between two
 * elements. */
static bool find_between(const hn_grid_sample_f32 *p, float v, int64_t size, int64_t *low,
                         double *up) {
    double x = sample_position(p, (double)v, size);
    if (!(x > 0 && x < (double)(size - 1))) return false;
    *low = (int64_t)x;
    *up = x - (double)*low;
    return *up != 0;
}

/* Linear, all taps inside and none of weight 0: nearly all positions of most models. False: this
 * one is not of them. */
static bool find_inside(const hn_grid_sample_f32 *p, const float *at, spots *s) {
    int64_t column, row, slice = 0;
    double right, down, deep = 0;
    if (p->axes < 2 || !find_between(p, at[0], p->w, &column, &right) ||
        !find_between(p, at[1], p->h, &row, &down) ||
        (p->axes == 3 && !find_between(p, at[2], p->d, &slice, &deep)))
        return false;
    s->n = 0;
    for (int e = 0; e < p->axes - 1; e++) {
        int64_t first = (slice + e) * p->x_slice + row * p->x_row + column * p->x_pixel;
        double weight = e == 0 ? 1 - deep : deep;
        put(s, first, weight * (1 - down) * (1 - right));
        put(s, first + p->x_pixel, weight * (1 - down) * right);
        put(s, first + p->x_row, weight * down * (1 - right));
        put(s, first + p->x_row + p->x_pixel, weight * down * right);
    }
    return true;
}

/* ---- sums ---- */

HN_INLINE void sum(const float *x, const spots *s, float *y, int64_t n) {
    hn_vf total = hn_v_set1(0);
    for (int k = 0; k < s->n; k++)
        total = hn_v_fma(hn_v_set1(s->tap[k].weight), hn_v_load_part(x + s->tap[k].at, n), total);
    hn_v_store_part(y, total, n);
}

static void run_adjacent(const hn_grid_sample_f32 *p, const float *x, const spots *s, float *y) {
    int64_t c = 0;
    for (; c + HN_VL <= p->c; c += HN_VL) sum(x + c, s, y + c, HN_VL);
    if (c < p->c) sum(x + c, s, y + c, p->c - c);
}

/* A position in `channels` channels, by its first `count` taps, four at a time. */
HN_INLINE void sum_planes(const hn_grid_sample_f32 *p, const float *x, const spots *s, float *y,
                          int channels, int count) {
    float total[TOGETHER] = {0};
    for (int k = 0; k < count; k++) {
        const float *at = x + s->tap[k].at;
        float weight = s->tap[k].weight;
        for (int c = 0; c < channels; c++) total[c] += weight * at[c * p->x_channel];
    }
    for (int c = 0; c < channels; c++) y[c * p->y_channel] = total[c];
}

/* n positions in `channels` channels. */
HN_INLINE void run_planes(const hn_grid_sample_f32 *p, const float *x, const spots *list, int64_t n,
                          float *y, int channels) {
    for (int64_t i = 0; i < n; i++, y += p->y_position) {
        if (list[i].n == 4)
            sum_planes(p, x, &list[i], y, channels, 4);
        else if (list[i].n == 8)
            sum_planes(p, x, &list[i], y, channels, 8);
        else
            sum_planes(p, x, &list[i], y, channels, list[i].n);
    }
}

static void run_apart(const hn_grid_sample_f32 *p, const float *x, const spots *list, int64_t n,
                      float *y, int64_t channels) {
    int64_t c = 0;
    for (; c + TOGETHER <= channels; c += TOGETHER)
        run_planes(p, x + c * p->x_channel, list, n, y + c * p->y_channel, TOGETHER);
    for (; c < channels; c++) run_planes(p, x + c * p->x_channel, list, n, y + c * p->y_channel, 1);
}

/* ---- turned images: [images][vectors][d][h][w][HN_VL] ---- */

/* n pixels of a row, at most HN_VL, of `channels` channels; lanes without a channel are 0. */
static void turn_pixels(const hn_grid_sample_f32 *p, const float *x, int64_t channels, int64_t n,
                        float *to) {
    if (p->x_pixel == 1 && channels == HN_VL && n == HN_VL) {
        hn_vf rows[HN_VL];
        for (int c = 0; c < HN_VL; c++) rows[c] = hn_v_load(x + c * p->x_channel);
        hn_v_transpose(rows);
        for (int i = 0; i < HN_VL; i++) hn_v_store(to + i * HN_VL, rows[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < HN_VL; c++)
            to[i * HN_VL + c] = c < channels ? x[i * p->x_pixel + c * p->x_channel] : 0;
}

static void turn_rows(const hn_grid_sample_f32 *p, const hn_call *call, int64_t begin,
                      int64_t end) {
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task % p->h, slice = task / p->h % p->d;
        int64_t vector = task / p->h / p->d, first = vector % vectors_of(p) * HN_VL;
        int64_t channels = p->c - first < HN_VL ? p->c - first : HN_VL;
        const float *x = (const float *)call->ptr[HN_GRID_SAMPLE_X] +
                         vector / vectors_of(p) * p->x_image + first * p->x_channel +
                         slice * p->x_slice + row * p->x_row;
        float *to = (float *)call->scratch + task * p->w * HN_VL;
        for (int64_t i = 0; i < p->w; i += HN_VL)
            turn_pixels(p, x + i * p->x_pixel, channels, p->w - i < HN_VL ? p->w - i : HN_VL,
                        to + i * HN_VL);
    }
}

/* n positions, at most HN_VL, of a vector of channels. */
static void sum_turned(const hn_grid_sample_f32 *p, const float *x, const spots *list, int64_t n,
                       float *y, int64_t channels) {
    hn_vf rows[HN_VL];
    for (int64_t i = 0; i < HN_VL; i++) {
        hn_vf total = hn_v_set1(0.0f);
        for (int k = 0; i < n && k < list[i].n; k++)
            total =
                hn_v_fma(hn_v_set1(list[i].tap[k].weight), hn_v_load(x + list[i].tap[k].at), total);
        rows[i] = total;
    }
    hn_v_transpose(rows);
    for (int64_t c = 0; c < channels; c++) hn_v_store_part(y + c * p->y_channel, rows[c], n);
}

static void run_turned(const hn_grid_sample_f32 *p, const float *x, const spots *list, int64_t n,
                       float *y, int64_t channels) {
    for (int64_t c = 0; c < channels; c += HN_VL, x += p->d * p->x_slice)
        for (int64_t i = 0; i < n; i += HN_VL)
            sum_turned(p, x, list + i, n - i < HN_VL ? n - i : HN_VL, y + c * p->y_channel + i,
                       channels - c < HN_VL ? channels - c : HN_VL);
}

/* ---- tasks ---- */

/* Finds the taps of n positions and sums them, in the channels of a group. */
static void run_block(const hn_grid_sample_f32 *p, const float *x, const float *grid, int64_t n,
                      float *y, int64_t channels, spots *list) {
    for (int64_t i = 0; i < n; i++)
        if (p->mode != HN_SAMPLE_LINEAR || !find_inside(p, grid + p->axes * i, &list[i]))
            find_spots(p, grid + p->axes * i, &list[i]);
    if (adjacent(p))
        for (int64_t i = 0; i < n; i++) run_adjacent(p, x, &list[i], y + i * p->y_position);
    else if (p->x_pixel == HN_VL && p->x_channel == 0)
        run_turned(p, x, list, n, y, channels);
    else
        run_apart(p, x, list, n, y, channels);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_grid_sample_f32 *p = call->problem;
    hn_grid_sample_f32 q = *p; /* the images as they lie now */
    if (turned(p) && phase == 0) {
        turn_rows(p, call, begin, end);
        return;
    }
    int64_t blocks = (p->positions + BLOCK - 1) / BLOCK, group = group_of(p);
    if (turned(p)) {
        q.x_channel = 0, q.x_pixel = HN_VL, q.x_row = p->w * HN_VL;
        q.x_slice = p->h * q.x_row;
    }
    for (int64_t task = begin; task < end; task++) {
        int64_t part = task / blocks, image = part / groups_of(p), from = task % blocks * BLOCK;
        int64_t first = part % groups_of(p) * group;
        int64_t n = p->positions - from < BLOCK ? p->positions - from : BLOCK;
        const float *x =
            (const float *)call->ptr[HN_GRID_SAMPLE_X] + image * p->x_image + first * p->x_channel;
        if (turned(p))
            x = (const float *)call->scratch +
                (image * vectors_of(p) + first / HN_VL) * p->d * q.x_slice;
        const float *grid =
            (const float *)call->ptr[HN_GRID_SAMPLE_GRID] + p->axes * (image * p->positions + from);
        float *y = (float *)call->ptr[HN_GRID_SAMPLE_Y] + image * p->y_image +
                   first * p->y_channel + from * p->y_position;
        run_block(&q, x, grid, n, y, p->c - first < group ? p->c - first : group, lane);
    }
}

const hn_kernel HN_V_ROW(grid_sample_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "taps", .ok = ok, .work = work, .run = run};

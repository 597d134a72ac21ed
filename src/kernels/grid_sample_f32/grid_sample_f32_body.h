/* grid_sample_f32 over the vector vocabulary. A task is a block of positions of an image.
 *
 * Channels adjacent: the taps of a position are found once, and its channels summed in the lanes.
 * Channels apart: the taps of all positions of the block are found once, as lists of offsets and
 * weights; then each channel goes through the lists, which costs a few loads an element.
 */
#include "kernels/grid_sample_f32/grid_sample_f32.h"
#include "kernels/grid_sample_f32/grid_sample_f32_taps.h"
#include "simd/part.h"

enum { BLOCK = 64, MOST = SAMPLE_TAPS * SAMPLE_TAPS };

/* Taps in two dimensions: offsets within a plane. */
typedef struct spots {
    int n;
    int64_t at[MOST];
    float weight[MOST];
} spots;

static void find_spots(const hn_grid_sample_f32 *p, const float *at, spots *s) {
    sample_taps columns = sample_taps_of(p, (double)at[0], p->w);
    sample_taps rows = sample_taps_of(p, (double)at[1], p->h);
    s->n = 0;
    for (int r = 0; r < rows.n; r++)
        for (int k = 0; k < columns.n; k++) {
            s->at[s->n] = rows.at[r] * p->x_row + columns.at[k] * p->x_pixel;
            s->weight[s->n++] = (float)(rows.weight[r] * columns.weight[k]);
        }
}

/* Linear, all four taps inside and none of weight 0: nearly all positions of most models. False:
 * this one is not of them. */
static bool find_four(const hn_grid_sample_f32 *p, const float *at, spots *s) {
    double x = sample_position(p, (double)at[0], p->w), y = sample_position(p, (double)at[1], p->h);
    if (!(x > 0 && x < (double)(p->w - 1) && y > 0 && y < (double)(p->h - 1))) return false;
    int64_t column = (int64_t)x, row = (int64_t)y;
    double right = x - (double)column, down = y - (double)row;
    if (right == 0 || down == 0) return false;
    int64_t first = row * p->x_row + column * p->x_pixel;
    s->n = 4;
    s->at[0] = first, s->at[1] = first + p->x_pixel;
    s->at[2] = first + p->x_row, s->at[3] = first + p->x_row + p->x_pixel;
    s->weight[0] = (float)((1 - down) * (1 - right)), s->weight[1] = (float)((1 - down) * right);
    s->weight[2] = (float)(down * (1 - right)), s->weight[3] = (float)(down * right);
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_grid_sample_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->images * ((p->positions + BLOCK - 1) / BLOCK)},
                   .lane_scratch = BLOCK * sizeof(spots)};
}

HN_INLINE void sum(const float *x, const spots *s, float *y, int64_t n) {
    hn_vf total = hn_v_set1(0);
    for (int k = 0; k < s->n; k++)
        total = hn_v_fma(hn_v_set1(s->weight[k]), hn_v_load_part(x + s->at[k], n), total);
    hn_v_store_part(y, total, n);
}

static void run_adjacent(const hn_grid_sample_f32 *p, const float *x, const spots *s, float *y) {
    int64_t c = 0;
    for (; c + HN_VL <= p->c; c += HN_VL) sum(x + c, s, y + c, HN_VL);
    if (c < p->c) sum(x + c, s, y + c, p->c - c);
}

/* One channel of n positions. */
static void run_plane(const hn_grid_sample_f32 *p, const float *x, const spots *list, int64_t n,
                      float *y) {
    for (int64_t i = 0; i < n; i++) {
        const spots *s = &list[i];
        float total = 0;
        if (s->n == 4)
            total = s->weight[0] * x[s->at[0]] + s->weight[1] * x[s->at[1]] +
                    s->weight[2] * x[s->at[2]] + s->weight[3] * x[s->at[3]];
        else
            for (int k = 0; k < s->n; k++) total += s->weight[k] * x[s->at[k]];
        y[i * p->y_position] = total;
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_grid_sample_f32 *p = call->problem;
    spots *list = lane;
    int64_t blocks = (p->positions + BLOCK - 1) / BLOCK;
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task / blocks, from = task % blocks * BLOCK;
        int64_t n = p->positions - from < BLOCK ? p->positions - from : BLOCK;
        const float *x = (const float *)call->ptr[HN_GRID_SAMPLE_X] + image * p->x_image;
        const float *grid =
            (const float *)call->ptr[HN_GRID_SAMPLE_GRID] + 2 * (image * p->positions + from);
        float *y = (float *)call->ptr[HN_GRID_SAMPLE_Y] + image * p->y_image + from * p->y_position;
        for (int64_t i = 0; i < n; i++)
            if (p->mode != HN_SAMPLE_LINEAR || !find_four(p, grid + 2 * i, &list[i]))
                find_spots(p, grid + 2 * i, &list[i]);
        if (p->c > 1 && p->x_channel == 1 && p->y_channel == 1)
            for (int64_t i = 0; i < n; i++) run_adjacent(p, x, &list[i], y + i * p->y_position);
        else
            for (int64_t c = 0; c < p->c; c++)
                run_plane(p, x + c * p->x_channel, list, n, y + c * p->y_channel);
    }
}

const hn_kernel HN_V_ROW(grid_sample_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "taps", .work = work, .run = run};

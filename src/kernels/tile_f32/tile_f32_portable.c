/* Tiles of up to 6 x 8 in vectors of four floats, which every CPU has in some form: 12 sums, 2
 * vectors of b and one element of a. Products and sums are rounded one by one, as everywhere in
 * portable code. */
#include "simd/scalar.h"

#include "kernels/tile_f32/tile_f32_act.h"

typedef float vec __attribute__((vector_size(16)));
enum { WIDTH = 8, VECS = WIDTH / 4, ROWS = 6 };

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline float clip(float x, float lo, float hi) { return x < lo ? lo : x > hi ? hi : x; }

static inline __attribute__((always_inline)) void tile(const hn_tile_f32 *t, const int rows) {
    vec c[ROWS][VECS];
    float edge[ROWS][WIDTH] = {{0}};
    for (int i = 0; i < rows; i++) {
        for (int64_t j = 0; j < t->n; j++) {
            if (t->bias != NULL) edge[i][j] = t->bias[j];
            if (t->r != NULL) edge[i][j] += t->r[i][t->column + j];
        }
        for (int v = 0; v < VECS; v++) c[i][v] = load(&edge[i][4 * v]);
    }
    const float *b = t->b;
    for (int64_t s = 0; s < t->runs; s++) {
        const float *const *a = t->a + s * rows;
        for (int64_t k = 0; k < t->len; k++, b += WIDTH) {
            vec b0 = load(b), b1 = load(b + 4);
            for (int i = 0; i < rows; i++) {
                c[i][0] += a[i][k] * b0;
                c[i][1] += a[i][k] * b1;
            }
        }
    }
    memcpy(edge, c, sizeof edge);
    for (int i = 0; i < rows; i++)
        for (int64_t j = 0; j < t->n; j++) t->y[i][t->column + j] = clip(edge[i][j], t->lo, t->hi);
}

#define TILE(rows) \
    static void tile_##rows(const hn_tile_f32 *t) { tile(t, rows); }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static hn_tile_f32_fn *const tiles[ROWS] = {tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

const hn_tiles_f32 hn_tiles_f32_portable = {
    .rows = ROWS, .width = WIDTH, .fn = {tiles, tiles}, .copy = hn_tile_f32_copy, .act = act_tile};

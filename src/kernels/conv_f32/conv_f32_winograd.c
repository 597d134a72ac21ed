#include "kernels/conv_f32/conv_f32_winograd.h"

#include "base/cpu.h"
#include "base/divide.h"
#include "base/least.h"

enum {
    /* Bytes of V. Weights that fit into L2 beside it are read from there by the second block on;
     * of more weights each block fetches all, so that blocks are large. */
    BLOCK_BYTES = 350000,
    BLOCK_BYTES_MANY = 1100000,
    WEIGHTS = 768 << 10, /* bytes of U that stay in L2 */
    PAD = 16,            /* floats between rows of V, lest they lie a multiple of 4 KB apart */
};

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t spots_of(int out) { return (out + 2) * (out + 2); }

static int64_t tiles_of(const hn_conv_f32 *p, int out) {
    return p->batch * hn_ceil_over(p->oh, out) * hn_ceil_over(p->ow, out);
}

hn_winograd hn_winograd_of(const hn_conv_f32 *p, const hn_tiles_f32 *t, int out, int vl) {
    hn_winograd g = {.ty = hn_ceil_over(p->oh, out), .tx = hn_ceil_over(p->ow, out)};
    g.tiles = tiles_of(p, out);
    g.pitch = hn_ceil_over(p->c, vl) * vl + PAD;
    bool many = spots_of(out) * p->c * p->n * 4 > hn_of_l2(WEIGHTS);
    int64_t bytes = hn_of_l2(many ? BLOCK_BYTES_MANY : BLOCK_BYTES);
    int64_t most = hn_over(bytes, spots_of(out) * g.pitch * 4);
    most = max64(1, hn_over(most, t->rows)) * t->rows;
    g.blocks = hn_ceil_over(g.tiles, most);
    /* A number that 2, 4 and 8 threads can share. */
    int64_t even = g.blocks > 4 ? 8 : g.blocks > 2 ? 4 : g.blocks;
    g.blocks = hn_least(g.tiles, hn_ceil_over(g.blocks, even) * even);
    g.block = hn_ceil_over(g.tiles, g.blocks);
    g.rows = hn_ceil_over(g.block, t->rows) * t->rows;
    g.panels = hn_panels_f32_of(t, p->n);
    return g;
}

/* Products by each weight of a plane of U, or as many as could be done while it is fetched. Depends
 * on no cache of this machine, as the choice changes bits. */
static double cost(const hn_conv_f32 *p, const hn_tiles_f32 *t, int out) {
    int64_t tiles = tiles_of(p, out);
    int64_t most = max64(t->rows, hn_over(BLOCK_BYTES_MANY, spots_of(out) * p->c * 4));
    int64_t blocks = hn_ceil_over(tiles, most);
    double of_block = (double)tiles / (double)blocks;
    if (of_block < t->winograd.while_fetched) of_block = t->winograd.while_fetched;
    return (double)(spots_of(out) * blocks) * of_block;
}

/* Tiles of 2x2 are taken where they cost little more: their weights take half the memory. Few
 * weights are often in L2 already. */
static int best_out(const hn_conv_f32 *p, const hn_tiles_f32 *t) {
    if (p->c * p->n <= 128 * 128) return 4;
    return cost(p, t, 2) < 1.2 * cost(p, t, 4) ? 2 : 4;
}

bool hn_winograd_ok(const hn_conv_f32 *p, const hn_tiles_f32 *t, int out, const char **why) {
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->kh != 3 || p->kw != 3) return *why = "not 3x3", false;
    if (p->sh != 1 || p->sw != 1 || p->dh != 1 || p->dw != 1)
        return *why = "stride or dilation", false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->x_channel != 1) return *why = "the input is planar", false;
    if (p->c < 16 || p->n < 16) return *why = "too few channels", false;
    if (p->c > 1024) return *why = "too many channels for the error bound", false;
    int64_t pixels = p->batch * p->oh * p->ow;
    if (pixels < t->winograd.pixels || pixels * 2 < tiles_of(p, out) * out * out)
        return *why = "too few pixels", false;
    /* Packed, they take three or five times their size. */
    if (p->c * p->n > 256 * 256 &&
        pixels < (out == 2 ? t->winograd.pixels_2x2 : t->winograd.pixels_4x4))
        return *why = "too many weights", false;
    if (best_out(p, t) != out) return *why = "tiles of another size cost less", false;
    return true;
}

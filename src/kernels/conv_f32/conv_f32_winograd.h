/* What the rows of Winograd's convolution share, whatever the instruction set and the size of an
 * output tile (4x4 or 2x2): how a problem is cut into blocks, and which size serves it.
 *
 * Each block of tiles reads all of U once. If a block has few tiles, fetching a weight takes longer
 * than multiplying by it, and U is large: (out + 2)^2 floats for 9 taps. So the cost of a block is
 * taken as
 *
 *     (out + 2)^2 * max(tiles of the block, tiles by which a weight must be multiplied)
 *
 * and the size with the lower cost wins. 256 channels at 14x14 pixels (AVX-512, Granite Rapids,
 * weights in L3): 1300 us directly, 840 us by 16 tiles of 4x4, 675 us by 49 tiles of 2x2.
 */
#ifndef HN_KERNELS_CONV_F32_WINOGRAD_H
#define HN_KERNELS_CONV_F32_WINOGRAD_H

#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32.h"

typedef struct hn_winograd {
    int64_t ty, tx, tiles; /* tiles of an image down and across, of all images */
    int64_t blocks, block; /* of tiles; tiles in a block, at most */
    int64_t rows;          /* for which there is room: whole tiles of tile_f32 */
    int64_t pitch;         /* floats between rows of V */
    hn_panels_f32 panels;
} hn_winograd;

/* The problem cut into tiles of out x out outputs, for vectors of vl floats. */
hn_winograd hn_winograd_of(const hn_conv_f32 *p, const hn_tiles_f32 *t, int out, int vl);

/* Whether the problem is one for Winograd's convolution, and tiles of out x out outputs serve it
 * best. */
bool hn_winograd_ok(const hn_conv_f32 *p, const hn_tiles_f32 *t, int out, const char **why);

#endif

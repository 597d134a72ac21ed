#include "simd/avx512.h"

#include "kernels/conv_f32/conv_f32_winograd_body.h"

/* The same as a row in front of AMX, for as long as the weights are few and the tiles full: 1.1
 * times as fast for 64 channels at 56x56, 1.2 times for 128 at 28x28 and 16x16, slower for 256 at
 * 14x14 and for any number at 13x13 (Sapphire Rapids). AMX wants no fewer than 32 channels, and
 * packs weights ten times as fast. */
static bool ok_few(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!ok(problem, why)) return false;
    if (p->c * p->n > 128 * 128) return *why = "too many weights", false;
    if (p->c >= 32 && p->n >= 32 && 5 * p->batch * p->oh * p->ow < 4 * measure(p).tiles * OUT * OUT)
        return *why = "tiles not full", false;
    return true;
}

ROW(conv_f32_winograd_few, "_winograd_few", "winograd 4x4, fma", ok_few, 250);

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

const hn_kernel hn_conv_f32_winograd_few_avx512 = {
    .name = HN_V_NAME "_winograd_few",
    .isa = HN_V_ISA,
    .order = "winograd 4x4, fma",
    .ok = ok_few,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = pack_tasks,
    .pack_worth = 250,
    .pack = pack,
};

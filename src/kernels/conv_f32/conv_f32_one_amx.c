#define PARTS 1
#include "kernels/conv_f32/conv_f32_amx_body.h"

void hn_conv_f32_one_amx_pack(const hn_conv_f32 *p, const float *w, int64_t part, int64_t parts,
                              void *dst) {
    pack_part(p, w, part, parts, dst);
}

const hn_kernel hn_conv_f32_one_amx = {
    .name = "amx1",
    .isa = HN_ISA_AMX,
    .order = "channel blocks of 32, taps; one product",
    .precision = HN_PRECISION_BF16,
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack = pack,
};

#define PARTS 2
#include "kernels/conv_f32/conv_f32_amx_body.h"

const hn_kernel hn_conv_f32_three_amx = {
    .name = "amx3",
    .isa = HN_ISA_AMX,
    .order = "channel blocks of 32, taps; three products",
    .precision = HN_PRECISION_RELAXED,
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = hn_amx_pack_tasks,
    .pack = pack,
};

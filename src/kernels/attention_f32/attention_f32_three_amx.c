#define PARTS 2
#include "kernels/attention_f32/attention_f32_amx_body.h"

const hn_kernel hn_attention_f32_three_amx = {
    .name = "amx3",
    .isa = HN_ISA_AMX,
    .order = "steps of 32; three products",
    .precision = HN_PRECISION_RELAXED,
    .ok = ok,
    .work = work,
    .run = run,
};

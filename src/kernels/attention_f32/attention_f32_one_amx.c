#define PARTS 1
#include "kernels/attention_f32/attention_f32_amx_body.h"

const hn_kernel hn_attention_f32_one_amx = {
    .name = "amx1",
    .isa = HN_ISA_AMX,
    .order = "steps of 32; one product",
    .precision = HN_PRECISION_BF16,
    .ok = ok,
    .work = work,
    .run = run,
};

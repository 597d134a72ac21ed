#define PARTS 3
#include "kernels/attention_f32/attention_f32_amx_body.h"

const hn_kernel hn_attention_f32_six_amx = {
    .name = "amx6",
    .isa = HN_ISA_AMX,
    .order = "steps of 32; six products, five of weights",
    .ok = ok,
    .work = work,
    .run = run,
};

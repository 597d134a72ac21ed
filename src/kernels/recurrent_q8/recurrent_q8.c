#include "kernels/recurrent_q8/recurrent_q8.h"

#include "base/cpu.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/recurrent_q8/recurrent_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/recurrent_q8/recurrent_q8.def"
#undef HN_KERNEL
};

/* Not those of yh and yc: their strides are the same fields. */
static const hn_axes axes[] = {
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, steps), offsetof(hn_recurrent_f32, y_step)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, dirs), offsetof(hn_recurrent_f32, y_dir)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, batch), offsetof(hn_recurrent_f32, y_row)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, hidden), HN_ADJACENT},
};

const hn_family hn_recurrent_q8_family = {
    .name = "recurrent_q8",
    .help = "the recurrence of RNN, GRU and LSTM layers with 8-bit weights",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .weights = HN_RECURRENT_R,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .multiplies = true,
    .integers = true,
};

bool hn_recurrent_q8_prefers_floats(const hn_recurrent_f32 *p, hn_isa isa) {
    /* Steps that follow each other find R where the first left it. A single step shares the cache
     * with the weights of the whole model. */
    enum { FEW_SEQUENCES = 2, NEAR_BYTES = 1 << 20, NEAR_BYTES_ONCE = 1 << 18 };
#if defined(__x86_64__)
    const hn_isa dot = HN_ISA_AVXVNNI | HN_ISA_AVX512VNNI;
#elif defined(__aarch64__)
    const hn_isa dot = HN_ISA_NEONDOT;
#else
    const hn_isa dot = 0;
#endif
    if ((isa & dot) != 0) return false;
    int64_t floats = hn_recurrent_gates(p->kind) * p->hidden * p->hidden * (int64_t)sizeof(float);
    return p->batch > FEW_SEQUENCES ||
           floats <= hn_of_l2(p->steps > 1 ? NEAR_BYTES : NEAR_BYTES_ONCE);
}

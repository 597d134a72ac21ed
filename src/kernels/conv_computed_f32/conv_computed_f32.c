/* The rows: phase 0 packs the weights into shared scratch, the next one is the only phase of a row
 * of conv_f32. */
#include "kernels/conv_computed_f32/conv_computed_f32.h"

#include <string.h>

static size_t packed_bytes(const hn_kernel *row, const hn_conv_f32 *p) {
    return (row->packed_bytes(p) + 63) / 64 * 64;
}

static void work(const hn_kernel *row, const hn_conv_f32 *p, int lanes, hn_work *w) {
    hn_work one;
    row->work(p, lanes, &one);
    *w = (hn_work){.n_phases = 2,
                   .tasks = {hn_pack_tasks(row, p), one.tasks[0]},
                   .scratch = packed_bytes(row, p),
                   .lane_scratch = one.lane_scratch};
}

static void run(const hn_kernel *row, const hn_call *call, int phase, int64_t begin, int64_t end,
                void *lane) {
    const hn_conv_f32 *p = call->problem;
    if (phase == 0) {
        if (begin < end) row->pack(p, call->ptr[HN_CONV_W], begin, end, call->scratch);
        return;
    }
    void *ptr[HN_CONV_OPERANDS_];
    memcpy(ptr, call->ptr, sizeof ptr);
    ptr[HN_CONV_W] = call->scratch;
    hn_work one = {.n_phases = 1, .tasks = {call->work->tasks[1]}};
    hn_call conv = {.problem = p, .work = &one, .ptr = ptr};
    row->run(&conv, 0, begin, end, lane);
}

#define HN_PACKING(row, needs, text)                                                  \
    extern const hn_kernel hn_##row;                                                  \
    static bool ok_##row(const void *problem, const char **why) {                     \
        return hn_##row.ok(problem, why);                                             \
    }                                                                                 \
    static void work_##row(const void *problem, int lanes, hn_work *w) {              \
        work(&hn_##row, problem, lanes, w);                                           \
    }                                                                                 \
    static void run_##row(const hn_call *call, int phase, int64_t begin, int64_t end, \
                          void *lane) {                                               \
        run(&hn_##row, call, phase, begin, end, lane);                                \
    }                                                                                 \
    static const hn_kernel packing_##row = {.name = text,                             \
                                            .isa = HN_ISA_##needs,                    \
                                            .order = text,                            \
                                            .ok = ok_##row,                           \
                                            .work = work_##row,                       \
                                            .run = run_##row};
#include "kernels/conv_computed_f32/conv_computed_f32.def"
#undef HN_PACKING

extern const hn_kernel hn_conv_f32_ref;

static const hn_kernel *const rows[] = {
#define HN_PACKING(row, needs, text) &packing_##row,
#include "kernels/conv_computed_f32/conv_computed_f32.def"
#undef HN_PACKING
    &hn_conv_f32_ref, /* which takes weights as they are */
};

const hn_family hn_conv_computed_f32_family = {
    .name = "conv_computed_f32",
    .help = "convolution over channels-last images by weights that are computed",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .multiplies = true,
    .end = hn_conv_end,
};

/* The definition of binary_q8. A task is an element. */
#include "kernels/binary_q8/binary_q8.h"
#include "kernels/q8_ref.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_binary_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_space_count(&p->space)}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_binary_q8 *p = call->problem;
    const hn_space *s = &p->space;
    for (int64_t t = begin; t < end; t++) {
        int32_t a =
            hn_q8_load(p->a, call->ptr[HN_BINARY_Q8_A], hn_space_offset(s, HN_BINARY_Q8_A, t)) -
            p->az;
        int32_t b =
            hn_q8_load(p->b, call->ptr[HN_BINARY_Q8_B], hn_space_offset(s, HN_BINARY_Q8_B, t)) -
            p->bz;
        float v = p->kind == HN_BINARY_Q8_MUL ? (float)(a * b) * p->ma
                                              : (float)a * p->ma + (float)b * p->mb;
        hn_q8_store(p->y, call->ptr[HN_BINARY_Q8_Y], hn_space_offset(s, HN_BINARY_Q8_Y, t),
                    hn_q8_round(v, p->yz, p->lo, p->hi));
    }
}

const hn_kernel hn_binary_q8_ref = {.name = "ref", .order = "exact", .work = work, .run = run};

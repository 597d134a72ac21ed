/* A depthwise row of two ways to multiply, each an hn_kernel of its own:
 *
 *   BYTES   sums two products in 16 bits, so no weight may be above 64 or below -64
 *   WORDS   takes all weights
 *
 * Packing looks at the weights and takes the first that serves. Packed weights are 64 bytes that say
 * which, then those of that way. The file that includes this brings BYTES, WORDS, ROW, NAME and
 * ISA. */
#ifdef BYTES
#include "kernels/conv_q8/conv_q8_parts.h"

enum { CHOICE_BYTES = 64 };

extern const hn_kernel BYTES, WORDS;

static bool fits_pairs(const hn_conv_q8 *p, const void *plain) {
    enum { MOST = 64 };
    bool fits = !p->w_zero_points;
    for (int64_t c = 0; fits && c < p->c; c++)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t kx = 0; kx < p->kw; kx++) {
                const int w = hn_q8_weight(p, plain, c * p->w_o + ky * p->w_y + kx * p->w_x);
                fits &= w >= -MOST && w <= MOST;
            }
    return fits;
}

static void work_by_ways(const void *problem, int lanes, hn_work *w) {
    hn_work bytes;
    BYTES.work(problem, lanes, &bytes);
    WORDS.work(problem, lanes, w); /* the same tasks */
    if (bytes.lane_scratch > w->lane_scratch) w->lane_scratch = bytes.lane_scratch;
}

static size_t bytes_by_ways(const void *problem) {
    const size_t bytes = BYTES.packed_bytes(problem), words = WORDS.packed_bytes(problem);
    return CHOICE_BYTES + (bytes > words ? bytes : words);
}

static uint64_t key_by_ways(const void *problem) {
    const int64_t of[] = {(int64_t)BYTES.pack_key(problem), (int64_t)WORDS.pack_key(problem)};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static int64_t tasks_by_ways(const void *problem) { return WORDS.pack_tasks(problem); }

static void pack_by_ways(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                         void *dst) {
    const bool fits = fits_pairs(problem, plain->data);
    const hn_kernel *way = fits ? &BYTES : &WORDS;
    const size_t used = CHOICE_BYTES + way->packed_bytes(problem);
    if (begin == 0) memset(dst, fits, CHOICE_BYTES);
    way->pack(problem, plain, begin, end, (char *)dst + CHOICE_BYTES);
    if (end == tasks_by_ways(problem)) memset((char *)dst + used, 0, bytes_by_ways(problem) - used);
}

static void run_by_ways(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const char *packed = call->ptr[HN_CONV_Q8_W];
    void *ptr[HN_CONV_Q8_OPERANDS_];
    memcpy(ptr, call->ptr, sizeof ptr);
    ptr[HN_CONV_Q8_W] = (void *)(packed + CHOICE_BYTES);
    hn_call own = *call;
    own.ptr = ptr;
    (*packed != 0 ? BYTES : WORDS).run(&own, phase, begin, end, lane);
}

static bool ok_by_ways(const void *problem, const char **why) { return WORDS.ok(problem, why); }

const hn_kernel ROW = {
    .name = NAME,
    .isa = ISA,
    .order = "exact",
    .ok = ok_by_ways,
    .work = work_by_ways,
    .run = run_by_ways,
    .packed_bytes = bytes_by_ways,
    .pack_key = key_by_ways,
    .pack_tasks = tasks_by_ways,
    .pack = pack_by_ways,
};

#endif

/* What the rows of conv_f32 for AMX share, for themselves and for families that bring them weights
 * of their own making. */
#ifndef HN_KERNELS_CONV_F32_AMX_H
#define HN_KERNELS_CONV_F32_AMX_H

#include <string.h>

#include "kernels/conv_f32/conv_f32.h"

extern const hn_kernel hn_conv_f32_six_amx, hn_conv_f32_three_amx, hn_conv_f32_one_amx;

/* Packed weights begin with a header. A byte of it is set: not all are finite. */
enum { HN_AMX_HEADER = 64, HN_AMX_PANEL = 32 };

static inline int64_t hn_amx_panels(const hn_conv_f32 *p) {
    return (p->n + HN_AMX_PANEL - 1) / HN_AMX_PANEL;
}

/* Packing falls into ranges of panels, each with a part of the header to itself. */
static inline int64_t hn_amx_pack_tasks(const void *problem) {
    int64_t panels = hn_amx_panels(problem);
    return panels < 1 ? 1 : panels > HN_AMX_HEADER ? HN_AMX_HEADER : panels;
}

/* Packs block `cb` of the channels for a panel; true: not all are finite. */
typedef bool hn_amx_pack_block(const hn_conv_f32 *p, const void *w, int64_t panel, int64_t cb,
                               char *dst);

/* Tasks [begin, end) of weights with that many blocks of channels. Where outputs are adjacent,
 * neighbouring panels share the rows of memory they read. */
static inline void hn_amx_pack(const hn_conv_f32 *p, const void *w, int64_t begin, int64_t end,
                               int64_t blocks, hn_amx_pack_block *block, char *dst) {
    int64_t tasks = hn_amx_pack_tasks(p), panels = hn_amx_panels(p);
    int64_t first = panels * begin / tasks, n = panels * end / tasks - first;
    int64_t header = HN_AMX_HEADER * begin / tasks;
    memset(dst + header, 0, (size_t)(HN_AMX_HEADER * end / tasks - header));
    for (int64_t i = 0; i < n * blocks; i++) {
        int64_t panel = first + (p->w_o == 1 ? i % n : i / blocks);
        int64_t task = (tasks * (panel + 1) - 1) / panels;
        if (block(p, w, panel, p->w_o == 1 ? i / n : i % blocks, dst))
            dst[HN_AMX_HEADER * task / tasks] = 1;
    }
}

#endif

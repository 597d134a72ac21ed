#include "kernels/copy/copy.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/copy/copy.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/copy/copy.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_COPY_SRC, HN_COPY_AXES, offsetof(hn_copy, dims), offsetof(hn_copy, src)},
    {HN_COPY_DST, HN_COPY_AXES, offsetof(hn_copy, dims), offsetof(hn_copy, dst)},
};

static void finish(void *problem) {
    const hn_copy whole = *(const hn_copy *)problem;
    hn_copy_init(problem, whole.size, whole.rank, whole.dims, whole.src, whole.dst);
}

const hn_family hn_copy_family = {
    .name = "copy",
    .help = "moves elements between two places with any strides",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .finish = finish,
};

void hn_copy_init(hn_copy *p, size_t size, int rank, const int64_t *dims, const int64_t *src,
                  const int64_t *dst) {
    int order[HN_COPY_AXES], n = 0;
    *p = (hn_copy){.size = size};
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 1) continue;
        int k = n++;
        for (; k > 0 && dst[order[k - 1]] < dst[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    for (int k = 0; k < n; k++) {
        int i = order[k], last = p->rank - 1;
        if (last >= 0 && p->src[last] == src[i] * dims[i] && p->dst[last] == dst[i] * dims[i]) {
            p->dims[last] *= dims[i];
            p->src[last] = src[i];
            p->dst[last] = dst[i];
            continue;
        }
        p->dims[p->rank] = dims[i];
        p->src[p->rank] = src[i];
        p->dst[p->rank++] = dst[i];
    }
}

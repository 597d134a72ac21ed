#include "kernels/copy/copy.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/copy/copy.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/copy/copy.def"
#undef HN_KERNEL
};

const hn_family hn_copy_family = {
    .name = "copy",
<<<<<<< HEAD
    .help = "moves elements between two places with any strides",
=======
    .help = "elements from one strided place to another: transposes, slices, concatenations",
>>>>>>> 1253c63 (kernels: copy, reduce_f32, gather)
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

<<<<<<< HEAD
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
=======
static void move_axis(hn_copy *p, int to, int from) {
    p->dims[to] = p->dims[from];
    p->src_stride[to] = p->src_stride[from];
    p->dst_stride[to] = p->dst_stride[from];
}

static int64_t size(int64_t stride) { return stride < 0 ? -stride : stride; }

void hn_copy_collapse(hn_copy *p) {
    int n = 0;
    for (int i = 0; i < p->rank; i++)
        if (p->dims[i] != 1) move_axis(p, n++, i);
    p->rank = n;
    for (int i = 1; i < n; i++) /* insertion sort: equal strides keep their order */
        for (int j = i; j > 0 && size(p->dst_stride[j - 1]) < size(p->dst_stride[j]); j--) {
            hn_copy old = *p;
            move_axis(p, j - 1, j);
            p->dims[j] = old.dims[j - 1];
            p->src_stride[j] = old.src_stride[j - 1], p->dst_stride[j] = old.dst_stride[j - 1];
        }
    for (int i = p->rank - 2; i >= 0; i--) {
        if (p->src_stride[i] != p->src_stride[i + 1] * p->dims[i + 1] ||
            p->dst_stride[i] != p->dst_stride[i + 1] * p->dims[i + 1])
            continue;
        p->dims[i + 1] *= p->dims[i];
        for (int j = i + 1; j < p->rank; j++) move_axis(p, j - 1, j);
        p->rank--;
    }
    if (p->rank > 0) return;
    p->rank = 1;
    p->dims[0] = p->src_stride[0] = p->dst_stride[0] = 1;
>>>>>>> 1253c63 (kernels: copy, reduce_f32, gather)
}

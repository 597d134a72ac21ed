/* Cases of copy: every permutation of small and odd shapes in every size of element, slices on both
 * sides, expansions; the transposes of real models for timing. */
#include "kernels/copy/copy.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

/* A problem as it is described, before axes are merged. */
typedef struct plain {
    int rank, size;
    int64_t dims[4], src[4], dst[4];
} plain;

static check_case *add(check_list *list, const char *name, plain q) {
    int64_t src = 0, dst = 0, count = 1;
    for (int i = 0; i < q.rank; i++) {
        count *= q.dims[i];
        src += (q.dims[i] - 1) * q.src[i];
        dst += (q.dims[i] - 1) * q.dst[i];
    }
    hn_copy p;
    hn_copy_init(&p, (size_t)q.size, q.rank, q.dims, q.src, q.dst);
    check_case *c = check_add(list, "%s_%d", name, q.size);
    memcpy(c->problem, &p, sizeof p);
    check_type type = q.size == 4 ? CHECK_F32 : q.size >= 8 ? CHECK_I64 : CHECK_U8;
    int64_t per = q.size == 2 || q.size == 16 ? 2 : 1;
    check_operand_add(c, CHECK_IN, type, count == 0 ? 0 : (src + 1) * per);
    check_operand_add(c, CHECK_OUT, type, count == 0 ? 0 : (dst + 1) * per);
    c->exact = true;
    c->flops = (double)count;
    c->bytes = 2.0 * (double)(count * q.size);
    return c;
}

/* A permutation: axis i of the destination is axis perm[i] of the source. Both have `gap` elements
 * more in their innermost axis. */
static plain permutation(int rank, const int64_t *dims, const int *perm, int size, int64_t gap) {
    plain p = {.rank = rank, .size = size};
    int64_t stride[4], next = 1;
    for (int i = rank - 1; i >= 0; i--)
        stride[i] = next, next *= dims[i] + (i == rank - 1 ? gap : 0);
    next = 1;
    for (int i = rank - 1; i >= 0; i--) {
        p.dims[i] = dims[perm[i]];
        p.src[i] = stride[perm[i]];
        p.dst[i] = next, next *= p.dims[i] + (i == rank - 1 ? gap : 0);
    }
    return p;
}

static void permutations(check_list *list) {
    static const int64_t shapes[][4] = {
        {2, 3, 4, 5}, {1, 17, 1, 33}, {3, 16, 2, 70}, {2, 65, 9, 3}};
    for (int k = 0; k < 24; k++) {
        int perm[4], left[4] = {0, 1, 2, 3}, code = k;
        for (int i = 0; i < 4; i++) {
            int pick = code % (4 - i);
            code /= 4 - i;
            perm[i] = left[pick];
            for (int j = pick; j < 3; j++) left[j] = left[j + 1];
        }
        for (int s = 0; s < 4; s++) {
            char name[64];
            snprintf(name, sizeof name, "permute_%d%d%d%d_%d", perm[0], perm[1], perm[2], perm[3],
                     s);
            add(list, name, permutation(4, shapes[s], perm, 1 << (k + s) % 4, s == 2 ? 3 : 0));
            if ((k + s) % 4 != 2)
                add(list, name, permutation(4, shapes[s], perm, 4, s == 0 ? 1 : 0));
        }
    }
}

/* Planes around the sides of squares, vectors and tiles, and the few rows that are woven. */
static void planes(check_list *list) {
    static const int64_t shapes[][2] = {
        {2, 300}, {300, 2}, {3, 77},  {77, 3},   {4, 130},  {130, 4},  {5, 33},  {33, 5},
        {7, 64},  {64, 7},  {8, 65},  {65, 8},   {15, 90},  {90, 15},  {16, 64}, {64, 16},
        {17, 70}, {70, 17}, {31, 63}, {128, 49}, {300, 20}, {20, 300}, {600, 70}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int size = 1; size <= 8; size *= 2)
            for (int64_t gap = 0; gap < 4; gap += 3) {
                char name[64];
                int64_t m = shapes[s][0], n = shapes[s][1];
                snprintf(name, sizeof name, "plane_%dx%d%s", (int)m, (int)n, gap > 0 ? "_gap" : "");
                add(list, name, permutation(3, (int64_t[]){2, m, n}, (int[]){0, 2, 1}, size, gap));
            }
}

/* Blocks of a plane that become planes, and back: rows are woven at every place of four axes. */
static void blocks(check_list *list) {
    for (int size = 1; size <= 8; size *= 2)
        for (int block = 2; block <= 5; block++) {
            char name[64];
            int64_t b = block;
            snprintf(name, sizeof name, "blocks_%d", block);
            add(list, name, permutation(4, (int64_t[]){6, b, 37, b}, (int[]){1, 3, 0, 2}, size, 0));
            add(list, name, permutation(4, (int64_t[]){b, b, 6, 37}, (int[]){2, 0, 3, 1}, size, 0));
        }
}

static void bench_of(check_list *list, const char *name, int rank, const int64_t *dims,
                     const int *perm, int size) {
    add(list, name, permutation(rank, dims, perm, size, 0))->bench = true;
}

static void bench(check_list *list, const char *name, int rank, const int64_t *dims,
                  const int *perm) {
    bench_of(list, name, rank, dims, perm, 4);
}

static void cases(check_list *list) {
    permutations(list);
    planes(list);
    blocks(list);
    for (int size = 1; size <= 16; size *= 2) {
        plain p = {.rank = 2, .size = size, .dims = {37, 50}};
        p.src[0] = 61, p.src[1] = 1, p.dst[0] = 55, p.dst[1] = 1;
        add(list, "slice", p);
        p.src[0] = 0, p.src[1] = 1;
        add(list, "expand_rows", p);
        p.src[0] = 1, p.src[1] = 0;
        add(list, "expand_columns", p);
        p.src[0] = 200, p.src[1] = 3;
        add(list, "every_third", p);
        p.src[0] = 100, p.src[1] = 2;
        add(list, "every_second", p);
        p.src[0] = 50, p.src[1] = 1, p.dst[0] = 120, p.dst[1] = 2;
        add(list, "spread", p);
        p.src[0] = 1, p.src[1] = 37, p.dst[0] = 57, p.dst[1] = 1;
        add(list, "transpose", p);
        p = (plain){.rank = 1, .size = size, .dims = {100003}, .src = {1}, .dst = {1}};
        add(list, "long", p);
        p.dims[0] = 0;
        add(list, "empty", p);
        p = (plain){.rank = 3, .size = size, .dims = {1, 1, 1}};
        add(list, "single", p);
    }
    add(list, "shuffle_2x9000", permutation(2, (int64_t[]){2, 9000}, (int[]){1, 0}, 4, 0));
    add(list, "shuffle_5x2x37", permutation(3, (int64_t[]){5, 2, 37}, (int[]){0, 2, 1}, 4, 0));
    bench(list, "shuffle_2704x2x58", 3, (int64_t[]){2704, 2, 58}, (int[]){0, 2, 1});
    bench(list, "nhwc_nchw_7x7x2048", 2, (int64_t[]){49, 2048}, (int[]){1, 0});
    bench(list, "heads_128x12x64", 3, (int64_t[]){128, 12, 64}, (int[]){1, 0, 2});
    bench(list, "heads_12x128x64", 3, (int64_t[]){12, 128, 64}, (int[]){1, 0, 2});
    bench(list, "keys_128x12x64", 3, (int64_t[]){128, 12, 64}, (int[]){1, 2, 0});
    bench(list, "transpose_1024x1024", 2, (int64_t[]){1024, 1024}, (int[]){1, 0});
    for (int size = 1; size <= 8; size *= 2) {
        bench_of(list, "nchw_nhwc_64x56x56", 2, (int64_t[]){64, 3136}, (int[]){1, 0}, size);
        bench_of(list, "nhwc_nchw_56x56x64", 2, (int64_t[]){3136, 64}, (int[]){1, 0}, size);
        bench_of(list, "nchw_nhwc_64x64x64", 2, (int64_t[]){64, 4096}, (int[]){1, 0}, size);
        bench_of(list, "nchw_nhwc_16x112x112", 2, (int64_t[]){16, 12544}, (int[]){1, 0}, size);
        bench_of(list, "nchw_nhwc_3x224x224", 2, (int64_t[]){3, 50176}, (int[]){1, 0}, size);
        bench_of(list, "nhwc_nchw_224x224x3", 2, (int64_t[]){50176, 3}, (int[]){1, 0}, size);
        bench_of(list, "space_to_depth_64x112x112", 4, (int64_t[]){64 * 56, 2, 56, 2},
                 (int[]){1, 3, 0, 2}, size);
    }
    plain p = {.rank = 2, .size = 4, .dims = {3136, 64}};
    p.src[0] = 64, p.src[1] = 1, p.dst[0] = 256, p.dst[1] = 1;
    add(list, "concat_3136x64", p)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    if (o->type == CHECK_F32) return false;
    (void)kind;
    uint8_t *x = data;
    for (size_t i = 0; i < o->count * (o->type == CHECK_I64 ? 8 : 1); i++)
        x[i] = (uint8_t)hn_rng_below(rng, 256);
    return true;
}

const check_family check_copy = {.family = &hn_copy_family, .cases = cases, .fill = fill};

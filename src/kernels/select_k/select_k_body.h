/* select_k by keys: integers of 64 bits that are greater the earlier an element comes.
 *
 * For k = 1 and lines side by side, a task goes down a strip of them, keeping the best of each.
 * Otherwise a task is a line. Its first k elements make a heap with the last of them on top; each
 * further element that comes before that one replaces it, and in the end the heap is sorted. Most
 * elements of a long line are done with after one comparison, CHUNK of them at once.
 */
#include <string.h>

#include "kernels/select_k/select_k.h"
#include "simd/part.h"

enum { STRIP = 64, CHUNK = 16 };

static bool by_strips(const hn_select_k *p) { return p->k == 1 && p->inner > 1; }
static int64_t strips_of(const hn_select_k *p) { return (p->inner + STRIP - 1) / STRIP; }

typedef struct entry {
    int64_t key, index;
} entry;

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_select_k *p = problem;
    (void)lanes;
    bool strips = by_strips(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->outer * (strips ? strips_of(p) : p->inner)},
                   .lane_scratch = strips ? 0 : (size_t)p->k * sizeof(entry)};
}

/* ---- keys ---- */

/* As integers floats are in order but for their sign: those below 0 run backwards. */
HN_INLINE int64_t key_f32(float x) {
    int32_t bits;
    x += 0.0f; /* makes -0 into 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 31 & INT32_MAX);
}

/* n keys of elements that are `stride` apart. `turn` is -1 where the least element comes first. */
HN_INLINE void load_f32(const float *x, int64_t stride, int n, int64_t turn, int64_t nan,
                        int64_t *key) {
    for (int i = 0; i < n; i++) {
        float v = x[i * stride];
        key[i] = v == v ? key_f32(v) ^ turn : nan;
    }
}

HN_INLINE void load_s64(const int64_t *x, int64_t stride, int n, int64_t turn, int64_t *key) {
    for (int i = 0; i < n; i++) key[i] = x[i * stride] ^ turn;
}

HN_INLINE void load_s32(const int32_t *x, int64_t stride, int n, int64_t turn, int64_t *key) {
    for (int i = 0; i < n; i++) key[i] = x[i * stride] ^ turn;
}

/* n keys from element `at` on, n at most STRIP; whole strips of adjacent elements by loops that can
 * be vectorized. */
static void load(const hn_select_k *p, const void *x, int64_t at, int64_t stride, int n,
                 int64_t *key) {
    int64_t turn = p->smallest ? -1 : 0;
    int64_t nan = p->smallest && !p->nan_first ? INT64_MIN : INT64_MAX;
    bool whole = n == STRIP && stride == 1;
    if (p->dtype == HONE_DTYPE_F32 && whole)
        load_f32((const float *)x + at, 1, STRIP, turn, nan, key);
    else if (p->dtype == HONE_DTYPE_F32)
        load_f32((const float *)x + at, stride, n, turn, nan, key);
    else if (p->dtype == HONE_DTYPE_S64)
        load_s64((const int64_t *)x + at, stride, n, turn, key);
    else if (whole)
        load_s32((const int32_t *)x + at, 1, STRIP, turn, key);
    else
        load_s32((const int32_t *)x + at, stride, n, turn, key);
}

/* Element `from` of x, which is `index` along its line, is number `to` of the result. */
static void put(const hn_call *call, int64_t to, int64_t from, int64_t index) {
    const hn_select_k *p = call->problem;
    const char *x = call->ptr[HN_SELECT_K_X];
    char *values = call->ptr[HN_SELECT_K_VALUES];
    int64_t *indices = call->ptr[HN_SELECT_K_INDICES];
    if (indices != NULL) indices[to] = index;
    if (values == NULL) return;
    if (p->dtype == HONE_DTYPE_S64)
        memcpy(values + 8 * to, x + 8 * from, 8);
    else
        memcpy(values + 4 * to, x + 4 * from, 4);
}

/* ---- strips ---- */

HN_INLINE void keep_best(const int64_t *key, int64_t at, bool last, int64_t *restrict best,
                         int64_t *restrict where) {
    for (int i = 0; i < STRIP; i++) {
        bool better = key[i] > best[i] || (last && key[i] == best[i]);
        best[i] = better ? key[i] : best[i];
        where[i] = better ? at : where[i];
    }
}

static void strip(const hn_call *call, int64_t o, int64_t i) {
    const hn_select_k *p = call->problem;
    int64_t key[STRIP] = {0}, best[STRIP], where[STRIP] = {0}, at = o * p->x_outer + i * p->x_inner;
    int n = p->inner - i < STRIP ? (int)(p->inner - i) : STRIP;
    load(p, call->ptr[HN_SELECT_K_X], at, p->x_inner, n, key);
    memcpy(best, key, sizeof best);
    for (int64_t j = 1; j < p->size; j++) {
        load(p, call->ptr[HN_SELECT_K_X], at + j * p->x_size, p->x_inner, n, key);
        if (p->last)
            keep_best(key, j, true, best, where);
        else
            keep_best(key, j, false, best, where);
    }
    for (int m = 0; m < n; m++)
        put(call, o * p->inner + i + m, at + m * p->x_inner + where[m] * p->x_size, where[m]);
}

/* ---- lines ---- */

/* Whether a comes after b. */
static bool after(entry a, entry b) {
    return a.key < b.key || (a.key == b.key && a.index > b.index);
}

/* Puts e into the heap of n entries whose top is free. */
static void sink(entry *heap, int64_t n, entry e, int64_t top) {
    for (int64_t child; (child = 2 * top + 1) < n; top = child) {
        if (child + 1 < n && after(heap[child + 1], heap[child])) child++;
        if (!after(heap[child], e)) break;
        heap[top] = heap[child];
    }
    heap[top] = e;
}

/* Whether one of a chunk's elements may come before `top`, the last of those kept; without a branch
 * for each. NaN may always. */
#define MAY_COME(name, T, I)                                                                   \
    HN_INLINE bool name##_of(const T *x, T top, bool smallest, bool last) {                    \
        I found = 0; /* as wide as T, for vectors */                                           \
        for (int k = 0; k < CHUNK; k++) {                                                      \
            found |= (I) !(smallest ? x[k] >= top : x[k] <= top);                              \
            if (last) found |= (I)(x[k] == top);                                               \
        }                                                                                      \
        return found != 0;                                                                     \
    }                                                                                          \
    static bool name(const hn_select_k *p, const void *data, int64_t at, int64_t from) {       \
        const T *x = (const T *)data + at, top = ((const T *)data)[from];                      \
        if (p->last) return name##_of(x, top, p->smallest, true);                              \
        return p->smallest ? name##_of(x, top, true, false) : name##_of(x, top, false, false); \
    }
MAY_COME(may_come_f32, float, int32_t)
MAY_COME(may_come_s64, int64_t, int64_t)
MAY_COME(may_come_s32, int32_t, int32_t)

/* Whether the chunk of adjacent elements from `at` on can be left out: none comes before element
 * `from`. */
static bool can_skip(const hn_select_k *p, const void *x, int64_t at, int64_t from) {
    if (p->dtype == HONE_DTYPE_F32) return !may_come_f32(p, x, at, from);
    if (p->dtype == HONE_DTYPE_S64) return !may_come_s64(p, x, at, from);
    return !may_come_s32(p, x, at, from);
}

static void line(const hn_call *call, int64_t o, int64_t i, entry *heap) {
    const hn_select_k *p = call->problem;
    int64_t key[CHUNK], at = o * p->x_outer + i * p->x_inner;
    for (int64_t j = 0; j < p->size; j += CHUNK) {
        int n = p->size - j < CHUNK ? (int)(p->size - j) : CHUNK;
        const void *x = call->ptr[HN_SELECT_K_X];
        if (j >= p->k && n == CHUNK && p->x_size == 1 && can_skip(p, x, at + j, at + heap[0].index))
            continue;
        load(p, x, at + j * p->x_size, p->x_size, n, key);
        for (int m = 0; m < n; m++) {
            entry e = {key[m], j + m};
            if (e.index < p->k) heap[e.index] = e;
            if (e.index == p->k - 1)
                for (int64_t top = p->k / 2 - 1; top >= 0; top--) sink(heap, p->k, heap[top], top);
            else if (e.index >= p->k && (p->last ? e.key >= heap[0].key : e.key > heap[0].key))
                sink(heap, p->k, e, 0);
        }
    }
    for (int64_t n = p->k; n > 1; n--) {
        entry e = heap[n - 1];
        heap[n - 1] = heap[0];
        sink(heap, n - 1, e, 0);
    }
    for (int64_t j = 0; j < p->k; j++)
        put(call, (o * p->k + j) * p->inner + i, at + heap[j].index * p->x_size, heap[j].index);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_select_k *p = call->problem;
    int64_t strips = strips_of(p);
    for (int64_t t = begin; t < end; t++) {
        if (by_strips(p))
            strip(call, t / strips, t % strips * STRIP);
        else
            line(call, t / p->inner, t % p->inner, lane);
    }
}

const hn_kernel HN_V_ROW(select_k) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};

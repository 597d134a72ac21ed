#include "ops/order.h"

#include <math.h>
#include <string.h>

static int64_t key_of(double v) {
    int64_t bits;
    if (isnan(v)) return HN_KEY_NAN;
    v += 0.0; /* makes -0 into 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits >= 0 ? bits : bits ^ INT64_MAX;
}

void hn_load_keys(hone_dtype t, const void *data, int64_t from, int64_t n, int64_t *keys) {
    if (!hn_dtype_is_float(t)) {
        hn_load_s64_n(t, data, from, n, keys);
        for (int64_t i = 0; t == HONE_DTYPE_U64 && i < n; i++)
            keys[i] = (int64_t)((uint64_t)keys[i] ^ (uint64_t)INT64_MIN);
        return;
    }
    double block[256];
    for (int64_t i = 0; i < n; i += 256) {
        int64_t part = n - i < 256 ? n - i : 256;
        hn_load_f64_n(t, data, from + i, part, block);
        for (int64_t k = 0; k < part; k++) keys[i + k] = key_of(block[k]);
    }
}

int hn_compare_rows(const int64_t *a, const int64_t *b, int64_t m) {
    for (int64_t i = 0; i < m; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* ---- single keys: by radix, from the lowest digits up ---- */

enum { FEW = 64, MOST_BUCKETS = 1 << 11 };

/* Moves indices by `digits` bits of key - least from `shift` on; false: all have the same, and they
 * stay. */
static bool sort_digit(const int64_t *keys, int64_t least, const int64_t *from, int64_t n,
                       int shift, int digits, int64_t *to) {
    uint64_t mask = ((uint64_t)1 << digits) - 1;
    int64_t place[MOST_BUCKETS] = {0}, before = 0;
#define DIGIT(i) ((((uint64_t)keys[i] - (uint64_t)least) >> shift) & mask)
    for (int64_t i = 0; i < n; i++) place[DIGIT(from[i])]++;
    if (place[DIGIT(from[0])] == n) return false;
    for (uint64_t b = 0; b <= mask; b++) {
        int64_t count = place[b];
        place[b] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++) to[place[DIGIT(from[i])]++] = from[i];
#undef DIGIT
    return true;
}

static void sort_keys(const int64_t *keys, int64_t *index, int64_t n, int64_t *tmp) {
    int64_t least = keys[index[0]], most = least, *from = index, *to = tmp;
    for (int64_t i = 1; i < n; i++) {
        int64_t k = keys[index[i]];
        least = k < least ? k : least;
        most = k > most ? k : most;
    }
    int digits = n < 2048 ? 8 : 11;
    uint64_t range = (uint64_t)most - (uint64_t)least;
    for (int shift = 0; shift < 64 && range >> shift != 0; shift += digits) {
        if (!sort_digit(keys, least, from, n, shift, digits, to)) continue;
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != index) memcpy(index, from, (size_t)n * sizeof *index);
}

/* ---- rows of keys ---- */

/* Merge sort from the bottom up: runs of 1, 2, 4 ... back and forth between index and tmp. */
void hn_sort_rows(const int64_t *keys, int64_t m, int64_t *index, int64_t n, int64_t *tmp) {
    if (m == 1 && n > FEW) {
        sort_keys(keys, index, n, tmp);
        return;
    }
    int64_t *from = index, *to = tmp;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * run) {
            int64_t mid = n - lo < run ? n : lo + run, hi = n - mid < run ? n : mid + run;
            int64_t a = lo, b = mid;
            for (int64_t k = lo; k < hi; k++) {
                bool first = b == hi || (a < mid && hn_compare_rows(keys + from[a] * m,
                                                                    keys + from[b] * m, m) <= 0);
                to[k] = first ? from[a++] : from[b++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != index) memcpy(index, from, (size_t)n * sizeof *index);
}

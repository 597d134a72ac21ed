/* The order of numbers of any type, as integers: two keys compare as the values do. -0 equals 0,
 * all NaNs are equal and greater than every number. Sorting is stable and needs no memory of its
 * own. */
#ifndef HN_OPS_ORDER_H
#define HN_OPS_ORDER_H

#include "ops/op.h"

/* Keys of elements [from, from + n) of a tensor of type t (a number type or bool). */
void hn_load_keys(hone_dtype t, const void *data, int64_t from, int64_t n, int64_t *keys);
/* The key of a NaN. */
#define HN_KEY_NAN INT64_MAX

/* Orders index[0 .. n), ascending by rows of m keys, rows compared from the left: index i stands
 * for keys[i*m .. i*m + m). Equal rows stay in the order they came. tmp has room for n. */
void hn_sort_rows(const int64_t *keys, int64_t m, int64_t *index, int64_t n, int64_t *tmp);
/* Negative, 0 or positive as row a is before, equal to or after row b. */
int hn_compare_rows(const int64_t *a, const int64_t *b, int64_t m);

#endif

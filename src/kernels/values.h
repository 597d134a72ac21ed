/* Which different numbers weights are. A number is told by its bits: 0 and -0 differ. */
#ifndef HN_KERNELS_VALUES_H
#define HN_KERNELS_VALUES_H

#include <stdint.h>

enum {
    HN_MOST_VALUES = 128, /* that are looked for: no row looks up weights of more */
    HN_VALUES_SLOTS = 4 * HN_MOST_VALUES,
};

/* Zero: none yet. */
typedef struct hn_values {
    int n;
    uint32_t bits[HN_MOST_VALUES];  /* in the order they came */
    uint16_t slot[HN_VALUES_SLOTS]; /* hash table: 1 + where in `bits`; 0: empty */
} hn_values;

/* Where in v->bits the number is, which it is added to if it is new; -1: `most` are there already. */
static inline int hn_values_place(hn_values *v, uint32_t bits, int most) {
    uint32_t at = (bits * 0x9e3779b1U >> 16) % HN_VALUES_SLOTS;
    while (v->slot[at] != 0) {
        int place = v->slot[at] - 1;
        if (v->bits[place] == bits) return place;
        at = (at + 1) % HN_VALUES_SLOTS;
    }
    if (v->n >= most) return -1;
    v->bits[v->n++] = bits;
    v->slot[at] = (uint16_t)v->n;
    return v->n - 1;
}

#endif

#include "kernels/count_grams/count_grams.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/count_grams/count_grams.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/count_grams/count_grams.def"
#undef HN_KERNEL
};

const hn_family hn_count_grams_family = {
    .name = "count_grams",
    .help = "how often n-grams of a pool occur in rows of integers",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

int64_t hn_ngram_slots(int64_t n) {
    int64_t slots = 2;
    while (slots / 2 <= n) slots *= 2;
    return slots;
}

void hn_ngram_clear(hn_ngram_slot *table, int64_t slots) {
    for (int64_t i = 0; i < slots; i++) table[i] = (hn_ngram_slot){0, HN_NGRAM_FREE, -1};
}

int64_t hn_ngram_add(hn_ngram_slot *table, int64_t slots, int64_t parent, int64_t item) {
    int64_t i = (int64_t)hn_ngram_hash(parent, item, slots);
    for (; table[i].parent != HN_NGRAM_FREE; i = (i + 1) & (slots - 1))
        if (table[i].parent == parent && table[i].item == item) return i;
    table[i] = (hn_ngram_slot){item, (int32_t)parent, -1};
    return i;
}

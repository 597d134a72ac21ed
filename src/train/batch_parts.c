#include "train/batch_parts.h"

#include <string.h>

enum { LEVELS = 40 };

struct hn_parts {
    hn_allocator *alloc;
    const hn_ranks *ranks;
    int64_t n, parts, done;
    float *room;          /* the next part */
    float *level[LEVELS]; /* the sum of 2^i parts, if bit i of done is set */
};

static float *more(hn_parts *p) {
    return hn_alloc_array(p->alloc, (size_t)p->n, sizeof(float), HN_MEM_TENSOR);
}

hone_status hn_parts_create(hn_parts **out, int64_t n, int64_t parts, const hn_ranks *ranks,
                            hn_allocator *alloc, hn_error *err) {
    hn_parts *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    *p = (hn_parts){.alloc = alloc, .ranks = ranks, .n = n, .parts = parts};
    bool made = (p->room = more(p)) != NULL;
    for (int i = 0; made && i < LEVELS && parts >> i > 0; i++)
        made = (p->level[i] = more(p)) != NULL;
    if (!made) {
        hn_parts_destroy(p);
        return HN_NOMEM(err);
    }
    *out = p;
    return HONE_OK;
}

void hn_parts_destroy(hn_parts *p) {
    if (p == NULL) return;
    hn_free(p->alloc, p->room);
    for (int i = 0; i < LEVELS; i++) hn_free(p->alloc, p->level[i]);
    hn_free(p->alloc, p);
}

float *hn_parts_room(hn_parts *p) { return p->room; }

static void swap(float **a, float **b) {
    float *t = *a;
    *a = *b;
    *b = t;
}

/* later += earlier */
static void add(float *restrict later, const float *restrict earlier, int64_t n) {
    for (int64_t i = 0; i < n; i++) later[i] = earlier[i] + later[i];
}

hone_status hn_parts_add(hn_parts *p, float **sum, hn_error *err) {
    int i = 0;
    *sum = NULL;
    for (; p->done >> i & 1; i++) add(p->room, p->level[i], p->n);
    swap(&p->room, &p->level[i]);
    if (++p->done < p->parts) return HONE_OK;
    float *all = NULL;
    for (i = 0; i < LEVELS; i++) {
        if (!(p->done >> i & 1)) continue;
        if (all != NULL)
            add(all, p->level[i], p->n);
        else
            all = p->level[i];
    }
    p->done = 0;
    HN_TRY(hn_ranks_sum(p->ranks, all, p->room, p->n, err));
    *sum = all;
    return HONE_OK;
}

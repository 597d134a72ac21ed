#include "engine/memory.h"

#include <stdlib.h>

#include "base/size.h"

static int by_size(const void *a, const void *b) {
    const hn_piece *p = *(hn_piece *const *)a, *q = *(hn_piece *const *)b;
    if (p->bytes != q->bytes) return p->bytes > q->bytes ? -1 : 1;
    if (p->first != q->first) return p->first < q->first ? -1 : 1;
    return p < q ? -1 : p > q;
}

/* The start of the smallest gap that holds `bytes` among the placed pieces (sorted by offset) whose
 * lives meet p's; the end of the last of them if there is none. */
static size_t find_gap(hn_piece *const *placed, int n, const hn_piece *p) {
    size_t need = hn_aligned(p->bytes), at = 0, best = 0, best_size = SIZE_MAX;
    for (int i = 0; i < n; i++) {
        const hn_piece *q = placed[i];
        if (q->last < p->first || q->first > p->last) continue;
        if (q->offset > at && q->offset - at >= need && q->offset - at < best_size) {
            best = at;
            best_size = q->offset - at;
        }
        size_t end = q->offset + hn_aligned(q->bytes);
        if (end > at) at = end;
    }
    return best_size != SIZE_MAX ? best : at;
}

hone_status hn_memory_plan(hn_piece *pieces, int n, bool share, hn_allocator *alloc, size_t *total,
                           hn_error *err) {
    size_t sum = 0, end = 0;
    for (int i = 0; i < n; i++) {
        HN_CHECK(err,
                 pieces[i].bytes <= SIZE_MAX - HN_ALIGN &&
                     hn_size_add(sum, hn_aligned(pieces[i].bytes), &sum),
                 HONE_E_LIMIT, "the activations together are larger than memory can be");
        pieces[i].offset = sum - hn_aligned(pieces[i].bytes);
    }
    if (!share) {
        *total = sum;
        return HONE_OK;
    }
    hn_piece **list = hn_alloc_array(alloc, 2 * (size_t)n + 1, sizeof *list, HN_MEM_OTHER);
    if (list == NULL) return HN_NOMEM(err);
    hn_piece **placed = list + n;
    int n_list = 0, n_placed = 0;
    for (int i = 0; i < n; i++) {
        pieces[i].offset = 0;
        if (pieces[i].bytes > 0 && pieces[i].first <= pieces[i].last) list[n_list++] = &pieces[i];
    }
    qsort(list, (size_t)n_list, sizeof *list, by_size);
    for (int i = 0; i < n_list; i++) {
        hn_piece *p = list[i];
        p->offset = find_gap(placed, n_placed, p);
        if (p->offset + hn_aligned(p->bytes) > end) end = p->offset + hn_aligned(p->bytes);
        int k = n_placed++;
        for (; k > 0 && placed[k - 1]->offset > p->offset; k--) placed[k] = placed[k - 1];
        placed[k] = p;
    }
    hn_free(alloc, list);
    *total = end;
    return HONE_OK;
}

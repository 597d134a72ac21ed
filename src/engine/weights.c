#include "engine/weights.h"

#include <string.h>

#include "base/size.h"

/* One block of packed weights. */
typedef struct block block;
struct block {
    void *data;
    block *next;
};

struct hn_weights {
    hn_allocator *alloc;
    hn_packed *list;   /* newest first */
    hn_packed *filled; /* the newest that is filled in */
    block *blocks;
    size_t bytes;
};

hone_status hn_weights_create(hn_weights **out, hn_allocator *alloc, hn_error *err) {
    *out = hn_alloc_zero(alloc, sizeof **out, HN_MEM_OTHER);
    if (*out == NULL) return HN_NOMEM(err);
    (*out)->alloc = alloc;
    return HONE_OK;
}

static void forget(hn_weights *w, const hn_packed *until) {
    while (w->list != until) {
        hn_packed *p = w->list;
        w->list = p->next;
        hn_tensor_unref((hn_tensor *)p->source);
        hn_free(w->alloc, p);
    }
}

void hn_weights_destroy(hn_weights *w) {
    if (w == NULL) return;
    forget(w, NULL);
    while (w->blocks != NULL) {
        block *b = w->blocks;
        w->blocks = b->next;
        hn_free(w->alloc, b->data);
        hn_free(w->alloc, b);
    }
    hn_free(w->alloc, w);
}

void hn_weights_forget(hn_weights *w) { forget(w, w->filled); }

size_t hn_weights_bytes(const hn_weights *w) { return w->bytes; }

static bool same_view(const hn_packed *p, const hn_view *view) {
    if (!p->viewed || view == NULL) return p->viewed == (view != NULL);
    return p->view.offset == view->offset && p->view.rank == view->rank &&
           memcmp(p->view.dims, view->dims, sizeof view->dims) == 0 &&
           memcmp(p->view.strides, view->strides, sizeof view->strides) == 0;
}

hone_status hn_weights_want(hn_weights *w, const hn_kernel *k, const void *problem,
                            const hn_tensor *t, const hn_view *view, hn_packed **out,
                            hn_error *err) {
    uint64_t key = k->pack != NULL ? k->pack_key(problem) : 0;
    for (hn_packed *p = w->list; p != NULL; p = p->next) {
        if (p->source != t || p->kernel->pack != k->pack || p->key != key || !same_view(p, view))
            continue;
        *out = p;
        return HONE_OK;
    }
    hn_packed *p = hn_alloc_zero(w->alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    *p = (hn_packed){.source = hn_tensor_ref(t),
                     .viewed = view != NULL,
                     .kernel = k,
                     .key = key,
                     .problem = problem,
                     .next = w->list};
    if (view != NULL) p->view = *view;
    p->bytes = k->pack != NULL ? k->packed_bytes(problem)
                               : hone_value_bytes(t->dtype, view->rank, view->dims);
    w->list = p;
    *out = p;
    return HONE_OK;
}

typedef struct filling {
    hn_packed **list;
    hn_allocator *alloc;
    atomic_bool failed;
} filling;

/* The elements of the view, in order of its axes. */
static void gather(const hn_packed *p, char *dst) {
    const hn_view *v = &p->view;
    size_t size = (size_t)hone_dtype_bits(p->source->dtype) / 8;
    int64_t index[HONE_MAX_RANK] = {0}, at = v->offset;
    for (;;) {
        memcpy(dst, (const char *)p->source->data + (size_t)at * size, size);
        dst += size;
        int a = v->rank - 1;
        for (; a >= 0; a--) {
            at += v->strides[a];
            if (++index[a] < v->dims[a]) break;
            at -= v->strides[a] * v->dims[a];
            index[a] = 0;
        }
        if (a < 0) return;
    }
}

static void fill_one(void *ctx, int64_t i) {
    filling *f = ctx;
    hn_packed *p = f->list[i];
    if (p->kernel->pack == NULL) {
        gather(p, p->data);
        return;
    }
    const void *plain = p->source->data;
    void *copy = NULL;
    if (p->viewed || !hn_tensor_aligned(p->source)) {
        size_t bytes = p->source->bytes;
        if (p->viewed) bytes = hone_value_bytes(p->source->dtype, p->view.rank, p->view.dims);
        copy = hn_alloc(f->alloc, bytes, HN_MEM_SCRATCH);
        if (copy == NULL) {
            atomic_store(&f->failed, true);
            return;
        }
        if (p->viewed)
            gather(p, copy);
        else
            memcpy(copy, plain, bytes);
        plain = copy;
    }
    p->kernel->pack(p->problem, plain, p->data);
    hn_free(f->alloc, copy);
}

hone_status hn_weights_fill(hn_weights *w, hn_pool *pool, hn_error *err) {
    size_t total = 0, n = 0, room;
    bool fits = true;
    for (hn_packed *p = w->list; p != w->filled; p = p->next, n++)
        fits = fits && hn_size_add(p->bytes, HN_ALIGN - 1, &room) &&
               hn_size_add(total, room / HN_ALIGN * HN_ALIGN, &total);
    if (n == 0) return HONE_OK;
    filling f = {.alloc = w->alloc};
    block *b = hn_alloc_zero(w->alloc, sizeof *b, HN_MEM_OTHER);
    f.list = hn_alloc_array(w->alloc, n, sizeof *f.list, HN_MEM_OTHER);
    if (b != NULL && fits) b->data = hn_alloc(w->alloc, total, HN_MEM_WEIGHTS);
    if (b == NULL || f.list == NULL || b->data == NULL) atomic_store(&f.failed, true);
    if (!atomic_load(&f.failed)) {
        size_t at = total, i = n; /* the list is newest first, the block oldest first */
        for (hn_packed *p = w->list; p != w->filled; p = p->next) {
            at -= (p->bytes + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN;
            p->data = (char *)b->data + at;
            f.list[--i] = p;
        }
        hn_pool_run(pool, (int64_t)n, fill_one, &f);
    }
    hn_free(w->alloc, f.list);
    if (atomic_load(&f.failed)) {
        if (b != NULL) hn_free(w->alloc, b->data);
        hn_free(w->alloc, b);
        return HN_FAIL(err, HONE_E_NOMEM, "out of memory (%zu bytes of packed weights)", total);
    }
    b->next = w->blocks;
    w->blocks = b;
    w->bytes += total;
    w->filled = w->list;
    return HONE_OK;
}

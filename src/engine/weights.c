#include "engine/weights.h"

#include <string.h>

#include "base/checksum.h"
#include "base/least.h"
#include "base/size.h"
#include "engine/memory.h"
#include "engine/premade.h"
#include "kernels/stored_parts.h"

/* One block of packed weights: the next n of the list, which is in the same order. */
typedef struct block block;
struct block {
    void *data, *on_device; /* on_device: NULL where there is nothing */
    size_t bytes, device_bytes;
    int64_t n;
    block *next;
};

struct hn_weights {
    hn_allocator *alloc;
    const hn_device *device;
    hn_packed *list;   /* newest first */
    hn_packed *filled; /* the newest that is filled in */
    block *blocks;
    size_t bytes, device_bytes;
    hn_weights *common; /* NULL: nothing is shared */
    const hn_map *shared;
    const hn_premade *kept; /* NULL: nothing is */
    const hn_map *names;    /* NULL: nothing is and will be kept */
};

hone_status hn_weights_create(hn_weights **out, const hn_device *device, hn_allocator *alloc,
                              hn_error *err) {
    *out = hn_alloc_zero(alloc, sizeof **out, HN_MEM_OTHER);
    if (*out == NULL) return HN_NOMEM(err);
    (*out)->alloc = alloc;
    (*out)->device = device;
    return HONE_OK;
}

void hn_weights_share(hn_weights *w, hn_weights *common, const hn_map *all) {
    w->common = common;
    w->shared = all;
}

/* The tensors of a constant, by number; NULL: it has no such one. */
enum { PARTS = 3 };
static const hn_tensor *part_of(const hn_constant *c, int i) {
    const hn_tensor *const part[PARTS] = {c->data, c->other, c->zero};
    return part[i];
}

static void remove_packed(hn_weights *w, hn_packed **at) {
    hn_packed *p = *at;
    *at = p->next;
    for (int i = 0; i < PARTS; i++) hn_tensor_unref((hn_tensor *)part_of(&p->source, i));
    hn_free(w->alloc, p);
}

static void forget(hn_weights *w, const hn_packed *until) {
    while (w->list != until) remove_packed(w, &w->list);
}

static void destroy_block(hn_weights *w, block *b) {
    if (b == NULL) return;
    hn_free(w->alloc, b->data);
    if (b->on_device != NULL) w->device->release(w->device->ctx, b->on_device);
    hn_free(w->alloc, b);
}

static void remove_block(hn_weights *w, block **at) {
    block *b = *at;
    *at = b->next;
    w->bytes -= b->bytes;
    w->device_bytes -= b->device_bytes;
    destroy_block(w, b);
}

void hn_weights_destroy(hn_weights *w) {
    if (w == NULL) return;
    forget(w, NULL);
    while (w->blocks != NULL) remove_block(w, &w->blocks);
    hn_free(w->alloc, w);
}

void hn_weights_forget(hn_weights *w) {
    forget(w, w->filled);
    if (w->common != NULL) hn_weights_forget(w->common);
}

/* Whether nobody but the store has the tensor. */
static bool is_alone(const hn_weights *w, const hn_tensor *t) {
    int mine = 0;
    if (t == NULL) return false;
    for (const hn_packed *p = w->list; p != NULL; p = p->next)
        for (int i = 0; i < PARTS; i++) mine += part_of(&p->source, i) == t;
    return atomic_load(&t->refs) == mine;
}

/* Whether nobody can ask for the constant again: only the store has a part of it. */
static bool is_left(const hn_weights *w, const hn_constant *c) {
    for (int i = 0; i < PARTS; i++)
        if (is_alone(w, part_of(c, i))) return true;
    return false;
}

static bool all_left(const hn_weights *w, const hn_packed *p, int64_t n) {
    for (; n > 0; n--, p = p->next)
        if (!is_left(w, &p->source)) return false;
    return true;
}

void hn_weights_trim(hn_weights *w) {
    hn_packed **at = &w->list;
    for (block **b = &w->blocks; *b != NULL;) {
        int64_t n = (*b)->n;
        if (all_left(w, *at, n)) {
            for (; n > 0; n--) remove_packed(w, at);
            remove_block(w, b);
        } else {
            for (; n > 0; n--) at = &(*at)->next;
            b = &(*b)->next;
        }
    }
    w->filled = w->list;
}

size_t hn_weights_bytes(const hn_weights *w) {
    return w->bytes + (w->common != NULL ? hn_weights_bytes(w->common) : 0);
}

size_t hn_weights_device_bytes(const hn_weights *w) {
    return w->device_bytes + (w->common != NULL ? hn_weights_device_bytes(w->common) : 0);
}

static bool same_view(const hn_packed *p, const hn_view *view) {
    if (!p->viewed || view == NULL) return p->viewed == (view != NULL);
    return p->view.dtype == view->dtype && p->view.offset == view->offset &&
           p->view.rank == view->rank && memcmp(p->view.dims, view->dims, sizeof view->dims) == 0 &&
           memcmp(p->view.strides, view->strides, sizeof view->strides) == 0;
}

typedef void pack_fn(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                     void *dst);
static pack_fn *pack_of(const hn_kernel *k) { return k != NULL ? k->pack : NULL; }

static size_t view_bytes(const hn_packed *p) {
    return hone_value_bytes(p->view.dtype, p->view.rank, p->view.dims);
}

static bool same_constant(const hn_constant *a, const hn_constant *b) {
    const hn_stored *x = &a->as, *y = &b->as;
    return a->data == b->data && a->other == b->other && a->zero == b->zero && x->kind == y->kind &&
           x->axis == y->axis && x->inner == y->inner && x->block == y->block;
}

/* Whether all of it is in the map. */
static bool is_held(const hn_map *map, const hn_constant *c) {
    for (int i = 0; i < PARTS; i++) {
        const hn_tensor *t = part_of(c, i);
        if (t != NULL && hn_map_get(map, (const char *)&t, sizeof t) == NULL) return false;
    }
    return true;
}

/* ---- what is kept ---- */

void hn_weights_keep(hn_weights *w, const hn_premade *kept, const hn_map *names) {
    w->kept = kept;
    w->names = names;
}

/* Numbers and texts that make a key. A text that does not fit makes it full. */
typedef struct key_text {
    size_t n;
    bool full;
    char bytes[2000];
} key_text;

static void put_bytes(key_text *k, const void *data, size_t n) {
    if (n > sizeof k->bytes - k->n) k->full = true;
    if (k->full) return;
    memcpy(k->bytes + k->n, data, n);
    k->n += n;
}

static void put_number(key_text *k, int64_t v) { put_bytes(k, &v, sizeof v); }
static void put_text(key_text *k, const char *text) { put_bytes(k, text, strlen(text) + 1); }

static const hn_family *family_of(const hn_kernel *k) {
    for (int f = 0; f < hn_n_families; f++)
        for (int i = 0; i < hn_families[f]->n_rows; i++)
            if (hn_families[f]->rows[i] == k) return hn_families[f];
    return NULL;
}

static void put_view(key_text *k, const hn_view *v) {
    put_number(k, v->dtype);
    put_number(k, v->offset);
    put_number(k, v->rank);
    for (int i = 0; i < v->rank; i++) {
        put_number(k, v->dims[i]);
        put_number(k, v->strides[i]);
    }
}

/* Of weights that may be kept. Those of rows that leave out weights hold places, which are never
 * taken from a file: a run would follow them. */
static bool key_of(const hn_weights *w, const hn_packed *p, uint64_t *key) {
    const hn_family *f = pack_of(p->kernel) != NULL ? family_of(p->kernel) : NULL;
    key_text k = {0};
    if (w->names == NULL || f == NULL || p->kernel->sparse || p->space != HN_SPACE_HOST)
        return false;
    for (int i = 0; i < PARTS; i++) {
        const hn_tensor *t = part_of(&p->source, i);
        const char *name = t != NULL ? hn_map_get(w->names, (const char *)&t, sizeof t) : "";
        if (name == NULL) return false;
        put_text(&k, name);
    }
    const hn_stored *as = &p->source.as;
    const int64_t facts[] = {as->kind,   as->type,       as->n,     as->axis,
                             as->inner,  as->block,      p->viewed, (int64_t)p->bytes,
                             f->weights, (int64_t)p->key};
    put_bytes(&k, facts, sizeof facts);
    if (p->viewed) put_view(&k, &p->view);
    put_text(&k, f->name);
    put_text(&k, p->kernel->name);
    *key = hn_checksum(k.bytes, k.n);
    return !k.full;
}

static void look_for_kept(const hn_weights *w, hn_packed *p) {
    uint64_t key;
    if (w->kept == NULL || !key_of(w, p, &key)) return;
    p->data = (void *)w->kept->packed(w->kept->ctx, key, p->bytes);
    p->kept = p->data != NULL;
}

void hn_weights_each(const hn_weights *w, void (*each)(void *ctx, uint64_t key, const hn_packed *p),
                     void *ctx) {
    uint64_t key;
    for (const hn_packed *p = w->filled; p != NULL; p = p->next)
        if (key_of(w, p, &key)) each(ctx, key, p);
}

/* ---- what is wanted ---- */

hone_status hn_weights_want(hn_weights *w, hn_memory_space space, const hn_kernel *k,
                            const void *problem, const hn_constant *c, const hn_view *view,
                            hn_packed **out, hn_error *err) {
    if (w->common != NULL && is_held(w->shared, c))
        return hn_weights_want(w->common, space, k, problem, c, view, out, err);
    uint64_t key = pack_of(k) != NULL ? k->pack_key(problem) : 0;
    for (hn_packed *p = w->list; p != NULL; p = p->next) {
        if (!same_constant(&p->source, c) || p->key != key || p->space != space ||
            pack_of(p->kernel) != pack_of(k) || !same_view(p, view))
            continue;
        *out = p;
        return HONE_OK;
    }
    hn_packed *p = hn_alloc_zero(w->alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    for (int i = 0; i < PARTS; i++)
        if (part_of(c, i) != NULL) hn_tensor_ref(part_of(c, i));
    *p = (hn_packed){.source = *c,
                     .space = space,
                     .viewed = view != NULL,
                     .kernel = k,
                     .key = key,
                     .problem = problem,
                     .next = w->list};
    if (view != NULL) p->view = *view;
    p->bytes = view != NULL ? view_bytes(p) : hn_stored_bytes(&c->as);
    if (pack_of(k) != NULL) p->bytes = k->packed_bytes(problem);
    look_for_kept(w, p);
    w->list = p;
    *out = p;
    return HONE_OK;
}

/* ---- packing ---- */

/* A thread takes about so many bytes of packed weights at a time. */
enum { PIECE_BYTES = 1 << 20 };

typedef struct item {
    hn_packed *packed;
    int64_t first, n;  /* pieces, counted through all items */
    int64_t tasks;     /* that its pieces share */
    atomic_llong left; /* pieces that are not done */
} item;

typedef struct filling {
    item *items;
    int64_t n, pieces;
    int64_t all;         /* items, and what goes to the device */
    size_t device_bytes; /* of that */
    size_t staging;      /* the largest of it that is packed on the way */
    atomic_llong next;   /* piece */
    char *room;          /* per lane, for one constant on its way */
    size_t room_bytes;
} filling;

static bool is_dense(const hn_packed *p) { return p->source.as.kind == HN_STORED_DENSE; }

/* What comes between the constant and its place: it expanded, and the view of it. */
static size_t expanded_room(const hn_packed *p) {
    bool passes = !is_dense(p) && (pack_of(p->kernel) != NULL || p->viewed);
    return passes ? hn_aligned(hn_stored_bytes(&p->source.as)) : 0;
}
static size_t room_of(const hn_packed *p) {
    bool passes = pack_of(p->kernel) != NULL && p->viewed;
    return expanded_room(p) + (passes ? hn_aligned(view_bytes(p)) : 0);
}

/* What a device gets as it lies goes there at once, the rest by way of the host. */
static bool is_staged(const hn_packed *p) {
    return pack_of(p->kernel) != NULL || p->viewed || !is_dense(p);
}

hn_stored hn_constant_stored(const hn_constant *c) {
    hn_stored s = c->as;
    s.data = c->data->data;
    if (c->other == NULL) return s;
    s.scale = s.table = s.places = c->other->data;
    s.zero = c->zero != NULL ? c->zero->data : NULL;
    return s;
}

/* The elements of the view of `plain`, in order of its axes and of its type. */
static void gather(const hn_packed *p, const char *plain, char *dst) {
    const hn_view *v = &p->view;
    size_t size = (size_t)hone_dtype_bits(v->dtype) / 8;
    hone_dtype type = hn_stored_type(&p->source.as);
    bool widens = v->dtype != type;
    int64_t index[HONE_MAX_RANK] = {0}, at = v->offset;
    for (int64_t i = 0;; i++) {
        if (widens)
            hn_store_s64(v->dtype, dst, i, hn_load_s64(type, plain, at));
        else
            memcpy(dst + (size_t)i * size, plain + (size_t)at * size, size);
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

/* How many pieces so many tasks make for p's bytes. */
static int64_t pieces_of(const hn_packed *p, int64_t tasks) {
    int64_t pieces = (int64_t)(p->bytes / PIECE_BYTES);
    return pieces > 1 && tasks > 1 ? hn_least(pieces, tasks) : 1;
}

/* What is expanded, then packed, is so by all lanes together, if it is large. */
static bool is_shared(const hn_packed *p) {
    bool passes = !is_dense(p) && !p->viewed && pack_of(p->kernel) != NULL;
    return passes && pieces_of(p, hn_stored_parts(&p->source.as)) > 1;
}

/* The tasks of a plain copy are its bytes, those of an expanded one its parts. What is gathered is
 * so as a whole, in one piece, and what is expanded and packed, unless lanes share it. */
static item item_of(hn_packed *p, int64_t first) {
    item t = {.packed = p, .first = first, .n = 1, .tasks = (int64_t)p->bytes};
    bool packs = pack_of(p->kernel) != NULL;
    if (packs)
        t.tasks = hn_pack_tasks(p->kernel, p->problem);
    else if (!is_dense(p) && !p->viewed)
        t.tasks = hn_stored_parts(&p->source.as);
    if (!p->viewed && (is_dense(p) || !packs)) t.n = pieces_of(p, t.tasks);
    atomic_init(&t.left, t.n);
    return t;
}

static void fill_piece(const item *t, int64_t piece, char *room) {
    const hn_packed *p = t->packed;
    int64_t begin = t->tasks * piece / t->n, end = t->tasks * (piece + 1) / t->n;
    hn_stored plain = hn_constant_stored(&p->source);
    bool packs = pack_of(p->kernel) != NULL;
    if (!is_dense(p) && !packs && !p->viewed) {
        hn_stored_expand_parts(&plain, begin, end, p->data);
        return;
    }
    if (!is_dense(p)) {
        hn_stored_expand(&plain, room);
        plain = hn_stored_plain(room);
        room += expanded_room(p);
    }
    if (p->viewed) {
        void *to = packs ? room : p->data;
        gather(p, plain.data, to);
        plain = hn_stored_plain(to);
    }
    if (packs)
        p->kernel->pack(p->problem, &plain, begin, end, p->data);
    else if (plain.data != p->data)
        memcpy((char *)p->data + begin, (const char *)plain.data + begin, (size_t)(end - begin));
}

/* A constant that lanes share: first its parts, then the tasks of its packing. */
typedef struct sharing {
    hn_packed *packed;
    char *room;
    bool packs;
    int64_t tasks, n; /* of what is done now, and the pieces they make */
    atomic_llong next;
} sharing;

static void share_lane(void *ctx, int64_t lane) {
    (void)lane;
    sharing *s = ctx;
    const hn_packed *p = s->packed;
    hn_stored stored = hn_constant_stored(&p->source), expanded = hn_stored_plain(s->room);
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n;) {
        int64_t begin = s->tasks * i / s->n, end = s->tasks * (i + 1) / s->n;
        if (s->packs)
            p->kernel->pack(p->problem, &expanded, begin, end, p->data);
        else
            hn_stored_expand_parts(&stored, begin, end, s->room);
    }
}

static void let_go(const hn_packed *p) {
    const hn_tensor *source = p->source.data;
    if (source->file != NULL) hn_file_let_go(source->file, source->data, source->bytes);
}

static void fill_shared(hn_packed *p, char *room, hn_pool *pool) {
    for (int packs = 0; packs < 2; packs++) {
        sharing s = {.packed = p, .room = room, .packs = packs != 0};
        s.tasks = packs ? hn_pack_tasks(p->kernel, p->problem) : hn_stored_parts(&p->source.as);
        s.n = pieces_of(p, s.tasks);
        hn_pool_run(pool, hn_pool_threads(pool), share_lane, &s);
    }
    let_go(p);
}

/* A file's pages go as they are done with: packed and plain weights are never both in memory. */
static void fill_lane(void *ctx, int64_t lane) {
    filling *f = ctx;
    item *t = f->items;
    for (int64_t i; (i = atomic_fetch_add(&f->next, 1)) < f->pieces;) {
        while (i >= t->first + t->n) t++;
        fill_piece(t, i - t->first, f->room + (size_t)lane * f->room_bytes);
        if (atomic_fetch_sub(&t->left, 1) == 1) let_go(t->packed);
    }
}

/* The sizes of a filling, without its memory; total SIZE_MAX: more than memory can be. */
static filling measure(const hn_weights *w, size_t *total) {
    filling f = {0};
    *total = 0;
    for (const hn_packed *p = w->list; p != w->filled; p = p->next, f.all++) {
        if (p->kept) continue;
        bool here = p->space == HN_SPACE_HOST;
        size_t *sum = here ? total : &f.device_bytes;
        if (p->bytes > SIZE_MAX - HN_ALIGN || !hn_size_add(*sum, hn_aligned(p->bytes), sum))
            *total = SIZE_MAX;
        f.n += here;
        if (!here && is_staged(p) && p->bytes > f.staging) f.staging = p->bytes;
        if (room_of(p) > f.room_bytes) f.room_bytes = room_of(p);
    }
    return f;
}

static hn_weights_need own_need(const hn_weights *w, const hn_pool *pool) {
    size_t total;
    filling f = measure(w, &total);
    if (f.all == 0) return (hn_weights_need){0};
    if (total > SIZE_MAX / 8) return (hn_weights_need){SIZE_MAX / 4, SIZE_MAX / 4};
    size_t kept = sizeof(block) + hn_alloc_bytes(total);
    size_t room = (size_t)hn_pool_threads(pool) * f.room_bytes;
    size_t staging = f.device_bytes > 0 ? hn_alloc_bytes(f.staging) : 0;
    return (hn_weights_need){kept + (size_t)f.n * sizeof *f.items + hn_alloc_bytes(room) + staging,
                             kept};
}

hn_weights_need hn_weights_needed(const hn_weights *w, const hn_pool *pool) {
    hn_weights_need own = own_need(w, pool), common = {0};
    if (w->common != NULL) common = own_need(w->common, pool);
    /* Those in common are packed first. */
    size_t then = common.kept + own.at_once;
    return (hn_weights_need){common.at_once > then ? common.at_once : then, common.kept + own.kept};
}

/* ---- a device's ---- */

/* One constant into the device's memory; staging holds what is packed on the way. */
static void fill_on_device(const hn_weights *w, hn_packed *p, const filling *all, void *staging,
                           void *dst, hn_pool *pool) {
    const void *from = p->source.data->data;
    if (is_staged(p)) {
        p->data = staging;
        item one = item_of(p, 0);
        filling f = {.items = &one,
                     .n = 1,
                     .pieces = one.n,
                     .room = all->room,
                     .room_bytes = all->room_bytes};
        hn_pool_run(pool, hn_pool_threads(pool), fill_lane, &f);
        from = staging;
    }
    if (p->bytes > 0) w->device->copy_to(w->device->ctx, dst, from, p->bytes);
    p->data = dst;
}

/* Memory of the device, filled; b is theirs. */
static hone_status fill_device(hn_weights *w, const filling *f, block *b, hn_pool *pool,
                               hn_error *err) {
    if (f->device_bytes == 0) return HONE_OK;
    void *staging = hn_alloc(w->alloc, f->staging, HN_MEM_SCRATCH);
    if (staging == NULL) return HN_NOMEM(err);
    b->on_device = w->device->allocate(w->device->ctx, f->device_bytes);
    b->device_bytes = f->device_bytes;
    size_t at = f->device_bytes;
    for (hn_packed *p = w->list; p != w->filled && b->on_device != NULL; p = p->next) {
        if (p->space == HN_SPACE_HOST) continue;
        at -= hn_aligned(p->bytes);
        fill_on_device(w, p, f, staging, (char *)b->on_device + at, pool);
    }
    hn_free(w->alloc, staging);
    HN_CHECK(err, b->on_device != NULL, HONE_E_NOMEM,
             "out of memory (%zu bytes of packed weights on %s)", f->device_bytes, w->device->name);
    return HONE_OK;
}

/* ---- all ---- */

hone_status hn_weights_fill(hn_weights *w, hn_pool *pool, hn_error *err) {
    if (w->common != NULL) HN_TRY(hn_weights_fill(w->common, pool, err));
    size_t total;
    int lanes = hn_pool_threads(pool);
    filling f = measure(w, &total);
    if (f.all == 0) return HONE_OK;
    block *b = hn_alloc_zero(w->alloc, sizeof *b, HN_MEM_OTHER);
    f.items = hn_alloc_array(w->alloc, (size_t)f.n, sizeof *f.items, HN_MEM_OTHER);
    f.room = hn_alloc_array(w->alloc, (size_t)lanes, f.room_bytes, HN_MEM_SCRATCH);
    if (b != NULL) b->data = hn_alloc(w->alloc, total, HN_MEM_WEIGHTS);
    bool ready = b != NULL && b->data != NULL && f.items != NULL && f.room != NULL;
    hone_status status = HONE_OK;
    if (!ready)
        status = HN_FAIL(err, HONE_E_NOMEM, "out of memory (%zu bytes of packed weights)", total);
    if (ready) status = fill_device(w, &f, b, pool, err);
    if (status == HONE_OK) {
        size_t at = total;
        int64_t i = f.n; /* the list is newest first, the block oldest first */
        for (hn_packed *p = w->list; p != w->filled; p = p->next) {
            if (p->space != HN_SPACE_HOST || p->kept) continue;
            at -= hn_aligned(p->bytes);
            p->data = (char *)b->data + at;
            f.items[--i].packed = p;
        }
        for (i = 0; i < f.n; i++) {
            f.items[i] = item_of(f.items[i].packed, f.pieces);
            if (is_shared(f.items[i].packed)) f.items[i].n = 0;
            f.pieces += f.items[i].n;
        }
        hn_pool_run(pool, lanes, fill_lane, &f);
        for (i = 0; i < f.n; i++)
            if (f.items[i].n == 0) fill_shared(f.items[i].packed, f.room, pool);
        b->bytes = total;
        b->n = f.all;
        b->next = w->blocks;
        w->blocks = b;
        w->bytes += total;
        w->device_bytes += b->device_bytes;
        w->filled = w->list;
    } else {
        destroy_block(w, b);
    }
    hn_free(w->alloc, f.room);
    hn_free(w->alloc, f.items);
    return status;
}

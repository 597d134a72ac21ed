#include <string.h>

#include "base/checksum.h"
#include "formats/package_layout.h"

/* A key and its block take 8 + 12 bytes at least. */
enum { LEAST_PACKED = 20 };

static hone_status take_machine(hn_package_cursor *c, hn_arena *arena, hn_package_machine *m) {
    HN_TRY(hn_package_take_text(c, arena, &m->library));
    HN_TRY(hn_package_take_text(c, arena, &m->isa));
    HN_TRY(hn_package_take_text(c, arena, &m->cpu));
    HN_TRY(hn_package_take_number(c, UINT64_MAX, &m->l1));
    return hn_package_take_number(c, UINT64_MAX, &m->l2);
}

static hone_status take_plain(hn_package_cursor *c, hn_arena *arena, hn_package_ready *r) {
    uint8_t *plain = hn_arena_array(arena, r->model.n, sizeof *plain);
    if (plain == NULL) return HN_NOMEM(c->err);
    for (size_t i = 0; i < r->model.n; i++) {
        uint64_t bits;
        HN_TRY(hn_package_take_fixed(c, 1, &bits));
        plain[i] = (uint8_t)bits;
    }
    r->plain = plain;
    return HONE_OK;
}

static bool is_aligned(const hn_package *p, const hn_block *b) {
    return (size_t)(b->data - p->file->data) % 64 == 0;
}

static hone_status take_packed(const hn_package *p, hn_package_cursor *c, hn_arena *arena,
                               hn_package_ready *r) {
    uint64_t n;
    HN_TRY(hn_package_take_count(c, LEAST_PACKED, &n));
    uint64_t *keys = hn_arena_array(arena, (size_t)n, sizeof *keys);
    hn_block *packed = hn_arena_array(arena, (size_t)n, sizeof *packed);
    if (keys == NULL || packed == NULL) return HN_NOMEM(c->err);
    for (size_t i = 0; i < n; i++) {
        HN_TRY(hn_package_take_fixed(c, 8, &keys[i]));
        HN_TRY(hn_package_take_block(c, &packed[i]));
        if (packed[i].code != HN_CODE_RAW || !is_aligned(p, &packed[i]) ||
            (i > 0 && keys[i] <= keys[i - 1]))
            return hn_package_cut_off(c);
    }
    r->n = (size_t)n;
    r->keys = keys;
    r->packed = packed;
    return HONE_OK;
}

hone_status hn_package_ready_read(hn_package *p, size_t i, hn_package_ready **out, hn_error *err) {
    const hn_package_section *s = &p->ready[i];
    hn_package_cursor c = hn_package_cursor_open(p, s, "what is ready to run is", err);
    HN_CHECK(err, hn_checksum(s->data, s->bytes) == s->checksum, HONE_E_FORMAT,
             "what is ready to run is damaged: its checksum is another");
    hn_package_ready *r = hn_arena_zero(&p->arena, sizeof *r);
    if (r == NULL) return HN_NOMEM(err);
    HN_TRY(take_machine(&c, &p->arena, &r->machine));
    HN_TRY(hn_package_take_file(&c, &p->arena, &r->model));
    HN_TRY(take_plain(&c, &p->arena, r));
    HN_TRY(take_packed(p, &c, &p->arena, r));
    for (size_t k = 0; k < r->model.n; k++)
        if (r->model.entries[k].block.code != HN_CODE_RAW) return hn_package_cut_off(&c);
    if (c.at != c.end) return hn_package_cut_off(&c);
    *out = r;
    return HONE_OK;
}

const void *hn_package_ready_find(const hn_package *p, const hn_package_ready *r, uint64_t key,
                                  size_t bytes) {
    size_t lo = 0, hi = r->n;
    hn_error unread;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->keys[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == r->n || r->keys[lo] != key) return NULL;
    const hn_block *b = &r->packed[lo];
    if (b->bytes != bytes || ((uintptr_t)b->data & 63) != 0) return NULL;
    /* A small one that is damaged is packed anew. */
    bool checks = p->check_raw || b->bytes <= HN_PACKAGE_CHECKED;
    return !checks || hn_package_check_block(p, b, &unread) == HONE_OK ? b->data : NULL;
}

/* Tells each tensor what need not be looked for in it. That most are zeros, or that there are few different
 * numbers, is never taken from a file: kernels that rely on it would write more than they have room
 * for, if it were wrong. */
static void tell_plain(const hn_package_ready *r, hn_graph *g) {
    for (int i = 0; i < g->n_values; i++) {
        hn_tensor *t = g->values[i]->constant;
        if (t == NULL || t->file == NULL || t->dtype != HONE_DTYPE_F32) continue;
        for (size_t k = 0; k < r->model.n; k++) {
            const hn_block *b = &r->model.entries[k].block;
            if (b->data != t->data || b->bytes != t->bytes) continue;
            hn_tensor_tell_plain(t, r->plain[k]);
            break;
        }
    }
}

hone_status hn_package_ready_model(hn_package *p, hn_package_ready *r, hn_model **out,
                                   hn_allocator *alloc, hn_error *err) {
    HN_TRY(hn_package_load_file(p, &r->model, NULL, out, alloc, err));
    tell_plain(r, (*out)->graph);
    return HONE_OK;
}

hone_status hn_package_ready_check(hn_package *p, hn_error *err) {
    for (size_t i = 0; i < p->n_ready; i++) {
        hn_package_ready *r;
        HN_TRY(hn_package_ready_read(p, i, &r, err));
        HN_TRY(hn_package_check_block(p, &r->model.literal, err));
        for (size_t k = 0; k < r->model.n; k++)
            HN_TRY(hn_package_check_block(p, &r->model.entries[k].block, err));
        for (size_t k = 0; k < r->n; k++) HN_TRY(hn_package_check_block(p, &r->packed[k], err));
    }
    return HONE_OK;
}

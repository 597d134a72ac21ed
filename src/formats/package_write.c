#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/log.h"
#include "formats/package.h"
#include "formats/package_layout.h"

/* Smaller tensors stay in the literal: an entry takes some 15 bytes, and the literal is coded as a
 * whole. */
enum { LEAST_BYTES = 256, ALIGN = 64, ALIGN_SMALL = 8, ALIGNED_FROM = 1024 };

typedef struct piece {
    uint64_t offset, bytes; /* in the file */
    hone_dtype dtype;
    int64_t columns;
} piece;

/* A block to be stored: raw from the file it lies in, or from the coded bytes. */
typedef struct block {
    const unsigned char *raw;
    size_t bytes, coded_at, stored;
    hn_code code;
    uint64_t checksum;
    uint64_t offset; /* in the data */
    bool is_there;   /* it is another block too, which is written */
} block;

typedef struct source {
    hn_file *file;
    const char *name;
    size_t n, room;
    piece *pieces;
    hn_growing literal;
    block *blocks; /* of the literal, then of the pieces */
} source;

/* A model made ready: its file, and blocks of packed weights. */
typedef struct ready {
    source model;
    block *packed;
    hn_growing section;
} ready;

typedef struct writer {
    const hn_package_options *o;
    hn_allocator *alloc;
    hn_arena arena;
    const char *folder; /* of external data; NULL: there is none */
    size_t n, n_ready;
    source *sources;
    ready *ready;
    hn_growing coded, contents;
    uint64_t data_bytes;
    int64_t done, total;
} writer;

/* ---- where the tensors are ---- */

static hone_status add_source(writer *w, hn_file *file, const char *name, source **out,
                              hn_error *err) {
    source *grown = hn_realloc(w->alloc, w->sources, (w->n + 1) * sizeof *grown, HN_MEM_OTHER);
    if (grown == NULL) return HN_NOMEM(err);
    w->sources = grown;
    *out = &grown[w->n++];
    **out = (source){.file = file, .name = name, .literal = {.alloc = w->alloc}};
    return HONE_OK;
}

/* The model was loaded before, so that the place is known to be inside its folder. */
static hone_status find_source(writer *w, hn_bytes location, source **out, hn_error *err) {
    for (size_t i = 1; i < w->n; i++) {
        *out = &w->sources[i];
        if (strlen((*out)->name) == location.n && memcmp((*out)->name, location.p, location.n) == 0)
            return HONE_OK;
    }
    HN_CHECK(err, w->n < HN_PACKAGE_MOST_FILES, HONE_E_LIMIT,
             "the model has external data in more than %d files", HN_PACKAGE_MOST_FILES - 1);
    const char *name = hn_arena_strndup(&w->arena, location.p, location.n);
    size_t n = strlen(w->folder) + location.n + 1;
    char *path = hn_arena_alloc(&w->arena, n);
    hn_file *file;
    if (name == NULL || path == NULL) return HN_NOMEM(err);
    snprintf(path, n, "%s%s", w->folder, name);
    HN_TRY(hn_file_open(&file, path, true, w->alloc, err));
    hone_status status = add_source(w, file, name, out, err);
    if (status != HONE_OK) hn_file_unref(file);
    return status;
}

static hone_status add_piece(writer *w, source *s, const piece *p, hn_error *err) {
    if (s->n == s->room) {
        size_t room = 2 * s->room + 16;
        piece *grown = hn_realloc(w->alloc, s->pieces, room * sizeof *grown, HN_MEM_OTHER);
        if (grown == NULL) return HN_NOMEM(err);
        s->pieces = grown;
        s->room = room;
    }
    s->pieces[s->n++] = *p;
    return HONE_OK;
}

static hone_status on_cut(void *ctx, const hn_cut *cut, hn_error *err) {
    writer *w = ctx;
    source *s = &w->sources[0];
    if (cut->location.n > 0) HN_TRY(find_source(w, cut->location, &s, err));
    piece p = {cut->offset, cut->bytes, cut->dtype, cut->columns};
    if (p.offset >= s->file->bytes) return HONE_OK; /* of no bytes */
    if (p.bytes > s->file->bytes - p.offset) p.bytes = s->file->bytes - p.offset;
    return p.bytes > 0 ? add_piece(w, s, &p, err) : HONE_OK;
}

static int by_offset(const void *a, const void *b) {
    const piece *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Tensors of external data may come in any order and overlap; those that do become one piece, of no
 * type unless they are the same. */
static void settle_pieces(source *s) {
    size_t n = 0;
    if (s->n > 0) qsort(s->pieces, s->n, sizeof *s->pieces, by_offset);
    for (size_t i = 0; i < s->n; i++) {
        piece *p = &s->pieces[i], *last = n > 0 ? &s->pieces[n - 1] : NULL;
        if (last == NULL || p->offset >= last->offset + last->bytes) {
            s->pieces[n++] = *p;
            continue;
        }
        bool same = p->offset == last->offset && p->bytes == last->bytes && p->dtype == last->dtype;
        uint64_t end = p->offset + p->bytes;
        if (end > last->offset + last->bytes) last->bytes = end - last->offset;
        if (!same) last->dtype = HONE_DTYPE_NONE;
    }
    s->n = n;
}

/* ---- blocks ---- */

static size_t width_of(hone_dtype dtype, uint64_t bytes) {
    size_t bits = (size_t)hone_dtype_bits(dtype);
    if (dtype == HONE_DTYPE_C64 || dtype == HONE_DTYPE_C128) bits /= 2;
    size_t width = bits >= 8 && bits <= 64 ? bits / 8 : 1;
    return bytes % width == 0 ? width : 1;
}

static void give_place(writer *w, block *b) {
    size_t align = b->code != HN_CODE_RAW ? 1 : b->bytes < ALIGNED_FROM ? ALIGN_SMALL : ALIGN;
    w->data_bytes = (w->data_bytes + align - 1) / align * align;
    b->offset = w->data_bytes;
    w->data_bytes += b->stored;
}

static hone_status make_block(writer *w, const hn_uncoded *u, block *b, hn_error *err) {
    *b = (block){.raw = u->data, .bytes = u->bytes, .coded_at = w->coded.n};
    HN_TRY(hn_coded_encode(u, &w->coded, &b->code, err));
    b->stored = b->code != HN_CODE_RAW ? w->coded.n - b->coded_at : b->bytes;
    b->checksum =
        hn_checksum(b->code != HN_CODE_RAW ? w->coded.data + b->coded_at : b->raw, b->stored);
    give_place(w, b);
    w->done += (int64_t)u->bytes;
    if (w->o->keep_going != NULL && !w->o->keep_going(w->o->ctx, w->done, w->total))
        return HN_FAIL(err, HONE_E_LIMIT, "stopped after %lld of %lld bytes", (long long)w->done,
                       (long long)w->total);
    return HONE_OK;
}

/* What a code must come to of the bytes. The literal is needed at every load, and small. */
enum { PERCENT_SMALL = 97, PERCENT_FAST = 50 };
/* Where a model is also stored ready to run, tensors of fewer bytes stay as they are: the tables of a
 * code take some 50 us to set up, and nobody needs the tensor before the first run. */
enum { LEAST_CODED_READY = 64 << 10 };

/* Blocks for a file, the first of them made: that of the literal. */
static hone_status make_literal(writer *w, source *s, hn_error *err) {
    uint64_t at = 0;
    s->blocks = hn_alloc_array(w->alloc, s->n + 1, sizeof *s->blocks, HN_MEM_OTHER);
    if (s->blocks == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < s->n; i++) {
        const piece *p = &s->pieces[i];
        hn_growing_put(&s->literal, s->file->data + at, (size_t)(p->offset - at));
        at = p->offset + p->bytes;
    }
    hn_growing_put(&s->literal, s->file->data + at, s->file->bytes - (size_t)at);
    if (s->literal.failed) return HN_NOMEM(err);
    hn_uncoded text = {.data = s->literal.data,
                       .bytes = s->literal.n,
                       .width = 1,
                       .text = true,
                       .most_share = PERCENT_SMALL / 100.0};
    return make_block(w, &text, &s->blocks[0], err);
}

static hone_status make_blocks(writer *w, source *s, hn_error *err) {
    double share = (w->o->fast ? PERCENT_FAST : PERCENT_SMALL) / 100.0;
    HN_TRY(make_literal(w, s, err));
    for (size_t i = 0; i < s->n; i++) {
        const piece *p = &s->pieces[i];
        hn_uncoded u = {.data = s->file->data + p->offset,
                        .bytes = (size_t)p->bytes,
                        .width = width_of(p->dtype, p->bytes),
                        .columns = (size_t)p->columns,
                        .most_share = share};
        if (w->o->n_made > 0 && u.bytes < LEAST_CODED_READY) u.most_share = 0;
        HN_TRY(make_block(w, &u, &s->blocks[i + 1], err));
        hn_file_let_go(s->file, u.data, u.bytes);
    }
    return HONE_OK;
}

/* ---- contents ---- */

static void put_fixed(hn_growing *g, uint64_t v, int bytes) {
    unsigned char b[8];
    for (int i = 0; i < bytes; i++) b[i] = (unsigned char)(v >> (8 * i));
    hn_growing_put(g, b, (size_t)bytes);
}

static void put_block(hn_growing *g, const block *b) {
    hn_growing_varint(g, b->bytes);
    put_fixed(g, b->code, 1);
    hn_growing_varint(g, b->offset);
    hn_growing_varint(g, b->stored);
    put_fixed(g, b->checksum, 8);
}

static void put_text(hn_growing *g, const char *text) {
    hn_growing_varint(g, strlen(text));
    hn_growing_put(g, text, strlen(text));
}

static void put_source(hn_growing *g, const source *s) {
    uint64_t at = 0;
    put_text(g, s->name);
    hn_growing_varint(g, s->n);
    put_block(g, &s->blocks[0]);
    for (size_t i = 0; i < s->n; i++) {
        const piece *p = &s->pieces[i];
        hn_growing_varint(g, p->offset - at);
        put_fixed(g, p->dtype, 1);
        put_block(g, &s->blocks[i + 1]);
        at = p->offset + p->bytes;
    }
}

static void put_contents(writer *w) {
    hn_growing_varint(&w->contents, w->n);
    for (size_t k = 0; k < w->n; k++) put_source(&w->contents, &w->sources[k]);
}

/* ---- models made ready ---- */

/* The block that has the same bytes, as they are, among those of a file; NULL: there is none. */
static const block *same_bytes(const source *s, const block *b) {
    for (size_t i = 1; i <= s->n; i++) {
        const block *a = &s->blocks[i];
        if (a->code == HN_CODE_RAW && a->bytes == b->bytes && a->checksum == b->checksum &&
            a->offset % ALIGN == 0 && memcmp(a->raw, b->raw, b->bytes) == 0)
            return a;
    }
    return NULL;
}

/* A raw block, at a place of its own unless the model or what was made ready before has it. */
static void keep_block(writer *w, const void *data, size_t bytes, block *b) {
    const block *same = NULL;
    *b = (block){.raw = data, .bytes = bytes, .stored = bytes, .code = HN_CODE_RAW};
    b->checksum = hn_checksum(data, bytes);
    for (size_t k = 0; k < w->n && same == NULL; k++) same = same_bytes(&w->sources[k], b);
    for (size_t k = 0; k + 1 < w->n_ready && same == NULL; k++)
        same = same_bytes(&w->ready[k].model, b);
    b->is_there = same != NULL;
    w->done += (int64_t)bytes;
    if (same != NULL) {
        b->offset = same->offset;
        return;
    }
    w->data_bytes = (w->data_bytes + ALIGN - 1) / ALIGN * ALIGN;
    b->offset = w->data_bytes;
    w->data_bytes += bytes;
}

static hone_status on_ready_cut(void *ctx, const hn_cut *cut, hn_error *err) {
    writer *w = ctx;
    piece p = {cut->offset, cut->bytes, cut->dtype, cut->columns};
    if (cut->location.n > 0) return HONE_OK;
    ready *r = &w->ready[w->n_ready - 1];
    const hn_package_made *made = &w->o->made[w->n_ready - 1];
    unsigned char plain = 0;
    const char *name = hn_arena_strndup(&w->arena, cut->name.p, cut->name.n);
    if (name == NULL) return HN_NOMEM(err);
    if (made->plain != NULL) plain = (unsigned char)made->plain(made->ctx, name, cut->bytes);
    hn_growing_put(&r->section, &plain, 1);
    return add_piece(w, &r->model, &p, err);
}

static void put_machine(hn_growing *g, const hn_package_machine *m) {
    put_text(g, m->library);
    put_text(g, m->isa);
    put_text(g, m->cpu);
    hn_growing_varint(g, m->l1);
    hn_growing_varint(g, m->l2);
}

/* Tensors come in the order of the file, so what is known of them does too. */
static hone_status add_ready(writer *w, const hn_package_made *made, hn_error *err) {
    ready *r = &w->ready[w->n_ready++];
    *r = (ready){.model = {.file = hn_file_ref(made->model), .name = ""}};
    r->model.literal.alloc = r->section.alloc = w->alloc;
    HN_TRY(hn_cut_find(made->model, LEAST_BYTES, on_ready_cut, w, err));
    hn_growing plain = r->section;
    r->section = (hn_growing){.alloc = w->alloc};
    hone_status status = make_literal(w, &r->model, err);
    for (size_t i = 0; i < r->model.n && status == HONE_OK; i++) {
        const piece *p = &r->model.pieces[i];
        keep_block(w, made->model->data + p->offset, (size_t)p->bytes, &r->model.blocks[i + 1]);
    }
    if (status == HONE_OK) {
        put_machine(&r->section, &made->machine);
        put_source(&r->section, &r->model);
        hn_growing_put(&r->section, plain.data, plain.n);
        r->section.failed = r->section.failed || plain.failed;
    }
    hn_free(w->alloc, plain.data);
    HN_TRY(status);
    r->packed = hn_alloc_array(w->alloc, made->n, sizeof *r->packed, HN_MEM_OTHER);
    if (r->packed == NULL) return HN_NOMEM(err);
    hn_growing_varint(&r->section, made->n);
    for (size_t i = 0; i < made->n; i++) {
        keep_block(w, made->packed[i].data, made->packed[i].bytes, &r->packed[i]);
        put_fixed(&r->section, made->packed[i].key, 8);
        put_block(&r->section, &r->packed[i]);
    }
    return r->section.failed ? HN_NOMEM(err) : HONE_OK;
}

static hone_status add_all_ready(writer *w, hn_error *err) {
    w->ready = hn_alloc_array(w->alloc, w->o->n_made, sizeof *w->ready, HN_MEM_OTHER);
    if (w->ready == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < w->o->n_made; i++) HN_TRY(add_ready(w, &w->o->made[i], err));
    return HONE_OK;
}

/* ---- the file ---- */

static hone_status pad(hn_file_writer *f, uint64_t to, hn_error *err) {
    static const unsigned char zeros[ALIGN];
    assert(to - hn_file_write_offset(f) < ALIGN);
    return hn_file_write_append(f, zeros, (size_t)(to - hn_file_write_offset(f)), err);
}

/* Where the sections begin, one after another, in the file. */
static uint64_t sections_offset(const writer *w) {
    return HN_PACKAGE_HEADER + (2 + (uint64_t)w->n_ready) * HN_PACKAGE_SECTION;
}

/* Where the data begins in the file. */
static uint64_t data_offset(const writer *w) {
    uint64_t end = sections_offset(w) + w->contents.n;
    for (size_t i = 0; i < w->n_ready; i++) end += w->ready[i].section.n;
    return (end + ALIGN - 1) / ALIGN * ALIGN;
}

static void put_row(hn_growing *table, uint64_t kind, uint64_t flags, uint64_t at, uint64_t bytes,
                    uint64_t checksum) {
    put_fixed(table, kind, 4);
    put_fixed(table, flags, 4);
    put_fixed(table, at, 8);
    put_fixed(table, bytes, 8);
    put_fixed(table, checksum, 8);
}

static hone_status put_header(writer *w, hn_file_writer *f, uint64_t *data_at, hn_error *err) {
    *data_at = data_offset(w);
    hn_growing h = {.alloc = w->alloc}, table = {.alloc = w->alloc};
    uint64_t at = sections_offset(w);
    put_row(&table, HN_SECTION_CONTENTS, HN_SECTION_REQUIRED, at, w->contents.n,
            hn_checksum(w->contents.data, w->contents.n));
    put_row(&table, HN_SECTION_DATA, HN_SECTION_REQUIRED, *data_at, w->data_bytes, 0);
    at += w->contents.n;
    for (size_t i = 0; i < w->n_ready; i++) {
        const hn_growing *g = &w->ready[i].section;
        put_row(&table, HN_SECTION_READY, 0, at, g->n, hn_checksum(g->data, g->n));
        at += g->n;
    }
    hn_growing_put(&h, HN_PACKAGE_MAGIC, 8);
    put_fixed(&h, HN_PACKAGE_FORMAT, 4);
    put_fixed(&h, HN_PACKAGE_FORMAT, 4);
    put_fixed(&h, *data_at + w->data_bytes, 8);
    put_fixed(&h, 2 + w->n_ready, 4);
    put_fixed(&h, 0, 4);
    hn_growing_put(&h, table.data, table.n);
    hone_status status = h.failed || table.failed ? HN_NOMEM(err) : HONE_OK;
    if (status == HONE_OK) {
        unsigned char sum[8];
        uint64_t v = hn_checksum(h.data, h.n);
        for (int i = 0; i < 8; i++) sum[i] = (unsigned char)(v >> (8 * i));
        status = hn_file_write_append(f, h.data, HN_PACKAGE_HEADER - 8, err);
        if (status == HONE_OK) status = hn_file_write_append(f, sum, 8, err);
        if (status == HONE_OK) status = hn_file_write_append(f, table.data, table.n, err);
    }
    hn_free(w->alloc, h.data);
    hn_free(w->alloc, table.data);
    return status;
}

static hone_status put_one(writer *w, hn_file_writer *f, uint64_t data_at, const block *b,
                           hn_error *err) {
    if (b->is_there) return HONE_OK;
    HN_TRY(pad(f, data_at + b->offset, err));
    return hn_file_write_append(f, b->code == HN_CODE_RAW ? b->raw : w->coded.data + b->coded_at,
                                b->stored, err);
}

static hone_status put_data(writer *w, hn_file_writer *f, uint64_t data_at, hn_error *err) {
    for (size_t k = 0; k < w->n; k++)
        for (size_t i = 0; i <= w->sources[k].n; i++) {
            const block *b = &w->sources[k].blocks[i];
            HN_TRY(put_one(w, f, data_at, b, err));
            if (b->code == HN_CODE_RAW && i > 0)
                hn_file_let_go(w->sources[k].file, b->raw, b->bytes);
        }
    for (size_t k = 0; k < w->n_ready; k++) {
        const ready *r = &w->ready[k];
        for (size_t i = 0; i <= r->model.n; i++)
            HN_TRY(put_one(w, f, data_at, &r->model.blocks[i], err));
        for (size_t i = 0; i < w->o->made[k].n; i++)
            HN_TRY(put_one(w, f, data_at, &r->packed[i], err));
    }
    return HONE_OK;
}

static hone_status write_file(writer *w, const char *path, hn_error *err) {
    hn_file_writer *f = NULL;
    uint64_t data_at;
    for (size_t i = 0; i < w->n; i++) { /* none of the inputs is overwritten */
        HN_TRY(hn_file_write_begin(&f, path, w->sources[i].file->path, w->alloc, err));
        if (i + 1 < w->n) hn_file_write_abort(f);
    }
    hone_status status = put_header(w, f, &data_at, err);
    if (status == HONE_OK) status = pad(f, hn_file_write_offset(f), err);
    if (status == HONE_OK) status = hn_file_write_append(f, w->contents.data, w->contents.n, err);
    for (size_t i = 0; i < w->n_ready && status == HONE_OK; i++)
        status = hn_file_write_append(f, w->ready[i].section.data, w->ready[i].section.n, err);
    if (status == HONE_OK) status = put_data(w, f, data_at, err);
    if (status != HONE_OK) {
        hn_file_write_abort(f);
        return status;
    }
    return hn_file_write_commit(f, err);
}

/* All but the file. */
static hone_status prepare(writer *w, hn_file *model, hn_error *err) {
    source *s;
    hone_status status = add_source(w, hn_file_ref(model), "", &s, err);
    if (status != HONE_OK) hn_file_unref(model);
    HN_TRY(status);
    HN_TRY(hn_cut_find(model, LEAST_BYTES, on_cut, w, err));
    for (size_t i = 0; i < w->n; i++) {
        settle_pieces(&w->sources[i]);
        w->total += (int64_t)w->sources[i].file->bytes;
    }
    for (size_t i = 0; i < w->o->n_made; i++) {
        w->total += (int64_t)w->o->made[i].model->bytes;
        for (size_t k = 0; k < w->o->made[i].n; k++)
            w->total += (int64_t)w->o->made[i].packed[k].bytes;
    }
    for (size_t i = 0; i < w->n; i++) HN_TRY(make_blocks(w, &w->sources[i], err));
    put_contents(w);
    if (w->contents.failed) return HN_NOMEM(err);
    return w->o->n_made > 0 ? add_all_ready(w, err) : HONE_OK;
}

static void deinit_source(hn_allocator *alloc, source *s) {
    hn_file_unref(s->file);
    hn_free(alloc, s->pieces);
    hn_free(alloc, s->literal.data);
    hn_free(alloc, s->blocks);
}

static void deinit(writer *w) {
    for (size_t i = 0; i < w->n; i++) deinit_source(w->alloc, &w->sources[i]);
    for (size_t i = 0; i < w->n_ready; i++) {
        deinit_source(w->alloc, &w->ready[i].model);
        hn_free(w->alloc, w->ready[i].packed);
        hn_free(w->alloc, w->ready[i].section.data);
    }
    hn_free(w->alloc, w->ready);
    hn_free(w->alloc, w->sources);
    hn_free(w->alloc, w->coded.data);
    hn_free(w->alloc, w->contents.data);
    hn_arena_deinit(&w->arena);
}

/* path NULL: only the size is asked for. */
static hone_status write_package(const char *path, hn_file *model, const char *folder,
                                 const hn_package_options *o, uint64_t *bytes, hn_allocator *alloc,
                                 hn_error *err) {
    static const hn_package_options defaults = {0};
    writer w = {.o = o != NULL ? o : &defaults,
                .alloc = alloc,
                .folder = folder,
                .coded = {.alloc = alloc},
                .contents = {.alloc = alloc}};
    hn_arena_init(&w.arena, alloc, HN_MEM_OTHER);
    hone_status status = prepare(&w, model, err);
    if (status == HONE_OK && path != NULL) status = write_file(&w, path, err);
    *bytes = data_offset(&w) + w.data_bytes;
    deinit(&w);
    return status;
}

hone_status hn_package_write_memory(const char *path, hn_file *model, const hn_package_options *o,
                                    hn_allocator *alloc, hn_error *err) {
    uint64_t bytes;
    return write_package(path, model, "", o, &bytes, alloc, err);
}

hone_status hn_package_bytes(hn_file *model, const hn_package_options *o, uint64_t *bytes,
                             hn_allocator *alloc, hn_error *err) {
    return write_package(NULL, model, "", o, bytes, alloc, err);
}

hone_status hn_package_write(const char *path, const char *model, const hn_package_options *o,
                             hn_allocator *alloc, hn_error *err) {
    hn_model *m;
    hn_file *file = NULL;
    uint64_t bytes;
    const char *slash = strrchr(model, '/');
    size_t n = slash != NULL ? (size_t)(slash - model) + 1 : 0;
    /* What cannot be read is not packaged; and external data is judged where it lies. */
    HN_TRY(hn_onnx_load(&m, model, NULL, alloc, err));
    hn_model_destroy(m);
    char *folder = hn_alloc(alloc, n + 1, HN_MEM_OTHER);
    if (folder == NULL) return HN_NOMEM(err);
    memcpy(folder, model, n);
    folder[n] = '\0';
    hone_status status = hn_file_open(&file, model, true, alloc, err);
    if (status == HONE_OK && hn_package_is(file))
        status = HN_FAIL(err, HONE_E_ARG,
                         "'%s' is a package already; hone unpack gives the ONNX file in it", model);
    if (status == HONE_OK) status = write_package(path, file, folder, o, &bytes, alloc, err);
    hn_file_unref(file);
    hn_free(alloc, folder);
    return status;
}

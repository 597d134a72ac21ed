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
} block;

typedef struct source {
    hn_file *file;
    const char *name;
    size_t n, room;
    piece *pieces;
    hn_growing literal;
    block *blocks; /* of the literal, then of the pieces */
} source;

typedef struct writer {
    const hn_package_options *o;
    hn_allocator *alloc;
    hn_arena arena;
    const char *folder; /* of external data; NULL: there is none */
    size_t n;
    source *sources;
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

static hone_status make_block(writer *w, const hn_uncoded *u, block *b, hn_error *err) {
    *b = (block){.raw = u->data, .bytes = u->bytes, .coded_at = w->coded.n};
    HN_TRY(hn_coded_encode(u, &w->coded, &b->code, err));
    b->stored = b->code != HN_CODE_RAW ? w->coded.n - b->coded_at : b->bytes;
    b->checksum =
        hn_checksum(b->code != HN_CODE_RAW ? w->coded.data + b->coded_at : b->raw, b->stored);
    size_t align = b->code != HN_CODE_RAW ? 1 : b->bytes < ALIGNED_FROM ? ALIGN_SMALL : ALIGN;
    w->data_bytes = (w->data_bytes + align - 1) / align * align;
    b->offset = w->data_bytes;
    w->data_bytes += b->stored;
    w->done += (int64_t)u->bytes;
    if (w->o->keep_going != NULL && !w->o->keep_going(w->o->ctx, w->done, w->total))
        return HN_FAIL(err, HONE_E_LIMIT, "stopped after %lld of %lld bytes", (long long)w->done,
                       (long long)w->total);
    return HONE_OK;
}

/* What a code must come to of the bytes. The literal is needed at every load, and small. */
enum { PERCENT_SMALL = 97, PERCENT_FAST = 50 };

static hone_status make_blocks(writer *w, source *s, hn_error *err) {
    uint64_t at = 0;
    double share = (w->o->fast ? PERCENT_FAST : PERCENT_SMALL) / 100.0;
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
    HN_TRY(make_block(w, &text, &s->blocks[0], err));
    for (size_t i = 0; i < s->n; i++) {
        const piece *p = &s->pieces[i];
        hn_uncoded u = {.data = s->file->data + p->offset,
                        .bytes = (size_t)p->bytes,
                        .width = width_of(p->dtype, p->bytes),
                        .columns = (size_t)p->columns,
                        .most_share = share};
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

static void put_contents(writer *w) {
    hn_growing *g = &w->contents;
    hn_growing_varint(g, w->n);
    for (size_t k = 0; k < w->n; k++) {
        const source *s = &w->sources[k];
        hn_growing_varint(g, strlen(s->name));
        hn_growing_put(g, s->name, strlen(s->name));
        hn_growing_varint(g, s->n);
        put_block(g, &s->blocks[0]);
        uint64_t at = 0;
        for (size_t i = 0; i < s->n; i++) {
            const piece *p = &s->pieces[i];
            hn_growing_varint(g, p->offset - at);
            put_fixed(g, p->dtype, 1);
            put_block(g, &s->blocks[i + 1]);
            at = p->offset + p->bytes;
        }
    }
}

/* ---- the file ---- */

static hone_status pad(hn_file_writer *f, uint64_t to, hn_error *err) {
    static const unsigned char zeros[ALIGN];
    assert(to - hn_file_write_offset(f) < ALIGN);
    return hn_file_write_append(f, zeros, (size_t)(to - hn_file_write_offset(f)), err);
}

enum { SECTIONS = 2, AT = HN_PACKAGE_HEADER + SECTIONS * HN_PACKAGE_SECTION };

/* Where the data begins in the file. */
static uint64_t data_offset(const writer *w) {
    uint64_t end = AT + w->contents.n;
    return (end + ALIGN - 1) / ALIGN * ALIGN;
}

static hone_status put_header(writer *w, hn_file_writer *f, uint64_t *data_at, hn_error *err) {
    *data_at = data_offset(w);
    hn_growing h = {.alloc = w->alloc}, table = {.alloc = w->alloc};
    put_fixed(&table, HN_SECTION_CONTENTS, 4);
    put_fixed(&table, HN_SECTION_REQUIRED, 4);
    put_fixed(&table, AT, 8);
    put_fixed(&table, w->contents.n, 8);
    put_fixed(&table, hn_checksum(w->contents.data, w->contents.n), 8);
    put_fixed(&table, HN_SECTION_DATA, 4);
    put_fixed(&table, HN_SECTION_REQUIRED, 4);
    put_fixed(&table, *data_at, 8);
    put_fixed(&table, w->data_bytes, 8);
    put_fixed(&table, 0, 8);
    hn_growing_put(&h, HN_PACKAGE_MAGIC, 8);
    put_fixed(&h, HN_PACKAGE_FORMAT, 4);
    put_fixed(&h, HN_PACKAGE_FORMAT, 4);
    put_fixed(&h, *data_at + w->data_bytes, 8);
    put_fixed(&h, SECTIONS, 4);
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

static hone_status put_data(writer *w, hn_file_writer *f, uint64_t data_at, hn_error *err) {
    for (size_t k = 0; k < w->n; k++)
        for (size_t i = 0; i <= w->sources[k].n; i++) {
            const block *b = &w->sources[k].blocks[i];
            bool raw = b->code == HN_CODE_RAW;
            HN_TRY(pad(f, data_at + b->offset, err));
            HN_TRY(hn_file_write_append(f, raw ? b->raw : w->coded.data + b->coded_at, b->stored,
                                        err));
            if (raw && i > 0) hn_file_let_go(w->sources[k].file, b->raw, b->bytes);
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
    for (size_t i = 0; i < w->n; i++) HN_TRY(make_blocks(w, &w->sources[i], err));
    put_contents(w);
    return w->contents.failed ? HN_NOMEM(err) : HONE_OK;
}

static void deinit(writer *w) {
    for (size_t i = 0; i < w->n; i++) {
        source *s = &w->sources[i];
        hn_file_unref(s->file);
        hn_free(w->alloc, s->pieces);
        hn_free(w->alloc, s->literal.data);
        hn_free(w->alloc, s->blocks);
    }
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

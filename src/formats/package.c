#include "formats/package.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/size.h"
#include "base/span.h"
#include "formats/package_layout.h"
#include "formats/wire.h"

bool hn_package_is(const hn_file *file) {
    return file->bytes >= 8 && memcmp(file->data, HN_PACKAGE_MAGIC, 8) == 0;
}

/* ---- header and sections ---- */

static uint64_t fixed(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static hone_status read_section(hn_package *p, const unsigned char *row, size_t end,
                                hn_package_section *contents, hn_error *err) {
    uint64_t kind = fixed(row, 4), flags = fixed(row + 4, 4), at = fixed(row + 8, 8);
    uint64_t n = fixed(row + 16, 8);
    hn_package_section *to = kind == HN_SECTION_CONTENTS ? contents
                             : kind == HN_SECTION_DATA   ? &p->data
                             : kind == HN_SECTION_READY  ? &p->ready[p->n_ready]
                                                         : NULL;
    if (to == NULL) {
        HN_CHECK(err, (flags & HN_SECTION_REQUIRED) == 0, HONE_E_UNSUPPORTED,
                 "section %llu was made by a newer version of hone", (unsigned long long)kind);
        return HONE_OK;
    }
    if (kind == HN_SECTION_READY && p->n_ready == sizeof p->ready / sizeof *p->ready)
        return HONE_OK;
    HN_CHECK(err, at >= end && at <= p->file->bytes && n <= p->file->bytes - at, HONE_E_FORMAT,
             "section %llu has %llu bytes at %llu, the file ends at %zu", (unsigned long long)kind,
             (unsigned long long)n, (unsigned long long)at, p->file->bytes);
    HN_CHECK(err, to->data == NULL, HONE_E_FORMAT, "section %llu is there twice",
             (unsigned long long)kind);
    *to = (hn_package_section){p->file->data + at, (size_t)n, fixed(row + 24, 8)};
    p->n_ready += kind == HN_SECTION_READY;
    HN_CHECK(err, to != contents || hn_checksum(to->data, to->bytes) == to->checksum, HONE_E_FORMAT,
             "the contents are damaged: their checksum is another");
    return HONE_OK;
}

static hone_status read_header(hn_package *p, hn_package_section *contents, hn_error *err) {
    const unsigned char *h = p->file->data;
    size_t bytes = p->file->bytes;
    HN_CHECK(err, hn_package_is(p->file), HONE_E_FORMAT, "this is no .hone package");
    HN_CHECK(err, bytes >= HN_PACKAGE_HEADER, HONE_E_FORMAT,
             "the file ends after %zu bytes, inside its header", bytes);
    p->format = (uint32_t)fixed(h + 8, 4);
    HN_CHECK(err, fixed(h + 12, 4) <= HN_PACKAGE_FORMAT, HONE_E_UNSUPPORTED,
             "the package was made by a newer version of hone (format %u, this is %d)", p->format,
             HN_PACKAGE_FORMAT);
    HN_CHECK(err, fixed(h + 16, 8) == bytes, HONE_E_FORMAT,
             "the file has %zu bytes, its header says %llu", bytes,
             (unsigned long long)fixed(h + 16, 8));
    size_t n = (size_t)fixed(h + 24, 4), end = HN_PACKAGE_HEADER + n * HN_PACKAGE_SECTION;
    HN_CHECK(err, n <= HN_PACKAGE_MOST_SECTIONS && end <= bytes, HONE_E_FORMAT,
             "the header says %zu sections, the file has %zu bytes", n, bytes);
    unsigned char head[HN_PACKAGE_HEADER - 8 + HN_PACKAGE_MOST_SECTIONS * HN_PACKAGE_SECTION];
    memcpy(head, h, HN_PACKAGE_HEADER - 8);
    memcpy(head + HN_PACKAGE_HEADER - 8, h + HN_PACKAGE_HEADER, n * HN_PACKAGE_SECTION);
    HN_CHECK(err,
             hn_checksum(head, HN_PACKAGE_HEADER - 8 + n * HN_PACKAGE_SECTION) ==
                 fixed(h + HN_PACKAGE_HEADER - 8, 8),
             HONE_E_FORMAT, "the header is damaged: its checksum is another");
    for (size_t i = 0; i < n; i++)
        HN_TRY(read_section(p, h + HN_PACKAGE_HEADER + i * HN_PACKAGE_SECTION, end, contents, err));
    HN_CHECK(err, contents->data != NULL && p->data.data != NULL, HONE_E_FORMAT,
             "the contents or the data are missing");
    return HONE_OK;
}

/* ---- contents ---- */

typedef hn_package_cursor cursor;

hn_package_cursor hn_package_cursor_open(const hn_package *p, const hn_package_section *s,
                                         const char *what, hn_error *err) {
    return (hn_package_cursor){s->data, s->data + s->bytes, s->data, &p->data, what, err};
}

hone_status hn_package_cut_off(const cursor *c) {
    return HN_FAIL(c->err, HONE_E_FORMAT, "%s malformed at byte %zu", c->what,
                   (size_t)(c->at - c->begin));
}

hone_status hn_package_take_number(cursor *c, uint64_t most, uint64_t *v) {
    *v = 0;
    if (!hn_wire_varint(&c->at, c->end, v) || *v > most) return hn_package_cut_off(c);
    return HONE_OK;
}

hone_status hn_package_take_count(cursor *c, size_t least, uint64_t *n) {
    return hn_package_take_number(c, (uint64_t)(c->end - c->at) / least, n);
}

hone_status hn_package_take_fixed(cursor *c, int bytes, uint64_t *v) {
    *v = 0;
    if (c->end - c->at < bytes) return hn_package_cut_off(c);
    *v = fixed(c->at, bytes);
    c->at += bytes;
    return HONE_OK;
}

hone_status hn_package_take_text(cursor *c, hn_arena *arena, const char **text) {
    uint64_t n;
    HN_TRY(hn_package_take_count(c, 1, &n));
    if ((uint64_t)(c->end - c->at) < n || memchr(c->at, 0, (size_t)n) != NULL)
        return hn_package_cut_off(c);
    *text = hn_arena_strndup(arena, (const char *)c->at, (size_t)n);
    if (*text == NULL) return HN_NOMEM(c->err);
    c->at += n;
    return HONE_OK;
}

hone_status hn_package_take_block(cursor *c, hn_block *b) {
    uint64_t bytes, code, at, stored;
    HN_TRY(hn_package_take_number(c, PTRDIFF_MAX, &bytes));
    HN_TRY(hn_package_take_fixed(c, 1, &code));
    HN_TRY(hn_package_take_number(c, UINT64_MAX, &at));
    HN_TRY(hn_package_take_number(c, UINT64_MAX, &stored));
    HN_TRY(hn_package_take_fixed(c, 8, &b->checksum));
    HN_CHECK(c->err, at <= c->data->bytes && stored <= c->data->bytes - at, HONE_E_FORMAT,
             "a block has %llu bytes at %llu, the data ends at %zu", (unsigned long long)stored,
             (unsigned long long)at, c->data->bytes);
    HN_CHECK(c->err, code != HN_CODE_RAW || stored == bytes, HONE_E_FORMAT,
             "a raw block of %llu bytes is stored in %llu", (unsigned long long)bytes,
             (unsigned long long)stored);
    b->bytes = (size_t)bytes;
    b->stored = (size_t)stored;
    b->data = c->data->data + at;
    b->code = (hn_code)code;
    return HONE_OK;
}

/* An entry takes at least so many bytes: counts beyond what is left are not believed. */
enum { LEAST_ENTRY = 13, LEAST_FILE = 13 };

hone_status hn_package_take_file(cursor *c, hn_arena *arena, hn_package_file *f) {
    uint64_t n, skip, dtype, at = 0, offset = 0;
    HN_TRY(hn_package_take_text(c, arena, &f->name));
    HN_TRY(hn_package_take_count(c, LEAST_ENTRY, &n));
    f->entries = hn_arena_array(arena, (size_t)n, sizeof *f->entries);
    if (f->entries == NULL) return HN_NOMEM(c->err);
    HN_TRY(hn_package_take_block(c, &f->literal));
    for (; f->n < n; f->n++) {
        hn_package_entry *e = &f->entries[f->n];
        *e = (hn_package_entry){0};
        HN_TRY(hn_package_take_number(c, f->literal.bytes - at, &skip));
        HN_TRY(hn_package_take_fixed(c, 1, &dtype));
        HN_TRY(hn_package_take_block(c, &e->block));
        if (e->block.bytes == 0) return hn_package_cut_off(c);
        at += skip;
        offset += skip;
        e->at = (size_t)at;
        e->offset = offset;
        e->dtype = hn_dtype_valid((int)dtype) ? (hone_dtype)dtype : HONE_DTYPE_NONE;
        if (__builtin_add_overflow(offset, e->block.bytes, &offset)) return hn_package_cut_off(c);
    }
    if (__builtin_add_overflow(offset, f->literal.bytes - at, &f->bytes))
        return hn_package_cut_off(c);
    return HONE_OK;
}

static hone_status read_contents(hn_package *p, const hn_package_section *contents, hn_error *err) {
    cursor c = hn_package_cursor_open(p, contents, "the contents are", err);
    uint64_t n;
    HN_TRY(hn_package_take_count(&c, LEAST_FILE, &n));
    HN_CHECK(err, n <= HN_PACKAGE_MOST_FILES, HONE_E_LIMIT, "%llu files, expected at most %d",
             (unsigned long long)n, HN_PACKAGE_MOST_FILES);
    p->files = hn_arena_array(&p->arena, (size_t)n, sizeof *p->files);
    if (p->files == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < n; i++) {
        p->files[i] = (hn_package_file){0};
        p->n = i + 1;
        HN_TRY(hn_package_take_file(&c, &p->arena, &p->files[i]));
    }
    HN_CHECK(err, n > 0 && p->files[0].name[0] == '\0', HONE_E_FORMAT, "there is no model in it");
    return c.at == c.end ? HONE_OK : hn_package_cut_off(&c);
}

hone_status hn_package_open(hn_package **out, hn_file *file, bool check_raw, hn_allocator *alloc,
                            hn_error *err) {
    hn_package *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    hn_package_section contents = {0};
    p->alloc = alloc;
    p->file = hn_file_ref(file);
    p->check_raw = check_raw;
    hn_arena_init(&p->arena, alloc, HN_MEM_OTHER);
    hone_status status = read_header(p, &contents, err);
    if (status == HONE_OK) status = read_contents(p, &contents, err);
    if (status == HONE_OK)
        *out = p;
    else
        hn_package_close(p);
    return status;
}

void hn_package_close(hn_package *p) {
    if (p == NULL) return;
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < p->files[k].n; i++) hn_file_unref(p->files[k].entries[i].decoded);
    hn_file_unref(p->file);
    hn_arena_deinit(&p->arena);
    hn_free(p->alloc, p);
}

/* ---- blocks ---- */

hone_status hn_package_check_block(const hn_package *p, const hn_block *b, hn_error *err) {
    HN_CHECK(err, hn_checksum(b->data, b->stored) == b->checksum, HONE_E_FORMAT,
             "the %zu bytes at %zu are damaged: their checksum is another", b->stored,
             (size_t)(b->data - p->file->data));
    return HONE_OK;
}

static hone_status block_error(const hn_package *p, const hn_block *b, hone_status status,
                               hn_error *err) {
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_context(err, "the %s block at %zu", hn_code_name(b->code),
                         (size_t)(b->data - p->file->data));
    return status;
}

/* Into memory of its own, checked. */
static hone_status decode(const hn_package *p, const hn_block *b, hn_file **out, hn_error *err) {
    HN_TRY(hn_package_check_block(p, b, err));
    HN_CHECK(err, hn_alloc_fits(p->alloc, b->bytes), HONE_E_NOMEM,
             "out of memory: a tensor has %zu bytes", b->bytes);
    unsigned char *to = hn_alloc(p->alloc, b->bytes, HN_MEM_WEIGHTS);
    if (to == NULL) return HN_NOMEM(err);
    hone_status status = hn_coded_decode(b->code, b->data, b->stored, to, b->bytes, p->alloc, err);
    status = block_error(p, b, status, err);
    if (status == HONE_OK) status = hn_file_adopt(out, p->file->path, to, b->bytes, p->alloc, err);
    if (status != HONE_OK) hn_free(p->alloc, to);
    return status;
}

hone_status hn_package_literal(hn_package *p, const hn_package_file *f, hn_file **out,
                               hn_error *err) {
    hn_file *literal;
    HN_TRY(decode(p, &f->literal, &literal, err));
    hone_status status =
        hn_cut_lengths((unsigned char *)literal->data, literal->bytes, f->entries, f->n, err);
    if (status == HONE_OK)
        *out = literal;
    else
        hn_file_unref(literal);
    return status;
}

/* ---- loading ---- */

hn_package_entry *hn_package_entry_at(const hn_package_file *f, size_t at) {
    size_t lo = 0, hi = f->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->entries[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->n && f->entries[lo].at == at ? &f->entries[lo] : NULL;
}

hn_package_entry *hn_package_entry_over(const hn_package_file *f, uint64_t offset, size_t bytes) {
    size_t lo = 0, hi = f->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->entries[mid].offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0) return NULL;
    hn_package_entry *e = &f->entries[lo - 1];
    uint64_t skip = offset - e->offset;
    return skip <= e->block.bytes && bytes <= e->block.bytes - skip ? e : NULL;
}

/* A model in a package that is being read. */
typedef struct reading {
    hn_package *p;
    hn_package_file *model;
} reading;

static bool is_stored(void *ctx, size_t at) {
    return hn_package_entry_at(((reading *)ctx)->model, at) != NULL;
}

static hone_status bytes_of(hn_package *p, hn_package_entry *e, hn_file **file,
                            const unsigned char **data, hn_error *err) {
    if (e->block.code == HN_CODE_RAW) {
        if (p->check_raw || e->block.bytes <= HN_PACKAGE_CHECKED)
            HN_TRY(hn_package_check_block(p, &e->block, err));
        *file = p->file;
        *data = e->block.data;
        return HONE_OK;
    }
    if (e->decoded == NULL) HN_TRY(decode(p, &e->block, &e->decoded, err));
    *file = e->decoded;
    *data = e->decoded->data;
    return HONE_OK;
}

static hone_status get_stored(void *ctx, const char *location, uint64_t at, size_t bytes,
                              hn_file **file, const unsigned char **data, hn_error *err) {
    hn_package *p = ((reading *)ctx)->p;
    hn_package_entry *e = NULL;
    if (location == NULL) {
        e = hn_package_entry_at(((reading *)ctx)->model, (size_t)at);
        HN_CHECK(err, e == NULL || e->block.bytes == bytes, HONE_E_MODEL,
                 "a tensor whose dims need %zu bytes has %zu in the package", bytes,
                 e->block.bytes);
    } else {
        for (size_t k = 1; k < p->n && e == NULL; k++)
            if (strcmp(p->files[k].name, location) == 0)
                e = hn_package_entry_over(&p->files[k], at, bytes);
    }
    HN_CHECK(err, e != NULL, HONE_E_MODEL, "the package has no %zu bytes of '%s' at %llu", bytes,
             location != NULL ? location : "the model", (unsigned long long)at);
    HN_TRY(bytes_of(p, e, file, data, err));
    if (location != NULL) *data += at - e->offset;
    return HONE_OK;
}

hone_status hn_package_load_file(hn_package *p, hn_package_file *file, const hn_onnx_options *o,
                                 hn_model **out, hn_allocator *alloc, hn_error *err) {
    hn_file *literal;
    reading r = {p, file};
    hn_onnx_stored stored = {&r, is_stored, get_stored};
    hn_onnx_options options = o != NULL ? *o : (hn_onnx_options){0};
    options.stored = &stored;
    int64_t begun = hn_span_begin();
    hone_status status = hn_package_literal(p, file, &literal, err);
    hn_span_end("load", "literal", begun, (int64_t)atomic_load(&p->alloc->live));
    if (status != HONE_OK) {
        hn_error_context(err, "%s", p->file->path);
        return status;
    }
    status = hn_onnx_load_memory(out, literal, &options, alloc, err);
    hn_file_unref(literal);
    return status;
}

hone_status hn_package_load(hn_model **out, hn_file *file, const hn_onnx_options *o,
                            hn_allocator *alloc, hn_error *err) {
    hn_package *p = NULL;
    bool strict = o != NULL && o->check_stored;
    hone_status status = hn_package_open(&p, file, strict, alloc, err);
    if (status == HONE_OK && strict) status = hn_package_ready_check(p, err);
    if (status != HONE_OK)
        hn_error_context(err, "%s", file->path);
    else
        status = hn_package_load_file(p, &p->files[0], o, out, alloc, err);
    if (status == HONE_OK) (*out)->file_bytes = (int64_t)file->bytes;
    hn_package_close(p);
    return status;
}

/* ---- unpacking ---- */

typedef hone_status put_fn(void *ctx, const void *data, size_t bytes, hn_error *err);

static hone_status put_block(hn_package *p, const hn_block *b, put_fn *put, void *ctx,
                             hn_error *err) {
    hn_file *decoded;
    if (b->code == HN_CODE_RAW) {
        HN_TRY(hn_package_check_block(p, b, err));
        return put(ctx, b->data, b->bytes, err);
    }
    HN_TRY(decode(p, b, &decoded, err));
    hone_status status = put(ctx, decoded->data, decoded->bytes, err);
    hn_file_unref(decoded);
    return status;
}

hone_status hn_package_restore(hn_package *p, size_t file, put_fn *put, void *ctx, hn_error *err) {
    hn_package_file *f = &p->files[file];
    hn_file *literal;
    size_t at = 0;
    HN_TRY(decode(p, &f->literal, &literal, err));
    hone_status status = HONE_OK;
    for (size_t i = 0; i < f->n && status == HONE_OK; i++) {
        const hn_package_entry *e = &f->entries[i];
        status = put(ctx, literal->data + at, e->at - at, err);
        if (status == HONE_OK) status = put_block(p, &e->block, put, ctx, err);
        at = e->at;
    }
    if (status == HONE_OK) status = put(ctx, literal->data + at, literal->bytes - at, err);
    hn_file_unref(literal);
    return status;
}

static hone_status put_to_file(void *ctx, const void *data, size_t bytes, hn_error *err) {
    return hn_file_write_append(ctx, data, bytes, err);
}

static hone_status write_file(hn_package *p, size_t file, const char *path, hn_error *err) {
    hn_file_writer *w;
    HN_TRY(hn_file_write_begin(&w, path, p->file->path, p->alloc, err));
    hone_status status = hn_package_restore(p, file, put_to_file, w, err);
    if (status == HONE_OK) return hn_file_write_commit(w, err);
    hn_file_write_abort(w);
    hn_error_context(err, "%s", p->file->path);
    return status;
}

/* Where a file of external data goes. */
static hone_status data_path(const hn_package *p, const char *path, size_t k, char *to,
                             hn_error *err) {
    const char *slash = strrchr(path, '/'), *name = p->files[k].name;
    int n = slash != NULL ? (int)(slash - path) + 1 : 0;
    HN_CHECK(err, hn_onnx_in_folder(name), HONE_E_MODEL,
             "%s: external data '%.200s' is not inside the model's folder", p->file->path, name);
    HN_CHECK(err, snprintf(to, PATH_MAX, "%.*s%s", n, path, name) < PATH_MAX, HONE_E_ARG,
             "the path of '%.200s' is too long", name);
    HN_CHECK(err, access(to, F_OK) != 0, HONE_E_ARG,
             "'%s' is there already and will not be overwritten; choose another folder", to);
    return HONE_OK;
}

hone_status hn_package_unpack(const char *package, const char *path, hn_allocator *alloc,
                              hn_error *err) {
    hn_file *file;
    hn_package *p = NULL;
    char to[PATH_MAX];
    HN_TRY(hn_file_open(&file, package, true, alloc, err));
    hone_status status = hn_package_open(&p, file, true, alloc, err);
    if (status != HONE_OK) hn_error_context(err, "%s", package);
    for (size_t k = 1; status == HONE_OK && k < p->n; k++) status = data_path(p, path, k, to, err);
    for (size_t k = 1; status == HONE_OK && k < p->n; k++) {
        status = data_path(p, path, k, to, err);
        if (status == HONE_OK) status = write_file(p, k, to, err);
    }
    if (status == HONE_OK) status = write_file(p, 0, path, err);
    hn_package_close(p);
    hn_file_unref(file);
    return status;
}

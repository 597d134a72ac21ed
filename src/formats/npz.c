#include "formats/npz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"

/* A zip archive, all numbers little-endian:
 *
 *     [local header, name, extra, data] ...     one per member
 *     [central header, name, extra, comment] ...
 *     [zip64 end, zip64 locator]                only when a number does not fit the plain end
 *     [end]                                     with a comment of up to 65535 bytes
 *
 * A 32-bit size or offset of 0xffffffff in a central header means: the number is in the zip64 extra
 * field. */
enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    STORED = 0,
    DEFLATED = 8,
    FLAG_ENCRYPTED = 1 << 0,
    FLAG_UTF8 = 1 << 11,
    ZIP64_ID = 1,
};
#define LOCAL_MAGIC 0x04034b50u
#define CENTRAL_MAGIC 0x02014b50u
#define END_MAGIC 0x06054b50u
#define END64_MAGIC 0x06064b50u
#define LOCATOR_MAGIC 0x07064b50u

/* Deflate spends at least one bit of a pair on 258 bytes: it cannot unpack to more. */
#define DEFLATE_RATIO 1032

typedef struct member {
    const char *name; /* without `.npy` */
    uint32_t crc;
    int method;
    size_t offset, packed, bytes; /* where its data lies, its size there, and unpacked */
} member;

struct hn_npz {
    hn_file *file;
    hn_arena arena;
    size_t n;
    member *members;
};

static uint16_t get16(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t get32(const unsigned char *p) {
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}
static uint64_t get64(const unsigned char *p) {
    return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Where the central directory lies. */
typedef struct directory {
    uint64_t n, offset, bytes;
    size_t limit; /* everything before this is directory or members */
} directory;

static bool is_end(const hn_file *file, size_t at) {
    const unsigned char *end = file->data + at;
    return get32(end) == END_MAGIC && at + END_BYTES + get16(end + 20) == file->bytes;
}

static hone_status find_directory(const hn_file *file, directory *d, hn_error *err) {
    static const char no_end[] = "not a .npz: no zip directory at its end";
    HN_CHECK(err, file->bytes >= END_BYTES, HONE_E_FORMAT, no_end);
    const unsigned char *data = file->data;
    size_t at = file->bytes - END_BYTES, first = at > UINT16_MAX ? at - UINT16_MAX : 0;
    for (; !is_end(file, at); at--) HN_CHECK(err, at > first, HONE_E_FORMAT, no_end);
    const unsigned char *end = data + at;
    bool one_file = get16(end + 4) == 0 && get16(end + 6) == 0 && get16(end + 8) == get16(end + 10);
    *d = (directory){get16(end + 10), get32(end + 16), get32(end + 12), at};
    if (at >= LOCATOR_BYTES && get32(end - LOCATOR_BYTES) == LOCATOR_MAGIC) {
        const unsigned char *locator = end - LOCATOR_BYTES;
        uint64_t offset = get64(locator + 8);
        HN_CHECK(err,
                 at - LOCATOR_BYTES >= END64_BYTES && offset <= at - LOCATOR_BYTES - END64_BYTES &&
                     get32(data + offset) == END64_MAGIC,
                 HONE_E_FORMAT,
                 "the zip64 directory is not at byte %" PRIu64 ", where it should be", offset);
        const unsigned char *end64 = data + offset;
        one_file = get32(locator + 4) == 0 && get32(end64 + 16) == 0 && get32(end64 + 20) == 0 &&
                   get64(end64 + 24) == get64(end64 + 32);
        *d = (directory){get64(end64 + 32), get64(end64 + 48), get64(end64 + 40), (size_t)offset};
    }
    HN_CHECK(err, one_file, HONE_E_UNSUPPORTED, "the zip archive is one part of several");
    HN_CHECK(err,
             d->offset <= d->limit && d->bytes == d->limit - d->offset &&
                 d->n <= d->bytes / CENTRAL_BYTES,
             HONE_E_FORMAT,
             "the zip directory (%" PRIu64 " members, %" PRIu64 " bytes at byte %" PRIu64
             ") does not fit the file",
             d->n, d->bytes, d->offset);
    return HONE_OK;
}

/* The numbers that are 0xffffffff in the header lie in the zip64 extra field, in this order. */
static bool widen(const unsigned char *extra, size_t bytes, uint64_t *unpacked, uint64_t *packed,
                  uint64_t *offset) {
    uint64_t *const numbers[] = {unpacked, packed, offset};
    while (bytes >= 4) {
        size_t id = get16(extra), field = get16(extra + 2);
        if (field > bytes - 4) return false;
        extra += 4;
        bytes -= 4;
        if (id == ZIP64_ID) {
            for (int i = 0; i < 3; i++) {
                if (*numbers[i] != UINT32_MAX) continue;
                if (field < 8) return false;
                *numbers[i] = get64(extra);
                extra += 8;
                field -= 8;
            }
            return true;
        }
        extra += field;
        bytes -= field;
    }
    return *unpacked != UINT32_MAX && *packed != UINT32_MAX && *offset != UINT32_MAX;
}

static hone_status open_member(hn_npz *npz, const directory *d, const unsigned char *central,
                               member *m, hn_error *err) {
    const unsigned char *name = central + CENTRAL_BYTES;
    size_t name_bytes = get16(central + 28), extra_bytes = get16(central + 30);
    int flags = get16(central + 8);
    uint64_t bytes = get32(central + 24), packed = get32(central + 20),
             offset = get32(central + 42);
    HN_CHECK(err, memchr(name, '\0', name_bytes) == NULL, HONE_E_FORMAT,
             "the zip directory has a name with a zero byte");
    char *text = hn_arena_strndup(&npz->arena, (const char *)name, name_bytes - strlen(".npy"));
    if (text == NULL) return HN_NOMEM(err);
    *m = (member){.name = text, .crc = get32(central + 16), .method = get16(central + 10)};
    HN_CHECK(err, (flags & FLAG_ENCRYPTED) == 0, HONE_E_UNSUPPORTED, "member '%s' is encrypted",
             text);
    HN_CHECK(err, m->method == STORED || m->method == DEFLATED, HONE_E_UNSUPPORTED,
             "member '%s' is packed by method %d; 0 (stored) and 8 (deflate) are known", text,
             m->method);
    HN_CHECK(err, widen(name + name_bytes, extra_bytes, &bytes, &packed, &offset), HONE_E_FORMAT,
             "member '%s' has a damaged zip64 field", text);

    HN_CHECK(err, d->offset >= LOCAL_BYTES && offset <= d->offset - LOCAL_BYTES, HONE_E_FORMAT,
             "member '%s' is said to start at byte %" PRIu64 ", beyond the members", text, offset);
    const unsigned char *local = npz->file->data + offset;
    uint64_t room = d->offset - LOCAL_BYTES - offset, head = 0;
    bool header = get32(local) == LOCAL_MAGIC;
    if (header) head = (uint64_t)get16(local + 26) + get16(local + 28);
    HN_CHECK(err,
             header && head <= room && get16(local + 26) == name_bytes &&
                 memcmp(local + LOCAL_BYTES, name, name_bytes) == 0,
             HONE_E_FORMAT, "member '%s' has no matching header at byte %" PRIu64, text, offset);
    HN_CHECK(err, packed <= room - head, HONE_E_FORMAT,
             "member '%s' has %" PRIu64 " bytes, the file has room for %" PRIu64, text, packed,
             room - head);
    HN_CHECK(err, m->method == STORED ? bytes == packed : bytes / DEFLATE_RATIO <= packed,
             HONE_E_FORMAT, "member '%s' cannot unpack from %" PRIu64 " to %" PRIu64 " bytes", text,
             packed, bytes);
    m->offset = (size_t)(offset + LOCAL_BYTES + head);
    m->packed = (size_t)packed;
    m->bytes = (size_t)bytes;
    return HONE_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const member *const *)a)->name, (*(const member *const *)b)->name);
}

static hone_status refuse_duplicates(hn_npz *npz, hn_error *err) {
    const member **sorted = hn_arena_array(&npz->arena, npz->n, sizeof *sorted);
    if (sorted == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < npz->n; i++) sorted[i] = &npz->members[i];
    qsort(sorted, npz->n, sizeof *sorted, by_name);
    for (size_t i = 1; i < npz->n; i++)
        HN_CHECK(err, by_name(&sorted[i - 1], &sorted[i]) != 0, HONE_E_FORMAT,
                 "member '%s' is there twice", sorted[i]->name);
    return HONE_OK;
}

static hone_status open_members(hn_npz *npz, hn_error *err) {
    directory d = {0};
    HN_TRY(find_directory(npz->file, &d, err));
    npz->members = hn_arena_array(&npz->arena, (size_t)d.n, sizeof *npz->members);
    if (npz->members == NULL) return HN_NOMEM(err);
    size_t left = (size_t)d.bytes;
    const unsigned char *central = npz->file->data + d.offset;
    for (uint64_t i = 0; i < d.n; i++) {
        bool header = left >= CENTRAL_BYTES && get32(central) == CENTRAL_MAGIC;
        size_t name_bytes = header ? get16(central + 28) : 0;
        size_t whole =
            header ? CENTRAL_BYTES + name_bytes + get16(central + 30) + (size_t)get16(central + 32)
                   : 0;
        HN_CHECK(err, header && whole <= left, HONE_E_FORMAT,
                 "the zip directory is damaged at member %" PRIu64 " of %" PRIu64, i + 1, d.n);
        if (name_bytes >= 4 && memcmp(central + CENTRAL_BYTES + name_bytes - 4, ".npy", 4) == 0)
            HN_TRY(open_member(npz, &d, central, &npz->members[npz->n++], err));
        central += whole;
        left -= whole;
    }
    HN_CHECK(err, left == 0, HONE_E_FORMAT, "the zip directory has %zu bytes after its last member",
             left);
    return refuse_duplicates(npz, err);
}

hone_status hn_npz_open(hn_npz **out, hn_file *file, hn_allocator *alloc, hn_error *err) {
    hn_npz *npz = hn_alloc_zero(alloc, sizeof *npz, HN_MEM_OTHER);
    if (npz == NULL) return HN_NOMEM(err);
    hn_arena_init(&npz->arena, alloc, HN_MEM_OTHER);
    npz->file = hn_file_ref(file);
    hone_status status = open_members(npz, err);
    if (status != HONE_OK) {
        hn_error_context(err, "'%s'", file->path);
        hn_npz_close(npz);
        return status;
    }
    *out = npz;
    return HONE_OK;
}

void hn_npz_close(hn_npz *npz) {
    if (npz == NULL) return;
    hn_allocator *alloc = npz->arena.alloc;
    hn_file_unref(npz->file);
    hn_arena_deinit(&npz->arena);
    hn_free(alloc, npz);
}

size_t hn_npz_count(const hn_npz *npz) { return npz->n; }
const char *hn_npz_name(const hn_npz *npz, size_t i) { return npz->members[i].name; }

/* ---- reading --------------------------------------------------------------------------------- */

static hone_status read_stored(hn_array *out, const hn_npz *npz, const member *m,
                               const hn_npy_options *options, hn_allocator *alloc, hn_error *err) {
    const unsigned char *data = npz->file->data + m->offset;
    uint32_t crc = hn_crc32(0, data, m->bytes);
    HN_CHECK(err, crc == m->crc, HONE_E_FORMAT, "its CRC is %08" PRIx32 ", not %08" PRIx32, crc,
             m->crc);
    hn_npy_source source = {.bytes = m->bytes, .data = data, .file = npz->file};
    return hn_npy_decode(out, &source, options, alloc, err);
}

static hone_status read_deflated(hn_array *out, const hn_npz *npz, const member *m,
                                 const hn_npy_options *options, hn_allocator *alloc,
                                 hn_error *err) {
    hone_status status = HONE_OK;
    hn_array array = {0};
    hn_npy_source source = {.bytes = m->bytes};
    HN_TRY(hn_inflate_create(&source.stream, npz->file->data + m->offset, m->packed, alloc, err));
    HN_TRY_GOTO(hn_npy_decode(&array, &source, options, alloc, err));
    HN_TRY_GOTO(hn_inflate_finish(source.stream, err));
    HN_CHECK_GOTO(err, source.crc == m->crc, HONE_E_FORMAT,
                  "its CRC is %08" PRIx32 ", not %08" PRIx32, source.crc, m->crc);
    hn_inflate_destroy(source.stream);
    *out = array;
    return HONE_OK;
fail:
    hn_inflate_destroy(source.stream);
    hn_array_deinit(&array, alloc);
    return status;
}

hone_status hn_npz_read(hn_array *out, const hn_npz *npz, size_t i, const hn_npy_options *options,
                        hn_allocator *alloc, hn_error *err) {
    const member *m = &npz->members[i];
    hone_status status = m->method == STORED ? read_stored(out, npz, m, options, alloc, err)
                                             : read_deflated(out, npz, m, options, alloc, err);
    if (status != HONE_OK) hn_error_context(err, "'%s': member '%s'", npz->file->path, m->name);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The bytes of one record, filled front to back. */
typedef struct record {
    unsigned char bytes[128];
    size_t used;
} record;

static void put(record *r, uint64_t value, int bytes) {
    assert(r->used + (size_t)bytes <= sizeof r->bytes);
    for (int i = 0; i < bytes; i++) r->bytes[r->used++] = (unsigned char)(value >> (8 * i));
}

/* What pass one learns about a member, and the directory repeats. */
typedef struct entry {
    size_t name_bytes;
    uint64_t bytes, offset;
    uint32_t crc;
    int flags;
} entry;

static hone_status measure(void *ctx, const void *data, size_t bytes, hn_error *err) {
    (void)err;
    entry *e = ctx;
    e->crc = hn_crc32(e->crc, data, bytes);
    e->bytes += bytes;
    return HONE_OK;
}

static hone_status append(void *writer, const void *data, size_t bytes, hn_error *err) {
    return hn_file_write_append(writer, data, bytes, err);
}

static uint64_t narrow(uint64_t n) { return n < UINT32_MAX ? n : UINT32_MAX; }

/* The part that local and central headers share: from the version needed to the extra field's
 * length. 1980-01-01 is the first date a zip can say. */
static void put_common(record *r, const entry *e, bool wide, size_t extra_bytes) {
    put(r, wide ? 45 : 20, 2);
    put(r, (uint64_t)e->flags, 2);
    put(r, STORED, 2);
    put(r, 0, 2);
    put(r, 1 << 5 | 1, 2);
    put(r, e->crc, 4);
    put(r, narrow(e->bytes), 4);
    put(r, narrow(e->bytes), 4);
    put(r, e->name_bytes, 2);
    put(r, extra_bytes, 2);
}

static hone_status write_member(hn_file_writer *w, const char *name, const hn_array *array,
                                entry *e, hn_error *err) {
    size_t length = strlen(name);
    HN_CHECK(err, length <= UINT16_MAX - strlen(".npy"), HONE_E_ARG,
             "the name of a .npz member has %zu bytes, at most %zu fit", length,
             UINT16_MAX - strlen(".npy"));
    *e = (entry){.name_bytes = length + strlen(".npy"), .offset = hn_file_write_offset(w)};
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] >= 0x80) e->flags = FLAG_UTF8;
    HN_TRY(hn_npy_encode(array, measure, e, err));
    bool wide = e->bytes >= UINT32_MAX;
    record r = {.used = 0}, extra = {.used = 0};
    put(&r, LOCAL_MAGIC, 4);
    put_common(&r, e, wide, wide ? 20 : 0);
    if (wide) {
        put(&extra, ZIP64_ID, 2);
        put(&extra, 16, 2);
        put(&extra, e->bytes, 8);
        put(&extra, e->bytes, 8);
    }
    HN_TRY(hn_file_write_append(w, r.bytes, r.used, err));
    HN_TRY(hn_file_write_append(w, name, length, err));
    HN_TRY(hn_file_write_append(w, ".npy", 4, err));
    HN_TRY(hn_file_write_append(w, extra.bytes, extra.used, err));
    return hn_npy_encode(array, append, w, err);
}

static hone_status write_central(hn_file_writer *w, const char *name, const entry *e,
                                 hn_error *err) {
    record r = {.used = 0}, extra = {.used = 0};
    bool wide_size = e->bytes >= UINT32_MAX, wide_offset = e->offset >= UINT32_MAX;
    if (wide_size || wide_offset) {
        put(&extra, ZIP64_ID, 2);
        put(&extra, (wide_size ? 16 : 0) + (wide_offset ? 8 : 0), 2);
        if (wide_size) put(&extra, e->bytes, 8);
        if (wide_size) put(&extra, e->bytes, 8);
        if (wide_offset) put(&extra, e->offset, 8);
    }
    put(&r, CENTRAL_MAGIC, 4);
    put(&r, wide_size || wide_offset ? 45 : 20, 2); /* version made by */
    put_common(&r, e, wide_size || wide_offset, extra.used);
    put(&r, 0, 2); /* comment */
    put(&r, 0, 2); /* disk */
    put(&r, 0, 2); /* internal attributes */
    put(&r, 0, 4); /* external attributes */
    put(&r, narrow(e->offset), 4);
    HN_TRY(hn_file_write_append(w, r.bytes, r.used, err));
    HN_TRY(hn_file_write_append(w, name, e->name_bytes - 4, err));
    HN_TRY(hn_file_write_append(w, ".npy", 4, err));
    return hn_file_write_append(w, extra.bytes, extra.used, err);
}

static hone_status write_end(hn_file_writer *w, uint64_t n, uint64_t offset, hn_error *err) {
    uint64_t end = hn_file_write_offset(w), bytes = end - offset;
    record r = {.used = 0};
    if (n >= UINT16_MAX || bytes >= UINT32_MAX || offset >= UINT32_MAX) {
        put(&r, END64_MAGIC, 4);
        put(&r, END64_BYTES - 12, 8);
        put(&r, 45, 2); /* version made by, version needed */
        put(&r, 45, 2);
        put(&r, 0, 8); /* two disk numbers */
        put(&r, n, 8);
        put(&r, n, 8);
        put(&r, bytes, 8);
        put(&r, offset, 8);
        put(&r, LOCATOR_MAGIC, 4);
        put(&r, 0, 4);
        put(&r, end, 8);
        put(&r, 1, 4);
    }
    put(&r, END_MAGIC, 4);
    put(&r, 0, 4);
    put(&r, n < UINT16_MAX ? n : UINT16_MAX, 2);
    put(&r, n < UINT16_MAX ? n : UINT16_MAX, 2);
    put(&r, narrow(bytes), 4);
    put(&r, narrow(offset), 4);
    put(&r, 0, 2);
    return hn_file_write_append(w, r.bytes, r.used, err);
}

hone_status hn_npz_write(const char *path, const char *keep, size_t n, const char *const *names,
                         const hn_array *arrays, hn_allocator *alloc, hn_error *err) {
    hone_status status = HONE_OK;
    hn_file_writer *w = NULL;
    entry *entries = hn_alloc_array(alloc, n, sizeof *entries, HN_MEM_OTHER);
    if (entries == NULL) return HN_NOMEM(err);
    HN_TRY_GOTO(hn_file_write_begin(&w, path, keep, alloc, err));
    for (size_t i = 0; i < n; i++)
        HN_TRY_GOTO(write_member(w, names[i], &arrays[i], &entries[i], err));
    uint64_t offset = hn_file_write_offset(w);
    for (size_t i = 0; i < n; i++) HN_TRY_GOTO(write_central(w, names[i], &entries[i], err));
    HN_TRY_GOTO(write_end(w, n, offset, err));
    hn_free(alloc, entries);
    return hn_file_write_commit(w, err);
fail:
    hn_free(alloc, entries);
    hn_file_write_abort(w);
    return status;
}

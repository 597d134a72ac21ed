#include "formats/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/size.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "arrays are written as memory holds them");

/* 0x93 NUMPY, major, minor; then the header's length in 2 bytes (version 1) or 4 (2 and 3); then
 * the header, a Python dictionary; then the elements. */
static const char magic[6] = "\x93NUMPY";

/* NumPy itself refuses headers over 10,000 bytes unless told otherwise. */
#define MAX_HEADER 65535

/* How each type is spelled: as a letter and a size in bytes, or by the name of a one-field
 * structure. The first row of a type is what is written. ml_dtypes has NumPy write f8e5m2 as '<f1',
 * which NumPy cannot read again. */
static const struct {
    hone_dtype dtype;
    char letter;
    uint8_t bytes;
    const char *name; /* NULL: none */
} spellings[] = {
    {HONE_DTYPE_BOOL, 'b', 1, NULL},
    {HONE_DTYPE_S8, 'i', 1, NULL},
    {HONE_DTYPE_S16, 'i', 2, NULL},
    {HONE_DTYPE_S32, 'i', 4, NULL},
    {HONE_DTYPE_S64, 'i', 8, NULL},
    {HONE_DTYPE_U8, 'u', 1, NULL},
    {HONE_DTYPE_U16, 'u', 2, NULL},
    {HONE_DTYPE_U32, 'u', 4, NULL},
    {HONE_DTYPE_U64, 'u', 8, NULL},
    {HONE_DTYPE_F16, 'f', 2, NULL},
    {HONE_DTYPE_F32, 'f', 4, NULL},
    {HONE_DTYPE_F64, 'f', 8, NULL},
    {HONE_DTYPE_C64, 'c', 8, NULL},
    {HONE_DTYPE_C128, 'c', 16, NULL},
    {HONE_DTYPE_BF16, 'u', 2, "bfloat16"},
    {HONE_DTYPE_F8E4M3FN, 'u', 1, "float8_e4m3fn"},
    {HONE_DTYPE_F8E4M3FNUZ, 'u', 1, "float8_e4m3fnuz"},
    {HONE_DTYPE_F8E5M2, 'u', 1, "float8_e5m2"},
    {HONE_DTYPE_F8E5M2FNUZ, 'u', 1, "float8_e5m2fnuz"},
    {HONE_DTYPE_F8E8M0, 'u', 1, "float8_e8m0fnu"},
    {HONE_DTYPE_F4E2M1, 'u', 1, "float4_e2m1fn"},
    {HONE_DTYPE_S4, 'u', 1, "int4"},
    {HONE_DTYPE_U4, 'u', 1, "uint4"},
    {HONE_DTYPE_S2, 'u', 1, "int2"},
    {HONE_DTYPE_U2, 'u', 1, "uint2"},
    {HONE_DTYPE_F8E5M2, 'f', 1, NULL},
};
enum { N_SPELLINGS = sizeof spellings / sizeof spellings[0] };

void hn_array_deinit(hn_array *array, hn_allocator *alloc) {
    if (array->file != NULL)
        hn_file_unref(array->file);
    else
        hn_free(alloc, array->data);
    array->data = NULL;
    array->file = NULL;
}

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct header {
    hone_dtype dtype;
    size_t disk_bytes; /* of one element */
    bool swap;         /* big-endian */
    bool fortran;      /* first axis fastest */
    int rank;
    int64_t dims[HONE_MAX_RANK];
} header;

typedef struct cursor {
    const char *start, *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

static bool accept(cursor *c, char wanted) {
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static hone_status unexpected(const cursor *c, const char *wanted, hn_error *err) {
    size_t at = (size_t)(c->at - c->start);
    if (c->at == c->end)
        return HN_FAIL(err, HONE_E_FORMAT, "the .npy header ends where %s was expected", wanted);
    return HN_FAIL(err, HONE_E_FORMAT, "the .npy header has '%c' at byte %zu where %s was expected",
                   *c->at, at, wanted);
}

static hone_status expect(cursor *c, char wanted, hn_error *err) {
    const char text[] = {'\'', wanted, '\'', '\0'};
    return accept(c, wanted) ? HONE_OK : unexpected(c, text, err);
}

/* A string in either kind of quotes. No type or key that is known needs an escape. */
static hone_status parse_string(cursor *c, const char **text, int *length, hn_error *err) {
    char quote = accept(c, '\'') ? '\'' : '"';
    if (quote == '"' && !accept(c, '"')) return unexpected(c, "a string", err);
    *text = c->at;
    while (c->at < c->end && *c->at != quote) c->at++;
    *length = (int)(c->at - *text);
    return expect(c, quote, err);
}

static bool equals(const char *text, int length, const char *word) {
    return (size_t)length == strlen(word) && memcmp(text, word, (size_t)length) == 0;
}

static hone_status parse_bool(cursor *c, bool *value, hn_error *err) {
    skip_space(c);
    for (int v = 0; v < 2; v++) {
        const char *word = v ? "True" : "False";
        size_t n = strlen(word);
        if ((size_t)(c->end - c->at) >= n && memcmp(c->at, word, n) == 0) {
            c->at += n;
            *value = v;
            return HONE_OK;
        }
    }
    return unexpected(c, "True or False", err);
}

static hone_status parse_dim(cursor *c, int64_t *value, hn_error *err) {
    skip_space(c);
    const char *first = c->at;
    int64_t v = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        HN_CHECK(err, hn_i64_mul(v, 10, &v) && hn_i64_add(v, *c->at - '0', &v), HONE_E_FORMAT,
                 "the .npy header has a dim over %" PRId64, INT64_MAX);
    if (c->at == first) return unexpected(c, "a dim", err);
    *value = v;
    return HONE_OK;
}

/* A tuple: (), (3,), (3, 4). */
static hone_status parse_shape(cursor *c, header *h, hn_error *err) {
    HN_TRY(expect(c, '(', err));
    while (!accept(c, ')')) {
        HN_CHECK(err, h->rank < HONE_MAX_RANK, HONE_E_LIMIT, "the .npy array has over %d axes",
                 HONE_MAX_RANK);
        HN_TRY(parse_dim(c, &h->dims[h->rank++], err));
        if (accept(c, ',')) continue;
        if (h->rank == 1) return unexpected(c, "','", err); /* (3) is a number, not a tuple */
        HN_TRY(expect(c, ')', err));
        break;
    }
    return HONE_OK;
}

/* name: NULL for a plain type. */
static hone_dtype find_type(char letter, size_t bytes, const char *name, int name_length,
                            hone_dtype void_as) {
    for (int i = 0; i < N_SPELLINGS; i++) {
        bool match = bytes == spellings[i].bytes;
        if (name != NULL)
            match = match && spellings[i].name != NULL &&
                    equals(name, name_length, spellings[i].name) &&
                    (letter == 'u' || letter == 'V');
        else if (letter == 'V')
            match =
                match && spellings[i].name != NULL && (bytes == 2 || spellings[i].dtype == void_as);
        else
            match = match && spellings[i].name == NULL && letter == spellings[i].letter;
        if (match) return spellings[i].dtype;
    }
    return HONE_DTYPE_NONE;
}

/* '<f4', or [('bfloat16', '<u2')]. */
static hone_status parse_descr(cursor *c, header *h, hone_dtype void_as, hn_error *err) {
    const char *text, *name = NULL;
    int length, name_length = 0;
    bool structure = accept(c, '[');
    if (structure) {
        HN_TRY(expect(c, '(', err));
        HN_TRY(parse_string(c, &name, &name_length, err));
        HN_TRY(expect(c, ',', err));
    }
    HN_TRY(parse_string(c, &text, &length, err));
    if (structure) {
        HN_TRY(expect(c, ')', err));
        HN_TRY(expect(c, ']', err));
    }
    /* Byte order, letter, one or two digits. */
    bool digits = length == 3 || length == 4;
    for (int i = 2; digits && i < length; i++) {
        digits = text[i] >= '0' && text[i] <= '9';
        h->disk_bytes = h->disk_bytes * 10 + (size_t)(text[i] - '0');
    }
    if (digits && (text[0] == '<' || text[0] == '>' ||
                   (text[0] == '|' && (h->disk_bytes == 1 || text[1] == 'V'))))
        h->dtype = find_type(text[1], h->disk_bytes, name, name_length, void_as);
    h->swap = h->dtype != HONE_DTYPE_NONE && text[0] == '>';
    HN_CHECK(
        err, h->dtype != HONE_DTYPE_NONE || structure || !digits || text[1] != 'V', HONE_E_TYPE,
        "the .npy array has elements of type '%.*s': the file does not say what their bits mean",
        length, text);
    HN_CHECK(err, h->dtype != HONE_DTYPE_NONE, HONE_E_TYPE,
             "the .npy array has elements of type '%.*s'%s%.*s, which hone has no type for", length,
             text, structure ? " named " : "", name_length, structure ? name : "");
    return HONE_OK;
}

static hone_status parse_header(cursor *c, header *h, hone_dtype void_as, hn_error *err) {
    enum { DESCR = 1, FORTRAN = 2, SHAPE = 4, ALL = 7 };
    int seen = 0;
    HN_TRY(expect(c, '{', err));
    while (!accept(c, '}')) {
        const char *key;
        int length;
        HN_TRY(parse_string(c, &key, &length, err));
        HN_TRY(expect(c, ':', err));
        int bit = equals(key, length, "descr")           ? DESCR
                  : equals(key, length, "fortran_order") ? FORTRAN
                  : equals(key, length, "shape")         ? SHAPE
                                                         : 0;
        HN_CHECK(err, bit != 0 && (seen & bit) == 0, HONE_E_FORMAT,
                 "the .npy header has %s key '%.*s'", bit == 0 ? "an unknown" : "a second", length,
                 key);
        seen |= bit;
        HN_TRY(bit == DESCR     ? parse_descr(c, h, void_as, err)
               : bit == FORTRAN ? parse_bool(c, &h->fortran, err)
                                : parse_shape(c, h, err));
        if (accept(c, ',')) continue;
        HN_TRY(expect(c, '}', err));
        break;
    }
    HN_CHECK(err, seen == ALL, HONE_E_FORMAT, "the .npy header lacks %s",
             !(seen & DESCR)     ? "descr"
             : !(seen & FORTRAN) ? "fortran_order"
                                 : "shape");
    skip_space(c);
    return c->at == c->end ? HONE_OK : unexpected(c, "its end", err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static hone_status read_bytes(hn_npy_source *s, void *dst, size_t bytes, hn_error *err) {
    HN_CHECK(err, bytes <= s->bytes - s->used, HONE_E_FORMAT,
             "the .npy has %zu bytes, and %zu are needed at byte %zu", s->bytes, bytes, s->used);
    if (s->data == NULL) {
        HN_TRY(hn_inflate_read(s->stream, dst, bytes, err));
        s->crc = hn_crc32(s->crc, dst, bytes);
    } else if (bytes > 0) {
        memcpy(dst, s->data + s->used, bytes);
    }
    s->used += bytes;
    return HONE_OK;
}

static hone_status read_header(hn_npy_source *s, header *h, hone_dtype void_as, hn_allocator *alloc,
                               hn_error *err) {
    unsigned char start[8], length[4] = {0};
    HN_TRY(read_bytes(s, start, sizeof start, err));
    HN_CHECK(err, memcmp(start, magic, sizeof magic) == 0, HONE_E_FORMAT,
             "not a .npy: its first bytes are not \\x93NUMPY");
    HN_CHECK(err, start[6] >= 1 && start[6] <= 3 && start[7] == 0, HONE_E_FORMAT,
             "the .npy has version %d.%d; 1.0, 2.0 and 3.0 are known", start[6], start[7]);
    HN_TRY(read_bytes(s, length, start[6] == 1 ? 2 : 4, err));
    uint32_t bytes = (uint32_t)length[0] | (uint32_t)length[1] << 8 | (uint32_t)length[2] << 16 |
                     (uint32_t)length[3] << 24;
    HN_CHECK(err, bytes <= MAX_HEADER, HONE_E_LIMIT,
             "the .npy has a header of %" PRIu32 " bytes; at most %d are read", bytes, MAX_HEADER);
    char *text = hn_alloc(alloc, bytes, HN_MEM_OTHER);
    if (text == NULL) return HN_NOMEM(err);
    hone_status status = read_bytes(s, text, bytes, err);
    cursor c = {text, text, text + bytes};
    if (status == HONE_OK) status = parse_header(&c, h, void_as, err);
    hn_free(alloc, text);
    return status;
}

/* Reverses each group of `width` bytes. */
static void swap_bytes(unsigned char *data, size_t bytes, size_t width) {
    for (unsigned char *group = data; group < data + bytes; group += width)
        for (size_t i = 0; i < width / 2; i++) {
            unsigned char t = group[i];
            group[i] = group[width - 1 - i];
            group[width - 1 - i] = t;
        }
}

/* dst in C order from src in Fortran order: dst is filled front to back while an odometer over the
 * axes, the last one fastest, follows the place in src. */
static void to_c_order(const header *h, int64_t count, const unsigned char *src,
                       unsigned char *dst) {
    size_t stride[HONE_MAX_RANK], at = 0;
    int64_t index[HONE_MAX_RANK] = {0};
    size_t step = h->disk_bytes;
    for (int a = 0; a < h->rank; a++) {
        stride[a] = step;
        step *= (size_t)h->dims[a];
    }
    for (int64_t i = 0; i < count; i++, dst += h->disk_bytes) {
        memcpy(dst, src + at, h->disk_bytes);
        for (int a = h->rank - 1; a >= 0; a--) {
            at += stride[a];
            if (++index[a] < h->dims[a]) break;
            at -= stride[a] * (size_t)h->dims[a];
            index[a] = 0;
        }
    }
}

/* One byte per element on disk, several elements per byte in memory. */
static void pack(hone_dtype dtype, int64_t count, const unsigned char *src, unsigned char *dst) {
    int bits = hone_dtype_bits(dtype), per_byte = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < count; i++) {
        int slot = (int)(i % per_byte);
        if (slot == 0) dst[i / per_byte] = 0;
        dst[i / per_byte] |= (unsigned char)((src[i] & mask) << (slot * bits));
    }
}

/* The elements as they lie on disk become the elements as memory holds them. *block may be
 * replaced. */
static hone_status settle(const header *h, int64_t count, size_t disk_bytes, size_t bytes,
                          unsigned char **block, hn_allocator *alloc, hn_error *err) {
    bool complex = hn_dtype_in(h->dtype, HN_DTYPES_COMPLEX);
    if (h->swap) swap_bytes(*block, disk_bytes, h->disk_bytes / (complex ? 2 : 1));
    if (h->dtype == HONE_DTYPE_BOOL)
        for (size_t i = 0; i < disk_bytes; i++) (*block)[i] = (*block)[i] != 0;
    if (h->fortran && h->rank > 1) {
        unsigned char *ordered = hn_alloc(alloc, disk_bytes, HN_MEM_DATA);
        if (ordered == NULL) return HN_NOMEM(err);
        to_c_order(h, count, *block, ordered);
        hn_free(alloc, *block);
        *block = ordered;
    }
    if (hone_dtype_bits(h->dtype) < 8) {
        unsigned char *packed = hn_alloc(alloc, bytes, HN_MEM_DATA);
        if (packed == NULL) return HN_NOMEM(err);
        pack(h->dtype, count, *block, packed);
        hn_free(alloc, *block);
        *block = packed;
    }
    return HONE_OK;
}

hone_status hn_npy_decode(hn_array *out, hn_npy_source *source, const hn_npy_options *options,
                          hn_allocator *alloc, hn_error *err) {
    static const hn_npy_options defaults = {HONE_DTYPE_NONE, false};
    if (options == NULL) options = &defaults;
    header h = {0};
    HN_TRY(read_header(source, &h, options->void_as, alloc, err));
    int64_t count;
    size_t disk_bytes, bytes, left = source->bytes - source->used;
    HN_CHECK(err,
             hn_dims_count(h.dims, h.rank, &count) &&
                 hn_packed_bytes(count, (int)h.disk_bytes * 8, &disk_bytes) &&
                 hn_packed_bytes(count, hone_dtype_bits(h.dtype), &bytes),
             HONE_E_FORMAT, "the .npy header's shape has more elements than memory could hold");
    HN_CHECK(err, disk_bytes == left, HONE_E_FORMAT,
             "the .npy has %zu bytes of elements; its shape and type need %zu", left, disk_bytes);

    hn_array array = {.dtype = h.dtype, .rank = h.rank, .bytes = bytes};
    memcpy(array.dims, h.dims, sizeof array.dims);
    bool as_is = !h.swap && !(h.fortran && h.rank > 1) && h.dtype != HONE_DTYPE_BOOL &&
                 hone_dtype_bits(h.dtype) >= 8;
    if (options->in_place && as_is && source->file != NULL) {
        array.data = (void *)(source->data + source->used); /* hn_array says: read only */
        array.file = hn_file_ref(source->file);
        source->used += bytes;
        *out = array;
        return HONE_OK;
    }
    unsigned char *block = hn_alloc(alloc, disk_bytes, HN_MEM_DATA);
    HN_CHECK(err, block != NULL, HONE_E_NOMEM, "out of memory for an array of %zu bytes",
             disk_bytes);
    hone_status status = read_bytes(source, block, disk_bytes, err);
    if (status == HONE_OK) status = settle(&h, count, disk_bytes, bytes, &block, alloc, err);
    if (status != HONE_OK) {
        hn_free(alloc, block);
        return status;
    }
    array.data = block;
    *out = array;
    return HONE_OK;
}

hone_status hn_npy_read(hn_array *out, const char *path, const hn_npy_options *options,
                        hn_allocator *alloc, hn_error *err) {
    hn_file *file = NULL;
    HN_TRY(hn_file_open_unpacked(&file, path, 0, alloc, err));
    hn_npy_source source = {.bytes = file->bytes, .data = file->data, .file = file};
    hone_status status = hn_npy_decode(out, &source, options, alloc, err);
    if (status != HONE_OK) hn_error_context(err, "'%s'", path);
    hn_file_unref(file);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static hone_status encode_header(const hn_array *array, hn_npy_sink sink, void *ctx,
                                 hn_error *err) {
    int row = 0;
    while (row < N_SPELLINGS && spellings[row].dtype != array->dtype) row++;
    HN_CHECK(err, row < N_SPELLINGS, HONE_E_TYPE, "a .npy cannot hold elements of type %s",
             hone_dtype_name(array->dtype));
    /* 10 bytes before it, and 16 dims of at most 19 digits: 512 bytes hold every header. */
    char text[512], descr[48];
    int length = snprintf(descr, sizeof descr, "'%c%c%d'", spellings[row].bytes == 1 ? '|' : '<',
                          spellings[row].letter, spellings[row].bytes);
    if (spellings[row].name != NULL) {
        char plain[16];
        memcpy(plain, descr, (size_t)length + 1);
        snprintf(descr, sizeof descr, "[('%s', %s)]", spellings[row].name, plain);
    }
    size_t n = 10;
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "{'descr': %s, 'fortran_order': False, 'shape': (", descr);
    for (int a = 0; a < array->rank; a++)
        n += (size_t)snprintf(text + n, sizeof text - n, a == 0 ? "%" PRId64 "," : " %" PRId64 ",",
                              array->dims[a]);
    if (array->rank > 1) n--; /* only a tuple of one needs its last comma */
    n += (size_t)snprintf(text + n, sizeof text - n, "), }");
    /* The elements start at a multiple of 64, as NumPy has it. */
    while (n % 64 != 63) text[n++] = ' ';
    text[n++] = '\n';
    memcpy(text, magic, sizeof magic);
    text[6] = 1;
    text[7] = 0;
    text[8] = (char)((n - 10) & 255);
    text[9] = (char)((n - 10) >> 8);
    return sink(ctx, text, n, err);
}

hone_status hn_npy_encode(const hn_array *array, hn_npy_sink sink, void *ctx, hn_error *err) {
    HN_TRY(encode_header(array, sink, ctx, err));
    int bits = hone_dtype_bits(array->dtype);
    if (bits >= 8) return sink(ctx, array->data, array->bytes, err);
    const unsigned char *src = array->data;
    int64_t count;
    bool valid = hn_dims_count(array->dims, array->rank, &count);
    assert(valid);
    (void)valid;
    int per_byte = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    unsigned char piece[4096];
    size_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        piece[used++] = (unsigned char)(src[i / per_byte] >> (i % per_byte * bits) & mask);
        if (used == sizeof piece || i == count - 1) {
            HN_TRY(sink(ctx, piece, used, err));
            used = 0;
        }
    }
    return HONE_OK;
}

static hone_status append(void *writer, const void *data, size_t bytes, hn_error *err) {
    return hn_file_write_append(writer, data, bytes, err);
}

hone_status hn_npy_write(const char *path, const char *keep, const hn_array *array,
                         hn_allocator *alloc, hn_error *err) {
    hn_file_writer *writer = NULL;
    HN_TRY(hn_file_write_begin(&writer, path, keep, alloc, err));
    hone_status status = hn_npy_encode(array, append, writer, err);
    if (status == HONE_OK) return hn_file_write_commit(writer, err);
    hn_file_write_abort(writer);
    return status;
}

/* TensorProto and SparseTensorProto: which bytes are the elements, and are they as many as the dims
 * say. Answered before anything is allocated. */
#include <limits.h>
#include <stdlib.h>

#include "base/size.h"
#include "formats/onnx_reader.h"

static size_t place_of(const hn_onnx_reader *r, hn_bytes b) {
    return (size_t)((const unsigned char *)b.p - r->file->data);
}

/* What one pass over a TensorProto finds. */
typedef struct parts {
    hn_bytes name;
    int64_t dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
    bool raw, external, segment;
    hn_bytes raw_data;
    uint32_t field;  /* the typed data field, 0: none */
    size_t count;    /* numbers or texts in it */
    int chunks;      /* times the field occurs */
    hn_bytes packed; /* the last of them */
    hn_bytes location, offset, length;
} parts;

static hone_status read_dims(const hn_wire *w, const hn_wire_field *f, int *rank, int64_t *dims,
                             hn_error *err) {
    size_t n;
    HN_TRY(hn_wire_count(w, f, &n, err));
    HN_CHECK(err, n <= (size_t)(HONE_MAX_RANK - *rank), HONE_E_MODEL,
             "a tensor has more than %d axes", HONE_MAX_RANK);
    hn_wire_ints(f, dims + *rank);
    *rank += (int)n;
    return HONE_OK;
}

static hone_status read_external(hn_onnx_reader *r, hn_bytes bytes, parts *t, hn_error *err) {
    hn_bytes key = {"", 0}, value = {"", 0};
    hn_wire w = hn_onnx_open(r, HN_ONNX_ENTRY, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_ENTRY_KEY) key = f.bytes;
        if (f.number == HN_ONNX_ENTRY_VALUE) value = f.bytes;
    }
    HN_TRY(w.status);
    const struct {
        const char *key;
        hn_bytes *value;
    } known[] = {{"location", &t->location}, {"offset", &t->offset}, {"length", &t->length}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (key.n == strlen(known[i].key) && memcmp(key.p, known[i].key, key.n) == 0)
            *known[i].value = value;
    return HONE_OK;
}

/* Whether a package keeps the contents of the field. */
static bool is_elsewhere(const hn_onnx_reader *r, const hn_wire_field *f) {
    return r->stored != NULL && f->type == HN_WIRE_BYTES && f->bytes.n == 0 &&
           r->stored->is(r->stored->ctx, place_of(r, f->bytes));
}

static hone_status read_parts(hn_onnx_reader *r, hn_bytes bytes, parts *t, hn_error *err) {
    *t = (parts){.name = {"", 0}};
    hn_wire w = hn_onnx_open(r, HN_ONNX_TENSOR, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        size_t n = 1;
        switch (f.number) {
            case HN_ONNX_TENSOR_NAME: t->name = f.bytes; break;
            case HN_ONNX_TENSOR_DATA_TYPE: t->dtype = (int64_t)f.value; break;
            case HN_ONNX_TENSOR_DIMS: HN_TRY(read_dims(&w, &f, &t->rank, t->dims, err)); break;
            case HN_ONNX_TENSOR_SEGMENT: t->segment = true; break;
            case HN_ONNX_TENSOR_DATA_LOCATION: t->external = f.value == 1; break;
            case HN_ONNX_TENSOR_EXTERNAL_DATA: HN_TRY(read_external(r, f.bytes, t, err)); break;
            case HN_ONNX_TENSOR_RAW_DATA:
                t->raw = true;
                t->raw_data = f.bytes;
                break;
            case HN_ONNX_TENSOR_FLOAT_DATA:
            case HN_ONNX_TENSOR_INT32_DATA:
            case HN_ONNX_TENSOR_INT64_DATA:
            case HN_ONNX_TENSOR_DOUBLE_DATA:
            case HN_ONNX_TENSOR_UINT64_DATA:
                if (is_elsewhere(r, &f)) {
                    t->raw = true;
                    t->raw_data = f.bytes;
                    break;
                }
                HN_TRY(hn_wire_count(&w, &f, &n, err)); /* fall through */
            case HN_ONNX_TENSOR_STRING_DATA:
                if (n == 0 && f.number != t->field) break;
                HN_CHECK(err, t->field == 0 || t->field == f.number, HONE_E_MODEL,
                         "a tensor has data in two fields");
                t->field = f.number;
                t->count += n;
                t->chunks++;
                t->packed = f.bytes;
                break;
        }
    }
    return w.status;
}

/* Which field holds the elements of a type, when raw_data does not, and how many numbers of the
 * field make n elements. */
static uint32_t field_of(hone_dtype dtype) {
    switch (dtype) {
        case HONE_DTYPE_F32:
        case HONE_DTYPE_C64: return HN_ONNX_TENSOR_FLOAT_DATA;
        case HONE_DTYPE_F64:
        case HONE_DTYPE_C128: return HN_ONNX_TENSOR_DOUBLE_DATA;
        case HONE_DTYPE_S64: return HN_ONNX_TENSOR_INT64_DATA;
        case HONE_DTYPE_U32:
        case HONE_DTYPE_U64: return HN_ONNX_TENSOR_UINT64_DATA;
        case HONE_DTYPE_STRING: return HN_ONNX_TENSOR_STRING_DATA;
        default: return HN_ONNX_TENSOR_INT32_DATA;
    }
}

/* ---- external data ---- */

static hone_status read_number(hn_bytes b, const char *what, uint64_t *out, hn_error *err) {
    const char *p = b.p;
    uint64_t v = 0;
    bool good = b.n > 0;
    for (size_t i = 0; i < b.n && good; i++)
        good = p[i] >= '0' && p[i] <= '9' && !__builtin_mul_overflow(v, 10u, &v) &&
               !__builtin_add_overflow(v, (unsigned)(p[i] - '0'), &v);
    HN_CHECK(err, good, HONE_E_MODEL, "the %s of external data is '%.*s', expected a number", what,
             (int)(b.n < 40 ? b.n : 40), p);
    *out = v;
    return HONE_OK;
}

bool hn_onnx_in_folder(const char *location) {
    if (location[0] == '/' || location[0] == '\0') return false;
    for (const char *p = location;; p++) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') return false;
        p += n;
        if (*p == '\0') return true;
    }
}

/* The file, mapped at its first use. Links are followed before it is judged where it lies. */
static hone_status open_external(hn_onnx_reader *r, const char *location, hn_file **out,
                                 hn_error *err) {
    HN_CHECK(err, r->folder != NULL, HONE_E_MODEL,
             "external data '%.200s' is named, but a model from memory has no folder", location);
    HN_CHECK(err, hn_onnx_in_folder(location), HONE_E_MODEL,
             "external data '%.200s' is not inside the model's folder", location);
    char folder[PATH_MAX], path[PATH_MAX], joined[PATH_MAX];
    const char *base = r->folder[0] != '\0' ? r->folder : ".";
    HN_CHECK(err, realpath(base, folder) != NULL, HONE_E_IO, "cannot resolve the folder '%s'",
             base);
    HN_CHECK(err, strlen(folder) + strlen(location) + 2 <= sizeof joined, HONE_E_MODEL,
             "external data has a path of more than %d bytes", PATH_MAX);
    size_t n = strlen(folder);
    memcpy(joined, folder, n);
    if (n > 1) joined[n++] = '/'; /* the root has its slash */
    memcpy(joined + n, location, strlen(location) + 1);
    HN_CHECK(err, realpath(joined, path) != NULL, HONE_E_IO, "external data '%s' does not exist",
             joined);
    HN_CHECK(err, strncmp(path, joined, n) == 0, HONE_E_MODEL,
             "external data '%.200s' is a link to '%s', outside the model's folder", location,
             path);
    for (int i = 0; i < r->n_externals; i++) {
        if (strcmp(r->externals[i]->path, path) != 0) continue;
        *out = r->externals[i];
        return HONE_OK;
    }
    if (r->n_externals == r->cap_externals) {
        int cap = r->cap_externals == 0 ? 4 : r->cap_externals * 2;
        hn_file **grown =
            hn_realloc(r->alloc, r->externals, (size_t)cap * sizeof *grown, HN_MEM_OTHER);
        if (grown == NULL) return HN_NOMEM(err);
        r->externals = grown;
        r->cap_externals = cap;
    }
    HN_TRY(hn_file_open(out, path, r->map, r->alloc, err));
    r->externals[r->n_externals++] = *out;
    return HONE_OK;
}

static hone_status find_external(hn_onnx_reader *r, const parts *t, size_t bytes, hn_file **file,
                                 const unsigned char **data, hn_error *err) {
    HN_CHECK(err, t->location.p != NULL, HONE_E_MODEL, "external data has no location");
    const char *location;
    HN_TRY(hn_onnx_text(&r->scratch, t->location, "a location", &location, err));
    uint64_t offset = 0, length = bytes;
    if (t->offset.p != NULL) HN_TRY(read_number(t->offset, "offset", &offset, err));
    if (t->length.p != NULL) HN_TRY(read_number(t->length, "length", &length, err));
    HN_CHECK(err, length == bytes, HONE_E_MODEL,
             "external data '%.200s' has %llu bytes for it, but its dims need %zu", location,
             (unsigned long long)length, bytes);
    if (r->stored != NULL)
        return r->stored->get(r->stored->ctx, location, offset, bytes, file, data, err);
    HN_TRY(open_external(r, location, file, err));
    HN_CHECK(err, offset <= (*file)->bytes && bytes <= (*file)->bytes - offset, HONE_E_MODEL,
             "external data '%.200s' has %zu bytes, but %zu at offset %llu are wanted", location,
             (*file)->bytes, bytes, (unsigned long long)offset);
    *data = (*file)->data + offset;
    return HONE_OK;
}

/* ---- decoding ---- */

static hone_status decode_strings(hn_onnx_reader *r, hn_bytes bytes, const parts *t,
                                  hn_tensor **out, hn_error *err) {
    hn_str *texts = hn_alloc_array(r->alloc, t->count, sizeof *texts, HN_MEM_OTHER);
    if (texts == NULL) return HN_NOMEM(err);
    hn_wire w = hn_onnx_open(r, HN_ONNX_TENSOR, bytes);
    hn_wire_field f;
    for (size_t i = 0; hn_wire_next(&w, &f, err);)
        if (f.number == HN_ONNX_TENSOR_STRING_DATA) texts[i++] = (hn_str){f.bytes.p, f.bytes.n};
    hone_status status = w.status;
    if (status == HONE_OK)
        status = hn_tensor_create_strings(out, r->alloc, t->rank, t->dims, texts, err);
    hn_free(r->alloc, texts);
    return status;
}

/* Stores numbers of `width` bytes, low bytes first. */
static unsigned char *store(unsigned char *dst, uint64_t v, size_t width, bool truth) {
    if (truth) v = v != 0;
    for (size_t i = 0; i < width; i++) dst[i] = (unsigned char)(v >> (8 * i));
    return dst + width;
}

/* Each number of the field, in order; read_parts has seen that the bytes divide into numbers. */
static hone_status decode_numbers(hn_onnx_reader *r, hn_bytes bytes, const parts *t, hn_tensor *x,
                                  hn_error *err) {
    bool truth = x->dtype == HONE_DTYPE_BOOL;
    size_t width = t->count > 0 ? x->bytes / t->count : 0;
    unsigned char *dst = x->data;
    hn_wire w = hn_onnx_open(r, HN_ONNX_TENSOR, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number != t->field) continue;
        if (f.type != HN_WIRE_BYTES) {
            dst = store(dst, f.value, width, truth);
        } else if (f.kind == HN_WIRE_INTS) {
            uint64_t v;
            const unsigned char *p = f.bytes.p, *end = p + f.bytes.n;
            while (hn_wire_varint(&p, end, &v)) dst = store(dst, v, width, truth);
        } else if (f.bytes.n > 0) {
            memcpy(dst, f.bytes.p, f.bytes.n);
            dst += f.bytes.n;
        }
    }
    return w.status;
}

static const char *field_name(uint32_t field) {
    switch (field) {
        case HN_ONNX_TENSOR_FLOAT_DATA: return "float_data";
        case HN_ONNX_TENSOR_INT32_DATA: return "int32_data";
        case HN_ONNX_TENSOR_STRING_DATA: return "string_data";
        case HN_ONNX_TENSOR_INT64_DATA: return "int64_data";
        case HN_ONNX_TENSOR_DOUBLE_DATA: return "double_data";
        case HN_ONNX_TENSOR_UINT64_DATA: return "uint64_data";
        default: return "no field";
    }
}

static hone_status from_typed(hn_onnx_reader *r, hn_bytes bytes, const parts *t, int64_t n,
                              size_t size, hn_tensor **out, hn_error *err) {
    hone_dtype dtype = (hone_dtype)t->dtype;
    uint32_t field = field_of(dtype);
    HN_CHECK(err, t->field == 0 || t->field == field, HONE_E_MODEL,
             "a tensor of type %s has its data in %s, expected %s", hone_dtype_name(dtype),
             field_name(t->field), field_name(field));
    uint64_t want = (uint64_t)n;
    if (hn_dtype_in(dtype, HN_DTYPES_COMPLEX)) want *= 2; /* n * 8 bytes fit a size, so this does */
    if (hone_dtype_bits(dtype) < 8 && dtype != HONE_DTYPE_STRING) want = size;
    HN_CHECK(err, t->count == want, HONE_E_MODEL,
             "a tensor whose dims need %llu numbers has %zu in %s", (unsigned long long)want,
             t->count, field_name(field));
    if (dtype == HONE_DTYPE_STRING) return decode_strings(r, bytes, t, out, err);
    bool plain = field == HN_ONNX_TENSOR_FLOAT_DATA || field == HN_ONNX_TENSOR_DOUBLE_DATA;
    if (plain && t->chunks == 1 && t->packed.p != NULL)
        return hn_tensor_create_mapped(out, r->alloc, dtype, t->rank, t->dims, r->file, t->packed.p,
                                       err);
    hn_tensor *x;
    HN_TRY(hn_tensor_create(&x, r->alloc, HN_MEM_WEIGHTS, dtype, t->rank, t->dims, err));
    hone_status status = decode_numbers(r, bytes, t, x, err);
    if (status != HONE_OK)
        hn_tensor_unref(x);
    else
        *out = x;
    return status;
}

hone_status hn_onnx_tensor(hn_onnx_reader *r, hn_bytes bytes, hn_tensor **out, hn_bytes *name,
                           hn_error *err) {
    parts t;
    HN_TRY(read_parts(r, bytes, &t, err));
    if (name != NULL) *name = t.name;
    HN_CHECK(err, t.dtype > 0 && t.dtype < INT_MAX && hn_dtype_valid((int)t.dtype), HONE_E_MODEL,
             "a tensor has the unknown data type %lld", (long long)t.dtype);
    HN_CHECK(err, !t.segment, HONE_E_UNSUPPORTED, "a tensor is stored in segments");
    hone_dtype dtype = (hone_dtype)t.dtype;
    for (int i = 0; i < t.rank; i++)
        HN_CHECK(err, t.dims[i] >= 0, HONE_E_MODEL,
                 "axis %d of a tensor has the negative size %lld", i, (long long)t.dims[i]);
    int64_t n;
    size_t size;
    int bits = dtype == HONE_DTYPE_STRING ? (int)sizeof(hn_str) * 8 : hone_dtype_bits(dtype);
    HN_CHECK(err, hn_dims_count(t.dims, t.rank, &n) && hn_packed_bytes(n, bits, &size),
             HONE_E_MODEL, "the size of a tensor overflows");

    HN_CHECK(err, (int)t.raw + (int)t.external + (t.field != 0) <= 1, HONE_E_MODEL,
             "a tensor has data in two places");
    if (!t.raw && !t.external) return from_typed(r, bytes, &t, n, size, out, err);
    HN_CHECK(err, dtype != HONE_DTYPE_STRING, HONE_E_MODEL,
             "a tensor of strings has %s data, expected string_data", t.raw ? "raw" : "external");
    hn_file *file = r->file;
    const unsigned char *data = t.raw_data.p;
    if (t.external)
        HN_TRY(find_external(r, &t, size, &file, &data, err));
    else if (r->stored != NULL && t.raw_data.n == 0 && size > 0 &&
             r->stored->is(r->stored->ctx, place_of(r, t.raw_data)))
        HN_TRY(
            r->stored->get(r->stored->ctx, NULL, place_of(r, t.raw_data), size, &file, &data, err));
    else
        HN_CHECK(err, t.raw_data.n == size, HONE_E_MODEL,
                 "a tensor whose dims need %zu bytes has %zu in raw_data", size, t.raw_data.n);
    return hn_tensor_create_mapped(out, r->alloc, dtype, t.rank, t.dims, file, data, err);
}

hone_status hn_onnx_sparse(hn_onnx_reader *r, hn_bytes bytes, hn_tensor **out, hn_bytes *name,
                           hn_error *err) {
    hn_bytes values_bytes = {"", 0}, indices_bytes = {"", 0};
    int rank = 0;
    int64_t dims[HONE_MAX_RANK];
    hn_wire w = hn_onnx_open(r, HN_ONNX_SPARSE, bytes);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, err)) {
        if (f.number == HN_ONNX_SPARSE_VALUES) values_bytes = f.bytes;
        if (f.number == HN_ONNX_SPARSE_INDICES) indices_bytes = f.bytes;
        if (f.number == HN_ONNX_SPARSE_DIMS) HN_TRY(read_dims(&w, &f, &rank, dims, err));
    }
    HN_TRY(w.status);
    hn_tensor *values = NULL, *indices = NULL;
    hone_status status;
    HN_TRY_GOTO(hn_onnx_tensor(r, values_bytes, &values, name, err));
    HN_TRY_GOTO(hn_onnx_tensor(r, indices_bytes, &indices, NULL, err));
    HN_TRY_GOTO(hn_tensor_create_sparse(out, r->alloc, rank, dims, values, indices, err));
    return HONE_OK;
fail:
    hn_tensor_unref(values);
    hn_tensor_unref(indices);
    return status;
}

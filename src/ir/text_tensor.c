/* Types and contents of tensors in the text form. */
#include "base/sha256.h"
#include "base/size.h"
#include "ir/proto.h"
#include "ir/text_reader.h"

/* ---- types ---- */

bool hn_text_type_next(hn_text_reader *p, hone_dtype *dtype) {
    hn_str word = hn_text_word(p);
    return hn_text_is_type(word.p, word.n, dtype);
}

static hone_status parse_dim(hn_text_reader *p, hn_dim *out) {
    hn_dims *dims = &p->model->dims;
    char c = hn_text_peek(p);
    if (c == '-' || hn_text_is_digit(c)) {
        int64_t v;
        HN_TRY(hn_text_between(p, 0, HN_DIM_MAX, "a size of 0 or more", &v));
        *out = hn_dim_const(dims, v);
    } else if (hn_text_accept(p, '?')) {
        *out = hn_dim_fresh(dims, -1);
    } else {
        hn_str s;
        size_t at;
        const char *name;
        HN_TRY(hn_text_name(p, "a size, a name or '?'", &s, &at));
        HN_TRY(hn_text_copy(p, &p->scratch, s, &name));
        *out = s.n > 0 ? hn_dim_symbol(dims, name) : hn_dim_fresh(dims, -1);
    }
    return dims->status == HONE_OK ? HONE_OK : HN_NOMEM(p->err);
}

/* What follows the element type: nothing for a scalar, [] for an unknown rank, [dims]. */
static hone_status parse_shape(hn_text_reader *p, hn_shape *out) {
    *out = (hn_shape){.rank = 0};
    if (!hn_text_accept(p, '[')) return HONE_OK;
    if (hn_text_accept(p, ']')) {
        *out = hn_shape_unknown();
        return HONE_OK;
    }
    do {
        HN_TEXT_CHECK(p, out->rank < HONE_MAX_RANK, p->at, HONE_E_FORMAT,
                      "a shape has more than %d axes", HONE_MAX_RANK);
        HN_TRY(parse_dim(p, &out->dim[out->rank]));
        out->rank++;
    } while (hn_text_accept(p, ','));
    return hn_text_want(p, ']');
}

static hone_status parse_tensor_type(hn_text_reader *p, hn_type_kind kind, hn_type *out) {
    *out = (hn_type){.kind = kind};
    hn_str word = hn_text_word(p);
    if (!hn_text_is_type(word.p, word.n, &out->dtype) ||
        (out->dtype == HONE_DTYPE_NONE && !hn_text_is_word(word, "undefined")))
        return hn_text_unexpected(p, "an element type");
    p->at += word.n;
    return parse_shape(p, &out->shape);
}

static void put_dim(hn_proto_out *shape, hn_dim d) {
    hn_proto_out dim = {.arena = shape->arena};
    int64_t v;
    const char *name;
    if (hn_dim_is_const(d, &v))
        hn_proto_put_int(&dim, HN_PROTO_DIM_VALUE, (uint64_t)v);
    else if (!hn_dim_is_fresh(d) && hn_dim_is_symbol(d, &name))
        hn_proto_put_bytes(&dim, HN_PROTO_DIM_PARAM, name, strlen(name));
    shape->nomem = shape->nomem || dim.nomem;
    hn_proto_put_bytes(shape, HN_PROTO_SHAPE_DIM, dim.p, dim.n);
}

hone_status hn_text_type_proto(hn_text_reader *p, const hn_type *t, hn_bytes *out) {
    if (t->kind == HN_TYPE_OTHER) {
        *out = t->other;
        return HONE_OK;
    }
    hn_proto_out type = {.arena = &p->scratch}, tensor = type, shape = type;
    if (t->dtype != HONE_DTYPE_NONE) hn_proto_put_int(&tensor, HN_PROTO_TENSOR_ELEM, t->dtype);
    for (int i = 0; i < t->shape.rank; i++) put_dim(&shape, t->shape.dim[i]);
    if (t->shape.rank >= 0) hn_proto_put_bytes(&tensor, HN_PROTO_TENSOR_SHAPE, shape.p, shape.n);
    hn_proto_put_bytes(&type,
                       t->kind == HN_TYPE_SPARSE ? HN_PROTO_TYPE_SPARSE : HN_PROTO_TYPE_TENSOR,
                       tensor.p, tensor.n);
    *out = (hn_bytes){type.p, type.n};
    return shape.nomem || tensor.nomem || type.nomem ? HN_NOMEM(p->err) : HONE_OK;
}

/* What stands in the parentheses of seq, map, optional and opaque, as the fields of its message. */
static hone_status parse_inner(hn_text_reader *p, uint32_t kind, hn_proto_out *o, int depth) {
    hn_str name;
    size_t last;
    if (kind == HN_PROTO_TYPE_OPAQUE) {
        if (hn_text_peek(p) == ')') return HONE_OK;
        HN_TRY(hn_text_qualified(p, &name, &last));
        if (hn_text_accept(p, ',')) {
            hn_proto_put_bytes(o, HN_PROTO_OPAQUE_DOMAIN, name.p, name.n);
            HN_TRY(hn_text_qualified(p, &name, &last));
        }
        hn_proto_put_bytes(o, HN_PROTO_OPAQUE_NAME, name.p, name.n);
        return HONE_OK;
    }
    if (kind == HN_PROTO_TYPE_MAP) {
        hone_dtype key;
        if (!hn_text_type_next(p, &key) || key == HONE_DTYPE_NONE)
            return hn_text_unexpected(p, "the type of a key");
        p->at += hn_text_word(p).n;
        hn_proto_put_int(o, HN_PROTO_MAP_KEY, key);
        HN_TRY(hn_text_want(p, ','));
    }
    hn_type inner;
    hn_bytes bytes;
    HN_TRY(hn_text_type(p, &inner, depth + 1));
    HN_TRY(hn_text_type_proto(p, &inner, &bytes));
    hn_proto_put_bytes(o, kind == HN_PROTO_TYPE_MAP ? HN_PROTO_MAP_VALUE : HN_PROTO_ELEM, bytes.p,
                       bytes.n);
    return HONE_OK;
}

hone_status hn_text_type(hn_text_reader *p, hn_type *out, int depth) {
    static const struct {
        const char *word;
        uint32_t kind;
    } others[] = {{"seq", HN_PROTO_TYPE_SEQUENCE},
                  {"map", HN_PROTO_TYPE_MAP},
                  {"optional", HN_PROTO_TYPE_OPTIONAL},
                  {"opaque", HN_PROTO_TYPE_OPAQUE}};
    hn_str word = hn_text_word(p);
    HN_TEXT_CHECK(p, depth <= HN_MAX_DEPTH, p->at, HONE_E_LIMIT,
                  "types are nested more than %d deep", HN_MAX_DEPTH);
    if (hn_text_is_word(word, "sparse_tensor")) {
        p->at += word.n;
        HN_TRY(hn_text_want(p, '('));
        HN_TRY(parse_tensor_type(p, HN_TYPE_SPARSE, out));
        return hn_text_want(p, ')');
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!hn_text_is_word(word, others[i].word)) continue;
        p->at += word.n;
        hn_proto_out inner = {.arena = &p->scratch}, type = inner;
        HN_TRY(hn_text_want(p, '('));
        HN_TRY(parse_inner(p, others[i].kind, &inner, depth));
        HN_TRY(hn_text_want(p, ')'));
        hn_proto_put_bytes(&type, others[i].kind, inner.p, inner.n);
        *out = (hn_type){.kind = HN_TYPE_OTHER, .shape.rank = -1, .other = {type.p, type.n}};
        return inner.nomem || type.nomem ? HN_NOMEM(p->err) : HONE_OK;
    }
    return parse_tensor_type(p, HN_TYPE_TENSOR, out);
}

hone_status hn_text_keep_bytes(hn_text_reader *p, hn_bytes *b) {
    void *copy = hn_arena_alloc(&p->model->arena, b->n);
    if (copy == NULL) return HN_NOMEM(p->err);
    if (b->n > 0) memcpy(copy, b->p, b->n);
    b->p = copy;
    return HONE_OK;
}

/* ---- tensors ---- */

static hone_status check_head(hn_text_reader *p, hn_text_head *h) {
    HN_TEXT_CHECK(p, h->type.kind == HN_TYPE_TENSOR || h->type.kind == HN_TYPE_SPARSE, h->at,
                  HONE_E_FORMAT, "'%.*s' has contents, but its type is not a tensor",
                  hn_text_shown(h->name), h->name.p);
    HN_TEXT_CHECK(p, h->type.dtype != HONE_DTYPE_NONE, h->at, HONE_E_FORMAT,
                  "'%.*s' has contents, but no element type", hn_text_shown(h->name), h->name.p);
    HN_TEXT_CHECK(p, h->type.shape.rank >= 0 && hn_shape_is_const(&h->type.shape, h->dims), h->at,
                  HONE_E_FORMAT, "'%.*s' has contents, so its sizes must be numbers",
                  hn_text_shown(h->name), h->name.p);
    HN_TEXT_CHECK(p, hn_dims_count(h->dims, h->type.shape.rank, &h->n), h->at, HONE_E_FORMAT,
                  "the size of '%.*s' overflows", hn_text_shown(h->name), h->name.p);
    return HONE_OK;
}

static hone_status parse_element(hn_text_reader *p, hone_dtype t, void *data, int64_t i) {
    int64_t v;
    float f;
    double d;
    switch (t) {
        case HONE_DTYPE_STRING: return hn_text_quoted(p, (hn_str *)data + i);
        case HONE_DTYPE_F32:
            HN_TRY(hn_text_float(p, &f));
            memcpy((char *)data + 4 * i, &f, sizeof f);
            return HONE_OK;
        case HONE_DTYPE_F64:
            HN_TRY(hn_text_double(p, &d));
            memcpy((char *)data + 8 * i, &d, sizeof d);
            return HONE_OK;
        default:
            HN_TRY(hn_text_between(p, hn_dtype_min(t), hn_dtype_max(t), hn_dtype_onnx_name(t), &v));
            hn_store_s64(t, data, i, v);
            return HONE_OK;
    }
}

/* From the brace on. */
static hone_status parse_elements(hn_text_reader *p, const hn_text_head *h, void *data, int64_t n) {
    hone_dtype t = hn_text_element(h->type.dtype);
    size_t at = p->at;
    HN_TRY(hn_text_want(p, '{'));
    for (int64_t i = 0; i < n; i++) {
        HN_TEXT_CHECK(p, (i == 0 && hn_text_peek(p) != '}') || (i > 0 && hn_text_accept(p, ',')),
                      at, HONE_E_FORMAT, "'%.*s' has %lld numbers, wanted %lld",
                      hn_text_shown(h->name), h->name.p, (long long)i, (long long)n);
        HN_TRY(parse_element(p, t, data, i));
    }
    HN_TEXT_CHECK(p, hn_text_peek(p) != ',' && (n > 0 || hn_text_peek(p) == '}'), at, HONE_E_FORMAT,
                  "'%.*s' has more than %lld numbers", hn_text_shown(h->name), h->name.p,
                  (long long)n);
    return hn_text_want(p, '}');
}

static hone_status parse_inline(hn_text_reader *p, const hn_text_head *h, hn_tensor **out) {
    int64_t n = h->n;
    bool complex_ = hn_dtype_in(h->type.dtype, HN_DTYPES_COMPLEX);
    /* An element takes a character and a comma at least: no memory for what cannot be there. */
    HN_TEXT_CHECK(p, n <= INT64_MAX / 2 && (uint64_t)n <= (p->n - p->at) / (complex_ ? 4 : 2),
                  p->at, HONE_E_FORMAT, "'%.*s' has fewer than the %lld elements of its type",
                  hn_text_shown(h->name), h->name.p, (long long)n);
    if (h->type.dtype == HONE_DTYPE_STRING) {
        hn_str *texts = hn_arena_array(&p->scratch, (size_t)n, sizeof *texts);
        if (texts == NULL) return HN_NOMEM(p->err);
        HN_TRY(parse_elements(p, h, texts, n));
        return hn_tensor_create_strings(out, p->model->alloc, h->type.shape.rank, h->dims, texts,
                                        p->err);
    }
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, p->model->alloc, HN_MEM_WEIGHTS, h->type.dtype, h->type.shape.rank,
                            h->dims, p->err));
    hone_status status = parse_elements(p, h, t->data, complex_ ? 2 * n : n);
    if (status == HONE_OK)
        *out = t;
    else
        hn_tensor_unref(t);
    return status;
}

/* From the parenthesis on: ("<sha256>", <bytes>). */
static hone_status parse_companion(hn_text_reader *p, const hn_text_head *h, hn_tensor **out) {
    hn_str wanted;
    int64_t bytes;
    size_t size, at = p->at;
    char hex[HN_SHA256_HEX];
    HN_TRY(hn_text_want(p, '('));
    HN_TRY(hn_text_quoted(p, &wanted));
    HN_TRY(hn_text_want(p, ','));
    HN_TRY(hn_text_between(p, 0, INT64_MAX, "int64", &bytes));
    HN_TRY(hn_text_want(p, ')'));
    HN_TEXT_CHECK(p, hn_packed_bytes(h->n, hone_dtype_bits(h->type.dtype), &size), at,
                  HONE_E_FORMAT, "the contents of '%.*s' cannot lie in a companion file",
                  hn_text_shown(h->name), h->name.p);
    HN_TEXT_CHECK(p, size == (uint64_t)bytes, at, HONE_E_FORMAT,
                  "'%.*s' has %lld bytes, its type takes %zu", hn_text_shown(h->name), h->name.p,
                  (long long)bytes, size);
    HN_TEXT_CHECK(p, p->data != NULL, at, HONE_E_FORMAT,
                  "the contents of '%.*s' lie in a companion file, but there is none",
                  hn_text_shown(h->name), h->name.p);
    HN_TEXT_CHECK(p, size <= p->data->bytes - p->data_at, at, HONE_E_FORMAT,
                  "'%.*s' has %zu bytes, but the companion file '%s' has %zu left",
                  hn_text_shown(h->name), h->name.p, size, p->data->path,
                  p->data->bytes - p->data_at);
    const unsigned char *data = p->data->data + p->data_at;
    hn_sha256(data, size, hex);
    HN_TEXT_CHECK(p, hn_text_is_word(wanted, hex), at, HONE_E_FORMAT,
                  "the bytes of '%.*s' in '%s' have the digest %s, wanted %.*s",
                  hn_text_shown(h->name), h->name.p, p->data->path, hex, hn_text_shown(wanted),
                  wanted.p);
    p->data_at += size;
    return hn_tensor_create_mapped(out, p->model->alloc, h->type.dtype, h->type.shape.rank, h->dims,
                                   p->data, data, p->err);
}

/* {values, indices}, each with its type. */
static hone_status parse_sparse(hn_text_reader *p, const hn_text_head *h, hn_tensor **out) {
    hn_tensor *part[2] = {NULL, NULL};
    hone_status status = hn_text_want(p, '{');
    for (int i = 0; i < 2 && status == HONE_OK; i++) {
        if (i > 0) status = hn_text_want(p, ',');
        hn_text_head inner = {.name = h->name, .at = p->at};
        if (status == HONE_OK) status = parse_tensor_type(p, HN_TYPE_TENSOR, &inner.type);
        if (status == HONE_OK) status = hn_text_contents(p, &inner, &part[i]);
    }
    if (status == HONE_OK) status = hn_text_want(p, '}');
    if (status == HONE_OK && part[0]->dtype != h->type.dtype)
        status =
            hn_text_fail(p, h->at, HONE_E_FORMAT, "the values of '%.*s' are %s, its type says %s",
                         hn_text_shown(h->name), h->name.p, hn_dtype_onnx_name(part[0]->dtype),
                         hn_dtype_onnx_name(h->type.dtype));
    if (status == HONE_OK) {
        status = hn_tensor_create_sparse(out, p->model->alloc, h->type.shape.rank, h->dims, part[0],
                                         part[1], p->err);
        if (status == HONE_OK) return HONE_OK;
        hn_text_placed(p, h->at, status);
    }
    hn_tensor_unref(part[0]);
    hn_tensor_unref(part[1]);
    return status;
}

hone_status hn_text_contents(hn_text_reader *p, hn_text_head *h, hn_tensor **out) {
    char c = hn_text_peek(p);
    hn_str word = hn_text_word(p);
    HN_TRY(check_head(p, h));
    if (h->type.kind == HN_TYPE_SPARSE) return parse_sparse(p, h, out);
    HN_TEXT_CHECK(p, c != '[', p->at, HONE_E_UNSUPPORTED,
                  "'%.*s' has external data, which is not read from text", hn_text_shown(h->name),
                  h->name.p);
    if (hn_text_is_word(word, "ext")) {
        p->at += word.n;
        return parse_companion(p, h, out);
    }
    if (c != '{') return hn_text_unexpected(p, "'{' or ext(...)");
    return parse_inline(p, h, out);
}

#include "formats/coded.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "formats/adaptive.h"
#include "formats/rans.h"
#include "formats/wire.h"

enum { MOST_WIDTH = 16, MOST_KINDS = 1 << 16 };
enum { STREAM_RAW, STREAM_SAME, STREAM_RANS };

const char *hn_code_name(hn_code code) {
    static const char *const names[] = {
#define HN_X(name, text) text,
        HN_CODE_LIST(HN_X)
#undef HN_X
    };
    return (unsigned)code < HN_CODE_COUNT_ ? names[code] : "?";
}

void hn_growing_put(hn_growing *g, const void *data, size_t bytes) {
    if (g->failed || bytes == 0) return;
    if (bytes > g->room - g->n) {
        size_t room = 2 * g->room + bytes + 64;
        unsigned char *grown = hn_realloc(g->alloc, g->data, room, HN_MEM_OTHER);
        g->failed = grown == NULL;
        if (grown == NULL) return;
        g->data = grown;
        g->room = room;
    }
    memcpy(g->data + g->n, data, bytes);
    g->n += bytes;
}

static void put_byte(hn_growing *g, size_t v) {
    unsigned char b = (unsigned char)v;
    hn_growing_put(g, &b, 1);
}

void hn_growing_varint(hn_growing *g, uint64_t v) {
    for (; v >= 128; v >>= 7) put_byte(g, (size_t)(v & 127) | 128);
    put_byte(g, (size_t)v);
}

/* ---- encoding ---- */

static void put_stream(hn_growing *g, const unsigned char *src, size_t n) {
    if (n > 0 && memcmp(src, src + 1, n - 1) == 0) {
        put_byte(g, STREAM_SAME);
        put_byte(g, src[0]);
        return;
    }
    size_t bound = hn_rans_bound(n);
    unsigned char *room = hn_alloc(g->alloc, bound + 2 * n, HN_MEM_OTHER);
    g->failed = g->failed || room == NULL;
    if (room == NULL) return;
    size_t coded = hn_rans_encode(src, n, room, room + bound);
    put_byte(g, coded > 0 ? STREAM_RANS : STREAM_RAW);
    if (coded > 0) hn_growing_varint(g, coded);
    hn_growing_put(g, coded > 0 ? room : src, coded > 0 ? coded : n);
    hn_free(g->alloc, room);
}

static void put_planes(hn_growing *g, const unsigned char *src, size_t n, size_t width) {
    unsigned char *plane = hn_alloc(g->alloc, n, HN_MEM_OTHER);
    g->failed = g->failed || plane == NULL;
    put_byte(g, width);
    for (size_t b = 0; b < width && plane != NULL; b++) {
        for (size_t i = 0; i < n; i++) plane[i] = src[i * width + b];
        put_stream(g, plane, n);
    }
    hn_free(g->alloc, plane);
}

/* The different elements of a tensor, and each element by its number among them. */
typedef struct kinds {
    size_t n, width;
    uint64_t *value; /* ascending */
    uint16_t *index; /* by element */
} kinds;

static uint64_t element(const unsigned char *p, size_t width) {
    uint64_t v = 0;
    for (size_t b = 0; b < width; b++) v |= (uint64_t)p[b] << (8 * b);
    return v;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Open addressing. */
typedef struct finder {
    size_t mask; /* of the number of slots, a power of 2 */
    struct {
        uint64_t value;
        uint32_t number; /* + 1; 0: free */
    } slot[];
} finder;

static size_t find_slot(const finder *f, uint64_t v) {
    size_t at = (size_t)((v + 1) * 0x9e3779b97f4a7c15u >> 40) & f->mask;
    while (f->slot[at].number != 0 && f->slot[at].value != v) at = (at + 1) & f->mask;
    return at;
}

static finder *finder_create(size_t most, hn_allocator *alloc) {
    size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    finder *f = hn_alloc_zero(alloc, sizeof *f + slots * sizeof f->slot[0], HN_MEM_OTHER);
    if (f != NULL) f->mask = slots - 1;
    return f;
}

/* k->n becomes 0 if there are too many for a table to pay. */
static bool find_kinds(kinds *k, const unsigned char *src, size_t n, size_t width,
                       hn_allocator *alloc) {
    size_t most = n / 4 < MOST_KINDS ? n / 4 : MOST_KINDS;
    finder *f = finder_create(most, alloc);
    k->width = width;
    k->value = hn_alloc_array(alloc, most, sizeof *k->value, HN_MEM_OTHER);
    k->index = hn_alloc_array(alloc, n, sizeof *k->index, HN_MEM_OTHER);
    bool good = f != NULL && k->value != NULL && k->index != NULL;
    bool fits = width <= 8;
    for (size_t i = 0; i < n && good && fits; i++) {
        uint64_t v = element(src + i * width, width);
        size_t at = find_slot(f, v);
        if (f->slot[at].number != 0) continue;
        fits = k->n < most;
        if (!fits) break;
        f->slot[at].value = v;
        f->slot[at].number = 1;
        k->value[k->n++] = v;
    }
    if (good && !fits) k->n = 0;
    if (good && k->n > 0) {
        qsort(k->value, k->n, sizeof *k->value, by_value);
        for (size_t i = 0; i < k->n; i++)
            f->slot[find_slot(f, k->value[i])].number = (uint32_t)i + 1;
        for (size_t i = 0; i < n; i++)
            k->index[i] =
                (uint16_t)(f->slot[find_slot(f, element(src + i * width, width))].number - 1);
    }
    hn_free(alloc, f);
    return good;
}

static void kinds_deinit(kinds *k, hn_allocator *alloc) {
    hn_free(alloc, k->value);
    hn_free(alloc, k->index);
}

static void put_kinds(hn_growing *g, const kinds *k) {
    put_byte(g, k->width);
    hn_growing_varint(g, k->n);
    for (size_t i = 0; i < k->n; i++)
        for (size_t b = 0; b < k->width; b++) put_byte(g, (size_t)(k->value[i] >> (8 * b) & 255));
}

/* Byte b of the indices; NULL: out of memory. */
static unsigned char *index_bytes(const kinds *k, size_t n, int b, hn_allocator *alloc) {
    unsigned char *bytes = hn_alloc(alloc, n, HN_MEM_OTHER);
    for (size_t i = 0; i < n && bytes != NULL; i++)
        bytes[i] = (unsigned char)(k->index[i] >> (8 * b));
    return bytes;
}

static void put_table(hn_growing *g, const kinds *k, size_t n) {
    put_kinds(g, k);
    for (int b = 0; b < (k->n > 256 ? 2 : 1); b++) {
        unsigned char *bytes = index_bytes(k, n, b, g->alloc);
        g->failed = g->failed || bytes == NULL;
        if (bytes != NULL) put_stream(g, bytes, n);
        hn_free(g->alloc, bytes);
    }
}

/* False: it is longer than the bytes it codes. */
static bool put_adaptive(hn_growing *g, const kinds *k, size_t n, size_t columns) {
    size_t zero = k->n > 0 && k->value[0] == 0 ? 0 : k->n;
    if (columns == 0 || columns > n) columns = n;
    put_kinds(g, k);
    hn_growing_varint(g, columns);
    hn_growing_varint(g, zero);
    unsigned char *bytes = index_bytes(k, n, 0, g->alloc);
    unsigned char *coded = hn_alloc(g->alloc, n + 64, HN_MEM_OTHER);
    hn_adaptive a = {.alloc = g->alloc, .coded = coded, .room = n + 64};
    g->failed = g->failed || bytes == NULL || coded == NULL ||
                hn_adaptive_indices(&a, bytes, n, columns, (int)k->n, (int)zero, NULL) != HONE_OK;
    if (!g->failed) hn_growing_put(g, coded, a.bytes);
    hn_free(g->alloc, coded);
    hn_free(g->alloc, bytes);
    return !a.full;
}

/* Few kinds and many elements make a table; the shorter of both. */
static void put_values(hn_growing *g, const unsigned char *src, size_t n, size_t width) {
    hn_growing other = {.alloc = g->alloc};
    kinds k = {0};
    size_t begun = g->n;
    put_byte(g, HN_CODE_PLANES);
    put_planes(g, src, n, width);
    if (!find_kinds(&k, src, n, width, g->alloc)) g->failed = true;
    if (k.n > 0) put_table(&other, &k, n);
    g->failed = g->failed || other.failed;
    if (other.n > 0 && !g->failed && other.n + 1 < g->n - begun) {
        g->n = begun;
        put_byte(g, HN_CODE_TABLE);
        hn_growing_put(g, other.data, other.n);
    }
    kinds_deinit(&k, g->alloc);
    hn_free(g->alloc, other.data);
}

static void put_sparse(hn_growing *g, const unsigned char *src, size_t n, size_t width,
                       size_t filled) {
    static const unsigned char zeros[MOST_WIDTH];
    hn_growing gaps = {.alloc = g->alloc};
    unsigned char *values = hn_alloc_array(g->alloc, filled, width, HN_MEM_OTHER);
    size_t gap = 0, k = 0;
    g->failed = g->failed || values == NULL;
    for (size_t i = 0; i < n && values != NULL; i++) {
        const unsigned char *p = src + i * width;
        if (memcmp(p, zeros, width) == 0) {
            gap++;
            continue;
        }
        for (; gap >= 255; gap -= 255) put_byte(&gaps, 255);
        put_byte(&gaps, gap);
        gap = 0;
        memcpy(values + k++ * width, p, width);
    }
    g->failed = g->failed || gaps.failed;
    put_byte(g, width);
    hn_growing_varint(g, filled);
    hn_growing_varint(g, gaps.n);
    if (!g->failed) put_stream(g, gaps.data, gaps.n);
    if (!g->failed) put_values(g, values, filled, width);
    hn_free(g->alloc, gaps.data);
    hn_free(g->alloc, values);
}

static size_t count_filled(const unsigned char *src, size_t n, size_t width) {
    static const unsigned char zeros[MOST_WIDTH];
    size_t filled = 0;
    for (size_t i = 0; i < n; i++) filled += memcmp(src + i * width, zeros, width) != 0;
    return filled;
}

/* The shortest so far, and one that is being tried. */
typedef struct contest {
    hn_growing best, now;
    hn_code code;
    size_t most; /* bytes that a code may come to */
    bool failed;
} contest;

static void judge(contest *c, hn_code code, double handicap) {
    c->failed = c->failed || c->now.failed;
    if (!c->failed && c->now.n > 0 && c->now.n <= c->most &&
        (c->code == HN_CODE_RAW || (double)c->now.n * handicap < (double)c->best.n)) {
        hn_growing t = c->best;
        c->best = c->now;
        c->now = t;
        c->code = code;
    }
    c->now.n = 0;
}

/* Adaptive decoding is slower than the rest by far. Where that can be felt it must save something. */
enum { FELT = 1 << 18 }; /* elements; some 20 ms */
#define ADAPTIVE_HANDICAP (33.0 / 32)

static void try_tensor(contest *c, const hn_uncoded *u) {
    size_t width = u->width, n = u->bytes / width;
    hn_allocator *alloc = c->now.alloc;
    kinds k = {0};
    put_planes(&c->now, u->data, n, width);
    judge(c, HN_CODE_PLANES, 1);
    size_t filled = count_filled(u->data, n, width);
    if (filled < n - n / 8) {
        put_sparse(&c->now, u->data, n, width, filled);
        judge(c, HN_CODE_SPARSE, 1);
    }
    if (!find_kinds(&k, u->data, n, width, alloc)) c->failed = true;
    if (k.n > 0 && !c->failed) {
        put_table(&c->now, &k, n);
        judge(c, HN_CODE_TABLE, 1);
    }
    if (k.n > 0 && k.n <= 256 && n <= HN_ADAPTIVE_MOST_INDICES && !c->failed) {
        if (!put_adaptive(&c->now, &k, n, u->columns)) c->now.n = 0;
        judge(c, HN_CODE_ADAPTIVE, n > FELT ? ADAPTIVE_HANDICAP : 1);
    }
    kinds_deinit(&k, alloc);
}

static void try_text(contest *c, const hn_uncoded *u) {
    put_planes(&c->now, u->data, u->bytes, 1);
    judge(c, HN_CODE_PLANES, 1);
    if (u->bytes > HN_ADAPTIVE_MOST_BYTES) return;
    unsigned char *coded = hn_alloc(c->now.alloc, u->bytes, HN_MEM_OTHER);
    hn_adaptive a = {.alloc = c->now.alloc, .coded = coded, .room = u->bytes};
    c->failed = c->failed || coded == NULL ||
                hn_adaptive_bytes(&a, (unsigned char *)u->data, u->bytes, NULL) != HONE_OK;
    if (!c->failed && !a.full) hn_growing_put(&c->now, coded, a.bytes);
    judge(c, HN_CODE_TEXT, 1);
    hn_free(c->now.alloc, coded);
}

hone_status hn_coded_encode(const hn_uncoded *u, hn_growing *out, hn_code *code, hn_error *err) {
    contest c = {.best = {.alloc = out->alloc}, .now = {.alloc = out->alloc}};
    c.most = (size_t)((double)u->bytes * u->most_share);
    hone_status status = HONE_OK;
    if (u->bytes > 0 && c.most > 0) {
        if (u->text)
            try_text(&c, u);
        else
            try_tensor(&c, u);
        status = hn_zstd_encode(u->data, u->bytes, &c.now, err);
        judge(&c, HN_CODE_ZSTD, 1);
    }
    if (status == HONE_OK && !c.failed && c.code != HN_CODE_RAW)
        hn_growing_put(out, c.best.data, c.best.n);
    if (status == HONE_OK && (c.failed || out->failed)) status = HN_NOMEM(err);
    if (status == HONE_OK) *code = c.code;
    hn_free(out->alloc, c.best.data);
    hn_free(out->alloc, c.now.data);
    return status;
}

/* ---- decoding ---- */

typedef struct source {
    const unsigned char *at, *end;
    hn_allocator *alloc;
    hn_error *err;
} source;

static hone_status take_varint(source *s, const char *what, size_t most, size_t *out) {
    uint64_t v;
    HN_CHECK(s->err, hn_wire_varint(&s->at, s->end, &v), HONE_E_FORMAT, "%s is cut off", what);
    HN_CHECK(s->err, v <= most, HONE_E_FORMAT, "%s is %llu, expected at most %zu", what,
             (unsigned long long)v, most);
    *out = (size_t)v;
    return HONE_OK;
}

static hone_status take(source *s, size_t n, const unsigned char **out) {
    *out = s->at;
    HN_CHECK(s->err, n <= (size_t)(s->end - s->at), HONE_E_FORMAT,
             "%zu bytes are wanted, %zu are left", n, (size_t)(s->end - s->at));
    s->at += n;
    return HONE_OK;
}

static hone_status take_width(source *s, size_t n, size_t *width) {
    const unsigned char *p;
    HN_TRY(take(s, 1, &p));
    HN_CHECK(s->err, *p > 0 && *p <= MOST_WIDTH && n % *p == 0, HONE_E_FORMAT,
             "elements have %d bytes each, and all of them %zu", *p, n);
    *width = *p;
    return HONE_OK;
}

/* *out becomes the n bytes of a stream: in the source if they are there, else in `room`. */
static hone_status view_stream(source *s, unsigned char *room, size_t n,
                               const unsigned char **out) {
    const unsigned char *p;
    size_t bytes;
    HN_TRY(take(s, 1, &p));
    *out = room;
    switch (*p) {
        case STREAM_RAW: return take(s, n, out);
        case STREAM_SAME:
            HN_TRY(take(s, 1, &p));
            if (n > 0) memset(room, *p, n);
            return HONE_OK;
        case STREAM_RANS:
            HN_TRY(take_varint(s, "the length of a stream", (size_t)(s->end - s->at), &bytes));
            HN_TRY(take(s, bytes, &p));
            return hn_rans_decode(p, bytes, room, n, s->err);
    }
    return HN_FAIL(s->err, HONE_E_FORMAT, "a stream has the unknown kind %d", *p);
}

static hone_status take_stream(source *s, unsigned char *dst, size_t n) {
    const unsigned char *p;
    HN_TRY(view_stream(s, dst, n, &p));
    if (n > 0 && p != dst) memcpy(dst, p, n);
    return HONE_OK;
}

/* Element i of dst becomes byte i of each plane. */
static void interleave(unsigned char *restrict dst, const unsigned char *const *plane, size_t n,
                       size_t width) {
    if (width == 4) { /* one store for four bytes */
        const unsigned char *a = plane[0], *b = plane[1], *c = plane[2], *d = plane[3];
        for (size_t i = 0; i < n; i++) {
            const unsigned char element[4] = {a[i], b[i], c[i], d[i]};
            memcpy(dst + 4 * i, element, 4);
        }
        return;
    }
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < n; i++) dst[i * width + k] = plane[k][i];
}

static hone_status decode_planes(source *s, unsigned char *dst, size_t bytes) {
    size_t width;
    HN_TRY(take_width(s, bytes, &width));
    size_t n = bytes / width;
    if (width == 1) return take_stream(s, dst, n);
    const unsigned char *plane[MOST_WIDTH];
    unsigned char *room[MOST_WIDTH] = {NULL};
    hone_status status = HONE_OK;
    for (size_t b = 0; b < width && status == HONE_OK; b++) {
        bool raw = s->at < s->end && *s->at == STREAM_RAW;
        room[b] = raw ? NULL : hn_alloc(s->alloc, n, HN_MEM_OTHER);
        if (raw || room[b] != NULL)
            status = view_stream(s, room[b], n, &plane[b]);
        else
            status = HN_NOMEM(s->err);
    }
    if (status == HONE_OK) interleave(dst, plane, n, width);
    for (size_t b = 0; b < width; b++) hn_free(s->alloc, room[b]);
    return status;
}

static hone_status take_kinds(source *s, size_t bytes, size_t *width, size_t *n,
                              const unsigned char **values) {
    HN_TRY(take_width(s, bytes, width));
    HN_TRY(take_varint(s, "the number of kinds", MOST_KINDS, n));
    return take(s, *n * *width, values);
}

/* Indices, whose high bytes may be NULL, become elements. */
static hone_status look_up(source *s, unsigned char *dst, const unsigned char *low,
                           const unsigned char *high, size_t n, const unsigned char *values,
                           size_t kinds_n, size_t width) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = high != NULL ? low[i] | (size_t)high[i] << 8 : low[i];
        most = k > most ? k : most;
        if (k >= kinds_n) break;
        switch (width) {
            case 4: memcpy(dst + 4 * i, values + 4 * k, 4); break;
            case 1: dst[i] = values[k]; break;
            default: memcpy(dst + i * width, values + k * width, width);
        }
    }
    HN_CHECK(s->err, n == 0 || most < kinds_n, HONE_E_FORMAT, "index %zu, there are %zu kinds",
             most, kinds_n);
    return HONE_OK;
}

static hone_status decode_table(source *s, unsigned char *dst, size_t bytes) {
    size_t width, kinds_n;
    const unsigned char *values;
    HN_TRY(take_kinds(s, bytes, &width, &kinds_n, &values));
    size_t n = bytes / width;
    bool two = kinds_n > 256;
    unsigned char *index = hn_alloc_array(s->alloc, n, two ? 2 : 1, HN_MEM_OTHER);
    if (index == NULL) return HN_NOMEM(s->err);
    hone_status status = take_stream(s, index, n);
    if (status == HONE_OK && two) status = take_stream(s, index + n, n);
    if (status == HONE_OK)
        status = look_up(s, dst, index, two ? index + n : NULL, n, values, kinds_n, width);
    hn_free(s->alloc, index);
    return status;
}

static hone_status decode_adaptive(source *s, unsigned char *dst, size_t bytes) {
    size_t width, kinds_n, columns, zero;
    const unsigned char *values;
    HN_TRY(take_kinds(s, bytes, &width, &kinds_n, &values));
    size_t n = bytes / width;
    HN_CHECK(s->err, kinds_n > 0 && kinds_n <= 256, HONE_E_FORMAT, "%zu kinds, expected 1 to 256",
             kinds_n);
    HN_TRY(take_varint(s, "the number of columns", n, &columns));
    HN_TRY(take_varint(s, "the number of the zero", kinds_n, &zero));
    unsigned char *index = hn_alloc(s->alloc, n, HN_MEM_OTHER);
    if (index == NULL) return HN_NOMEM(s->err);
    hn_adaptive a = {.alloc = s->alloc,
                     .decode = true,
                     .coded = (unsigned char *)s->at,
                     .room = (size_t)(s->end - s->at)};
    s->at = s->end;
    hone_status status =
        hn_adaptive_indices(&a, index, n, columns, (int)kinds_n, (int)zero, s->err);
    if (status == HONE_OK) status = look_up(s, dst, index, NULL, n, values, kinds_n, width);
    hn_free(s->alloc, index);
    return status;
}

static hone_status decode_values(source *s, unsigned char *dst, size_t bytes) {
    const unsigned char *p;
    HN_TRY(take(s, 1, &p));
    if (*p == HN_CODE_PLANES) return decode_planes(s, dst, bytes);
    if (*p == HN_CODE_TABLE) return decode_table(s, dst, bytes);
    return HN_FAIL(s->err, HONE_E_FORMAT, "the elements that are not zero are in code %d", *p);
}

/* Puts the values where the gaps say. */
static hone_status scatter(source *s, unsigned char *dst, size_t n, size_t width,
                           const unsigned char *gaps, size_t n_gaps, const unsigned char *values,
                           size_t filled) {
    size_t at = 0, k = 0;
    memset(dst, 0, n * width);
    for (size_t i = 0; i < n_gaps; i++) {
        at += gaps[i];
        if (gaps[i] == 255) continue;
        if (k == filled || at >= n) break;
        memcpy(dst + at++ * width, values + k++ * width, width);
    }
    HN_CHECK(s->err, k == filled && at <= n, HONE_E_FORMAT,
             "the gaps place %zu of %zu elements that are not zero", k, filled);
    return HONE_OK;
}

static hone_status decode_sparse(source *s, unsigned char *dst, size_t bytes) {
    size_t width, filled, n_gaps;
    HN_TRY(take_width(s, bytes, &width));
    size_t n = bytes / width;
    HN_TRY(take_varint(s, "the number of elements that are not zero", n, &filled));
    HN_TRY(take_varint(s, "the number of gaps", filled + n / 255, &n_gaps));
    unsigned char *gaps = hn_alloc(s->alloc, n_gaps, HN_MEM_OTHER);
    unsigned char *values = hn_alloc_array(s->alloc, filled, width, HN_MEM_OTHER);
    hone_status status = gaps != NULL && values != NULL ? HONE_OK : HN_NOMEM(s->err);
    if (status == HONE_OK) status = take_stream(s, gaps, n_gaps);
    if (status == HONE_OK) status = decode_values(s, values, filled * width);
    if (status == HONE_OK) status = scatter(s, dst, n, width, gaps, n_gaps, values, filled);
    hn_free(s->alloc, gaps);
    hn_free(s->alloc, values);
    return status;
}

static hone_status decode_text(source *s, unsigned char *dst, size_t bytes) {
    hn_adaptive a = {.alloc = s->alloc,
                     .decode = true,
                     .coded = (unsigned char *)s->at,
                     .room = (size_t)(s->end - s->at)};
    s->at = s->end;
    return hn_adaptive_bytes(&a, dst, bytes, s->err);
}

hone_status hn_coded_decode(hn_code code, const unsigned char *src, size_t bytes,
                            unsigned char *dst, size_t n, hn_allocator *alloc, hn_error *err) {
    source s = {src, src + bytes, alloc, err};
    hone_status status;
    if (n == 0 && bytes == 0) return HONE_OK;
    switch (code) {
        case HN_CODE_RAW:
            HN_CHECK(err, bytes == n, HONE_E_FORMAT, "%zu bytes, expected %zu", bytes, n);
            memcpy(dst, src, n);
            return HONE_OK;
        case HN_CODE_ZSTD: return hn_zstd_decode(src, bytes, dst, n, alloc, err);
        case HN_CODE_PLANES: status = decode_planes(&s, dst, n); break;
        case HN_CODE_TABLE: status = decode_table(&s, dst, n); break;
        case HN_CODE_SPARSE: status = decode_sparse(&s, dst, n); break;
        case HN_CODE_ADAPTIVE: status = decode_adaptive(&s, dst, n); break;
        case HN_CODE_TEXT: status = decode_text(&s, dst, n); break;
        default:
            return HN_FAIL(err, HONE_E_UNSUPPORTED, "it is in code %d, which a newer version knows",
                           (int)code);
    }
    HN_TRY(status);
    HN_CHECK(err, s.at == s.end, HONE_E_FORMAT, "%zu bytes are left over", (size_t)(s.end - s.at));
    return HONE_OK;
}

#include "report/documents.h"

#if HN_HAVE_JANSSON

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

/* ---- values ---- */

typedef struct reader {
    const hn_document *of;
    hn_arena *arena;
    hn_error *err;
    hone_status status; /* the first thing that went wrong */
} reader;

/* Where a value lies: the key of an object, or an item of the list above. */
typedef struct place {
    const struct place *in; /* NULL: the document itself */
    const char *key;        /* NULL: an item */
    size_t item;
} place;

/* What a value may be. */
typedef struct kind {
    unsigned types; /* bits of json_type */
    const char *wanted;
} kind;
static const kind text = {1u << JSON_STRING, "a text"},
                  number = {1u << JSON_INTEGER | 1u << JSON_REAL, "a number"},
                  boolean = {1u << JSON_TRUE | 1u << JSON_FALSE, "true or false"},
                  dim = {1u << JSON_STRING | 1u << JSON_INTEGER, "a number or a text"},
                  object = {1u << JSON_OBJECT, "an object"}, list = {1u << JSON_ARRAY, "a list"};

static int put_place(const place *at, char *buf, int bytes) {
    if (at == NULL) return 0;
    int n = put_place(at->in, buf, bytes);
    if (n >= bytes) return n;
    if (at->key != NULL)
        n += snprintf(buf + n, (size_t)(bytes - n), "%s%.60s", n > 0 ? "." : "", at->key);
    else
        n += snprintf(buf + n, (size_t)(bytes - n), "[%zu]", at->item);
    return n;
}

static void refuse(reader *r, const place *at, const json_t *v, const kind *k) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    char where[200] = "";
    if (r->status != HONE_OK) return;
    put_place(at, where, sizeof where);
    r->status = HN_FAIL(r->err, HONE_E_FORMAT, "%s: line %zu: %s is %s; %s is wanted", r->of->name,
                        r->of->line, where, names[json_typeof(v)], k->wanted);
}

/* The value if it is of that kind, else NULL; what is neither that nor null is refused. */
static const json_t *checked(reader *r, const place *at, const json_t *v, const kind *k) {
    if (v == NULL || json_is_null(v)) return NULL;
    if ((k->types >> json_typeof(v) & 1) != 0) return v;
    refuse(r, at, v, k);
    return NULL;
}

static const json_t *find(reader *r, const place *in, const json_t *o, const char *key,
                          const kind *k) {
    return checked(r, &(place){in, key, 0}, json_object_get(o, key), k);
}

/* Item i; null is refused as well. */
static const json_t *item_of(reader *r, const place *in, const json_t *l, size_t i, const kind *k) {
    const json_t *v = json_array_get(l, i);
    const place at = {in, NULL, i};
    if (v != NULL && json_is_null(v)) refuse(r, &at, v, k);
    return checked(r, &at, v, k);
}

static const char *text_in(reader *r, const place *in, const json_t *o, const char *key) {
    return json_string_value(find(r, in, o, key, &text));
}

static double number_in(reader *r, const place *in, const json_t *o, const char *key) {
    const json_t *v = find(r, in, o, key, &number);
    return v != NULL ? json_number_value(v) : NAN;
}

static int boolean_in(reader *r, const place *in, const json_t *o, const char *key) {
    const json_t *v = find(r, in, o, key, &boolean);
    return v != NULL ? json_is_true(v) : -1;
}

static void check_dims(reader *r, const place *in, const json_t *o, const char *key) {
    const json_t *l = find(r, in, o, key, &list);
    for (size_t i = 0; i < json_array_size(l); i++) item_of(r, &(place){in, key, 0}, l, i, &dim);
}

static void check_map(reader *r, const place *in, const json_t *o, const char *key) {
    const json_t *map = find(r, in, o, key, &object);
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)map, name, v) {
        checked(r, &(place){&(place){in, key, 0}, name, 0}, v, &number);
    }
}

/* Room for the items of a list; NULL where there are none, or no memory. */
static void *room_for(reader *r, size_t n, size_t bytes) {
    if (n == 0 || r->status != HONE_OK) return NULL;
    void *all = hn_arena_array(r->arena, n, bytes);
    if (all == NULL) r->status = HN_NOMEM(r->err);
    return all;
}

static hn_texts texts_in(reader *r, const place *in, const json_t *o, const char *key) {
    const json_t *l = find(r, in, o, key, &list);
    hn_texts t = {.at = room_for(r, json_array_size(l), sizeof *t.at)};
    for (; t.at != NULL && t.n < json_array_size(l); t.n++)
        t.at[t.n] = json_string_value(item_of(r, &(place){in, key, 0}, l, t.n, &text));
    return t;
}

/* Of a list that lies at `at`. */
static hn_numbers numbers_of(reader *r, const place *at, const json_t *l) {
    hn_numbers t = {.at = room_for(r, json_array_size(l), sizeof *t.at)};
    for (; t.at != NULL && t.n < json_array_size(l); t.n++) {
        const json_t *v = checked(r, &(place){at, NULL, t.n}, json_array_get(l, t.n), &number);
        t.at[t.n] = v != NULL ? json_number_value(v) : NAN;
    }
    return t;
}

static hn_numbers numbers_in(reader *r, const place *in, const json_t *o, const char *key) {
    return numbers_of(r, &(place){in, key, 0}, find(r, in, o, key, &list));
}

static hn_number_lists lists_in(reader *r, const place *in, const json_t *o, const char *key) {
    const json_t *l = find(r, in, o, key, &list);
    const place at = {in, key, 0};
    hn_number_lists t = {.at = room_for(r, json_array_size(l), sizeof *t.at)};
    for (; t.at != NULL && t.n < json_array_size(l); t.n++)
        t.at[t.n] = numbers_of(r, &(place){&at, NULL, t.n}, item_of(r, &at, l, t.n, &list));
    return t;
}

/* ---- records: read_RECORD fills in a struct from an object, or from NULL ---- */

/* clang-format off */
#define VERB(name, type, text) RECORD(name, type)
#define END_VERB(name) END(name)
#define RECORD(name, type)                                                             \
    static void read_##name(reader *r, const place *in, const json_t *o, hn_doc_##name *to) { \
        to->given = o != NULL;
#define END(name) }
/* clang-format on */
#define TEXT(key, v, meaning) to->key = text_in(r, in, o, #key);
#define INT(key, v, meaning) to->key = number_in(r, in, o, #key);
#define COUNT(key, v, meaning) to->key = number_in(r, in, o, #key);
#define NUMBER(key, v, meaning) to->key = number_in(r, in, o, #key);
#define BOOL(key, v, meaning) to->key = boolean_in(r, in, o, #key);
#define DIMS(key, v, meaning) check_dims(r, in, o, #key);
#define TEXTS(key, n, v, meaning) to->key = texts_in(r, in, o, #key);
#define INTS(key, n, v, meaning) to->key = numbers_in(r, in, o, #key);
#define NUMBERS(key, n, v, meaning) to->key = numbers_in(r, in, o, #key);
#define SQUARE(key, n, v, meaning) to->key = lists_in(r, in, o, #key);
#define MAP(key, n, name, v, meaning) check_map(r, in, o, #key);
#define OBJECT(key, record, at, meaning) \
    read_##record(r, &(place){in, #key, 0}, find(r, in, o, #key, &object), &to->key);
#define LIST(key, record, count, item, meaning)                                             \
    to->key.json = find(r, in, o, #key, &list);                                             \
    to->key.at = room_for(r, json_array_size(to->key.json), sizeof *to->key.at);            \
    to->key.n = to->key.at != NULL ? json_array_size(to->key.json) : 0;                     \
    for (size_t i = 0; i < to->key.n; i++) {                                                \
        const place at = {in, #key, 0};                                                     \
        read_##record(r, &(place){&at, NULL, i}, item_of(r, &at, to->key.json, i, &object), \
                      &to->key.at[i]);                                                      \
    }
#define SAME(record, at) read_##record(r, in, o, &to->record);
#define COLUMN(kind, ...) kind(__VA_ARGS__)
#include "schema/all.def"

#include "schema/undef.def"

static hone_status read_values(hn_documents *all, hn_document *d, hn_error *err) {
    reader r = {.of = d, .arena = &all->arena, .err = err};
    d->command = text_in(&r, NULL, d->root, "command");
#define VERB(name_, type, text)                                          \
    if (strcmp(d->verb, #name_) == 0) {                                  \
        d->name_ = room_for(&r, 1, sizeof *d->name_);                    \
        if (d->name_ != NULL) read_##name_(&r, NULL, d->root, d->name_); \
    }
#include "schema/rest.def"

#include "schema/all.def"
    return r.status;
}

/* ---- documents ---- */

void hn_documents_init(hn_documents *d, hn_allocator *alloc) {
    *d = (hn_documents){.alloc = alloc};
    hn_arena_init(&d->arena, alloc, HN_MEM_OTHER);
}

void hn_documents_deinit(hn_documents *d) {
    for (size_t i = 0; i < d->n; i++) json_decref(d->all[i].root);
    hn_free(d->alloc, d->all);
    hn_arena_deinit(&d->arena);
}

static const char *skip_space(const char *at, size_t *line) {
    for (; *at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'; at++) *line += *at == '\n';
    return at;
}

/* The verb: "bench" of "hone.bench/1". */
static hone_status read_schema(hn_document *d, hn_error *err) {
    const char *schema = json_string_value(json_object_get(d->root, "schema"));
    int end = 0;
    HN_CHECK(err, json_is_object(d->root), HONE_E_FORMAT,
             "%s: line %zu: found a list; an object is wanted", d->name, d->line);
    HN_CHECK(err, schema != NULL, HONE_E_FORMAT,
             "%s: line %zu: there is no key schema; the result of a verb of hone is wanted",
             d->name, d->line);
    int version = 0;
    bool read =
        sscanf(schema, "hone.%31[a-z]/%9d%n", d->verb, &version, &end) == 2 && schema[end] == '\0';
    HN_CHECK(err, !read || version <= 1, HONE_E_FORMAT,
             "%s: line %zu: schema is '%.60s', of a newer hone; this one reads hone.%s/1", d->name,
             d->line, schema, d->verb);
    HN_CHECK(err, read && version == 1, HONE_E_FORMAT,
             "%s: line %zu: schema is '%.60s'; hone.VERB/1 is wanted", d->name, d->line, schema);
    return HONE_OK;
}

static hone_status add(hn_documents *all, hn_document *d, hn_error *err) {
    HN_TRY(read_schema(d, err));
    HN_TRY(read_values(all, d, err));
    if (all->n == all->room) {
        size_t room = 2 * all->room + 8;
        hn_document *more = hn_realloc(all->alloc, all->all, room * sizeof *more, HN_MEM_OTHER);
        if (more == NULL) return HN_NOMEM(err);
        all->all = more;
        all->room = room;
    }
    all->all[all->n++] = *d;
    return HONE_OK;
}

/* jansson allocates by malloc, outside the allocator's count; what it takes is a small multiple of
 * the text. */
hone_status hn_documents_read(hn_documents *all, const char *name, const char *at, hn_error *err) {
    size_t line = 1, found = 0;
    const char *end = at + strlen(at);
    for (;; found++) {
        at = skip_space(at, &line);
        if (*at == '\0') break;
        json_error_t e;
        hn_document d = {.name = name, .line = line};
        size_t left = (size_t)(end - at);
        d.root = json_loadb(at, left < INT_MAX ? left : INT_MAX, JSON_DISABLE_EOF_CHECK, &e);
        HN_CHECK(err, d.root != NULL, HONE_E_FORMAT, "%s: line %zu: not JSON: %s", name,
                 line + (e.line > 0 ? (size_t)e.line - 1 : 0), e.text);
        hone_status status = add(all, &d, err);
        if (status != HONE_OK) {
            json_decref(d.root);
            return status;
        }
        for (int i = 0; i < e.position; i++) line += at[i] == '\n';
        at += e.position;
    }
    HN_CHECK(err, found > 0, HONE_E_FORMAT, "%s: there is nothing in it; JSON is wanted", name);
    return HONE_OK;
}

#endif

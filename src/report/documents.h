/* What a report is made of: the objects that verbs print, read and checked by the tables of schema/.
 * Each table is a struct here, hn_doc_RECORD, with a member for every key, so that sections can only
 * ask for keys that there are. What is absent or null is NULL, NaN or -1, and an empty list. */
#ifndef HN_REPORT_DOCUMENTS_H
#define HN_REPORT_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"

typedef struct json_t hn_json; /* of jansson */

typedef struct hn_texts {
    size_t n;
    const char **at;
} hn_texts;

typedef struct hn_numbers {
    size_t n;
    double *at;
} hn_numbers;

typedef struct hn_number_lists {
    size_t n;
    hn_numbers *at;
} hn_number_lists;

/* clang-format off */
#define VERB(name, type, text) RECORD(name, type)
#define END_VERB(name) END(name)
#define RECORD(name, type) typedef struct hn_doc_##name { bool given; /* it is an object */
#define END(name) } hn_doc_##name;
#define TEXT(key, v, meaning) const char *key;
#define INT(key, v, meaning) double key;
#define COUNT(key, v, meaning) double key;
#define NUMBER(key, v, meaning) double key;
#define BOOL(key, v, meaning) int key;
#define OBJECT(key, record, at, meaning) hn_doc_##record key;
#define LIST(key, record, count, item, meaning) \
    struct { size_t n; hn_doc_##record *at; const hn_json *json; } key;
#define TEXTS(key, n, v, meaning) hn_texts key;
#define INTS(key, n, v, meaning) hn_numbers key;
#define NUMBERS(key, n, v, meaning) hn_numbers key;
#define SQUARE(key, n, v, meaning) hn_number_lists key;
#define SAME(record, at) hn_doc_##record record;
#define COLUMN(kind, ...) kind(__VA_ARGS__)
#include "schema/rest.def"

#include "schema/all.def"

#include "schema/undef.def"
/* clang-format on */

typedef struct hn_document {
    const char *name;    /* of the file, for messages */
    size_t line;         /* where the object begins */
    char verb[32];       /* "bench" */
    const char *command; /* NULL: not told */
    hn_json *root;
/* What the verb printed; NULL in documents of others. */
#define VERB(name, type, text) hn_doc_##name *name;
#include "schema/rest.def"

#include "schema/all.def"

#include "schema/undef.def"
} hn_document;

typedef struct hn_documents {
    hn_document *all;
    size_t n, room;
    hn_allocator *alloc;
    hn_arena arena; /* of what the documents hold */
} hn_documents;

void hn_documents_init(hn_documents *d, hn_allocator *alloc);
void hn_documents_deinit(hn_documents *d);
/* Adds the objects of a text, one behind the other. HONE_E_FORMAT, which names the file, the line and
 * the key: it is not JSON, or not what a verb prints. */
hone_status hn_documents_read(hn_documents *d, const char *name, const char *text, hn_error *err);

#endif

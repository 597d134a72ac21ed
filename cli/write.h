/* Makes a function of every table of schema/: write_RECORD(j, it) writes the keys of an open object,
 * write_VERB(j, a, it) a whole object. A verb's file includes this, then the table of the verb,
 * behind the functions and types that the table's values use. schema/README.md lists the rows. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#include "cli.h"

/* clang-format off */
#define VERB(name, type, text)                                           \
    static void write_##name(json *j, const args *a, const type *it) {   \
        results_object(j, a);
#define END_VERB(name)  \
        json_end(j, '}'); \
    }
#define RECORD(name, type) static inline void write_##name(json *j, const type *it) {
#define END(name) }
/* clang-format on */

#define TEXT(key, v, meaning) json_text(j, #key, v);
#define INT(key, v, meaning) json_int(j, #key, v);
#define COUNT(key, v, meaning) json_count(j, #key, v);
#define NUMBER(key, v, meaning) json_number(j, #key, v);
#define BOOL(key, v, meaning) json_bool(j, #key, v);
#define DIMS(key, v, meaning) json_dims(j, #key, v);
#define SAME(record, at) write_##record(j, at);
#define COLUMN(kind, ...) kind(__VA_ARGS__)

#define EACH(n) for (size_t i = 0, end = (size_t)(n); i < end; i++)
#define OBJECT(key, record, at, meaning)  \
    if (json_maybe_object(j, #key, at)) { \
        write_##record(j, at);            \
        json_end(j, '}');                 \
    }
#define MAP(key, n, name, v, meaning) \
    json_begin(j, #key, '{');         \
    EACH(n) json_int(j, name, v);     \
    json_end(j, '}');
#define LIST(key, record, n, at, meaning)         \
    if (json_maybe_list(j, #key, (int64_t)(n))) { \
        EACH(n) {                                 \
            json_begin(j, NULL, '{');             \
            write_##record(j, at);                \
            json_end(j, '}');                     \
        }                                         \
        json_end(j, ']');                         \
    }
#define VALUES(put, key, n, v) \
    json_begin(j, #key, '[');  \
    EACH(n) put(j, NULL, v);   \
    json_end(j, ']');
#define TEXTS(key, n, v, meaning) VALUES(json_text, key, n, v)
#define INTS(key, n, v, meaning) VALUES(json_int, key, n, v)
#define NUMBERS(key, n, v, meaning) VALUES(json_number, key, n, v)
#define SQUARE(key, n, v, meaning)                                 \
    if (json_maybe_list(j, #key, (int64_t)(n))) {                  \
        EACH(n) {                                                  \
            json_begin(j, NULL, '[');                              \
            for (size_t k = 0; k < end; k++) json_int(j, NULL, v); \
            json_end(j, ']');                                      \
        }                                                          \
        json_end(j, ']');                                          \
    }

#include "schema/common.def"

#endif

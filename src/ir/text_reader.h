/* What the files of the text parser share: text_lex.c reads words and numbers, text_tensor.c types
 * and contents, text_parse.c builds the graph. Errors carry line and column. */
#ifndef HN_IR_TEXT_READER_H
#define HN_IR_TEXT_READER_H

#include "ir/text.h"

typedef struct hn_text_reader {
    const char *text;
    size_t n, at;
    hn_model *model;
    hn_arena scratch; /* dies with the reader, after the model if that dies too */
    hn_file *data;    /* the companion, or NULL */
    size_t data_at;
    hn_error *err;
} hn_text_reader;

/* ---- trouble ---- */

/* Puts the line and column of `at` in front of the message; returns status. */
hone_status hn_text_placed(hn_text_reader *p, size_t at, hone_status status);
hone_status hn_text_fail(hn_text_reader *p, size_t at, hone_status code, const char *format, ...)
    HONE_PRINTF(4, 5);
/* "found 'x', wanted ..." about what comes next. */
hone_status hn_text_unexpected(hn_text_reader *p, const char *wanted);

#define HN_TEXT_CHECK(p, cond, at, code, ...)                             \
    do {                                                                  \
        if (!(cond)) return hn_text_fail((p), (at), (code), __VA_ARGS__); \
    } while (0)

/* For "%.*s". */
static inline int hn_text_shown(hn_str s) { return (int)(s.n < 200 ? s.n : 200); }

/* ---- words ---- */

void hn_text_skip(hn_text_reader *p); /* space and comments */
/* The next character that says something, '\0' at the end. Everything below skips to it first. */
char hn_text_peek(hn_text_reader *p);
bool hn_text_accept(hn_text_reader *p, char c);
hone_status hn_text_want(hn_text_reader *p, char c);
/* The identifier that comes next, still to be taken; n 0: there is none. */
hn_str hn_text_word(hn_text_reader *p);
bool hn_text_is_word(hn_str s, const char *word);
/* The text between quotes; a backslash takes away the meaning of the character after it. */
hone_status hn_text_quoted(hn_text_reader *p, hn_str *out);
/* An identifier, or anything in quotes, and where it stands. */
hone_status hn_text_name(hn_text_reader *p, const char *wanted, hn_str *out, size_t *at);
/* Names with dots between them; the last one begins at *last of *out. */
hone_status hn_text_qualified(hn_text_reader *p, hn_str *out, size_t *last);
/* A quoted text without zero bytes, terminated, in the model's memory. */
hone_status hn_text_string(hn_text_reader *p, const char **out);
/* A terminated copy. */
hone_status hn_text_copy(hn_text_reader *p, hn_arena *arena, hn_str s, const char **out);

/* ---- numbers ---- */

bool hn_text_is_float(hn_str word); /* inf, infinity, nan */
/* The characters of a number; *whole when it can be an integer. */
hone_status hn_text_number(hn_text_reader *p, hn_str *out, bool *whole, size_t *at);
/* An integer within [lo, hi]; above INT64_MAX as its bits. */
hone_status hn_text_between(hn_text_reader *p, int64_t lo, uint64_t hi, const char *wanted,
                            int64_t *out);
hone_status hn_text_integer(hn_text_reader *p, int64_t *out);
hone_status hn_text_float(hn_text_reader *p, float *out);
hone_status hn_text_double(hn_text_reader *p, double *out);

/* ---- types ---- */

bool hn_text_type_next(hn_text_reader *p, hone_dtype *dtype); /* as hn_text_is_type */
/* depth 0. Bytes of *out are in scratch memory. */
hone_status hn_text_type(hn_text_reader *p, hn_type *out, int depth);
/* The bytes of its TypeProto, in scratch memory. */
hone_status hn_text_type_proto(hn_text_reader *p, const hn_type *t, hn_bytes *out);
/* Brings bytes to the model's memory. */
hone_status hn_text_keep_bytes(hn_text_reader *p, hn_bytes *b);

/* ---- tensors ---- */

/* What stands before the contents of a tensor. */
typedef struct hn_text_head {
    hn_type type;
    size_t at;
    hn_str name; /* of the tensor or, for messages, the attribute */
    /* Found by hn_text_contents. */
    int64_t dims[HONE_MAX_RANK];
    int64_t n; /* elements */
} hn_text_head;

/* Contents in braces or in the companion; of a sparse tensor, values and indices. */
hone_status hn_text_contents(hn_text_reader *p, hn_text_head *h, hn_tensor **out);

#endif

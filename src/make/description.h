/* A description of a model: text of one layer or block a line (docs/make.md), taken apart into lines.
 *
 * Reading finds the words that begin a line, their labels, and which `end` closes what, so that
 * whoever carries the lines out (interpret.c) can jump over them and go through them again.
 */
#ifndef HN_MAKE_DESCRIPTION_H
#define HN_MAKE_DESCRIPTION_H

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "ir/tensor.h"

/* The longest text, and how deep lines may be nested. */
#define HN_DESCRIPTION_BYTES (1 << 20)
#define HN_DESCRIPTION_DEPTH 32
/* The most blocks that one declares. */
#define HN_DESCRIPTION_BLOCKS 128

/* Words with a meaning of their own: what they begin is closed by `end`, or may stand at the top
 * alone. All other words name a layer or a block. */
#define HN_LINE_LIST(X)            \
    X(NUMBER, "number", false)     \
    X(WHOLE, "whole", false)       \
    X(LIST, "list", false)         \
    X(CHOICE, "choice", false)     \
    X(LET, "let", false)           \
    X(REQUIRE, "require", false)   \
    X(APPLY, "apply", false)       \
    X(INIT, "init", false)         \
    X(BLOCK, "block", true)        \
    X(REPEAT, "repeat", true)      \
    X(IF, "if", true)              \
    X(ELSE, "else", false)         \
    X(RESIDUAL, "residual", true)  \
    X(SHORTCUT, "shortcut", false) \
    X(GATE, "gate", true)          \
    X(END, "end", false)

typedef enum hn_line_kind {
    HN_LINE_EMPTY,
#define HN_X(name, word, opens) HN_LINE_##name,
    HN_LINE_LIST(HN_X)
#undef HN_X
        HN_LINE_LAYER, /* a layer, or a call of a block */
} hn_line_kind;

typedef struct hn_line {
    hn_line_kind kind;
    hn_str label;         /* before the colon; n 0: there is none */
    hn_str word;          /* that the line begins with */
    size_t at, rest, end; /* offsets of the word, of what follows it, and of the end of the line */
    /* Of a line that opens others: the line that begins its second part (`else`, `shortcut`), which is
     * that of its `end` where there is none; and that of its `end`. Else 0. */
    int second, close;
} hn_line;

typedef struct hn_description {
    const char *name; /* of the file or architecture, for messages */
    const char *text;
    size_t n;
    int n_lines;
    hn_line *lines;
    int n_blocks;
    struct {
        hn_str name;
        int line;
    } blocks[HN_DESCRIPTION_BLOCKS];
} hn_description;

/* The text must stay as long as the description. HONE_E_FORMAT: it is malformed. HONE_E_LIMIT: it is
 * too long. */
hone_status hn_description_read(hn_description *d, const char *name, const char *text, size_t n,
                                hn_arena *arena, hn_error *err);

/* Whether a line declares a number, a list or a choice. */
static inline bool hn_line_declares(const hn_line *l) {
    return l->kind == HN_LINE_NUMBER || l->kind == HN_LINE_WHOLE || l->kind == HN_LINE_LIST ||
           l->kind == HN_LINE_CHOICE;
}
/* The line that declares the block of that name; NULL: there is none. */
const hn_line *hn_description_block(const hn_description *d, hn_str name);

/* Puts name, line and column of an offset of the text in front of the message; returns status. */
hone_status hn_description_placed(const hn_description *d, size_t at, hone_status status,
                                  hn_error *err);
/* A failure with a message of its own there. */
hone_status hn_description_fail(const hn_description *d, size_t at, hone_status code, hn_error *err,
                                const char *format, ...) HONE_PRINTF(5, 6);

/* ---- texts ---- */

static inline bool hn_same_text(hn_str a, hn_str b) {
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}
static inline bool hn_is_word(hn_str s, const char *word) {
    return hn_same_text(s, (hn_str){word, strlen(word)});
}
/* For "%.*s" in messages. */
static inline int hn_shown(hn_str s) { return (int)(s.n < 100 ? s.n : 100); }

/* "a, b, c" for messages; what does not fit is left out. Zeroed it is empty. */
typedef struct hn_words {
    size_t n;
    char text[700];
} hn_words;
void hn_words_add(hn_words *w, hn_str word);

#endif

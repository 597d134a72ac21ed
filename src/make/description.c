#include "make/description.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/text.h"

void hn_words_add(hn_words *w, hn_str word) {
    size_t gap = w->n > 0 ? 2 : 0;
    if (w->n + gap + word.n >= sizeof w->text) return;
    memcpy(w->text + w->n, ", ", gap);
    memcpy(w->text + w->n + gap, word.p, word.n);
    w->n += gap + word.n;
    w->text[w->n] = '\0';
}

/* ---- trouble ---- */

hone_status hn_description_placed(const hn_description *d, size_t at, hone_status status,
                                  hn_error *err) {
    if (status == HONE_OK || status == HONE_E_NOMEM) return status;
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = d->text[i] == '\n' ? 1 : column + 1;
        line += d->text[i] == '\n';
    }
    hn_error_context(err, "%s:%zu:%zu", d->name, line, column);
    return status;
}

hone_status hn_description_fail(const hn_description *d, size_t at, hone_status code, hn_error *err,
                                const char *format, ...) {
    char message[HONE_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return hn_description_placed(d, at, hn_fail(err, code, "%s", message), err);
}

/* ---- lines ---- */

static const struct keyword {
    const char *word;
    bool opens;
} keywords[] = {
#define HN_X(name, word, opens) [HN_LINE_##name] = {word, opens},
    HN_LINE_LIST(HN_X)
#undef HN_X
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool is_name(char c) { return hn_text_is_letter(c) || hn_text_is_digit(c); }

static hn_line_kind kind_of(hn_str word) {
    for (int k = HN_LINE_NUMBER; k < HN_LINE_LAYER; k++)
        if (hn_is_word(word, keywords[k].word)) return (hn_line_kind)k;
    return HN_LINE_LAYER;
}

static size_t skip_space(const char *text, size_t at, size_t end) {
    while (at < end && is_space(text[at])) at++;
    return at;
}

/* The end of a label that begins at `at`; `at` itself: there is none. Names with dots between them,
 * and numbers in braces: layer{i}.conv1 */
static size_t label_end(const char *text, size_t at, size_t end) {
    size_t to = at;
    for (; to < end; to++) {
        if (text[to] == '{')
            while (to < end && text[to] != '}') to++;
        else if (!is_name(text[to]) && text[to] != '.')
            break;
    }
    size_t colon = skip_space(text, to < end ? to : end, end);
    return colon < end && text[colon] == ':' ? to : at;
}

static hone_status read_line(hn_description *d, size_t at, size_t end, hn_line *l, hn_error *err) {
    const char *text = d->text;
    const char *comment = memchr(text + at, '#', end - at);
    if (comment != NULL) end = (size_t)(comment - text);
    while (end > at && is_space(text[end - 1])) end--;
    at = skip_space(text, at, end);
    *l = (hn_line){.kind = HN_LINE_EMPTY, .rest = at, .end = end};
    if (at == end) return HONE_OK;
    size_t to = label_end(text, at, end);
    if (to > at) {
        l->label = (hn_str){text + at, to - at};
        at = skip_space(text, skip_space(text, to, end) + 1, end);
    }
    for (to = at; to < end && is_name(text[to]);) to++;
    if (to == at || !hn_text_is_letter(text[at]) || (to < end && !is_space(text[to])))
        return hn_description_fail(d, at, HONE_E_FORMAT, err,
                                   "a line begins with the name of a layer or a block");
    l->word = (hn_str){text + at, to - at};
    l->at = at;
    l->rest = skip_space(text, to, end);
    l->kind = kind_of(l->word);
    if (l->label.n > 0 && l->kind != HN_LINE_LAYER && l->kind != HN_LINE_APPLY)
        return hn_description_fail(d, at, HONE_E_FORMAT, err, "'%.*s' takes no name",
                                   (int)l->word.n, l->word.p);
    return HONE_OK;
}

/* ---- what closes what ---- */

/* Links line i into the lines that are open; *depth of them are. */
static hone_status nest(hn_description *d, int i, int *open, int *depth, hn_error *err) {
    hn_line *l = &d->lines[i], *outer = *depth > 0 ? &d->lines[open[*depth - 1]] : NULL;
    hn_line_kind first = l->kind == HN_LINE_ELSE       ? HN_LINE_IF
                         : l->kind == HN_LINE_SHORTCUT ? HN_LINE_RESIDUAL
                                                       : HN_LINE_EMPTY;
    bool declares = hn_line_declares(l) || l->kind == HN_LINE_BLOCK;
    if (declares && outer != NULL)
        return hn_description_fail(d, l->at, HONE_E_FORMAT, err,
                                   "'%s' stands inside '%s', wanted outside of all others",
                                   keywords[l->kind].word, keywords[outer->kind].word);
    if (first != HN_LINE_EMPTY) {
        if (outer == NULL || outer->kind != first || outer->second >= 0)
            return hn_description_fail(d, l->at, HONE_E_FORMAT, err, "'%s' without '%s' before it",
                                       keywords[l->kind].word, keywords[first].word);
        outer->second = i;
    }
    if (l->kind == HN_LINE_END) {
        if (outer == NULL)
            return hn_description_fail(d, l->at, HONE_E_FORMAT, err,
                                       "'end' closes nothing: nothing is open");
        outer->close = i;
        if (outer->second < 0) outer->second = i;
        --*depth;
    }
    if (l->kind == HN_LINE_EMPTY || l->kind == HN_LINE_LAYER || !keywords[l->kind].opens)
        return HONE_OK;
    if (*depth == HN_DESCRIPTION_DEPTH)
        return hn_description_fail(d, l->at, HONE_E_LIMIT, err, "more than %d lines are open here",
                                   HN_DESCRIPTION_DEPTH);
    l->second = l->close = -1;
    open[(*depth)++] = i;
    return HONE_OK;
}

const hn_line *hn_description_block(const hn_description *d, hn_str name) {
    for (int i = 0; i < d->n_blocks; i++)
        if (hn_same_text(d->blocks[i].name, name)) return &d->lines[d->blocks[i].line];
    return NULL;
}

static hone_status list_block(hn_description *d, int i, hn_error *err) {
    const hn_line *l = &d->lines[i];
    size_t to = l->rest;
    if (l->kind != HN_LINE_BLOCK) return HONE_OK;
    while (to < l->end && is_name(d->text[to])) to++;
    hn_str name = {d->text + l->rest, to - l->rest};
    if (name.n == 0 || !hn_text_is_letter(name.p[0]) || (to < l->end && !is_space(d->text[to])))
        return hn_description_fail(d, l->rest, HONE_E_FORMAT, err,
                                   "'block' needs a name, and its parameters behind a space");
    if (hn_description_block(d, name) != NULL || d->n_blocks == HN_DESCRIPTION_BLOCKS)
        return hn_description_fail(d, l->rest, HONE_E_FORMAT, err,
                                   "this block exists already, or there are more than %d",
                                   HN_DESCRIPTION_BLOCKS);
    d->blocks[d->n_blocks].name = name;
    d->blocks[d->n_blocks++].line = i;
    return HONE_OK;
}

hone_status hn_description_read(hn_description *d, const char *name, const char *text, size_t n,
                                hn_arena *arena, hn_error *err) {
    *d = (hn_description){.name = name, .text = text, .n = n};
    HN_CHECK(err, n <= HN_DESCRIPTION_BYTES, HONE_E_LIMIT,
             "%s: a description of %zu bytes, at most %d are allowed", name, n,
             HN_DESCRIPTION_BYTES);
    size_t lines = 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    d->lines = hn_arena_array(arena, lines, sizeof *d->lines);
    if (d->lines == NULL) return HN_NOMEM(err);
    int open[HN_DESCRIPTION_DEPTH], depth = 0;
    for (size_t at = 0; at <= n;) {
        const char *newline = at < n ? memchr(text + at, '\n', n - at) : NULL;
        size_t end = newline != NULL ? (size_t)(newline - text) : n;
        HN_TRY(read_line(d, at, end, &d->lines[d->n_lines++], err));
        HN_TRY(nest(d, d->n_lines - 1, open, &depth, err));
        HN_TRY(list_block(d, d->n_lines - 1, err));
        at = end + 1;
    }
    if (depth == 0) return HONE_OK;
    const hn_line *l = &d->lines[open[depth - 1]];
    return hn_description_fail(d, l->at, HONE_E_FORMAT, err, "'%s' has no 'end'",
                               keywords[l->kind].word);
}

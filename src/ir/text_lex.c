/* Words and numbers of the text form, and where in the text trouble was. */
#include <stdarg.h>
#include <stdio.h>

#include "base/decimal.h"
#include "ir/text_reader.h"

hone_status hn_text_placed(hn_text_reader *p, size_t at, hone_status status) {
    if (status == HONE_OK || status == HONE_E_NOMEM) return status;
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = p->text[i] == '\n' ? 1 : column + 1;
        line += p->text[i] == '\n';
    }
    hn_error_context(p->err, "%zu:%zu", line, column);
    return status;
}

hone_status hn_text_fail(hn_text_reader *p, size_t at, hone_status code, const char *format, ...) {
    char message[HONE_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return hn_text_placed(p, at, hn_fail(p->err, code, "%s", message));
}

/* ---- words ---- */

void hn_text_skip(hn_text_reader *p) {
    while (p->at < p->n) {
        char c = p->text[p->at];
        if (c == '#')
            while (p->at < p->n && p->text[p->at] != '\n') p->at++;
        else if (c == ' ' || (c >= '\t' && c <= '\r'))
            p->at++;
        else
            return;
    }
}

char hn_text_peek(hn_text_reader *p) {
    hn_text_skip(p);
    return p->at < p->n ? p->text[p->at] : '\0';
}

bool hn_text_accept(hn_text_reader *p, char c) {
    if (hn_text_peek(p) != c || p->at == p->n) return false;
    p->at++;
    return true;
}

hn_str hn_text_word(hn_text_reader *p) {
    hn_text_skip(p);
    const char *s = p->text + p->at;
    size_t n = 0, left = p->n - p->at;
    while (n < left && (hn_text_is_letter(s[n]) || (n > 0 && hn_text_is_digit(s[n])))) n++;
    return (hn_str){s, n};
}

bool hn_text_is_word(hn_str s, const char *word) {
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

hone_status hn_text_unexpected(hn_text_reader *p, const char *wanted) {
    hn_str word = hn_text_word(p);
    unsigned char c = (unsigned char)hn_text_peek(p);
    if (p->at == p->n)
        return hn_text_fail(p, p->at, HONE_E_FORMAT, "found the end of the text, wanted %s",
                            wanted);
    if (word.n > 0)
        return hn_text_fail(p, p->at, HONE_E_FORMAT, "found '%.*s', wanted %s", hn_text_shown(word),
                            word.p, wanted);
    if (c < 0x20 || c >= 0x7f)
        return hn_text_fail(p, p->at, HONE_E_FORMAT, "found the byte %u, wanted %s", c, wanted);
    return hn_text_fail(p, p->at, HONE_E_FORMAT, "found '%c', wanted %s", c, wanted);
}

hone_status hn_text_want(hn_text_reader *p, char c) {
    if (hn_text_accept(p, c)) return HONE_OK;
    return hn_text_unexpected(p, (char[]){'\'', c, '\'', '\0'});
}

hone_status hn_text_quoted(hn_text_reader *p, hn_str *out) {
    if (hn_text_peek(p) != '"') return hn_text_unexpected(p, "a string");
    size_t from = p->at + 1, to = from, escapes = 0;
    for (; to < p->n && p->text[to] != '"'; to++) {
        if (p->text[to] != '\\') continue;
        escapes++;
        to++;
    }
    HN_TEXT_CHECK(p, to < p->n, p->at, HONE_E_FORMAT, "the string that begins here does not end");
    p->at = to + 1;
    *out = (hn_str){p->text + from, to - from};
    if (escapes == 0) return HONE_OK;
    char *copy = hn_arena_alloc(&p->scratch, out->n - escapes + 1);
    if (copy == NULL) return HN_NOMEM(p->err);
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        if (p->text[i] == '\\') i++;
        copy[n++] = p->text[i];
    }
    *out = (hn_str){copy, n};
    return HONE_OK;
}

hone_status hn_text_name(hn_text_reader *p, const char *wanted, hn_str *out, size_t *at) {
    char c = hn_text_peek(p);
    *at = p->at;
    if (c == '"') {
        HN_TRY(hn_text_quoted(p, out));
        HN_TEXT_CHECK(p, out->n == 0 || memchr(out->p, 0, out->n) == NULL, *at, HONE_E_FORMAT,
                      "a name has a zero byte inside");
        return HONE_OK;
    }
    *out = hn_text_word(p);
    if (out->n == 0) return hn_text_unexpected(p, wanted);
    p->at += out->n;
    return HONE_OK;
}

hone_status hn_text_copy(hn_text_reader *p, hn_arena *arena, hn_str s, const char **out) {
    *out = s.n > 0 ? hn_arena_strndup(arena, s.p, s.n) : "";
    return *out != NULL ? HONE_OK : HN_NOMEM(p->err);
}

hone_status hn_text_string(hn_text_reader *p, const char **out) {
    hn_str s;
    size_t at;
    if (hn_text_peek(p) != '"') return hn_text_unexpected(p, "a string");
    HN_TRY(hn_text_name(p, "a string", &s, &at));
    return hn_text_copy(p, &p->model->arena, s, out);
}

/* ---- numbers ---- */

bool hn_text_is_float(hn_str s) {
    static const char *const words[] = {"inf", "infinity", "nan"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t i = 0;
        while (i < s.n && words[k][i] != '\0' && (s.p[i] | 0x20) == words[k][i]) i++;
        if (i == s.n && words[k][i] == '\0') return true;
    }
    return false;
}

hone_status hn_text_number(hn_text_reader *p, hn_str *out, bool *whole, size_t *start) {
    hn_text_skip(p);
    size_t from = *start = p->at, at = from;
    *whole = true;
    if (at < p->n && p->text[at] == '-') at++;
    if (at < p->n && hn_text_is_letter(p->text[at])) {
        p->at = at;
        hn_str word = hn_text_word(p);
        p->at = from;
        if (!hn_text_is_float(word)) return hn_text_unexpected(p, "a number");
        *whole = false;
        at += word.n;
    } else {
        if (at == p->n || !hn_text_is_digit(p->text[at])) return hn_text_unexpected(p, "a number");
        while (at < p->n && (hn_text_is_digit(p->text[at]) || (p->text[at] == '.' && *whole)))
            if (p->text[at++] == '.') *whole = false;
        if (at < p->n && (p->text[at] == 'e' || p->text[at] == 'E')) {
            *whole = false;
            at++;
            if (at < p->n && (p->text[at] == '+' || p->text[at] == '-')) at++;
            while (at < p->n && hn_text_is_digit(p->text[at])) at++;
        }
    }
    *out = (hn_str){p->text + from, at - from};
    p->at = at;
    return HONE_OK;
}

hone_status hn_text_between(hn_text_reader *p, int64_t lo, uint64_t hi, const char *wanted,
                            int64_t *out) {
    hn_str s;
    bool whole;
    size_t at;
    HN_TRY(hn_text_number(p, &s, &whole, &at));
    bool negative = s.p[0] == '-', fits = whole;
    uint64_t v = 0, most = negative ? 0 - (uint64_t)lo : hi;
    for (size_t i = negative; i < s.n && fits; i++)
        fits = !__builtin_mul_overflow(v, 10u, &v) &&
               !__builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v);
    HN_TEXT_CHECK(p, fits && v <= most, at, HONE_E_FORMAT, "found %.*s, wanted %s",
                  hn_text_shown(s), s.p, wanted);
    *out = (int64_t)(negative ? 0 - v : v);
    return HONE_OK;
}

hone_status hn_text_integer(hn_text_reader *p, int64_t *out) {
    return hn_text_between(p, INT64_MIN, INT64_MAX, "int64", out);
}

hone_status hn_text_float(hn_text_reader *p, float *out) {
    hn_str s;
    bool whole;
    size_t at;
    HN_TRY(hn_text_number(p, &s, &whole, &at));
    HN_TEXT_CHECK(p, hn_decimal_f32(s.p, s.n, out), at, HONE_E_FORMAT, "found %.*s, wanted float",
                  hn_text_shown(s), s.p);
    return HONE_OK;
}

hone_status hn_text_double(hn_text_reader *p, double *out) {
    hn_str s;
    bool whole;
    size_t at;
    HN_TRY(hn_text_number(p, &s, &whole, &at));
    HN_TEXT_CHECK(p, hn_decimal_f64(s.p, s.n, out), at, HONE_E_FORMAT, "found %.*s, wanted double",
                  hn_text_shown(s), s.p);
    return HONE_OK;
}

hone_status hn_text_qualified(hn_text_reader *p, hn_str *out, size_t *last) {
    size_t from = p->at, at;
    char *joined = NULL;
    for (int pass = 0; pass < 2; pass++) {
        size_t n = 0;
        p->at = from;
        do {
            hn_str part;
            HN_TRY(hn_text_name(p, "a name", &part, &at));
            if (n > 0 && joined != NULL) joined[n] = '.';
            if (n > 0) n++;
            if (part.n > 0 && joined != NULL) memcpy(joined + n, part.p, part.n);
            *last = n;
            n += part.n;
        } while (hn_text_accept(p, '.'));
        *out = (hn_str){joined, n};
        if (pass == 0) joined = hn_arena_alloc(&p->scratch, n + 1);
        if (joined == NULL) return HN_NOMEM(p->err);
    }
    return HONE_OK;
}

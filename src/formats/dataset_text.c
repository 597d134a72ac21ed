#include "formats/dataset_text.h"

#include <string.h>

#include "base/decimal.h"
#include "base/size.h"

bool hn_text_f64(const char *text, size_t n, double *value) {
    if (n >= 64) return false;     /* the longest spelling of a double that says something has 25 */
    for (size_t i = 0; i < n; i++) /* no inf, nan, hexadecimal */
        if (text[i] == '\0' || strchr("0123456789+-.eE", text[i]) == NULL) return false;
    return hn_decimal_f64(text, n, value);
}

bool hn_text_s64(const char *text, size_t n, int64_t *value) {
    bool negative = n > 0 && text[0] == '-';
    size_t i = negative || (n > 0 && text[0] == '+') ? 1 : 0;
    if (i == n) return false;
    int64_t v = 0;
    for (; i < n; i++) {
        int digit = text[i] - '0';
        if (digit < 0 || digit > 9 || !hn_i64_mul(v, 10, &v) ||
            !hn_i64_add(v, negative ? -digit : digit, &v))
            return false;
    }
    *value = v;
    return true;
}

hn_rows hn_rows_of(const void *data, size_t bytes) {
    const char *at = data;
    if (bytes >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) return (hn_rows){at + 3, at + bytes, 0};
    return (hn_rows){at, at + bytes, 0};
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void trim(const char **at, const char **end) {
    while (*at < *end && is_space(**at)) ++*at;
    while (*at < *end && is_space((*end)[-1])) --*end;
}

bool hn_rows_next(hn_rows *rows, hn_row *row) {
    while (rows->at < rows->end) {
        const char *at = rows->at, *end = memchr(at, '\n', (size_t)(rows->end - at));
        rows->at = end != NULL ? end + 1 : rows->end;
        rows->line++;
        if (end == NULL) end = rows->end;
        trim(&at, &end);
        if (at == end) continue;
        *row = (hn_row){at, end};
        return true;
    }
    return false;
}

bool hn_row_next(hn_row *row, const char **text, size_t *n) {
    if (row->at == NULL) return false;
    const char *at = row->at, *end = memchr(at, ',', (size_t)(row->end - at));
    row->at = end != NULL ? end + 1 : NULL;
    if (end == NULL) end = row->end;
    trim(&at, &end);
    *text = at;
    *n = (size_t)(end - at);
    return true;
}

int64_t hn_row_count(hn_row row) {
    const char *text;
    size_t n;
    int64_t cells = 0;
    while (hn_row_next(&row, &text, &n)) cells++;
    return cells;
}

/* Tables of ranges, which people read and edit: calibration.h shows one. Every line is checked;
 * what is wrong is said with its number. */
#include <math.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/file.h"
#include "compress/calibration.h"

#define KIND "hone-calibration/1"
enum { COLUMN = 14, MOST_NAME = 4096, MOST_BYTES = 1 << 26 };
/* Characters of the shortest line for a value: 0 0 0 0 x */
enum { SHORTEST = 9 };

/* ---- writing ---- */

static bool is_plain(unsigned char c) { return c > ' ' && c != '"' && c != '\\' && c != 0x7f; }

static hone_status put(hn_file_writer *w, const char *text, hn_error *err) {
    return hn_file_write_append(w, text, strlen(text), err);
}

static hone_status put_number(hn_file_writer *w, double x, hn_error *err) {
    char text[HN_DECIMAL_TEXT], padded[HN_DECIMAL_TEXT + COLUMN];
    snprintf(padded, sizeof padded, "%-*s ", COLUMN, hn_decimal_text_f32((float)x, text));
    return put(w, padded, err);
}

/* In quotes where it has characters that could be taken for something else. */
static hone_status put_name(hn_file_writer *w, const char *name, hn_error *err) {
    bool plain = *name != '\0' && *name != '#';
    for (const char *c = name; *c != '\0'; c++) plain &= is_plain((unsigned char)*c);
    if (!plain) HN_TRY(put(w, "\"", err));
    for (const char *c = name; *c != '\0'; c++) {
        char text[8] = {*c, '\0'};
        if (!plain && (*c == '"' || *c == '\\'))
            snprintf(text, sizeof text, "\\%c", *c);
        else if ((unsigned char)*c < ' ' || *c == 0x7f)
            snprintf(text, sizeof text, "\\x%02x", (unsigned)*c);
        HN_TRY(put(w, text, err));
    }
    return put(w, plain ? "\n" : "\"\n", err);
}

static hone_status put_all(const hn_calibration *c, const hn_qtype *t, hn_file_writer *w,
                           hn_error *err) {
    char head[256];
    snprintf(head, sizeof head,
             KIND "\nmethod %s\nsamples %lld\nstable %lld\n%-*s %-*s %-*s %-*s value\n",
             hn_range_method_name(c->method), (long long)c->samples, (long long)c->stable_after,
             COLUMN, "# least", COLUMN, "greatest", COLUMN, "low", COLUMN, "high");
    HN_TRY(put(w, head, err));
    for (int i = 0; i < c->n; i++) {
        const hn_observer *o = &c->v[i];
        hn_range r = hn_observer_range(c, o, t);
        HN_TRY(put_number(w, o->extremes.least, err));
        HN_TRY(put_number(w, o->extremes.greatest, err));
        HN_TRY(put_number(w, r.min, err));
        HN_TRY(put_number(w, r.max, err));
        HN_TRY(put_name(w, o->name, err));
    }
    return HONE_OK;
}

hone_status hn_calibration_write(const hn_calibration *c, const hn_qtype *t, const char *path,
                                 hn_error *err) {
    hn_file_writer *w;
    HN_TRY(hn_file_write_begin(&w, path, NULL, c->alloc, err));
    hone_status status = put_all(c, t, w, err);
    if (status == HONE_OK) return hn_file_write_commit(w, err);
    hn_file_write_abort(w);
    return status;
}

/* ---- reading ---- */

/* What is left of a line. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void skip_space(cursor *c) {
    while (c->at < c->end && is_space(*c->at)) c->at++;
}

/* The next word; of no length at the end. */
static cursor next_word(cursor *c) {
    skip_space(c);
    cursor word = {c->at, c->at};
    while (word.end < c->end && !is_space(*word.end)) word.end++;
    c->at = word.end;
    return word;
}

static bool is_word(cursor word, const char *text) {
    size_t n = strlen(text);
    return (size_t)(word.end - word.at) == n && memcmp(word.at, text, n) == 0;
}

static hone_status read_number(cursor *c, const char *what, double *x, hn_error *err) {
    cursor word = next_word(c);
    float number;
    int shown = (int)(word.end - word.at < 40 ? word.end - word.at : 40);
    HN_CHECK(err, shown > 0, HONE_E_FORMAT, "%s is missing", what);
    HN_CHECK(err,
             hn_decimal_f32(word.at, (size_t)(word.end - word.at), &number) && isfinite(number),
             HONE_E_FORMAT, "%s: '%.*s' is no finite number", what, shown, word.at);
    *x = (double)number;
    return HONE_OK;
}

static hone_status read_count(cursor *c, const char *what, int64_t *n, hn_error *err) {
    cursor word = next_word(c);
    double x;
    bool good = hn_decimal_f64(word.at, (size_t)(word.end - word.at), &x) && x >= 0 && x <= 1e15 &&
                x == floor(x);
    HN_CHECK(err, good, HONE_E_FORMAT, "%s: wanted a whole number of samples", what);
    *n = (int64_t)x;
    return HONE_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind a backslash. */
static hone_status read_escape(cursor *c, char *out, hn_error *err) {
    int high = c->end - c->at > 2 ? hex_digit(c->at[1]) : -1;
    int low = c->end - c->at > 2 ? hex_digit(c->at[2]) : -1;
    if (c->at < c->end && (*c->at == '"' || *c->at == '\\')) {
        *out = *c->at++;
        return HONE_OK;
    }
    HN_CHECK(err, c->at < c->end && *c->at == 'x' && high >= 0 && low >= 0 && high + low > 0,
             HONE_E_FORMAT, "a name has '\\' before something else than '\"', '\\' or xHH");
    *out = (char)(high * 16 + low);
    c->at += 3;
    return HONE_OK;
}

static hone_status read_quoted(cursor *c, char name[MOST_NAME], hn_error *err) {
    size_t n = 0;
    for (c->at++;; n++) {
        HN_CHECK(err, c->at < c->end, HONE_E_FORMAT, "a name has no closing quote");
        HN_CHECK(err, n < MOST_NAME - 1, HONE_E_FORMAT, "a name is longer than %d bytes",
                 MOST_NAME - 1);
        name[n] = *c->at++;
        if (name[n] == '"') break;
        if (name[n] == '\\') HN_TRY(read_escape(c, &name[n], err));
    }
    name[n] = '\0';
    return HONE_OK;
}

static hone_status read_name(cursor *c, char name[MOST_NAME], hn_error *err) {
    skip_space(c);
    if (c->at < c->end && *c->at == '"') return read_quoted(c, name, err);
    cursor word = next_word(c);
    size_t n = (size_t)(word.end - word.at);
    HN_CHECK(err, n > 0, HONE_E_FORMAT, "the name of the value is missing");
    HN_CHECK(err, n < MOST_NAME, HONE_E_FORMAT, "a name is longer than %d bytes", MOST_NAME - 1);
    memcpy(name, word.at, n);
    name[n] = '\0';
    return HONE_OK;
}

static hone_status read_value(hn_calibration *t, cursor *c, hn_error *err) {
    char name[MOST_NAME];
    double least, greatest;
    hn_range r;
    hn_observer *o;
    HN_TRY(read_number(c, "least", &least, err));
    HN_TRY(read_number(c, "greatest", &greatest, err));
    HN_TRY(read_number(c, "low", &r.min, err));
    HN_TRY(read_number(c, "high", &r.max, err));
    HN_CHECK(err, least <= greatest, HONE_E_FORMAT, "least is more than greatest");
    HN_CHECK(err, r.min <= r.max, HONE_E_FORMAT, "low is more than high");
    HN_TRY(read_name(c, name, err));
    HN_TRY(hn_calibration_add(t, name, &o, err));
    o->extremes = (hn_extremes){(float)least, (float)greatest, true};
    o->range = r;
    o->stands = true;
    return HONE_OK;
}

static hone_status read_method(hn_calibration *t, cursor *c, hn_error *err) {
    cursor word = next_word(c);
    int m = 0;
    while (m < HN_RANGE_METHODS && !is_word(word, hn_range_method_name((hn_range_method)m))) m++;
    HN_CHECK(err, m < HN_RANGE_METHODS, HONE_E_FORMAT,
             "method: wanted minmax, average, percentile, entropy or mse");
    t->method = (hn_range_method)m;
    return HONE_OK;
}

static hone_status read_line(hn_calibration *t, cursor c, hn_error *err) {
    HN_CHECK(err, memchr(c.at, '\0', (size_t)(c.end - c.at)) == NULL, HONE_E_FORMAT,
             "a byte is 0: this is no text");
    cursor rest = c, key = next_word(&rest);
    if (key.at == key.end || *key.at == '#') return HONE_OK;
    if (is_word(key, "method"))
        HN_TRY(read_method(t, &rest, err));
    else if (is_word(key, "samples"))
        HN_TRY(read_count(&rest, "samples", &t->samples, err));
    else if (is_word(key, "stable"))
        HN_TRY(read_count(&rest, "stable", &t->stable_after, err));
    else {
        rest = c;
        HN_TRY(read_value(t, &rest, err));
    }
    cursor more = next_word(&rest);
    HN_CHECK(err, more.at == more.end || *more.at == '#', HONE_E_FORMAT,
             "there is more behind the end of the line");
    return HONE_OK;
}

static cursor next_line(cursor *file) {
    const char *stop = memchr(file->at, '\n', (size_t)(file->end - file->at));
    cursor line = {file->at, stop != NULL ? stop : file->end};
    file->at = stop != NULL ? stop + 1 : file->end;
    return line;
}

static hone_status read_lines(hn_calibration *t, const char *path, cursor file, hn_error *err) {
    for (int64_t number = 2; file.at < file.end; number++) {
        hone_status status = read_line(t, next_line(&file), err);
        if (status == HONE_OK) continue;
        hn_error_context(err, "%s:%lld", path, (long long)number);
        return status;
    }
    return HONE_OK;
}

static hone_status read_table(hn_calibration **out, const char *path, cursor file,
                              hn_allocator *alloc, hn_error *err) {
    hn_calibration *t;
    cursor head = next_line(&file);
    HN_CHECK(err, is_word(next_word(&head), KIND), HONE_E_FORMAT,
             "%s: not a calibration table: its first line is not '" KIND "'", path);
    int n = 0;
    for (cursor c = file; c.at < c.end;) {
        cursor line = next_line(&c);
        n += line.end - line.at >= SHORTEST;
    }
    HN_TRY(hn_calibration_create(&t, n, alloc, err));
    hone_status status = read_lines(t, path, file, err);
    if (status != HONE_OK)
        hn_calibration_destroy(t);
    else
        *out = t;
    return status;
}

hone_status hn_calibration_read(hn_calibration **out, const char *path, hn_allocator *alloc,
                                hn_error *err) {
    hn_file *f;
    HN_TRY(hn_file_open(&f, path, false, alloc, err));
    cursor file = {(const char *)f->data, (const char *)f->data + f->bytes};
    hone_status status;
    if (f->bytes > MOST_BYTES)
        status = HN_FAIL(err, HONE_E_LIMIT, "%s: %zu bytes, at most %d are read as a table", path,
                         f->bytes, MOST_BYTES);
    else
        status = read_table(out, path, file, alloc, err);
    hn_file_unref(f);
    return status;
}

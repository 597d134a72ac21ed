/* What a verb found, as JSON in memory. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Length of the UTF-8 character at s, or 0 when there is none. */
static int utf8(const unsigned char *s) {
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : (s[0] & 0xf0) == 0xe0       ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    /* Overlong forms, surrogates, and what is beyond U+10FFFF. */
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
    return n;
}

static void put_string(FILE *to, const char *v) {
    putc('"', to);
    for (const unsigned char *s = (const unsigned char *)v; *s != '\0';) {
        int n = utf8(s);
        if (n == 0)
            fputs("\\ufffd", to);
        else if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(to, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)n, to);
        s += n > 0 ? n : 1;
    }
    putc('"', to);
}

const char *unwritable(const char *path) {
    struct stat there;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode)) return strerror(EISDIR);
    if (*name == '\0') return strerror(ENOENT);
    char *folder = must(slash != NULL ? strndup(path, (size_t)(name - path)) : strdup("."));
    int wrong = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    return wrong != 0 ? strerror(wrong) : NULL;
}

exit_code write_by(const char *path, bool (*put)(FILE *to, void *ctx), void *ctx) {
    struct stat there;
    char *part = NULL, *real = realpath(path, NULL);
    const char *to = real != NULL ? real : path; /* a link stays one */
    bool renamed = stat(to, &there) != 0 || S_ISREG(there.st_mode);
    if (renamed && asprintf(&part, "%s.tmp-%lx", to, (long)getpid()) < 0) must(NULL);
    if (renamed) unlink(part);
    FILE *f = fopen(renamed ? part : to, renamed ? "wex" : "we");
    bool written = f != NULL && put(f, ctx);
    int wrong = errno;
    if (f != NULL && fclose(f) != 0 && written) written = false, wrong = errno;
    if (written && renamed && rename(part, to) != 0) written = false, wrong = errno;
    if (!written) complain("%s: cannot be written (%s)", path, strerror(wrong));
    if (!written && renamed) unlink(part);
    free(part);
    free(real);
    return written ? EXIT_DONE : EXIT_RESOURCE;
}

typedef struct bytes_of_text {
    const char *text;
    size_t n;
} bytes_of_text;

static bool put_bytes(FILE *to, void *ctx) {
    const bytes_of_text *b = ctx;
    return fwrite(b->text, 1, b->n, to) == b->n;
}

exit_code write_whole(const char *path, const char *text, size_t bytes) {
    return write_by(path, put_bytes, &(bytes_of_text){text, bytes});
}

exit_code results_check(const args *a) {
    const char *path = value_of(a, "--report"), *why = path != NULL ? unwritable(path) : NULL;
    if (why == NULL) return EXIT_DONE;
    complain("--report %s: cannot be made (%s)", path, why);
    return EXIT_INPUT;
}

void results_begin(json *j, const args *a) {
    *j = (json){.print = has(a, "--json")};
    j->to = must(open_memstream(&j->text, &j->bytes));
}

void results_object(json *j, const args *a) {
    char schema[64];
    snprintf(schema, sizeof schema, "hone.%s/1", a->verb->name);
    json_begin(j, NULL, '{');
    json_text(j, "schema", schema);
    json_text(j, "command", a->command);
}

exit_code results_end(json *j, const args *a) { return results_end_at(j, value_of(a, "--report")); }

exit_code results_end_at(json *j, const char *path) {
    const char *text = j->text;
    exit_code code = EXIT_DONE;
    hone_error err;
    if (path != NULL && j->bytes > 0 && hone_report_write(&text, 1, path, NULL, &err) != HONE_OK)
        code = fail_with(&err);
    fclose(j->to);
    free(j->text);
    return code;
}

static void lead(json *j, const char *key) {
    if (j->depth > 0 && j->comma[j->depth - 1]) fputs(", ", j->to);
    if (j->depth > 0) j->comma[j->depth - 1] = true;
    if (key == NULL) return;
    put_string(j->to, key);
    fputs(": ", j->to);
}

void json_begin(json *j, const char *key, char bracket) {
    lead(j, key);
    putc(bracket, j->to);
    j->comma[j->depth++] = false;
}

static void end_line(json *j) {
    size_t before = j->bytes;
    putc('\n', j->to);
    if (fflush(j->to) != 0 || ferror(j->to)) must(NULL);
    if (j->print) fwrite(j->text + before, 1, j->bytes - before, stdout);
}

void json_end(json *j, char bracket) {
    putc(bracket, j->to);
    if (--j->depth == 0) end_line(j);
}

void json_text(json *j, const char *key, const char *v) {
    lead(j, key);
    if (v == NULL)
        fputs("null", j->to);
    else
        put_string(j->to, v);
}

void json_number(json *j, const char *key, double v) {
    lead(j, key);
    if (isfinite(v))
        fprintf(j->to, "%.9g", v);
    else
        fputs("null", j->to);
}

void json_int(json *j, const char *key, int64_t v) {
    lead(j, key);
    fprintf(j->to, "%lld", (long long)v);
}

void json_count(json *j, const char *key, int64_t v) {
    if (v >= 0)
        json_int(j, key, v);
    else
        json_text(j, key, NULL);
}

void json_bool(json *j, const char *key, int v) {
    lead(j, key);
    fputs(v < 0 ? "null" : v > 0 ? "true" : "false", j->to);
}

static bool open_known(json *j, const char *key, char bracket, bool known) {
    if (known)
        json_begin(j, key, bracket);
    else
        json_text(j, key, NULL);
    return known;
}

bool json_maybe_object(json *j, const char *key, const void *at) {
    return open_known(j, key, '{', at != NULL);
}

bool json_maybe_list(json *j, const char *key, int64_t n) {
    return open_known(j, key, '[', n >= 0);
}

void json_dims(json *j, const char *key, const hone_value_info *v) {
    if (!json_maybe_list(j, key, v->rank)) return;
    for (int i = 0; i < v->rank; i++) {
        if (v->dims[i] >= 0)
            json_int(j, NULL, v->dims[i]);
        else
            json_text(j, NULL, v->dim_names[i]);
    }
    json_end(j, ']');
}

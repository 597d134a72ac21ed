#include <math.h>

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

static void put_string(const char *v) {
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)v; *s != '\0';) {
        int n = utf8(s);
        if (n == 0)
            fputs("\\ufffd", stdout);
        else if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            printf("\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)n, stdout);
        s += n > 0 ? n : 1;
    }
    putchar('"');
}

static void lead(json *j, const char *key) {
    if (j->depth > 0 && j->comma[j->depth - 1]) fputs(", ", stdout);
    if (j->depth > 0) j->comma[j->depth - 1] = true;
    if (key == NULL) return;
    put_string(key);
    fputs(": ", stdout);
}

void json_begin(json *j, const char *key, char bracket) {
    lead(j, key);
    putchar(bracket);
    j->comma[j->depth++] = false;
}

void json_end(json *j, char bracket) {
    putchar(bracket);
    if (--j->depth == 0) putchar('\n');
}

void json_text(json *j, const char *key, const char *v) {
    lead(j, key);
    if (v == NULL)
        fputs("null", stdout);
    else
        put_string(v);
}

void json_number(json *j, const char *key, double v) {
    lead(j, key);
    if (isfinite(v))
        printf("%.9g", v);
    else
        fputs("null", stdout);
}

void json_int(json *j, const char *key, int64_t v) {
    lead(j, key);
    printf("%lld", (long long)v);
}

void json_count(json *j, const char *key, int64_t v) {
    if (v >= 0)
        json_int(j, key, v);
    else
        json_text(j, key, NULL);
}

void json_bound(json *j, const hone_memory_use *use) {
    json_count(j, "bound_bytes", use->bound_bytes < SIZE_MAX ? (int64_t)use->bound_bytes : -1);
}

void json_bool(json *j, const char *key, bool v) {
    lead(j, key);
    fputs(v ? "true" : "false", stdout);
}

void json_value_info(json *j, const hone_value_info *v) {
    json_text(j, "name", v->name);
    json_text(j, "dtype", v->dtype != HONE_DTYPE_NONE ? hone_dtype_name(v->dtype) : NULL);
    if (v->rank < 0) {
        json_text(j, "dims", NULL);
        return;
    }
    json_begin(j, "dims", '[');
    for (int i = 0; i < v->rank; i++) {
        if (v->dims[i] >= 0)
            json_int(j, NULL, v->dims[i]);
        else
            json_text(j, NULL, v->dim_names[i]);
    }
    json_end(j, ']');
}

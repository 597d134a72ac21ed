#include "base/decimal.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t plain_locale;
static void make_locale(void) { plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static bool is_plain(char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || (c | 0x20) == 'e';
}

/* As f32 or f64; copies because strtod wants a terminator. */
static bool parse(const char *text, size_t n, bool narrow, double *value) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    char copy[HN_DECIMAL_LONGEST + 1], *end;
    if (n == 0 || n > HN_DECIMAL_LONGEST || plain_locale == (locale_t)0) return false;
    if (memchr(" \t\n\v\f\r", text[0], 6) != NULL) return false; /* strtod would skip them */
    memcpy(copy, text, n);
    copy[n] = '\0';
    double v =
        narrow ? (double)strtof_l(copy, &end, plain_locale) : strtod_l(copy, &end, plain_locale);
    if (end != copy + n) return false;
    bool digits = true;
    for (size_t i = 0; i < n && digits; i++) digits = is_plain(copy[i]);
    if (digits && isinf(v)) return false;
    *value = v;
    return true;
}

bool hn_decimal_f64(const char *text, size_t n, double *value) {
    return parse(text, n, false, value);
}

bool hn_decimal_f32(const char *text, size_t n, float *value) {
    double v;
    if (!parse(text, n, true, &v)) return false;
    *value = (float)v;
    return true;
}

/* The fewest digits that read back as v, the first of them worth 10^*exponent. */
static int shortest_digits(double v, bool narrow, char digits[20], int *exponent) {
    for (int places = 0;; places++) {
        char text[48];
        double back;
        int n = 0;
        snprintf(text, sizeof text, "%.*e", places, v);
        const char *e = strchr(text, 'e');
        for (const char *c = text; c < e; c++) /* whatever stands for the point is left out */
            if (*c >= '0' && *c <= '9') digits[n++] = *c;
        *exponent = atoi(e + 1);
        char plain[48];
        snprintf(plain, sizeof plain, "%.*se%d", n, digits, *exponent - n + 1);
        bool same = parse(plain, strlen(plain), narrow, &back) && back == v;
        if (!same && places < (narrow ? 8 : 16)) continue;
        return n;
    }
}

static char *text_of(double v, bool narrow, char *buf) {
    const char *sign = signbit(v) ? "-" : "";
    if (isnan(v) || isinf(v) || v == 0) {
        snprintf(buf, HN_DECIMAL_TEXT, "%s%s", sign, isnan(v) ? "nan" : isinf(v) ? "inf" : "0");
        return buf;
    }
    char d[20];
    int e, n = shortest_digits(fabs(v), narrow, d, &e);
    int scientific = n + (n > 1) + (e > -100 && e < 100 ? 4 : 5);
    int plain = e < 0 ? n + 1 - e : e >= n - 1 ? e + 1 : n + 1;
    if (plain > scientific)
        snprintf(buf, HN_DECIMAL_TEXT, "%s%c%s%.*se%+03d", sign, d[0], n > 1 ? "." : "", n - 1,
                 d + 1, e);
    else if (e < 0)
        snprintf(buf, HN_DECIMAL_TEXT, "%s0.%.*s%.*s", sign, -e - 1, "0000000", n, d);
    else if (e >= n - 1)
        snprintf(buf, HN_DECIMAL_TEXT, "%s%.*s%.*s", sign, n, d, e - n + 1, "0000000");
    else
        snprintf(buf, HN_DECIMAL_TEXT, "%s%.*s.%.*s", sign, e + 1, d, n - e - 1, d + e + 1);
    return buf;
}

char *hn_decimal_text_f64(double value, char buf[HN_DECIMAL_TEXT]) {
    return text_of(value, false, buf);
}

char *hn_decimal_text_f32(float value, char buf[HN_DECIMAL_TEXT]) {
    return text_of((double)value, true, buf);
}

/* Floating-point numbers as decimal text, the same in every locale: the program hone is part of may
 * have set one whose decimal point is a comma. */
#ifndef HN_BASE_DECIMAL_H
#define HN_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* The number that all of text[0, n) spells, in the ways of C's strtod; rounded once. False when it
 * spells none, is longer than HN_DECIMAL_LONGEST, or is finite but too large for the type. */
#define HN_DECIMAL_LONGEST 1000
bool hn_decimal_f64(const char *text, size_t n, double *value);
bool hn_decimal_f32(const char *text, size_t n, float *value);

/* The shortest text that reads back as the same number: "0.1", "1e+20", "-0", "inf", "nan". A NaN
 * keeps its sign and nothing else. Returns buf. */
#define HN_DECIMAL_TEXT 32
char *hn_decimal_text_f64(double value, char buf[HN_DECIMAL_TEXT]);
char *hn_decimal_text_f32(float value, char buf[HN_DECIMAL_TEXT]);

#endif

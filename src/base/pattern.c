#include "base/pattern.h"

#include <stddef.h>

static const char *after_letter(const char *s) {
    s++;
    while ((*s & 0xc0) == 0x80) s++;
    return s;
}

bool hn_pattern_matches(const char *pattern, const char *name) {
    const char *star = NULL, *resume = NULL; /* behind the last *, in pattern and name */
    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
        } else if (*pattern == '?') {
            pattern++;
            name = after_letter(name);
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

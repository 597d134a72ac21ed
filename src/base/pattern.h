/* Names that people match with * and ?. All other letters stand for themselves: names of nodes are
 * full of brackets and backslashes. */
#ifndef HN_BASE_PATTERN_H
#define HN_BASE_PATTERN_H

#include <stdbool.h>

/* * stands for any letters, none too, and ? for one letter of UTF-8. */
bool hn_pattern_matches(const char *pattern, const char *name);

#endif

#include "base/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void names(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"conv1", "conv1", true},
        {"conv1", "conv10", false},
        {"conv10", "conv1", false},
        {"*", "", true},
        {"*", "any/thing", true},
        {"**", "x", true},
        {"conv*", "conv", true},
        {"conv*", "conv/weights", true},
        {"conv*", "a/conv", false},
        {"*conv", "a/conv/conv", true},
        {"*conv", "conv/a", false},
        {"*ab*ab", "abaab", true},
        {"*ab*abc", "ababab", false},
        {"a*b*c", "a-b-b-c", true},
        {"?", "", false},
        {"?", "x", true},
        {"?", "xy", false},
        {"?", "\xc3\xa4", true},
        {"l?yer", "l\xc3\xa4yer", true},
        {"*?", "x", true},
        {"*?", "", false},
        /* what other languages of patterns give a meaning */
        {"layer[0]", "layer[0]", true},
        {"layer[0]", "layer0", false},
        {"layer[*", "layer[12]/MatMul", true},
        {"a\\b", "a\\b", true},
        {"a\\*", "a*", false},
        {"{a,b}", "a", false},
        {".*", "x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hn_pattern_matches(rows[i].pattern, rows[i].name) != rows[i].matches)
            fail_msg("'%s' and '%s': %s is wanted", rows[i].pattern, rows[i].name,
                     rows[i].matches ? "a match" : "no match");
}

/* What takes trying every end of every * exponentially long. */
static void many_stars(void **state) {
    (void)state;
    enum { LETTERS = 2000, STARS = 40 };
    char name[LETTERS + 1], pattern[2 * STARS + 2];
    memset(name, 'a', LETTERS);
    name[LETTERS] = '\0';
    for (int i = 0; i < STARS; i++) memcpy(pattern + 2 * i, "*a", 2);
    strcpy(pattern + 2 * STARS, "b");
    assert_false(hn_pattern_matches(pattern, name));
    pattern[2 * STARS] = '\0';
    assert_true(hn_pattern_matches(pattern, name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(many_stars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

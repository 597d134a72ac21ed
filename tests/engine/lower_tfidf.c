/* TfIdfVectorizer through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* Items are -2 to 1: single ones, pairs and triples that share beginnings, one of them twice. */
#define POOL                                                              \
    "ngram_counts = [0, 3, 9], ngram_indexes = [8, 0, 1, 2, 3, 4, 5, 3]," \
    " pool_int64s = [0, 1, 5, 0, 1, -1, 0, 0, 1, 0, 1, -1, 1, 0, 0]"

static void counts(void **state) {
    (void)state;
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    static const char weights[] = ", weights = [0.5, 2.0, 3.0, 1.0, 7.0, 0.25, 1.5, 4.0]";
    for (int i = 0; i < 36; i++) {
        char text[640];
        int shortest = i % 3 + 1, skips = i % 4;
        snprintf(text, sizeof text,
                 "m (%s[4,30] x) => (float[4,9] y) { y = TfIdfVectorizer <mode = \"%s\","
                 " min_gram_length = %d, max_gram_length = 3, max_skip_count = %d, " POOL
                 "%s> (x) }",
                 i % 2 ? "int64" : "int32", modes[i / 3 % 3], shortest == 3 ? 1 : shortest, skips,
                 i / 2 % 2 ? weights : "");
        engine_agrees(text, "count_grams TfIdfVectorizer");
    }
    engine_agrees(
        "m (int64[50] x) => (float[9] y) { y = TfIdfVectorizer <mode = \"TF\", min_gram_length = 1,"
        " max_gram_length = 1, max_skip_count = 9223372036854775807, " POOL "> (x) }",
        "count_grams TfIdfVectorizer");
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (int64[2,9] x) => (float[2,9] y) { y = TfIdfVectorizer <mode = \"TF\","
        " min_gram_length = 1, max_gram_length = 2, max_skip_count = 0, " POOL "> (x) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

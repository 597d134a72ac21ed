#include "support/op_test.h"

/* Items 2 3 5 4, pairs (5 6) (7 8) (6 7), in columns of their own order. */
#define POOL                                                   \
    "ngram_counts=[0, 4] ngram_indexes=[6, 5, 4, 3, 2, 1, 0] " \
    "pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7]"
#define LENGTHS(min, max, skip) \
    " min_gram_length=" #min " max_gram_length=" #max " max_skip_count=" #skip
#define WEIGHTS " weights=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]"

static void counts(void **state) {
    (void)state;
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0),
           .in = {"s64[7]{5 6 7 8 5 6 5}"}, .out = {"f32[7]{1 1 2 0 3 0 0}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(2, 2, 0),
           .in = {"s32[2, 3]{5 6 7 7 8 9}"}, .out = {"f32[2, 7]{1 0 1 0 0 0 0 0 1 0 0 0 0 0}"});
    /* Pairs at distances 1 to 3, single items once. */
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 2),
           .in = {"s64[5]{5 0 6 6 7}"}, .out = {"f32[7]{2 0 2 0 1 0 0}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 1, 9223372036854775807),
           .in = {"s64[]{5}"}, .out = {"f32[7]{0 0 0 0 1 0 0}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(2, 2, 9223372036854775807),
           .in = {"s64[3]{5 0 6}"}, .out = {"f32[7]{0 0 1 0 0 0 0}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0), .in = {"s64[0]{}"},
           .out = {"f32[7]{0 ...}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0), .in = {"s64[0, 3]{}"},
           .out = {"f32[0, 7]{}"});
    /* Of the same n-gram twice, the last one counts. */
    OP_RUN(
        "TfIdfVectorizer",
        .attrs = "mode='TF' ngram_counts=[0] ngram_indexes=[0, 1, 2] pool_int64s=[4, 9, 4]" LENGTHS(
            1, 1, 0),
        .in = {"s64[3]{4 4 9}"}, .out = {"f32[3]{0 1 2}"});
}

static void weights(void **state) {
    (void)state;
    /* Weight k belongs to n-gram k, not to column k. */
    OP_RUN("TfIdfVectorizer", .attrs = "mode='TFIDF' " POOL LENGTHS(1, 2, 0) WEIGHTS,
           .in = {"s64[7]{5 6 7 8 5 6 5}"}, .out = {"f32[7]{7 6 10 0 9 0 0}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='IDF' " POOL LENGTHS(1, 2, 0) WEIGHTS,
           .in = {"s64[7]{5 6 7 8 5 6 5}"}, .out = {"f32[7]{7 6 5 0 3 0 0}"});
    OP_RUN("TfIdfVectorizer", .attrs = "mode='IDF' " POOL LENGTHS(1, 2, 0),
           .in = {"s64[7]{5 6 7 8 5 6 5}"}, .out = {"f32[7]{1 1 1 0 1 0 0}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0), .in = {"s64[n, c]"},
             .out = {"f32[n, 7]"});
    OP_INFER("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0), .in = {"s64[c]"},
             .out = {"f32[7]"});
    OP_INFER("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0), .in = {"s64"},
             .out = {"f32"});
}

static void errors(void **state) {
    (void)state;
    OP_INFER("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, 0), .in = {"s64[1, 1, 1]"},
             .error = "rank 3");
    OP_INFER("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(2, 3, 0), .in = {"s64"},
             .error = "n-grams of length 2 to 3 are asked for, ngram_counts has 1 to 2");
    OP_INFER("TfIdfVectorizer", .attrs = "mode='TF' " POOL LENGTHS(1, 2, -1), .in = {"s64"},
             .error = "max_skip_count is -1");
    OP_INFER("TfIdfVectorizer",
             .attrs = "mode='TF' ngram_counts=[0, 1] ngram_indexes=[0] pool_int64s=[1, 2]" LENGTHS(
                 1, 1, 0),
             .in = {"s64"}, .error = "the 2-grams are entries 1 to 2 of a pool of 2");
    OP_INFER(
        "TfIdfVectorizer",
        .attrs = "mode='TF' ngram_counts=[0] ngram_indexes=[0] pool_int64s=[1, 2]" LENGTHS(1, 1, 0),
        .in = {"s64"}, .error = "ngram_indexes has 1 entries, the pool 2 n-grams");
    OP_INFER(
        "TfIdfVectorizer",
        .attrs = "mode='TF' ngram_counts=[0] ngram_indexes=[-1] pool_int64s=[1]" LENGTHS(1, 1, 0),
        .in = {"s64"}, .error = "entry 0 of ngram_indexes is -1");
    OP_INFER("TfIdfVectorizer",
             .attrs =
                 "mode='TF' ngram_counts=[0] ngram_indexes=[0] pool_int64s=[1] weights=[1.0, "
                 "2.0]" LENGTHS(1, 1, 0),
             .in = {"s64"}, .error = "weights has 2 entries, ngram_indexes 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(weights),
        cmocka_unit_test(shapes),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

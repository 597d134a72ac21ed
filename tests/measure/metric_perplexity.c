#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

#define T 1.0986122886681098 /* log 3: three times as likely */

/* Two texts of three places over two tokens. */
static const double scores[] = {0, T, /**/ T, 0, /**/ 7, 7, /**/ 0, 0, /**/ T, 0, /**/ 0, 0};
static const int64_t ids[] = {0, 1, 0, 1, 1, 1};
static const int64_t mask[] = {1, 1, 1, 1, 1, 0};

static void the_next_token_is_asked_for(void **state) {
    (void)state;
    const hone_value in[] = {ENTRY("attention_mask", S64, mask, 2, 3),
                             ENTRY("input_ids", S64, ids, 2, 3)};
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F64, scores, 2, 3, 2),
                         .n_inputs = 2,
                         .inputs = in};
    /* 3/4 and 3/4 of the first text, 1/2 of the second, whose last token is hidden. */
    assert_near(metric_value("perplexity", &b).value, pow(4.0 / 3 * 4.0 / 3 * 2, 1.0 / 3));
    assert_int_equal(metric_suits("perplexity", &b), 1);
    b.n_inputs = 0;
    metric_refuses("perplexity", &b, HONE_E_ARG, "neither a target nor an input holds the tokens");
}

static void targets_say_which_tokens_count(void **state) {
    (void)state;
    /* One place more than the output has: the feed cuts padded texts. */
    const int32_t wanted[] = {-100, -100, 1, 1, 0, 1, -1, 0};
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F64, scores, 2, 3, 2),
                         .n_targets = 1,
                         .targets = VALUE("target_next", S32, wanted, 2, 4)};
    /* 1/2; 1/2, 1/4. */
    assert_near(metric_value("perplexity", &b).value, pow(2 * 2 * 4, 1.0 / 3));
    const int32_t none[] = {-1, -1, -1, -1, -1, -1}, large[] = {-1, -1, -1, -1, 2, -1};
    b.targets = VALUE("target_next", S32, none, 2, 3);
    metric_refuses("perplexity", &b, HONE_E_ARG, "no token of the dataset is counted");
    b.targets = VALUE("target_next", S32, large, 2, 3);
    metric_refuses("perplexity", &b, HONE_E_ARG,
                   "sample 1 has token 2 at place 1, but output 'y' scores 2");
    b.outputs = VALUE("y", F64, scores, 2, 6);
    metric_refuses("perplexity", &b, HONE_E_SHAPE, "output 'y' is f64[2, 6]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_token_is_asked_for),
        cmocka_unit_test(targets_say_which_tokens_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

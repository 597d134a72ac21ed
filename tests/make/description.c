/* The language of descriptions: what lines mean, and what is said of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/scratch.h"

/* The size of the output of `vector 4` and a layer `linear EXPRESSION` behind the lines. */
static int64_t value_of(const char *before, const char *expression) {
    char text[512];
    int64_t n;
    snprintf(text, sizeof text, "%s\nvector 4\nlinear %s\n", before, expression);
    hn_model *m = made_text(text, NULL);
    assert_true(hn_dim_is_const(m->graph->outputs[0].value->type.shape.dim[1], &n));
    hn_model_destroy(m);
    return n;
}

static void arithmetic(void **state) {
    (void)state;
    static const struct {
        const char *before, *expression;
        int64_t value;
    } rows[] = {
        {"", "1+2*3", 7},
        {"", "(1+2)*3", 9},
        {"", "(( 1 + 2 ) * 3)", 9},
        {"", "7//2", 3},
        {"", "(7/2*2)", 7},
        {"", "7%4", 3},
        {"", "9-5-2", 2},
        {"", "--5", 5},
        {"", "1e2", 100},
        {"", "(2 > 1 and 1 == 1)+1", 2},
        {"", "(2 < 1 or 1 != 1)+1", 1},
        {"", "(2 >= 2)+(2 <= 1)", 1},
        {"", "round(2.5)", 3},
        {"", "round(20,8)", 24},
        {"", "round(8.8,8)", 8},
        {"", "round(11,8)", 16}, /* 8 is less than nine tenths of 11 */
        {"", "round(1,8)", 8},
        {"", "floor(2.9)", 2},
        {"", "ceil(2.1)", 3},
        {"", "min(3,4)+max(3,4)", 7},
        {"", "choose(1>2,5,6)", 6},
        {"", "in*2", 8},
        {"number a = 3", "a", 3},
        {"number a = 3\nlet b = a * 2", "b", 6},
        {"list l = 5 6 7", "l[1]+count(l)", 9},
        {"choice c = left right", "1+(c==right)", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v = value_of(rows[i].before, rows[i].expression);
        if (v != rows[i].value)
            fail_msg("%s is %lld, expected %lld", rows[i].expression, (long long)v,
                     (long long)rows[i].value);
    }
}

static void assert_names(const char *text, const char *settings, const char *const *names) {
    hn_model *m = made_text(text, settings);
    for (; *names != NULL; names++)
        if (hn_graph_value(m->graph, *names) == NULL) fail_msg("there is no %s", *names);
    hn_model_destroy(m);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void lines_hold_others(void **state) {
    (void)state;
    assert_names(
        "vector 4\n"
        "repeat 3 as i\n"
        "  if i == 1\n    a{i}: linear 5\n  else\n    b{i}.x: linear 6\n  end\n"
        "end\n"
        "repeat 0\n  nothing\nend\n"
        "linear 2\n",
        NULL, NAMES("b0.x.weight", "a1.weight", "b2.x.bias", "fc1.weight"));
    assert_names(
        "block two out=in wide=out*2\n"
        "  residual\n    linear wide\n    relu\n    linear out\n"
        "  shortcut\n    if in != out\n      side: linear out bias=0\n    end\n  end\n"
        "end\n"
        "vector 4\ntwo\nsecond: two 3\ntwo wide=9 out=3\n",
        NULL, NAMES("two1.fc1.weight", "two1.add1", "second.side.weight", "two2.fc2.bias"));
    assert_names(
        "image 3 8 8\ngate\n  globalpool\n  conv in kernel=1\n  sigmoid\nend\nflatten\n"
        "linear 2\n",
        NULL, NAMES("globalpool1", "mul1"));
}

/* A block sees the names of the top and its own, and none of who calls it. */
static void names_are_local(void **state) {
    (void)state;
    made_fails("block a\n  let x = 2\n  b\nend\nblock b\n  linear x\nend\nvector 4\na\n", NULL,
               HONE_E_FORMAT,
               "text:9:1: in 'a': text:3:3: in 'b': text:6:10: there is no number 'x'");
    assert_int_equal(value_of("number x = 5\nblock b\n  linear x\nend", "x"), 5);
}

static void settings_replace_values(void **state) {
    (void)state;
    const char *text =
        "number a = 3 from 1 to 9\nlist l = 1 2\nchoice c = left right\n"
        "vector 4\nlinear a+l[0]+10*(c==right)+count(l)\n";
    hn_model *m = made_text(text, "a=4 l=7-8-9 c=right a=5");
    assert_string_equal(made_output(m), "f32[N, 25]");
    hn_model_destroy(m);
    made_fails(text, "b=1", HONE_E_ARG, "text has no number 'b'; it has a, l, c");
    made_fails(text, "a", HONE_E_ARG, "the setting 'a', wanted NAME=VALUE");
    made_fails(text, "a=x", HONE_E_ARG, "a is 'x', wanted a number");
    made_fails(text, "a=0", HONE_E_ARG, "a is 0, wanted a number from 1 to 9");
    made_fails(text, "a=-1", HONE_E_ARG, "a is -1, wanted a number from 1 to 9");
    made_fails(text, "a=inf", HONE_E_ARG, "a is 'inf', wanted a number");
    made_fails(text, "l=1--2", HONE_E_ARG, "l is '', wanted a number");
    made_fails("whole w = 1\nvector 4\nlinear w\n", "w=2.5", HONE_E_ARG,
               "w is 2.5, wanted a whole number");
    made_fails("whole w = 1\nrequire w < 3\nvector 4\nlinear w\n", "w=3", HONE_E_ARG,
               "text:2:1: this model needs w < 3");
    made_fails(text, "c=up", HONE_E_ARG, "c is 'up', wanted left, right");
}

static void scaling_is_compound(void **state) {
    (void)state;
    static const char text[] =
        "number width = 1\nnumber depth = 1\nnumber resolution = 224\n"
        "image 3 resolution resolution\nglobalpool\nflatten\n"
        "linear round(1000*width)\nlinear round(1000*depth)\n";
    hn_error err;
    hn_model *m = NULL;
    hn_make_options o = {.compound = 2};
    char *described;
    hn_arena arena;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_make_describe(&described, "text", text, strlen(text), &o, &arena, &err),
                     HONE_OK);
    assert_non_null(strstr(described, "width = 1.21\n"));
    assert_non_null(strstr(described, "depth = 1.44\n"));
    assert_non_null(strstr(described, "resolution = 296\n")); /* 224 * 1.3225 */
    hn_arena_deinit(&arena);
    const char plain[] = "number width = 1\nvector 4\nlinear 2\n";
    assert_int_equal(hn_make(&m, "text", plain, strlen(plain), &o, &scratch_mem, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "text has no number 'depth'"));
}

static void wrong_texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hone_status status;
        const char *part;
    } rows[] = {
        {"", HONE_E_FORMAT, "text: no layer behind an input"},
        {"vector 4\n", HONE_E_FORMAT, "no layer behind an input"},
        {"relu\n", HONE_E_FORMAT,
         "text:1:1: relu takes a vector, an image or tokens, found no input"},
        {"vector 4\nvector 4\n", HONE_E_FORMAT, "text:2:1: vector takes nothing: it is an input"},
        {"vector 4\nconv 3\n", HONE_E_FORMAT, "text:2:1: conv takes an image, found a vector"},
        {"vector 4\nconf 3\n", HONE_E_FORMAT,
         "text:2:1: found 'conf', wanted a layer or block: attention"},
        {"vector 4\n  linear\n", HONE_E_FORMAT, "text:2:9: linear needs out"},
        {"vector 4\nlinear 0\n", HONE_E_FORMAT, "text:2:8: out is 0, wanted a whole number from 1"},
        {"vector 4\nlinear -3\n", HONE_E_FORMAT, "out is -3"},
        {"vector 4\nlinear 2.5\n", HONE_E_FORMAT, "out is 2.5, wanted a whole number"},
        {"vector 4\nlinear 2 3 4\n", HONE_E_FORMAT, "text:2:12: found '4', wanted out, bias"},
        {"vector 4\nlinear 2 out=3\n", HONE_E_FORMAT, "text:2:10: out is given twice"},
        {"vector 4\nlinear 2 size=3\n", HONE_E_FORMAT, "found 'size', wanted out, bias"},
        {"vector 4\nlinear 2)\n", HONE_E_FORMAT, "text:2:9: found ')', wanted a space"},
        {"vector 4\nlinear (2\n", HONE_E_FORMAT,
         "text:2:10: found the end of the line, wanted ')'"},
        {"vector 4\nlinear 1/0\n", HONE_E_FORMAT, "the result is not a finite number"},
        {"vector 4\nlinear a\n", HONE_E_FORMAT, "text:2:8: there is no number 'a' here"},
        {"vector 4\nlinear f(2)\n", HONE_E_FORMAT, "there is no function 'f', wanted round"},
        {"vector 4\nlinear round(2,0)\n", HONE_E_FORMAT, "round to a multiple of 0"},
        {"list l = 1 2\nvector 4\nlinear l\n", HONE_E_FORMAT, "'l' is a list of 2 numbers"},
        {"list l = 1 2\nvector 4\nlinear l[2]\n", HONE_E_FORMAT,
         "element 2 of 'l', which has elements 0 to 1"},
        {"list l =\nvector 4\n", HONE_E_FORMAT,
         "text:1:9: found the end of the line, wanted a number"},
        {"number a = 1\nnumber a = 2\n", HONE_E_FORMAT, "text:2:8: 'a' has a meaning already"},
        {"number a = 5 from 1 to 2\n", HONE_E_FORMAT,
         "text:1:12: a is 5, wanted a number from 1 to 2"},
        {"repeat 2\nvector 4\n", HONE_E_FORMAT, "text:1:1: 'repeat' has no 'end'"},
        {"vector 4\nend\n", HONE_E_FORMAT, "text:2:1: 'end' closes nothing"},
        {"vector 4\nelse\n", HONE_E_FORMAT, "text:2:1: 'else' without 'if' before it"},
        {"repeat 2\nnumber a = 1\nend\n", HONE_E_FORMAT, "'number' stands inside 'repeat'"},
        {"vector 4\nresidual\nlinear 5\nend\n", HONE_E_SHAPE,
         "text:2:1: the lines make a vector of 5 features"},
        {"image 3 8 8\nconv 4 kernel=9 pad=0\n", HONE_E_SHAPE,
         "text:2:1: 'conv1': a window of 9 rows"},
        {"image 3 8 8\nconv 4 groups=2\n", HONE_E_SHAPE, "wanted multiples of the 2 groups"},
        {"vector 4\na: linear 2\na: linear 2\n", HONE_E_FORMAT,
         "text:3:4: the name 'a.weight' is taken"},
        {"vector 4\nlogits: relu\nrelu\n", HONE_E_FORMAT, "text: the name 'logits' is for what"},
        {"vector 4\ninput: relu\n", HONE_E_MODEL, "text:2:8: the name 'input' is given"},
        {"vector 4\nscalar.6: relu\nrelu6\n", HONE_E_FORMAT, "the name 'scalar.6' is taken"},
        {"vector 4\na{0.5}: linear 2\n", HONE_E_FORMAT, "text:2:3: the number in a name is 0.5"},
        {"init conf zeros\n", HONE_E_FORMAT, "text:1:6: found 'conf', wanted conv, linear"},
        {"init conv zero\n", HONE_E_FORMAT, "text:1:11: found 'zero', wanted zeros, ones"},
        {"init conv normal\n", HONE_E_FORMAT, "found the end of the line, wanted a number"},
        {"vector 4\napply 1000\n", HONE_E_FORMAT, "text:2:7: the number of a layer is 1000"},
        {"vector 4\napply linear\n", HONE_E_FORMAT, "text:2:13: linear needs out"},
        {"vector 4\n\xff\n", HONE_E_FORMAT, "text:2:1: a line begins with the name of a layer"},
        {"block a\na\nend\nvector 4\na\n", HONE_E_LIMIT, "more than 16 blocks call one another"},
        {"vector 4\nrepeat 100000\nrepeat 100000\nrelu\nend\nend\n", HONE_E_LIMIT,
         "more than 100000 lines"},
        {"vector 10000\nlinear 10000\n", HONE_E_LIMIT,
         "with 'fc1.weight' the model has more than 1048576 parameters"},
        {"vector 16777216\nlinear 16777216\n", HONE_E_LIMIT, "more than 1048576 parameters"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        made_fails(rows[i].text, NULL, rows[i].status, rows[i].part);
}

/* Nesting that would overflow the stack is refused. */
static void nesting_is_bounded(void **state) {
    (void)state;
    static char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, "vector 4\nlinear ");
    memset(text + n, '(', 1000);
    text[n + 1000] = '\0';
    made_fails(text, NULL, HONE_E_LIMIT, "more than 64 brackets are open here");
    n = 0;
    for (int i = 0; i < 40; i++) n += (size_t)snprintf(text + n, sizeof text - n, "repeat 1\n");
    made_fails(text, NULL, HONE_E_LIMIT, "more than 32 lines are open here");
    n = (size_t)snprintf(text, sizeof text, "vector 4\n");
    memset(text + n, 'a', 300);
    snprintf(text + n + 300, sizeof text - n - 300, ": relu\n");
    made_fails(text, NULL, HONE_E_LIMIT, "a name of more than 200 letters");
}

static void allocations_may_fail(void **state) {
    (void)state;
    static const char text[] =
        "number a = 2\nblock b out\n  residual\n    linear out\n  end\nend\n"
        "vector 4\nb 4\nrelu\nlinear a\n";
    hone_status status = HONE_E_NOMEM;
    for (int k = 0; status == HONE_E_NOMEM; k++) {
        hn_error err;
        hn_model *m = NULL;
        atomic_store(&scratch_mem.fail_after, k);
        status = hn_make(&m, "text", text, strlen(text), &(hn_make_options){.settings = "a=3"},
                         &scratch_mem, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        assert_true(k < 1000);
        hn_model_destroy(m);
    }
    assert_int_equal(status, HONE_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(arithmetic),          TEST(lines_hold_others),
        TEST(names_are_local),     TEST(settings_replace_values),
        TEST(scaling_is_compound), TEST(wrong_texts),
        TEST(nesting_is_bounded),  TEST(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "compress/recipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/place.h"
#include "support/scratch.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static hn_arena arena;
static hn_error err;

static int begin(void **state) {
    int status = scratch_setup(state);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    return status;
}

static int end(void **state) {
    hn_arena_deinit(&arena);
    return scratch_teardown(state);
}

static hn_recipe read(const char *text) {
    hn_recipe r;
    if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
    return r;
}

static char *written(const hn_recipe *r, bool one_line) {
    char *text;
    assert_int_equal(hn_recipe_write(r, one_line, &arena, &text, &err), HONE_OK);
    return text;
}

static const char whole[] =
    "hone recipe 2\n"
    "name 'int8 with a head of its own'\n"
    "source " SHA
    "\n"
    "data " SHA
    "\n"
    "samples 512\n"
    "batch 8\n"
    "seed 18446744073709551615\n"
    "for openvino\n"
    "simplify level=2\n"
    "equalize\n"
    "gptq\n"
    "quantize type=int8 embeddings ranges=percentile 'layer:it''s; the head*=f32' "
    "layer:fc?=int4 layer:a=b=bf16\n"
    "bias\n";

static void a_text_is_read_and_written_as_it_was(void **state) {
    (void)state;
    hn_recipe r = read(whole);
    assert_string_equal(r.name, "int8 with a head of its own");
    assert_string_equal(r.source, SHA);
    assert_string_equal(r.data, SHA);
    assert_true(r.samples == 512 && r.batch == 8 && r.seed == UINT64_MAX && r.n == 5);
    assert_string_equal(r.target->name, "openvino");
    assert_true(hn_step_number(&r.steps[0], "level") == 2);
    const hn_recipe_step *s = hn_recipe_writer(&r);
    assert_string_equal(hn_step_word(s, "ranges"), "percentile");
    assert_true(hn_step_flag(s, "embeddings") && !hn_step_flag(s, "symmetric"));
    assert_string_equal(s->v[3].pattern, "it's; the head*");
    assert_string_equal(s->v[5].pattern, "a=b");
    assert_string_equal(s->v[5].value, "bf16");
    assert_string_equal(written(&r, false), whole);
    const char *line = written(&r, true);
    assert_null(strchr(line, '\n'));
    hn_recipe again = read(line);
    assert_string_equal(written(&again, true), line);
    assert_string_equal(again.source, ""); /* it has a key of its own */
}

/* What people write around it, and a name with a line break in it. */
static void usual_values(void **state) {
    (void)state;
    hn_recipe r = read("hone recipe 2\n\n# seed 5; gptq\r\n  simplify ;;quantize\t\r\n# the end");
    assert_true(r.seed == 1 && r.samples < 0 && r.n == 2 && r.target == NULL);
    hn_recipe_step *s = hn_recipe_writer(&r);
    assert_string_equal(hn_step_word(s, "type"), "int8");
    assert_null(hn_step_word(s, "mix"));
    assert_int_equal(hn_recipe_setf(&r, s, &err, "layer:a\nb=f16"), HONE_OK);
    hn_recipe again = read(written(&r, true));
    assert_string_equal(hn_recipe_writer(&again)->v[0].pattern, "a?b"); /* which matches it */
}

/* Each error names the line, the word, what was found and what is wanted. */
static void damaged_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *lines, *says;
    } bad[] = {
        {"shrink", "line 2: a transform: found 'shrink', expected one of: adaround, awq, bias,"},
        {"simplify\nquantize typ=int8", "line 3: quantize: 'typ=int8', expected one of: type,"},
        {"quantize type=int9", "line 2: quantize: type 'int9', expected one of: f32, bf16"},
        {"quantize ranges=widest", "ranges 'widest', expected one of: minmax, average"},
        {"quantize bits=17", "bits '17', expected a whole number from 1 to 16"},
        {"quantize bits=3.5", "bits '3.5', expected a whole number"},
        {"quantize percentile=all", "percentile 'all', expected a number from 0 to 100"},
        {"quantize embeddings=yes", "'embeddings=yes', expected embeddings alone"},
        {"quantize ranges", "'ranges', expected ranges=VALUE"},
        {"quantize layer=f32", "'layer=f32', expected layer:PATTERN=TYPE"},
        {"quantize layer:=f32", "expected layer:PATTERN=TYPE"},
        {"factorize layer-rank=8", "'layer-rank=8', expected layer-rank:PATTERN=N"},
        {"factorize layer-rank:fc=2.5", "layer-rank '2.5', expected a whole number from 1 to"},
        {"quantize bits=3 bits=4", "'bits=4': bits is set twice"},
        {"quantize load-ranges=12", "load-ranges '12', expected a SHA-256 of 64 digits"},
        {"quantize mix=int8,int9", "mix 'int9', expected one of: f32"},
        {"quantize 'layer:a=f32", "found 'layer:a=f32', expected a ' at its end"},
        {"gptq type=int8; quantize", "line 2: gptq: 'type=int8', expected nothing"},
        {"quantize\nequalize", "line 3: 'equalize' must come before 'quantize', and comes after"},
        {"bias; quantize", "'quantize' must come before 'bias', and comes after"},
        {"quantize; simplify", "'simplify' must come before 'quantize'"},
        {"gptq; gptq; quantize", "'gptq' is asked for twice"},
        {"convert type=f16; quantize", "'convert' and 'quantize' both give layers their types"},
        {"simplify; equalize", "'equalize' serves 'quantize', which must come after it"},
        {"convert type=f16; bias", "'bias' serves 'quantize', which must come before it"},
        {"seed -1", "line 2: seed: found '-1', expected a whole number"},
        {"seed 18446744073709551616", "seed: found '18446744073709551616', expected a whole"},
        {"samples", "samples: found 'nothing', expected a whole number"},
        {"source 12", "source: found '12', expected a SHA-256"},
        {"name", "name: found 'nothing', expected a short name"},
        {"for nobody", "line 2: for: runtime 'nobody', expected one of: hone, onnxruntime"},
        {"seed 1 2", "the line: found '2', expected its end"},
        {"simplify\nseed 1", "line 3: seed: found 'seed', expected it before the first transform"},
        {"", "there is no transform in it"},
    };
    hn_recipe r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, "hone recipe 2\n%s\n", bad[i].lines);
        assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_E_FORMAT);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].says);
    }
    assert_int_equal(hn_recipe_read(&r, "PK\003\004", &arena, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "expected 'hone recipe 2'"));
    assert_int_equal(hn_recipe_read(&r, "optimize int8 " SHA, &arena, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "names a recipe; expected its text"));
}

/* ---- what version 0.1 wrote ---- */

static void files_of_version_1_are_read(void **state) {
    (void)state;
    hn_recipe r = read(
        "hone recipe 1\n"
        "name int8 with a head of its own\n"
        "layer '*' static s8:symmetric:channel u8\n"
        "layer 'it's the head*' f32\n"
        "layer 'fc?' weights s4:symmetric:channel:group=64\n"
        "embeddings\n"
        "for openvino\n"
        "ranges percentile\n"
        "method bias\n"
        "method equalize\n"
        "seed 7\n"
        "source " SHA
        "\n"
        "calibration 300 " SHA
        "\n"
        "# int8: chosen, 0.12 ms\n");
    assert_string_equal(written(&r, false),
                        "hone recipe 2\nname 'int8 with a head of its own'\nsource " SHA
                        "\ndata " SHA
                        "\nsamples 300\nseed 7\nfor openvino\nsimplify\nequalize\n"
                        "quantize type=int8 'layer:it''s the head*=f32' "
                        "layer:fc?=int4 embeddings ranges=percentile\nbias\n");
    static const struct {
        const char *lines, *says;
    } bad[] = {
        {"layer * f32", "line 2: layer: found '* f32', expected a name in quotes"},
        {"layer 'conv1' f32", "layer: found 'conv1', expected '*' as the first layer"},
        {"layer '*' int9", "line 2: layer: found ' int9', expected f32 or a type"},
        {"layer '*' static s8:wide", "layer: found ' static s8:wide', expected f32 or"},
        {"layer '*' f32\nranges widest", "line 3: ranges 'widest', expected one of"},
        {"layer '*' f32\nmethod magic", "line 3: found 'magic', expected a method"},
        {"layer '*' f32\nseed -1", "seed: found '-1', expected a whole number"},
        {"layer '*' f32\nsource 12", "source: found '12', expected a SHA-256"},
        {"layer '*' f32\ncalibration 0 " SHA, "found '0', expected a number of samples"},
        {"colour red", "found 'colour', expected name, layer"},
        {"", "expected a line layer '*'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, "hone recipe 1\n%s\n", bad[i].lines);
        assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_E_FORMAT);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].says);
    }
}

static void lines_of_version_1_are_read(void **state) {
    (void)state;
    static const struct {
        const char *old, *new;
    } cases[] = {
        {"quantize type=int8 ranges=auto samples=120",
         "hone recipe 2; samples 120; simplify; quantize type=int8 ranges=auto"},
        {"quantize type=int4 group=32 seed=2 layer:*=f16 layer:my head=f32\n",
         "hone recipe 2; seed 2; simplify; quantize type=int4 group=32 layer:*=f16 "
         "'layer:my head=f32'"},
        {"quantize type=int8 weights=u8 activations=s8 bits=5 per-tensor symmetric embeddings "
         "integer-io for=tensorrt with=bias,equalize ranges=percentile "
         "percentile=99.900000000000006 "
         "samples=64 batch=4",
         "hone recipe 2; samples 64; batch 4; for tensorrt; simplify; equalize; quantize type=int8 "
         "weights=u8 activations=s8 bits=5 per-tensor symmetric embeddings integer-io "
         "ranges=percentile percentile=99.900000000000006; bias"},
        {"quantize type=int8-weights simulate bits=1 activation-bits=4",
         "hone recipe 2; simplify; quantize type=int8-weights simulate bits=1 activation-bits=4"},
        {"quantize type=int8 ranges=" SHA,
         "hone recipe 2; simplify; quantize type=int8 load-ranges=" SHA},
        {"quantize type=int8 mix=int8,w4a8 with=gptq samples=16 layer:c*=f32 layer:fc=w4a8",
         "hone recipe 2; samples 16; simplify; gptq; quantize type=int8 mix=int8,w4a8 layer:c*=f32 "
         "chosen:fc=w4a8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_recipe r = read(cases[i].old);
        assert_string_equal(written(&r, true), cases[i].new);
    }
}

/* ---- any recipe ---- */

static const char *random_value(const hn_parameter *p, hn_rng *rng, char *buf, size_t size) {
    int n = 0;
    while (hn_param_word(p, n) != NULL) n++;
    if (n > 0) return hn_param_word(p, (int)(hn_rng_u64(rng) % (uint64_t)n));
    if (p->kind == HN_PARAM_HASH) return SHA;
    double x = p->least + (p->most - p->least) * hn_rng_f64(rng);
    if (p->kind == HN_PARAM_COUNT || p->kind == HN_PARAM_LAYER_COUNT)
        snprintf(buf, size, "%lld", (long long)x);
    else
        snprintf(buf, size, "%.17g", x);
    return buf;
}

static void add_random_step(hn_recipe *r, const hn_transform *t, hn_rng *rng) {
    static const char letters[] = "ab*?[]/ ;'=:#\"\\.,\t\303\251";
    char buf[64], pattern[12];
    if (hn_recipe_add(r, t, &err) != HONE_OK) return; /* another one writes types */
    hn_recipe_step *s = NULL;
    for (int i = 0; i < r->n; i++)
        if (r->steps[i].transform == t) s = &r->steps[i];
    for (const hn_parameter *p = t->params; p->name != NULL; p++) {
        bool layer = hn_param_is_of_layers(p);
        for (uint64_t k = hn_rng_u64(rng) % (layer ? 5 : 2); k > 0; k--) {
            size_t n = 1 + hn_rng_u64(rng) % (sizeof pattern - 1);
            for (size_t i = 0; i < n; i++)
                pattern[i] = letters[hn_rng_u64(rng) % (sizeof letters - 1)];
            pattern[n - 1] = 'z';
            bool flag = p->kind == HN_PARAM_FLAG;
            const char *value = flag ? "" : random_value(p, rng, buf, sizeof buf);
            assert_int_equal(hn_recipe_setf(r, s, &err, "%s%s%.*s%s%s", p->name, layer ? ":" : "",
                                            layer ? (int)n : 0, pattern, flag ? "" : "=", value),
                             HONE_OK);
        }
    }
}

static void same(const hn_recipe *a, const hn_recipe *b) {
    assert_string_equal(a->name, b->name);
    assert_true(a->samples == b->samples && a->batch == b->batch && a->seed == b->seed);
    assert_ptr_equal(a->target, b->target);
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        const hn_recipe_step *s = &a->steps[i], *t = &b->steps[i];
        assert_ptr_equal(s->transform, t->transform);
        assert_int_equal(s->n, t->n);
        for (int k = 0; k < s->n; k++) {
            assert_ptr_equal(s->v[k].param, t->v[k].param);
            assert_string_equal(s->v[k].value, t->v[k].value);
            if (s->v[k].pattern == NULL || strchr(s->v[k].pattern, '\t') != NULL) continue;
            assert_string_equal(s->v[k].pattern, t->v[k].pattern);
        }
    }
}

static void what_is_written_is_read_as_it_was(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 1);
    for (int round = 0; round < 2000; round++) {
        hn_recipe r;
        hn_recipe_init(&r, &arena);
        hn_recipe_add(&r, hn_transform_named(round % 2 ? "quantize" : "simplify"), &err);
        for (int i = 0; i < hn_transform_count(); i++)
            if (hn_rng_u64(&rng) % 2 == 0 &&
                (round % 2 || !hn_transform_is_method(hn_transform_at(i))))
                add_random_step(&r, hn_transform_at(i), &rng);
        if (round % 3 == 0) snprintf(r.name, sizeof r.name, "it's %d; so", round);
        if (round % 5 == 0) r.samples = (int64_t)(hn_rng_u64(&rng) >> 1);
        if (round % 7 == 0) r.batch = round;
        if (round % 4 == 0) r.seed = hn_rng_u64(&rng);
        r.target = round % 6 == 0 ? hn_quant_target_at(1) : NULL;
        for (int one_line = 0; one_line < 2; one_line++) {
            hn_recipe again = read(written(&r, one_line));
            same(&r, &again);
        }
        hn_arena_rewind(&arena);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_text_is_read_and_written_as_it_was),
        TEST(usual_values),
        TEST(damaged_texts_are_refused),
        TEST(files_of_version_1_are_read),
        TEST(lines_of_version_1_are_read),
        TEST(what_is_written_is_read_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

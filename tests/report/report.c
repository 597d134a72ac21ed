#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "support/scratch.h"

/* A text file as a string; free it. */
static char *text_of(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = NULL;
    size_t room = 0;
    assert_true(getdelim(&text, &room, '\0', f) >= 0);
    fclose(f);
    return text;
}

/* The result of a verb that the fuzz target starts from; free it. */
static char *sample(const char *verb) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/report/%s.json", HN_SOURCE_DIR, verb);
    return text_of(path);
}

/* The page of a document; free it. Skips the test where reports cannot be made. */
static char *page_of(const char *document) {
    hn_error err;
    const char *path = scratch_path("page.html");
    hone_status status = hn_report_write(&document, 1, path, NULL, &scratch_mem, &err);
    if (status == HONE_E_UNSUPPORTED) skip();
    if (status != HONE_OK) fail_msg("%s", err.text);
    return text_of(path);
}

static size_t count(const char *page, const char *word) {
    size_t n = 0;
    for (; (page = strstr(page, word)) != NULL; page++) n++;
    return n;
}

/* The marks that plots say they have, of which there are n_plots. */
static size_t marks(const char *page, size_t n_plots) {
    size_t n = 0, plots = 0;
    for (; (page = strstr(page, "data-marks=\"")) != NULL; plots++)
        n += strtoul(page += strlen("data-marks=\""), NULL, 10);
    assert_int_equal(plots, n_plots);
    return n;
}

static void check_marks(const char *verb, size_t n_plots, size_t wanted) {
    char *document = sample(verb), *page = page_of(document);
    assert_int_equal(marks(page, n_plots), wanted);
    assert_int_equal(count(page, "class=\"mark"), wanted);
    assert_int_equal(count(page, "role=\"img\""), n_plots);
    assert_int_equal(count(page, "<desc "), n_plots);
    assert_int_equal(count(page, "<title id="), n_plots);
    free(document);
    free(page);
}

static void every_value_is_a_mark(void **state) {
    (void)state;
    check_marks("bench", 2, 2 + 4);               /* configurations; columns that are not empty */
    check_marks("profile", 5, 3 + 3 + 3 + 3 + 6); /* longest, roofline, kinds, memory, start-up */
    check_marks("eval", 2, 1 + 4);                /* shares; cells of the confusion matrix */
    check_marks("compare", 3, 2 + 3 + 1);         /* models, errors of tensors and of weights */
    check_marks("inspect", 1, 2);                 /* operators that multiply */
    check_marks("machine", 0, 0);
    check_marks("optimize", 1, 3);      /* models that were timed and judged */
    check_marks("quantize", 2, 5 + 2);  /* noise of layers, sets of types */
    check_marks("train", 3, 3 + 3 + 3); /* loss, metric and rate of epochs */
}

/* A table of the data goes with each plot. */
static void plots_have_tables(void **state) {
    (void)state;
    static const char *const cells[] = {"<td>conv1", "<td class=\"n\">1.2500",
                                        "<td class=\"n\" data-v=\"0.8\">80.0 %", "fuse it"};
    char *document = sample("profile"), *page = page_of(document);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        assert_non_null(strstr(page, cells[i]));
    assert_int_equal(count(page, "<details>"), count(page, "</details>"));
    assert_int_equal(count(page, "<figure"), count(page, "</figure>"));
    assert_non_null(strstr(page, "reach <b>68.6 %</b>")); /* 1.2 of 1.75 ms */
    assert_non_null(strstr(page, "What limits it?"));
    free(document);
    free(page);
}

/* The curve has a point for every loss there is; a resumed training begins where it was resumed. */
static void losses_are_a_curve(void **state) {
    (void)state;
    char *page = page_of(
        "{\"schema\": \"hone.distill/1\", \"model\": \"s.onnx\", \"output\": \"o.onnx\", "
        "\"epochs\": 7, \"train_loss\": 0.5, \"first_step\": 60, \"steps_per_point\": 2, "
        "\"step_losses\": [1, 0.75, null, 0.5, 0.5], \"history\": [{\"epoch\": 7, \"steps\": 70, "
        "\"train_loss\": 0.6, \"rate\": 0.1, \"val\": null}]}");
    const char *curve = strstr(page, "class=\"curve c0\" points=\"");
    assert_non_null(curve);
    size_t points = 0;
    for (curve += strlen("class=\"curve c0\" points=\""); *curve != '"'; curve++)
        points += *curve == ',';
    assert_int_equal(points, 4);
    assert_non_null(strstr(page, "epoch 7: loss 0.6"));
    assert_null(strstr(page, "Validation"));
    assert_non_null(strstr(page, "<h1>o.onnx</h1>"));
    free(page);
}

/* A file that is compared with itself at another precision is two models. */
static void labels_tell_models_apart(void **state) {
    (void)state;
    char *page = page_of(
        "{\"schema\": \"hone.compare/1\", \"verdict\": \"They agree.\", \"models\": ["
        "{\"model\": \"m.onnx\", \"label\": \"f32\", \"latency_ms\": {\"p50\": 2}}, "
        "{\"model\": \"m.onnx\", \"label\": \"bf16\", \"latency_ms\": {\"p50\": 1}}]} "
        "{\"schema\": \"hone.inspect/1\", \"model\": \"m.onnx\", \"macs\": 7}");
    assert_non_null(strstr(page, "<h1>2 models</h1>"));
    assert_non_null(strstr(page, "<td>f32<td class=\"n\">2.000"));
    assert_non_null(strstr(page, "<td>bf16<td class=\"n\">1.000"));
    assert_non_null(strstr(page, "<li>They agree.</li>"));
    free(page);
}

/* What was tried, what was expected of it, and what is said of the whole; no table of models with
 * empty columns. */
static void optimizations_are_shown(void **state) {
    (void)state;
    static const char *const cells[] = {
        "<li>int8: 2.50 times as fast</li>",
        "<dd>2.50\xc3\x97</dd><dt>as fast<br>2 ms \xe2\x86\x92 0.800 ms</dt>",
        "<dd>4.00\xc3\x97</dd><dt>smaller<br>4 MB \xe2\x86\x92 1 MB</dt>",
        "<td>slower<small>takes 1.50 times as long</small>",
        "<b>int8</b><small>8 bits</small><small>guides expect time 4-5x, size 4x</small>",
        ">0.800 ms<small>2.50\xc3\x97</small>",
        ">91.50 %<small>loses 0.50 %</small>",
        "<li>int8-helped, mixed: int8 needs no help<li>f8: there is none</ul>",
        "<li class=\"good\"><b>profiled first?</b> yes<small>Conv 90 %</small>",
        "<li class=\"good\"><b>threads left unconfigured</b> avoided<small>2 threads",
        "<li class=\"open\"><b>fast enough?</b> not asked",
        "verified on 100 that no choice was made by: 91.00 %, the original 92.00 %",
        "least allowed: 91.00 %",
        "<pre tabindex=\"0\">hone optimize m.onnx --recipe m.opt.recipe</pre>",
        "<pre tabindex=\"0\">hone recipe 1\nseed 1\n</pre>",
        "<h1>m.onnx</h1><p class=\"of\">A CPU \xc2\xb7 2 threads</p>",
    };
    char *document = sample("optimize"), *page = page_of(document);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (strstr(page, cells[i]) == NULL) fail_msg("there is no \"%s\"", cells[i]);
    assert_null(strstr(page, "<h2>Models</h2>"));
    assert_int_equal(count(page, "<polyline class=\"front\""), 1);
    free(document);
    free(page);
}

/* Of each layer what it became, its size and its noise; what stayed in floats, and where it comes
 * from. */
static void quantizations_are_shown(void **state) {
    (void)state;
    static const char *const cells[] = {
        "The file is <b>4.00 times</b> smaller: 104 kB \xe2\x86\x92 26 kB. 2 of 3 layers with "
        "weights",
        "3 nodes stayed in floats",
        "<li>Warning: few samples</li>",
        "<dd>8.85</dd><dt>bits per weight",
        "no range moved by 1 % after 60 of them",
        "<td>c0<small>Conv</small><td>int8<small>s8 per channel by u8</small>",
        ">2.62 kB<small>4\xc3\x97</small><td class=\"n\">37.5<td class=\"n\">37.5",
        "same answer for <b>98.4 %</b>",
        "<td>up<small>ConvTranspose</small><td>f32<small>no integer form of it</small>"
        "<td class=\"n\" data-v=\"640\">640",
        "1 node without weights is in fewer bits",
        "<td>a product of two activations<small>qk (MatMul), av (MatMul)</small>"
        "<td class=\"n\">2",
        ">chosen</text>",
        "<td>ed09602e5d21b18cb04c689210670a5ac37ef7fe70cb188a1fcbbf769ea93224",
        "<td>quantize type=int8 ranges=percentile samples=100",
    };
    char *document = sample("quantize"), *page = page_of(document);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (strstr(page, cells[i]) == NULL) fail_msg("there is no \"%s\"", cells[i]);
    assert_null(strstr(page, "<td>r<small>Relu"));
    free(document);
    free(page);
}

typedef struct label {
    double left, top, right, bottom;
} label;

/* Many models of nearly the same speed and accuracy: no name covers another. */
static void names_do_not_overlap(void **state) {
    (void)state;
    char document[8192], *page;
    label found[32];
    size_t n = 0, at = (size_t)snprintf(document, sizeof document,
                                        "{\"schema\": \"hone.optimize/1\", \"model\": \"m.onnx\", "
                                        "\"metric\": \"top1\", \"is_share\": true, \"rows\": [");
    for (int i = 0; i < 12; i++)
        at += (size_t)snprintf(document + at, sizeof document - at,
                               "%s{\"name\": \"candidate-%02d\", \"state\": \"%s\", \"ms\": 1, "
                               "\"speed\": %.4f, \"file_bytes\": %d, \"value\": %.5f}",
                               i > 0 ? ", " : "", i,
                               i == 0   ? "original"
                               : i == 7 ? "chosen"
                                        : "passed",
                               1 + 0.002 * i, 1000 * (20 - i), 0.9 + 0.0001 * (i % 3));
    snprintf(document + at, sizeof document - at, "]}");
    page = page_of(document);
    for (const char *t = page; (t = strstr(t, "dy=\".35em\">candidate-")) != NULL; t++) {
        const char *open = t;
        double x, y;
        while (strncmp(open, "<text class=\"", 13) != 0) open--;
        char kind = open[13];
        assert_int_equal(sscanf(strstr(open, " x="), " x=\"%lf\" y=\"%lf\"", &x, &y), 2);
        double wide = 12 * 6.5, left = kind == 'e' ? x - wide : kind == 'm' ? x - wide / 2 : x;
        assert_true(n < 32 && left >= 0 && left + wide <= 720);
        found[n++] = (label){left, y - 6, left + wide, y + 6};
    }
    assert_int_equal(n, 12);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(found[i].left < found[k].right && found[k].left < found[i].right &&
                         found[i].top < found[k].bottom && found[k].top < found[i].bottom);
    free(page);
}

/* A label that is too long loses what all have in common; what tells them apart stays. */
static void labels_keep_what_differs(void **state) {
    (void)state;
    char *page = page_of(
        "{\"schema\": \"hone.bench/1\", \"model\": \"m.onnx\", \"batch\": 1, \"threads\": 16, "
        "\"precision\": \"f32-relaxed\", \"isa\": \"avx512vnni\", \"latency_ms\": {\"p50\": 2}} "
        "{\"schema\": \"hone.bench/1\", \"model\": \"m.onnx\", \"batch\": 8, \"threads\": 16, "
        "\"precision\": \"f32-relaxed\", \"isa\": \"avx512vnni\", \"latency_ms\": {\"p50\": 3}}");
    assert_non_null(strstr(page, ">batch 1, 16 threads, f32-relaxe\xe2\x80\xa6<"));
    assert_non_null(strstr(page, ">batch 8, 16 threads, f32-relaxe\xe2\x80\xa6<"));
    free(page);
    page = page_of(
        "{\"schema\": \"hone.profile/1\", \"steps\": ["
        "{\"node\": \"a/long/path/that/all/nodes/have/in/common/1\", \"op\": \"Conv\", \"ms\": 1}, "
        "{\"node\": \"a/long/path/that/all/nodes/have/in/common/2\", \"op\": \"Conv\", \"ms\": "
        "2}]}");
    assert_non_null(strstr(page, ">\xe2\x80\xa6that/all/nodes/have/in/common/1<"));
    free(page);
    page = page_of(
        "{\"schema\": \"hone.profile/1\", \"steps\": ["
        "{\"node\": \"\xc3\xa9ncoder/long/path/that/all/nodes/have/1\", \"op\": \"Conv\", \"ms\": "
        "1}, "
        "{\"node\": \"decoder/long/path/that/all/nodes/have/2\", \"op\": \"Conv\", \"ms\": 2}]}");
    assert_non_null(strstr(page, ">\xc3\xa9ncoder/long/p\xe2\x80\xa6"));
    assert_non_null(strstr(page, "ll/nodes/have/1<"));
    free(page);
}

/* One line says how noisy the machine was, for all configurations. */
static void noise_is_said_once(void **state) {
    (void)state;
    char document[2000] = "";
    for (int i = 1; i <= 3; i++)
        snprintf(document + strlen(document), sizeof document - strlen(document),
                 "{\"schema\": \"hone.bench/1\", \"model\": \"m.onnx\", \"batch\": %d, "
                 "\"latency_ms\": {\"p50\": 2}, \"noise\": 0.%d, \"stable\": %s}\n",
                 i, i, i == 2 ? "true" : "false");
    char *page = page_of(document);
    assert_int_equal(count(page, "The machine was noisy"), 1);
    assert_non_null(
        strstr(page, "in 2 of 3 configurations: windows of runs differ by up to 30.0 %."));
    free(page);
}

/* What colours, areas and axes stand for is written beside the plots. */
static void plots_are_explained(void **state) {
    (void)state;
    static const struct {
        const char *verb, *text;
    } cases[] = {
        {"optimize",
         "the area of a mark is the size of its file. A line joins those that are "
         "fastest for their accuracy.</p>"},
        {"eval", "label \xe2\x86\x93, answer \xe2\x86\x92</text>"},
        {"eval", "</svg>right answers</li>"},
        {"eval", "</svg>mistakes</li>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *document = sample(cases[i].verb), *page = page_of(document);
        if (strstr(page, cases[i].text) == NULL) fail_msg("there is no \"%s\"", cases[i].text);
        free(document);
        free(page);
    }
    /* Bars of steps have the colours of the roofline, and say so as it does. */
    char *document = sample("profile"), *page = page_of(document);
    assert_int_equal(count(page, "limited by memory</li>"), 2);
    free(document);
    free(page);
}

static void text_is_escaped(void **state) {
    (void)state;
    char *page = page_of(
        "{\"schema\": \"hone.profile/1\", \"command\": \"hone 'a&b' <c>\", "
        "\"model\": \"<script>alert(1)</script>\", \"steps\": [{\"node\": "
        "\"a\\\"><b onload=x>\\u0001\", \"op\": \"&amp;\", \"ms\": 1}]}");
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<b onload"));
    assert_non_null(strstr(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(page, "a&quot;&gt;&lt;b onload=x&gt;\xef\xbf\xbd"));
    assert_non_null(strstr(page, "&amp;amp;"));
    assert_non_null(strstr(page, "hone &#39;a&amp;b&#39; &lt;c&gt;"));
    free(page);
}

/* No number that a document may hold gets into the page as one that SVG does not know. */
static void odd_numbers(void **state) {
    (void)state;
    static const char *const bad[] = {"\"nan", "\"-nan", "\"inf", "\"-inf", ">nan", ">inf"};
    char *document = sample("odd"), *page = page_of(document);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_null(strstr(page, bad[i]));
    free(document);
    free(page);
}

/* Of very many steps the longest are shown, and the page says so. */
static void many_steps(void **state) {
    (void)state;
    enum { STEPS = 6000 };
    char *document = malloc(STEPS * 64 + 64);
    assert_non_null(document);
    char *to = document + sprintf(document, "{\"schema\": \"hone.profile/1\", \"steps\": [");
    for (int i = 0; i < STEPS; i++)
        to += sprintf(to, "%s{\"node\": \"n%d\", \"ms\": %d, \"flops\": 5, \"bytes\": 1}",
                      i > 0 ? ", " : "", i, i + 1);
    strcpy(to, "]}");
    char *page = page_of(document);
    assert_non_null(strstr(page, "The 5000 longest of 6000 steps"));
    assert_non_null(strstr(page, "<td>n5999"));
    assert_null(strstr(page, "<td>n999<"));
    assert_int_equal(count(page, "class=\"mark"), 20 + 4000);
    free(document);
    free(page);
}

static void same_document_same_bytes(void **state) {
    (void)state;
    char *document = sample("profile"), *a = page_of(document), *b = page_of(document);
    assert_string_equal(a, b);
    free(document);
    free(a);
    free(b);
}

static void bad_documents(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "d: there is nothing in it"},
        {"\n\n{\"schema\"\n: ", "d: line 4: not JSON"},
        {"{\"schema\": NaN}", "d: line 1: not JSON"},
        {"[]", "d: line 1: found a list; an object is wanted"},
        {"{}", "d: line 1: there is no key schema"},
        {"{\"schema\": 1}", "d: line 1: there is no key schema"},
        {"{\"schema\": \"hone.bench\"}", "schema is 'hone.bench'; hone.VERB/1 is wanted"},
        {"{\"schema\": \"hone.bench/12\"}", "schema is 'hone.bench/12'"},
        {"{\"schema\": \"hone.ops/1\"} {\"schema\": \"hone.bench/1\"} x", "d: line 1: not JSON"},
        {"{\"schema\": \"hone.profile/1\", \"steps\": {}}",
         "d: line 1: steps is an object; a list is wanted"},
        {"\n{\"schema\": \"hone.profile/1\", \"steps\": [3]}",
         "d: line 2: steps[0] is a number; an object is wanted"},
        {"{\"schema\": \"hone.profile/1\", \"steps\": [{}, {\"node\": false}]}",
         "steps[1].node is false; a text is wanted"},
        {"{\"schema\": \"hone.profile/1\", \"steps\": [{}], \"machine\": {\"peaks\": 1}}",
         "machine.peaks is a number; a list is wanted"},
        {"{\"schema\": \"hone.bench/1\", \"latency_ms\": 3}",
         "d: line 1: latency_ms is a number; an object is wanted"},
        {"{\"schema\": \"hone.bench/1\", \"latency_ms\": {\"p50\": \"3\"}}",
         "latency_ms.p50 is a text; a number is wanted"},
        {"{\"schema\": \"hone.bench/1\", \"histogram\": {\"low_ms\": 0, \"high_ms\": 1, "
         "\"counts\": [\"x\"]}}",
         "histogram.counts[0] is a text; a number is wanted"},
        {"{\"schema\": \"hone.eval/1\", \"confusion\": [[1, 0], 2]}",
         "confusion[1] is a number; a list is wanted"},
        {"{\"schema\": \"hone.eval/1\", \"confusion\": [[1, 0], [0, true]]}",
         "confusion[1][1] is true; a number is wanted"},
        /* What no section shows is checked as well. */
        {"{\"schema\": \"hone.bench/1\", \"fastest_ms\": [1, \"2\"]}",
         "fastest_ms[1] is a text; a number is wanted"},
        {"{\"schema\": \"hone.compare/1\", \"bisect\": {\"steps\": [{\"op\": 1}]}}",
         "bisect.steps[0].op is a number; a text is wanted"},
        {"{\"schema\": \"hone.inspect/1\", \"inputs\": [{\"dims\": [1, {}]}]}",
         "inputs[0].dims[1] is an object; a number or a text is wanted"},
        {"{\"schema\": \"hone.inspect/1\", \"dims\": {\"batch\": 1, \"n\": []}}",
         "dims.n is a list; a number is wanted"},
        {"{\"schema\": \"hone.check/1\", \"findings\": [null]}",
         "findings[0] is null; a text is wanted"},
        {"{\"schema\": \"hone.else/1\", \"command\": 1}", "command is a number; a text is wanted"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hn_error err = {0};
        const char *name = "d";
        hone_status status =
            hn_report_write(&rows[i].text, 1, scratch_path("page.html"), &name, &scratch_mem, &err);
        if (status == HONE_E_UNSUPPORTED) skip();
        assert_int_equal(status, HONE_E_FORMAT);
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("row %zu says '%s', not '%s'", i, err.text, rows[i].says);
        assert_int_equal(scratch_count(), 0);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    char *document = sample("profile");
    const char *texts[] = {document};
    hone_status status = HONE_E_NOMEM;
    for (int n = 0; status == HONE_E_NOMEM; n++) {
        hn_error err;
        atomic_store(&scratch_mem.fail_after, n);
        status = hn_report_write(texts, 1, scratch_path("page.html"), NULL, &scratch_mem, &err);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
        assert_true(status == HONE_OK || scratch_count() == 0);
    }
    atomic_store(&scratch_mem.fail_after, -1);
    free(document);
    if (status == HONE_E_UNSUPPORTED) skip();
    assert_int_equal(status, HONE_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_value_is_a_mark),
        TEST(plots_have_tables),
        TEST(labels_tell_models_apart),
        TEST(losses_are_a_curve),
        TEST(labels_keep_what_differs),
        TEST(noise_is_said_once),
        TEST(plots_are_explained),
        TEST(text_is_escaped),
        TEST(odd_numbers),
        TEST(many_steps),
        TEST(same_document_same_bytes),
        TEST(bad_documents),
        TEST(out_of_memory),
        TEST(optimizations_are_shown),
        TEST(names_do_not_overlap),
        TEST(quantizations_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/models.h"
#include "support/scratch.h"

static hone_model *load(const char *path) {
    hone_error err;
    hone_model *m = NULL;
    ASSERT_OK(hone_model_load(&m, path, NULL, &err), err);
    return m;
}

/* The bytes of a file; free them. */
static unsigned char *bytes_of(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *bytes = malloc(1 << 20);
    *n = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* ---- loading ---- */

static void inputs_and_outputs_are_described(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(DIGITS);
    hone_value_info v;
    assert_int_equal(hone_model_n_inputs(m), 1);
    assert_int_equal(hone_model_n_outputs(m), 1);
    ASSERT_OK(hone_model_input(m, 0, &v, &err), err);
    assert_string_equal(v.name, "image");
    assert_int_equal(v.dtype, HONE_DTYPE_F32);
    assert_int_equal(v.rank, 4);
    assert_int_equal(v.dims[0], -1);
    assert_string_equal(v.dim_names[0], "batch");
    assert_int_equal(v.dims[1], 1);
    assert_null(v.dim_names[1]);
    assert_int_equal(v.dims[3], 28);
    ASSERT_OK(hone_model_output(m, 0, &v, &err), err);
    assert_string_equal(v.name, "logits");
    assert_int_equal(v.rank, 2);
    ASSERT_FAILS(hone_model_input(m, 1, &v, &err), err, HONE_E_ARG, "the model has 1");
    ASSERT_FAILS(hone_model_output(m, 9, &v, &err), err, HONE_E_ARG, "output 9");
    assert_string_equal(v.name, "logits");
    hone_model_destroy(m);
    hone_model_destroy(NULL);
}

static void append_line(void *ctx, const char *location) {
    strcat(ctx, location);
    strcat(ctx, "\n");
}

static void files_of_external_data_are_named(void **state) {
    (void)state;
    hone_error err;
    char names[2000] = "";
    ASSERT_OK(hone_model_files(MODEL("external"), append_line, names, &err), err);
    assert_non_null(strstr(names, "external.data\n"));
    names[0] = '\0';
    ASSERT_OK(hone_model_files(DIGITS, append_line, names, &err), err);
    assert_string_equal(names, "");
    ASSERT_FAILS(hone_model_files("/nowhere.onnx", append_line, names, &err), err, HONE_E_IO,
                 "nowhere");
    /* Files that lie elsewhere are no business of a model's. */
    size_t n;
    unsigned char *bytes = bytes_of(MODEL("external"), &n);
    for (size_t i = 0; i + 13 <= n; i++)
        if (memcmp(bytes + i, "external.data", 13) == 0) memcpy(bytes + i, "../ernal.data", 13);
    ASSERT_FAILS(hone_model_files(scratch_put("m.onnx", bytes, n), append_line, names, &err), err,
                 HONE_E_MODEL, "'../ernal.data' is not inside the model's folder");
    free(bytes);
}

static void a_machine_is_read_from_a_file(void **state) {
    (void)state;
    hone_error err;
    hone_machine *m = NULL;
    ASSERT_FAILS(hone_machine_read(&m, scratch_put_text("m.json", "{}"), &err), err, HONE_E_FORMAT,
                 "m.json: line 1: there is no key schema");
    ASSERT_FAILS(hone_machine_read(&m, scratch_put("m.json", "{}\0", 3), &err), err, HONE_E_FORMAT,
                 "is not text");
    ASSERT_FAILS(hone_machine_read(&m, "/nowhere.json", &err), err, HONE_E_IO, "nowhere");
    ASSERT_FAILS(hone_machine_read(&m, NULL, &err), err, HONE_E_ARG, "path is NULL");
    assert_null(m);
}

static void an_input_with_a_default_need_not_be_given(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(MODEL("add"));
    hone_value_info v;
    assert_int_equal(hone_model_n_inputs(m), 2);
    ASSERT_OK(hone_model_input(m, 1, &v, &err), err);
    assert_string_equal(v.name, "b");
    hone_model_destroy(m);
}

static void a_file_can_be_copied_instead_of_mapped(void **state) {
    (void)state;
    hone_error err;
    hone_load_options o;
    hone_model *m;
    hone_load_options_init(&o);
    o.no_mmap = true;
    ASSERT_OK(hone_model_load(&m, DIGITS, &o, &err), err);
    hone_model_destroy(m);
    o.size = 4; /* an older program, whose struct ended before no_mmap */
    ASSERT_OK(hone_model_load(&m, DIGITS, &o, &err), err);
    hone_model_destroy(m);
}

static void what_cannot_be_read_is_told(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    ASSERT_FAILS(hone_model_load(&m, "/no/such.onnx", NULL, &err), err, HONE_E_IO, "/no/such.onnx");
    ASSERT_FAILS(hone_model_load(&m, "/tmp", NULL, &err), err, HONE_E_IO, "/tmp");
    const char *path = scratch_put("empty.onnx", "", 0);
    ASSERT_FAILS(hone_model_load(&m, path, NULL, &err), err, HONE_E_FORMAT, "empty.onnx");
    path = scratch_put_text("text.onnx", "this is not a model");
    ASSERT_FAILS(hone_model_load(&m, path, NULL, &err), err, HONE_E_FORMAT, "text.onnx");
    ASSERT_FAILS(hone_model_load(&m, MODEL("broken"), NULL, &err), err, HONE_E_MODEL,
                 "broken.onnx");
    assert_null(m);
    assert_int_equal(hone_model_load(&m, "/no/such.onnx", NULL, NULL),
                     HONE_E_IO); /* no error asked */
}

/* Cut anywhere, a model is refused or it is a smaller model; it never does harm. */
static void every_truncation_is_survived(void **state) {
    (void)state;
    size_t n;
    unsigned char *bytes = bytes_of(MODEL("add"), &n);
    size_t refused = 0;
    for (size_t cut = 0; cut < n; cut++) {
        hone_error err;
        hone_model *m = NULL;
        unsigned char *piece = malloc(cut + 1); /* sanitizers see reads behind it */
        memcpy(piece, bytes, cut);
        hone_status status = hone_model_load_memory(&m, piece, cut, &err);
        refused += status != HONE_OK;
        assert_true((status == HONE_OK) == (m != NULL));
        hone_model_destroy(m);
        free(piece);
    }
    assert_true(refused > n * 9 / 10);
    free(bytes);
}

static void memory_is_copied(void **state) {
    (void)state;
    hone_error err;
    hone_model *m;
    size_t n;
    unsigned char *bytes = bytes_of(DIGITS, &n);
    ASSERT_OK(hone_model_load_memory(&m, bytes, n, &err), err);
    memset(bytes, 0xff, n);
    free(bytes);
    hone_inspection *in;
    ASSERT_OK(hone_model_inspect(m, NULL, 0, &in, &err), err);
    assert_int_equal(in->params, 27002);
    assert_int_equal(in->file_bytes, n);
    hone_inspection_destroy(in);
    hone_model_destroy(m);
}

static void external_data_needs_a_folder(void **state) {
    (void)state;
    hone_error err;
    size_t n;
    hone_model *m = load(MODEL("external"));
    hone_model_destroy(m);
    m = NULL;
    unsigned char *bytes = bytes_of(MODEL("external"), &n);
    ASSERT_FAILS(hone_model_load_memory(&m, bytes, n, &err), err, HONE_E_MODEL, "external.data");
    free(bytes);
    assert_null(m);
}

/* ---- inspection ---- */

static void the_digits_model_adds_up(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(DIGITS);
    hone_inspection *in;
    ASSERT_OK(hone_model_inspect(m, NULL, 0, &in, &err), err);
    assert_int_equal(in->params, 27002);
    assert_int_equal(in->trainable, 26586);
    assert_int_equal(in->params_bytes, 27002 * 4);
    assert_int_equal(in->bytes_at[0], 27002 * 4);
    assert_int_equal(in->bytes_at[1], 27002 * 2);
    assert_int_equal(in->bytes_at[2], 27002);
    assert_int_equal(in->bytes_at[3], 27002 / 2);
    assert_int_equal(in->bytes_at[4], (27002 + 7) / 8);
    assert_int_equal(in->macs_unknown, 0);
    assert_int_equal(in->opset, 17);
    assert_int_equal(in->ir_version, 8);
    assert_string_equal(in->opsets, "ai.onnx 17");
    assert_int_equal(in->n_nodes, 22);
    assert_int_equal(in->n_dtypes, 1);
    assert_int_equal(in->dtypes[0].dtype, HONE_DTYPE_F32);
    assert_int_equal(in->n_dims, 1);
    assert_string_equal(in->dims[0].name, "batch");
    assert_int_equal(in->dims[0].value, 1);

    /* Hand-counted: outputs x weights per output, of each Conv and the Gemm. */
    int64_t macs = 28 * 28 * 16 * 9 + 14 * 14 * 32 * 16 * 9 + 2 * (14 * 14 * 32 * 32 * 9) +
                   7 * 7 * 32 * 9 + 7 * 7 * 64 * 32 + 64 * 10;
    assert_int_equal(in->macs, macs);
    int64_t params = 0, by_node = 0, count = 0, by_op = 0;
    for (size_t i = 0; i < in->n_nodes; i++) {
        params += in->nodes[i].params;
        by_node += in->nodes[i].macs;
        assert_true(in->nodes[i].supported);
    }
    for (size_t i = 0; i < in->n_ops; i++) {
        count += in->ops[i].count;
        by_op += in->ops[i].macs;
    }
    assert_int_equal(params, in->params);
    assert_int_equal(by_node, macs);
    assert_int_equal(by_op, macs);
    assert_int_equal(count, 22);
    assert_string_equal(in->ops[0].op, "Conv");
    assert_string_equal(in->nodes[0].output_type, "f32[batch, 16, 28, 28]");
    /* Conv reads the image and its weights, and writes 16 planes. */
    assert_int_equal(in->nodes[0].read_bytes, (28 * 28 + 16 * 9) * 4);
    assert_int_equal(in->nodes[0].written_bytes, 28 * 28 * 16 * 4);
    /* Where 16 planes of 28 x 28 go through BatchNormalization, two copies live. */
    assert_int_equal(in->activation_peak, 2 * 16 * 28 * 28 * 4);
    hone_inspection_destroy(in);

    hone_dim_value batch = {"batch", 8};
    ASSERT_OK(hone_model_inspect(m, &batch, 1, &in, &err), err);
    assert_int_equal(in->macs, 8 * macs);
    assert_int_equal(in->dims[0].value, 8);
    hone_inspection_destroy(in);
    hone_dim_value wrong = {"bach", 8};
    in = NULL;
    ASSERT_FAILS(hone_model_inspect(m, &wrong, 1, &in, &err), err, HONE_E_NOT_FOUND,
                 "no symbolic dim 'bach'; it has batch");
    assert_null(in);
    hone_inspection_destroy(NULL);
    hone_model_destroy(m);
}

static void an_unknown_operator_can_be_looked_at(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(MODEL("unknown"));
    hone_inspection *in;
    ASSERT_OK(hone_model_inspect(m, NULL, 0, &in, &err), err);
    assert_int_equal(in->macs_unknown, 1);
    assert_false(in->nodes[0].supported);
    assert_string_equal(in->nodes[0].domain, "com.example");
    assert_int_equal(in->nodes[0].macs, -1);
    assert_true(in->nodes[1].supported);
    hone_inspection_destroy(in);
    hone_model_destroy(m);
}

/* ---- conformance ---- */

typedef struct findings {
    int n;
    char text[16][300];
} findings;

static void on_finding(void *ctx, const char *text) {
    findings *f = ctx;
    if (f->n < 16) snprintf(f->text[f->n], sizeof f->text[0], "%s", text);
    f->n++;
}

static void findings_are_reported_one_by_one(void **state) {
    (void)state;
    hone_error err;
    findings f = {0};
    size_t n = 99;
    ASSERT_OK(hone_model_check(DIGITS, on_finding, &f, &n, &err), err);
    assert_int_equal(n, 0);
    assert_int_equal(f.n, 0);
    ASSERT_OK(hone_model_check(MODEL("broken"), on_finding, &f, &n, &err), err);
    assert_true(n > 0);
    assert_int_equal(f.n, n);
    for (int i = 0; i < f.n && i < 16; i++) assert_null(strchr(f.text[i], '\n'));
    n = 99;
    ASSERT_FAILS(hone_model_check("/no/such.onnx", on_finding, &f, &n, &err), err, HONE_E_IO,
                 "/no/such.onnx");
    assert_int_equal(n, 99);
}

/* ---- saving ---- */

static void a_model_is_saved_and_read_again(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(DIGITS), *again;
    const char *path = scratch_path("again.onnx");
    ASSERT_OK(hone_model_save(m, path, NULL, &err), err);
    again = load(path);
    hone_inspection *in;
    ASSERT_OK(hone_model_inspect(again, NULL, 0, &in, &err), err);
    assert_int_equal(in->params, 27002);
    assert_int_equal(in->opset, 17);
    hone_inspection_destroy(in);
    hone_model_destroy(again);
    assert_int_equal(scratch_count(), 1); /* no temporary file is left */

    hone_save_options o;
    hone_save_options_init(&o);
    o.opset = 19;
    o.external_min = 1000;
    const char *other = scratch_path("other.onnx");
    ASSERT_OK(hone_model_save(m, other, &o, &err), err);
    assert_int_equal(access(scratch_path("other.onnx.data"), R_OK), 0);
    again = load(other);
    ASSERT_OK(hone_model_inspect(again, NULL, 0, &in, &err), err);
    assert_int_equal(in->params, 27002);
    assert_int_equal(in->opset, 19);
    hone_inspection_destroy(in);
    hone_model_destroy(again);
    hone_model_destroy(m);
}

static int64_t bytes_of_model(hone_model *m) {
    hone_inspection *in;
    hone_error err;
    ASSERT_OK(hone_model_inspect(m, NULL, 0, &in, &err), err);
    int64_t bytes = in->file_bytes;
    hone_inspection_destroy(in);
    return bytes;
}

static int64_t bytes_of_file(const char *path) {
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    return s.st_size;
}

static void external_data_counts_as_size(void **state) {
    (void)state;
    hone_error err;
    hone_save_options o;
    hone_model *m = load(MODEL("external"));
    assert_int_equal(bytes_of_model(m), bytes_of_file(MODEL("external")) + 16);
    hone_model_destroy(m);

    m = load(DIGITS);
    hone_save_options_init(&o);
    o.external_min = 1000;
    const char *path = scratch_path("far.onnx");
    ASSERT_OK(hone_model_save(m, path, &o, &err), err);
    int64_t bytes = bytes_of_file(path) + bytes_of_file(scratch_path("far.onnx.data"));
    assert_true(bytes > 27002 * 4);
    assert_int_equal(bytes_of_model(m), bytes);
    hone_model_destroy(m);

    m = load(path);
    assert_int_equal(bytes_of_model(m), bytes);
    hone_quantize_options q;
    hone_model *made;
    hone_quantize_options_init(&q);
    q.type = "int8-weights";
    ASSERT_OK(hone_model_quantize(&made, m, NULL, &q, NULL, &err), err);
    ASSERT_OK(hone_model_save(made, scratch_path("near.onnx"), NULL, &err), err);
    assert_int_equal(bytes_of_model(made), bytes_of_file(scratch_path("near.onnx")));
    hone_model_destroy(made);
    hone_model_destroy(m);
}

static void what_the_model_came_from_is_not_overwritten(void **state) {
    (void)state;
    hone_error err;
    size_t n;
    unsigned char *bytes = bytes_of(MODEL("add"), &n);
    const char *path = scratch_put("m.onnx", bytes, n);
    free(bytes);
    hone_model *m = load(path);
    ASSERT_FAILS(hone_model_save(m, path, NULL, &err), err, HONE_E_ARG, "m.onnx");
    assert_int_equal(symlink("m.onnx", scratch_path("link.onnx")), 0);
    ASSERT_FAILS(hone_model_save(m, scratch_path("link.onnx"), NULL, &err), err, HONE_E_ARG,
                 "link.onnx");
    ASSERT_FAILS(hone_model_save(m, scratch_path("no/m.onnx"), NULL, &err), err, HONE_E_IO,
                 "no/m.onnx");
    assert_int_equal(scratch_count(), 2);
    hone_model_destroy(m);
}

static void an_opset_that_cannot_say_it_is_refused(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(MODEL("newer"));
    hone_save_options o;
    hone_save_options_init(&o);
    o.opset = 17;
    ASSERT_FAILS(hone_model_save(m, scratch_path("old.onnx"), &o, &err), err, HONE_E_UNSUPPORTED,
                 "Gelu 'gelu'");
    o.opset = -1;
    ASSERT_FAILS(hone_model_save(m, scratch_path("old.onnx"), &o, &err), err, HONE_E_ARG, "-1");
    assert_int_equal(scratch_count(), 0);
    hone_model_destroy(m);
}

/* ---- the text form ---- */

static void text_goes_both_ways(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    ASSERT_OK(hone_model_load_text(&m,
                                   "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                   "g (float[n,2] x) => (float[n,2] y) <float[2] w = {1, 2}> {\n"
                                   "    y = Mul (x, w)\n"
                                   "}",
                                   &err),
              err);
    char *first, *second;
    ASSERT_OK(hone_model_print(m, &first, &err), err);
    assert_non_null(strstr(first, "y = Mul (x, w)"));
    hone_value_info v;
    ASSERT_OK(hone_model_output(m, 0, &v, &err), err);
    assert_string_equal(v.dim_names[0], "n");
    hone_model_destroy(m);
    ASSERT_OK(hone_model_load_text(&m, first, &err), err);
    ASSERT_OK(hone_model_print(m, &second, &err), err);
    assert_string_equal(first, second);
    hone_model_destroy(m);
    hone_free(first);
    hone_free(second);

    m = NULL;
    ASSERT_FAILS(hone_model_load_text(&m, "<ir_version: 8>\ng (", &err), err, HONE_E_FORMAT, "2:4");
    ASSERT_FAILS(
        hone_model_load_text(&m,
                             "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                             "g (float[2] x, float[3] w) => (float[2] y) { y = Mul (x, w) }",
                             &err),
        err, HONE_E_SHAPE, "Mul");
    assert_null(m);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_and_outputs_are_described),
        WITH_FILES(files_of_external_data_are_named),
        WITH_FILES(a_machine_is_read_from_a_file),
        cmocka_unit_test(an_input_with_a_default_need_not_be_given),
        cmocka_unit_test(a_file_can_be_copied_instead_of_mapped),
        WITH_FILES(what_cannot_be_read_is_told),
        cmocka_unit_test(every_truncation_is_survived),
        cmocka_unit_test(memory_is_copied),
        cmocka_unit_test(external_data_needs_a_folder),
        cmocka_unit_test(the_digits_model_adds_up),
        cmocka_unit_test(an_unknown_operator_can_be_looked_at),
        cmocka_unit_test(findings_are_reported_one_by_one),
        WITH_FILES(a_model_is_saved_and_read_again),
        WITH_FILES(external_data_counts_as_size),
        WITH_FILES(what_the_model_came_from_is_not_overwritten),
        WITH_FILES(an_opset_that_cannot_say_it_is_refused),
        cmocka_unit_test(text_goes_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "compress/lineage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"
#include "formats/onnx.h"
#include "formats/package.h"
#include "support/graph.h"
#include "support/scratch.h"

static hn_error err;

static hn_model *model(void) {
    return graph_model(21, "g (float[2] x) => (float[2] y) { y = Relu (x) }");
}

static void what_is_there_is_replaced(void **state) {
    (void)state;
    hn_model *m = model();
    hn_prop given[] = {{"mine", "kept"}, {"hone.data", "old"}, {"hone.recipe", "old"}};
    m->metadata = (hn_props){3, given};
    assert_int_equal(hn_lineage_write(m, &(hn_lineage){"s", NULL, "r"}, &err), HONE_OK);
    assert_int_equal(m->metadata.n, 4);
    assert_string_equal(hn_model_metadata(m, "mine"), "kept");
    assert_string_equal(hn_model_metadata(m, "hone.source"), "s");
    assert_string_equal(hn_model_metadata(m, "hone.recipe"), "r");
    assert_string_equal(hn_model_metadata(m, "hone.version"), hone_version());
    assert_null(hn_model_metadata(m, "hone.data")); /* of another making */
    assert_int_equal(hn_lineage_write(m, &(hn_lineage){"s", "d", "r"}, &err), HONE_OK);
    assert_int_equal(m->metadata.n, 5);
    assert_string_equal(hn_model_metadata(m, "hone.data"), "d");
    hn_model_destroy(m);
}

static void a_source_is_its_file(void **state) {
    (void)state;
    hn_model *m = model(), *read;
    char hex[HN_SHA256_HEX], want[HN_SHA256_HEX];
    hn_file *file;
    assert_int_equal(hn_onnx_save_memory(&file, m, NULL, &err), HONE_OK);
    hn_sha256(file->data, file->bytes, want);
    assert_int_equal(hn_lineage_source(m, hex, &err), HONE_OK);
    assert_string_equal(hex, want);
    const char *path = scratch_put("m.onnx", file->data, file->bytes);
    assert_int_equal(hn_onnx_load(&read, path, NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_lineage_source(read, hex, &err), HONE_OK);
    assert_string_equal(hex, want);
    hn_model_destroy(read);
    /* Of a package, the ONNX file in it. */
    const char *package = scratch_path("m.hone");
    assert_int_equal(hn_package_write(package, path, NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_onnx_load(&read, package, NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_lineage_source(read, hex, &err), HONE_OK);
    assert_string_equal(hex, want);
    hn_file_unref(file);
    hn_model_destroy(read);
    hn_model_destroy(m);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_there_is_replaced),
        TEST(a_source_is_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

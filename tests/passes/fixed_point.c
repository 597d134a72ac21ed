/* One run of simplify is enough: a second one on what the first has written fires nothing, for
 * every model at hand. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "support/paths.h"
#include "support/settled.h"

enum { MOST_BYTES = 20 << 20 }; /* of a file; larger ones take long and show nothing new */

static hn_allocator mem;
static hn_error err;

static void check_file(const char *path) {
    hn_model *m;
    struct stat st;
    if (stat(path, &st) != 0 || st.st_size > MOST_BYTES) return;
    if (hn_onnx_load(&m, path, NULL, &mem, &err) != HONE_OK) return; /* made to be refused */
    if (hn_model_infer(m, NULL, &err) == HONE_OK) assert_settles(m, path, &mem);
    hn_model_destroy(m);
}

static void check_folder(const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        char path[4600];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (n > 5 && strcmp(e->d_name + n - 5, ".onnx") == 0) check_file(path);
    }
    if (d != NULL) closedir(d);
}

static void models_of_the_repository(void **state) {
    (void)state;
    check_folder(HN_SOURCE_DIR "/models");
    check_folder(HN_SOURCE_DIR "/tests/models");
}

/* Before opset 18 axes of reductions are attributes, and an initializer with the same axes is not
 * used by them in the file. */
static void an_initializer_that_only_lifted_inputs_use_goes(void **state) {
    (void)state;
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "g (float[2,3,4] x) => (float[2,1,4] y) <int64[1] one = {1}> {\n"
        "  a = ReduceMean <axes: ints = [1], keepdims: int = 0> (x)\n"
        "  y = Unsqueeze (a, one)\n"
        "}\n";
    hn_model *m, *again;
    hn_file *file;
    assert_int_equal(hn_text_parse(&m, text, strlen(text), NULL, &mem, &err), HONE_OK);
    hn_model_bind_ops(m);
    assert_settles(m, "ReduceMean and Unsqueeze", &mem);
    assert_int_equal(hn_onnx_save_memory(&file, m, NULL, &err), HONE_OK);
    assert_int_equal(hn_onnx_load_memory(&again, file, NULL, &mem, &err), HONE_OK);
    for (int i = 0; i < again->graph->n_values; i++) assert_null(again->graph->values[i]->constant);
    hn_file_unref(file);
    hn_model_destroy(again);
    hn_model_destroy(m);
}

static void models_among_the_assets(void **state) {
    (void)state;
    const char *assets = test_assets();
    if (assets == NULL) skip();
    char folder[4200];
    snprintf(folder, sizeof folder, "%s/models", assets);
    check_folder(folder);
}

int main(void) {
    hn_allocator_init(&mem);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_the_repository),
        cmocka_unit_test(an_initializer_that_only_lifted_inputs_use_goes),
        cmocka_unit_test(models_among_the_assets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

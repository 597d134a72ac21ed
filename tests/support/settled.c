#include "support/settled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "passes/simplify.h"

static void simplify(hn_model *m, const char *what, hn_pass_report *r) {
    hn_simplify_options o = hn_simplify_defaults();
    hn_error err;
    if (hn_simplify(m, &o, r, &err) != HONE_OK) fail_msg("%s: %s", what, err.text);
}

void assert_settles(hn_model *m, const char *what, hn_allocator *alloc) {
    hn_pass_report r;
    hn_error err;
    hn_file *file;
    hn_model *again;
    simplify(m, what, &r);
    if (hn_onnx_save_memory(&file, m, NULL, &err) != HONE_OK) fail_msg("%s: %s", what, err.text);
    if (hn_onnx_load_memory(&again, file, NULL, alloc, &err) != HONE_OK)
        fail_msg("%s: %s", what, err.text);
    hn_file_unref(file);
    simplify(again, what, &r);
    hn_model_destroy(again);
    char passes[400] = "";
    int n = 0;
    for (int i = 0; i < HN_PASS_COUNT_; i++)
        if (r.pass[i].fired > 0 && n < (int)sizeof passes)
            n += snprintf(passes + n, sizeof passes - (size_t)n, " %s", hn_pass_name(i));
    if (n > 0) fail_msg("%s: a second run fires%s", what, passes);
}

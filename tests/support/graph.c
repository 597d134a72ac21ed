#include "support/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "support/scratch.h"

hn_model *graph_model(int opset, const char *text) {
    char whole[1 << 15];
    hn_error err;
    hn_model *m;
    int n = snprintf(
        whole, sizeof whole,
        "<ir_version: 10, opset_import: [\"\" : %d, \"other\" : 1, \"com.microsoft\" : 1]>\n%s",
        opset, text);
    assert_true(n < (int)sizeof whole);
    hone_status status = hn_text_parse(&m, whole, strlen(whole), NULL, &scratch_mem, &err);
    if (status == HONE_OK) {
        hn_model_bind_ops(m);
        status = hn_model_infer(m, NULL, &err);
    }
    if (status != HONE_OK) fail_msg("%s", err.text);
    return m;
}

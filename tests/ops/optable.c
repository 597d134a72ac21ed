#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

static const char *domain_of(const hn_op_def *op) { return op->domain != NULL ? op->domain : ""; }

static void the_table_is_sorted(void **state) {
    (void)state;
    for (int i = 1; i < hn_n_ops; i++) {
        int order = strcmp(domain_of(hn_ops[i - 1]), domain_of(hn_ops[i]));
        if (order == 0) order = strcmp(hn_ops[i - 1]->name, hn_ops[i]->name);
        if (order >= 0)
            fail_msg("%s stands before %s in ops.def", hn_ops[i - 1]->name, hn_ops[i]->name);
    }
    assert_null(hn_ops[hn_n_ops]);
}

static void every_operator_is_found(void **state) {
    (void)state;
    for (int i = 0; i < hn_n_ops; i++)
        assert_ptr_equal(hn_op_find(domain_of(hn_ops[i]), hn_ops[i]->name), hn_ops[i]);
    assert_ptr_equal(hn_op_find("ai.onnx", "Abs"), hn_op_find("", "Abs"));
    assert_null(hn_op_find("", "abs"));
    assert_null(hn_op_find("", ""));
    assert_null(hn_op_find("", "Zzz"));
    assert_null(hn_op_find("com.microsoft", "Abs"));
    assert_null(hn_op_find("ai.onnx.ml", "Abs"));
}

static bool listed(const char *list, const char *value) {
    size_t n = strlen(value);
    for (const char *p = list; (p = strstr(p, value)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
    return false;
}

static void check_attr(const hn_op_def *op, const hn_attr_def *d) {
    assert_ptr_equal(hn_op_attr(op, d->name), d); /* no name twice */
    if (d->required && d->has_default) fail_msg("%s: '%s' needs no default", op->name, d->name);
    if (d->one_of != NULL && d->type != HN_ATTR_STRING)
        fail_msg("%s: '%s' is no text", op->name, d->name);
    if (d->one_of != NULL && d->s != NULL && !listed(d->one_of, d->s))
        fail_msg("%s: the default of '%s' is not among its values", op->name, d->name);
}

static void check_params(const hn_op_def *op, const hn_param *p, int n) {
    for (int i = 0; i < n; i++) {
        if (p[i].types == 0) fail_msg("%s: parameter %d has no types", op->name, i);
        if (p[i].variadic && i + 1 < n) fail_msg("%s: parameter %d is not the last", op->name, i);
        assert_true(p[i].name.n > 0);
    }
}

/* What a descriptor says is in itself consistent. */
static void every_descriptor(void **state) {
    (void)state;
    for (int i = 0; i < hn_n_ops; i++) {
        const hn_op_def *op = hn_ops[i];
        const hn_sig *sig = hn_op_sig(op);
        check_params(op, sig->in, sig->n_in);
        check_params(op, sig->out, sig->n_out);
        assert_true(sig->in_min <= sig->in_max && sig->out_min <= sig->out_max && sig->out_max > 0);
        int last = 0;
        for (const char *p = op->versions; *p != '\0';) {
            char *end;
            int v = (int)strtol(p, &end, 10);
            if (end == p || v <= last) fail_msg("%s: versions '%s'", op->name, op->versions);
            if (last == 0) assert_int_equal(hn_op_first_version(op), v);
            assert_int_equal(hn_op_version_at(op, v), v);
            if (last != 0) assert_int_equal(hn_op_version_at(op, v - 1), last);
            last = v;
            p = end;
        }
        assert_int_equal(hn_op_version_at(op, INT64_MAX), last);
        assert_int_equal(hn_op_version_at(op, hn_op_first_version(op) - 1), 0);
        if (domain_of(op)[0] == '\0') assert_true(last <= HN_NEWEST_OPSET);
        for (const hn_attr_def *d = op->attrs; d != NULL && d->name != NULL; d++) check_attr(op, d);
        if (op->ref == NULL) fail_msg("%s has no reference", op->name);
        if ((op->traits & HN_CONTROL) != 0) assert_true((op->traits & HN_DYNAMIC) != 0);
        if ((op->traits & HN_VIEW) != 0) assert_true(sig->in_min >= 1);
        if (op->infer == NULL) assert_true((op->traits & HN_DYNAMIC) != 0);
    }
}

static void check_words(const hn_op_def *op, const char *words) {
    char text[200];
    assert_true(strlen(words) < sizeof text);
    strcpy(text, words);
    for (char *w = strtok(text, " "); w != NULL; w = strtok(NULL, " "))
        if (hn_op_find("", w) == NULL) fail_msg("%s: there is no operator '%s'", op->name, w);
}

static void check_weights(const hn_op_def *op, const hn_weights_def *w) {
    int inputs = hn_op_sig(op)->n_in;
    assert_true(w->kind != HN_WEIGHT_NONE && w->use != NULL && w->input > 0);
    assert_true(w->input + (w->kind == HN_WEIGHT_STATE) < inputs && w->bias < inputs);
    if (w->dynamic != NULL && hn_op_find("", w->dynamic) == NULL)
        assert_non_null(hn_op_find("com.microsoft", w->dynamic));
}

/* What a descriptor says of integers is all that its role needs. */
static void integer_forms(void **state) {
    (void)state;
    int roles[HN_ROLE_COUNT_] = {0};
    for (int i = 0; i < hn_n_ops; i++) {
        const hn_op_def *op = hn_ops[i];
        const hn_quantized_def *q = op->quantized;
        roles[op->role]++;
        if (op->role == HN_ROLE_TABLE && op->function == NULL)
            fail_msg("%s: a table of no function", op->name);
        if ((op->role == HN_ROLE_LIMIT) != (op->limits != NULL))
            fail_msg("%s: limits are of role LIMIT", op->name);
        if (op->role == HN_ROLE_PRODUCT &&
            (op->weights == NULL || op->weights->kind == HN_WEIGHT_STATE))
            fail_msg("%s: a product of no weight", op->name);
        assert_true(op->least <= op->most);
        if (op->weights != NULL) check_weights(op, op->weights);
        if (q == NULL) continue;
        int inputs = hn_op_sig(op)->n_in;
        check_words(op, q->of);
        assert_true(q->weight < inputs && q->scale < inputs && q->zero < inputs);
        if (op->role != HN_ROLE_NONE) fail_msg("%s is quantized already", op->name);
    }
    for (int r = 0; r < HN_ROLE_COUNT_; r++)
        assert_int_equal(roles[r] > 0, r != HN_ROLE_BIAS && r != HN_ROLE_STATE);
}

static void signatures(void **state) {
    (void)state;
    const hn_sig *conv = hn_op_sig(hn_op_find("", "Conv"));
    assert_int_equal(conv->in_min, 2);
    assert_int_equal(conv->in_max, 3);
    assert_true(conv->in[2].optional && !conv->in[1].optional);
    assert_int_equal(conv->in[0].var, conv->out[0].var);
    const hn_sig *concat = hn_op_sig(hn_op_find("", "Concat"));
    assert_int_equal(concat->in_min, 1);
    assert_int_equal(concat->in_max, INT_MAX);
    assert_true(concat->in[0].variadic);
    const hn_sig *loop = hn_op_sig(hn_op_find("", "Loop"));
    assert_int_equal(loop->in_min, 0);
    assert_int_equal(loop->in[2].var, -1);
    const hn_sig *pool = hn_op_sig(hn_op_find("", "MaxPool"));
    assert_int_equal(pool->out_min, 1);
    assert_int_equal(pool->out_max, 2);
    assert_int_equal(pool->out[1].types, HN_DTYPE_BIT(S64));
}

static void sets_of_types(void **state) {
    (void)state;
#define SET(name) hn_op_types((hn_str){name, sizeof name - 1})
    assert_int_equal(SET("f32"), HN_DTYPE_BIT(F32));
    assert_int_equal(SET("float"), SET("ieee") | HN_DTYPE_BIT(BF16));
    assert_int_equal(SET("int"), SET("sint") | SET("uint"));
    assert_int_equal(SET("num"), SET("float") | SET("int"));
    assert_int_equal(SET("sint"),
                     HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(S16) | HN_DTYPE_BIT(S32) | HN_DTYPE_BIT(S64));
    assert_int_equal(SET("tensor"),
                     SET("num") | SET("bool") | SET("c64") | SET("c128") | SET("string"));
    assert_int_equal(SET("all"), SET("tensor") | SET("fp8") | SET("int4") | SET("int2") |
                                     SET("f4e2m1") | SET("f8e8m0"));
    assert_int_equal(SET("T"), 0);
    assert_int_equal(SET(""), 0);
}

/* ---- nodes against their descriptors ---- */

static void forms_that_are_wrong(void **state) {
    (void)state;
    static const struct {
        const char *node, *message;
    } cases[] = {
        {"y = Abs ()", "Abs (output 'y'): has 0 inputs, expected 1"},
        {"y = Abs (x, x)", "Abs (output 'y'): has 2 inputs, expected 1"},
        {"y = Conv (x)", "has 1 inputs, expected 2 to 3"},
        {"y = Conv (x, x, x, \"\")", "has 4 inputs, expected 2 to 3"},
        {"y = Conv (x, \"\", x)", "input 1 (W) is missing"},
        {"y = Concat <axis: int = 0> ()", "has 0 inputs, expected at least 1"},
        {"y = Concat <axis: int = 0> (x, \"\", x)", "input 1 (inputs) is missing"},
        {"y, z = Abs (x)", "has 2 outputs, expected 1"},
        {"\"\", y = MaxPool <kernel_shape: ints = [1]> (x)", "output 0 (Y) is missing"},
        {"y = Concat (x)", "attribute 'axis' is missing"},
        {"y = Concat <axis: float = 0.5> (x)", "attribute 'axis' is FLOAT, expected INT"},
        {"y = DepthToSpace <blocksize: int = 1, mode: string = \"CR\"> (x)",
         "attribute 'mode' is 'CR', expected one of: DCR CRD"},
        {"y = DepthToSpace <blocksize: int = 1, mode: string = \"\"> (x)",
         "attribute 'mode' is '', expected one of: DCR CRD"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        model_setup(NULL);
        snprintf(text, sizeof text, "m (float[1, 1, 1, 1] x) => (y) { %s }", cases[i].node);
        hn_model *m = model_read(text);
        assert_int_equal(hn_node_check_form(m->graph->first, &err), HONE_E_MODEL);
        if (strstr(err.text, cases[i].message) == NULL)
            fail_msg("'%s', expected '%s'", err.text, cases[i].message);
        assert_int_equal(model_teardown(NULL), 0);
    }
}

static void forms_that_are_right(void **state) {
    (void)state;
    static const char *const nodes[] = {
        "y = Abs <unknown: int = 3> (x)", /* kept */
        "y = Conv (x, x, \"\")",
        "y, \"\" = MaxPool <kernel_shape: ints = [1]> (x)",
        "y = Loop (\"\", \"\", x) <body = b (i, c, s) => (c, s) {}>",
        "y = Loop () <body = b (i, c) => (c, i) {}>",
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        char text[300];
        model_setup(NULL);
        snprintf(text, sizeof text, "m (float[1, 1, 1, 1] x) => (y) { %s }", nodes[i]);
        if (hn_node_check_form(model_read(text)->graph->first, &err) != HONE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(model_teardown(NULL), 0);
    }
}

static void attributes_and_defaults(void **state) {
    (void)state;
    hn_model *m = model_read(
        "m (float[1] x) => (y) {"
        "  a = LeakyRelu (x)"
        "  b = LeakyRelu <alpha: float = 0.5> (a)"
        "  c = AveragePool <auto_pad: string = \"VALID\", kernel_shape: ints = [2, 3]> (b)"
        "  d = AveragePool <ceil_mode: int = 1, kernel_shape: ints = [1]> (c)"
        "  y = Upsample (d)"
        "}");
    const hn_node *n = m->graph->first;
    assert_true(hn_attr_f(n, "alpha") == 0.01f);
    n = n->next;
    assert_true(hn_attr_f(n, "alpha") == 0.5f);
    n = n->next;
    int count;
    assert_true(hn_attr_is(n, "auto_pad", "VALID") && !hn_attr_is(n, "auto_pad", "NOTSET"));
    assert_int_equal(hn_attr_ints(n, "kernel_shape", &count)[1], 3);
    assert_int_equal(count, 2);
    assert_null(hn_attr_ints(n, "strides", &count));
    assert_int_equal(count, 0);
    assert_int_equal(hn_attr_i(n, "ceil_mode"), 0);
    n = n->next;
    assert_int_equal(hn_attr_i(n, "ceil_mode"), 1);
    assert_string_equal(hn_attr_s(n, "auto_pad"), "NOTSET");
    assert_null(n->next->op);
}

static void binding_types(void **state) {
    (void)state;
    hn_model *m = model_read(
        "m (float[1] x) => (y) {"
        "  a = Add (x, x)"
        "  b = Gather (x, x)"
        "  c = Cast <to: int = 7> (x)"
        "  y, i = TopK (c, x)"
        "}");
    const hn_node *add = m->graph->first, *gather = add->next, *cast = gather->next,
                  *top = cast->next;
    hone_dtype out[2];
    assert_int_equal(
        hn_op_bind(add, 2, (hone_dtype[]){HONE_DTYPE_F16, HONE_DTYPE_F16}, 1, out, &err), HONE_OK);
    assert_int_equal(out[0], HONE_DTYPE_F16);
    /* One that is not known is what the other is. */
    assert_int_equal(
        hn_op_bind(add, 2, (hone_dtype[]){HONE_DTYPE_NONE, HONE_DTYPE_S32}, 1, out, &err), HONE_OK);
    assert_int_equal(out[0], HONE_DTYPE_S32);
    assert_int_equal(
        hn_op_bind(add, 2, (hone_dtype[]){HONE_DTYPE_F16, HONE_DTYPE_F32}, 1, out, &err),
        HONE_E_TYPE);
    assert_string_equal(err.text,
                        "Add (output 'a'): input 1 (B) has type f32, but an earlier input of "
                        "the same kind has f16");
    assert_int_equal(
        hn_op_bind(add, 2, (hone_dtype[]){HONE_DTYPE_BOOL, HONE_DTYPE_BOOL}, 1, out, &err),
        HONE_E_TYPE);
    assert_string_equal(err.text,
                        "Add (output 'a'): input 0 (A) has type bool, which the operator "
                        "does not take");
    assert_int_equal(
        hn_op_bind(gather, 2, (hone_dtype[]){HONE_DTYPE_STRING, HONE_DTYPE_S32}, 1, out, &err),
        HONE_OK);
    assert_int_equal(out[0], HONE_DTYPE_STRING);
    assert_int_equal(hn_op_bind(cast, 1, (hone_dtype[]){HONE_DTYPE_F32}, 1, out, &err), HONE_OK);
    assert_int_equal(out[0], HONE_DTYPE_NONE); /* infer says */
    assert_int_equal(
        hn_op_bind(top, 2, (hone_dtype[]){HONE_DTYPE_U8, HONE_DTYPE_S64}, 2, out, &err), HONE_OK);
    assert_int_equal(out[0], HONE_DTYPE_U8);
    assert_int_equal(out[1], HONE_DTYPE_S64); /* the only type it can have */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sorted),  cmocka_unit_test(every_operator_is_found),
        cmocka_unit_test(every_descriptor),     cmocka_unit_test(integer_forms),
        cmocka_unit_test(signatures),           cmocka_unit_test(sets_of_types),
        cmocka_unit_test(forms_that_are_wrong), cmocka_unit_test(forms_that_are_right),
        TEST(attributes_and_defaults),          TEST(binding_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

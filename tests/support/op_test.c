#include "support/op_test.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/eval.h"
#include "ops/infer.h"

/* The test under way, for messages: a failure names the line of the case, not one in here. */
typedef struct bench {
    const char *file;
    int line;
    hn_allocator alloc;
    hn_model *model;
    hn_node *node;
} bench;

static _Noreturn void HONE_PRINTF(2, 3) wrong(const bench *b, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_error("%s\n", text);
    _fail(b->file, b->line);
    abort();
}

/* ---- the text form ---- */

static void skip_space(const char **p) {
    while (**p == ' ' || **p == ',' || **p == '\n') ++*p;
}

static bool take(const char **p, char c) {
    skip_space(p);
    if (**p != c) return false;
    ++*p;
    return true;
}

static hn_dim read_dim(const bench *b, const char **p);

/* min(a, b), max(a, b) or floor(a/b), of which `name` and the parenthesis are read. */
static hn_dim read_call(const bench *b, const char *name, const char **p) {
    hn_dims *t = &b->model->dims;
    hn_dim x = read_dim(b, p);
    bool quotient = take(p, '/');
    hn_dim y = read_dim(b, p);
    if (!take(p, ')') || quotient != (strcmp(name, "floor") == 0))
        wrong(b, "not a dim: %s(... '%s'", name, *p);
    return quotient                   ? hn_dim_div(t, x, y)
           : strcmp(name, "min") == 0 ? hn_dim_min(t, x, y)
                                      : hn_dim_max(t, x, y);
}

static hn_dim read_factor(const bench *b, const char **p) {
    hn_dims *t = &b->model->dims;
    skip_space(p);
    if (take(p, '(')) {
        hn_dim d = read_dim(b, p);
        if (!take(p, ')')) wrong(b, "no ')': '%s'", *p);
        return d;
    }
    if (isdigit((unsigned char)**p)) {
        char *end;
        long long v = strtoll(*p, &end, 10);
        *p = end;
        return hn_dim_const(t, v);
    }
    if (take(p, '?')) {
        char *end = NULL;
        bool bound = strncmp(*p, "<=", 2) == 0;
        long long most = bound ? strtoll(*p + 2, &end, 10) : -1;
        if (bound) *p = end;
        return hn_dim_fresh(t, most);
    }
    char name[64];
    size_t n = strspn(*p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (n == 0 || n >= sizeof name) wrong(b, "not a dim: '%s'", *p);
    memcpy(name, *p, n);
    name[n] = '\0';
    *p += n;
    if (**p == '(' && take(p, '(')) return read_call(b, name, p);
    return hn_dim_symbol(t, name);
}

static hn_dim read_product(const bench *b, const char **p) {
    hn_dim d = read_factor(b, p);
    while (*(*p + strspn(*p, " ")) == '*') {
        take(p, '*');
        d = hn_dim_mul(&b->model->dims, d, read_factor(b, p));
    }
    return d;
}

static hn_dim read_dim(const bench *b, const char **p) {
    hn_dims *t = &b->model->dims;
    bool minus = take(p, '-');
    hn_dim d = read_product(b, p);
    if (minus) d = hn_dim_mulc(t, d, -1);
    for (;;) {
        const char *q = *p + strspn(*p, " ");
        /* `{3 -1}` are two numbers, `n - 1` is one. */
        if (*q != '+' && !(*q == '-' && q[1] == ' ')) return d;
        *p = q + 1;
        hn_dim next = read_product(b, p);
        d = *q == '+' ? hn_dim_add(t, d, next) : hn_dim_sub(t, d, next);
    }
}

/* A tensor as the text says it. */
typedef struct text_tensor {
    hone_dtype dtype;
    hn_shape shape;
    const char *contents; /* what follows '{', or NULL */
    const char *end;
} text_tensor;

static text_tensor read_type(const bench *b, const char *text) {
    text_tensor t = {.shape = hn_shape_unknown()};
    char name[16];
    size_t n = strcspn(text, "[{ ");
    if (n >= sizeof name) wrong(b, "not a tensor: '%s'", text);
    memcpy(name, text, n);
    name[n] = '\0';
    t.dtype = hn_dtype_from_onnx_name(name);
    if (t.dtype == HONE_DTYPE_NONE) wrong(b, "not a type: '%s' in '%s'", name, text);
    const char *p = text + n;
    if (take(&p, '[')) {
        for (t.shape.rank = 0; !take(&p, ']'); t.shape.rank++) {
            if (t.shape.rank == HONE_MAX_RANK) wrong(b, "too many dims: '%s'", text);
            t.shape.dim[t.shape.rank] = read_dim(b, &p);
        }
    }
    if (take(&p, '{')) {
        t.contents = p;
        p += strcspn(p, "}");
        if (*p++ != '}') wrong(b, "no '}' in '%s'", text);
    }
    t.end = p;
    return t;
}

static void read_number(const bench *b, const char **p, hn_tensor *t, int64_t i) {
    char *end;
    if (!hn_dtype_is_float(t->dtype)) {
        int64_t v = **p == '-' ? strtoll(*p, &end, 10) : (int64_t)strtoull(*p, &end, 10);
        hn_store_s64(t->dtype, t->data, i, v);
    } else {
        hn_store_f64(t->dtype, t->data, i, strtod(*p, &end));
    }
    if (end == *p) wrong(b, "not a number: '%s'", *p);
    *p = end;
}

/* The tensor of a text whose dims and contents are numbers; NULL when they are not. */
static hn_tensor *make_tensor(bench *b, const text_tensor *text) {
    int64_t dims[HONE_MAX_RANK];
    if (text->contents == NULL || text->shape.rank < 0 || !hn_shape_is_const(&text->shape, dims))
        return NULL;
    bool is_float = hn_dtype_is_float(text->dtype);
    for (const char *q = text->contents; *q != '}'; q++)
        if (*q == '?' || (!is_float && isalpha((unsigned char)*q))) return NULL;
    hn_tensor *t;
    hn_error err;
    if (hn_tensor_create(&t, &b->alloc, HN_MEM_TENSOR, text->dtype, text->shape.rank, dims, &err))
        wrong(b, "%s", err.text);
    if (t->bytes > 0) memset(t->data, 0, t->bytes);
    const char *p = text->contents;
    int64_t i = 0;
    for (skip_space(&p); *p != '}'; skip_space(&p)) {
        bool repeat = strncmp(p, "...", 3) == 0, count = !repeat && strncmp(p, "..", 2) == 0;
        if (repeat || count) {
            if (i == 0) wrong(b, "nothing before '%s'", p);
            for (; i < t->n; i++)
                if (repeat)
                    hn_copy_element(t->dtype, t->data, i, t->data, i - 1);
                else
                    hn_store_f64(t->dtype, t->data, i, hn_tensor_f64(t, i - 1) + 1);
            p += repeat ? 3 : 2;
            continue;
        }
        if (i == t->n) wrong(b, "more than %lld numbers", (long long)t->n);
        read_number(b, &p, t, i++);
    }
    if (i != t->n) wrong(b, "%lld numbers, the dims want %lld", (long long)i, (long long)t->n);
    return t;
}

/* Contents as dims, in the scratch arena. */
static const hn_dim *read_values(const bench *b, const text_tensor *text, hn_arena *scratch,
                                 int *count) {
    hn_dim *v = hn_arena_array(scratch, HN_MAX_KNOWN, sizeof *v);
    assert_non_null(v);
    int n = 0;
    for (const char *p = text->contents; !take(&p, '}'); n++) {
        if (n == HN_MAX_KNOWN) wrong(b, "more than %d contents", HN_MAX_KNOWN);
        v[n] = read_dim(b, &p);
    }
    *count = n;
    return v;
}

/* ---- building the node ---- */

static void ok(const bench *b, hone_status s, const hn_error *err) {
    if (s != HONE_OK) wrong(b, "%s", err->text);
}

static bool is_int(const char *s, size_t n) {
    size_t sign = n > 0 && *s == '-';
    return n > sign && strspn(s + sign, "0123456789") >= n - sign;
}

/* ['a', 'b'] after the bracket. The texts stay where they are. */
static void set_strings(bench *b, const char *name, const char **p) {
    hn_error err;
    hn_attr *a;
    hn_str *texts = hn_arena_array(&b->model->arena, 16, sizeof *texts);
    assert_non_null(texts);
    int n = 0;
    for (; !take(p, ']'); n++) {
        if (n == 16 || !take(p, '\'')) wrong(b, "not a list: '%s'", *p);
        texts[n] = (hn_str){*p, strcspn(*p, "'")};
        *p += texts[n].n;
        if (!take(p, '\'')) wrong(b, "not a list: '%s'", *p);
    }
    ok(b, hn_node_add_attr(&a, b->node, name, HN_ATTR_STRINGS, &err), &err);
    a->n = n;
    a->u.strings = texts;
}

static void set_list(bench *b, const char *name, const char **p) {
    hn_error err;
    if (**p == '\'') {
        set_strings(b, name, p);
        return;
    }
    int64_t ints[256];
    float *floats = hn_arena_array(&b->model->arena, 256, sizeof *floats);
    assert_non_null(floats);
    int n = 0;
    bool all_ints = true;
    for (; !take(p, ']'); n++) {
        size_t len = strcspn(*p, ", ]");
        if (n == 256 || len == 0) wrong(b, "not a list: '%s'", *p);
        all_ints = all_ints && is_int(*p, len);
        ints[n] = strtoll(*p, NULL, 10);
        floats[n] = strtof(*p, NULL);
        *p += len;
    }
    if (all_ints) {
        ok(b, hn_node_set_ints(b->node, name, ints, n, &err), &err);
    } else {
        hn_attr *a;
        ok(b, hn_node_add_attr(&a, b->node, name, HN_ATTR_FLOATS, &err), &err);
        a->n = n;
        a->u.floats = floats;
    }
}

static void set_attrs(bench *b, const char *text) {
    hn_error err;
    const char *p = text != NULL ? text : "";
    for (skip_space(&p); *p != '\0'; skip_space(&p)) {
        char name[64], value[64];
        size_t n = strcspn(p, "=");
        if (n >= sizeof name || p[n] != '=') wrong(b, "not an attribute: '%s'", p);
        memcpy(name, p, n);
        name[n] = '\0';
        p += n + 1;
        if (take(&p, '[')) {
            set_list(b, name, &p);
            continue;
        }
        bool quoted = take(&p, '\'');
        size_t len = strcspn(p, quoted ? "'" : " ");
        if (!quoted && isalpha((unsigned char)*p) && memchr(p, '[', len) != NULL) {
            text_tensor t = read_type(b, p);
            hn_attr *a;
            ok(b, hn_node_add_attr(&a, b->node, name, HN_ATTR_TENSOR, &err), &err);
            a->u.tensor = make_tensor(b, &t);
            if (a->u.tensor == NULL) wrong(b, "'%s' is no tensor", p);
            p = t.end;
            continue;
        }
        if (len >= sizeof value) wrong(b, "too long: '%s'", p);
        memcpy(value, p, len);
        value[len] = '\0';
        p += len + quoted;
        hone_status s = quoted ? hn_node_set_s(b->node, name, value, &err)
                        : is_int(value, len)
                            ? hn_node_set_i(b->node, name, atoll(value), &err)
                            : hn_node_set_f(b->node, name, strtof(value, NULL), &err);
        ok(b, s, &err);
    }
}

static int count(const char *const texts[OP_TEST_MAX]) {
    int n = OP_TEST_MAX;
    while (n > 0 && (texts[n - 1] == NULL || *texts[n - 1] == '\0')) n--;
    return n;
}

static bool absent(const char *text) { return text == NULL || *text == '\0'; }

/* The model with its one node. Expected failures need outputs too: as many as the operator must
 * have. */
static void build(bench *b, const op_case *c) {
    hn_error err;
    hn_allocator_init(&b->alloc);
    ok(b, hn_model_create(&b->model, &b->alloc, &err), &err);
    hn_graph *g;
    ok(b, hn_graph_create(&g, b->model, NULL, &err), &err);
    const char *dot = strrchr(c->op, '.');
    char domain[64] = "";
    if (dot != NULL) snprintf(domain, sizeof domain, "%.*s", (int)(dot - c->op), c->op);
    const char *op_type = dot != NULL ? dot + 1 : c->op;
    const hn_op_def *op = hn_op_find(domain, op_type);
    if (op == NULL) wrong(b, "no operator '%s'", c->op);
    int n_in = count(c->in), n_out = count(c->out);
    if (n_out < hn_op_sig(op)->out_min) n_out = hn_op_sig(op)->out_min;
    ok(b, hn_node_create(&b->node, g, domain, op_type, "", n_in, n_out, &err), &err);
    b->node->op = op;
    for (int i = 0; i < n_in; i++) {
        if (absent(c->in[i])) continue;
        hn_value *v;
        ok(b, hn_value_create(&v, g, NULL, "in", &err), &err);
        text_tensor t = read_type(b, c->in[i]);
        v->type = (hn_type){.kind = HN_TYPE_TENSOR, .dtype = t.dtype, .shape = t.shape};
        ok(b, hn_graph_add_input(g, v, &err), &err);
        hn_node_set_input(b->node, i, v);
    }
    for (int i = 0; i < n_out; i++) {
        if (absent(c->out[i]) && i >= hn_op_sig(op)->out_min) continue;
        hn_value *v;
        ok(b, hn_value_create(&v, g, NULL, "out", &err), &err);
        hn_node_set_output(b->node, i, v);
    }
    hn_node_insert(b->node, NULL);
    set_attrs(b, c->attrs);
}

static void tear_down(bench *b) {
    hn_model_destroy(b->model);
    if (b->alloc.blocks != 0) wrong(b, "%zu blocks leak", (size_t)b->alloc.blocks);
}

/* True when the case expects failure, and then it must be the right one. */
static bool failed_as_expected(const bench *b, const op_case *c, hone_status s,
                               const hn_error *err) {
    if (c->error == NULL) {
        ok(b, s, err);
        return false;
    }
    if (s == HONE_OK) wrong(b, "no failure, expected '%s'", c->error);
    if (strstr(err->text, c->error) == NULL)
        wrong(b, "failed with '%s', expected '%s'", err->text, c->error);
    return true;
}

/* ---- inference ---- */

/* A dim the case leaves open matches one that inference made up. */
static bool dim_matches(hn_dim want, hn_dim found) {
    int64_t lo, hi, found_hi;
    if (want == found || !hn_dim_is_fresh(want)) return want == found;
    hn_dim_range(want, &lo, &hi);
    hn_dim_range(found, &lo, &found_hi);
    return hn_dim_is_fresh(found) && (hi == INT64_MAX || hi == found_hi);
}

static void compare_type(const bench *b, int i, const text_tensor *want, hone_dtype dtype,
                         const hn_shape *shape) {
    bool same = want->dtype == dtype && want->shape.rank == shape->rank;
    for (int k = 0; same && k < shape->rank; k++)
        same = dim_matches(want->shape.dim[k], shape->dim[k]);
    char w[512], f[512];
    if (!same)
        wrong(b, "output %d is %s%s, expected %s%s", i, hone_dtype_name(dtype),
              hn_shape_text(shape, f, sizeof f), hone_dtype_name(want->dtype),
              hn_shape_text(&want->shape, w, sizeof w));
}

static void compare_values(const bench *b, int i, const text_tensor *want, const hn_infer_out *out,
                           hn_arena *scratch) {
    if (strncmp(want->contents, "?}", 2) == 0) {
        if (out->values != NULL) wrong(b, "output %d: contents are known", i);
        return;
    }
    if (out->values == NULL) wrong(b, "output %d: contents are not known", i);
    int n;
    const hn_dim *v = read_values(b, want, scratch, &n);
    if (n != out->n_values) wrong(b, "output %d: %d contents, expected %d", i, out->n_values, n);
    for (int k = 0; k < n; k++) {
        char w[256], f[256];
        if (!dim_matches(v[k], out->values[k]))
            wrong(b, "output %d: content %d is %s, expected %s", i, k,
                  hn_dim_text(out->values[k], f, sizeof f), hn_dim_text(v[k], w, sizeof w));
    }
}

void op_test_infer(const op_case *c, const char *file, int line) {
    bench b = {.file = file, .line = line};
    build(&b, c);
    hn_infer_in in[OP_TEST_MAX] = {0};
    hn_infer_out out[OP_TEST_MAX] = {0};
    hn_tensor *tensors[OP_TEST_MAX] = {0};
    hn_arena scratch;
    hn_arena_init(&scratch, &b.alloc, HN_MEM_SCRATCH);
    for (int i = 0; i < b.node->n_inputs; i++) {
        if (absent(c->in[i])) continue;
        text_tensor t = read_type(&b, c->in[i]);
        in[i] =
            (hn_infer_in){.present = true, .is_tensor = true, .dtype = t.dtype, .shape = t.shape};
        if (t.contents == NULL) continue;
        in[i].tensor = tensors[i] = make_tensor(&b, &t);
        if (tensors[i] == NULL) in[i].values = read_values(&b, &t, &scratch, &in[i].n_values);
    }
    for (int i = 0; i < b.node->n_outputs; i++)
        out[i] = (hn_infer_out){.wanted = b.node->outputs[i] != NULL, .shape = hn_shape_unknown()};
    hn_infer infer = {.node = b.node,
                      .dims = &b.model->dims,
                      .scratch = &scratch,
                      .n_in = b.node->n_inputs,
                      .n_out = b.node->n_outputs,
                      .in = in,
                      .out = out};
    hn_error err = {0};
    if (!failed_as_expected(&b, c, hn_node_infer(&infer, &err), &err)) {
        assert_int_equal(b.model->dims.status, HONE_OK);
        for (int i = 0; i < b.node->n_outputs; i++) {
            if (absent(c->out[i])) continue;
            text_tensor want = read_type(&b, c->out[i]);
            compare_type(&b, i, &want, out[i].dtype, &out[i].shape);
            if (want.contents != NULL) compare_values(&b, i, &want, &out[i], &scratch);
        }
    }
    for (int i = 0; i < OP_TEST_MAX; i++) hn_tensor_unref(tensors[i]);
    hn_arena_deinit(&scratch);
    tear_down(&b);
}

/* ---- running ---- */

/* What one rounding to the type may cost, at least 1e-6. */
static double default_tolerance(hone_dtype t) {
    switch (t) {
        case HONE_DTYPE_F16: return 0x1p-11;
        case HONE_DTYPE_BF16: return 0x1p-8;
        default: return 1e-6;
    }
}

static void compare_tensor(const bench *b, const op_case *c, int i, const hn_tensor *want,
                           const hn_tensor *found) {
    double tolerance = c->tolerance > 0 ? c->tolerance : default_tolerance(want->dtype);
    for (int64_t k = 0; k < want->n; k++) {
        if (!hn_dtype_is_float(want->dtype)) {
            int64_t w = hn_tensor_s64(want, k), f = hn_tensor_s64(found, k);
            if (w != f)
                wrong(b, "output %d: element %lld is %lld, expected %lld", i, (long long)k,
                      (long long)f, (long long)w);
            continue;
        }
        double w = hn_tensor_f64(want, k), f = hn_tensor_f64(found, k);
        bool same = isnan(w)             ? isnan(f)
                    : isinf(w) || w == 0 ? f == w || (w == 0 && fabs(f) <= tolerance)
                                         : fabs(f - w) <= tolerance * fmax(1, fabs(w));
        if (!same)
            wrong(b, "output %d: element %lld is %.9g, expected %.9g", i, (long long)k, f, w);
    }
}

static hn_pool *threads(void) {
    static hn_pool *pool;
    hn_error err;
    if (pool == NULL)
        assert_int_equal(hn_pool_create(&pool, 3, hn_allocator_default(), &err), HONE_OK);
    return pool;
}

static void release(hn_tensor **t, int n) {
    for (int i = 0; i < n; i++) {
        hn_tensor_unref(t[i]);
        t[i] = NULL;
    }
}

static void compare_outputs(bench *b, const op_case *c, hn_tensor *const *out) {
    for (int i = 0; i < b->node->n_outputs; i++) {
        if (absent(c->out[i])) continue;
        text_tensor want = read_type(b, c->out[i]);
        if (out[i] == NULL) wrong(b, "output %d is missing", i);
        hn_shape shape = hn_shape_of(&b->model->dims, out[i]->rank, out[i]->dims);
        compare_type(b, i, &want, out[i]->dtype, &shape);
        hn_tensor *t = make_tensor(b, &want);
        if (t != NULL) compare_tensor(b, c, i, t, out[i]);
        hn_tensor_unref(t);
    }
}

/* The executor gives a view without running the reference, which must say the same. */
static void check_view(bench *b, const hn_tensor *in, hn_tensor *out) {
    if (out == NULL || out->base == NULL) return;
    hn_error err;
    hn_tensor *copy;
    ok(b, hn_tensor_create(&copy, &b->alloc, HN_MEM_TENSOR, out->dtype, out->rank, out->dims, &err),
       &err);
    hn_eval e = {.node = b->node, .n_in = 1, .n_out = 1, .in = &in, .out = &copy};
    ok(b, b->node->op->ref(&e, &err), &err);
    if (!hn_tensor_equal(copy, out)) wrong(b, "the reference differs from the view");
    hn_tensor_unref(copy);
}

void op_test_run(const op_case *c, const char *file, int line) {
    bench b = {.file = file, .line = line};
    build(&b, c);
    int n_out = b.node->n_outputs;
    hn_tensor *in[OP_TEST_MAX] = {0}, *out[OP_TEST_MAX] = {0}, *again[OP_TEST_MAX] = {0};
    for (int i = 0; i < b.node->n_inputs; i++) {
        if (absent(c->in[i])) continue;
        text_tensor t = read_type(&b, c->in[i]);
        in[i] = make_tensor(&b, &t);
        if (in[i] == NULL) wrong(&b, "'%s' has no contents", c->in[i]);
    }
    hn_exec_options options = {.alloc = &b.alloc, .seed = 1};
    hn_error err = {0};
    const hn_tensor *const *inputs = (const hn_tensor *const *)in;
    hone_status s = hn_node_run(b.node, &options, inputs, out, &err);
    if (!failed_as_expected(&b, c, s, &err)) {
        compare_outputs(&b, c, out);
        check_view(&b, in[0], out[0]);
        options.pool = threads();
        ok(&b, hn_node_run(b.node, &options, inputs, again, &err), &err);
        for (int i = 0; i < n_out; i++)
            if (out[i] != NULL && !hn_tensor_equal(out[i], again[i]))
                wrong(&b, "output %d is another with three threads", i);
        release(again, n_out);
        options.pool = NULL;
        for (int n = 0;; n++) {
            b.alloc.fail_after = n;
            s = hn_node_run(b.node, &options, inputs, again, &err);
            b.alloc.fail_after = -1;
            if (s == HONE_OK) break;
            if (s != HONE_E_NOMEM) wrong(&b, "without memory it says: %s", err.text);
        }
        release(again, n_out);
    }
    release(out, n_out);
    release(in, OP_TEST_MAX);
    tear_down(&b);
}

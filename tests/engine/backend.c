/* The table of backends: what every row can do, and what is said of one that cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "engine/backend.h"

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

#define GRAPH                                             \
    "m (float[n, 4] x) => (float[n, 4] y, float[n, 4] z)" \
    " { y = Relu (x) z = Add (y, x) }"

static hn_runner runner_of(const hn_backend *b, bool shows) {
    hn_runner r;
    hn_engine_options o = {
        .alloc = &model_mem, .isa = hn_isa_available(), .seed = 1, .shows = shows};
    assert_int_equal(hn_runner_create(&r, b, model_inferred(GRAPH), &o, &err), HONE_OK);
    return r;
}

static void rows_are_found_by_name(void **state) {
    (void)state;
    const hn_backend *b = NULL;
    assert_int_equal(hn_backend_find("nobody", &b, &err), HONE_E_UNSUPPORTED);
    assert_null(b);
    for (int i = 0; i < hn_n_backends; i++) {
        assert_non_null(strstr(err.text, hn_backends[i]->name));
        assert_true(strlen(hn_backends[i]->help) > 0);
    }
    for (int i = 0; i < hn_n_backends; i++) {
        assert_int_equal(hn_backend_find(hn_backends[i]->name, &b, &err), HONE_OK);
        assert_ptr_equal(b, hn_backends[i]);
    }
    assert_ptr_equal(hn_backend_or_default(NULL), hn_backends[0]);
}

typedef struct results {
    float data[2][8];
    int shown;
} results;

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    results *r = ctx;
    (void)e;
    assert_int_equal(hone_value_bytes(dtype, rank, dims), sizeof r->data[i]);
    *to = r->data[i];
    return HONE_OK;
}

static hone_status show(void *ctx, int i, const hn_tensor *t, hn_error *e) {
    results *r = ctx;
    (void)e;
    memcpy(r->data[i], t->data, sizeof r->data[i]);
    r->shown++;
    return HONE_OK;
}

static void count(void *ctx, const hn_step_time *t) {
    (void)t;
    ++*(int *)ctx;
}

static void check(const results *r) {
    static const float want[2][8] = {{1, 0, 3, 0, 5, 0, 7, 0}, {2, -2, 6, -4, 10, -6, 14, -8}};
    assert_memory_equal(r->data, want, sizeof want);
}

/* Whatever its row has or lacks, a runner does the same. */
static void every_row_runs(void **state) {
    (void)state;
    hn_tensor *x = tensor_of("float[2, 4] {1, -2, 3, -4, 5, -6, 7, -8}");
    const hn_tensor *in[] = {x};
    for (int i = 0; i < hn_n_backends; i++) {
        results placed = {0}, kept = {0}, seen = {0};
        hn_tensor *out[2];
        hn_runner r = runner_of(hn_backends[i], false);
        assert_int_equal(hn_runner_prepare(&r, in, &err), HONE_OK);
        assert_int_equal(hn_runner_run(&r, in, place, &placed, NULL, NULL, &err), HONE_OK);
        check(&placed);
        assert_int_equal(hn_runner_run_tensors(&r, in, out, &err), HONE_OK);
        for (int k = 0; k < 2; k++) {
            memcpy(kept.data[k], out[k]->data, sizeof kept.data[k]);
            hn_tensor_unref(out[k]);
        }
        check(&kept);
        hn_runner_destroy(&r);
        r = runner_of(hn_backends[i], true);
        assert_int_equal(hn_runner_run_shown(&r, in, show, &seen, &err), HONE_OK);
        assert_int_equal(seen.shown, 2);
        check(&seen);
        hn_runner_destroy(&r);
        assert_null(r.backend);
        hn_runner_destroy(&r);
    }
    hn_tensor_unref(x);
}

static void a_row_says_what_it_cannot_do(void **state) {
    (void)state;
    hn_tensor *x = tensor_of("float[2, 4] {1, -2, 3, -4, 5, -6, 7, -8}");
    const hn_tensor *in[] = {x};
    for (int i = 0; i < hn_n_backends; i++) {
        const hn_backend *b = hn_backends[i];
        results got = {0};
        int steps = 0;
        hn_engine_memory m = {.peak = 1};
        hn_engine_precision p = {.n_steps = 1};
        hn_runner r = runner_of(b, false);
        hone_status status = hn_runner_run(&r, in, place, &got, count, &steps, &err);
        assert_int_equal(status, b->executor->has_steps ? HONE_OK : HONE_E_UNSUPPORTED);
        assert_true((steps > 0) == b->executor->has_steps);
        if (!b->executor->has_steps) assert_non_null(strstr(err.text, b->name));
        assert_true(hn_runner_memory(&r, &m) == (b->executor->memory != NULL));
        assert_true((m.peak > 0) == (b->executor->memory != NULL));
        assert_true(hn_runner_precision(&r, &p) == (b->executor->precision != NULL));
        assert_true((p.n_steps > 0) == (b->executor->precision != NULL));
        assert_null(hn_runner_choice(&r, 0));
        assert_int_equal(hn_runner_tuning(&r).problems, 0);
        hn_runner_destroy(&r);
    }
    hn_tensor_unref(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_found_by_name, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(every_row_runs, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(a_row_says_what_it_cannot_do, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Profiles of a session, and spans of what it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hone/hone.h"

typedef struct counts {
    int load, compile, run, step, region;
} counts;

static void count(void *ctx, const hone_span *s) {
    counts *c = ctx;
    assert_true(s->end_ns >= s->begin_ns);
    c->load += strcmp(s->category, "load") == 0;
    c->compile += strcmp(s->category, "compile") == 0;
    c->run += strcmp(s->category, "run") == 0;
    c->region += strcmp(s->category, "region") == 0;
    if (strcmp(s->category, "step") != 0) return;
    c->step++;
    assert_true(s->name[0] != '\0' && s->detail != NULL && s->live_bytes >= 0);
}

static hone_model *load(void) {
    hone_model *m = NULL;
    hone_error err;
    if (hone_model_load(&m, HN_SOURCE_DIR "/models/digits_cnn.onnx", NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return m;
}

static void fill(const hone_model *m, hone_value *in, hone_value *out) {
    hone_value_info info;
    assert_int_equal(hone_model_input(m, 0, &info, NULL), HONE_OK);
    *in = (hone_value){.name = info.name, .dtype = info.dtype, .rank = info.rank};
    for (int i = 0; i < info.rank; i++) in->dims[i] = info.dims[i] < 0 ? 2 : info.dims[i];
    assert_int_equal(hone_value_fill(in, HONE_FILL_RANDOM, 1, NULL), HONE_OK);
    assert_int_equal(hone_model_output(m, 0, &info, NULL), HONE_OK);
    *out = (hone_value){.name = info.name};
}

static void a_profile_holds_all_steps(void **state) {
    (void)state;
    hone_model *m = load();
    hone_session *s = NULL;
    hone_profile *p = NULL;
    hone_error err;
    hone_value in, out;
    fill(m, &in, &out);
    hone_session_options so;
    hone_session_options_init(&so);
    so.kernels = "pool_f32=ref";
    assert_int_equal(hone_session_create(&s, m, &so, &err), HONE_OK);
    hone_profile_options o;
    hone_profile_options_init(&o);
    o.runs = 3;
    o.counters = true;
    assert_int_equal(hone_profile_create(&p, s, 1, &in, 1, &out, &o, &err), HONE_OK);
    assert_int_equal(p->runs, 3);
    assert_true(p->n_steps > 2 && p->n_verdicts > 3);
    assert_true(p->wall_ms > 0 && p->ms > 0 && p->cpu_ms > 0 && p->macs > 0);
    assert_true(p->coverage > 0 && p->coverage <= 1);
    double begin = -1;
    bool forced = false, live = false;
    for (size_t i = 0; i < p->n_steps; i++) {
        const hone_step_profile *t = &p->steps[i];
        assert_true(t->ms > 0 && t->begin_us > begin && t->why[0] != '\0');
        assert_null(t->bound);
        begin = t->begin_us;
        forced |= t->family != NULL && strcmp(t->family, "pool_f32") == 0 &&
                  strcmp(t->why, "asked for") == 0;
        live |= t->live_bytes > 0;
    }
    assert_true(forced && live);
    hone_profile_destroy(p);
    o.runs = -1;
    assert_int_equal(hone_profile_create(&p, s, 1, &in, 1, &out, &o, &err), HONE_E_ARG);
    in.name = "nothing";
    assert_int_equal(hone_profile_create(&p, s, 1, &in, 1, &out, NULL, &err), HONE_E_NOT_FOUND);
    hone_profile_destroy(NULL);
    hone_value_release(&in, 1);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    (void)ctx, (void)total;
    return done < 2;
}

static void a_profile_can_be_stopped(void **state) {
    (void)state;
    hone_model *m = load();
    hone_session *s = NULL;
    hone_profile *p = NULL;
    hone_error err;
    hone_value in, out;
    fill(m, &in, &out);
    assert_int_equal(hone_session_create(&s, m, NULL, &err), HONE_OK);
    hone_profile_options o;
    hone_profile_options_init(&o);
    o.progress = stop;
    assert_int_equal(hone_profile_create(&p, s, 1, &in, 1, &out, &o, &err), HONE_E_LIMIT);
    assert_null(p);
    hone_value_release(&in, 1);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

/* A plain run is told step by step to who listens, between the caller's own regions. */
static void spans_come_from_everything(void **state) {
    (void)state;
    counts c = {0};
    hone_error err;
    hone_value in, out;
    hone_session *s = NULL;
    hone_span_listen(count, &c);
    hone_model *m = load();
    fill(m, &in, &out);
    assert_true(c.load == 3 && c.compile == 0); /* read, parse, infer */
    assert_int_equal(hone_session_create(&s, m, NULL, &err), HONE_OK);
    hone_region_begin("request");
    assert_int_equal(hone_session_run(s, 1, &in, 1, &out, &err), HONE_OK);
    hone_region_end();
    assert_true(c.compile >= 3 && c.run == 3 && c.step > 2); /* passes, plan, pack; and a run */
    assert_int_equal(c.region, 1);
    hone_span_listen(NULL, NULL);
    counts before = c;
    assert_int_equal(hone_session_run(s, 1, &in, 1, &out, &err), HONE_OK);
    assert_memory_equal(&before, &c, sizeof c);
    hone_value_release(&in, 1);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_holds_all_steps),
        cmocka_unit_test(a_profile_can_be_stopped),
        cmocka_unit_test(spans_come_from_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"

static const char *const backends[] = {"cpu", "reference"};

/* A session of a model in the text form. */
static hone_session *open_session(const char *text, const hone_session_options *o) {
    hone_error err;
    hone_model *m;
    hone_session *s;
    ASSERT_OK(hone_model_load_text(&m, text, &err), err);
    ASSERT_OK(hone_session_create(&s, m, o, &err), err);
    hone_model_destroy(m);
    return s;
}

static hone_session_options with_state(const char *pairs, const char *backend) {
    hone_session_options o;
    hone_session_options_init(&o);
    o.state = pairs;
    o.backend = backend;
    o.threads = 1;
    return o;
}

static hone_state *open_state(hone_session *s) {
    hone_error err;
    hone_state *state;
    ASSERT_OK(hone_state_create(&state, s, &err), err);
    return state;
}

static hone_value f32(const char *name, float *data, int rank, const int64_t *dims) {
    hone_value v = {.name = name, .dtype = HONE_DTYPE_F32, .rank = rank, .data = data};
    memcpy(v.dims, dims, (size_t)rank * sizeof *dims);
    v.bytes = hone_value_bytes(v.dtype, rank, dims);
    return v;
}
#define F32(name, data, ...)                                                     \
    f32((name), (data), (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), \
        (int64_t[]){__VA_ARGS__})

/* The value of a kept input, which has n floats. */
static void expect_kept(hone_state *state, const char *name, size_t n, const float *wanted) {
    hone_error err;
    hone_value v = {.name = name};
    ASSERT_OK(hone_state_get(state, &v, &err), err);
    assert_int_equal(v.bytes, n * sizeof *wanted);
    if (n > 0) assert_memory_equal(v.data, wanted, v.bytes);
    hone_value_release(&v, 1);
}

/* ---- models ---- */

/* The sum of all x so far, and its square. */
#define SUM                                                         \
    "m (float[2] x, float[2] sum) => (float[2] y, float[2] next) {" \
    " next = Add (sum, x) y = Mul (next, next) }"
/* The same with an element that an input chooses, and which need not exist. */
#define CHOSEN                                                                      \
    "m (float[2] x, int64[1] which, float[2] sum) => (float[1] y, float[2] next) {" \
    " next = Add (sum, x) y = Gather (next, which) }"
/* Attention over all keys and values so far. */
#define DECODER                                                                                   \
    "<ir_version: 8, opset_import: [\"\" : 17]> m (float[1,2,1,4] q, float[1,2,past,4] past_key," \
    " float[1,2,past,4] past_value) => (float[1,2,1,4] y, float[1,2,now,4] now_key,"              \
    " float[1,2,now,4] now_value) <float two = {2}> {"                                            \
    " k = Mul (q, two) v = Sub (q, two)"                                                          \
    " now_key = Concat <axis = 2> (past_key, k) now_value = Concat <axis = 2> (past_value, v)"    \
    " t = Transpose <perm = [0, 1, 3, 2]> (now_key) s = MatMul (q, t)"                            \
    " p = Softmax <axis = -1> (s) y = MatMul (p, now_value) }"

enum { IN = 3, HIDDEN = 5, LSTM_TEXT = 8000 };

static void append_numbers(char *text, const char *name, const char *dims, int n, unsigned seed) {
    sprintf(text + strlen(text), "float[%s] %s = {", dims, name);
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        sprintf(text + strlen(text), "%s%.4f", i > 0 ? ", " : "", (seed >> 16) / 65536.0 - 0.5);
    }
    strcat(text, "}");
}

/* A recurrent network of one layer; kind "LSTM" or "GRU". */
static void recurrent_model(char *text, const char *kind, int gates) {
    char w[40], r[40];
    bool lstm = strcmp(kind, "LSTM") == 0;
    sprintf(w, "1, %d, %d", gates * HIDDEN, IN);
    sprintf(r, "1, %d, %d", gates * HIDDEN, HIDDEN);
    sprintf(text,
            "<ir_version: 8, opset_import: [\"\" : 17]> m (float[time, batch, 3] x,"
            " float[1, batch, 5] h0%s) => (float[time, 1, batch, 5] y, float[1, batch, 5] hn%s) <",
            lstm ? ", float[1, batch, 5] c0" : "", lstm ? ", float[1, batch, 5] cn" : "");
    append_numbers(text, "w", w, gates * HIDDEN * IN, 1);
    strcat(text, ", ");
    append_numbers(text, "r", r, gates * HIDDEN * HIDDEN, 2);
    sprintf(text + strlen(text), "> { y, hn%s = %s <hidden_size = 5> (x, w, r, , , h0%s) }",
            lstm ? ", cn" : "", kind, lstm ? ", c0" : "");
}

/* ---- what goes right ---- */

/* Step by step a recurrent network gives what it gives for the whole sequence at once. */
static void recurrent_streams_equal_the_whole_sequence(void **unused) {
    (void)unused;
    enum { TIME = 7, BATCH = 2, STEP = BATCH * IN, OUT = BATCH * HIDDEN };
    static const struct {
        const char *kind, *pairs;
        int gates;
    } rows[] = {{"LSTM", "h0=hn,c0=cn", 4}, {"GRU", "h0=hn", 3}};
    static float x[TIME * STEP], zeros[OUT], whole[TIME * OUT], last[OUT], y[OUT];
    for (int i = 0; i < TIME * STEP; i++) x[i] = (float)sin(i);
    hone_error err;
    for (int k = 0; k < 4; k++) {
        char text[LSTM_TEXT];
        recurrent_model(text, rows[k % 2].kind, rows[k % 2].gates);
        hone_session_options o = with_state(rows[k % 2].pairs, backends[k / 2]);
        hone_session *s = open_session(text, &o);
        hone_value in[] = {F32("x", x, TIME, BATCH, IN), F32("h0", zeros, 1, BATCH, HIDDEN),
                           F32("c0", zeros, 1, BATCH, HIDDEN)};
        hone_value out[] = {F32("y", whole, TIME, 1, BATCH, HIDDEN),
                            F32("hn", last, 1, BATCH, HIDDEN)};
        ASSERT_OK(hone_session_run(s, k % 2 == 0 ? 3 : 2, in, 2, out, &err), err);
        hone_state *state = open_state(s);
        for (int t = 0; t < TIME; t++) {
            hone_value now = F32("x", x + t * STEP, 1, BATCH, IN);
            hone_value got = F32("y", y, 1, 1, BATCH, HIDDEN);
            ASSERT_OK(hone_state_run(state, 1, &now, 1, &got, &err), err);
            for (int i = 0; i < OUT; i++) assert_true(fabsf(y[i] - whole[t * OUT + i]) < 1e-6f);
        }
        hone_value kept = {.name = "h0"};
        ASSERT_OK(hone_state_get(state, &kept, &err), err);
        assert_int_equal(kept.dims[1], BATCH);
        for (int i = 0; i < OUT; i++) assert_true(fabsf(((float *)kept.data)[i] - last[i]) < 1e-6f);
        hone_value_release(&kept, 1);
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* Exporters give every axis a name of its own. The output then tells what a first value is like: as
 * long as an input is, as before, or longer by what comes. */
static void sizes_of_first_values_are_found(void **unused) {
    (void)unused;
    hone_error err;
    static const char model[] =
        "<ir_version: 8, opset_import: [\"\" : 17]> m (float[rows, 2] x, float[a, 2] sum,"
        " float[b, 2] same, float[c, 2] list) =>"
        " (float[rows, 2] next, float[b, 2] kept, float[d, 2] longer) {"
        " next = Add (x, sum) kept = Neg (same) longer = Concat <axis = 0> (list, x) }";
    float x[6] = {1, 2, 3, 4, 5, 6};
    for (int k = 0; k < 2; k++) {
        hone_session_options o = with_state("sum=next,same=kept,list=longer", backends[k]);
        hone_session *s = open_session(model, &o);
        hone_state *state = open_state(s);
        hone_value in = F32("x", x, 3, 2);
        ASSERT_OK(hone_state_run(state, 1, &in, 0, NULL, &err), err);
        expect_kept(state, "sum", 6, x);
        expect_kept(state, "same", 2, (float[]){-0.0f, -0.0f});
        expect_kept(state, "list", 6, x);
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* Past keys and values begin empty and grow; the results are those of feeding outputs back. */
static void a_cache_grows(void **unused) {
    (void)unused;
    enum { STEPS = 40 };
    hone_error err;
    for (int k = 0; k < 2; k++) {
        hone_session_options o = with_state("past_*=now_*", backends[k]);
        hone_session *s = open_session(DECODER, &o);
        hone_state *state = open_state(s);
        const char *output;
        assert_string_equal(hone_session_state(s, 1, &output), "past_value");
        assert_string_equal(output, "now_value");
        assert_null(hone_session_state(s, 2, NULL));
        float past[2][STEPS * 8], now[2][STEPS * 8], q[8], wanted[8], y[8];
        for (int t = 0; t < STEPS; t++) {
            for (int i = 0; i < 8; i++) q[i] = (float)cos(t * 8 + i);
            hone_value in[] = {F32("q", q, 1, 2, 1, 4), F32("past_key", past[0], 1, 2, t, 4),
                               F32("past_value", past[1], 1, 2, t, 4)};
            hone_value out[] = {F32("y", wanted, 1, 2, 1, 4),
                                F32("now_key", now[0], 1, 2, t + 1, 4),
                                F32("now_value", now[1], 1, 2, t + 1, 4)};
            ASSERT_OK(hone_session_run(s, 3, in, 3, out, &err), err);
            memcpy(past, now, sizeof past);
            hone_value got = F32("y", y, 1, 2, 1, 4);
            ASSERT_OK(hone_state_run(state, 1, in, 1, &got, &err), err);
            assert_memory_equal(y, wanted, sizeof y);
            expect_kept(state, "past_key", (size_t)(t + 1) * 8, past[0]);
            expect_kept(state, "past_value", (size_t)(t + 1) * 8, past[1]);
        }
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* Each state is a stream of its own; a run without one knows nothing of them. */
static void streams_do_not_disturb_each_other(void **unused) {
    (void)unused;
    hone_error err;
    float one[2] = {1, 2}, ten[2] = {10, 20}, y[2], none[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        hone_session_options o = with_state("sum=next", backends[k]);
        hone_session *s = open_session(SUM, &o);
        hone_state *a = open_state(s), *b = open_state(s);
        for (int i = 1; i <= 3; i++) {
            hone_value in[] = {F32("x", one, 2), F32("sum", none, 2)}, out = F32("y", y, 2);
            ASSERT_OK(hone_state_run(a, 1, in, 1, &out, &err), err);
            assert_true(y[0] == (float)(i * i) && y[1] == (float)(4 * i * i));
            ASSERT_OK(hone_session_run(s, 2, in, 1, &out, &err), err);
            assert_true(y[0] == 1 && none[0] == 0);
            in[0] = F32("x", ten, 2);
            ASSERT_OK(hone_state_run(b, 1, in, 1, &out, &err), err);
            assert_true(y[0] == (float)(100 * i * i));
        }
        expect_kept(a, "sum", 2, (float[]){3, 6});
        expect_kept(b, "sum", 2, (float[]){30, 60});
        hone_session_destroy(s); /* stays while states need it */
        hone_value in = F32("x", ten, 2);
        ASSERT_OK(hone_state_run(a, 1, &in, 0, NULL, &err), err);
        expect_kept(a, "sum", 2, (float[]){13, 26});
        hone_state_destroy(a);
        hone_state_destroy(b);
        hone_state_destroy(NULL);
    }
}

/* A kept input may be given all the same, and a kept output taken. */
static void kept_values_can_be_given_and_taken(void **unused) {
    (void)unused;
    hone_error err;
    float x[2] = {1, 2}, other[2] = {100, 200}, next[2];
    hone_session_options o = with_state("sum=next", "cpu");
    hone_session *s = open_session(SUM, &o);
    hone_state *state = open_state(s);
    hone_value in[] = {F32("x", x, 2), F32("sum", other, 2)};
    hone_value out[] = {{.name = "next"}, F32("next", next, 2)};
    ASSERT_OK(hone_state_run(state, 1, in, 2, out, &err), err);
    assert_memory_equal(out[0].data, x, sizeof x);
    assert_memory_equal(next, x, sizeof x);
    hone_value_release(out, 1);
    ASSERT_OK(hone_state_run(state, 2, in, 1, &out[1], &err), err);
    assert_true(next[0] == 101 && next[1] == 202 && other[0] == 100 && other[1] == 200);
    expect_kept(state, "sum", 2, next);
    hone_state_destroy(state);
    hone_session_destroy(s);
}

/* The first value is the initializer, which is read in every first run and never made part of a
 * plan: also where all that depends on it alone could be computed beforehand. */
static void initializers_are_first_values(void **unused) {
    (void)unused;
    hone_error err;
    static const char model[] =
        "m (float[2] x, float[2] w) => (float[2] y, float[2] next) <float[2] w = {1, 2}> {"
        " twice = Add (w, w) next = Add (twice, w) y = Mul (x, twice) }";
    float x[2] = {1, 1}, y[2];
    for (int k = 0; k < 2; k++) {
        hone_session_options o = with_state("w=next", backends[k]);
        hone_session *s = open_session(model, &o);
        hone_state *state = open_state(s);
        hone_value in = F32("x", x, 2), out = F32("y", y, 2);
        for (int round = 0; round < 2; round++) {
            float w = 1;
            for (int i = 0; i < 4; i++, w *= 3) {
                ASSERT_OK(hone_state_run(state, 1, &in, 1, &out, &err), err);
                assert_true(y[0] == 2 * w && y[1] == 4 * w);
                /* Without a state it is what the model says. */
                ASSERT_OK(hone_session_run(s, 1, &in, 1, &out, &err), err);
                assert_true(y[0] == 2 && y[1] == 4);
            }
            ASSERT_OK(hone_state_reset(state, &err), err);
        }
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* Parameters are initializers, which need not be inputs of the model: here a step of gradient descent
 * on |x . w - t|^2. What would be folded and packed without a state is read anew in every run. */
static void parameters_are_updated(void **unused) {
    (void)unused;
    hone_error err;
    static const char model[] =
        "<ir_version: 8, opset_import: [\"\" : 17]> m (float[4, 2] x, float[4, 1] t) =>"
        " (float[4, 1] d, float[2, 1] w_next) <float[2, 1] w = {0, 0}, float rate = {0.125}> {"
        " y = MatMul (x, w) d = Sub (y, t) xt = Transpose (x) g = MatMul (xt, d)"
        " s = Mul (g, rate) w_next = Sub (w, s) }";
    float x[8] = {1, 0, 0, 1, 1, 1, 1, -1}, t[4] = {3, 5, 8, -2}, d[4], first[4];
    for (int k = 0; k < 2; k++) {
        hone_session_options o = with_state("w=w_next", backends[k]);
        hone_session *s = open_session(model, &o);
        hone_state *state = open_state(s);
        hone_value in[] = {F32("x", x, 4, 2), F32("t", t, 4, 1)}, out = F32("d", d, 4, 1);
        assert_string_equal(hone_session_state(s, 0, NULL), "w");
        for (int i = 0; i < 60; i++) ASSERT_OK(hone_state_run(state, 2, in, 1, &out, &err), err);
        hone_value w = {.name = "w"};
        ASSERT_OK(hone_state_get(state, &w, &err), err);
        assert_true(fabsf(((float *)w.data)[0] - 3) < 1e-4f);
        assert_true(fabsf(((float *)w.data)[1] - 5) < 1e-4f);
        for (int i = 0; i < 4; i++) assert_true(fabsf(d[i]) < 1e-3f);
        hone_value_release(&w, 1);
        /* The model has kept what it had. */
        out.data = first;
        ASSERT_OK(hone_session_run(s, 2, in, 1, &out, &err), err);
        for (int i = 0; i < 4; i++) assert_true(first[i] == -t[i]);
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* A stream is saved, goes on elsewhere, and begins anew. */
static void streams_are_saved_restored_and_reset(void **unused) {
    (void)unused;
    hone_error err;
    float x[2] = {1, 2}, buffer[2];
    hone_session_options o = with_state("sum=next", "cpu");
    hone_session *s = open_session(SUM, &o);
    hone_state *a = open_state(s), *b = open_state(s);
    hone_value in = F32("x", x, 2), saved = F32("sum", buffer, 2);
    ASSERT_FAILS(hone_state_get(a, &saved, &err), err, HONE_E_ARG, "'sum' has no value yet");
    for (int i = 0; i < 3; i++) ASSERT_OK(hone_state_run(a, 1, &in, 0, NULL, &err), err);
    ASSERT_OK(hone_state_get(a, &saved, &err), err);
    assert_ptr_equal(saved.data, buffer);
    ASSERT_OK(hone_state_set(b, &saved, &err), err);
    memset(buffer, 0, sizeof buffer); /* it was copied */
    ASSERT_OK(hone_state_run(b, 1, &in, 0, NULL, &err), err);
    expect_kept(b, "sum", 2, (float[]){4, 8});
    ASSERT_OK(hone_state_reset(b, &err), err);
    ASSERT_FAILS(hone_state_get(b, &saved, &err), err, HONE_E_ARG, "no value yet");
    ASSERT_OK(hone_state_run(b, 1, &in, 0, NULL, &err), err);
    expect_kept(b, "sum", 2, x);
    saved.bytes = 4;
    ASSERT_FAILS(hone_state_get(b, &saved, &err), err, HONE_E_ARG,
                 "takes 8 bytes, its buffer has 4");
    hone_state_destroy(a);
    hone_state_destroy(b);
    hone_session_destroy(s);
}

/* Once all sizes have come, runs allocate nothing, not for states either. */
static void a_stream_of_one_size_allocates_nothing(void **unused) {
    (void)unused;
    hone_error err;
    char text[LSTM_TEXT];
    recurrent_model(text, "LSTM", 4);
    hone_session_options o = with_state("*0=*n", "cpu");
    hone_session *s = open_session(text, &o);
    hone_state *state = open_state(s);
    float x[IN] = {1, 2, 3}, y[HIDDEN];
    hone_value in = F32("x", x, 1, 1, IN), out = F32("y", y, 1, 1, 1, HIDDEN);
    for (int i = 0; i < 2; i++) ASSERT_OK(hone_state_run(state, 1, &in, 1, &out, &err), err);
    hone_memory_use before = hone_session_memory(s);
    for (int i = 0; i < 5; i++) ASSERT_OK(hone_state_run(state, 1, &in, 1, &out, &err), err);
    assert_int_equal(hone_session_memory(s).allocations, before.allocations);
    assert_int_equal(hone_session_memory(s).live_bytes, before.live_bytes);
    hone_state_destroy(state);
    hone_session_destroy(s);
}

/* ---- at the same time ---- */

enum { WORKERS = 4, WORK = 200 };

typedef struct worker {
    hone_session *session;
    float unit, sum[2];
    hone_status status;
} worker;

static void *work(void *ctx) {
    worker *w = ctx;
    hone_state *state;
    hone_error err;
    float x[2] = {w->unit, 2 * w->unit};
    hone_value in = F32("x", x, 2), kept = F32("sum", w->sum, 2);
    w->status = hone_state_create(&state, w->session, &err);
    for (int i = 0; i < WORK && w->status == HONE_OK; i++)
        w->status = hone_state_run(state, 1, &in, 0, NULL, &err);
    if (w->status == HONE_OK) w->status = hone_state_get(state, &kept, &err);
    hone_state_destroy(state);
    return NULL;
}

static void streams_run_at_the_same_time(void **unused) {
    (void)unused;
    hone_session_options o = with_state("sum=next", "cpu");
    hone_session *s = open_session(SUM, &o);
    worker workers[WORKERS] = {0};
    pthread_t ids[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.session = s, .unit = (float)(i + 1)};
        assert_int_equal(pthread_create(&ids[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(ids[i], NULL);
        assert_int_equal(workers[i].status, HONE_OK);
        assert_true(workers[i].sum[0] == (float)(WORK * (i + 1)));
        assert_true(workers[i].sum[1] == (float)(2 * WORK * (i + 1)));
    }
    hone_session_destroy(s);
}

/* What a run calls tries to use its state. */
typedef struct intruder {
    hone_state *state;
    int refused;
    bool stop;
} intruder;

static bool intrude(void *ctx) {
    intruder *n = ctx;
    hone_error err;
    float two[2] = {1, 2};
    hone_value v = F32("sum", two, 2);
    if (n->state == NULL) return !n->stop;
    n->refused += hone_state_run(n->state, 0, NULL, 0, NULL, &err) == HONE_E_ARG &&
                  strstr(err.text, "in use by another call") != NULL;
    n->refused += hone_state_get(n->state, &v, &err) == HONE_E_ARG;
    n->refused += hone_state_set(n->state, &v, &err) == HONE_E_ARG;
    n->refused += hone_state_reset(n->state, &err) == HONE_E_ARG;
    n->state = NULL;
    return !n->stop;
}

static void a_state_has_one_call_at_a_time(void **unused) {
    (void)unused;
    hone_error err;
    float x[2] = {1, 2};
    for (int k = 0; k < 2; k++) {
        intruder n = {0};
        hone_session_options o = with_state("sum=next", backends[k]);
        o.keep_going = intrude;
        o.keep_going_ctx = &n;
        hone_session *s = open_session(SUM, &o);
        n.state = open_state(s);
        hone_state *state = n.state;
        hone_value in = F32("x", x, 2);
        ASSERT_OK(hone_state_run(state, 1, &in, 0, NULL, &err), err);
        assert_int_equal(n.refused, 4);
        expect_kept(state, "sum", 2, x);
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* ---- what goes wrong ---- */

/* However a run fails, the stream goes on as if it had not been tried. */
static void a_failed_run_changes_nothing(void **unused) {
    (void)unused;
    hone_error err;
    float x[2] = {1, 2}, y;
    int64_t which = 1;
    for (int k = 0; k < 2; k++) {
        intruder n = {0};
        hone_session_options o = with_state("sum=next", backends[k]);
        o.keep_going = intrude;
        o.keep_going_ctx = &n;
        hone_session *s = open_session(CHOSEN, &o);
        hone_state *state = open_state(s);
        hone_value in[] = {F32("x", x, 2),
                           {.name = "which",
                            .dtype = HONE_DTYPE_S64,
                            .rank = 1,
                            .dims = {1},
                            .data = &which,
                            .bytes = sizeof which}};
        hone_value out = F32("y", &y, 1), kept = {.name = "sum"};
        which = 7;
        ASSERT_FAILS(hone_state_run(state, 2, in, 1, &out, &err), err, HONE_E_ARG, "7");
        ASSERT_FAILS(hone_state_get(state, &kept, &err), err, HONE_E_ARG, "no value yet");
        for (int i = 1; i <= 3; i++) {
            which = 1;
            ASSERT_OK(hone_state_run(state, 2, in, 1, &out, &err), err);
            assert_true(y == (float)(2 * i));
            which = -3;
            ASSERT_FAILS(hone_state_run(state, 2, in, 1, &out, &err), err, HONE_E_ARG, "-3");
            which = 1;
            n.stop = true;
            ASSERT_FAILS(hone_state_run(state, 2, in, 1, &out, &err), err, HONE_E_LIMIT, "stopped");
            n.stop = false;
            out.bytes = 0;
            ASSERT_FAILS(hone_state_run(state, 2, in, 1, &out, &err), err, HONE_E_ARG, "'y'");
            out.bytes = sizeof y;
            ASSERT_FAILS(hone_state_run(state, 1, in, 1, &out, &err), err, HONE_E_ARG, "'which'");
            expect_kept(state, "sum", 2, (float[]){(float)i, (float)(2 * i)});
        }
        hone_state_destroy(state);
        hone_session_destroy(s);
    }
}

/* The first run settles sizes only if it succeeds; later ones must agree with it. */
static void sizes_are_those_of_the_first_run(void **unused) {
    (void)unused;
    hone_error err;
    char text[LSTM_TEXT];
    recurrent_model(text, "GRU", 3);
    hone_session_options o = with_state("h0=hn", "cpu");
    hone_session *s = open_session(text, &o);
    hone_state *state = open_state(s);
    float x[2 * IN] = {0}, y[2 * HIDDEN];
    hone_value two = F32("x", x, 1, 2, IN), one = F32("x", x, 1, 1, IN);
    hone_value out = F32("y", y, 1, 1, 2, HIDDEN), small = F32("y", y, 1, 1, 1, HIDDEN);
    ASSERT_FAILS(hone_state_run(state, 1, &two, 1, &small, &err), err, HONE_E_ARG, "'y' takes 40");
    ASSERT_OK(hone_state_run(state, 1, &one, 1, &small, &err), err);
    ASSERT_FAILS(hone_state_run(state, 1, &two, 1, &out, &err), err, HONE_E_SHAPE,
                 "input 'h0': axis 1 = batch has size 1, expected 2");
    ASSERT_OK(hone_state_run(state, 1, &one, 1, &small, &err), err);
    ASSERT_OK(hone_state_reset(state, &err), err);
    ASSERT_OK(hone_state_run(state, 1, &two, 1, &out, &err), err);
    hone_state_destroy(state);
    hone_session_destroy(s);
}

/* Where the guess at the size of a first value is wrong, the error says so. */
static void wrong_first_sizes_are_told(void **unused) {
    (void)unused;
    hone_error err;
    static const char model[] =
        "<ir_version: 8, opset_import: [\"\" : 17]> m (float[2, 3] x, float[n, 3] list) =>"
        " (float[2, 3] y, float[k, 3] longer) {"
        " longer = Concat <axis = 0> (list, x) y = Add (x, list) }";
    float x[6] = {0};
    hone_session_options o = with_state("list=longer", "cpu");
    hone_session *s = open_session(model, &o);
    hone_state *state = open_state(s);
    hone_value in = F32("x", x, 2, 3), list = F32("list", x, 2, 3);
    ASSERT_FAILS(hone_state_run(state, 1, &in, 0, NULL, &err), err, HONE_E_SHAPE,
                 "state 'list' begins as zeros of [0, 3] unless it is set: ");
    ASSERT_OK(hone_state_set(state, &list, &err), err);
    ASSERT_OK(hone_state_run(state, 1, &in, 0, NULL, &err), err);
    hone_state_destroy(state);
    hone_session_destroy(s);
}

static void memory_of_states_counts(void **unused) {
    (void)unused;
    enum { SIDE = 500 };
    hone_error err;
    static const char model[] =
        "m (float[500, 500] sum) => (float[500, 500] next) { next = Transpose (sum) }";
    hone_session_options o = with_state("sum=next", "cpu");
    o.max_memory = 5 << 20; /* two states of two buffers take 4 MB; three would take 6 */
    hone_session *s = open_session(model, &o);
    hone_state *states[3];
    hone_status status = HONE_OK;
    int ran = 0;
    for (int i = 0; i < 3; i++) {
        states[i] = open_state(s);
        status = hone_state_run(states[i], 0, NULL, 0, NULL, &err);
        ran += status == HONE_OK;
    }
    assert_int_equal(ran, 2);
    assert_int_equal(status, HONE_E_NOMEM);
    assert_non_null(strstr(err.text, "within 5242880 bytes"));
    assert_true(hone_session_memory(s).peak_bytes <= o.max_memory);
    assert_true(hone_session_memory(s).live_bytes >= 2 * 2 * SIDE * SIDE * sizeof(float));
    hone_state_destroy(states[0]);
    ASSERT_OK(hone_state_run(states[2], 0, NULL, 0, NULL, &err), err);
    hone_state_destroy(states[1]);
    hone_state_destroy(states[2]);
    hone_session_destroy(s);
}

/* Bytes of a state after some runs of a model of [500, 500] with the pair sum=next and an x. */
static size_t bytes_of_state(const char *model, bool no_sharing) {
    enum { SIDE = 500 };
    static float x[SIDE * SIDE], y[SIDE * SIDE];
    hone_error err;
    hone_session_options o = with_state("sum=next", "cpu");
    o.no_sharing = no_sharing;
    hone_session *s = open_session(model, &o);
    hone_value in = F32("x", x, SIDE, SIDE), out = F32("next", y, SIDE, SIDE);
    hone_value kept[] = {in, F32("sum", x, SIDE, SIDE)};
    for (int i = 0; i < SIDE * SIDE; i++) x[i] = (float)(i % 10);
    ASSERT_OK(hone_session_run(s, 2, kept, 1, &out, &err), err); /* makes the plan */
    size_t before = hone_session_memory(s).live_bytes;
    hone_state *state = open_state(s);
    for (int i = 0; i < 3; i++) ASSERT_OK(hone_state_run(state, 1, &in, 1, &out, &err), err);
    for (int i = 0; i < SIDE * SIDE; i++) assert_true(y[i] == 3 * x[i]);
    size_t bytes = hone_session_memory(s).live_bytes - before;
    hone_state_destroy(state);
    hone_session_destroy(s);
    return bytes;
}

#define LARGE(body)                                                                         \
    "<ir_version: 8, opset_import: [\"\" : 17]> m (float[500, 500] x, float[500, 500] sum)" \
    " => (float[500, 500] next) {" body "}"

/* Where kernels allow it a state has one buffer, which runs write to in place; a Transpose, which
 * does not, is in memory_of_states_counts. */
static void states_are_updated_in_place(void **unused) {
    (void)unused;
    static const size_t one = 500 * 500 * sizeof(float);
    static const char *const models[] = {
        LARGE("next = Add (sum, x)"),
        /* An earlier step reads it than the one that writes. */
        LARGE("a = Transpose (sum) b = Transpose (x) c = Add (a, b) next = Transpose (c)")};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        assert_true(bytes_of_state(models[i], false) < one + 1000);
        assert_true(bytes_of_state(models[i], true) >= 2 * one);
    }
}

static void values_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    hone_error err;
    float x[3] = {1, 2, 3};
    hone_session_options o = with_state("sum=next", "cpu");
    hone_session *s = open_session(SUM, &o);
    hone_state *state = open_state(s);
    hone_value v = F32("sum", x, 2), in = F32("x", x, 2);
    ASSERT_OK(hone_state_run(state, 1, &in, 0, NULL, &err), err);
    hone_value bad[] = {F32("sum", x, 3), F32("sum", x, 2, 1), v, v, F32("x", x, 2), v};
    bad[2].dtype = HONE_DTYPE_S32;
    bad[3].bytes = 4;
    bad[5].name = NULL;
    static const struct {
        hone_status status;
        const char *part;
    } wanted[] = {{HONE_E_SHAPE, "'sum': axis 0 has size 3, expected 2"},
                  {HONE_E_SHAPE, "'sum' has rank 2, expected 1"},
                  {HONE_E_TYPE, "'sum' is s32, expected f32"},
                  {HONE_E_ARG, "'sum' has 4 bytes, its dims say 8"},
                  {HONE_E_NOT_FOUND, "the state keeps no input 'x'"},
                  {HONE_E_ARG, "a value has no name"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ASSERT_FAILS(hone_state_set(state, &bad[i], &err), err, wanted[i].status, wanted[i].part);
    expect_kept(state, "sum", 2, x);
    hone_state_destroy(state);
    hone_session_destroy(s);
    hone_session_options_init(&o);
    s = open_session(SUM, &o);
    ASSERT_FAILS(hone_state_create(&state, s, &err), err, HONE_E_ARG, "declares no state");
    hone_session_destroy(s);
}

static void wrong_pairs_are_refused(void **unused) {
    (void)unused;
    static const char model[] =
        "m (float[2] a, float[2] b_1, int64[2] n, float[2, 2] m, float[3] c) =>"
        " (float[2] p, float[2] q_1, float[2, 2] r) {"
        " p = Add (a, b_1) q_1 = Mul (a, a) r = Add (m, a) s = Add (c, c) t = Add (n, n) }";
    static const struct {
        const char *pairs;
        hone_status status;
        const char *part;
    } rows[] = {
        {"", HONE_E_ARG, "'' is no pair, expected INPUT=OUTPUT"},
        {"a", HONE_E_ARG, "'a' is no pair, expected INPUT=OUTPUT"},
        {"a=p,", HONE_E_ARG, "'' is no pair"},
        {"=p", HONE_E_ARG, "'' is no name"},
        {"a=", HONE_E_ARG, "'' is no name"},
        {"a=x", HONE_E_NOT_FOUND, "state 'a=x': the model has no output 'x'"},
        {"x=p", HONE_E_NOT_FOUND, "state 'x=p': the model has no input 'x'"},
        {"a*=p*", HONE_OK, ""},
        {"b*=q*", HONE_OK, ""},
        {"b*1=q*1", HONE_OK, ""},
        {"b_*1=q_*1", HONE_OK, ""},
        {"b_1*1=q*", HONE_E_NOT_FOUND, "no input 'b_1*1'"},
        {"b*=p*", HONE_E_NOT_FOUND, "no output 'p*'"},
        {"b*=p", HONE_E_ARG, "'b*=p' has a * on one side only"},
        {"b**=p*", HONE_E_ARG, "'b**' is no name, expected one with at most one *"},
        {"a=p,a=q_1", HONE_E_ARG, "input 'a' is in two pairs"},
        {"a=p,b*=q*,b_1=r", HONE_E_ARG, "input 'b_1' is in two pairs"},
        {"a=p,b_1=p", HONE_E_ARG, "output 'p' is in two pairs"},
        {"n=p", HONE_E_TYPE, "state 'n=p': the output is f32, the input s64"},
        {"m=p", HONE_E_SHAPE, "state 'm=p': the output is [2], the input [2, 2]"},
        {"c=p", HONE_E_SHAPE, "state 'c=p': the output is [2], the input [3]"},
        {"a=p,b_1=q_1,m=r", HONE_OK, ""},
    };
    hone_error err;
    hone_model *m;
    hone_session *s;
    ASSERT_OK(hone_model_load_text(&m, model, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hone_session_options o = with_state(rows[i].pairs, i % 2 == 0 ? "cpu" : "reference");
        if (rows[i].status == HONE_OK) {
            ASSERT_OK(hone_session_create(&s, m, &o, &err), err);
            hone_session_destroy(s);
            continue;
        }
        ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, rows[i].status, rows[i].part);
    }
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrent_streams_equal_the_whole_sequence),
        cmocka_unit_test(sizes_of_first_values_are_found),
        cmocka_unit_test(a_cache_grows),
        cmocka_unit_test(streams_do_not_disturb_each_other),
        cmocka_unit_test(kept_values_can_be_given_and_taken),
        cmocka_unit_test(initializers_are_first_values),
        cmocka_unit_test(parameters_are_updated),
        cmocka_unit_test(streams_are_saved_restored_and_reset),
        cmocka_unit_test(a_stream_of_one_size_allocates_nothing),
        cmocka_unit_test(streams_run_at_the_same_time),
        cmocka_unit_test(a_state_has_one_call_at_a_time),
        cmocka_unit_test(a_failed_run_changes_nothing),
        cmocka_unit_test(sizes_are_those_of_the_first_run),
        cmocka_unit_test(wrong_first_sizes_are_told),
        cmocka_unit_test(memory_of_states_counts),
        cmocka_unit_test(states_are_updated_in_place),
        cmocka_unit_test(values_that_do_not_fit_are_refused),
        cmocka_unit_test(wrong_pairs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

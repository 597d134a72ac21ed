/* What counts as a loss in outputs of each kind: by tensors made by hand. */
#include "measure/likeness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"
#include "support/graph.h"

enum { MOST_OUTPUTS = 12 };

/* The outputs of two models on a run of some samples. */
typedef struct bench {
    hn_model *model; /* its outputs are named as those of the test */
    hn_arena arena;
    hn_output_forms forms;
    hn_likeness *l;
    hn_tensor *t[2][MOST_OUTPUTS];
    int n;
} bench;

static void begin(bench *b, const char *graph, bool noise) {
    hn_error err;
    *b = (bench){.model = graph_model(21, graph)};
    b->n = b->model->graph->n_outputs;
    hn_arena_init(&b->arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_output_forms_init(&b->forms, b->model->graph, noise, &b->arena, &err),
                     HONE_OK);
    assert_int_equal(hn_likeness_create(&b->l, &b->forms, &scratch_mem, &err), HONE_OK);
}

static void end(bench *b) {
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < 2; k++) hn_tensor_unref(b->t[k][i]);
    hn_likeness_destroy(b->l);
    hn_arena_deinit(&b->arena);
    hn_model_destroy(b->model);
}

static float *make(bench *b, int side, int i, hone_dtype dtype, int rank, const int64_t *dims) {
    hn_error err;
    hn_tensor_unref(b->t[side][i]);
    assert_int_equal(
        hn_tensor_create(&b->t[side][i], &scratch_mem, HN_MEM_DATA, dtype, rank, dims, &err),
        HONE_OK);
    memset(b->t[side][i]->data, 0, b->t[side][i]->bytes);
    return b->t[side][i]->data;
}

/* A copy of what the original gave, to be changed. */
static float *copy(bench *b, int i) {
    const hn_tensor *a = b->t[0][i];
    float *to = make(b, 1, i, a->dtype, a->rank, a->dims);
    memcpy(to, a->data, a->bytes);
    return to;
}

static hn_likeness_result compared(bench *b, int64_t samples) {
    hn_error err;
    const hn_tensor *in = NULL;
    const hn_tensor *const *a = (const hn_tensor *const *)b->t[0], *const *other =
                                                                       (const hn_tensor *const *)
                                                                           b->t[1];
    if (hn_likeness_add(b->l, &in, a, other, samples, samples, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return hn_likeness_figure(b->l);
}

/* Numbers that look random and are the same each time. */
static float shaky(int64_t i) { return (float)((i * 7919 + 17) % 1000) / 1000; }

/* ---- detectors ---- */

enum { PLACES = 64, CLASSES = 3, OBJECTS = 12 };

static const char one_output[] = "g (float[n,2] x) => (float[n,k,a] y) { y = Identity (x) }";

/* Boxes of 30 pixels on a grid of 8 x 8, 80 apart, and scores: OBJECTS places have one of 0.6. */
static void put_place(float *x, int64_t place, int64_t of_place, int64_t of_channel, int objectness,
                      float score) {
    float box[4] = {(float)(place % 8) * 80 + 40, (float)(place / 8) * 80 + 40, 30, 30};
    bool object = place % 5 == 0 && place / 5 < OBJECTS;
    for (int k = 0; k < 4; k++) x[place * of_place + k * of_channel] = box[k];
    if (objectness > 0) x[place * of_place + 4 * of_channel] = object ? 0.9f : 0.001f;
    for (int c = 0; c < CLASSES; c++) {
        float low = objectness > 0 ? 0.3f : 0.002f * shaky(place + c);
        x[place * of_place + (4 + objectness + c) * of_channel] =
            object && c == place % CLASSES ? score : low;
    }
}

static void put_head(float *x, bool across, int objectness, float score) {
    int64_t channels = 4 + objectness + CLASSES;
    for (int64_t i = 0; i < PLACES; i++)
        put_place(x, i, across ? 1 : channels, across ? PLACES : 1, objectness, score);
}

/* Scores that collapse beside boxes in pixels: nearly all of the tensor is as before. */
static void scores_beside_boxes(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) {
        bench b;
        bool across = form % 2 == 0;
        int objectness = form / 2;
        int64_t channels = 4 + objectness + CLASSES;
        const int64_t dims[] = {1, across ? channels : PLACES, across ? PLACES : channels};
        begin(&b, one_output, false);
        put_head(make(&b, 0, 0, HONE_DTYPE_F32, 3, dims), across, objectness, 0.6f);
        put_head(copy(&b, 0), across, objectness, 0.55f);
        hn_likeness_result f = compared(&b, 1);
        assert_string_equal(f.measure, "detections kept");
        assert_int_equal(f.detections.wanted, OBJECTS);
        assert_true(f.value == 1 && f.low < 1);
        put_head(b.t[1][0]->data, across, objectness, 0.05f);
        f = compared(&b, 1);
        assert_int_equal(f.detections.wanted, 2 * OBJECTS);
        assert_int_equal(f.detections.lost, OBJECTS);
        assert_float_equal(f.value, 0.5, 1e-9);
        assert_int_equal(f.output, -1);
        end(&b);
    }
}

static void a_detection_needs_its_box_and_its_class(void **state) {
    (void)state;
    bench b;
    begin(&b, one_output, false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, PLACES, 4 + CLASSES));
    put_head(a, false, 0, 0.6f);
    float *x = copy(&b, 0);
    x[0] += 40; /* the box of place 0 moves by more than its width */
    float class_0 = x[15 * 7 + 4];
    x[15 * 7 + 4] = x[15 * 7 + 5]; /* and place 15 says another class */
    x[15 * 7 + 5] = class_0;
    x[1 * 7 + 4] = 0.9f; /* and where nothing was something is found, three times */
    x[2 * 7 + 4] = 0.9f;
    x[3 * 7 + 4] = 0.9f;
    hn_likeness_result f = compared(&b, 1);
    assert_int_equal(f.detections.lost, 2);
    assert_int_equal(f.detections.added, 5);
    assert_float_equal(f.value, 1 - 5.0 / OBJECTS, 1e-9);
    char text[160];
    hn_likeness_result_text(&f, &b.forms, text, sizeof text);
    assert_string_equal(text, "2 of 12 detections lost, 5 added");
    end(&b);
}

/* A few detections say little: channels are judged beside them, and the worst counts. */
static void few_detections_are_not_enough(void **state) {
    (void)state;
    bench b;
    begin(&b, one_output, false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, PLACES, 4 + CLASSES));
    put_head(a, false, 0, 0.6f);
    for (int64_t i = 9 * 5; i < PLACES; i += 5) /* 9 are left */
        for (int c = 0; c < CLASSES; c++) a[7 * i + 4 + c] = 0.001f;
    float *x = copy(&b, 0);
    for (int64_t i = 0; i < PLACES; i++) x[7 * i + 3] += 5; /* which loses no box */
    hn_likeness_result f = compared(&b, 1);
    assert_int_equal(f.detections.wanted, 0);
    assert_string_equal(f.measure, "agreement");
    assert_true(f.output == 0 && f.channel == 3 && f.value < 0.99);
    end(&b);
}

/* Several objects that overlap are one: how many places vote for it does not matter. */
static void one_object_counts_once(void **state) {
    (void)state;
    bench b;
    begin(&b, one_output, false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, PLACES, 4 + CLASSES));
    put_head(a, false, 0, 0.6f);
    memcpy(a + 1 * 7, a, 7 * sizeof *a);
    a[1 * 7 + 1] += 4; /* a little lower, and less sure */
    a[1 * 7 + 4] = 0.5f;
    float *x = copy(&b, 0);
    x[4] = 0.1f; /* the surer one is gone, the other still finds it */
    hn_likeness_result f = compared(&b, 1);
    assert_int_equal(f.detections.wanted, OBJECTS);
    assert_int_equal(f.detections.lost, 0);
    end(&b);
}

#define GROUPS                                             \
    "g (float[n,2] x) => (float[n,a,k] s, float[n,a,4] b)" \
    " { s = Identity (x) b = Identity (x) }"

/* Scores and offsets of boxes in outputs of their own, scores as probabilities with a background,
 * or as logits. */
static void scores_and_boxes_apart(void **state) {
    (void)state;
    for (int logits = 0; logits < 2; logits++) {
        bench b;
        begin(&b, GROUPS, false);
        float *s = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, 100, 2));
        float *box = make(&b, 0, 1, HONE_DTYPE_F32, 3, DIMS(1, 100, 4));
        for (int64_t i = 0; i < 400; i++) box[i] = 4 * shaky(i) - 2;
        for (int64_t i = 0; i < 100; i++) {
            bool object = i % 8 == 1; /* 13, none beside another */
            s[2 * i] = logits ? -5 - shaky(i) : object && i < 70 ? 0.1f : 0.99f;
            s[2 * i + 1] = logits ? (object ? 2 : -6 - shaky(i)) : 1 - s[2 * i];
        }
        float *other = copy(&b, 0), *boxes = copy(&b, 1);
        hn_likeness_result f = compared(&b, 1);
        int64_t objects = logits ? 13 : 9;
        assert_int_equal(f.detections.wanted, objects);
        assert_true(f.value == 1);
        other[2 * 1 + 1] = logits ? -4 : 0.1f; /* of place 1 the score, of place 9 the box */
        other[2 * 1] = logits ? -4 : 0.9f;
        boxes[4 * 9] += 6;
        boxes[4 * 2] += 1; /* where there is nothing this is no loss */
        f = compared(&b, 1);
        assert_int_equal(f.detections.lost, 2);
        end(&b);
    }
}

#define LIST                                                                            \
    "g (float[n,2] x) => (float[m,4] b, int64[m] c, float[m] s) <int64 zero = {0},"     \
    " int64[1] one = {1}> { i = NonZero (x) c = Gather (i, zero) s = Cast <to = 1> (c)" \
    " u = Unsqueeze (s, one) b = Concat <axis = 1> (u, u, u, u) }"

static void put_list(bench *b, int side, int64_t n, int64_t from) {
    float *box = make(b, side, 0, HONE_DTYPE_F32, 2, DIMS(n, 4));
    int64_t *label = (int64_t *)(void *)make(b, side, 1, HONE_DTYPE_S64, 1, DIMS(n));
    float *score = make(b, side, 2, HONE_DTYPE_F32, 1, DIMS(n));
    for (int64_t i = 0; i < n; i++) {
        box[4 * i] = box[4 * i + 1] = (float)(50 * (i + from));
        box[4 * i + 2] = box[4 * i + 3] = (float)(50 * (i + from) + 40);
        label[i] = i + from;
        score[i] = 0.9f;
    }
}

/* Lists after suppression: they may be of different lengths, and in another order. */
static void lists_of_detections(void **state) {
    (void)state;
    bench b;
    begin(&b, LIST, false);
    put_list(&b, 0, 5, 0);
    put_list(&b, 1, 4, 2);
    hn_likeness_result f = compared(&b, 1); /* 0 and 1 are lost, 5 is added */
    assert_string_equal(f.measure, "detections kept");
    assert_int_equal(f.detections.wanted, 5);
    assert_int_equal(f.detections.lost, 2);
    assert_int_equal(f.detections.added, 1);
    put_list(&b, 0, 0, 0);
    put_list(&b, 1, 1, 0);
    f = compared(&b, 1);
    assert_int_equal(f.detections.added, 2);
    end(&b);
    /* With one detection in the first sample it is a list as well. */
    begin(&b, LIST, false);
    put_list(&b, 0, 1, 0);
    put_list(&b, 1, 1, 0);
    assert_int_equal(compared(&b, 1).detections.wanted, 1);
    put_list(&b, 1, 3, 0);
    assert_int_equal(compared(&b, 1).detections.added, 2);
    end(&b);
}

#define CLASSIFIER                                                                 \
    "g (float[n,2] x) => (float[n,4] p, int64[n] c, float[n] s) <float[2,4] w = {" \
    "1, 2, 3, 4, 5, 6, 7, 8}, int64[1] one = {1}> { p = MatMul (x, w)"             \
    " s = ReduceMax <keepdims = 0> (p, one) c = ArgMax <axis = 1, keepdims = 0> (p) }"

/* Four scores, the best of them and its class are no box. */
static void four_classes_are_no_box(void **state) {
    (void)state;
    bench b;
    begin(&b, CLASSIFIER, false);
    for (int64_t rows = 1; rows < 3; rows++) {
        for (int i = 0; i < 2; i++) {
            float *p = make(&b, i, 0, HONE_DTYPE_F32, 2, DIMS(rows, 4));
            make(&b, i, 1, HONE_DTYPE_S64, 1, DIMS(rows));
            float *best = make(&b, i, 2, HONE_DTYPE_F32, 1, DIMS(rows));
            for (int64_t k = 0; k < rows; k++) p[4 * k] = best[k] = 0.7f;
        }
        b.forms.looked = false;
        hn_likeness_result f = compared(&b, rows);
        assert_int_equal(b.forms.head.kind, HN_HEAD_NONE);
        assert_true(f.value == 1);
    }
    end(&b);
}

/* Boxes, scores and labels of which one is missing, and a head whose channels change. */
static void heads_that_do_not_fit(void **state) {
    (void)state;
    bench b;
    hn_error err;
    const hn_tensor *in = NULL;
    begin(&b, LIST, false);
    put_list(&b, 0, 5, 0);
    put_list(&b, 1, 5, 0);
    make(&b, 1, 1, HONE_DTYPE_S64, 1, DIMS(4));
    assert_int_equal(hn_likeness_add(b.l, &in, (const hn_tensor *const *)b.t[0],
                                     (const hn_tensor *const *)b.t[1], 1, 1, &err),
                     HONE_E_SHAPE);
    end(&b);
    begin(&b, one_output, false);
    put_head(make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, PLACES, 4 + CLASSES)), false, 0, 0.6f);
    copy(&b, 0);
    assert_int_equal(compared(&b, 1).detections.wanted, OBJECTS);
    make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, PLACES, 5));
    copy(&b, 0);
    assert_int_equal(compared(&b, 1).detections.wanted, OBJECTS);
    end(&b);
}

/* Rows of probabilities over many steps, as speech and text have them, are no boxes. */
static void probabilities_are_no_detector(void **state) {
    (void)state;
    bench b;
    begin(&b, one_output, false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(2, 40, 8));
    for (int64_t i = 0; i < 2 * 40; i++) a[8 * i + i * 3 % 8] = 1;
    float *x = copy(&b, 0);
    x[0] = 0.4f; /* the first answer of the first sample changes */
    x[1] = 0.6f;
    hn_likeness_result f = compared(&b, 2);
    assert_int_equal(b.forms.head.kind, HN_HEAD_NONE);
    assert_string_equal(f.measure, "agreement");
    assert_float_equal(f.value, 1 - 1.0 / 80, 1e-9);
    assert_true(f.low < f.value && f.high > f.value && f.missed == 1 && f.of == 80);
    end(&b);
}

/* ---- everything else ---- */

#define TWELVE                                                                   \
    "g (float[n,2] x) => (float[n,6,5,5] a, float[n,6,5,5] b, float[n,6,5,5] c," \
    " float[n,6,5,5] d, float[n,6,5,5] e, float[n,6,5,5] f, float[n,6,5,5] h,"   \
    " float[n,6,5,5] i, float[n,6,5,5] j, float[n,6,5,5] k, float[n,6,5,5] l,"   \
    " float[n,6,5,5] m) { a = Identity (x) b = Identity (x) c = Identity (x)"    \
    " d = Identity (x) e = Identity (x) f = Identity (x) h = Identity (x)"       \
    " i = Identity (x) j = Identity (x) k = Identity (x) l = Identity (x)"       \
    " m = Identity (x) }"

static void one_of_twelve_is_broken(void **state) {
    (void)state;
    bench b;
    char text[160];
    begin(&b, TWELVE, false);
    for (int i = 0; i < 12; i++) {
        float *a = make(&b, 0, i, HONE_DTYPE_F32, 4, DIMS(2, 6, 5, 5));
        for (int64_t k = 0; k < 2 * 6 * 25; k++) a[k] = 10 * shaky(k + i) - 5;
        copy(&b, i);
    }
    assert_true(compared(&b, 2).value == 1);
    float *x = b.t[1][7]->data;
    for (int64_t s = 0; s < 2; s++)
        for (int64_t k = 0; k < 25; k++) x[s * 150 + 4 * 25 + k] = 0; /* channel 4 of output i */
    hn_likeness_result f = compared(&b, 2);
    assert_string_equal(f.measure, "signal kept");
    assert_true(f.output == 7 && f.channel == 4 && f.value < 0.6);
    assert_true(f.low <= f.value && f.high >= f.value);
    hn_likeness_result_text(&f, &b.forms, text, sizeof text);
    assert_true(strncmp(text, "output 'i', channel 4: ", 23) == 0);
    assert_true(hn_likeness_of(b.l, 6).value == 1);
    end(&b);
}

/* 20 dB is 1 %, in every channel for itself however large the others are. */
static void small_channels_count_as_much(void **state) {
    (void)state;
    bench b;
    begin(&b, "g (float[n,2] x) => (float[n,2,a] y) { y = Identity (x) }", false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, 2, 16));
    for (int i = 0; i < 16; i++) {
        a[i] = i % 2 == 0 ? 600 : 200;
        a[16 + i] = i % 4 < 2 ? 0.3f : 0.1f;
    }
    float *x = copy(&b, 0);
    for (int i = 0; i < 16; i++) x[16 + i] += i % 2 == 0 ? 0.01f : -0.01f;
    hn_likeness_result f = compared(&b, 1);
    assert_int_equal(f.channel, 1);
    assert_float_equal(f.value, 0.99, 1e-4);
    assert_float_equal(f.sqnr_db, 20, 0.01);
    end(&b);
}

/* A class that never occurs has nothing to lose; one peak among thousands of zeros has. */
static void quiet_channels_and_single_peaks(void **state) {
    (void)state;
    bench b;
    enum { LONG = 5000 };
    begin(&b, "g (float[n,2] x) => (float[n,2,a] y) { y = Identity (x) }", false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, 2, LONG));
    for (int i = 0; i < LONG; i++) {
        a[i] = 1e-3f * shaky(i);
        a[LONG + i] = 1e-6f * shaky(i);
    }
    for (int i = 0; i < 10; i++) a[400 * i] = 0.9f;
    float *x = copy(&b, 0);
    memset(x + LONG, 0, LONG * sizeof *x);
    for (int i = 0; i < LONG; i++) x[i] = i % 400 == 0 ? a[i] : 0;
    hn_likeness_result f = compared(&b, 1);
    assert_true(f.value > 0.995);
    x[0] = 0;
    f = compared(&b, 1);
    char text[160];
    hn_likeness_result_text(&f, &b.forms, text, sizeof text);
    assert_string_equal(text, "output 'y', channel 0: 1 of 20 highest values fall behind");
    assert_float_equal(f.value, 0.95, 1e-9);
    end(&b);
}

static void what_is_not_finite_is_broken(void **state) {
    (void)state;
    bench b;
    begin(&b, "g (float[n,2] x) => (float[n,2,a] y) { y = Identity (x) }", false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, 2, 16));
    for (int i = 0; i < 32; i++) a[i] = shaky(i);
    a[3] = INFINITY;
    float *x = copy(&b, 0);
    assert_true(compared(&b, 1).value == 1); /* both say so */
    x[20] = NAN;
    hn_likeness_result f = compared(&b, 1);
    assert_true(f.value == 0 && f.channel == 1);
    end(&b);
}

#define PAIR \
    "g (float[n,4] x) => (float[n,4] y, int64[n] z) { y = Identity (x) z = Cast <to = 7> (x) }"

/* Answers, labels, and vectors that are compared by their direction or copy an input. */
static void rows_of_scores(void **state) {
    (void)state;
    bench b;
    hn_error err;
    begin(&b, PAIR, false);
    float *a = make(&b, 0, 0, HONE_DTYPE_F32, 2, DIMS(10, 4));
    int64_t *labels = (int64_t *)(void *)make(&b, 0, 1, HONE_DTYPE_S64, 1, DIMS(10));
    for (int i = 0; i < 40; i++) a[i] = i % 4 == 2 ? 7 : shaky(i);
    for (int i = 0; i < 10; i++) labels[i] = 2;
    float *x = copy(&b, 0);
    int64_t *y = (int64_t *)(void *)copy(&b, 1);
    x[1] = 9;
    hn_likeness_result f = compared(&b, 10);
    assert_string_equal(f.measure, "agreement");
    assert_true(f.output == 0 && f.missed == 1 && f.of == 10);
    y[0] = y[3] = y[4] = 1;
    f = compared(&b, 10);
    assert_true(f.output == 1 && f.missed == 3 && f.of == 20);
    /* Of noise answers mean nothing: how close numbers are counts. */
    hn_likeness_destroy(b.l);
    b.forms.noise = true;
    b.forms.looked = false;
    assert_int_equal(hn_likeness_create(&b.l, &b.forms, &scratch_mem, &err), HONE_OK);
    compared(&b, 10);
    assert_int_equal(b.forms.of[0].kind, HN_OUTPUT_CHANNELS);
    /* As large as the input. */
    hn_likeness_destroy(b.l);
    b.forms.noise = b.forms.looked = false;
    assert_int_equal(hn_likeness_create(&b.l, &b.forms, &scratch_mem, &err), HONE_OK);
    const hn_tensor *in = b.t[0][0];
    assert_int_equal(hn_likeness_add(b.l, &in, (const hn_tensor *const *)b.t[0],
                                     (const hn_tensor *const *)b.t[1], 10, 10, &err),
                     HONE_OK);
    assert_int_equal(b.forms.of[0].kind, HN_OUTPUT_CHANNELS);
    end(&b);
}

static void shapes_must_agree(void **state) {
    (void)state;
    bench b;
    hn_error err;
    const hn_tensor *in = NULL;
    begin(&b, one_output, false);
    make(&b, 0, 0, HONE_DTYPE_F32, 3, DIMS(1, 2, 3));
    make(&b, 1, 0, HONE_DTYPE_F32, 3, DIMS(1, 3, 2));
    assert_int_equal(hn_likeness_add(b.l, &in, (const hn_tensor *const *)b.t[0],
                                     (const hn_tensor *const *)b.t[1], 1, 1, &err),
                     HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "the shapes of 'y' differ"));
    end(&b);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(scores_beside_boxes),
        TEST(a_detection_needs_its_box_and_its_class),
        TEST(few_detections_are_not_enough),
        TEST(one_object_counts_once),
        TEST(scores_and_boxes_apart),
        TEST(lists_of_detections),
        TEST(four_classes_are_no_box),
        TEST(heads_that_do_not_fit),
        TEST(probabilities_are_no_detector),
        TEST(one_of_twelve_is_broken),
        TEST(small_channels_count_as_much),
        TEST(quiet_channels_and_single_peaks),
        TEST(what_is_not_finite_is_broken),
        TEST(rows_of_scores),
        TEST(shapes_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "compress/grid.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/scratch.h"

static const hn_qtype s8 = {HONE_DTYPE_S8, 8, true, false, 0, false};
static const hn_qtype s8_channels = {HONE_DTYPE_S8, 8, true, true, 0, false};
static const hn_qtype u8 = {HONE_DTYPE_U8, 8, false, false, 0, false};
static const hn_qtype s4_groups = {HONE_DTYPE_S4, 4, true, false, 4, false};
static const hn_qtype u4_groups = {HONE_DTYPE_U4, 4, false, false, 4, false};

static hn_tensor *tensor(int rank, const int64_t *dims, const float *v) {
    hn_tensor *t;
    hn_error err;
    if (hn_tensor_from_f32(&t, &scratch_mem, rank, dims, v, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return t;
}

static hn_tensor *random_tensor(int rank, const int64_t *dims, uint64_t seed) {
    hn_tensor *t;
    hn_error err;
    if (hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, rank, dims, &err))
        fail_msg("%s", err.text);
    hn_rng rng;
    hn_rng_init(&rng, seed);
    for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[i] = (float)hn_rng_normal(&rng);
    return t;
}

static void create(hn_grid *g, const hn_tensor *w, hn_qtype t, int axis, int group_axis) {
    hn_error err;
    if (hn_grid_create(g, w, &t, axis, group_axis, NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

static hn_tensor *codes_of(const hn_grid *g, const hn_tensor *w) {
    hn_tensor *codes;
    hn_error err;
    if (hn_grid_codes(g, w, NULL, &scratch_mem, &codes, &err) != HONE_OK) fail_msg("%s", err.text);
    return codes;
}

/* Scales that halve sums would put every second of them on the middle of two codes. */
static void sums_keep_away_from_middles(void **state) {
    (void)state;
    static const struct {
        hn_qtype t;
        hn_grid_point a, b, y;
    } cases[] = {
        {{HONE_DTYPE_U8, 8, false, false, 0, false}, {0.01f, 100}, {0.01f, 120}, {0.02f, 110}},
        {{HONE_DTYPE_U8, 8, false, false, 0, false}, {0.03f, 0}, {0.01f, 128}, {0.04f, 30}},
        {{HONE_DTYPE_S8, 8, true, false, 0, false}, {1, 0}, {0.5f, 0}, {1, 0}},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const hn_qtype *t = &cases[n].t;
        hn_grid_point a = cases[n].a, b = cases[n].b, y = cases[n].y;
        hn_grid_point got = hn_grid_of_sum(t, a, t, b, t, y);
        assert_int_equal(got.zero, y.zero);
        assert_true(got.scale < y.scale && got.scale > 0.998f * y.scale);
        int32_t least, most;
        hn_qtype_limits(t, &least, &most);
        for (int32_t i = least; i <= most; i++)
            for (int32_t k = least; k <= most; k++) {
                double x = (double)(i - a.zero) * (double)a.scale;
                double v = (x + (double)(k - b.zero) * (double)b.scale) / (double)got.scale;
                if (v < least - got.zero || v > most - got.zero) continue;
                if (fabs(fabs(v - trunc(v)) - 0.5) < 0x1p-15)
                    fail_msg("case %zu: %d and %d become %.9g", n, i, k, v);
            }
    }
}

static void limits_of_every_width(void **state) {
    (void)state;
    static const struct {
        hn_qtype t;
        int32_t least, most;
    } cases[] = {
        {{HONE_DTYPE_S8, 8, true, false, 0, false}, -127, 127},
        {{HONE_DTYPE_S8, 8, false, false, 0, false}, -128, 127},
        {{HONE_DTYPE_U8, 8, false, false, 0, false}, 0, 255},
        {{HONE_DTYPE_U8, 8, true, false, 0, false}, 0, 255},
        {{HONE_DTYPE_S16, 16, true, false, 0, false}, -32767, 32767},
        {{HONE_DTYPE_U16, 16, false, false, 0, false}, 0, 65535},
        {{HONE_DTYPE_S8, 5, true, false, 0, false}, -15, 15},
        {{HONE_DTYPE_U8, 3, false, false, 0, false}, 0, 7},
        {{HONE_DTYPE_S4, 4, true, false, 0, false}, -7, 7},
        {{HONE_DTYPE_S4, 4, false, false, 0, false}, -8, 7},
        {{HONE_DTYPE_U4, 4, false, false, 0, false}, 0, 15},
        {{HONE_DTYPE_S2, 2, true, false, 0, false}, -1, 1},
        {{HONE_DTYPE_S2, 2, false, false, 0, false}, -2, 1},
        {{HONE_DTYPE_S2, 1, true, false, 0, false}, -1, 1},
        {{HONE_DTYPE_U2, 1, true, false, 0, false}, 1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t least, most;
        hn_qtype_limits(&cases[i].t, &least, &most);
        assert_int_equal(least, cases[i].least);
        assert_int_equal(most, cases[i].most);
        assert_true(least >= hn_dtype_min(cases[i].t.dtype));
        assert_true(most <= (int64_t)hn_dtype_max(cases[i].t.dtype));
    }
}

static void ranges_hold_zero(void **state) {
    (void)state;
    hn_grid_point p = hn_grid_of_range(&u8, (hn_range){2, 5.1});
    assert_int_equal(p.zero, 0);
    assert_true(p.scale == (float)(5.1 / 255));
    p = hn_grid_of_range(&u8, (hn_range){-5.1, -2});
    assert_int_equal(p.zero, 255);
    assert_true(p.scale == (float)(5.1 / 255));
    p = hn_grid_of_range(&u8, (hn_range){-1, 3});
    assert_int_equal(p.zero, 64); /* 63.75 */
    assert_true(p.scale == (float)(4.0 / 255));
    p = hn_grid_of_range(&s8, (hn_range){-1, 3});
    assert_int_equal(p.zero, 0);
    assert_true(p.scale == (float)(3.0 / 127));
    hn_qtype a = {HONE_DTYPE_S8, 8, false, false, 0, false};
    p = hn_grid_of_range(&a, (hn_range){0, 3});
    assert_int_equal(p.zero, -128);
    hn_qtype centred = {HONE_DTYPE_U8, 8, true, false, 0, false};
    p = hn_grid_of_range(&centred, (hn_range){-3, 1});
    assert_int_equal(p.zero, 128);
    assert_true(p.scale == (float)(3.0 / 127));
    hn_qtype wide = {HONE_DTYPE_U16, 16, false, false, 0, false};
    p = hn_grid_of_range(&wide, (hn_range){-1, 1});
    assert_int_equal(p.zero, 32768); /* 32767.5, to even */
    assert_true(p.scale == (float)(2.0 / 65535));
}

static void degenerate_ranges_have_a_scale(void **state) {
    (void)state;
    static const hn_range ranges[] = {{0, 0},
                                      {1e-300, 1e-300},
                                      {-1e-42, 1e-42},
                                      {3, -3},
                                      {NAN, NAN},
                                      {NAN, 2},
                                      {-INFINITY, 1},
                                      {0, INFINITY},
                                      {-DBL_MAX, DBL_MAX},
                                      {-FLT_MAX, FLT_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        for (int signed_ = 0; signed_ < 2; signed_++) {
            const hn_qtype *t = signed_ ? &s8 : &u8;
            hn_grid_point p = hn_grid_of_range(t, ranges[i]);
            assert_true(isnormal(p.scale) && p.scale > 0 && isnormal(p.scale * p.scale));
            int32_t least, most;
            hn_qtype_limits(t, &least, &most);
            assert_true(p.zero >= least && p.zero <= most);
        }
    }
    assert_true(hn_grid_of_range(&u8, (hn_range){0, 0}).scale == (float)(1.0 / 255));
}

static void codes_round_half_to_even_and_saturate(void **state) {
    (void)state;
    hn_grid_point p = {0.5f, 10};
    static const struct {
        double x;
        int32_t code;
    } cases[] = {{0, 10},    {0.25, 10},     {0.75, 12},      {1.25, 12},  {-0.25, 10},
                 {-0.75, 8}, {-1.25, 8},     {122.5, 255},    {1e30, 255}, {-5, 0},
                 {-5.5, 0},  {-INFINITY, 0}, {INFINITY, 255}, {NAN, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hn_grid_code(&u8, p, cases[i].x), cases[i].code);
    assert_true(hn_grid_value(p, 12) == 1.0f);
    assert_true(hn_grid_value(p, 0) == -5.0f);
}

static void one_scale_per_channel(void **state) {
    (void)state;
    /* [2, 3, 2], channels along the middle */
    const float v[] = {1, -2, 0, 0, 8, 4, -1, 0.5f, 0, 0, -16, 2};
    hn_tensor *w = tensor(3, (int64_t[]){2, 3, 2}, v);
    hn_grid g;
    create(&g, w, s8_channels, 1, 0);
    assert_int_equal(g.axis, 1);
    assert_int_equal(g.group_axis, -1);
    assert_int_equal(g.scale->rank, 1);
    assert_int_equal(g.scale->n, 3);
    assert_null(g.zero);
    const float *scale = g.scale->data;
    assert_true(scale[0] == (float)(2.0 / 127));
    assert_true(scale[1] == 0x1p-60f); /* nothing but zeros */
    assert_true(scale[2] == (float)(16.0 / 127));
    for (int i = 0; i < 12; i++) assert_true(hn_grid_at(&g, w, i).scale == scale[i / 2 % 3]);
    hn_tensor *codes = codes_of(&g, w);
    assert_int_equal(codes->dtype, HONE_DTYPE_S8);
    const int8_t *c = codes->data;
    assert_int_equal(c[1], -127);
    assert_int_equal(c[2], 0);
    assert_int_equal(c[4], 64); /* 63.5 */
    assert_int_equal(c[10], -127);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_tensor_unref(w);
}

static void groups_have_odd_tails(void **state) {
    (void)state;
    /* [5, 2], groups of 4 along the first axis: the last holds one */
    const float v[] = {1, 2, -7, 4, 3, 3, 2, -14, 21, 0};
    hn_tensor *w = tensor(2, (int64_t[]){5, 2}, v);
    hn_grid g;
    create(&g, w, s4_groups, 1, 0);
    assert_int_equal(g.group_axis, 0);
    assert_int_equal(g.scale->rank, 2);
    assert_int_equal(g.scale->dims[0], 2);
    assert_int_equal(g.scale->dims[1], 2);
    const float *scale = g.scale->data;
    assert_true(scale[0] == 1 && scale[1] == 2 && scale[2] == 3 && scale[3] == 0x1p-60f);
    hn_tensor *codes = codes_of(&g, w);
    assert_int_equal(codes->bytes, 5);
    static const int want[] = {1, 1, -7, 2, 3, 2, 2, -7, 7, 0};
    for (int i = 0; i < 10; i++) assert_int_equal(hn_tensor_s64(codes, i), want[i]);
    assert_int_equal(((uint8_t *)codes->data)[1], 0x29); /* -7 below, 2 above */
    hn_error err;
    hn_tensor *back;
    assert_int_equal(hn_grid_floats(&g, codes, NULL, &scratch_mem, &back, &err), HONE_OK);
    for (int i = 0; i < 10; i++) {
        float want_float = (float)want[i] * hn_grid_at(&g, w, i).scale;
        assert_true(((float *)back->data)[i] == want_float);
    }
    hn_tensor_unref(back);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_tensor_unref(w);
}

static void unsigned_groups_have_zero_points(void **state) {
    (void)state;
    const float v[] = {-3, 0, 6, 12, 0, 5, 10, 15, -15, -1, 0};
    hn_tensor *w = tensor(2, (int64_t[]){1, 11}, v);
    hn_grid g;
    create(&g, w, u4_groups, 0, 1);
    assert_int_equal(g.zero->dtype, HONE_DTYPE_U4);
    assert_true(hn_tensor_same_dims(g.zero, 2, (int64_t[]){1, 3}));
    assert_int_equal(hn_grid_at(&g, w, 0).zero, 3);
    assert_int_equal(hn_grid_at(&g, w, 7).zero, 0);
    assert_int_equal(hn_grid_at(&g, w, 8).zero, 15);
    hn_tensor *codes = codes_of(&g, w);
    static const int want[] = {0, 3, 9, 15, 0, 5, 10, 15, 0, 14, 15};
    for (int i = 0; i < 11; i++) assert_int_equal(hn_tensor_s64(codes, i), want[i]);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_tensor_unref(w);
}

static void two_bits_and_one(void **state) {
    (void)state;
    const float v[] = {-3, -1, 0, 1, 2};
    hn_tensor *w = tensor(1, (int64_t[]){5}, v);
    hn_grid g;
    create(&g, w, (hn_qtype){HONE_DTYPE_S2, 2, true, false, 0, false}, 0, 0);
    hn_tensor *codes = codes_of(&g, w);
    assert_int_equal(codes->bytes, 2);
    static const int ternary[] = {-1, 0, 0, 0, 1};
    for (int i = 0; i < 5; i++) assert_int_equal(hn_tensor_s64(codes, i), ternary[i]);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    create(&g, w, (hn_qtype){HONE_DTYPE_S2, 1, true, false, 0, false}, 0, 0);
    assert_true(hn_grid_at(&g, w, 0).scale == 1.4f); /* the mean magnitude */
    codes = codes_of(&g, w);
    static const int binary[] = {-1, -1, 1, 1, 1};
    for (int i = 0; i < 5; i++) assert_int_equal(hn_tensor_s64(codes, i), binary[i]);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_tensor_unref(w);
}

/* The squared error of channel c of [channels, k] at a scale. */
static double error_at(const hn_tensor *w, int64_t c, const hn_qtype *t, float scale,
                       const double *importance) {
    int64_t k = w->dims[1];
    double sum = 0;
    for (int64_t i = 0; i < k; i++) {
        double x = ((float *)w->data)[c * k + i];
        hn_grid_point p = {scale, 0};
        double e = x - (double)hn_grid_value(p, hn_grid_code(t, p, x));
        sum += e * e * (importance ? importance[i] : 1);
    }
    return sum;
}

static void least_squares_match_brute_force(void **state) {
    (void)state;
    hn_tensor *w = random_tensor(2, (int64_t[]){6, 200}, 5);
    double importance[200];
    for (int i = 0; i < 200; i++) importance[i] = i % 7 == 0 ? 50 : 1;
    for (int bits = 3; bits <= 4; bits++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            hn_qtype t = {HONE_DTYPE_S4, bits, true, true, 0, false};
            const double *by = weighted ? importance : NULL;
            hn_grid g, plain;
            hn_error err;
            assert_int_equal(hn_grid_create_mse(&g, w, &t, 0, 1, by, NULL, &scratch_mem, &err),
                             HONE_OK);
            create(&plain, w, t, 0, 1);
            for (int64_t c = 0; c < 6; c++) {
                float widest = ((float *)plain.scale->data)[c];
                double best = INFINITY;
                for (int k = 1; k <= 2000; k++)
                    best = fmin(best, error_at(w, c, &t, widest * (float)k / 2000, by));
                double found = error_at(w, c, &t, ((float *)g.scale->data)[c], by);
                assert_true(found <= best * 1.02);
                assert_true(found < error_at(w, c, &t, widest, by));
            }
            hn_grid_deinit(&g);
            hn_grid_deinit(&plain);
        }
    }
    hn_tensor_unref(w);
}

/* A weight [a, b] as [b, a]. */
static hn_tensor *turned(const hn_tensor *w) {
    hn_tensor *t = random_tensor(2, (int64_t[]){w->dims[1], w->dims[0]}, 0);
    for (int64_t i = 0; i < w->dims[0]; i++)
        for (int64_t k = 0; k < w->dims[1]; k++)
            ((float *)t->data)[k * w->dims[0] + i] = ((float *)w->data)[i * w->dims[1] + k];
    return t;
}

static void grid_by(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis, int search,
                    hn_pool *pool) {
    double importance[700];
    hn_error err;
    int sum_axis = axis == 0;
    hone_status status;
    for (int i = 0; i < 700; i++) importance[i] = 1 + i % 5;
    if (search == 0)
        status = hn_grid_create(g, w, t, axis, sum_axis, pool, &scratch_mem, &err);
    else
        status = hn_grid_create_mse(g, w, t, axis, sum_axis, search == 2 ? importance : NULL, pool,
                                    &scratch_mem, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
}

static void assert_same_tensors(const hn_tensor *a, const hn_tensor *b) {
    assert_int_equal(a != NULL, b != NULL);
    assert_true(a == NULL || hn_tensor_equal(a, b));
}

static const hn_qtype every_kind[] = {
    {HONE_DTYPE_S8, 8, true, false, 0, false},  {HONE_DTYPE_S8, 8, true, true, 0, false},
    {HONE_DTYPE_U4, 4, false, true, 0, false},  {HONE_DTYPE_S4, 4, true, false, 16, false},
    {HONE_DTYPE_U4, 4, false, false, 5, false}, {HONE_DTYPE_S2, 1, true, true, 0, false},
};

/* Scales are found by many threads as by one, whichever way the weight lies in memory. */
static void threads_and_turning_change_nothing(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{300, 70}, {33, 700}, {1, 40}, {40, 1}};
    hn_pool *pool;
    hn_error err;
    assert_int_equal(hn_pool_create(&pool, 3, &scratch_mem, &err), HONE_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hn_tensor *w = random_tensor(2, sizes[i], i), *across = turned(w);
        for (size_t k = 0; k < sizeof every_kind / sizeof *every_kind; k++)
            for (int search = 0; search < 3; search++) {
                hn_grid one, three, other;
                hn_tensor *codes[2], *floats[2];
                grid_by(&one, w, &every_kind[k], 0, search, NULL);
                grid_by(&three, w, &every_kind[k], 0, search, pool);
                grid_by(&other, across, &every_kind[k], 1, search, pool);
                assert_same_tensors(one.scale, three.scale);
                assert_same_tensors(one.zero, three.zero);
                /* One scale for all: sums are in another order. */
                for (int64_t e = 0; e < w->n && one.scale->n > 1; e++) {
                    int64_t row = e / w->dims[1], column = e % w->dims[1];
                    hn_grid_point a = hn_grid_at(&one, w, e);
                    hn_grid_point b = hn_grid_at(&other, across, column * w->dims[0] + row);
                    assert_memory_equal(&a, &b, sizeof a);
                }
                for (int t = 0; t < 2; t++) {
                    hn_pool *by = t == 0 ? NULL : pool;
                    assert_int_equal(hn_grid_codes(&one, w, by, &scratch_mem, &codes[t], &err), 0);
                    assert_int_equal(
                        hn_grid_floats(&one, codes[t], by, &scratch_mem, &floats[t], &err), 0);
                }
                assert_same_tensors(codes[0], codes[1]);
                assert_same_tensors(floats[0], floats[1]);
                for (int t = 0; t < 2; t++) {
                    hn_tensor_unref(codes[t]);
                    hn_tensor_unref(floats[t]);
                }
                hn_grid_deinit(&one);
                hn_grid_deinit(&three);
                hn_grid_deinit(&other);
            }
        hn_tensor_unref(across);
        hn_tensor_unref(w);
    }
    hn_pool_destroy(pool);
}

/* Channels in the middle, as ConvTranspose has them. */
static void channels_between_other_axes(void **state) {
    (void)state;
    hn_tensor *w = random_tensor(3, (int64_t[]){4, 50, 9}, 3);
    hn_qtype t = {HONE_DTYPE_S8, 8, true, true, 0, false};
    hn_grid g;
    create(&g, w, t, 1, 0);
    for (int c = 0; c < 50; c++) {
        float most = 0;
        for (int o = 0; o < 4; o++)
            for (int k = 0; k < 9; k++) {
                float x = ((float *)w->data)[(o * 50 + c) * 9 + k];
                if (x > most) most = x;
                if (-x > most) most = -x;
            }
        assert_float_equal(((float *)g.scale->data)[c], most / 127, 1e-9);
    }
    hn_grid_deinit(&g);
    hn_tensor_unref(w);
}

static void weights_that_are_not_finite_are_refused(void **state) {
    (void)state;
    hn_tensor *w = tensor(1, (int64_t[]){2}, (float[]){1, INFINITY});
    hn_grid g;
    hn_error err;
    assert_int_equal(hn_grid_create(&g, w, &s8, 0, 0, NULL, &scratch_mem, &err), HONE_E_MODEL);
    assert_string_equal(err.text, "element 1 of the weight is infinite");
    hn_tensor_unref(w);
}

static void empty_weights_have_grids(void **state) {
    (void)state;
    hn_tensor *w = tensor(2, (int64_t[]){0, 3}, NULL);
    hn_grid g;
    create(&g, w, s8_channels, 1, 0);
    hn_tensor *codes = codes_of(&g, w);
    assert_int_equal(codes->n, 0);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    create(&g, w, u4_groups, 1, 0);
    assert_int_equal(g.scale->n, 0);
    hn_grid_deinit(&g);
    hn_tensor_unref(w);
}

static void grids_are_found_by_name(void **state) {
    (void)state;
    hn_tensor *w = random_tensor(2, (int64_t[]){2, 8}, 1);
    hn_grids *grids;
    hn_error err;
    assert_int_equal(hn_grids_create(&grids, &scratch_mem, &err), HONE_OK);
    hn_grid g;
    create(&g, w, s8, 0, 1);
    assert_int_equal(hn_grids_set(grids, "a", &g, &err), HONE_OK);
    create(&g, w, u4_groups, 0, 1);
    assert_int_equal(hn_grids_set(grids, "a", &g, &err), HONE_OK);
    assert_int_equal(hn_grids_of(grids, "a", NULL)->type.dtype, HONE_DTYPE_U4);
    assert_int_equal(hn_grids_of(grids, "a", &s8)->type.dtype, HONE_DTYPE_S8);
    create(&g, w, u4_groups, 0, 1);
    hn_tensor *scale = hn_tensor_ref(g.scale);
    assert_int_equal(hn_grids_set(grids, "a", &g, &err), HONE_OK);
    assert_ptr_equal(hn_grids_of(grids, "a", &u4_groups)->scale, scale);
    hn_tensor_unref(scale);
    assert_null(hn_grids_of(grids, "b", NULL));
    assert_null(hn_grids_of(NULL, "a", NULL));
    hn_grids_destroy(grids);
    hn_tensor_unref(w);
}

static hone_status scenario(const hn_tensor *w, hn_error *err) {
    hn_grids *grids = NULL;
    hn_grid g = {0};
    hn_tensor *codes = NULL, *back = NULL;
    hone_status status = hn_grids_create(&grids, &scratch_mem, err);
    if (status == HONE_OK)
        status = hn_grid_create_mse(&g, w, &u4_groups, 0, 1, NULL, NULL, &scratch_mem, err);
    if (status == HONE_OK) status = hn_grid_codes(&g, w, NULL, &scratch_mem, &codes, err);
    if (status == HONE_OK) status = hn_grid_floats(&g, codes, NULL, &scratch_mem, &back, err);
    if (status == HONE_OK) status = hn_grids_set(grids, "w", &g, err);
    hn_tensor_unref(codes);
    hn_tensor_unref(back);
    hn_grid_deinit(&g);
    hn_grids_destroy(grids);
    return status;
}

static void allocations_may_fail(void **state) {
    (void)state;
    hn_tensor *w = random_tensor(2, (int64_t[]){2, 9}, 1);
    hn_error err;
    hone_status status = HONE_E_NOMEM;
    for (int n = 0; status != HONE_OK; n++) {
        atomic_store(&scratch_mem.fail_after, n);
        status = scenario(w, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        assert_true(n > 0 || status != HONE_OK);
    }
    hn_tensor_unref(w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_every_width),
        cmocka_unit_test(sums_keep_away_from_middles),
        cmocka_unit_test(ranges_hold_zero),
        cmocka_unit_test(degenerate_ranges_have_a_scale),
        cmocka_unit_test(codes_round_half_to_even_and_saturate),
        TEST(one_scale_per_channel),
        TEST(groups_have_odd_tails),
        TEST(unsigned_groups_have_zero_points),
        TEST(two_bits_and_one),
        TEST(least_squares_match_brute_force),
        TEST(threads_and_turning_change_nothing),
        TEST(channels_between_other_axes),
        TEST(weights_that_are_not_finite_are_refused),
        TEST(empty_weights_have_grids),
        TEST(grids_are_found_by_name),
        TEST(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

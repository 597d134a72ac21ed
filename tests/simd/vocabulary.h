/* The test of a vector vocabulary and of simd/math.h over it; a file per instruction set includes
 * the vocabulary and then this. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/isa.h"
#include "kernels/act_ref.h"
#include "kernels/act_simd.h"

static float from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static bool same(float a, float b) { return a == b || (isnan(a) && isnan(b)); }

static float lane(hn_vf x, int i) {
    float t[HN_VL];
    hn_v_store(t, x);
    return t[i];
}

static hn_vf iota(float start, float step) {
    float t[HN_VL];
    for (int i = 0; i < HN_VL; i++) t[i] = start + step * (float)i;
    return hn_v_load(t);
}

/* Both ends of memory: what load_n and store_n must not touch is not mapped. */
static void tails(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
    float *end = (float *)(map + 2 * page);
    for (int i = 1; i <= HN_VL; i++) end[-i] = (float)-i;
    for (int n = 0; n <= HN_VL; n++) {
        hn_vf x = hn_v_load_n(end - n, n);
        for (int i = 0; i < HN_VL; i++) assert_true(lane(x, i) == (i < n ? (float)(i - n) : 0.0f));
        for (int i = 0; i < HN_VL; i++)
            assert_true(lane(hn_v_keep_n(x, hn_v_set1(5.0f), n), i) == (i < n ? lane(x, i) : 5.0f));
        hn_v_store_n(end - n, hn_v_set1(7.0f), n);
        for (int i = 1; i <= HN_VL; i++) {
            assert_true(end[-i] == (i <= n ? 7.0f : (float)-i));
            end[-i] = (float)-i;
        }
    }
    assert_int_equal(munmap(map, 3 * page), 0);
}

/* Every f16 and bf16, there and back. */
static void halves(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i += HN_VL) {
        uint16_t from[HN_VL], to[HN_VL];
        for (int k = 0; k < HN_VL; k++) from[k] = (uint16_t)(i + (uint32_t)k);
        hn_vf f16 = hn_v_load_f16(from), bf16 = hn_v_load_bf16(from);
        for (int k = 0; k < HN_VL; k++) {
            assert_true(same(lane(f16, k), hn_f16_to_f32(from[k])));
            assert_true(same(lane(bf16, k), hn_bf16_to_f32(from[k])));
        }
        hn_v_store_f16(to, f16);
        for (int k = 0; k < HN_VL; k++)
            if (!isnan(lane(f16, k))) assert_int_equal(to[k], from[k]);
        hn_v_store_upper(to, bf16);
        assert_memory_equal(to, from, sizeof to);
    }
    uint16_t to[HN_VL]; /* rounded to the nearest even */
    hn_v_store_f16(to, hn_v_set1(1.0f + 0x1.8p-10f));
    assert_int_equal(to[HN_VL - 1], 0x3c02);
}

/* Bytes up to the end of mapped memory; u8 met as s8, widened and narrowed again. */
static void bytes(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
    uint8_t *end = (uint8_t *)map + 2 * page, got[HN_VB];
    for (int n = 0; n < HN_VB; n++) {
        for (int i = 1; i <= HN_VB; i++) end[-i] = (uint8_t)(37 * i);
        hn_vb x = hn_vb_load_n(end - n, n);
        hn_vb_store(got, x);
        for (int i = 0; i < HN_VB; i++)
            assert_int_equal(got[i], i < n ? (uint8_t)(37 * (n - i)) : 0);
        hn_vb_store_n(end - n, hn_vb_set1(200), n);
        for (int i = 1; i <= HN_VB; i++)
            assert_int_equal(end[-i], i <= n ? 200 : (uint8_t)(37 * i));
    }
    assert_int_equal(munmap(map, 3 * page), 0);
    for (int from = 0; from < 256; from += HN_VB) {
        uint8_t u[HN_VB];
        int32_t wide[4][HN_VL];
        for (int i = 0; i < HN_VB; i++) u[i] = (uint8_t)(from + i);
        hn_vb x = hn_vb_xor(hn_vb_load(u), hn_vb_set1(0x80));
        hn_vi y[4];
        hn_vb_widen(x, y);
        for (int k = 0; k < 4; k++) memcpy(wide[k], &y[k], sizeof wide[k]);
        for (int i = 0; i < HN_VB; i++) assert_int_equal(wide[i / HN_VL][i % HN_VL], u[i] - 128);
        hn_vb_store(got, hn_vb_narrow(y));
        for (int i = 0; i < HN_VB; i++) assert_int_equal((int8_t)got[i], u[i] - 128);
        hn_vi from_u8[4], from_s8[4];
        hn_vb_widen_u8(u, from_u8), hn_vb_widen_s8(u, from_s8);
        for (int k = 0; k < 4; k++) memcpy(wide[k], &from_u8[k], sizeof wide[k]);
        for (int i = 0; i < HN_VB; i++) assert_int_equal(wide[i / HN_VL][i % HN_VL], u[i]);
        for (int k = 0; k < 4; k++) memcpy(wide[k], &from_s8[k], sizeof wide[k]);
        for (int i = 0; i < HN_VB; i++) assert_int_equal(wide[i / HN_VL][i % HN_VL], (int8_t)u[i]);
#ifdef HN_VB_FLOATS
        hn_vf floats[4];
        hn_vb_floats_u8(u, hn_vi_set1(-7), floats);
        for (int i = 0; i < HN_VB; i++)
            assert_true(lane(floats[i / HN_VL], i % HN_VL) == (float)(u[i] + 7));
        hn_vb_floats_s8(u, hn_vi_set1(200), floats);
        for (int i = 0; i < HN_VB; i++)
            assert_true(lane(floats[i / HN_VL], i % HN_VL) == (float)((int8_t)u[i] - 200));
#endif
#ifdef HN_VB_SCALED
        static const float scales[] = {0.37f, -0x1.fffffep-30f, 0x1.abcdefp63f, 0x1p-126f, 0.0f};
        for (size_t j = 0; j < sizeof scales / sizeof *scales; j++) {
            hn_vf scaled[4];
            hn_vb_scaled_u8(u, hn_v_set1(scales[j]), scaled);
            for (int i = 0; i < HN_VB; i++)
                assert_true(lane(scaled[i / HN_VL], i % HN_VL) == (float)u[i] * scales[j]);
        }
#endif
#ifdef HN_VB_NARROWS_U8
        static const int32_t steps[] = {1, 300, 70000, 1 << 23};
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
            hn_vi far[4];
            for (int k = 0; k < 4; k++) {
                int32_t lanes[HN_VL];
                for (int i = 0; i < HN_VL; i++) lanes[i] = wide[k][i] * steps[j] + 60;
                memcpy(&far[k], lanes, sizeof far[k]);
            }
            hn_vb_store(got, hn_vb_narrow_u8(far));
            for (int i = 0; i < HN_VB; i++) {
                const int32_t of = (int8_t)u[i] * steps[j] + 60;
                assert_int_equal(got[i], of < 0 ? 0 : of > 255 ? 255 : of);
            }
        }
#endif
        for (int k = 0; k < 4; k++) y[k] = hn_vi_add(y[k], hn_vi_set1(100));
        hn_vb_store(got, hn_vb_narrow(y));
        for (int i = 0; i < HN_VB; i++)
            assert_int_equal((int8_t)got[i], u[i] - 28 > 127 ? 127 : u[i] - 28);
        hn_vb_store(got, hn_vb_min(x, hn_vb_set1(-5)));
        for (int i = 0; i < HN_VB; i++)
            assert_int_equal((int8_t)got[i], u[i] - 128 < -5 ? u[i] - 128 : -5);
        hn_vb_store(got, hn_vb_max(x, hn_vb_set1(-5)));
        for (int i = 0; i < HN_VB; i++)
            assert_int_equal((int8_t)got[i], u[i] - 128 > -5 ? u[i] - 128 : -5);
    }
    for (int k = 0; k < 3; k++) {
        int8_t s[HN_VB];
        int32_t sums[HN_VL];
        for (int i = 0; i < HN_VB; i++) s[i] = (int8_t)(k == 0 ? 37 * i : k == 1 ? -128 : 127);
        hn_vi y = hn_vb_sums(hn_vb_load(s));
        memcpy(sums, &y, sizeof sums);
        for (int i = 0; i < HN_VL; i++)
            assert_int_equal(sums[i], s[4 * i] + s[4 * i + 1] + s[4 * i + 2] + s[4 * i + 3]);
    }
    const int32_t numbers[HN_VL] = {INT32_MIN, INT32_MAX, 7, -9};
    for (int n = 0; n <= HN_VL; n++) {
        int32_t t[HN_VL];
        hn_vi x = n == HN_VL ? hn_vi_load(numbers) : hn_vi_load_n(numbers, n);
        memcpy(t, &x, sizeof t);
        for (int i = 0; i < HN_VL; i++) assert_int_equal(t[i], i < n ? numbers[i] : 0);
    }
}

/* Elements by turns within each 16 bytes, and 16 bytes from and to rows of their own. */
static void squares(void **state) {
    (void)state;
    static void (*const weave[])(hn_vb *, hn_vb *) = {hn_vb_weave_1, hn_vb_weave_2, hn_vb_weave_4,
                                                      hn_vb_weave_8};
    uint8_t x[2][HN_VB], got[2][HN_VB], rows[HN_VB / 16 * 21], back[sizeof rows] = {0};
    for (int i = 0; i < 2 * HN_VB; i++) x[i / HN_VB][i % HN_VB] = (uint8_t)i;
    for (int k = 0; k < 4; k++) {
        hn_vb a = hn_vb_load(x[0]), b = hn_vb_load(x[1]);
        weave[k](&a, &b);
        hn_vb_store(got[0], a), hn_vb_store(got[1], b);
        for (int i = 0; i < 2 * HN_VB; i++) {
            int size = 1 << k, square = i % HN_VB / 16 * 16, at = i / HN_VB * 16 + i % 16;
            int element = at / size;
            assert_int_equal(got[i / HN_VB][i % HN_VB],
                             x[element % 2][square + element / 2 * size + at % size]);
        }
    }
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)(3 * i);
    hn_vb a = hn_vb_load_rows(rows, 21);
    hn_vb_store(got[0], a);
    for (int i = 0; i < HN_VB; i++) assert_int_equal(got[0][i], rows[i / 16 * 21 + i % 16]);
    hn_vb_store_rows(back, a, 21);
    for (size_t i = 0; i < sizeof rows; i++) assert_int_equal(back[i], i % 21 < 16 ? rows[i] : 0);
}

static const float specials[] = {
    0.0f,   -0.0f,   1.0f,       -1.0f,      0.5f,  1.5f,   2.5f,     -2.5f,     -0.3f, 3.7f,
    1e-45f, -1e-45f, 8388607.5f, 8388609.0f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

static void words(void **state) {
    (void)state;
    for (int i = 0; i < N_SPECIALS; i++) {
        float f = specials[i];
        hn_vf x = hn_v_set1(f);
        assert_true(same(lane(hn_v_neg(x), 0), -f));
        assert_true(same(lane(hn_v_abs(x), 1), fabsf(f)) && !signbit(lane(hn_v_abs(x), 1)));
        assert_true(same(lane(hn_v_sqrt(x), 2), sqrtf(f)));
        assert_true(same(lane(hn_v_floor(x), 3), floorf(f)));
        assert_true(same(lane(hn_v_ceil(x), 0), ceilf(f)));
        assert_true(same(lane(hn_v_round(x), 1), nearbyintf(f)));
        assert_int_equal(hn_vm_any(hn_v_isnan(x)), isnan(f));
        assert_true(same(lane(hn_v_from_bits(hn_v_bits(x)), 2), f));
        assert_true(same(hn_v_hmax(x), f) && same(hn_v_hmin(x), f));
        for (int j = 0; j < N_SPECIALS; j++) {
            float g = specials[j];
            hn_vf y = hn_v_set1(g);
            assert_true(same(lane(hn_v_add(x, y), 0), f + g));
            assert_true(same(lane(hn_v_sub(x, y), 0), f - g));
            assert_true(same(lane(hn_v_mul(x, y), 0), f * g));
            assert_true(same(lane(hn_v_div(x, y), 0), f / g));
            assert_true(same(lane(hn_v_fma(x, y, x), 0), hn_fma_model(f, g, f)));
            assert_true(same(lane(hn_v_fnma(x, y, x), 0), hn_fma_model(-f, g, f)));
            assert_int_equal(hn_vm_any(hn_v_lt(x, y)), f < g);
            assert_int_equal(hn_vm_any(hn_v_le(x, y)), f <= g);
            assert_int_equal(hn_vm_any(hn_v_gt(x, y)), f > g);
            assert_int_equal(hn_vm_any(hn_v_ge(x, y)), f >= g);
            assert_int_equal(hn_vm_any(hn_v_eq(x, y)), f == g);
            if (!isnan(g)) assert_true(lane(hn_v_above(x, y), 0) == (f > g ? f : g));
            if (!isnan(f)) { /* then b decides */
                assert_true(same(lane(hn_v_min(x, y), 0), isnan(g) ? g : f < g ? f : g));
                assert_true(same(lane(hn_v_max(x, y), 0), isnan(g) ? g : f > g ? f : g));
            }
        }
    }
}

static void lanes(void **state) {
    (void)state;
    hn_vf x = iota(1.0f, 1.0f), mid = hn_v_set1(2.5f);
    hn_vm low = hn_v_lt(x, mid), two = hn_v_eq(x, hn_v_set1(2.0f));
    for (int i = 0; i < HN_VL; i++) {
        float f = (float)(i + 1);
        assert_true(lane(hn_v_select(low, x, mid), i) == (f < 2.5f ? f : 2.5f));
        assert_true(lane(hn_v_select(hn_vm_not(low), x, mid), i) == (f < 2.5f ? 2.5f : f));
        assert_true(lane(hn_v_select(hn_vm_and(low, two), x, mid), i) == (i == 1 ? 2.0f : 2.5f));
        hn_vm either = hn_vm_or(hn_vm_not(low), two);
        assert_true(lane(hn_v_select(either, x, mid), i) == (i == 0 ? 2.5f : f));
        assert_true(lane(hn_v_from_int(hn_v_to_int(hn_v_sub(x, mid))), i) == nearbyintf(f - 2.5f));
        hn_vi n = hn_vi_sub(hn_vi_set1(-5), hn_v_to_int(x));
        assert_true(lane(hn_v_from_int(hn_vi_shr(n, 1)), i) == floorf((-5.0f - f) / 2));
        assert_true(lane(hn_v_from_int(hn_vi_shl(hn_vi_add(n, n), 2)), i) == (-5.0f - f) * 8);
        assert_true(lane(hn_v_from_int(hn_vi_and(n, hn_vi_set1(1))), i) ==
                    (float)((5 + i + 1) & 1));
        hn_vm below = hn_vi_lt(n, hn_vi_set1(-7));
        assert_true(lane(hn_v_select(below, x, mid), i) == (i > 1 ? f : 2.5f));
        hn_vf sign = hn_v_set1(-0.0f);
        assert_true(lane(hn_v_or(x, sign), i) == -f && lane(hn_v_xor(x, sign), i) == -f);
        assert_true(lane(hn_v_and(hn_v_neg(x), hn_v_from_bits(hn_vi_set1(INT32_MAX))), i) == f);
    }
    assert_true(hn_v_hmax(x) == (float)HN_VL && hn_v_hmin(x) == 1.0f);
    for (int i = 0; i < HN_VL; i++) { /* one NaN, wherever it is */
        float t[HN_VL];
        hn_v_store(t, x);
        t[i] = NAN;
        assert_true(isnan(hn_v_hmax(hn_v_load(t))) && isnan(hn_v_hmin(hn_v_load(t))));
    }
}

/* The documented order, with values for which every other one rounds differently. */
static void sum_by_halves(void **state) {
    (void)state;
    float t[HN_VL];
    uint32_t seed = 1;
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < HN_VL; i++) {
            seed = seed * 1664525 + 1013904223;
            t[i] = ldexpf((float)(seed >> 8), (int)(seed % 13));
        }
        float got = hn_v_sum(hn_v_load(t));
        for (int half = HN_VL / 2; half > 0; half /= 2)
            for (int i = 0; i < half; i++) t[i] += t[i + half];
        assert_true(got == t[0]);
    }
}

static void permutes(void **state) {
    (void)state;
    float x[HN_VL], y[HN_VL];
    int32_t from[HN_VL];
    for (int i = 0; i < HN_VL; i++) x[i] = (float)i - 0.5f, from[i] = (i * 7 + 3) / 2 % HN_VL;
    hn_v_store(y, hn_v_permute(hn_v_load(x), hn_vi_load(from)));
    for (int i = 0; i < HN_VL; i++) assert_memory_equal(&y[i], &x[from[i]], sizeof y[i]);
}

static void transpose(void **state) {
    (void)state;
    hn_vf r[HN_VL];
    for (int i = 0; i < HN_VL; i++) r[i] = iota((float)(i * HN_VL), 1.0f);
    hn_v_transpose(r);
    for (int i = 0; i < HN_VL; i++)
        for (int j = 0; j < HN_VL; j++) assert_true(lane(r[i], j) == (float)(j * HN_VL + i));
}

static void pick(void **state) {
    (void)state;
    for (int step = 1; step < 2 * HN_VL; step++) {
        int32_t at[HN_VL];
        for (int i = 0; i < HN_VL; i++) at[i] = (i * step + step / 2) % (2 * HN_VL);
        hn_vf y = hn_v_pick(iota(0.0f, 1.0f), iota((float)HN_VL, 1.0f), hn_vi_load(at));
        for (int i = 0; i < HN_VL; i++) assert_true(lane(y, i) == (float)at[i]);
    }
}

static void scaling(void **state) {
    (void)state;
    assert_true(lane(hn_v_over(hn_v_set1(-3.0f), hn_v_set1(INFINITY)), 0) == 0);
    assert_true(isnan(lane(hn_v_over(hn_v_set1(-INFINITY), hn_v_set1(INFINITY)), 0)));
    for (int n = -250; n <= 250; n++) {
        hn_vf y = hn_v_scalef(hn_v_set1(1.25f), hn_v_set1((float)n));
        assert_true(lane(y, 0) == ldexpf(1.25f, n));
        if (n < -125 || n > 126) continue;
        assert_true(isnan(lane(hn_v_scalef_normal(hn_v_set1(NAN), hn_v_set1(NAN)), 0)));
        y = hn_v_scalef_normal(hn_v_set1(1.25f), hn_v_set1((float)n));
        assert_true(lane(y, HN_VL - 1) == ldexpf(1.25f, n));
        if (n >= 0 && n <= 125) {
            double over = (double)lane(hn_v_over(hn_v_set1(3.0f), hn_v_set1(ldexpf(1.3f, n))), 0);
            assert_true(fabs(over * ldexp((double)1.3f, n) / 3 - 1) < 0x1p-21);
        }
        float x = ldexpf(1.3f, n < -124 ? -124 : n > 124 ? 124 : n);
        assert_true(fabs((double)lane(hn_v_recip(hn_v_set1(x)), 1) * (double)x - 1) < 0x1p-21);
    }
}

typedef struct function {
    const char *name;
    hn_vf (*fast)(hn_vf);
    double (*exact)(double);
    double low, high; /* of the arguments */
    double bound;     /* of the relative error; doubled without FMA */
    double floor;     /* results below it count as this large */
} function;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static hn_vf gate_itself(hn_vf x) { return hn_v_gate(x, x); }
static hn_vf gate_of_one(hn_vf x) { return hn_v_gate(hn_v_set1(1.0f), x); }
static double share(double x) { return erfc(-x * 0.70710678118654752440) / 2; }

static const function functions[] = {
    {"exp", hn_v_exp, exp, -INFINITY, INFINITY, 1.2e-7, 0x1p-126},
    {"exp_neg", hn_v_exp_neg, exp, -10, 0, 4e-7, 0},
    {"exp_neg", hn_v_exp_neg, exp, -86.5, 0, 2.5e-6, 0},
    {"exp_neg", hn_v_exp_neg, exp, -INFINITY, 0, 4e-7, 1},
    {"expm1", hn_v_expm1, expm1, -INFINITY, INFINITY, 3e-7, 0x1p-126},
    {"log", hn_v_log, log, -INFINITY, INFINITY, 2e-7, 0},
    {"log1p", hn_v_log1p, log1p, -INFINITY, INFINITY, 3e-7, 0x1p-126},
    {"sigmoid", hn_v_sigmoid, sigmoid, -10, INFINITY, 6e-7, 0},
    {"sigmoid", hn_v_sigmoid, sigmoid, -86.5, 0, 3e-6, 0},
    {"sigmoid", hn_v_sigmoid, sigmoid, -INFINITY, INFINITY, 6e-7, 1},
    {"gate", gate_itself, silu, -10, INFINITY, 8e-7, 0x1p-126},
    {"gate", gate_itself, silu, -86.5, 0, 4e-6, 0x1p-126},
    {"gate", gate_itself, silu, -INFINITY, INFINITY, 8e-7, 1},
    {"gate_of_one", gate_of_one, sigmoid, -10, INFINITY, 8e-7, 0},
    {"gate_of_one", gate_of_one, sigmoid, -INFINITY, INFINITY, 8e-7, 1},
    {"tanh", hn_v_tanh, tanh, -INFINITY, INFINITY, 6e-7, 0x1p-126},
    {"erf", hn_v_erf, erf, -INFINITY, INFINITY, 4e-7, 0x1p-126},
    {"sin", hn_v_sin, sin, -100, 100, 2e-7, 0.02},
    {"sin", hn_v_sin, sin, -1.5, 1.5, 2e-7, 0x1p-126},
    {"sin", hn_v_sin, sin, -INFINITY, INFINITY, 2e-7, 1},
    {"cos", hn_v_cos, cos, -100, 100, 2e-7, 0.02},
    {"cos", hn_v_cos, cos, -INFINITY, INFINITY, 2e-7, 1},
    {"tan", hn_v_tan, tan, -1.5, 1.5, 5e-7, 0x1p-126},
    {"tan", hn_v_tan, tan, -100, 100, 2e-6, 1},
    {"asin", hn_v_asin, asin, -INFINITY, INFINITY, 3e-7, 0x1p-126},
    {"acos", hn_v_acos, acos, -INFINITY, INFINITY, 4e-7, 0x1p-126},
    {"atan", hn_v_atan, atan, -INFINITY, INFINITY, 3e-7, 0x1p-126},
    {"sinh", hn_v_sinh, sinh, -INFINITY, INFINITY, 5e-7, 0x1p-126},
    {"cosh", hn_v_cosh, cosh, -INFINITY, INFINITY, 5e-7, 0x1p-126},
    {"asinh", hn_v_asinh, asinh, -INFINITY, INFINITY, 4e-7, 0x1p-126},
    {"acosh", hn_v_acosh, acosh, -INFINITY, INFINITY, 4e-7, 0x1p-126},
    {"atanh", hn_v_atanh, atanh, -INFINITY, INFINITY, 4e-7, 0x1p-126},
    {"normal_share", hn_v_normal_share, share, -3, INFINITY, 6e-6, 0},
    {"normal_share", hn_v_normal_share, share, -6, INFINITY, 6e-4, 0},
    {"normal_share", hn_v_normal_share, share, -INFINITY, INFINITY, 4e-7, 1},
};

/* The relative error of a value, 0 if both are the same infinity or NaN. */
static double error_of(float got, double want, double floor) {
    float w = (float)want;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(w) || isinf(got)) return w == got ? 0 : INFINITY;
    double size = fmax(fabs(want), floor);
    return size == 0 ? fabs((double)got) : fabs((double)got - want) / size;
}

static void errors(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const function *f = &functions[k];
        double worst = 0;
        float at = 0;
        for (uint64_t u = 0; u <= UINT32_MAX; u += 20011) {
            float x = u % 3 == 0 && u / 20011 < 3 * N_SPECIALS ? specials[u / 20011 / 3]
                                                               : from_bits((uint32_t)u);
            if (!isnan(x) && !((double)x >= f->low && (double)x <= f->high)) continue;
            double e = error_of(lane(f->fast(hn_v_set1(x)), 0), f->exact((double)x), f->floor);
            if (e > worst) worst = e, at = x;
        }
        if (worst > f->bound * HN_ROUNDINGS)
            fail_msg("%s: error %.3g at %a, bound %.3g", f->name, worst, (double)at, f->bound);
    }
}

static void powers(void **state) {
    (void)state;
    static const float bases[] = {0.0f,  -0.0f, 1.0f,  -1.0f, 2.0f,     -2.0f,     0.5f,
                                  10.0f, -3.5f, 1e-3f, 7e5f,  INFINITY, -INFINITY, NAN};
    static const float exponents[] = {0.0f, 1.0f, -1.0f, 2.0f,     3.0f,      -3.0f, 0.5f,
                                      2.5f, 7.0f, -8.0f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        for (size_t j = 0; j < sizeof exponents / sizeof *exponents; j++) {
            double want = pow((double)bases[i], (double)exponents[j]);
            float got = lane(hn_v_pow(hn_v_set1(bases[i]), hn_v_set1(exponents[j])), 0);
            double e = error_of(got, want, 0x1p-126);
            if (e > 1e-5 * HN_ROUNDINGS || (want == 0 && !signbit(want) != !signbit(got)))
                fail_msg("pow(%g, %g) is %.9g, not %.9g", (double)bases[i], (double)exponents[j],
                         (double)got, want);
        }
}

static void activations(void **state) {
    (void)state;
    for (int kind = 0; kind < HN_ACT_COUNT_; kind++) {
        hn_act act = {(hn_act_kind)kind, -0.25f, 1.75f};
        if (kind == HN_ACT_SILU) act.a = 1.702f;
        hn_vf a = hn_v_set1(act.a), b = hn_v_set1(act.b);
        double worst = 0;
        float at = 0;
        for (int i = -40000; i <= 40000 + N_SPECIALS; i++) {
            float x = i > 40000 ? specials[i - 40001] : (float)i * 0.0005f;
            double want = hn_act_ref(&act, (double)x);
            float got = lane(hn_v_act(hn_v_set1(x), (hn_act_kind)kind, a, b), 0);
            double e = error_of(got, want, 0.01);
            if (e > worst) worst = e, at = x;
        }
        if (worst > 4e-6) fail_msg("activation %d: error %.3g at %g", kind, worst, (double)at);
    }
}

int main(void) {
    if ((hn_isa_available() & HN_TESTED_ISA) != HN_TESTED_ISA) {
        printf("skipped: the CPU does not have it, or HONE_ISA forbids it\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),    cmocka_unit_test(bytes),     cmocka_unit_test(squares),
        cmocka_unit_test(words),    cmocka_unit_test(lanes),     cmocka_unit_test(sum_by_halves),
        cmocka_unit_test(scaling),  cmocka_unit_test(transpose), cmocka_unit_test(pick),
        cmocka_unit_test(errors),   cmocka_unit_test(powers),    cmocka_unit_test(activations),
        cmocka_unit_test(permutes), cmocka_unit_test(halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

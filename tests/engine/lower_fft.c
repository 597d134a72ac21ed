/* DFT and STFT through the engine and through the plain executor: axes, lengths, halves of spectra,
 * windows, and what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define STEP "fft_f32 DFT"

/* From x to y; `length` and `axis` are empty or constants' names. */
static void dft(const char *x, const char *y, const char *attrs, const char *length, int axis,
                const char *steps) {
    char text[512];
    snprintf(text, sizeof text,
             "m (float[%s] x) => (float[%s] y) <int64 a = {%d}%s%s> {"
             " y = DFT <%s> (x, %s, a) }",
             x, y, axis, length[0] != 0 ? ", int64 l = " : "", length, attrs,
             length[0] != 0 ? "l" : "");
    engine_agrees(text, steps);
}

static void axes(void **state) {
    (void)state;
    dft("3,40,2", "3,40,2", "inverse = 0", "", 1, STEP);
    dft("40,3,1", "40,3,2", "inverse = 0", "", 0, STEP);
    dft("2,36,5,2", "2,36,5,2", "inverse = 1", "", -3, STEP);
    dft("2,3,37,1", "2,3,37,2", "inverse = 1", "", 2, STEP);
    dft("64,1", "64,2", "inverse = 0", "", 0, STEP);
    dft("2,32,1", "2,32,2", "inverse = 0", "", 1, STEP);
}

static void halves(void **state) {
    (void)state;
    dft("20,48,1", "20,25,2", "onesided = 1", "", 1, STEP);
    dft("3,45,1", "3,23,2", "onesided = 1", "", 1, STEP);
    dft("3,19,2", "3,36,1", "onesided = 1, inverse = 1", "", 1, STEP);
    dft("19,5,2", "37,5,1", "onesided = 1, inverse = 1", "{37}", 0, STEP);
}

static void lengths(void **state) {
    (void)state;
    dft("3,30,1", "3,64,2", "inverse = 0", "{64}", 1, STEP);
    dft("3,50,2", "3,37,2", "inverse = 0", "{37}", 1, STEP);
    dft("3,10,2", "3,41,2", "inverse = 1", "{41}", 1, STEP);
    dft("3,4,2", "3,48,1", "onesided = 1, inverse = 1", "{48}", 1, STEP);
    dft("3,30,2", "3,34,1", "onesided = 1, inverse = 1", "{34}", 1, STEP);
}

/* What comes before and after is in any layout. */
static void surroundings(void **state) {
    (void)state;
    engine_agrees(
        "m (float[5,48] x) => (float[48,25] y) <int64 a = {1}, int64[1] last = {2}> {"
        " t = Transpose <perm = [1, 0]> (x) u = Transpose <perm = [1, 0]> (t)"
        " v = Relu (u) w = Unsqueeze (v, last) z = DFT <onesided = 1> (w, , a)"
        " p = ReduceSumSquare <keepdims = 0> (z, last) q = Gemm <transA = 1> (v, p)"
        " y = Relu (q) }",
        NULL);
}

static void frames(void **state) {
    (void)state;
    const char *step = "fft_f32 STFT";
    engine_agrees(
        "m (float[2,100,1] x, float[32] w) => (float[2,18,17,2] y) <int64 s = {4}> {"
        " y = STFT (x, s, w) }",
        step);
    engine_agrees(
        "m (float[1,300,1] x, float[45] window) => (float[1,26,23,2] y) <int64 s = {10}> {"
        " v = Relu (window) y = STFT (x, s, v) }",
        "map_f32 Relu, fft_f32 STFT");
    engine_agrees(
        "m (float[1,80,2] x) => (float[1,5,40,2] y) <int64 s = {10}, int64 l = {40}> {"
        " y = STFT <onesided = 0> (x, s, , l) }",
        step);
    engine_agrees(
        "m (float[2,80,1] x, float[40] w) => (float[2,5,40,2] y) <int64 s = {10}, int64 l = {40}> {"
        " y = STFT <onesided = 0> (x, s, w, l) }",
        step);
}

static void declined(void **state) {
    (void)state;
    engine_agrees("m (double[3,10,1] x) => (double[3,10,2] y) <int64 a = {1}> { y = DFT (x, , a) }",
                  "reference DFT");
    engine_agrees(
        "m (double[1,60,1] x) => (double[1,5,11,2] y) <int64 s = {10}, int64 l = {20}> {"
        " y = STFT (x, s, , l) }",
        "reference STFT");
    /* Short ones are as good as exact. */
    dft("3,31,1", "3,31,2", "inverse = 0", "", 1, "reference DFT");
}

static void memory_runs_out(void **state) {
    (void)state;
    engine_survives(
        "m (float[3,37,1] x) => (float[3,37,2] y) <int64 a = {1}> { y = DFT (x, , a) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes),
        cmocka_unit_test(halves),
        cmocka_unit_test(lengths),
        cmocka_unit_test(surroundings),
        cmocka_unit_test(frames),
        cmocka_unit_test(declined),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

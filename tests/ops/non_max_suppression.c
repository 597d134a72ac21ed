#include <stdio.h>

#include "support/op_test.h"

/* 0 and 1 share 9/11 of what they cover, 2 is elsewhere. */
#define BOXES "f32[1, 3, 4]{0 0 1 1 0 0.1 1 1.1 0 10 1 11}"

static void selects(void **state) {
    (void)state;
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{0.9 0.75 0.6}", "s64[1]{3}", "f32[1]{0.5}"},
           .out = {"s64[2, 3]{0 0 0 0 0 2}"});
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{0.9 0.75 0.6}", "s64[]{3}", "f32[]{0.9}"},
           .out = {"s64[3, 3]{0 0 0 0 0 1 0 0 2}"});
    OP_RUN("NonMaxSuppression", .in = {BOXES, "f32[1, 2, 3]{0.1 0.2 0.3 0.6 0.5 0.4}", "s64[1]{1}"},
           .out = {"s64[2, 3]{0 0 2 0 1 0}"});
    /* Only what is above the score; equal scores in the order of the boxes; NaN last. */
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{0.9 0.5 nan}", "s64[1]{3}", "f32[1]{1}", "f32[1]{0.5}"},
           .out = {"s64[1, 3]{0 0 0}"});
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{nan 0 -0.0}", "s64[1]{9223372036854775807}", "f32[1]{1}"},
           .out = {"s64[3, 3]{0 0 1 0 0 2 0 0 0}"});
    /* Corners in any order; an overlap equal to the threshold stays. */
    OP_RUN("NonMaxSuppression",
           .in = {"f32[1, 2, 4]{2 1 0 0 2 0 1 1}", "f32[1, 1, 2]{1 1}", "s64[1]{2}", "f32[1]{0.5}"},
           .out = {"s64[2, 3]{0 0 0 0 0 1}"});
    OP_RUN(
        "NonMaxSuppression", .attrs = "center_point_box=1",
        .in = {"f32[1, 2, 4]{0 0 4 2 1 0 2 2}", "f32[1, 1, 2]{1 2}", "s64[1]{2}", "f32[1]{0.4999}"},
        .out = {"s64[1, 3]{0 0 1}"});
}

static void nothing(void **state) {
    (void)state;
    OP_RUN("NonMaxSuppression", .in = {BOXES, "f32[1, 1, 3]{1 2 3}"}, .out = {"s64[0, 3]{}"});
    OP_RUN("NonMaxSuppression", .in = {BOXES, "f32[1, 1, 3]{1 2 3}", "s64[1]{-4}"},
           .out = {"s64[0, 3]{}"});
    OP_RUN("NonMaxSuppression", .in = {"f32[2, 0, 4]{}", "f32[2, 1, 0]{}", "s64[1]{5}"},
           .out = {"s64[0, 3]{}"});
    /* Boxes without area cover nothing. */
    OP_RUN("NonMaxSuppression",
           .in = {"f32[1, 2, 4]{0 0 0 1 0 0 0 1}", "f32[1, 1, 2]{1 1}", "s64[1]{5}"},
           .out = {"s64[2, 3]{0 0 0 0 0 1}"});
}

/* ---- many boxes, beside comparing each with each ---- */

enum { MANY = 200, CLASSES = 2 };

typedef struct scene {
    int box[MANY][4]; /* y0, x0, y1, x1 */
    int score[CLASSES][MANY];
} scene;

/* Boxes of all widths, alone and in crowds; few different scores; some boxes have no area. */
static void draw(scene *s, unsigned seed) {
    unsigned state = seed;
    for (int i = 0; i < MANY; i++) {
        int *b = s->box[i];
        for (int k = 0; k < 4; k++)
            b[k] = (int)((state = state * 1664525 + 1013904223) >> 16) % 400;
        bool huge = i % 10 == 0;
        b[0] = huge ? 0 : b[0];
        b[2] = huge ? 400 : b[0] + b[2] % 40;
        b[3] = b[1] + (huge ? 4 * b[3] : b[3] % 30);
        for (int c = 0; c < CLASSES; c++)
            s->score[c][i] = (int)((state = state * 1664525 + 1013904223) >> 16) % 50;
    }
}

static double area(const int *b) { return (double)(b[2] - b[0]) * (b[3] - b[1]); }

static bool overlap(const int *a, const int *b) {
    int both[4];
    for (int k = 0; k < 2; k++) both[k] = a[k] > b[k] ? a[k] : b[k];
    for (int k = 2; k < 4; k++) both[k] = a[k] < b[k] ? a[k] : b[k];
    if (both[2] <= both[0] || both[3] <= both[1]) return false;
    return area(both) / (area(a) + area(b) - area(both)) > 0.25;
}

/* Appends what is selected of class c to text, which holds n bytes; how many they are. */
static int expect(const scene *s, int c, int most, char *text, size_t n) {
    int taken[MANY], n_taken = 0;
    for (int score = 49; score > 9; score--)
        for (int i = 0; i < MANY && n_taken < most; i++) {
            bool keep = s->score[c][i] == score;
            for (int k = 0; k < n_taken && keep; k++) keep = !overlap(s->box[i], s->box[taken[k]]);
            if (!keep) continue;
            taken[n_taken++] = i;
            size_t used = strlen(text);
            snprintf(text + used, n - used, "0 %d %d ", c, i);
        }
    return n_taken;
}

static void check_many(unsigned seed, int most) {
    scene s;
    char boxes[32 * MANY], scores[16 * CLASSES * MANY], list[16 * CLASSES * MANY] = "";
    char wanted[sizeof list + 32], most_text[32];
    int at = 0, n = 0;
    draw(&s, seed);
    at = snprintf(boxes, sizeof boxes, "f32[1, %d, 4]{", MANY);
    for (int i = 0; i < 4 * MANY; i++)
        at += snprintf(boxes + at, sizeof boxes - (size_t)at, "%d ", s.box[i / 4][i % 4]);
    snprintf(boxes + at, sizeof boxes - (size_t)at, "}");
    at = snprintf(scores, sizeof scores, "f32[1, %d, %d]{", CLASSES, MANY);
    for (int i = 0; i < CLASSES * MANY; i++)
        at += snprintf(scores + at, sizeof scores - (size_t)at, "%d ", s.score[i / MANY][i % MANY]);
    snprintf(scores + at, sizeof scores - (size_t)at, "}");
    for (int c = 0; c < CLASSES; c++) n += expect(&s, c, most, list, sizeof list);
    snprintf(wanted, sizeof wanted, "s64[%d, 3]{%s}", n, list);
    snprintf(most_text, sizeof most_text, "s64[1]{%d}", most);
    OP_RUN("NonMaxSuppression", .in = {boxes, scores, most_text, "f32[1]{0.25}", "f32[1]{9}"},
           .out = {wanted});
}

static void many(void **state) {
    (void)state;
    check_many(1, MANY);
    check_many(2, MANY);
    check_many(3, 10);
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("NonMaxSuppression", .in = {"f32[n, k, 4]", "f32[n, c, k]", "s64[1]"},
             .out = {"s64[?, 3]"});
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32", "s64"}, .out = {"s64[?, 3]"});
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32"}, .out = {"s64[0, 3]"});
    OP_INFER("NonMaxSuppression", .in = {"f32[n, k, 5]", "f32"}, .error = "differ: 5 and 4");
    OP_INFER("NonMaxSuppression", .in = {"f32[2, 6, 4]", "f32[3, c, 6]"},
             .error = "the batches of boxes and scores differ: 2 and 3");
    OP_INFER("NonMaxSuppression", .in = {"f32[2, 6, 4]", "f32[2, c, 7]"},
             .error = "the boxes and their scores differ: 6 and 7");
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32", "s64[2]"}, .error = "input 2 has 2 entries");
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32", "", "f32[0]"}, .error = "input 3 is empty");
    OP_INFER("NonMaxSuppression", .attrs = "center_point_box=2", .in = {"f32", "f32"},
             .error = "center_point_box is 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(nothing),
        cmocka_unit_test(many),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

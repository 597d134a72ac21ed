/* Handwritten-style digits, drawn as a hand draws them.
 *
 * Every class has several skeletons (a 7 with and without a bar, a 4 open and closed, a 2 with and
 * without a loop): strokes given by the few knots a pen passes through. A sample is made in five
 * steps, each with its own random amounts:
 *
 *   1. The knots are moved a little and joined by a Catmull-Rom spline, broken at corner knots.
 *   2. The path is bent by a smooth displacement field, the sum of two plane waves per axis.
 *   3. It is slanted, stretched and turned; then its box is scaled to a size in pixels and placed
 *      so that the border never cuts off ink.
 *   4. The pen is a disc whose radius follows the pressure. A pixel's coverage is a ramp over its
 *      distance from the nearest piece of path, so edges are smooth without sampling below pixels.
 *   5. Coverage becomes bytes by ink strength, grain in the ink and noise on the paper.
 *
 * The amounts were chosen by eye, and so that a small CNN gets over 99 % right where a linear
 * classifier gets about 4 in 5 (scripts/train_digits.py measures both).
 *
 * The bytes are part of what the project promises: test digests and the accuracy of the bundled
 * model stand on them. Hence only operations that IEEE 754 rounds exactly (+ - * / sqrt floor) and
 * a polynomial for the sine; the build sets -ffp-contract=off, so no compiler fuses a multiply and
 * an add. */
#include "formats/digits.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/rng.h"

_Static_assert(FLT_EVAL_METHOD == 0, "samples need plain double arithmetic");

enum {
    SIDE = HN_DIGITS_SIDE,
    CLASSES = HN_DIGITS_CLASSES,
    MAX_KNOTS = 14,
    SPAN_STEPS = 6, /* path points per span; a span is 3 to 10 pixels long */
    MAX_POINTS = MAX_KNOTS * SPAN_STEPS,
};

/* What the pen does at a knot. */
typedef enum knot_kind {
    KNOT_NONE, /* the skeleton is over */
    KNOT_SMOOTH,
    KNOT_CORNER, /* the direction may jump */
    KNOT_LIFT,   /* last knot of a stroke */
} knot_kind;

/* x to the right, y down, in hundredths of the digit's height. */
typedef struct knot {
    int8_t x, y;
    uint8_t kind;
} knot;

typedef struct skeleton {
    uint8_t label;
    uint8_t weight; /* how often it is drawn, against the others of its label */
    knot knots[MAX_KNOTS];
} skeleton;

/* clang-format off */
#define S(x, y) {x, y, KNOT_SMOOTH}
#define C(x, y) {x, y, KNOT_CORNER}
#define L(x, y) {x, y, KNOT_LIFT}
static const skeleton skeletons[] = {
    /* oval; begun at the right with an overlap; narrow, closed by a small hook */
    {0, 4, {S(33,1), S(12,16), S(3,50), S(12,85), S(32,99), S(53,85), S(61,50), S(53,16), L(35,2)}},
    {0, 3, {S(48,9), S(24,3), S(5,34), S(8,78), S(32,99), S(56,76), S(58,32), S(40,5), L(22,7)}},
    {0, 2, {S(30,2), S(10,24), S(4,62), S(16,96), S(38,92), S(50,58), S(46,18), S(28,1), L(36,14)}},
    /* bare stem; with a flag; with flag and base */
    {1, 5, {S(22,0), S(20,50), L(19,100)}},
    {1, 4, {S(4,24), C(25,1), S(24,50), L(24,100)}},
    {1, 2, {S(8,22), C(28,1), S(28,50), L(27,99), S(4,99), L(53,98)}},
    /* sharp foot; looped foot; sharp foot with a wavy base */
    {2, 4, {S(5,25), S(17,5), S(38,2), S(54,20), S(45,48), S(23,76), C(3,98), S(33,97), L(62,97)}},
    {2, 4, {S(6,24), S(24,3), S(49,9), S(53,33), S(36,63), S(14,91), S(3,91), S(8,77), S(26,83), S(44,97), L(63,89)}},
    {2, 2, {S(10,14), S(34,1), S(52,18), S(44,46), S(22,74), C(2,94), S(20,88), S(40,97), L(62,92)}},
    /* pointed waist; looped waist; flat top */
    {3, 5, {S(6,14), S(27,1), S(50,14), S(45,36), C(24,46), S(51,57), S(56,81), S(31,99), L(4,86)}},
    {3, 2, {S(8,12), S(31,1), S(51,17), S(42,40), S(25,49), S(17,44), S(27,41), S(52,58), S(55,83), S(29,99), L(4,88)}},
    {3, 2, {S(7,4), C(54,3), C(27,38), S(53,53), S(55,82), S(29,99), L(3,88)}},
    /* open with a straight arm; open and round; closed in one stroke */
    {4, 4, {S(13,2), S(8,35), C(3,60), S(32,59), L(64,56), S(49,12), S(46,55), L(44,100)}},
    {4, 3, {S(7,4), S(5,36), S(18,53), S(38,50), C(52,40), L(54,36), S(55,2), S(50,50), L(46,100)}},
    {4, 3, {S(63,66), S(32,66), C(2,67), S(24,32), C(45,1), S(44,50), L(43,100)}},
    /* top drawn last; one stroke; round like an S */
    {5, 4, {S(14,3), C(10,44), S(34,37), S(56,58), S(48,88), S(23,99), L(2,88), S(13,4), L(58,1)}},
    {5, 3, {S(57,3), C(16,4), C(11,45), S(36,38), S(57,62), S(46,92), S(20,99), L(3,90)}},
    {5, 2, {S(56,4), S(30,3), S(13,16), S(17,40), S(41,49), S(55,69), S(45,93), S(22,99), L(3,91)}},
    /* sweeping; steep with a flat bowl; hooked top, curled bowl */
    {6, 4, {S(48,2), S(20,29), S(4,66), S(14,94), S(38,98), S(54,78), S(43,57), S(22,57), L(6,76)}},
    {6, 3, {S(36,0), S(13,40), S(4,73), S(18,97), S(44,95), S(56,76), S(42,60), S(20,64), L(9,80)}},
    {6, 2, {S(53,12), S(40,1), S(15,25), S(3,66), S(16,96), S(42,96), S(54,74), S(39,54), S(20,62), L(19,82)}},
    /* plain; with a serif; with a bar; with serif and bar */
    {7, 4, {S(3,5), C(58,3), S(36,46), L(22,100)}},
    {7, 2, {S(5,18), C(6,4), C(57,4), S(36,50), L(28,100)}},
    {7, 3, {S(3,5), C(58,3), S(37,46), L(24,100), S(15,52), L(54,48)}},
    {7, 1, {S(4,17), C(5,4), C(59,3), S(39,48), L(29,100), S(16,53), L(55,50)}},
    /* one stroke from the top right; two bowls; one stroke from the top left */
    {8, 5, {S(50,13), S(31,1), S(11,15), S(19,37), S(44,58), S(54,80), S(31,99), S(6,82), S(17,58), S(42,37), L(51,13)}},
    {8, 2, {S(30,2), S(12,12), S(13,36), S(31,46), S(49,34), S(48,12), L(31,2), S(31,46), S(9,60), S(6,86), S(30,99), S(55,86), S(52,60), L(30,46)}},
    {8, 2, {S(14,10), S(34,1), S(51,17), S(40,40), S(15,60), S(6,82), S(30,99), S(55,81), S(44,57), S(16,38), S(10,20), L(18,7)}},
    /* straight stem; curved tail; bowl and stem apart */
    {9, 4, {S(52,17), S(34,2), S(11,13), S(6,39), S(25,52), S(47,39), C(54,12), S(51,55), L(47,100)}},
    {9, 3, {S(53,18), S(33,1), S(9,15), S(7,41), S(29,51), S(50,37), S(55,22), S(53,62), S(39,92), L(12,98)}},
    {9, 2, {S(46,6), S(24,4), S(6,24), S(16,47), S(38,45), L(50,24), S(53,2), S(49,50), L(40,100)}},
};
#undef S
#undef C
#undef L
/* clang-format on */

enum { N_SKELETONS = sizeof skeletons / sizeof skeletons[0] };

typedef struct path_point {
    double x, y;
    double radius; /* of the pen, in pixels */
    bool lift;     /* no ink from here to the next point */
} path_point;

typedef struct path {
    path_point points[MAX_POINTS];
    int n_points;
} path;

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

/* v clamped to [0, 1]. The lower end by arithmetic (exact): half of all pixels pass it, and the
 * branch gcc makes of a comparison with 0 is mispredicted often enough to double the time of a
 * sample. */
static double clamp01(double v) { return least(0.5 * (v + fabs(v)), 1); }

static double uniform(hn_rng *rng, double low, double high) {
    return low + (high - low) * hn_rng_f64(rng);
}

/* Symmetric about 0 within +-width and denser towards the middle. */
static double triangular(hn_rng *rng, double width) {
    double a = hn_rng_f64(rng);
    return width * (a - hn_rng_f64(rng));
}

/* sin(2 pi turns), absolute error below 1e-7. */
static double wave(double turns) {
    double t = turns - floor(turns + 0.5);
    if (t > 0.25) t = 0.5 - t;
    if (t < -0.25) t = -0.5 - t;
    double x = t * 6.283185307179586, z = x * x;
    double p = 1.0 / 362880 - z * (1.0 / 39916800); /* the Taylor series up to x^11 */
    p = -1.0 / 5040 + z * p;
    p = 1.0 / 120 + z * p;
    p = -1.0 / 6 + z * p;
    return x * (1 + z * p);
}

static const skeleton *choose_skeleton(hn_rng *rng, int label) {
    uint64_t total = 0;
    for (int i = 0; i < N_SKELETONS; i++)
        if (skeletons[i].label == label) total += skeletons[i].weight;
    uint64_t draw = hn_rng_below(rng, total);
    const skeleton *s = skeletons;
    while (s->label != label || draw >= s->weight) {
        if (s->label == label) draw -= s->weight;
        s++;
    }
    return s;
}

/* One coordinate of the Catmull-Rom span from b to c, 0 <= t <= 1, with neighbours a and d. */
static double spline(double a, double b, double c, double d, double t) {
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

static void add_point(path *out, double x, double y, bool lift) {
    assert(out->n_points < MAX_POINTS);
    out->points[out->n_points++] = (path_point){.x = x, .y = y, .lift = lift};
}

/* Step 1, into the unit of the skeleton's height. */
static void trace(hn_rng *rng, const skeleton *s, path *out) {
    double x[MAX_KNOTS], y[MAX_KNOTS];
    int n = 0;
    double shake = uniform(rng, 0.02, 0.08);
    for (; n < MAX_KNOTS && s->knots[n].kind != KNOT_NONE; n++) {
        x[n] = 0.01 * s->knots[n].x + triangular(rng, shake);
        y[n] = 0.01 * s->knots[n].y + triangular(rng, shake);
    }
    out->n_points = 0;
    bool begins = true; /* the span leaves a corner or the first knot of a stroke */
    for (int i = 0; i + 1 < n; i++) {
        if (s->knots[i].kind == KNOT_LIFT) {
            add_point(out, x[i], y[i], true);
            begins = true;
            continue;
        }
        begins = begins || s->knots[i].kind == KNOT_CORNER;
        bool ends = s->knots[i + 1].kind != KNOT_SMOOTH;
        /* Where the direction may jump, a knot's mirror image stands for the missing neighbour. */
        double before_x = begins ? 2 * x[i] - x[i + 1] : x[i - 1];
        double before_y = begins ? 2 * y[i] - y[i + 1] : y[i - 1];
        double after_x = ends ? 2 * x[i + 1] - x[i] : x[i + 2];
        double after_y = ends ? 2 * y[i + 1] - y[i] : y[i + 2];
        for (int k = 0; k < SPAN_STEPS; k++) {
            double t = (double)k / SPAN_STEPS;
            add_point(out, spline(before_x, x[i], x[i + 1], after_x, t),
                      spline(before_y, y[i], y[i + 1], after_y, t), false);
        }
        begins = false;
    }
    add_point(out, x[n - 1], y[n - 1], true);
}

/* Step 2. Two waves per axis, 0.4 to 1.2 periods over the digit's height. */
static void bend(hn_rng *rng, path *p) {
    struct {
        double fx, fy, phase, amount;
    } w[4];
    for (int i = 0; i < 4; i++) {
        w[i].fx = triangular(rng, 1.0);
        w[i].fy = uniform(rng, 0.4, 1.2);
        w[i].phase = hn_rng_f64(rng);
        w[i].amount = uniform(rng, 0.0, 0.065);
    }
    for (int i = 0; i < p->n_points; i++) {
        double d[4];
        double x = p->points[i].x, y = p->points[i].y;
        for (int k = 0; k < 4; k++)
            d[k] = w[k].amount * wave(w[k].fx * x + w[k].fy * y + w[k].phase);
        p->points[i].x = x + d[0] + d[1];
        p->points[i].y = y + d[2] + d[3];
    }
}

/* Pressure swells and fades along the path, and a hand in motion lifts gradually at the end of a
 * stroke. Returns a bound of the radius. */
static double press(hn_rng *rng, path *p, double size) {
    double radius = size * uniform(rng, 0.042, 0.085), swing = uniform(rng, 0.0, 0.25);
    double phase = hn_rng_f64(rng), rate = uniform(rng, 0.3, 1.6), fade = uniform(rng, 0.0, 0.45);
    int left = 0; /* points until the pen is lifted */
    for (int i = p->n_points - 1; i >= 0; i--) {
        left = p->points[i].lift ? 0 : left + 1;
        double r = radius * (1 + swing * wave(phase + rate * i / p->n_points));
        if (left < SPAN_STEPS) r *= 1 - fade * (SPAN_STEPS - left) / SPAN_STEPS;
        p->points[i].radius = r;
    }
    return radius * (1 + swing);
}

/* Step 3. `size` is that of the path's box, `reach` how far ink extends from it, in pixels. */
static void place(hn_rng *rng, path *p, double size, double reach) {
    double turn = triangular(rng, 0.07), slant = triangular(rng, 0.45) - 0.1;
    double aspect = uniform(rng, 0.7, 1.3);
    double cosine = wave(turn + 0.25), sine = wave(turn);
    double low_x = HUGE_VAL, low_y = HUGE_VAL, high_x = -HUGE_VAL, high_y = -HUGE_VAL;
    for (int i = 0; i < p->n_points; i++) {
        double v = p->points[i].y, u = aspect * p->points[i].x + slant * v;
        double x = cosine * u - sine * v, y = sine * u + cosine * v;
        p->points[i].x = x;
        p->points[i].y = y;
        low_x = least(low_x, x);
        high_x = most(high_x, x);
        low_y = least(low_y, y);
        high_y = most(high_y, y);
    }
    double width = high_x - low_x, height = high_y - low_y;
    double scale = size / most(width, height);
    /* The tenth of a pixel keeps rounding from putting ink outside; at the largest size and pen,
     * 0.07 are left to move in. */
    double room_x = 0.5 * (SIDE - width * scale) - reach - 0.1;
    double room_y = 0.5 * (SIDE - height * scale) - reach - 0.1;
    double shift_x = 0.5 * SIDE + triangular(rng, least(room_x, 3));
    double shift_y = 0.5 * SIDE + triangular(rng, least(room_y, 3));
    for (int i = 0; i < p->n_points; i++) {
        p->points[i].x = (p->points[i].x - 0.5 * (low_x + high_x)) * scale + shift_x;
        p->points[i].y = (p->points[i].y - 0.5 * (low_y + high_y)) * scale + shift_y;
    }
}

/* Step 4 for one piece of path: coverage falls from 1 to 0 over `soft` pixels at the pen's edge. */
static void stroke(double cover[SIDE][SIDE], const path_point *a, const path_point *b,
                   double soft) {
    double dx = b->x - a->x, dy = b->y - a->y, length2 = dx * dx + dy * dy;
    double inverse = length2 > 0 ? 1 / length2 : 0, steepness = 1 / soft;
    double reach = most(a->radius, b->radius) + 0.5 * soft;
    /* Pixel (row, col) has its centre at (col + 0.5, row + 0.5); `place` keeps the box inside the
     * image. */
    int left = (int)floor(least(a->x, b->x) - reach);
    int right = (int)floor(most(a->x, b->x) + reach);
    int top = (int)floor(least(a->y, b->y) - reach);
    int bottom = (int)floor(most(a->y, b->y) + reach);
    assert(left >= 0 && right < SIDE && top >= 0 && bottom < SIDE);
    for (int row = top; row <= bottom; row++) {
        for (int col = left; col <= right; col++) {
            double px = col + 0.5 - a->x, py = row + 0.5 - a->y;
            double t = clamp01((px * dx + py * dy) * inverse);
            double ex = px - t * dx, ey = py - t * dy;
            double edge = a->radius + t * (b->radius - a->radius) - sqrt(ex * ex + ey * ey);
            cover[row][col] = most(cover[row][col], clamp01(0.5 + edge * steepness));
        }
    }
}

/* Step 5. One draw serves four pixels: two bytes each, whose sum is triangular. */
static void develop(hn_rng *rng, double cover[SIDE][SIDE], uint8_t *image) {
    double ink = uniform(rng, 0.5, 1.0), grain = uniform(rng, 0.0, 0.3);
    double noise = uniform(rng, -0.07, 0.2); /* a quarter of the sheets are clean */
    if (noise < 0) noise = 0;
    uint64_t bits = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        if (i % 4 == 0) bits = hn_rng_u64(rng);
        double c = cover[i / SIDE][i % SIDE];
        double n = ((double)(bits & 255) + (double)(bits >> 8 & 255) - 255) * (1.0 / 255);
        bits >>= 16;
        double v = c * ink * (1 + grain * n) + (1 - c) * noise * n;
        image[i] = (uint8_t)(255 * clamp01(v) + 0.5);
    }
}

/* Each ten samples hold a shuffle of the classes. */
static int label_of(uint64_t key, int64_t index) {
    int order[CLASSES] = {0};
    hn_rng rng;
    hn_rng_init(&rng, key + (uint64_t)(index / CLASSES));
    for (int i = 0; i < CLASSES; i++) {
        int j = (int)hn_rng_below(&rng, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order[index % CLASSES];
}

void hn_digits_sample(uint64_t seed, int64_t index, uint8_t image[SIDE * SIDE], int *label) {
    assert(index >= 0);
    /* Neighbouring seeds must not share samples, as seed + index would. */
    hn_rng rng;
    hn_rng_init(&rng, seed);
    uint64_t label_key = hn_rng_u64(&rng), image_key = hn_rng_u64(&rng);
    *label = label_of(label_key, index);

    hn_rng_init(&rng, image_key + (uint64_t)index);
    path p;
    trace(&rng, choose_skeleton(&rng, *label), &p);
    bend(&rng, &p);
    double size = uniform(&rng, 14.5, 21.5), soft = uniform(&rng, 0.9, 1.6);
    double radius = press(&rng, &p, size);
    place(&rng, &p, size, radius + 0.5 * soft);

    double cover[SIDE][SIDE] = {{0}};
    for (int i = 0; i + 1 < p.n_points; i++)
        if (!p.points[i].lift) stroke(cover, &p.points[i], &p.points[i + 1], soft);
    develop(&rng, cover, image);
}

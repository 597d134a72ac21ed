/* AdaRound: which way each weight is rounded is learned, layer by layer, so that the layer's output
 * stays what it was (Nagel et al., "Up or down?", 2020).
 *
 *     w between two points of its grid            w = scale * (floor + h)       0 <= h <= 1
 *          |         w |         |                h = clip(1.2 * sigmoid(v) - 0.1, 0, 1)
 *        floor-1   floor      floor+1
 *
 *     v moves by Adam, on random rows, to make least
 *         |relu(w · x + b) - y|^2  +  push * sum of (1 - |2h - 1|^beta)
 *     and in the end h >= 1/2 rounds up.
 *
 * Rounding each weight to the nearest makes the error of each weight least, not that of their sum:
 * errors of weights whose inputs go together should cancel. y is what the float model has, after
 * the Relu if nothing but one reads the layer, and x what the layer will see: the values of the
 * model whose earlier layers are rounded already, on the grid of its quantized input. The second
 * term is 0 at first; then beta falls from 20 to 2, which drives each h to 0 or 1, those near an
 * end first.
 *
 * A step is a graph that the engine runs, products and all, so results do not depend on threads.
 * Layers are gone through in order, some at a time: these see the layers before them rounded, but
 * not each other. Rows that were not learned from decide whether what was learned is better than
 * the nearest; if not, the weight is left to be rounded so.
 *
 * Conv of any groups, Gemm, and MatMul by a matrix, with constants that nothing else uses; not
 * ConvTranspose, and not types of two levels, which have nothing to learn.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "compress/calibration.h"
#include "compress/method.h"
#include "compress/watch.h"
#include "compress/weighted.h"
#include "compress/windows.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "passes/pass.h"

enum {
    STEPS = 1000,
    WARM = 100,    /* of these, steps without the second term */
    BATCH = 64,    /* rows of a step */
    ROWS = 4096,   /* of a layer, about */
    HELD = 8,      /* one row of so many is not learned from */
    SAMPLES = 512, /* at most */
    PASSES = 8,    /* times that the samples are run, about */
    TELL = 50,     /* steps between two calls of progress */
};
#define RATE 0.1
#define PUSH 20 /* against an error of 1 per weight rounded to the nearest */
#define BETA_FIRST 20.0
#define BETA_LAST 2.0
/* Rows of the layers that are learned at a time. */
#define MOST_BYTES ((int64_t)128 << 20)

typedef struct layer {
    hn_weighted w;
    int index; /* among all: its random numbers are its own */
    bool relu;
    int64_t groups, k, m;               /* a group is [k, m] weights */
    int64_t group_step, k_step, m_step; /* where they lie in the tensor */
    int64_t each;                       /* rows of a sample, at most */
    int64_t capacity, n_x, n_y;         /* rows there is room for, and that have come */
    int64_t samples_x, samples_y;       /* seen */
    float *x, *y;                       /* [rows, groups * k], [rows, groups * m] */
    bool on_grid;                       /* inputs are rounded to this */
    hn_qtype input_type;
    hn_grid_point input;
} layer;

/* ---- layers ---- */

static void describe_matrix(const hn_weighted *w, layer *l) {
    const hn_tensor *t = w->weight->constant;
    l->groups = 1;
    l->k = t->dims[w->sum_axis];
    l->m = t->dims[w->channel_axis];
    l->k_step = w->sum_axis == 0 ? t->dims[1] : 1;
    l->m_step = w->channel_axis == 0 ? t->dims[1] : 1;
}

static bool describe_conv(const hn_weighted *w, layer *l) {
    const hn_tensor *t = w->weight->constant;
    l->groups = hn_attr_i(w->node, "group");
    if (l->groups < 1 || t->dims[0] % l->groups != 0) return false;
    l->m = t->dims[0] / l->groups;
    l->k = t->n / t->dims[0];
    l->k_step = 1;
    l->m_step = l->k;
    l->group_step = l->m * l->k;
    return true;
}

/* The bias must be a vector, or absent. */
static bool bias_fits(const hn_weighted *w, const layer *l) {
    if (hn_node_input(w->node, 2) == NULL) return true;
    return w->bias != NULL && w->bias->constant->n == l->groups * l->m;
}

static bool describe(const hn_weighted *w, layer *l) {
    const hn_node *n = w->node;
    *l = (layer){.w = *w};
    if (w->scheme.weights.bits < 2 || hn_node_input(n, 1) != w->weight || !hn_used_once(w->weight))
        return false;
    if (hn_is(n, "Conv")) {
        if (!describe_conv(w, l)) return false;
    } else {
        bool gemm = hn_is(n, "Gemm");
        if (w->weight->constant->rank != 2 || (!gemm && !hn_is(n, "MatMul"))) return false;
        if (gemm && (hn_attr_i(n, "transA") != 0 || hn_attr_f(n, "alpha") != 1)) return false;
        describe_matrix(w, l);
    }
    const hn_value *y = n->outputs[0];
    l->relu = hn_used_once(y) && hn_is(y->uses->node, "Relu");
    return bias_fits(w, l);
}

static int64_t row_bytes(const layer *l) {
    return l->groups * (l->k + l->m) * (int64_t)sizeof(float);
}

/* ---- rows ---- */

typedef struct collector {
    const hn_method_ctx *c;
    layer *layers;
    bool outputs; /* they come, not inputs */
} collector;

/* Which of `count` places of a sample a layer looks at: *n of them, the same for x and y. */
static void choose_places(const collector *c, const layer *l, int64_t sample, int64_t count,
                          int64_t *n, hn_rng *rng) {
    hn_rng_init(rng, c->c->seed + (uint64_t)l->index);
    hn_rng_init(rng, hn_rng_u64(rng) + (uint64_t)sample);
    *n = count < l->each ? count : l->each;
}

static void put_on_grid(const layer *l, float *row) {
    for (int64_t i = 0; i < l->groups * l->k; i++)
        row[i] = hn_grid_value(l->input, hn_grid_code(&l->input_type, l->input, (double)row[i]));
}

/* Lines of a sample [lines, width]. */
static void take_lines(const collector *c, layer *l, const float *sample, int64_t lines) {
    bool y = c->outputs;
    int64_t width = y ? l->m : l->k, n, *rows = y ? &l->n_y : &l->n_x;
    hn_rng rng;
    choose_places(c, l, y ? l->samples_y++ : l->samples_x++, lines, &n, &rng);
    for (int64_t i = 0; i < n && *rows < l->capacity; i++) {
        float *row = (y ? l->y : l->x) + (*rows)++ * width;
        const float *line = sample + (int64_t)hn_rng_below(&rng, (uint64_t)lines) * width;
        memcpy(row, line, (size_t)width * sizeof *row);
        if (!y && l->on_grid) put_on_grid(l, row);
    }
}

/* Pixels of a sample [channels, pixels], the outputs of a Conv. */
static void take_pixels(const collector *c, layer *l, const float *sample, int64_t pixels) {
    int64_t n, channels = l->groups * l->m;
    hn_rng rng;
    choose_places(c, l, l->samples_y++, pixels, &n, &rng);
    for (int64_t i = 0; i < n && l->n_y < l->capacity; i++) {
        float *row = l->y + l->n_y++ * channels;
        int64_t at = (int64_t)hn_rng_below(&rng, (uint64_t)pixels);
        for (int64_t k = 0; k < channels; k++) row[k] = sample[k * pixels + at];
    }
}

static void take_windows(const collector *c, layer *l, const float *sample, const hn_windows *s) {
    int64_t n;
    hn_rng rng;
    choose_places(c, l, l->samples_x++, s->count, &n, &rng);
    for (int64_t i = 0; i < n && l->n_x < l->capacity; i++) {
        float *row = l->x + l->n_x++ * l->groups * l->k;
        hn_windows_copy(s, sample, (int64_t)hn_rng_below(&rng, (uint64_t)s->count), row);
        if (l->on_grid) put_on_grid(l, row);
    }
}

static hone_status take(void *ctx, int i, const hn_tensor *t, int64_t samples, hn_error *err) {
    const collector *c = ctx;
    layer *l = &c->layers[i];
    const hn_node *n = l->w.node;
    bool conv = hn_is(n, "Conv");
    int64_t width = l->groups * (c->outputs ? l->m : l->k);
    int axis = conv ? 1 : t->rank - 1;
    char label[160];
    /* A batch whose first axis does not tell samples apart is one. */
    if (samples < 1 || t->rank < 1 || t->dims[0] != samples) samples = 1;
    HN_CHECK(err,
             t->dtype == HONE_DTYPE_F32 && t->rank > axis && axis >= 0 &&
                 ((conv && !c->outputs) || t->dims[axis] == width),
             HONE_E_SHAPE, "%s: what goes through it does not fit its weight",
             hn_node_label(n, label, sizeof label));
    hn_windows s;
    if (conv && !c->outputs) HN_TRY(hn_windows_init(&s, n, l->w.weight->constant, t, err));
    int64_t size = t->n / samples;
    for (int64_t k = 0; k < samples && size > 0; k++) {
        const float *sample = (const float *)t->data + k * size;
        if (!conv)
            take_lines(c, l, sample, size / width);
        else if (c->outputs)
            take_pixels(c, l, sample, size / width);
        else if (s.count > 0)
            take_windows(c, l, sample, &s);
    }
    return HONE_OK;
}

static hone_status collect(hn_method_ctx *c, const hn_model *m, layer *v, int n, bool outputs,
                           int64_t samples, hn_error *err) {
    collector to = {c, v, outputs};
    hn_watch_options o = {.samples = samples};
    const char **names = hn_alloc_array(c->alloc, (size_t)n, sizeof *names, HN_MEM_SCRATCH);
    if (names == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++)
        names[i] = outputs ? v[i].w.node->outputs[0]->name : v[i].w.input->name;
    hone_status status = hn_watch(m, names, n, c->feed, c->how, &o, take, &to, c->alloc, err);
    hn_free(c->alloc, names);
    return status;
}

/* ---- graphs ---- */

#define FORWARD " p = MatMul (x, w) q = Add (p, bias)"
#define ERROR_PLAIN " d = Sub (q, y)"
#define ERROR_RELU " r = Relu (q) e = Sub (r, y) on = Sign (r) d = Mul (e, on)"

#define STEP(error)                                                                            \
    "step (float[g,n,k] x, float[g,n,m] y, float[g,1,m] bias, float[g,k,m] low,"               \
    " float[g,k,m] scale, float[g,k,m] v, float[g,k,m] m1, float[g,k,m] m2,"                   \
    " float gain, float push, float power, float rate)"                                        \
    " => (float[g,k,m] v_new, float[g,k,m] m1_new, float[g,k,m] m2_new)"                       \
    " <float zero = {0}, float one = {1}, float stretch = {1.2}, float shift = {0.1},"         \
    " float b1 = {0.9}, float c1 = {0.1}, float b2 = {0.999}, float c2 = {0.001},"             \
    " float tiny = {1e-8}> {"                                                                  \
    " s = Sigmoid (v) s1 = Mul (s, stretch) s2 = Sub (s1, shift) h = Clip (s2, zero, one)"     \
    " code = Add (low, h) w = Mul (code, scale)" FORWARD error /* the error, and by h: */      \
    " xt = Transpose <perm = [0, 2, 1]> (x) g0 = MatMul (xt, d)"                               \
    " g1 = Mul (g0, scale) g2 = Mul (g1, gain)" /* less the second term: */                    \
    " t0 = Add (h, h) t = Sub (t0, one) a = Abs (t) a1 = Pow (a, power) sign = Sign (t)"       \
    " a2 = Mul (a1, sign) a3 = Mul (a2, push) gh = Sub (g2, a3)" /* by v, 0 where clipped: */  \
    " u0 = Sub (one, s) u1 = Mul (s, u0) u2 = Mul (u1, stretch)"                               \
    " i0 = Sub (one, h) i1 = Mul (h, i0) i2 = Sign (i1) gv0 = Mul (gh, u2) gv = Mul (gv0, i2)" \
    " f0 = Mul (m1, b1) f1 = Mul (gv, c1) m1_new = Add (f0, f1)" /* Adam */                    \
    " k0 = Mul (m2, b2) k1 = Mul (gv, gv) k2 = Mul (k1, c2) m2_new = Add (k0, k2)"             \
    " root = Sqrt (m2_new) size = Add (root, tiny) move = Div (m1_new, size)"                  \
    " by = Mul (move, rate) v_new = Sub (v, by) }"
enum { X, Y, BIAS, LOW, SCALE, V, M1, M2, GAIN, SHOVE, POWER, SPEED, STEP_INPUTS };

/* The squared error of weights. */
#define MISS(error)                                                            \
    "miss (float[g,n,k] x, float[g,n,m] y, float[g,1,m] bias, float[g,k,m] w)" \
    " => (float sum) {" FORWARD error " sum = ReduceSumSquare <keepdims = 0> (f) }"
#define MISS_PLAIN " f = Sub (q, y)"
#define MISS_RELU " r = Relu (q) f = Sub (r, y)"

typedef struct program {
    hn_model *model;
    hn_program *run;
} program;

static void destroy_program(program *p) {
    hn_program_destroy(p->run);
    hn_model_destroy(p->model);
}

static hone_status create_program(program *p, const char *text, const hn_method_ctx *c,
                                  hn_error *err) {
    hn_how how = *c->how;
    how.engine.layers = (hn_layers){.way.precision = HN_PRECISION_F32};
    how.engine.auto_precision = false;
    how.engine.tuner = NULL;
    HN_TRY(hn_text_parse(&p->model, text, strlen(text), NULL, c->alloc, err));
    hn_model_bind_ops(p->model);
    HN_TRY(hn_model_infer(p->model, NULL, err));
    return hn_program_create(&p->run, p->model, &how, err);
}

/* ---- learning ---- */

typedef struct learner {
    hn_method_ctx *c;
    program step[2], miss[2]; /* without and with a Relu */
    int64_t done, total;      /* steps, of all layers */
} learner;

/* What is learned of one layer; tensors all have a layer's groups in front. */
typedef struct lesson {
    layer *l;
    hn_grid grid;
    int64_t rows, held, batch;
    hn_tensor *in[STEP_INPUTS];
    hn_tensor *held_x, *held_y, *weight; /* weight: [g, k, m], what the error is asked of */
    double nearest, learned;             /* error of a held row */
} lesson;

static void end_lesson(lesson *s) {
    for (int i = 0; i < STEP_INPUTS; i++) hn_tensor_unref(s->in[i]);
    hn_tensor_unref(s->held_x);
    hn_tensor_unref(s->held_y);
    hn_tensor_unref(s->weight);
    hn_grid_deinit(&s->grid);
}

static hone_status tensor(hn_tensor **out, const hn_method_ctx *c, int64_t g, int64_t n, int64_t m,
                          hn_error *err) {
    return hn_tensor_create(out, c->alloc, HN_MEM_SCRATCH, HONE_DTYPE_F32, 3, (int64_t[]){g, n, m},
                            err);
}

/* Where weight [g, k, m] lies in the layer's tensor. */
static int64_t place_of(const layer *l, int64_t i) {
    int64_t m = i % l->m, k = i / l->m % l->k, g = i / (l->m * l->k);
    return g * l->group_step + k * l->k_step + m * l->m_step;
}

/* The point below a weight, how far it is from there, and its grid. */
typedef struct between {
    hn_grid_point p;
    int32_t low; /* a code */
    double part;
} between;

static between find_between(const lesson *s, int64_t i) {
    const hn_tensor *w = s->l->w.weight->constant;
    int64_t at = place_of(s->l, i);
    between b = {.p = hn_grid_at(&s->grid, w, at)};
    int32_t least, most;
    hn_qtype_limits(&s->grid.type, &least, &most);
    double code = hn_tensor_f64(w, at) / (double)b.p.scale + b.p.zero;
    double low = fmin(fmax(floor(code), least), most - 1);
    b.low = (int32_t)low;
    b.part = fmin(fmax(code - low, 0), 1);
    return b;
}

/* Row r of all, [groups, width], as row `to` of [groups, rows, width]. */
static void put_row(const float *all, int64_t groups, int64_t width, int64_t r, hn_tensor *t,
                    int64_t to) {
    for (int64_t g = 0; g < groups; g++)
        memcpy((float *)t->data + (g * t->dims[1] + to) * width, all + (r * groups + g) * width,
               (size_t)width * sizeof(float));
}

static void put_rows(const lesson *s, int64_t r, hn_tensor *x, hn_tensor *y, int64_t to) {
    const layer *l = s->l;
    put_row(l->x, l->groups, l->k, r, x, to);
    put_row(l->y, l->groups, l->m, r, y, to);
}

static hone_status create_tensors(const learner *of, lesson *s, hn_error *err) {
    const layer *l = s->l;
    const hn_method_ctx *c = of->c;
    for (int i = LOW; i <= M2; i++) HN_TRY(tensor(&s->in[i], c, l->groups, l->k, l->m, err));
    for (int i = GAIN; i < STEP_INPUTS; i++)
        HN_TRY(hn_tensor_create(&s->in[i], c->alloc, HN_MEM_SCRATCH, HONE_DTYPE_F32, 0, NULL, err));
    HN_TRY(tensor(&s->in[X], c, l->groups, s->batch, l->k, err));
    HN_TRY(tensor(&s->in[Y], c, l->groups, s->batch, l->m, err));
    HN_TRY(tensor(&s->in[BIAS], c, l->groups, 1, l->m, err));
    HN_TRY(tensor(&s->held_x, c, l->groups, s->held, l->k, err));
    HN_TRY(tensor(&s->held_y, c, l->groups, s->held, l->m, err));
    return tensor(&s->weight, c, l->groups, l->k, l->m, err);
}

static hone_status begin_lesson(const learner *of, lesson *s, hn_error *err) {
    const layer *l = s->l;
    const hn_weighted *w = &l->w;
    HN_TRY(hn_weighted_grid(&s->grid, w, of->c->alloc, err));
    HN_TRY(create_tensors(of, s, err));
    double beta = hn_is(w->node, "Gemm") ? (double)hn_attr_f(w->node, "beta") : 1;
    float *bias = s->in[BIAS]->data, *low = s->in[LOW]->data, *scale = s->in[SCALE]->data;
    float *v = s->in[V]->data, *nearest = s->weight->data;
    for (int64_t i = 0; i < s->in[BIAS]->n; i++)
        bias[i] = w->bias != NULL ? (float)(beta * hn_tensor_f64(w->bias->constant, i)) : 0;
    for (int64_t i = 0; i < s->in[LOW]->n; i++) {
        between b = find_between(s, i);
        double sigmoid = (b.part + 0.1) / 1.2;
        low[i] = (float)(b.low - b.p.zero);
        scale[i] = b.p.scale;
        v[i] = (float)log(sigmoid / (1 - sigmoid));
        nearest[i] = hn_grid_value(b.p, b.low + (b.part > 0.5));
    }
    memset(s->in[M1]->data, 0, s->in[M1]->bytes);
    memset(s->in[M2]->data, 0, s->in[M2]->bytes);
    for (int64_t i = 0; i < s->held; i++) put_rows(s, i * HELD + HELD - 1, s->held_x, s->held_y, i);
    return HONE_OK;
}

/* The squared error of a held row by s->weight. */
static hone_status find_miss(const learner *of, const lesson *s, double *miss, hn_error *err) {
    const hn_tensor *in[] = {s->held_x, s->held_y, s->in[BIAS], s->weight};
    hn_tensor *sum;
    HN_TRY(hn_program_run(of->miss[s->l->relu].run, in, &sum, err));
    *miss = hn_tensor_f64(sum, 0) / (double)s->held;
    hn_tensor_unref(sum);
    return HONE_OK;
}

static void set(const lesson *s, int i, double v) { *(float *)s->in[i]->data = (float)v; }

/* The numbers of step t that change from step to step. */
static void set_rates(const lesson *s, int t) {
    double part = t < WARM ? 0 : (double)(t - WARM) / (STEPS - WARM);
    double beta = BETA_FIRST + (BETA_LAST - BETA_FIRST) * part;
    double settled = sqrt(1 - pow(0.999, t + 1)) / (1 - pow(0.9, t + 1));
    set(s, SHOVE, t < WARM ? 0 : 2 * beta * PUSH);
    set(s, POWER, beta - 1);
    set(s, SPEED, RATE * settled);
}

static hone_status tell(learner *of, hn_error *err) {
    const hn_method_ctx *c = of->c;
    HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, of->done, of->total),
             HONE_E_LIMIT, "stopped");
    return HONE_OK;
}

static hone_status run_steps(learner *of, lesson *s, hn_error *err) {
    hn_rng rng;
    hn_rng_init(&rng, of->c->seed + (uint64_t)s->l->index);
    int64_t usable = s->rows / HELD * (HELD - 1);
    set(s, GAIN, 2.0 / (double)s->batch * (double)s->weight->n / s->nearest);
    for (int t = 0; t < STEPS; t++, of->done++) {
        for (int64_t i = 0; i < s->batch; i++) {
            int64_t r = (int64_t)hn_rng_below(&rng, (uint64_t)usable);
            put_rows(s, r / (HELD - 1) * HELD + r % (HELD - 1), s->in[X], s->in[Y], i);
        }
        set_rates(s, t);
        hn_tensor *out[3];
        HN_TRY(hn_program_run(of->step[s->l->relu].run, (const hn_tensor *const *)s->in, out, err));
        for (int i = 0; i < 3; i++) {
            hn_tensor_unref(s->in[V + i]);
            s->in[V + i] = out[i];
        }
        if (t % TELL == 0) HN_TRY(tell(of, err));
    }
    return HONE_OK;
}

static void round_as_learned(const lesson *s) {
    const float *v = s->in[V]->data;
    float *w = s->weight->data;
    for (int64_t i = 0; i < s->weight->n; i++) {
        between b = find_between(s, i);
        w[i] = hn_grid_value(b.p, b.low + (v[i] >= 0)); /* h >= 1/2 */
    }
}

/* The layer's weight becomes s->weight, and its grid that of the lesson. */
static hone_status keep(const learner *of, lesson *s, hn_error *err) {
    hn_value *v = s->l->w.weight;
    const hn_tensor *from = v->constant;
    const float *w = s->weight->data;
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, of->c->model->alloc, HN_MEM_WEIGHTS, from->dtype, from->rank,
                            from->dims, err));
    for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[place_of(s->l, i)] = w[i];
    hn_value_set_constant(v, t);
    of->c->changed++;
    return hn_grids_set(of->c->grids, v->name, &s->grid, err);
}

static hone_status learn(learner *of, layer *l, hn_error *err) {
    lesson s = {.l = l, .rows = l->n_x < l->n_y ? l->n_x : l->n_y};
    s.held = s.rows / HELD;
    s.batch = s.rows < BATCH ? s.rows : BATCH;
    hone_status status = HONE_OK;
    if (s.held == 0) return HONE_OK;
    HN_TRY_GOTO(begin_lesson(of, &s, err));
    HN_TRY_GOTO(find_miss(of, &s, &s.nearest, err));
    if (!(s.nearest > 0 && isfinite(s.nearest))) goto fail;
    HN_TRY_GOTO(run_steps(of, &s, err));
    round_as_learned(&s);
    HN_TRY_GOTO(find_miss(of, &s, &s.learned, err));
    if (s.learned < s.nearest) status = keep(of, &s, err);
fail:
    end_lesson(&s);
    return status;
}

/* ---- all layers ---- */

/* Rows that are relu'd already are what y is compared with. */
static void finish_rows(layer *l) {
    if (!l->relu) return;
    for (int64_t i = 0; i < l->n_y * l->groups * l->m; i++) l->y[i] = fmaxf(l->y[i], 0);
}

static hone_status make_room(const hn_method_ctx *c, layer *l, int64_t samples, hn_error *err) {
    size_t bytes;
    l->each = ROWS / samples + (ROWS % samples != 0);
    l->capacity = l->each * samples;
    if (!hn_size_mul((size_t)l->capacity, (size_t)row_bytes(l), &bytes)) return HN_NOMEM(err);
    l->x = hn_alloc(c->alloc, (size_t)(l->capacity * l->groups * l->k) * sizeof(float),
                    HN_MEM_SCRATCH);
    l->y = hn_alloc(c->alloc, (size_t)(l->capacity * l->groups * l->m) * sizeof(float),
                    HN_MEM_SCRATCH);
    return l->x != NULL && l->y != NULL ? HONE_OK : HN_NOMEM(err);
}

/* Layers [0, n) of v, with those before them as they are now. */
static hone_status learn_some(learner *of, const hn_model *original, layer *v, int n,
                              int64_t samples, hn_error *err) {
    hone_status status = HONE_OK;
    for (int i = 0; i < n && status == HONE_OK; i++) status = make_room(of->c, &v[i], samples, err);
    if (status == HONE_OK) status = collect(of->c, original, v, n, true, samples, err);
    if (status == HONE_OK) status = collect(of->c, of->c->model, v, n, false, samples, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        finish_rows(&v[i]);
        status = learn(of, &v[i], err);
    }
    for (int i = 0; i < n; i++) {
        hn_free(of->c->alloc, v[i].x);
        hn_free(of->c->alloc, v[i].y);
    }
    return status;
}

static hone_status find(hn_method_ctx *c, hn_arena *arena, layer **out, int *n, hn_error *err) {
    hn_weighted *all;
    int n_all;
    HN_TRY(hn_weighted_layers(c->model, c->scheme, arena, &all, &n_all, err));
    layer *v = hn_arena_array(arena, (size_t)n_all + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    *out = v;
    *n = 0;
    for (int i = 0; i < n_all; i++) {
        layer *l = &v[*n];
        if (!describe(&all[i], l)) continue;
        hn_range r;
        l->index = (*n)++;
        l->input_type = all[i].scheme.activations;
        l->on_grid = all[i].scheme.kind == HN_LAYER_STATIC && c->calibration != NULL &&
                     hn_calibration_range(c->calibration, all[i].input->name, &l->input_type, &r);
        if (l->on_grid) l->input = hn_grid_of_range(&l->input_type, r);
    }
    return HONE_OK;
}

/* How many of the n layers of v are learned at a time. */
static int count_some(const layer *v, int n, int all) {
    int64_t bytes = 0;
    int some = 0, most = all / PASSES + 1;
    while (some < n && some < most) {
        int64_t more = ROWS * row_bytes(&v[some]);
        if (some > 0 && more > MOST_BYTES - bytes) break;
        bytes += more;
        some++;
    }
    return some;
}

static hone_status learn_all(learner *of, layer *v, int n, hn_error *err) {
    hn_method_ctx *c = of->c;
    hn_model *original = NULL;
    int64_t samples = hn_dataset_count(hn_feed_dataset(c->feed));
    if (c->samples > 0 && c->samples < samples) samples = c->samples;
    if (samples > SAMPLES) samples = SAMPLES;
    hone_status status = HONE_OK;
    if (n == 0 || samples == 0) return HONE_OK;
    of->total = (int64_t)n * STEPS;
    HN_TRY(hn_model_clone(&original, c->model, c->alloc, err));
    HN_TRY_GOTO(hn_model_infer(original, NULL, err));
    HN_TRY_GOTO(create_program(&of->step[0], STEP(ERROR_PLAIN), c, err));
    HN_TRY_GOTO(create_program(&of->step[1], STEP(ERROR_RELU), c, err));
    HN_TRY_GOTO(create_program(&of->miss[0], MISS(MISS_PLAIN), c, err));
    HN_TRY_GOTO(create_program(&of->miss[1], MISS(MISS_RELU), c, err));
    for (int at = 0, some; at < n; at += some) {
        some = count_some(v + at, n - at, n);
        HN_TRY_GOTO(learn_some(of, original, v + at, some, samples, err));
        of->done = (int64_t)(at + some) * STEPS;
        HN_TRY_GOTO(tell(of, err));
    }
fail:
    for (int i = 0; i < 2; i++) {
        destroy_program(&of->step[i]);
        destroy_program(&of->miss[i]);
    }
    hn_model_destroy(original);
    return status;
}

hone_status hn_method_adaround(hn_method_ctx *c, hn_error *err) {
    learner of = {.c = c};
    hn_arena arena;
    layer *v = NULL;
    int n = 0;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find(c, &arena, &v, &n, err);
    if (status == HONE_OK) status = learn_all(&of, v, n, err);
    hn_arena_deinit(&arena);
    return status;
}

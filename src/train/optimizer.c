#include "train/optimizer.h"

#include <math.h>

#include "train/named.h"

hn_optimizer_options hn_optimizer_defaults(void) {
    return (hn_optimizer_options){
        .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = 0};
}

/* Powers by multiplication: the same bits on every machine. */
static double power(double x, int64_t n) {
    double y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

void hn_optimizer_rates(const hn_optimizer_options *o, double rate, int64_t t,
                        float rates[HN_RATES]) {
    rates[HN_RATE] = (float)rate;
    rates[HN_RATE_FIRST] = (float)(rate / (1 - power(o->beta1, t)));
    rates[HN_RATE_SECOND] = (float)(1 / sqrt(1 - power(o->beta2, t)));
}

static hn_value *times(hn_grad *g, hn_value *v, double by) {
    return HN_EMIT2(g, "Mul", v, hn_emit_number(g, by));
}

/* ---- gradient descent ----
 *
 *   d = g + decay * p        m' = momentum * m + d        p' = p - rate * m'
 *
 * or, as Nesterov says, p' = p - rate * (d + momentum * m'). */

static int sgd_moments(const hn_optimizer_options *o) { return o->momentum != 0; }

static void sgd(hn_grad *g, const hn_optimizer_options *o, hn_update *u) {
    hn_value *d = u->gradient;
    if (u->decay != 0) d = HN_EMIT2(g, "Add", d, times(g, u->p, u->decay));
    if (o->momentum != 0) {
        hn_value *m = HN_EMIT2(g, "Add", times(g, u->moment[0], o->momentum), d);
        u->moment_next[0] = m;
        d = o->nesterov ? HN_EMIT2(g, "Add", d, times(g, m, o->momentum)) : m;
    }
    u->p_next = HN_EMIT2(g, "Sub", u->p, HN_EMIT2(g, "Mul", d, u->rate[HN_RATE]));
}

/* from + (to - from) * by, a chain of operations that is one step of a plan. */
static hn_value *toward(hn_grad *g, hn_value *from, hn_value *to, double by) {
    return HN_EMIT2(g, "Add", times(g, HN_EMIT2(g, "Sub", to, from), by), from);
}

/* ---- Adam ----
 *
 *   m' = beta1 * m + (1 - beta1) * g        v' = beta2 * v + (1 - beta2) * g * g
 *   p' = p - rate / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)
 *
 * Adam decays by adding decay * p to g; AdamW by taking rate * decay * p from p. */

static int adam_moments(const hn_optimizer_options *o) {
    (void)o;
    return 2;
}

static void adam_by(hn_grad *g, const hn_optimizer_options *o, hn_update *u, hn_value *d,
                    hn_value *p) {
    hn_value *m = toward(g, u->moment[0], d, 1 - o->beta1);
    hn_value *v = toward(g, u->moment[1], HN_EMIT2(g, "Mul", d, d), 1 - o->beta2);
    hn_value *root = HN_EMIT2(g, "Mul", HN_EMIT1(g, "Sqrt", v), u->rate[HN_RATE_SECOND]);
    hn_value *by = HN_EMIT2(g, "Add", root, hn_emit_number(g, o->epsilon));
    hn_value *step = HN_EMIT2(g, "Mul", HN_EMIT2(g, "Div", m, by), u->rate[HN_RATE_FIRST]);
    u->moment_next[0] = m;
    u->moment_next[1] = v;
    u->p_next = HN_EMIT2(g, "Sub", p, step);
}

static void adam(hn_grad *g, const hn_optimizer_options *o, hn_update *u) {
    hn_value *d = u->gradient;
    if (u->decay != 0) d = HN_EMIT2(g, "Add", d, times(g, u->p, u->decay));
    adam_by(g, o, u, d, u->p);
}

static void adamw(hn_grad *g, const hn_optimizer_options *o, hn_update *u) {
    hn_value *p = u->p;
    if (u->decay != 0)
        p = HN_EMIT2(g, "Sub", p, HN_EMIT2(g, "Mul", p, times(g, u->rate[HN_RATE], u->decay)));
    adam_by(g, o, u, u->gradient, p);
}

/* ---- the table ---- */

static const hn_optimizer sgd_row = {
    "sgd", "gradient descent with momentum", 0.1, false, sgd_moments, sgd};
static const hn_optimizer adam_row = {"adam", "Adam", 1e-3, true, adam_moments, adam};
static const hn_optimizer adamw_row = {
    "adamw", "Adam with decay of the weights themselves", 1e-3, true, adam_moments, adamw};

const hn_optimizer *const hn_optimizers[] = {&sgd_row, &adam_row, &adamw_row};
const int hn_n_optimizers = sizeof hn_optimizers / sizeof *hn_optimizers;

static const char *name_of(int i) { return hn_optimizers[i]->name; }

hone_status hn_optimizer_find(const char *name, const hn_optimizer **out, hn_error *err) {
    int at;
    HN_TRY(hn_named_find("optimizer", name, hn_n_optimizers, name_of, &at, err));
    *out = hn_optimizers[at];
    return HONE_OK;
}

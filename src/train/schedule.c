#include "train/schedule.h"

#include <string.h>

#include "train/named.h"

/* cos(pi * x) for x in [0, 1], the same bits on every machine: a series around the middle, where it
 * is odd. */
static double half_cosine(double x) {
    double t = 3.14159265358979323846 * (0.5 - x), term = t, sum = t;
    for (int k = 1; k < 14; k++) {
        term *= -t * t / (double)((2 * k) * (2 * k + 1));
        sum += term;
    }
    return sum;
}

static double place(int64_t i, int64_t n) { return n > 1 ? (double)i / (double)n : 0; }

static double constant(const hn_schedule_options *o, int64_t i, int64_t n) {
    (void)o, (void)i, (void)n;
    return 1;
}

static double by_steps(const hn_schedule_options *o, int64_t i, int64_t n) {
    double share = 1;
    int64_t period = o->period > 0 ? o->period : (n + 2) / 3;
    for (int64_t k = period; k > 0 && k <= i; k += period) share *= o->factor;
    return share;
}

static double cosine(const hn_schedule_options *o, int64_t i, int64_t n) {
    return o->last + (1 - o->last) * 0.5 * (1 + half_cosine(place(i, n)));
}

/* Up from 1/25 in the first 30 % and down to 1e-4 of that, both along a cosine. */
static double one_cycle(const hn_schedule_options *o, int64_t i, int64_t n) {
    double up = 0.3 * (double)n, at = (double)i, low = 1.0 / 25;
    double end = o->last > 0 ? o->last : low * 1e-4;
    if (at < up) return low + (1 - low) * 0.5 * (1 - half_cosine(at / up));
    return end + (1 - end) * 0.5 * (1 + half_cosine((at - up) / ((double)n - up)));
}

static const hn_schedule constant_row = {"constant", "the same rate throughout", constant};
static const hn_schedule step_row = {"step", "times a factor after every period", by_steps};
static const hn_schedule cosine_row = {"cosine", "down along half a cosine", cosine};
static const hn_schedule one_cycle_row = {"one-cycle", "up, then down further", one_cycle};

const hn_schedule *const hn_schedules[] = {&constant_row, &cosine_row, &one_cycle_row, &step_row};
const int hn_n_schedules = sizeof hn_schedules / sizeof *hn_schedules;

static const char *name_of(int i) { return hn_schedules[i]->name; }

hone_status hn_schedule_find(const char *name, const hn_schedule **out, hn_error *err) {
    int at;
    HN_TRY(hn_named_find("schedule", name, hn_n_schedules, name_of, &at, err));
    *out = hn_schedules[at];
    return HONE_OK;
}

double hn_schedule_rate(const hn_schedule *s, const hn_schedule_options *o, int64_t step) {
    if (step < o->warmup) return o->rate * (double)(step + 1) / (double)(o->warmup + 1);
    return o->rate * s->share(o, step - o->warmup, o->steps - o->warmup);
}

#include "engine/together.h"

/* How far a step may be moved forward: keeps the search linear in the number of steps. */
enum { WINDOW = 64 };
/* What a launch costs, in the units of `cost`: a microsecond, at rates a fifth of what is reached.
 */
#define LAUNCH 5.0

/* A guess at microseconds, far too long for most steps but in proportion. */
static double cost(const hn_step *s) { return s->facts->flops / 20e3 + s->facts->bytes / 10e3; }

/* Whether the tasks leave lanes idle for a quarter of the time or more. */
static bool splits_badly(const hn_step *s, int64_t lanes) {
    for (int phase = 0; phase < s->work.n_phases; phase++) {
        int64_t tasks = hn_work_tasks(&s->work, phase);
        int64_t rounds = (tasks + lanes - 1) / lanes;
        if (4 * tasks > 3 * rounds * lanes) return false;
    }
    return true;
}

/* Steps that may fail, share a flag, or are the device's run by themselves. */
static bool may_join(const hn_step *s, int lanes) {
    return s->family != NULL && s->space == HN_SPACE_HOST && s->check == NULL &&
           (s->alone || splits_badly(s, lanes));
}

/* Whether one of the two writes what the other reads or writes. */
static bool in_conflict(const hn_plan *p, const hn_step *a, const hn_step *b) {
    int x, y;
    bool x_written, y_written;
    for (int i = 0; hn_step_buffer(p, a, i, &x, &x_written); i++)
        for (int k = 0; x >= 0 && hn_step_buffer(p, b, k, &y, &y_written); k++)
            if (x == y && (x_written || y_written)) return true;
    return false;
}

/* Whether step number `at` could run before those of [first, at). */
static bool is_free(const hn_plan *p, int first, int at) {
    for (int i = at - 1; i >= first; i--)
        if (in_conflict(p, p->steps[i], p->steps[at])) return false;
    return true;
}

static void move_forward(hn_plan *p, int from, int to) {
    hn_step *s = p->steps[from];
    for (int i = from; i > to; i--) p->steps[i] = p->steps[i - 1];
    p->steps[to] = s;
}

/* Gives every step of the set to the lane that has least to do, the longest first; what is saved,
 * in units of `cost`. */
static double deal(hn_step *const *set, int n, int lanes) {
    double load[HN_MOST_TOGETHER] = {0}, all = 0, most = 0;
    if (lanes > n) lanes = n;
    for (int i = 0; i < n; i++) set[i]->lane = 0;
    for (int dealt = 0; dealt < n; dealt++) {
        hn_step *next = NULL;
        int least = 0;
        for (int i = 0; i < n; i++)
            if (set[i]->lane == 0 && (next == NULL || cost(set[i]) > cost(next))) next = set[i];
        for (int k = 1; k < lanes; k++)
            if (load[k] < load[least]) least = k;
        next->lane = least + 1;
        load[least] += cost(next);
        all += cost(next);
        if (load[least] > most) most = load[least];
    }
    return all - most;
}

void hn_plan_together(hn_plan *p) {
    if (p->lanes < 2) return;
    int lanes = p->lanes < HN_MOST_TOGETHER ? p->lanes : HN_MOST_TOGETHER;
    for (int first = 0, n; first < p->n_steps; first += n) {
        n = 1;
        if (!may_join(p->steps[first], p->lanes)) continue;
        for (int at = first + 1; at < p->n_steps && at < first + WINDOW && n < HN_MOST_TOGETHER;
             at++) {
            if (!may_join(p->steps[at], p->lanes) || !is_free(p, first, at)) continue;
            move_forward(p, at, first + n);
            n++;
        }
        if (n > 1 && deal(p->steps + first, n, lanes) > LAUNCH) {
            p->steps[first]->together = n;
        } else {
            for (int i = first; i < first + n; i++) p->steps[i]->lane = 0;
        }
    }
}

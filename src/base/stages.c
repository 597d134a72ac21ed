#include "base/stages.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static void leave(hn_stages *s) {
    int64_t now = hn_clock_ns(), cpu = hn_clock_cpu_ns();
    if (s->now > 0) {
        s->ns[s->now - 1] += now - s->since;
        s->cpu_ns[s->now - 1] += cpu - s->cpu_since;
    }
    s->since = now;
    s->cpu_since = cpu;
    s->now = 0;
}

void hn_stages_enter(hn_stages *s, const char *name) {
    char shown[HN_STAGE_NAME];
    int i = 0;
    if (name == NULL) {
        leave(s);
        return;
    }
    snprintf(shown, sizeof shown, "%s", name);
    if (s->now > 0 && strcmp(s->names[s->now - 1], shown) == 0) return;
    leave(s);
    while (i < s->n && strcmp(s->names[i], shown) != 0) i++;
    if (i == HN_MOST_STAGES) i--;
    if (i == s->n) memcpy(s->names[s->n++], shown, sizeof shown);
    s->now = i + 1;
}

hone_stage hn_stages_told(const hn_stages *s, int i) {
    double seconds = (double)s->ns[i] * 1e-9;
    return (hone_stage){.name = s->names[i],
                        .seconds = seconds,
                        .cores = s->ns[i] > 0 ? (double)s->cpu_ns[i] / (double)s->ns[i] : 0};
}

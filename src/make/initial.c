#include "make/initial.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/sha256.h"
#include "ops/random.h"

#define HN_INITIAL(name, distribution, number, value, help) \
    static double name##_scale(hn_fans f) {                 \
        (void)f;                                            \
        return value;                                       \
    }
#include "make/initials.def"
#undef HN_INITIAL

const hn_initial_def hn_initials[] = {
#define HN_INITIAL(name, distribution, number, value, help) \
    {#name, help, HN_DISTRIBUTION_##distribution, number, name##_scale},
#include "make/initials.def"
#undef HN_INITIAL
};
const int hn_n_initials = sizeof hn_initials / sizeof *hn_initials;

const hn_initial_def *hn_initial_find(hn_str name) {
    for (int i = 0; i < hn_n_initials; i++)
        if (strlen(hn_initials[i].name) == name.n &&
            memcmp(hn_initials[i].name, name.p, name.n) == 0)
            return &hn_initials[i];
    return NULL;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/* The generator of one parameter. */
static hn_rng generator(uint64_t seed, const char *name) {
    hn_sha256_parts s;
    char hex[HN_SHA256_HEX];
    unsigned char bytes[8];
    uint64_t start = 0;
    hn_rng rng;
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(seed >> 8 * i);
    hn_sha256_begin(&s);
    hn_sha256_add(&s, bytes, sizeof bytes);
    hn_sha256_add(&s, name, strlen(name));
    hn_sha256_end(&s, hex);
    for (int i = 0; i < 16; i++) start = start << 4 | (uint64_t)digit(hex[i]);
    hn_rng_init(&rng, start);
    return rng;
}

/* The next numbers of the distribution with scale 1, at most HN_RANDOM_BLOCK; how many. */
static int draw(hn_rng *rng, hn_distribution d, double *v) {
    if (d == HN_DISTRIBUTION_CONSTANT) {
        for (int i = 0; i < HN_RANDOM_BLOCK; i++) v[i] = 1;
        return HN_RANDOM_BLOCK;
    }
    if (d == HN_DISTRIBUTION_UNIFORM) {
        hn_random_uniforms(rng, v, HN_RANDOM_BLOCK);
        for (int i = 0; i < HN_RANDOM_BLOCK; i++) v[i] = 2 * v[i] - 1;
        return HN_RANDOM_BLOCK;
    }
    hn_random_normals(rng, v);
    if (d == HN_DISTRIBUTION_NORMAL) return HN_RANDOM_BLOCK;
    int kept = 0;
    for (int i = 0; i < HN_RANDOM_BLOCK; i++)
        if (fabs(v[i]) <= 2) v[kept++] = v[i];
    return kept;
}

void hn_initial_fill(const hn_initial *how, hn_fans f, uint64_t seed, const char *name,
                     hn_tensor *t) {
    double scale = how->def->number ? how->number : how->def->scale(f), v[HN_RANDOM_BLOCK];
    hn_rng rng = generator(seed, name);
    float *out = t->data;
    for (int64_t at = 0; at < t->n;) {
        int64_t n = hn_least(draw(&rng, how->def->distribution, v), t->n - at);
        for (int64_t i = 0; i < n; i++) out[at + i] = (float)(scale * v[i]);
        at += n;
    }
}

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* splitmix64: spreads one word over the state, so that seeds 0, 1, 2 ... give unrelated streams. */
static uint64_t split_mix(uint64_t *x) {
    uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void hn_rng_init(hn_rng *rng, uint64_t seed) {
    for (int i = 0; i < 4; i++) rng->s[i] = split_mix(&seed);
}

static uint64_t rotate(uint64_t x, int left) { return x << left | x >> (64 - left); }

static inline uint64_t next(uint64_t s[4]) {
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t hn_rng_u64(hn_rng *rng) { return next(rng->s); }

void hn_rng_u64_n(hn_rng *rng, uint64_t *words, int64_t n) {
    hn_rng r = *rng; /* a copy that nothing points to stays in registers */
    for (int64_t i = 0; i < n; i++) words[i] = next(r.s);
    *rng = r;
}

uint64_t hn_rng_below(hn_rng *rng, uint64_t n) {
    assert(n > 0);
    /* The lowest 2^64 mod n words are refused: what is left is a multiple of n. */
    uint64_t refuse = (0 - n) % n, word;
    do word = hn_rng_u64(rng);
    while (word < refuse);
    return word % n;
}

double hn_rng_f64(hn_rng *rng) { return (double)(hn_rng_u64(rng) >> 11) * 0x1p-53; }

/* ln(v) of a normal positive double to within 2 units in the last place, from operations that IEEE
 * rounds exactly: libm's log differs between machines. With v = m 2^e and m in [sqrt(1/2),
 * sqrt(2)), ln(m) = 2 atanh(z), z = (m - 1) / (m + 1). */
static double ln(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m /= 2;
        e++;
    }
    double z = (m - 1) / (m + 1), zz = z * z, sum = 0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * zz + 1.0 / k;
    return e * 0x1.62e42fefa39efp-1 + 2 * z * sum;
}

/* Marsaglia's polar method; the second number of each pair is dropped so that the state stays four
 * words. */
double hn_rng_normal(hn_rng *rng) {
    for (;;) {
        double x = 2 * hn_rng_f64(rng) - 1, y = 2 * hn_rng_f64(rng) - 1;
        double r = x * x + y * y;
        if (r > 0 && r < 1) return x * sqrt(-2 * ln(r) / r);
    }
}

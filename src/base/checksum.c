#include "base/checksum.h"

#define P1 0x9e3779b185ebca87u
#define P2 0xc2b2ae3d27d4eb4fu
#define P3 0x165667b19e3779f9u
#define P4 0x85ebca77c2b2ae63u
#define P5 0x27d4eb2f165667c5u

static uint64_t rotl(uint64_t x, int n) { return x << n | x >> (64 - n); }

/* The compiler makes one load of this where the machine is little-endian. GCC would not inline it, since
 * it counts the loads before it joins them: the sum would take half as long again. */
static inline __attribute__((always_inline)) uint64_t word(const unsigned char *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}
static uint32_t half(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t step(uint64_t lane, uint64_t w) { return rotl(lane + w * P2, 31) * P1; }
static uint64_t join(uint64_t h, uint64_t lane) { return (h ^ step(0, lane)) * P1 + P4; }

uint64_t hn_checksum(const void *data, size_t bytes) {
    const unsigned char *p = data;
    size_t left = bytes;
    uint64_t h = P5;
    if (left >= 32) {
        uint64_t a = P1 + P2, b = P2, c = 0, d = 0 - P1;
        for (; left >= 32; left -= 32, p += 32) {
            a = step(a, word(p));
            b = step(b, word(p + 8));
            c = step(c, word(p + 16));
            d = step(d, word(p + 24));
        }
        h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
        h = join(join(join(join(h, a), b), c), d);
    }
    h += (uint64_t)bytes;
    for (; left >= 8; left -= 8, p += 8) h = rotl(h ^ step(0, word(p)), 27) * P1 + P4;
    if (left >= 4) {
        h = rotl(h ^ half(p) * P1, 23) * P2 + P3;
        left -= 4;
        p += 4;
    }
    for (; left > 0; left--, p++) h = rotl(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

#include "formats/rans.h"

#include <string.h>

enum { SCALE_BITS = 12, SCALE = 1 << SCALE_BITS, STATES = 4, TABLE_BYTES = 512 };
#define LOWEST ((uint32_t)1 << 16) /* of a state */

size_t hn_rans_bound(size_t n) { return TABLE_BYTES + 4 * STATES + 2 * n; }

/* Frequencies that add up to SCALE, none of a byte that occurs 0. What is over or short goes to the
 * largest, where it matters least. False: fewer than two bytes occur. */
static bool scale(const uint64_t count[256], size_t n, uint32_t freq[256]) {
    uint32_t sum = 0;
    int kinds = 0;
    for (int s = 0; s < 256; s++) {
        freq[s] = (uint32_t)((double)count[s] * SCALE / (double)n + 0.5);
        if (freq[s] == 0 && count[s] > 0) freq[s] = 1;
        if (freq[s] >= SCALE) freq[s] = SCALE - 1;
        kinds += count[s] > 0;
        sum += freq[s];
    }
    while (sum != SCALE && kinds > 1) {
        int largest = 0;
        for (int s = 1; s < 256; s++)
            if (freq[s] > freq[largest]) largest = s;
        freq[largest] += sum < SCALE ? 1 : (uint32_t)-1;
        sum += sum < SCALE ? 1 : (uint32_t)-1;
    }
    return kinds > 1;
}

static unsigned char *put_table(unsigned char *dst, const uint32_t freq[256]) {
    for (int s = 0; s < 256; s++) {
        if (freq[s] >= 128) *dst++ = (unsigned char)(freq[s] | 128);
        *dst++ = (unsigned char)(freq[s] >= 128 ? freq[s] >> 7 : freq[s]);
        if (freq[s] > 0) continue;
        int more = 0;
        while (s + 1 < 256 && freq[s + 1] == 0) more++, s++;
        *dst++ = (unsigned char)more;
    }
    return dst;
}

size_t hn_rans_encode(const unsigned char *src, size_t n, unsigned char *dst, unsigned char *room) {
    uint64_t count[256] = {0};
    uint32_t freq[256], start[256], x[STATES], at = 0;
    for (size_t i = 0; i < n; i++) count[src[i]]++;
    if (n == 0 || !scale(count, n, freq)) return 0;
    for (int s = 0; s < 256; s++) {
        start[s] = at;
        at += freq[s];
    }
    for (int k = 0; k < STATES; k++) x[k] = LOWEST;
    unsigned char *words = room + 2 * n; /* filled from its end */
    for (size_t i = n; i-- > 0;) {
        uint32_t f = freq[src[i]], *state = &x[i % STATES];
        if (*state >= f << (32 - SCALE_BITS)) {
            words -= 2;
            words[0] = (unsigned char)*state;
            words[1] = (unsigned char)(*state >> 8);
            *state >>= 16;
        }
        *state = (*state / f << SCALE_BITS) + *state % f + start[src[i]];
    }
    unsigned char *to = put_table(dst, freq);
    for (int k = 0; k < STATES; k++)
        for (int b = 0; b < 32; b += 8) *to++ = (unsigned char)(x[k] >> b);
    size_t n_words = (size_t)(room + 2 * n - words), bytes = (size_t)(to - dst) + n_words;
    if (bytes >= n) return 0;
    memcpy(to, words, n_words);
    return bytes;
}

/* What a slot decodes to. */
typedef struct slot {
    uint16_t freq, bias; /* bias: slot - start */
    unsigned char byte;
} slot;

static bool read_table(const unsigned char **at, const unsigned char *end, slot *slots) {
    const unsigned char *p = *at;
    uint32_t sum = 0;
    for (int s = 0; s < 256; s++) {
        if (p == end) return false;
        uint32_t f = *p++;
        if (f >= 128) {
            if (p == end) return false;
            f = (f & 127) | (uint32_t)*p++ << 7;
        }
        if (f >= SCALE || f > SCALE - sum) return false;
        for (uint32_t i = 0; i < f; i++)
            slots[sum + i] = (slot){(uint16_t)f, (uint16_t)i, (unsigned char)s};
        sum += f;
        if (f > 0) continue;
        if (p == end || *p > 255 - s) return false;
        s += *p++;
    }
    *at = p;
    return sum == SCALE;
}

hone_status hn_rans_decode(const unsigned char *src, size_t bytes, unsigned char *dst, size_t n,
                           hn_error *err) {
    const unsigned char *p = src, *end = src + bytes;
    slot slots[SCALE];
    uint32_t x[STATES];
    HN_CHECK(err, read_table(&p, end, slots), HONE_E_FORMAT,
             "a table of frequencies does not add up to %d", SCALE);
    HN_CHECK(err, (size_t)(end - p) >= 4 * STATES, HONE_E_FORMAT, "coded bytes are cut off");
    for (int k = 0; k < STATES; k++, p += 4)
        x[k] = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    size_t i = 0;
    /* Four at a time, while there are words for all. */
    for (; i + STATES <= n && (size_t)(end - p) >= 2 * STATES; i += STATES) {
        for (int k = 0; k < STATES; k++) {
            const slot *t = &slots[x[k] % SCALE];
            dst[i + (size_t)k] = t->byte;
            x[k] = t->freq * (x[k] >> SCALE_BITS) + t->bias;
            uint32_t more = x[k] << 16 | (uint32_t)p[0] | (uint32_t)p[1] << 8;
            bool low = x[k] < LOWEST;
            x[k] = low ? more : x[k];
            p += low ? 2 : 0;
        }
    }
    for (; i < n; i++) {
        uint32_t *state = &x[i % STATES];
        const slot *t = &slots[*state % SCALE];
        dst[i] = t->byte;
        *state = t->freq * (*state >> SCALE_BITS) + t->bias;
        if (*state >= LOWEST) continue;
        HN_CHECK(err, end - p >= 2, HONE_E_FORMAT, "coded bytes end after %zu of %zu", i, n);
        *state = *state << 16 | (uint32_t)p[0] | (uint32_t)p[1] << 8;
        p += 2;
    }
    bool good = p == end;
    for (int k = 0; k < STATES; k++) good = good && x[k] == LOWEST;
    HN_CHECK(err, good, HONE_E_FORMAT, "coded bytes do not end where they should");
    return HONE_OK;
}

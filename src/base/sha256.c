#include "base/sha256.h"

#include <string.h>

enum { BLOCK = HN_SHA256_BLOCK, ROUNDS = 64 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const uint32_t hn_sha256_k[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t load(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One round; the next has the letters one place further on, so that none is ever moved. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                        \
    do {                                                                                        \
        uint32_t t = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + \
                     hn_sha256_k[i] + w[i];                                                     \
        d += t;                                                                                 \
        h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));     \
    } while (0)

static void add_block(uint32_t state[8], const unsigned char *p) {
    uint32_t w[ROUNDS];
    for (int i = 0; i < 16; i++) w[i] = load(p + 4 * i);
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    uint32_t s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3];
    uint32_t s4 = state[4], s5 = state[5], s6 = state[6], s7 = state[7];
    for (int i = 0; i < ROUNDS; i += 8) {
        ROUND(s0, s1, s2, s3, s4, s5, s6, s7, i);
        ROUND(s7, s0, s1, s2, s3, s4, s5, s6, i + 1);
        ROUND(s6, s7, s0, s1, s2, s3, s4, s5, i + 2);
        ROUND(s5, s6, s7, s0, s1, s2, s3, s4, i + 3);
        ROUND(s4, s5, s6, s7, s0, s1, s2, s3, i + 4);
        ROUND(s3, s4, s5, s6, s7, s0, s1, s2, i + 5);
        ROUND(s2, s3, s4, s5, s6, s7, s0, s1, i + 6);
        ROUND(s1, s2, s3, s4, s5, s6, s7, s0, i + 7);
    }
    state[0] += s0, state[1] += s1, state[2] += s2, state[3] += s3;
    state[4] += s4, state[5] += s5, state[6] += s6, state[7] += s7;
}

void hn_sha256_blocks(uint32_t state[8], const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++) add_block(state, p + i * BLOCK);
}

static void add_blocks(uint32_t state[8], const unsigned char *p, size_t n) {
    if (hn_sha256_has_shani())
        hn_sha256_blocks_shani(state, p, n);
    else
        hn_sha256_blocks(state, p, n);
}

void hn_sha256_begin(hn_sha256_parts *s) {
    /* The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
    *s = (hn_sha256_parts){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void hn_sha256_add(hn_sha256_parts *s, const void *data, size_t bytes) {
    const unsigned char *p = data;
    size_t held = s->bytes % BLOCK;
    s->bytes += bytes;
    if (held > 0) {
        size_t more = bytes < BLOCK - held ? bytes : BLOCK - held;
        if (more > 0) memcpy(s->rest + held, p, more);
        if (held + more < BLOCK) return;
        add_blocks(s->state, s->rest, 1);
        p += more;
        bytes -= more;
    }
    add_blocks(s->state, p, bytes / BLOCK);
    if (bytes % BLOCK > 0) memcpy(s->rest, p + bytes / BLOCK * BLOCK, bytes % BLOCK);
}

void hn_sha256_end(hn_sha256_parts *s, char hex[HN_SHA256_HEX]) {
    /* What is left, a 1 bit, zeros, and the length in bits as the last 8 bytes of a block. */
    unsigned char tail[2 * BLOCK] = {0};
    size_t left = s->bytes % BLOCK, padded = left + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    uint64_t bits = s->bytes * 8;
    memcpy(tail, s->rest, left);
    tail[left] = 0x80;
    for (int i = 0; i < 8; i++) tail[padded - 1 - (size_t)i] = (unsigned char)(bits >> (8 * i));
    add_blocks(s->state, tail, padded / BLOCK);
    for (int i = 0; i < 64; i++)
        hex[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - i % 8 * 4) & 15];
    hex[64] = '\0';
}

void hn_sha256(const void *data, size_t bytes, char hex[HN_SHA256_HEX]) {
    hn_sha256_parts s;
    hn_sha256_begin(&s);
    hn_sha256_add(&s, data, bytes);
    hn_sha256_end(&s, hex);
}

bool hn_sha256_is_hex(const char *text) {
    const size_t n = HN_SHA256_HEX - 1;
    return strspn(text, "0123456789abcdef") == n && text[n] == '\0';
}

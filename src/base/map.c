#include "base/map.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void hn_map_init(hn_map *map, hn_allocator *alloc) { *map = (hn_map){.alloc = alloc}; }

void hn_map_deinit(hn_map *map) {
    if (map->alloc != NULL) hn_free(map->alloc, map->slots);
    *map = (hn_map){.alloc = map->alloc};
}

/* ---- hashing ---- */

/* SipHash-1-3 (Aumasson and Bernstein 2012) with a key that is drawn once per process: names come
 * from files, and whoever writes a file could choose names that collide under a hash that is known,
 * so that each look-up would walk over all of them. */
static uint64_t seed[2];
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void draw_seed(void) {
    if (getrandom(seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    seed[0] = (uint64_t)t.tv_sec << 30 ^ (uint64_t)t.tv_nsec;
    seed[1] = (uint64_t)getpid() << 32 ^ (uintptr_t)&t;
}

typedef struct sip {
    uint64_t a, b, c, d;
} sip;

static uint64_t rotl(uint64_t x, int n) { return x << n | x >> (64 - n); }

static inline void mix(sip *s) {
    s->a += s->b, s->c += s->d;
    s->b = rotl(s->b, 13) ^ s->a, s->d = rotl(s->d, 16) ^ s->c;
    s->a = rotl(s->a, 32);
    s->c += s->b, s->a += s->d;
    s->b = rotl(s->b, 17) ^ s->c, s->d = rotl(s->d, 21) ^ s->a;
    s->c = rotl(s->c, 32);
}

static inline void add_word(sip *s, uint64_t w) {
    s->d ^= w;
    mix(s);
    s->a ^= w;
}

uint64_t hn_hash_bytes(const void *data, size_t bytes) {
    const unsigned char *p = data;
    uint64_t w, last = (uint64_t)bytes << 56;
    size_t n = bytes;
    pthread_once(&seeded, draw_seed);
    sip s = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
             seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        add_word(&s, w);
    }
    for (size_t i = 0; i < n; i++) last |= (uint64_t)p[i] << 8 * i;
    add_word(&s, last);
    s.c ^= 0xff;
    for (int i = 0; i < 3; i++) mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

/* ---- the table ---- */

/* The slot that holds the key, or the free slot where it would go. The table is never full. */
static hn_map_slot *find(const hn_map *map, const char *key, size_t bytes, uint64_t hash) {
    size_t mask = map->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        hn_map_slot *s = &map->slots[i];
        if (s->key == NULL) return s;
        if (s->hash == hash && s->key_bytes == bytes && memcmp(s->key, key, bytes) == 0) return s;
    }
}

void *hn_map_get(const hn_map *map, const char *key, size_t bytes) {
    if (map->capacity == 0) return NULL;
    return find(map, key, bytes, hn_hash_bytes(key, bytes))->value;
}

static bool grow(hn_map *map) {
    size_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
    hn_map_slot *slots = hn_alloc_array(map->alloc, capacity, sizeof *slots, HN_MEM_OTHER);
    if (slots == NULL) return false;
    memset(slots, 0, capacity * sizeof *slots);
    hn_map old = *map;
    map->slots = slots;
    map->capacity = capacity;
    map->used = 0;
    for (size_t i = 0; i < old.capacity; i++) {
        const hn_map_slot *s = &old.slots[i];
        if (s->key == NULL || s->value == NULL) continue;
        *find(map, s->key, s->key_bytes, s->hash) = *s;
        map->used++;
    }
    hn_free(map->alloc, old.slots);
    return true;
}

bool hn_map_put(hn_map *map, const char *key, size_t bytes, void *value) {
    if ((map->used + 1) * 4 > map->capacity * 3 && !grow(map)) return false;
    uint64_t hash = hn_hash_bytes(key, bytes);
    hn_map_slot *s = find(map, key, bytes, hash);
    if (s->key == NULL) map->used++;
    *s = (hn_map_slot){key, bytes, hash, value};
    return true;
}

void hn_map_remove(hn_map *map, const char *key, size_t bytes) {
    if (map->capacity == 0) return;
    find(map, key, bytes, hn_hash_bytes(key, bytes))->value = NULL;
}

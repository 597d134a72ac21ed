#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 5000, LETTERS = 16 };

/* How far the key that lies farthest from its place is from it: steps that a look-up takes. */
static size_t farthest(const hn_map *m) {
    size_t most = 0;
    for (size_t i = 0; i < m->capacity; i++) {
        const hn_map_slot *s = &m->slots[i];
        if (s->key == NULL) continue;
        size_t away = (i - s->hash) & (m->capacity - 1);
        if (away > most) most = away;
    }
    return most;
}

static void what_is_put_is_found(void **state) {
    (void)state;
    static char keys[N][LETTERS];
    hn_allocator alloc;
    hn_map m;
    hn_allocator_init(&alloc);
    hn_map_init(&m, &alloc);
    assert_null(hn_map_get(&m, "k", 1));
    for (int i = 0; i < N; i++) {
        int n = snprintf(keys[i], LETTERS, "key %d", i);
        assert_true(hn_map_put(&m, keys[i], (size_t)n, keys[i]));
    }
    for (int i = 0; i < N; i += 2) hn_map_remove(&m, keys[i], strlen(keys[i]));
    for (int i = 0; i < N; i++)
        assert_ptr_equal(hn_map_get(&m, keys[i], strlen(keys[i])), i % 2 == 0 ? NULL : keys[i]);
    assert_null(hn_map_get(&m, "key", 3)); /* the beginning of a key is another */
    assert_true(hn_map_put(&m, keys[1], strlen(keys[1]), keys[3]));
    assert_ptr_equal(hn_map_get(&m, keys[1], strlen(keys[1])), keys[3]);
    hn_map_deinit(&m);
}

/* FNV-1a, mixed: a hash that is known, for which anyone finds keys that agree in the low bits. */
static uint64_t known_hash(const char *p) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *p != '\0'; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static void names_cannot_be_made_to_collide(void **state) {
    (void)state;
    static char keys[N][LETTERS];
    hn_allocator alloc;
    hn_map m;
    int n = 0;
    for (uint64_t i = 0; n < N; i++) {
        snprintf(keys[n], LETTERS, "%llx", (unsigned long long)i);
        if ((known_hash(keys[n]) & 0xfff) == 0) n++;
    }
    hn_allocator_init(&alloc);
    hn_map_init(&m, &alloc);
    for (int i = 0; i < N; i++) assert_true(hn_map_put(&m, keys[i], strlen(keys[i]), keys[i]));
    assert_in_range(farthest(&m), 0, 200); /* by the known hash it is about N */
    hn_map_deinit(&m);
}

/* The same bytes have the same hash wherever they lie, and every byte counts. */
static void a_hash_is_of_all_bytes(void **state) {
    (void)state;
    char text[64] = {0}, other[65] = {0};
    for (size_t n = 0; n <= sizeof text; n++) {
        for (size_t i = 0; i < n; i++) text[i] = (char)(i * 7 + n);
        memcpy(other + 1, text, n);
        uint64_t h = hn_hash_bytes(text, n);
        assert_true(h == hn_hash_bytes(other + 1, n));
        for (size_t i = 0; i < n; i++) {
            other[1 + i] ^= 1;
            assert_true(h != hn_hash_bytes(other + 1, n));
            other[1 + i] ^= 1;
        }
        if (n > 0) assert_true(h != hn_hash_bytes(text, n - 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_put_is_found),
                                       cmocka_unit_test(names_cannot_be_made_to_collide),
                                       cmocka_unit_test(a_hash_is_of_all_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/asan.h"

static hn_allocator mem;
static hn_arena arena;

static int setup(void **state) {
    (void)state;
    hn_allocator_init(&mem);
    hn_arena_init(&arena, &mem, HN_MEM_MODEL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    hn_arena_deinit(&arena);
    return atomic_load(&mem.blocks) != 0;
}

static void pieces_are_aligned_and_apart(void **state) {
    (void)state;
    enum { N = 3000 };
    unsigned char *piece[N];
    size_t total = 0;
    for (int i = 0; i < N; i++) {
        size_t bytes = (size_t)(i * 7 % 200);
        piece[i] = hn_arena_alloc(&arena, bytes);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        memset(piece[i], i & 0xff, bytes);
        total += bytes;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i * 7 % 200; k++) assert_int_equal(piece[i][k], i & 0xff);
    assert_in_range(mem.live_tag[HN_MEM_MODEL], total, 4 * total);
    assert_in_range(mem.blocks, 2, 20);
}

static void a_large_piece_gets_its_own_block(void **state) {
    (void)state;
    unsigned char *small = hn_arena_alloc(&arena, 10), *large = hn_arena_zero(&arena, 5 << 20);
    assert_non_null(small);
    assert_non_null(large);
    assert_int_equal(large[0], 0);
    assert_int_equal(large[(5 << 20) - 1], 0);
    assert_int_equal(mem.blocks, 2);
}

static void arrays_are_zeroed(void **state) {
    (void)state;
    /* Dirty memory first, so that zeros are somebody's work. */
    memset(hn_arena_alloc(&arena, 4000), 0xff, 4000);
    hn_arena_deinit(&arena);
    int64_t *array = hn_arena_array(&arena, 100, sizeof *array);
    for (int i = 0; i < 100; i++) assert_int_equal(array[i], 0);
    assert_non_null(hn_arena_array(&arena, 0, 8));
}

static void absurd_sizes_are_refused(void **state) {
    (void)state;
    assert_null(hn_arena_alloc(&arena, SIZE_MAX));
    assert_null(hn_arena_alloc(&arena, SIZE_MAX / 2));
    assert_null(hn_arena_zero(&arena, SIZE_MAX - 8));
    assert_null(hn_arena_array(&arena, SIZE_MAX / 4, 8));
    assert_null(hn_arena_strndup(&arena, "x", SIZE_MAX));
    assert_int_equal(mem.blocks, 0);
}

static void strings_are_copied(void **state) {
    (void)state;
    char text[] = "gold";
    char *copy = hn_arena_strdup(&arena, text), *part = hn_arena_strndup(&arena, text, 2);
    text[0] = 'b';
    assert_string_equal(copy, "gold");
    assert_string_equal(part, "go");
    assert_string_equal(hn_arena_strndup(&arena, NULL, 0), "");
    assert_memory_equal(hn_arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
}

static void it_can_be_used_again(void **state) {
    (void)state;
    assert_non_null(hn_arena_alloc(&arena, 100));
    hn_arena_deinit(&arena);
    assert_int_equal(mem.blocks, 0);
    assert_non_null(hn_arena_alloc(&arena, 100));
    assert_int_equal(mem.blocks, 1);
    hn_arena never_initialised = {0};
    hn_arena_deinit(&never_initialised);
}

/* The same requests in another order find room in the blocks there are. */
static void rewound_it_needs_no_new_blocks(void **state) {
    (void)state;
    static const size_t sizes[] = {100, 50000, 3000, 20000, 9000};
    for (int i = 0; i < 5; i++) assert_non_null(hn_arena_alloc(&arena, sizes[i]));
    size_t taken = mem.taken, live = mem.live;
    for (int first = 0; first < 5; first++) {
        hn_arena_rewind(&arena);
        for (int i = 0; i < 5; i++) {
            char *piece = hn_arena_alloc(&arena, sizes[(first + i) % 5]);
            assert_non_null(piece);
            memset(piece, i, sizes[(first + i) % 5]);
        }
    }
    assert_int_equal(mem.taken, taken);
    hn_arena_rewind(&arena);
    assert_int_equal(mem.live, live);
    hn_arena_deinit(&arena);
    assert_int_equal(mem.live, 0);
}

static void going_back_to_a_mark_keeps_what_was_before(void **state) {
    (void)state;
    char *before = hn_arena_alloc(&arena, 100);
    memset(before, 5, 100);
    hn_arena_mark here = hn_arena_here(&arena);
    char *after = hn_arena_alloc(&arena, 100);
    assert_non_null(hn_arena_alloc(&arena, 50000));
    size_t taken = mem.taken;
    hn_arena_back(&arena, here);
    assert_ptr_equal(hn_arena_alloc(&arena, 100), after);
    assert_non_null(hn_arena_alloc(&arena, 50000));
    assert_int_equal(mem.taken, taken);
    assert_true(before[0] == 5 && before[99] == 5);
}

static void each_failure_leaves_it_whole(void **state) {
    (void)state;
    int done = 0;
    for (long long fail = 0; done < 200; fail++) {
        assert_in_range(fail, 0, 20);
        hn_arena_deinit(&arena);
        atomic_store(&mem.fail_after, fail);
        char *p[200];
        for (done = 0; done < 200; done++) {
            p[done] = hn_arena_strdup(&arena, "some words of some length");
            if (p[done] == NULL) break;
        }
        atomic_store(&mem.fail_after, -1);
        for (int i = 0; i < done; i++) assert_string_equal(p[i], "some words of some length");
        if (done < 200) assert_non_null(hn_arena_strdup(&arena, "and on it goes"));
    }
}

static void red_zones_follow_pieces(void **state) {
    (void)state;
#ifdef HAVE_ASAN
    char *a = hn_arena_alloc(&arena, 20), *b = hn_arena_alloc(&arena, 16);
    assert_false(__asan_address_is_poisoned(a + 19));
    assert_true(__asan_address_is_poisoned(a + 20));
    assert_true(__asan_address_is_poisoned(b - 1));
    assert_true(__asan_address_is_poisoned(b + 16));
#else
    skip();
#endif
}

static void texts_of_any_length_are_formatted(void **state) {
    (void)state;
    char long_text[6001];
    memset(long_text, 'x', 6000), long_text[6000] = '\0';
    assert_string_equal(hn_arena_format(&arena, "%s %d", "layer", 7), "layer 7");
    assert_string_equal(hn_arena_format(&arena, "%s", ""), "");
    const char *all = hn_arena_format(&arena, "<%s>", long_text);
    assert_int_equal(strlen(all), 6002);
    assert_memory_equal(all + 1, long_text, 6000);
    mem.limit = atomic_load(&mem.live);
    assert_null(hn_arena_format(&arena, "%s%s%s", long_text, long_text, long_text));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_aligned_and_apart),
        TEST(a_large_piece_gets_its_own_block),
        TEST(arrays_are_zeroed),
        TEST(absurd_sizes_are_refused),
        TEST(strings_are_copied),
        TEST(texts_of_any_length_are_formatted),
        TEST(it_can_be_used_again),
        TEST(rewound_it_needs_no_new_blocks),
        TEST(going_back_to_a_mark_keeps_what_was_before),
        TEST(each_failure_leaves_it_whole),
        TEST(red_zones_follow_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

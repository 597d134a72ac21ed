#include "base/alloc.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/asan.h"

static hn_allocator mem;

static int setup(void **state) {
    (void)state;
    hn_allocator_init(&mem);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return atomic_load(&mem.blocks) != 0 || atomic_load(&mem.live) != 0;
}

static void blocks_are_aligned_and_counted(void **state) {
    (void)state;
    unsigned char *block[5];
    const size_t bytes[5] = {0, 1, 63, 64, 100000};
    for (int i = 0; i < 5; i++) {
        block[i] = hn_alloc(&mem, bytes[i], HN_MEM_MODEL);
        assert_non_null(block[i]);
        assert_int_equal((uintptr_t)block[i] % HN_ALIGN, 0);
        memset(block[i], 0xa5, bytes[i]);
    }
    assert_int_equal(mem.blocks, 5);
    assert_int_equal(mem.live, 1 + 1 + 63 + 64 + 100000);
    for (int i = 0; i < 5; i++) hn_free(&mem, block[i]);
    hn_free(&mem, NULL);
    assert_int_equal(mem.blocks, 0);
    assert_int_equal(mem.live, 0);
    assert_int_equal(mem.peak, 1 + 1 + 63 + 64 + 100000);
}

/* Every size around those from which blocks are taken another way, and filled to the end. */
static void blocks_of_any_size(void **state) {
    (void)state;
    for (size_t bytes = 1; bytes < 2200; bytes++) {
        unsigned char *block[3];
        for (int i = 0; i < 3; i++) {
            block[i] = hn_alloc(&mem, bytes, HN_MEM_TENSOR);
            assert_int_equal((uintptr_t)block[i] % HN_ALIGN, 0);
            memset(block[i], i + 1, bytes);
        }
        for (int i = 0; i < 3; i++) {
            assert_true(block[i][0] == i + 1 && block[i][bytes - 1] == i + 1);
            hn_free(&mem, block[i]);
        }
    }
}

/* What operators compute in large blocks comes back in the next run: the pages are there already.
 * Other sizes, other uses and blocks over 16 MB do not. Whoever frees last is kept. */
static void large_blocks_are_kept(void **state) {
    (void)state;
    enum { MB = 1 << 20 };
#ifdef HAVE_ASAN
    skip(); /* which then sees every block come and go */
#endif
    unsigned char *a = hn_alloc(&mem, 5 * MB, HN_MEM_TENSOR);
    memset(a, 1, 5 * MB);
    hn_free(&mem, a);
    unsigned char *other = hn_alloc(&mem, 6 * MB, HN_MEM_TENSOR);
    unsigned char *b = hn_alloc(&mem, 5 * MB, HN_MEM_SCRATCH);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, other);
    assert_int_equal(b[MB], 1);
    hn_free(&mem, b);
    hn_free(&mem, other);
    assert_int_equal(mem.live, 0);
    unsigned char *zero = hn_alloc_zero(&mem, 5 * MB, HN_MEM_TENSOR);
    assert_int_equal(zero[MB], 0);
    hn_free(&mem, zero);
}

static void tags_are_told_apart(void **state) {
    (void)state;
    void *a = hn_alloc(&mem, 10, HN_MEM_WEIGHTS), *b = hn_alloc(&mem, 20, HN_MEM_SCRATCH);
    assert_int_equal(mem.live_tag[HN_MEM_WEIGHTS], 10);
    assert_int_equal(mem.live_tag[HN_MEM_SCRATCH], 20);
    hn_free(&mem, a);
    assert_int_equal(mem.live_tag[HN_MEM_WEIGHTS], 0);
    assert_int_equal(mem.live_tag[HN_MEM_SCRATCH], 20);
    /* A block that grows takes the tag it is given then. */
    b = hn_realloc(&mem, b, 30, HN_MEM_DATA);
    assert_int_equal(mem.live_tag[HN_MEM_SCRATCH], 0);
    assert_int_equal(mem.live_tag[HN_MEM_DATA], 30);
    hn_free(&mem, b);
}

static void zeroed_memory_is_zero(void **state) {
    (void)state;
    static const unsigned char zeros[1000];
    unsigned char *dirty = hn_alloc(&mem, sizeof zeros, HN_MEM_OTHER);
    memset(dirty, 0xff, sizeof zeros);
    hn_free(&mem, dirty);
    unsigned char *block = hn_alloc_zero(&mem, sizeof zeros, HN_MEM_OTHER);
    assert_memory_equal(block, zeros, sizeof zeros);
    hn_free(&mem, block);
    block = hn_alloc_zero(&mem, 0, HN_MEM_OTHER);
    assert_int_equal(block[0], 0);
    hn_free(&mem, block);
}

static void absurd_sizes_are_refused(void **state) {
    (void)state;
    assert_null(hn_alloc(&mem, SIZE_MAX, HN_MEM_OTHER));
    assert_null(hn_alloc(&mem, SIZE_MAX - 100, HN_MEM_OTHER));
    assert_null(hn_alloc(&mem, SIZE_MAX / 4, HN_MEM_OTHER)); /* by the machine itself */
    assert_null(hn_alloc_array(&mem, SIZE_MAX / 2, 3, HN_MEM_OTHER));
    assert_int_equal(mem.live, 0);
    int32_t *array = hn_alloc_array(&mem, 7, sizeof *array, HN_MEM_OTHER);
    assert_int_equal(mem.live, 28);
    hn_free(&mem, array);
}

static void limit_is_kept(void **state) {
    (void)state;
    mem.limit = 100;
    void *a = hn_alloc(&mem, 60, HN_MEM_OTHER);
    assert_non_null(a);
    assert_null(hn_alloc(&mem, 41, HN_MEM_OTHER));
    void *b = hn_alloc(&mem, 40, HN_MEM_OTHER);
    assert_non_null(b);
    assert_int_equal(mem.live, 100);
    hn_free(&mem, a);
    hn_free(&mem, b);
    assert_int_equal(mem.peak, 100);
}

static void realloc_keeps_bytes(void **state) {
    (void)state;
    char *block = hn_realloc(&mem, NULL, 6, HN_MEM_OTHER);
    memcpy(block, "hello", 6);
    block = hn_realloc(&mem, block, 5000, HN_MEM_OTHER);
    assert_string_equal(block, "hello");
    block = hn_realloc(&mem, block, 3, HN_MEM_OTHER);
    assert_memory_equal(block, "hel", 3);
    atomic_store(&mem.fail_after, 0);
    assert_null(hn_realloc(&mem, block, 10, HN_MEM_OTHER));
    assert_memory_equal(block, "hel", 3);
    hn_free(&mem, block);
}

static void countdown_fails_and_stays_failed(void **state) {
    (void)state;
    atomic_store(&mem.fail_after, 2);
    void *a = hn_alloc(&mem, 1, HN_MEM_OTHER), *b = hn_alloc(&mem, 1, HN_MEM_OTHER);
    assert_non_null(a);
    assert_non_null(b);
    for (int i = 0; i < 3; i++) assert_null(hn_alloc(&mem, 1, HN_MEM_OTHER));
    atomic_store(&mem.fail_after, -1);
    void *c = hn_alloc(&mem, 1, HN_MEM_OTHER);
    assert_non_null(c);
    hn_free(&mem, a);
    hn_free(&mem, b);
    hn_free(&mem, c);
}

#define ROUNDS 2000

static void *churn(void *arg) {
    size_t *granted = arg;
    for (int i = 0; i < ROUNDS; i++) {
        void *block = hn_alloc(&mem, 16, HN_MEM_TENSOR);
        *granted += block != NULL;
        hn_free(&mem, block);
    }
    return NULL;
}

static void threads_share_the_counters(void **state) {
    (void)state;
    /* The countdown grants exactly its number, however the threads interleave. */
    atomic_store(&mem.fail_after, ROUNDS / 2 + 1);
    pthread_t thread;
    size_t granted[2] = {0, 0};
    assert_int_equal(pthread_create(&thread, NULL, churn, &granted[1]), 0);
    churn(&granted[0]);
    pthread_join(thread, NULL);
    assert_int_equal(granted[0] + granted[1], ROUNDS / 2 + 1);
    assert_in_range(mem.peak, 16, 32);
}

/* Blocks from the system behave as those from malloc do. */
static void large_blocks_come_and_go(void **state) {
    (void)state;
    enum { BYTES = 9000001 };
    unsigned char *block = hn_alloc(&mem, BYTES, HN_MEM_WEIGHTS);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % HN_ALIGN, 0);
    memset(block, 7, BYTES);
    block = hn_realloc(&mem, block, 3 * (size_t)BYTES, HN_MEM_WEIGHTS);
    assert_non_null(block);
    assert_int_equal(block[0], 7);
    assert_int_equal(block[BYTES - 1], 7);
    block = hn_realloc(&mem, block, 10, HN_MEM_WEIGHTS);
    assert_non_null(block);
    assert_int_equal(block[9], 7);
    assert_int_equal(mem.live, 10);
    hn_free(&mem, block);
}

static void the_default_allocator_is_one(void **state) {
    (void)state;
    hn_allocator *a = hn_allocator_default();
    assert_ptr_equal(a, hn_allocator_default());
    size_t blocks = atomic_load(&a->blocks);
    void *block = hn_alloc(a, 8, HN_MEM_OTHER);
    assert_non_null(block);
    assert_int_equal(a->blocks, blocks + 1);
    hn_free(a, block);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(blocks_are_aligned_and_counted),
        TEST(blocks_of_any_size),
        TEST(large_blocks_are_kept),
        TEST(tags_are_told_apart),
        TEST(zeroed_memory_is_zero),
        TEST(absurd_sizes_are_refused),
        TEST(limit_is_kept),
        TEST(realloc_keeps_bytes),
        TEST(countdown_fails_and_stays_failed),
        TEST(threads_share_the_counters),
        TEST(large_blocks_come_and_go),
        TEST(the_default_allocator_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

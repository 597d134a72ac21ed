#include "base/log.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct record {
    int lines;
    hone_log_level level;
    char last[2048];
} record;

static void keep(void *ctx, hone_log_level level, const char *line) {
    record *r = ctx;
    r->lines++;
    r->level = level;
    snprintf(r->last, sizeof r->last, "%s", line);
}

static int teardown(void **state) {
    (void)state;
    hone_log_set(NULL, NULL, HONE_LOG_ERROR);
    return 0;
}

static void lines_reach_the_callback(void **state) {
    (void)state;
    record r = {0};
    hone_log_set(keep, &r, HONE_LOG_DEBUG);
    hn_log(HONE_LOG_INFO, "%d of %s", 3, "four");
    assert_int_equal(r.lines, 1);
    assert_int_equal(r.level, HONE_LOG_INFO);
    assert_string_equal(r.last, "3 of four");
}

static void levels_are_filtered(void **state) {
    (void)state;
    record r = {0};
    hone_log_set(keep, &r, HONE_LOG_WARN);
    hn_log(HONE_LOG_DEBUG, "no");
    hn_log(HONE_LOG_INFO, "no");
    assert_int_equal(r.lines, 0);
    hn_log(HONE_LOG_WARN, "yes");
    hn_log(HONE_LOG_ERROR, "yes");
    assert_int_equal(r.lines, 2);
    hone_log_set(keep, &r, HONE_LOG_ERROR);
    hn_log(HONE_LOG_WARN, "no");
    assert_int_equal(r.lines, 2);
}

static void without_a_callback_there_is_silence(void **state) {
    (void)state;
    record r = {0};
    hone_log_set(keep, &r, HONE_LOG_DEBUG);
    hone_log_set(NULL, NULL, HONE_LOG_DEBUG);
    hn_log(HONE_LOG_ERROR, "nobody listens");
    assert_int_equal(r.lines, 0);
}

static void a_line_is_one_line_and_bounded(void **state) {
    (void)state;
    record r = {0};
    hone_log_set(keep, &r, HONE_LOG_DEBUG);
    hn_log(HONE_LOG_INFO, "node '%s'", "a\nb\033[31m");
    assert_string_equal(r.last, "node 'a?b?[31m'");
    hn_log(HONE_LOG_INFO, "%*d", 5000, 1);
    assert_int_equal(strlen(r.last), HONE_ERROR_TEXT - 1);
}

static void log_again(void *ctx, hone_log_level level, const char *line) {
    hone_log_set(keep, ctx, HONE_LOG_DEBUG);
    hn_log(level, "again: %s", line);
}

static void a_callback_may_log_and_set(void **state) {
    (void)state;
    record r = {0};
    hone_log_set(log_again, &r, HONE_LOG_DEBUG);
    hn_log(HONE_LOG_WARN, "x");
    assert_int_equal(r.lines, 1);
    assert_string_equal(r.last, "again: x");
}

static void count(void *ctx, hone_log_level level, const char *line) {
    (void)level;
    if (strcmp(line, "tick") == 0) atomic_fetch_add((atomic_int *)ctx, 1);
}

static void *tick(void *arg) {
    (void)arg;
    for (int i = 0; i < 1000; i++) hn_log(HONE_LOG_INFO, "%s", "tick");
    return NULL;
}

static void threads_may_log_at_once(void **state) {
    (void)state;
    atomic_int ticks = 0;
    hone_log_set(count, &ticks, HONE_LOG_INFO);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, tick, NULL), 0);
    tick(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(ticks, 2000);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(lines_reach_the_callback),
        TEST(levels_are_filtered),
        TEST(without_a_callback_there_is_silence),
        TEST(a_line_is_one_line_and_bounded),
        TEST(a_callback_may_log_and_set),
        TEST(threads_may_log_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who listens is told what ended, and nobody else pays for it. */
#include "base/span.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 200 };
typedef struct heard {
    pthread_mutex_t lock;
    int n;
    hone_span spans[MOST];
    char names[MOST][16];
} heard;

static void hear(void *ctx, const hone_span *span) {
    heard *h = ctx;
    pthread_mutex_lock(&h->lock);
    assert_true(h->n < MOST);
    strncpy(h->names[h->n], span->name, sizeof h->names[0] - 1);
    h->spans[h->n++] = *span;
    pthread_mutex_unlock(&h->lock);
}

static void spans_are_told_while_somebody_listens(void **state) {
    (void)state;
    static heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    assert_false(hn_span_wanted());
    assert_int_equal(hn_span_begin(), 0);
    hn_span_end("load", "unheard", 0, -1);
    hone_span_listen(hear, &h);
    assert_true(hn_span_wanted());
    int64_t begun = hn_span_begin();
    assert_true(begun > 0);
    hn_span_end("load", "parse", begun, 77);
    hone_span_listen(NULL, NULL);
    hn_span_end("load", "late", begun, 0); /* began while somebody did, ends for nobody */
    assert_int_equal(h.n, 1);
    assert_string_equal(h.names[0], "parse");
    assert_string_equal(h.spans[0].category, "load");
    assert_null(h.spans[0].detail);
    assert_true(h.spans[0].begin_ns == begun && h.spans[0].end_ns >= begun);
    assert_int_equal(h.spans[0].live_bytes, 77);
    assert_true(h.spans[0].thread > 0);
}

static void regions_nest(void **state) {
    (void)state;
    static heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    hone_region_end(); /* none has begun: nothing */
    hone_region_begin("before");
    hone_span_listen(hear, &h);
    hone_region_begin("outer");
    hone_region_begin("inner");
    hone_region_end();
    hone_region_end();
    hone_region_end(); /* began when nobody listened: not told */
    for (int i = 0; i < 100; i++) hone_region_begin("deep");
    for (int i = 0; i < 100; i++) hone_region_end();
    hone_region_begin("after");
    hone_region_end();
    hone_span_listen(NULL, NULL);
    assert_int_equal(h.n, 2 + 64 + 1);
    assert_string_equal(h.names[0], "inner");
    assert_string_equal(h.names[1], "outer");
    assert_string_equal(h.spans[0].category, "region");
    assert_true(h.spans[1].begin_ns <= h.spans[0].begin_ns);
    assert_true(h.spans[1].end_ns >= h.spans[0].end_ns);
    assert_string_equal(h.names[66], "after");
}

static void *nest(void *unused) {
    for (int i = 0; i < 20; i++) {
        hone_region_begin("a");
        hone_region_begin("b");
        hone_region_end();
        hone_region_end();
    }
    return unused;
}

static void threads_have_regions_of_their_own(void **state) {
    (void)state;
    static heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[4];
    hone_span_listen(hear, &h);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, nest, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    hone_span_listen(NULL, NULL);
    assert_int_equal(h.n, 160);
    int a = 0;
    for (int i = 0; i < h.n; i++) {
        a += strcmp(h.names[i], "a") == 0;
        assert_true(h.spans[i].thread > 0);
    }
    assert_int_equal(a, 80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_told_while_somebody_listens),
        cmocka_unit_test(regions_nest),
        cmocka_unit_test(threads_have_regions_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/scratch.h"

static void expect(const char *path, const char *text) {
    for (int map = 0; map < 2; map++) {
        hn_file *f = NULL;
        assert_int_equal(hn_file_open(&f, path, map, &scratch_mem, NULL), HONE_OK);
        assert_int_equal(f->bytes, strlen(text));
        assert_non_null(f->data);
        assert_memory_equal(f->data, text, f->bytes);
        assert_string_equal(f->path, path);
        hn_file_unref(f);
    }
}

static void test_open(void **state) {
    (void)state;
    scratch_put_text("a", "some bytes");
    expect(scratch_path("a"), "some bytes");
    scratch_put_text("empty", "");
    expect(scratch_path("empty"), "");
}

static void test_references(void **state) {
    (void)state;
    scratch_put_text("a", "shared");
    hn_file *f = NULL;
    assert_int_equal(hn_file_open(&f, scratch_path("a"), true, &scratch_mem, NULL), HONE_OK);
    assert_ptr_equal(hn_file_ref(f), f);
    hn_file_unref(f);
    assert_memory_equal(f->data, "shared", 6);
    hn_file_unref(f);
    hn_file_unref(NULL);

    char *block = hn_alloc(&scratch_mem, 3, HN_MEM_DATA);
    memcpy(block, "abc", 3);
    assert_int_equal(hn_file_adopt(&f, "decoded", block, 3, &scratch_mem, NULL), HONE_OK);
    assert_memory_equal(f->data, "abc", 3);
    hn_file_unref(f);
    assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
}

static void test_let_go(void **state) {
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    scratch_put("a", text, sizeof text);
    for (int map = 0; map < 2; map++) {
        hn_file *f;
        assert_int_equal(hn_file_open(&f, scratch_path("a"), map, &scratch_mem, NULL), HONE_OK);
        hn_file_let_go(f, f->data, f->bytes);
        hn_file_let_go(f, f->data + 1, f->bytes - 2);
        hn_file_let_go(f, f->data + 5000, 10);
        hn_file_let_go(f, f->data, 0);
        assert_memory_equal(f->data, text, sizeof text);
        hn_file_unref(f);
    }
}

static void test_open_errors(void **state) {
    (void)state;
    hn_file *f = NULL;
    hn_error err;
    assert_int_equal(hn_file_open(&f, scratch_path("absent"), true, &scratch_mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "absent': No such file"));
    assert_int_equal(hn_file_open(&f, scratch_path(""), true, &scratch_mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_int_equal(hn_file_open(&f, scratch_path("pipe"), false, &scratch_mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_null(f);
}

static void test_write(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    scratch_put_text("a", "old");
    assert_int_equal(chmod(scratch_path("a"), 0640), 0);
    assert_int_equal(hn_file_write_begin(&w, scratch_path("a"), NULL, &scratch_mem, NULL), HONE_OK);
    /* Sizes around the writer's buffer, so that every path of append is taken. */
    static const size_t sizes[] = {0, 1, 65535, 1, 65536, 70000, 3};
    static char want[300000];
    size_t total = 0;
    for (size_t i = 0; i < sizeof want - 1; i++) want[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(hn_file_write_append(w, want + total, sizes[i], NULL), HONE_OK);
        total += sizes[i];
        assert_int_equal(hn_file_write_offset(w), total);
        expect(scratch_path("a"), "old");
    }
    assert_int_equal(scratch_count(), 2);
    assert_int_equal(hn_file_write_commit(w, NULL), HONE_OK);
    want[total] = '\0';
    expect(scratch_path("a"), want);
    assert_int_equal(scratch_count(), 1);
    struct stat st;
    assert_int_equal(stat(scratch_path("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_abort(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    scratch_put_text("a", "old");
    assert_int_equal(hn_file_write_begin(&w, scratch_path("a"), NULL, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_file_write_append(w, "new", 3, NULL), HONE_OK);
    hn_file_write_abort(w);
    hn_file_write_abort(NULL);
    expect(scratch_path("a"), "old");
    assert_int_equal(scratch_count(), 1);
}

static void test_keep_input(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    hn_error err;
    scratch_put_text("in", "input");
    assert_int_equal(symlink("in", scratch_path("link")), 0);
    assert_int_equal(
        hn_file_write_begin(&w, scratch_path("link"), scratch_path("in"), &scratch_mem, &err),
        HONE_E_ARG);
    assert_non_null(strstr(err.text, "will not be overwritten"));
    assert_null(w);
    assert_int_equal(
        hn_file_write_begin(&w, scratch_path("link"), scratch_path("absent"), &scratch_mem, NULL),
        HONE_OK);
    assert_int_equal(hn_file_write_append(w, "new", 3, NULL), HONE_OK);
    assert_int_equal(hn_file_write_commit(w, NULL), HONE_OK);
    expect(scratch_path("in"), "new"); /* the link was followed, and is still one */
    struct stat st;
    assert_int_equal(lstat(scratch_path("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void test_write_errors(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    hn_error err;
    assert_int_equal(hn_file_write_begin(&w, scratch_path(""), NULL, &scratch_mem, &err),
                     HONE_E_IO);
    assert_non_null(strstr(err.text, "it is a folder"));
    assert_int_equal(
        hn_file_write_begin(&w, scratch_path("no/such/folder"), NULL, &scratch_mem, &err),
        HONE_E_IO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_null(w);

    /* A target that is not a file is written in place, never replaced by rename. */
    assert_int_equal(hn_file_write_begin(&w, "/dev/full", NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_file_write_append(w, "x", 1, &err), HONE_OK);
    assert_int_equal(hn_file_write_commit(w, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "cannot write '/dev/full'"));
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));

    /* The target became a folder after begin: commit fails and the temporary is gone. */
    assert_int_equal(hn_file_write_begin(&w, scratch_path("late"), NULL, &scratch_mem, &err),
                     HONE_OK);
    assert_int_equal(mkdir(scratch_path("late"), 0700), 0);
    assert_int_equal(hn_file_write_commit(w, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "cannot rename"));
    assert_int_equal(scratch_count(), 1);
}

static void test_out_of_memory(void **state) {
    (void)state;
    scratch_put_text("a", "some bytes");
    for (int n = 0;; n++) {
        hn_file *f = NULL;
        hn_file_writer *w = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status = hn_file_open(&f, scratch_path("a"), false, &scratch_mem, NULL);
        if (status == HONE_OK)
            status = hn_file_write_begin(&w, scratch_path("b"), NULL, &scratch_mem, NULL);
        atomic_store(&scratch_mem.fail_after, -1);
        hn_file_unref(f);
        hn_file_write_abort(w);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
        assert_int_equal(scratch_count(), 1);
        if (status == HONE_OK) {
            assert_int_equal(n, 5);
            return;
        }
        assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_open),        TEST(test_references),   TEST(test_let_go),
        TEST(test_open_errors), TEST(test_write),        TEST(test_abort),
        TEST(test_keep_input),  TEST(test_write_errors), TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

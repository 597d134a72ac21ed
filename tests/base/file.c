#include "base/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static hn_allocator mem;
static char folder[64];
static char path_buffer[4][256];

/* A path in the test's folder; four may be in use at once. */
static const char *at(const char *name) {
    static int next;
    char *p = path_buffer[next++ % 4];
    snprintf(p, sizeof path_buffer[0], "%s/%s", folder, name);
    return p;
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
}

static int entries(void) {
    char command[128], line[32] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_non_null(fgets(line, sizeof line, p));
    pclose(p);
    return atoi(line);
}

static int setup(void **state) {
    (void)state;
    hn_allocator_init(&mem);
    strcpy(folder, "/tmp/hone-file-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || atomic_load(&mem.blocks) != 0;
}

static void expect(const char *path, const char *text) {
    for (int map = 0; map < 2; map++) {
        hn_file *f = NULL;
        assert_int_equal(hn_file_open(&f, path, map, &mem, NULL), HONE_OK);
        assert_int_equal(f->bytes, strlen(text));
        assert_non_null(f->data);
        assert_memory_equal(f->data, text, f->bytes);
        assert_string_equal(f->path, path);
        hn_file_unref(f);
    }
}

static void test_open(void **state) {
    (void)state;
    put(at("a"), "some bytes");
    expect(at("a"), "some bytes");
    put(at("empty"), "");
    expect(at("empty"), "");
}

static void test_references(void **state) {
    (void)state;
    put(at("a"), "shared");
    hn_file *f = NULL;
    assert_int_equal(hn_file_open(&f, at("a"), true, &mem, NULL), HONE_OK);
    assert_ptr_equal(hn_file_ref(f), f);
    hn_file_unref(f);
    assert_memory_equal(f->data, "shared", 6);
    hn_file_unref(f);
    hn_file_unref(NULL);

    char *block = hn_alloc(&mem, 3, HN_MEM_DATA);
    memcpy(block, "abc", 3);
    assert_int_equal(hn_file_adopt(&f, "decoded", block, 3, &mem, NULL), HONE_OK);
    assert_memory_equal(f->data, "abc", 3);
    hn_file_unref(f);
    assert_int_equal(atomic_load(&mem.blocks), 0);
}

static void test_open_errors(void **state) {
    (void)state;
    hn_file *f = NULL;
    hn_error err;
    assert_int_equal(hn_file_open(&f, at("absent"), true, &mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "absent': No such file"));
    assert_int_equal(hn_file_open(&f, folder, true, &mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_int_equal(hn_file_open(&f, at("pipe"), false, &mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_null(f);
}

static void test_write(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    put(at("a"), "old");
    assert_int_equal(chmod(at("a"), 0640), 0);
    assert_int_equal(hn_file_write_begin(&w, at("a"), NULL, &mem, NULL), HONE_OK);
    /* Sizes around the writer's buffer, so that every path of append is taken. */
    static const size_t sizes[] = {0, 1, 65535, 1, 65536, 70000, 3};
    static char want[300000];
    size_t total = 0;
    for (size_t i = 0; i < sizeof want - 1; i++) want[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(hn_file_write_append(w, want + total, sizes[i], NULL), HONE_OK);
        total += sizes[i];
        assert_int_equal(hn_file_write_offset(w), total);
        expect(at("a"), "old");
    }
    assert_int_equal(entries(), 2);
    assert_int_equal(hn_file_write_commit(w, NULL), HONE_OK);
    want[total] = '\0';
    expect(at("a"), want);
    assert_int_equal(entries(), 1);
    struct stat st;
    assert_int_equal(stat(at("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_abort(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    put(at("a"), "old");
    assert_int_equal(hn_file_write_begin(&w, at("a"), NULL, &mem, NULL), HONE_OK);
    assert_int_equal(hn_file_write_append(w, "new", 3, NULL), HONE_OK);
    hn_file_write_abort(w);
    hn_file_write_abort(NULL);
    expect(at("a"), "old");
    assert_int_equal(entries(), 1);
}

static void test_keep_input(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    hn_error err;
    put(at("in"), "input");
    assert_int_equal(symlink("in", at("link")), 0);
    assert_int_equal(hn_file_write_begin(&w, at("link"), at("in"), &mem, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "will not be overwritten"));
    assert_null(w);
    assert_int_equal(hn_file_write_begin(&w, at("link"), at("absent"), &mem, NULL), HONE_OK);
    assert_int_equal(hn_file_write_append(w, "new", 3, NULL), HONE_OK);
    assert_int_equal(hn_file_write_commit(w, NULL), HONE_OK);
    expect(at("in"), "new"); /* the link was followed, and is still one */
    struct stat st;
    assert_int_equal(lstat(at("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void test_write_errors(void **state) {
    (void)state;
    hn_file_writer *w = NULL;
    hn_error err;
    assert_int_equal(hn_file_write_begin(&w, folder, NULL, &mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "it is a folder"));
    assert_int_equal(hn_file_write_begin(&w, at("no/such/folder"), NULL, &mem, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_null(w);

    /* A target that is not a file is written in place, never replaced by rename. */
    assert_int_equal(hn_file_write_begin(&w, "/dev/full", NULL, &mem, &err), HONE_OK);
    assert_int_equal(hn_file_write_append(w, "x", 1, &err), HONE_OK);
    assert_int_equal(hn_file_write_commit(w, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "cannot write '/dev/full'"));
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));

    /* The target became a folder after begin: commit fails and the temporary is gone. */
    assert_int_equal(hn_file_write_begin(&w, at("late"), NULL, &mem, &err), HONE_OK);
    assert_int_equal(mkdir(at("late"), 0700), 0);
    assert_int_equal(hn_file_write_commit(w, &err), HONE_E_IO);
    assert_non_null(strstr(err.text, "cannot rename"));
    assert_int_equal(entries(), 1);
}

static void test_out_of_memory(void **state) {
    (void)state;
    put(at("a"), "some bytes");
    for (int n = 0;; n++) {
        hn_file *f = NULL;
        hn_file_writer *w = NULL;
        atomic_store(&mem.fail_after, n);
        hone_status status = hn_file_open(&f, at("a"), false, &mem, NULL);
        if (status == HONE_OK) status = hn_file_write_begin(&w, at("b"), NULL, &mem, NULL);
        atomic_store(&mem.fail_after, -1);
        hn_file_unref(f);
        hn_file_write_abort(w);
        assert_int_equal(atomic_load(&mem.blocks), 0);
        assert_int_equal(entries(), 1);
        if (status == HONE_OK) {
            assert_int_equal(n, 5);
            return;
        }
        assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_open),  TEST(test_references), TEST(test_open_errors),  TEST(test_write),
        TEST(test_abort), TEST(test_keep_input), TEST(test_write_errors), TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

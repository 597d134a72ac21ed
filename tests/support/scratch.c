#include "support/scratch.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "support/paths.h"

hn_allocator scratch_mem;
static char folder[256];
enum { PATH_BYTES = 4096 + 512 };

static char *next_buffer(void) {
    static char buffers[8][PATH_BYTES];
    static int next;
    return buffers[next++ % 8];
}

int scratch_setup(void **state) {
    (void)state;
    hn_allocator_init(&scratch_mem);
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/hone-test-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int scratch_teardown(void **state) {
    (void)state;
    bool gone = nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0;
    return !gone || atomic_load(&scratch_mem.blocks) != 0;
}

const char *scratch_path(const char *name) {
    char *path = next_buffer();
    snprintf(path, PATH_BYTES, "%s%s%s", folder, *name != '\0' ? "/" : "", name);
    return path;
}

const char *scratch_put(const char *name, const void *data, size_t bytes) {
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    return path;
}

const char *scratch_folder(const char *name) {
    const char *path = scratch_path(name);
    assert_int_equal(mkdir(path, 0777), 0);
    return path;
}

const char *scratch_put_text(const char *name, const char *text) {
    return scratch_put(name, text, strlen(text));
}

int scratch_count(void) {
    int n = -2; /* itself and the folder it lies in */
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir) != NULL) n++;
    closedir(dir);
    return n;
}

const char *scratch_asset(const char *name) {
    const char *assets = test_assets();
    if (assets == NULL) return NULL;
    char *path = next_buffer();
    snprintf(path, PATH_BYTES, "%s/%s", assets, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

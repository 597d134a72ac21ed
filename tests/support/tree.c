#include "support/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

char tree_root[256];

int tree_setup(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(tree_root, sizeof tree_root, "%s/hone-tree-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(tree_root) == NULL;
}

int tree_teardown(void **state) {
    (void)state;
    char command[sizeof tree_root + 16];
    snprintf(command, sizeof command, "rm -r '%s'", tree_root);
    return system(command) != 0;
}

void tree_put(const char *path, const char *text) {
    char whole[1024];
    int n = snprintf(whole, sizeof whole, "%s%s", tree_root, path);
    assert_in_range(n, 1, (int)sizeof whole - 1);
    for (char *slash = whole + strlen(tree_root) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

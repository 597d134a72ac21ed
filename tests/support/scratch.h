/* What tests of files share: a folder of their own and an allocator that must end with no block
 * live.
 *
 *     cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
 */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include "base/alloc.h"

extern hn_allocator scratch_mem;

int scratch_setup(void **state);
int scratch_teardown(void **state); /* fails the test when something leaked */

/* A path in the folder ("" is the folder itself). Eight results stay valid at once. */
const char *scratch_path(const char *name);
/* Writes a file there and returns its path. */
const char *scratch_put(const char *name, const void *data, size_t bytes);
const char *scratch_put_text(const char *name, const char *text);
const char *scratch_folder(const char *name); /* makes a folder there */
int scratch_count(void);                      /* entries in the folder */

/* A path under test_assets(), or NULL when there is none. Same lifetime. */
const char *scratch_asset(const char *name);

#endif

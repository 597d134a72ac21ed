/* A simplified model stays as it is: when it is saved, loaded and simplified again, no pass fires.
 */
#ifndef TESTS_SUPPORT_SETTLED_H
#define TESTS_SUPPORT_SETTLED_H

#include "ir/ir.h"

/* Simplifies m and fails the test, naming the passes, if a second run changes anything. `what`
 * names the model. */
void assert_settles(hn_model *m, const char *what, hn_allocator *alloc);

#endif

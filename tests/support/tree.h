/* A small tree of files in the shape of a system's, for probes that take the root to look below. */
#ifndef HN_TESTS_TREE_H
#define HN_TESTS_TREE_H

extern char tree_root[256];

int tree_setup(void **state);
int tree_teardown(void **state);
/* Writes a file of the tree, with the folders it needs. */
void tree_put(const char *path, const char *text);

#endif

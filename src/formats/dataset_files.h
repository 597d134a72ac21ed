/* Datasets whose samples are files of one folder. Which files, and with which labels, is said by
 *
 *   a csv of two or more columns   a file's name first, its label in another column
 *   a csv of one column            of whole numbers: the labels of the folder's files, in their
 *                                  order; else: the names of files, which have no labels
 *   no csv                         all files of the folder, without labels; where it has none, all
 *                                  files of its folders, each of which is a class
 *
 * Files and folders are in the order of their names, byte by byte. The csv is looked for in the
 * folder, then as it is written; a first row without a label, or without a file, is headings. */
#ifndef HN_FORMATS_DATASET_FILES_H
#define HN_FORMATS_DATASET_FILES_H

#include <limits.h>

#include "formats/dataset_kind.h"

/* Whether a file of this name is a sample, where the folder itself says which there are. */
typedef bool hn_is_sample(const char *name);

/* Sets total, names and, where there are any, labels. `column` is the label's, from 0; -1: the last
 * one. */
hone_status hn_dataset_list(hn_dataset *ds, int64_t column, hn_is_sample *is_sample, hn_error *err);
/* What a key names, in the folder or as it is written. */
hone_status hn_dataset_beside(const hn_dataset *ds, const char *name, char path[PATH_MAX],
                              hn_error *err);
/* Whether a name stays inside the folder it is in. */
bool hn_dataset_inside(const char *name);
/* The path of sample i. */
hone_status hn_dataset_path(const hn_dataset *ds, int64_t i, char path[PATH_MAX], hn_error *err);

#endif

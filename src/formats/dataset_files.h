/* Datasets whose samples are files of one folder: the rows of a csv name the file in their first
 * column and its label in another. The csv is looked for in the folder, then as it is written; a
 * first row whose label is not a number is headings. */
#ifndef HN_FORMATS_DATASET_FILES_H
#define HN_FORMATS_DATASET_FILES_H

#include <limits.h>

#include "formats/dataset_kind.h"

/* Sets total, names and labels from the csv of the key `labels`. `column` is the label's, from 0;
 * -1: the last one. Where there are other targets, a csv of one column names files alone. */
hone_status hn_dataset_list(hn_dataset *ds, int64_t column, hn_error *err);
/* What a key names, in the folder or as it is written. */
hone_status hn_dataset_beside(const hn_dataset *ds, const char *name, char path[PATH_MAX],
                              hn_error *err);
/* The path of sample i. */
hone_status hn_dataset_path(const hn_dataset *ds, int64_t i, char path[PATH_MAX], hn_error *err);

#endif

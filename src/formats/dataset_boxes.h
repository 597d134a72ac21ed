/* What detectors are judged by: a csv of boxes, rows of a file's name, a class and the box's left,
 * top, right and bottom in pixels of the stored image. */
#ifndef HN_FORMATS_DATASET_BOXES_H
#define HN_FORMATS_DATASET_BOXES_H

#include "formats/dataset_kind.h"
#include "formats/image.h"

enum { HN_BOX_NUMBERS = 5 };

/* Reads the csv at `path` for the files of ds->names into ds->place and the array of the target
 * `field`, whose shape becomes [most boxes of a sample, 5]. */
hone_status hn_dataset_read_boxes(hn_dataset *ds, int field, const char *path, hn_error *err);
/* The boxes of sample i in pixels of `part`, cut at its edges: rows of class, left, top, right and
 * bottom. A row without a box has class -1. */
void hn_dataset_boxes(const hn_dataset *ds, int field, int64_t i, const hn_image *image,
                      const hn_image_part *part, float *dst);

#endif

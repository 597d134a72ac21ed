/* Where a model comes from, in its own metadata: hashes of what it was made of, and how. No paths
 * and no times, so that the same work gives the same bytes. */
#ifndef HN_COMPRESS_LINEAGE_H
#define HN_COMPRESS_LINEAGE_H

#include "ir/ir.h"

typedef struct hn_lineage {
    const char *source; /* SHA-256 of the model it was made of */
    const char *data;   /* SHA-256 of the samples that were looked at; NULL: none were */
    const char *recipe; /* one line */
} hn_lineage;

/* Of the file the model came from, in a package the ONNX file in it; of one without, of the bytes it would be saved as. */
hone_status hn_lineage_source(hn_model *m, char *hex, hn_error *err);
/* As hone.source, hone.data, hone.recipe and hone.version, in the place of those that are there. */
hone_status hn_lineage_write(hn_model *m, const hn_lineage *l, hn_error *err);
const char *hn_model_metadata(const hn_model *m, const char *key); /* NULL: there is none */

#endif

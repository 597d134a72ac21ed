/* What a kind of dataset is made of; included by dataset_*.c only. */
#ifndef HN_FORMATS_DATASET_KIND_H
#define HN_FORMATS_DATASET_KIND_H

#include <stdatomic.h>

#include "base/arena.h"
#include "formats/dataset.h"
#include "formats/image.h"
#include "formats/npy.h"

#define HN_DATASET_KEYS(X) \
    X(SCALE, "scale")      \
    X(MEAN, "mean")        \
    X(STD, "std")          \
    X(ORDER, "order")      \
    X(LAYOUT, "layout")    \
    X(RESIZE, "resize")    \
    X(CROP, "crop")        \
    X(N, "n")              \
    X(SKIP, "skip")        \
    X(SEED, "seed")        \
    X(LABELS, "labels")    \
    X(DTYPE, "dtype")      \
    X(SHUFFLE, "shuffle")  \
    X(TARGETS, "targets")  \
    X(BOXES, "boxes")      \
    X(MASKS, "masks")

typedef enum hn_dataset_key {
#define HN_X(name, text) HN_DATASET_KEY_##name,
    HN_DATASET_KEYS(HN_X)
#undef HN_X
        HN_DATASET_KEY_COUNT_
} hn_dataset_key;

#define HN_KEY(name) (1u << HN_DATASET_KEY_##name)
/* Keys that name a file or folder. */
#define HN_KEYS_PATHS (HN_KEY(LABELS) | HN_KEY(BOXES) | HN_KEY(MASKS))
/* What every kind that makes numbers of what is stored takes. */
#define HN_KEYS_NUMBERS                                                                        \
    (HN_KEY(SCALE) | HN_KEY(MEAN) | HN_KEY(STD) | HN_KEY(ORDER) | HN_KEY(LAYOUT) | HN_KEY(N) | \
     HN_KEY(SKIP))
/* What every kind that has its samples in files takes. */
#define HN_KEYS_STORED (HN_KEYS_NUMBERS | HN_KEY(SHUFFLE))

typedef enum hn_layout { HN_LAYOUT_UNSET, HN_LAYOUT_NCHW, HN_LAYOUT_NHWC } hn_layout;

/* What the path of a dataset is. */
typedef enum hn_path { HN_PATH_WORD, HN_PATH_FILE, HN_PATH_FOLDER } hn_path;

/* Where one thread reads a sample into. */
typedef struct hn_dataset_room {
    unsigned char *sample; /* a sample of the field that is read */
    hn_file *file;         /* what the last sample lies in, where it has a file of its own */
} hn_dataset_room;

typedef struct hn_dataset_kind {
    const char *name;
    const char *path; /* what PATH stands for; NULL: the kind has none */
    hn_path path_is;
    const char
        *endings; /* of the names of such files, with blanks between; NULL: a folder, or none */
    const char *labelled; /* how to give it labels; NULL: it always has some, or never */
    uint32_t keys;
    /* Sets total, fields and, if there are any, targets and labels. What it acquired is released by
     * hn_dataset_close, also on failure. */
    hone_status (*open)(hn_dataset *ds, hn_error *err);
    /* Sample i of a field as it was stored, valid until the next call with the same room. NULL: it
     * lies at field data + i * stride. Several threads call it at once. */
    hone_status (*sample)(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err);
    /* NULL: the array `labels`. */
    int64_t (*label)(const hn_dataset *ds, int64_t i);
    double scale; /* where none is given; 0: 1 */
    /* In place of sample: writes sample i as it is wanted, to element `at` of dst. */
    void (*make)(const hn_dataset *ds, int field, int64_t i, hone_dtype dtype, int64_t n, void *dst,
                 int64_t at);
} hn_dataset_kind;

/* The parsed line. */
typedef struct hn_dataset_spec {
    const hn_dataset_kind *kind;
    const char *path, *labels; /* NULL: not given */
    hone_dtype dtype;          /* NONE: not given */
    double scale;
    int n_mean, n_std; /* 0: not given */
    double *mean, *std;
    bool bgr;
    hn_layout layout;
    hn_image_scaling scaling;
    int64_t n, skip; /* n = -1: not given */
    uint64_t seed;
    bool shuffled;
    uint64_t shuffle;                    /* the seed of it */
    const char *targets, *boxes, *masks; /* NULL: not given */
} hn_dataset_spec;

typedef struct hn_dataset_source {
    hn_dataset_field shown;
    int64_t count; /* elements of a sample */
    size_t bytes;  /* of a sample */
    bool chw;      /* channels known to be the first axis */
    const unsigned char *data;
    size_t stride;
    hn_array array; /* what keeps data alive, if data is not NULL */
} hn_dataset_source;

struct hn_dataset {
    hn_allocator *alloc;
    hn_arena arena;
    hn_dataset_spec spec;
    const char *text; /* the line, for messages */
    int64_t total;    /* samples there are; places [spec.skip, spec.skip + n) of them are used */
    int64_t n;
    int64_t *order; /* the sample at each place; NULL: the one of the same number */
    int n_fields, n_targets;
    hn_dataset_source *fields; /* those of the inputs, then the targets */
    int64_t *labels;           /* of all samples; NULL: none */
    hn_file *file;             /* what the data lies in */
    const char **names;        /* raw, images: the file of each sample */
    atomic_uchar *damaged;     /* whether a sample was found to be; NULL: none can be */
    int64_t *place;            /* csv: where each row starts; boxes: the first of each image */
    bool is_part;              /* of another, whose everything but order and this it is */
};

/* Reads the line into ds->spec; memory comes from ds->arena. */
hone_status hn_dataset_parse(hn_dataset *ds, const char *text, hn_error *err);

/* Makes ds->fields of n fields and as many targets, zeroed. */
hone_status hn_dataset_add_fields(hn_dataset *ds, int n, int n_targets, hn_error *err);
/* Checks dtype and dims, and sets what follows from them: count, bytes and stride. */
hone_status hn_dataset_set_shape(hn_dataset *ds, int field, hone_dtype dtype, int rank,
                                 const int64_t *dims, hn_error *err);
/* Makes ds->labels for ds->total samples. */
hone_status hn_dataset_add_labels(hn_dataset *ds, hn_error *err);

#endif

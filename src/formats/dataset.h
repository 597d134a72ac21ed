/* Datasets: labelled samples for a model's inputs, named by one line `KIND:PATH[,key=value...]`.
 *
 * A dataset has fields, one per input it can feed; every sample has the same shape and type. It is
 * read as it lies on disk and turned into what the model wants only on the way out, by
 * hn_dataset_fill:
 *
 *     value = (x * scale - mean) / std        mean and std in the model's channel order
 *
 * Beside the inputs there are labels, one integer each, and targets, arrays of one shape for all
 * samples, which are handed out as they are stored: boxes, masks, numbers to be met.
 *
 * Samples are read when they are asked for: files are mapped, or held unpacked when they were
 * compressed, and images decoded each time; nothing is held per sample but its label, the name of
 * its file or the place of its row, its boxes and, where shuffled, its number. So a dataset may be
 * larger than memory. It may be read by several threads at once.
 *
 * In the line, `,` separates items and `:` the values of a list; `a/b` is a quotient; in paths, `\`
 * stands before a literal `,`, `:` or `\`. `@FILE` is replaced by the text of FILE, in which a line
 * break counts as a comma. docs/data.md describes kinds and keys.
 */
#ifndef HN_FORMATS_DATASET_H
#define HN_FORMATS_DATASET_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"

typedef struct hn_dataset hn_dataset;

typedef struct hn_dataset_field {
    const char *name; /* NULL: unnamed, for a model's only input */
    hone_dtype dtype;
    int rank;                    /* of one sample; -1: whatever is asked for */
    int64_t dims[HONE_MAX_RANK]; /* of one sample */
    bool once;                   /* all samples have the same: dims are those of the input */
} hn_dataset_field;

hone_status hn_dataset_open(hn_dataset **out, const char *spec, hn_allocator *alloc, hn_error *err);
void hn_dataset_close(hn_dataset *ds); /* NULL accepted */
/* Some samples of another, by their numbers there, as a dataset of its own; what is found damaged
 * in one of the two is so in both. The other must outlive it. */
hone_status hn_dataset_part(hn_dataset **out, const hn_dataset *of, const int64_t *index, int64_t n,
                            hn_error *err);

/* The line with other paths: `place` returns what takes the place of a file or folder, or NULL, which
 * ends the call with HONE_E_LIMIT. What lies in a folder that is named keeps its name; @FILE becomes
 * its text. The text is a block of alloc. */
hone_status hn_dataset_moved(char **text, const char *spec,
                             const char *(*place)(void *ctx, const char *path), void *ctx,
                             hn_allocator *alloc, hn_error *err);

int64_t hn_dataset_count(const hn_dataset *ds); /* samples, after shuffle, skip and n */
/* Whether samples are noise, made when they are asked for. */
bool hn_dataset_is_made_up(const hn_dataset *ds);
bool hn_dataset_has_labels(const hn_dataset *ds);
/* How datasets of this kind are given labels; NULL: they never have any, or always. */
const char *hn_dataset_how_labelled(const hn_dataset *ds);
int hn_dataset_n_fields(const hn_dataset *ds);
const hn_dataset_field *hn_dataset_field_at(const hn_dataset *ds, int i);
int hn_dataset_n_targets(const hn_dataset *ds);
const hn_dataset_field *hn_dataset_target_at(const hn_dataset *ds, int t);

/* The field that feeds input `i` of `n_inputs`: the one of its name, or the only field if the input
 * is the only one. HONE_E_NOT_FOUND with the names there are. */
hone_status hn_dataset_find(const hn_dataset *ds, const char *input, int i, int n_inputs,
                            int *field, hn_error *err);

/* Labels of samples [first, first + n). */
hone_status hn_dataset_labels(const hn_dataset *ds, int64_t first, int64_t n, int64_t *dst,
                              hn_error *err);
/* Target t of samples [first, first + n), one after the other. */
hone_status hn_dataset_targets(const hn_dataset *ds, int t, int64_t first, int64_t n, void *dst,
                               hn_error *err);

/* Whether reading sample i has found it damaged: its file is there, but is no image that can be
 * decoded. */
bool hn_dataset_damaged(const hn_dataset *ds, int64_t i);
/* How many were found damaged so far; names[] gets the files of the first of them, NULL where there
 * are fewer than n_names. */
int64_t hn_dataset_skipped(const hn_dataset *ds, size_t n_names, const char **names);

/* What keys hold, for whoever takes the same settings: numbers, "0.485:0.456:1/4", as a list in the
 * arena; and one or two sides in pixels, "256" (*second is 0) or "256:320". HONE_E_ARG and
 * HONE_E_LIMIT name the key. */
hone_status hn_dataset_numbers(hn_arena *arena, const char *key, const char *text, int *n,
                               double **values, hn_error *err);
hone_status hn_dataset_sides(const char *key, const char *text, char between, int64_t *first,
                             int64_t *second, hn_error *err);

/* The numbers 0 to n - 1 in an order that depends on n and the seed alone; a block of alloc. */
hone_status hn_dataset_permutation(int64_t **out, int64_t n, uint64_t seed, hn_allocator *alloc,
                                   hn_error *err);

/* What the model wants of one sample. */
typedef struct hn_dataset_want {
    hone_dtype dtype;
    int rank; /* without the batch axis */
    const int64_t *dims;
    int64_t cut; /* 0: the whole sample; else only the first `cut` elements of a one-axis sample */
} hn_dataset_want;

/* Samples [first, first + n) of a field, one after the other, ready for the model. A sample with as
 * many elements as wanted is reshaped. Into integers, a value that is not one is rounded if it was
 * computed and an error if it was read; one that does not fit is an error. `dst` holds n times the
 * wanted elements, packed. */
hone_status hn_dataset_fill(const hn_dataset *ds, int field, int64_t first, int64_t n,
                            const hn_dataset_want *want, void *dst, hn_error *err);

/* The most elements before trailing zeros in any of the samples, at least 1: what to cut a batch of
 * padded sequences at, asked of their attention mask. The field must have one axis. */
hone_status hn_dataset_longest(const hn_dataset *ds, int field, int64_t first, int64_t n,
                               int64_t *length, hn_error *err);

#endif

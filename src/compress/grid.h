/* Grids: the numbers that integers with scales stand for, x = scale * (code - zero), and the
 * nearest of them to a float. All arithmetic of quantizing a tensor is here; methods choose grids,
 * or move floats onto grid points they prefer to the nearest (the codes then follow from rounding).
 *
 * Scales lie between 2^-60 and 2^60, so that the product of two, the scale of a bias, is a normal
 * float. A channel of nothing but zeros has the least of them: it bears any bias.
 */
#ifndef HN_COMPRESS_GRID_H
#define HN_COMPRESS_GRID_H

#include "base/pool.h"
#include "compress/scheme.h"

typedef struct hn_range {
    double min, max;
} hn_range;

typedef struct hn_grid_point { /* one scale with its zero point */
    float scale;
    int32_t zero;
} hn_grid_point;

/* Least and greatest code of a type. */
void hn_qtype_limits(const hn_qtype *t, int32_t *least, int32_t *most);
/* The grid of activations in [min, max], which is widened to hold 0. A range of nothing but 0 is
 * taken as [0, 1], an end that is not a number as 0. */
hn_grid_point hn_grid_of_range(const hn_qtype *t, hn_range r);
/* The nearest scale that is allowed. */
float hn_grid_scale(double scale);
/* y, a sum of a and b (all of at most 8 bits), with a scale in which no sum of codes lies near the
 * middle of two, so that every runtime rounds it to the same one, whichever order it computes in:
 * at most half a step smaller over all codes. grid_sum.c. */
hn_grid_point hn_grid_of_sum(const hn_qtype *ta, hn_grid_point a, const hn_qtype *tb,
                             hn_grid_point b, const hn_qtype *ty, hn_grid_point y);

/* Code of the point nearest to x, to the even one of two; NaN has that of 0. And what it stands
 * for. */
int32_t hn_grid_code(const hn_qtype *t, hn_grid_point p, double x);
static inline float hn_grid_value(hn_grid_point p, int32_t code) {
    return (float)(code - p.zero) * p.scale;
}

/* The grid of a weight: one scale, one for each index of the channel axis, or one for each group of
 * type.group neighbours along the group axis (the last may have fewer). */
typedef struct hn_grid {
    hn_qtype type;
    int axis;         /* of the channels; -1: one scale for all, or groups */
    int group_axis;   /* of groups; -1: none */
    hn_tensor *scale; /* f32: [], [channels], or the weight's dims with the group axis divided */
    hn_tensor *zero;  /* of type.dtype and those dims; NULL: all zero points are 0 */
} hn_grid;

/* By the least and greatest value of each channel or group. A pool may be NULL. axis and group_axis
 * are counted from 0; per_channel and group of the type say whether they are looked at, groups
 * first. The weight is of a float type. HONE_E_MODEL: it holds a value that is not finite. */
hone_status hn_grid_create(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                           int group_axis, hn_pool *pool, hn_allocator *alloc, hn_error *err);
/* Likewise, each range shrunk as far as makes the squared error least. importance: by how much
 * errors at each index of group_axis count, whether or not there are groups; NULL: alike. */
hone_status hn_grid_create_mse(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                               int group_axis, const double *importance, hn_pool *pool,
                               hn_allocator *alloc, hn_error *err);
void hn_grid_deinit(hn_grid *g); /* all zero accepted */

/* Which scale element i (in order) of the weight has, and that scale with its zero point. */
int64_t hn_grid_index(const hn_grid *g, const hn_tensor *w, int64_t i);
hn_grid_point hn_grid_at(const hn_grid *g, const hn_tensor *w, int64_t i);
/* Codes of the nearest points, packed as the dtype wants; and back to f32. */
hone_status hn_grid_codes(const hn_grid *g, const hn_tensor *w, hn_pool *pool, hn_allocator *alloc,
                          hn_tensor **codes, hn_error *err);
hone_status hn_grid_floats(const hn_grid *g, const hn_tensor *codes, hn_pool *pool,
                           hn_allocator *alloc, hn_tensor **w, hn_error *err);

/* Bits that the codes of a weight take, with scales and zero points. */
int64_t hn_grid_bits(const hn_grid *g, const hn_tensor *w);

/* Grids that a method has chosen for weights, by name of the weight and its type: placing takes
 * these, and makes its own for the others. */
typedef struct hn_grids hn_grids;
hone_status hn_grids_create(hn_grids **out, hn_allocator *alloc, hn_error *err);
void hn_grids_destroy(hn_grids *g); /* NULL accepted */
/* Takes over the grid, on failure too; one of that name and type is replaced. */
hone_status hn_grids_set(hn_grids *g, const char *weight, hn_grid *grid, hn_error *err);
/* Likewise scales and zero points of values, by name of the one that leads those which share it. */
hone_status hn_grids_set_point(hn_grids *g, const char *value, hn_grid_point p, hn_error *err);
bool hn_grids_point(const hn_grids *g, const char *value, hn_grid_point *p); /* false: none */
/* NULL: none. A type of NULL: of any. */
const hn_grid *hn_grids_of(const hn_grids *g, const char *weight, const hn_qtype *type);

#endif

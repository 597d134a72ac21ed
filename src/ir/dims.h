/* Symbolic dimensions.
 *
 * A dim is an integer expression over named symbols: + - * floor-division, min and max. Expressions
 * are kept in a canonical form and hash-consed in a table (one per model), so two dims are equal
 * exactly when their pointers are equal:
 *
 *     const      a number
 *     sym        a name, with an upper bound; dims are never negative
 *     prod       atom * atom * ...         two or more, sorted
 *     sum        c0 + c1*t1 + c2*t2 ...    t = sym, prod, fdiv, min, max, join; sorted, no
 *                                          coefficient is 0
 *     fdiv       floor(a / b)
 *     min, max   of two
 *
 * Ceil division is floor((a + b - 1) / b). Products of sums are multiplied out while that is small.
 * A fresh symbol stands for an expression that grows too large; the same one each time.
 *
 * Building an expression cannot fail in the caller's hands: when memory runs out or a number passes
 * HN_DIM_MAX the table remembers it (`status`) and hands out a harmless symbol; whoever drives
 * inference looks at `status` when a node is done.
 */
#ifndef HN_IR_DIMS_H
#define HN_IR_DIMS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"

/* The largest size, and what a number in an expression may be on either side of 0. */
#define HN_DIM_MAX (INT64_MAX / 2)

typedef struct hn_dim_node hn_dim_node;
typedef const hn_dim_node *hn_dim;

typedef struct hn_dims {
    hn_arena arena;
    hn_dim_node **slots; /* hash table of every expression but the symbols */
    size_t capacity, used;
    uint32_t n_fresh;
    hn_map symbols;     /* name -> symbol */
    hone_status status; /* HONE_OK, HONE_E_NOMEM or HONE_E_SHAPE (a number too large) */
} hn_dims;

void hn_dims_init(hn_dims *t, hn_allocator *alloc);
void hn_dims_deinit(hn_dims *t);

hn_dim hn_dim_const(hn_dims *t, int64_t v);
/* The symbol of that name; the name is copied. */
hn_dim hn_dim_symbol(hn_dims *t, const char *name);
/* A symbol nobody else has, for a size that only running will tell. upper: the most it can be, or
 * -1 when not known. */
hn_dim hn_dim_fresh(hn_dims *t, int64_t upper);

hn_dim hn_dim_add(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_sub(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_mul(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_addc(hn_dims *t, hn_dim a, int64_t c);
hn_dim hn_dim_mulc(hn_dims *t, hn_dim a, int64_t c);
/* Floor division; b > 0 is assumed, b == 0 gives a fresh symbol. */
hn_dim hn_dim_div(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_div_ceil(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_min(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_max(hn_dims *t, hn_dim a, hn_dim b);

/* True and *v when d is a number. */
bool hn_dim_is_const(hn_dim d, int64_t *v);
static inline bool hn_dim_is(hn_dim d, int64_t v) {
    int64_t x;
    return hn_dim_is_const(d, &x) && x == v;
}
/* True and *name when d is a plain symbol. */
bool hn_dim_is_symbol(hn_dim d, const char **name);
/* A symbol made by hn_dim_fresh. */
bool hn_dim_is_fresh(hn_dim d);
/* Bounds that hold for every value of the symbols; INT64_MIN and INT64_MAX mean unbounded. */
void hn_dim_range(hn_dim d, int64_t *lo, int64_t *hi);

/* Writes d as text ("batch", "2*seq + 1", "floor((h + 1)/2)"), cut to size; returns buf. */
char *hn_dim_text(hn_dim d, char *buf, size_t size);

/* The value of d when value(ctx, symbol) gives each symbol's; false if some symbol has none (it
 * returns a negative number) or the arithmetic overflows. */
bool hn_dim_eval(hn_dim d, int64_t (*value)(void *ctx, hn_dim symbol), void *ctx, int64_t *out);
/* d with `symbol` replaced by `by`. */
hn_dim hn_dim_subst(hn_dims *t, hn_dim d, hn_dim symbol, hn_dim by);

/* ---- shapes ---- */

typedef struct hn_shape {
    int rank; /* -1: not even the rank is known */
    hn_dim dim[HONE_MAX_RANK];
} hn_shape;

static inline hn_shape hn_shape_unknown(void) { return (hn_shape){.rank = -1}; }
hn_shape hn_shape_of(hn_dims *t, int rank, const int64_t *dims);
bool hn_shape_equal(const hn_shape *a, const hn_shape *b);
/* True when every dim is a number; writes them to dims if it is not NULL. */
bool hn_shape_is_const(const hn_shape *s, int64_t *dims);
/* Product of dims [from, to). */
hn_dim hn_shape_product(hn_dims *t, const hn_shape *s, int from, int to);
/* "[batch, 3, 224, 224]", "[?]" for an unknown rank. */
char *hn_shape_text(const hn_shape *s, char *buf, size_t size);

/* ONNX's many-way broadcasting of one axis, and of two shapes. False: two numbers that do not agree
 * and are not 1. */
bool hn_dim_broadcast(hn_dims *t, hn_dim a, hn_dim b, hn_dim *out);
bool hn_shape_broadcast(hn_dims *t, const hn_shape *a, const hn_shape *b, hn_shape *out);

#endif

/* Lowering: from nodes of a graph whose shapes are all numbers to steps.
 *
 * Nodes are taken in order. Each operator that has a row in lowerings.def is handed to its
 * function, which adds steps, or makes its outputs views of what is there already, or declines with
 * a reason; then, and where there is no row, the operator's reference becomes a step.
 *
 * Steps grow backwards: the lowering of an Add or a Relu looks at the step that made its input
 * (hn_lower_maker), and if nothing else wants that value and the kernel can do it on the way out,
 * the step takes the node in. A step may then have to move behind the one that makes its other
 * operand (hn_lower_move_last). A lowering may also compute from what earlier steps have read, and
 * leave what they made unused: in the end steps are dropped whose results nothing reads.
 *
 * Layouts are views' strides. A lowering says which strides it takes; hn_lower_dense and
 * hn_lower_channels_last insert the copy where a view does not fit, and remember it, so that a
 * value is copied into a layout once. Before copying, the steps that made the value are asked to
 * write it there in the first place (hn_lower_rehome).
 */
#ifndef HN_ENGINE_LOWER_H
#define HN_ENGINE_LOWER_H

#include "engine/layers.h"
#include "engine/plan.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/reduce_f32/reduce_f32.h"
#include "ops/op.h"
#include "ops/spatial.h"

/* A copy of a value in another layout. */
typedef struct hn_variant hn_variant;
struct hn_variant {
    hn_view of, is;
    hn_variant *next;
};

/* A transposed convolution: its step becomes several when lowering is done. */
typedef struct hn_transposed hn_transposed;
/* A convolution of three axes, likewise. */
typedef struct hn_conv_3d hn_conv_3d;

typedef struct hn_lower {
    hn_plan *plan;
    const hn_graph *graph;
    hn_allocator *alloc; /* for what lives no longer than the lowering */
    hn_isa isa;
    hn_view *views;   /* by id of the graph's values */
    bool *known;      /* by id: views[id] is set */
    hn_step **makers; /* by id: the step that made exactly this value, or NULL */
    hn_variant *variants;
    hn_transposed *transposed;
    hn_conv_3d *deep;
    int cap_steps, cap_buffers;
    const char *why;       /* set by a lowering that declines */
    const char *why_float; /* of the steps that are being made (hn_step) */
    bool quantized;        /* the graph is: nodes that compute in floats say why */
    struct {
        const hn_op_def *op;
        int first; /* of its rows in lowerings.def */
    } found[64];
    bool no_fuse; /* no step takes in another node */
    const hn_layers *layers;
} hn_lower;

/* Lowers node n; *done false: declined, and no step was added. */
typedef hone_status hn_lowering(hn_lower *L, const hn_node *n, bool *done, hn_error *err);

/* Lowers the whole graph into L->plan->steps. */
hone_status hn_lower_graph(hn_lower *L, hn_error *err);
/* Adds the steps that s stands for; *done false: itself alone. */
hone_status hn_lower_conv_transpose_finish(hn_lower *L, const hn_step *s, bool *done,
                                           hn_error *err);
hone_status hn_lower_conv_depth_finish(hn_lower *L, const hn_step *s, bool *done, hn_error *err);
/* Lets convolutions between planar images read and write these as they are, where that pays. */
hone_status hn_lower_conv_planes(hn_lower *L, hn_error *err);
/* Whether s stands for steps over three spatial axes. */
bool hn_lower_is_deep(const hn_lower *L, const hn_step *s);
/* The transposed convolution that s stands for, or NULL. */
hn_transposed *hn_lower_transposed(const hn_lower *L, const hn_step *s);
/* Its steps are to be those of conv_planes_f32; false: that cannot be. */
bool hn_lower_transposed_planes(hn_transposed *t, int64_t y_channel);
/* A reduction over the spatial axes of [N, C, H, W] as a pool; declines those no pool can do. */
hone_status hn_lower_reduce_image(hn_lower *L, const hn_node *n, hn_reduce_op op, bool *done,
                                  hn_error *err);
/* A step that reduces a dense x, seen as [outer][r][inner] in dims, along r to a dense y; other
 * types than f32 only where reduce_num has the operation. */
hone_status hn_lower_reduce_step(hn_lower *L, const hn_node *n, hn_reduce_op op,
                                 const int64_t dims[3], const hn_view *x, const hn_view *y,
                                 hn_step **out, hn_error *err);
/* Attention from q, k and v to y, all [samples, heads, positions, size]; mask, of f32 or bool, is
 * absent or broadcasts to [samples, heads of q, queries, keys], its keys adjacent. */
typedef struct hn_heads_views {
    hn_view q, k, v, mask, y;
    float scale;
    bool causal;
} hn_heads_views;
hone_status hn_lower_attention_heads(hn_lower *L, const hn_node *n, const hn_heads_views *h,
                                     hn_error *err);
/* A product with a softmax of other products as attention; declines one that is none. */
hone_status hn_lower_attention_product(hn_lower *L, const hn_node *n, bool *done, hn_error *err);
/* A step for x [m, k], k adjacent, by w [k, n] into y, which is dense. */
hone_status hn_lower_product(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *w,
                             const hn_view *y, hn_step **out, hn_error *err);
/* A step for v, dense and of f32, times a number; v is where that is then. */
hone_status hn_lower_times(hn_lower *L, const hn_node *n, float by, hn_view *v, hn_error *err);
/* The lowerings of Conv and Gemm, for operators that are these and more. */
hone_status hn_lower_conv(hn_lower *L, const hn_node *n, bool *done, hn_error *err);
hone_status hn_lower_gemm(hn_lower *L, const hn_node *n, bool *done, hn_error *err);
/* How the results of s may be changed; false: they may not, or s is NULL. */
bool hn_step_end(const hn_step *s, hn_epilogue *out);
/* A step for y [..., m, n] = alpha * a [..., m, k] by b [..., k, n], of any strides; at most
 * HN_MATMUL_BATCH_AXES axes in front, along which a and b broadcast. */
hone_status hn_lower_matrices(hn_lower *L, const hn_node *n, const hn_view *a, const hn_view *b,
                              const hn_view *y, float alpha, hn_step **out, hn_error *err);
/* x [..., k] as [m, k] with adjacent k, copied if it must be. */
hone_status hn_lower_rows(hn_lower *L, const hn_node *n, hn_view *x, hn_error *err);
/* Swaps the last two axes. */
void hn_view_swap_last(hn_view *v);
/* The windows of a pool from x to y, channels last; y may be without spatial axes. Of three
 * spatial axes the last two are taken, without strides. */
hn_windows hn_lower_windows(const hn_view *x, const hn_view *y, const hn_spatial *s);
/* Sizes, window and strides of a convolution from x to y by w. */
hn_conv_f32 hn_lower_conv_problem(const hn_view *x, const hn_view *w, const hn_view *y,
                                  const hn_spatial *s, int64_t groups);
/* The conv_f32 step of a node from its operands, b perhaps absent, to y, its only output. */
hone_status hn_lower_conv_step(hn_lower *L, const hn_node *n, const hn_conv_f32 *p,
                               const hn_view *x, const hn_view *w, hn_view b, const hn_view *y,
                               hn_step **out, hn_error *err);
/* A step that is part of what `whole` stands for: the problem p by weights that are a view of its own,
 * in the order o, i, y, x. Its operands are where those of `whole` are, until
 * hn_lower_shift moves them by so many floats. */
hone_status hn_lower_conv_part(hn_lower *L, const hn_step *whole, const hn_conv_f32 *p,
                               const hn_view *weights, hn_step **out, hn_error *err);
/* Makes s, a step of conv_f32 whose x and y are planar, one of conv_planes_f32; its y has channels
 * that far apart. */
hone_status hn_lower_conv_to_planes(hn_lower *L, hn_step *s, int64_t y_channel, hn_error *err);
void hn_lower_shift(hn_step *s, int operand, int64_t floats);
/* v [N, C, D, H, W] itself when its channels are adjacent and its slices follow each other, else a
 * copy that is so. */
hone_status hn_lower_slices_last(hn_lower *L, const hn_node *n, hn_view *v, hn_error *err);
/* Such a view as [N, C, D*H, W]. */
hn_view hn_view_join_slices(const hn_view *v);
/* Whether the operator has a lowering of its own, and one that stays in 8 bits. */
bool hn_lower_has(const hn_op_def *op);
bool hn_lower_has_int8(const hn_op_def *op);

/* ---- values ---- */

/* Lowers the node that computes v, where that has waited (lower_quant.h). */
hone_status hn_lower_need(hn_lower *L, const hn_value *v, hn_error *err);
/* The view of input i; buffer -1 when it is absent. */
hn_view hn_lower_in(const hn_lower *L, const hn_node *n, int i);
/* Output i as its type says, in no buffer yet (buffer -1, strides 0). */
hn_view hn_lower_out(const hn_node *n, int i);
/* v in a new buffer of the slab, dense, its axes from the outermost to the innermost as in `order`
 * (NULL: as they come). */
hone_status hn_lower_place(hn_lower *L, hn_view *v, const int *order, hn_error *err);
/* v in a new buffer, its axes in the order of those of `like`, which has the same ones; channels
 * (axis 1) that are adjacent there stay so, whatever the sizes of the others are. */
hone_status hn_lower_place_like(hn_lower *L, hn_view *v, const hn_view *like, hn_error *err);
/* A constant that is not dense: *v, whose type and dims are set, in a buffer of its own. */
hone_status hn_lower_stored(hn_lower *L, const hn_constant *c, hn_view *v, hn_error *err);
/* A constant of the plan's own, of one axis, for the caller to fill in. */
hone_status hn_lower_constant(hn_lower *L, hone_dtype dtype, int64_t n, hn_tensor **t, hn_view *v,
                              hn_error *err);
/* The order that makes a dense view run as `like` does: by falling strides. */
void hn_lower_order(const hn_view *like, int *order);
/* Axis 1 innermost: what convolutions and pools work on. */
void hn_lower_order_channels_last(int rank, int *order);
/* A constant of the plan's own with these contents; takes over the reference, on failure too. */
hone_status hn_lower_adopt(hn_lower *L, hn_tensor *t, hn_view *v, hn_error *err);
/* Whether the contents of v are known. */
bool hn_lower_is_constant(const hn_lower *L, const hn_view *v);
/* Says where output i of n is. maker: the step that computed it and nothing else, or NULL. */
void hn_lower_set(hn_lower *L, const hn_node *n, int i, const hn_view *v, hn_step *maker);
/* The step that made input i of n, when n is all that uses the value; else NULL. */
hn_step *hn_lower_maker(const hn_lower *L, const hn_node *n, int i);

/* v itself when its elements are adjacent in order of its axes, else a copy that is. */
hone_status hn_lower_dense(hn_lower *L, const hn_node *n, hn_view *v, hn_error *err);
/* A copy of v that can be reshaped to these dims (hn_view_reshape), which v cannot. */
hone_status hn_lower_reshapable(hn_lower *L, const hn_node *n, hn_view *v, int rank,
                                const int64_t *dims, hn_error *err);
/* v itself when channels (axis 1) are adjacent, else a dense copy with axis 1 innermost. */
hone_status hn_lower_channels_last(hn_lower *L, const hn_node *n, hn_view *v, hn_error *err);
/* Lets what was computed into `from` be computed into `to` instead, which has its dims, and changes
 * all that refers to it. False, and nothing is changed: it is not all of a buffer of its own, or a
 * step cannot write or read it there. */
bool hn_lower_rehome(hn_lower *L, const hn_view *from, const hn_view *to);
/* A step that copies src to dst, which has the same dims. */
hone_status hn_lower_copy(hn_lower *L, const hn_node *n, const hn_view *src, const hn_view *dst,
                          hn_error *err);

int64_t hn_view_count(const hn_view *v);
bool hn_view_is_dense(const hn_view *v);
bool hn_view_same_place(const hn_view *a, const hn_view *b); /* equal in everything */
/* v as if it had these dims (same count), without moving anything. False: its strides do not allow
 * it. */
bool hn_view_reshape(const hn_view *v, int rank, const int64_t *dims, hn_view *out);

/* ---- steps ---- */

/* A step of that family, its problem copied. Its kernel is chosen when the lowering is done. */
hone_status hn_lower_step(hn_lower *L, const hn_node *n, const hn_family *family,
                          const void *problem, size_t problem_bytes, hn_step **out, hn_error *err);
/* Operand i of the step is at the view's offset. */
void hn_step_reads(hn_step *s, int i, const hn_view *v);
void hn_step_writes(hn_step *s, int i, const hn_view *v);
/* Puts the step behind all others. */
void hn_lower_move_last(hn_lower *L, hn_step *s);
/* The step has taken in node n too. */
hone_status hn_step_absorb(hn_lower *L, hn_step *s, const hn_node *n, hn_error *err);
/* The step computes too what another one does, whose result nothing else reads. */
hone_status hn_step_join(hn_lower *L, hn_step *s, const hn_step *other, hn_error *err);
#define HN_DECLINE(L, reason) \
    do {                      \
        (L)->why = (reason);  \
        *done = false;        \
        return HONE_OK;       \
    } while (0)

#endif

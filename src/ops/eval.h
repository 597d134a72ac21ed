/* The plain executor: runs a graph node by node through the operators' references. It is the oracle
 * for everything faster: correct, bounded in memory (a value is released after its last use), and
 * no quicker than that takes. */
#ifndef HN_OPS_EVAL_H
#define HN_OPS_EVAL_H

#include "ops/op.h"

/* What goes on from one run to the next where several make up one. */
typedef struct hn_exec_state {
    hn_rng rng;
    int64_t bodies; /* subgraphs run so far */
} hn_exec_state;

/* The values around a subgraph while it runs. */
typedef struct hn_frame hn_frame;
/* NULL: it is not computed yet. */
const hn_tensor *hn_frame_value(const hn_frame *f, const hn_value *v);

/* Where output i of a graph goes: asked for every output when its size is known, again only where
 * it gave NULL. Sets memory for that many bytes, or NULL, or fails. Before, *to is NULL, or the
 * memory of an input, to which the output may be written. */
typedef hone_status hn_output_place(void *ctx, int i, hone_dtype dtype, int rank,
                                    const int64_t *dims, void **to, hn_error *err);

typedef struct hn_exec_options {
    hn_allocator *alloc; /* activations and scratch; its limit bounds the run */
    hn_pool *pool;       /* NULL: the caller's thread alone */
    uint64_t seed;       /* of random operators that have no seed attribute */
    /* Called with each value as it is computed, constants excepted; may be NULL. */
    void (*observe)(void *ctx, const hn_value *v, const hn_tensor *t);
    void *observe_ctx;
    /* Called before each node and subgraph; returning false stops the run with HONE_E_LIMIT
     * ("stopped"). */
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
    const hn_stop *stop;  /* the same, also inside long operators; may be NULL */
    hn_exec_state *state; /* NULL: one of its own, from the seed */
    /* Offered every subgraph before it runs, for whoever can do so faster: *done, and then out[]
     * holds a reference per output, or NULL where place, which may be NULL, gave memory. May be
     * NULL. */
    hone_status (*body)(void *ctx, const hn_frame *around, const hn_graph *g,
                        const hn_tensor *const *in, hn_output_place *place, void *place_ctx,
                        hn_tensor **out, bool *done, hn_error *err);
    void *body_ctx;
    /* May be NULL. Outputs are computed where it says, or copied there. */
    hn_output_place *place;
    void *place_ctx;
} hn_exec_options;

/* in[]: one tensor per graph input; NULL is allowed where the input has an initializer. out[]: gets
 * one reference per graph output (dense tensors), or NULL where o->place gave memory. Fails naming
 * the node. */
hone_status hn_graph_run(const hn_graph *g, const hn_exec_options *o, const hn_tensor *const *in,
                         hn_tensor **out, hn_error *err);

/* Evaluates one node on given tensors; used by constant folding and inference. wanted outputs are
 * those the node has. out[n->n_outputs]. */
hone_status hn_node_run(const hn_node *n, const hn_exec_options *o, const hn_tensor *const *in,
                        hn_tensor **out, hn_error *err);

/* Why the graph cannot be run: the first node (subgraphs included) whose operator is unknown or has
 * no reference; HONE_OK when it can. */
hone_status hn_graph_runnable(const hn_graph *g, hn_error *err);

#endif

/* Layers: the words that a description is made of, and what they add to the graph.
 *
 * A layer takes the value that the line before it made, and makes the next one: a vector [N, F], an
 * image [N, C, H, W], or tokens [N, S, D]. Its parameters are initializers that are called after it
 * ("conv1.weight"). Its nodes are named after it, and so are the values they make.
 *
 * A layer is a row of layers.def and a descriptor in a file layer_*.c.
 */
#ifndef HN_MAKE_LAYER_H
#define HN_MAKE_LAYER_H

#include "ir/ir.h"
#include "make/initial.h"

/* What flows from layer to layer, as bits. */
typedef enum hn_flow_kind {
    HN_FLOW_NONE = 1, /* before the first layer */
    HN_FLOW_VECTOR = 2,
    HN_FLOW_IMAGE = 4,
    HN_FLOW_TOKENS = 8,
    HN_FLOW_IDS = 16, /* numbers of tokens, [N, S] */
} hn_flow_kind;
#define HN_FLOW_ANY (HN_FLOW_VECTOR | HN_FLOW_IMAGE | HN_FLOW_TOKENS)

typedef struct hn_flow {
    hn_flow_kind kind;
    hn_value *value;
    int64_t channels;      /* features of a vector or token */
    int64_t height, width; /* of an image */
    int64_t length;        /* tokens; 0: the input decides */
} hn_flow;

/* Parameters by what they are for, each of which has its own first values. */
#define HN_INITIAL_KIND_LIST(X)                     \
    X(CONV, "conv")           /* weights of conv */ \
    X(LINEAR, "linear")       /* and of linear */   \
    X(BIAS, "bias")           /* their biases */    \
    X(EMBEDDING, "embedding") /* tables, positions and class tokens */

typedef enum hn_initial_kind {
#define HN_X(name, word) HN_INITIAL_##name,
    HN_INITIAL_KIND_LIST(HN_X)
#undef HN_X
        HN_INITIAL_COUNT_
} hn_initial_kind;

typedef struct hn_maker {
    hn_model *model;
    hn_graph *graph;
    hn_flow flow;
    uint64_t seed;
    int64_t params, most_params; /* elements made so far, and how many there may be */
    hn_initial initial[HN_INITIAL_COUNT_];
    const char *at;  /* the name of the layer that is being made */
    hn_value *ids;   /* the numbers of tokens that are the input, [N, S]; NULL: it has none */
    hn_value *mask;  /* 1 for each token that counts, s64 [N, S]; NULL: all do */
    hn_value *added; /* what attention adds for the others; NULL: not made yet */
    hn_error *err;
} hn_maker;

/* ---- what layers are written with ---- */

/* The most inputs a node of theirs has. */
#define HN_MAKE_INPUTS 6

/* Adds a node, and the value that it makes. part: what is put behind the name of the layer; NULL:
 * the node is the layer itself. node may be NULL. */
hone_status hn_make_op(hn_maker *m, const char *op, const char *part, hn_value *const *in, int n_in,
                       hn_node **node, hn_value **out);
#define HN_MAKE_OP(m, op, part, node, out, ...)                                              \
    hn_make_op((m), (op), (part), (hn_value *const[]){__VA_ARGS__},                          \
               (int)(sizeof((hn_value *const[]){__VA_ARGS__}) / sizeof(hn_value *)), (node), \
               (out))
/* A parameter: "weight" of the layer conv1 is conv1.weight. */
hone_status hn_make_param(hn_maker *m, const char *part, hn_initial_kind kind, int rank,
                          const int64_t *dims, hn_fans f, hn_value **out);
/* One whose elements are all v at first. */
hone_status hn_make_param_of(hn_maker *m, const char *part, int64_t n, double v, hn_value **out);
/* Numbers that are no parameters. Equal ones are one value. */
hone_status hn_make_scalar(hn_maker *m, float v, hn_value **out);
hone_status hn_make_index(hn_maker *m, int64_t v, hn_value **out); /* an integer without axes */
hone_status hn_make_integers(hn_maker *m, const int64_t *v, int n, hn_value **out);
#define HN_MAKE_INTEGERS(m, out, ...)                     \
    hn_make_integers((m), (const int64_t[]){__VA_ARGS__}, \
                     (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (out))
/* An input of the graph: [N, dims], an axis of -1 being S. */
hone_status hn_make_input(hn_maker *m, const char *name, hone_dtype dtype, int rank,
                          const int64_t *dims, hn_value **out);
/* x times a parameter [in, out] named part.weight, plus part.bias unless it is not wanted; x is a
 * vector or tokens. part "": of the layer itself. */
hone_status hn_make_product(hn_maker *m, const char *part, hn_value *x, int64_t in, int64_t out_n,
                            bool bias, hn_value **out);

/* Windows that go over an image. */
typedef struct hn_window {
    int64_t kernel, stride, pad, dilation;
} hn_window;
/* Gives a node of the layer its windows, and m->flow the size of what it makes. */
hone_status hn_make_windows(hn_maker *m, hn_node *n, hn_window w);

/* ---- the table ---- */

#define HN_LAYER_PARAMS 8

typedef struct hn_layer_param {
    const char *name; /* NULL ends the list */
    double least, most;
    bool real;     /* need not be whole */
    bool required; /* else it has `value` if it is not given */
    double value;
} hn_layer_param;

typedef struct hn_layer {
    const char *name;
    unsigned takes; /* hn_flow_kind that may come in, as bits */
    hn_layer_param params[HN_LAYER_PARAMS];
    /* Changes m->flow. v: the parameters in order. */
    hone_status (*make)(hn_maker *m, const double *v);
} hn_layer;

#define HN_LAYER(name) extern const hn_layer hn_layer_##name;
#include "make/layers.def"
#undef HN_LAYER
extern const hn_layer *const hn_layers[];
extern const int hn_n_layers;
/* The place in the table; -1: there is none of that name. */
int hn_layer_number(hn_str name);

/* Sizes that parameters of layers may have: channels or tokens, and sides of an image. */
#define HN_MAKE_CHANNELS 16777216
#define HN_MAKE_SIDE 65536

#endif

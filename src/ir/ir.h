/* The graph: what a model computes.
 *
 *   model ──▶ graph ──▶ nodes (a list in topological order) ──▶ attributes ──▶ subgraphs
 *               │          │ inputs: uses        │ outputs
 *               │          ▼                     ▼
 *               └──────▶ values: name, type, producer or constant, list of uses
 *
 * Ownership: everything but tensors lives in the model's arena and dies with the model; tensors are
 * reference-counted. Removing a node or value takes it out of the lists and releases its tensors.
 *
 * Use-lists: each input slot of a node and each output of a graph is an `hn_use` linked into the
 * used value's list. Only the editing functions below change them. A node of a subgraph may use a
 * value of an enclosing graph directly; its use is in that value's list like any other.
 *
 * Nodes are held in the semantics of the newest opset hone knows; `since` and `source` remember how
 * a node came, so that an untouched one is saved as it came (formats/onnx, ops/lift).
 *
 * Names: every value has one, unique among all values visible where it lives (ONNX's rule). An
 * optional input that is absent is a NULL value; an optional output that is absent likewise.
 */
#ifndef HN_IR_IR_H
#define HN_IR_IR_H

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "ir/dims.h"
#include "ir/tensor.h"

typedef struct hn_model hn_model;
typedef struct hn_graph hn_graph;
typedef struct hn_node hn_node;
typedef struct hn_value hn_value;
typedef struct hn_attr hn_attr;
typedef struct hn_op_def hn_op_def; /* ops/op.h; the IR only keeps the pointer */

/* The newest opset of ai.onnx hone knows; the IR versions it reads (those before 3 lack opset
 * imports). */
#define HN_NEWEST_OPSET 28
#define HN_OLDEST_IR 3
#define HN_NEWEST_IR 14

/* Subgraphs deeper than this are refused: every walk over a model may recurse this far. */
#define HN_MAX_DEPTH 64

/* ---- values ---- */

/* Names of operators and attributes are compared often while a plan is made, and most differ at
 * once. */
static inline bool hn_same_name(const char *a, const char *b) {
    return a[0] == b[0] && strcmp(a, b) == 0;
}

typedef struct hn_use hn_use;
struct hn_use {
    hn_value *value; /* NULL: absent */
    hn_node *node;   /* the node whose input this is, or NULL: an output of `graph` */
    hn_graph *graph;
    int index; /* which input or output */
    hn_use *prev, *next;
};

typedef enum hn_type_kind {
    HN_TYPE_NONE = 0, /* nothing said */
    HN_TYPE_TENSOR,
    HN_TYPE_SPARSE,
    HN_TYPE_OTHER, /* sequence, map, optional: kept as the bytes of its TypeProto */
} hn_type_kind;

typedef struct hn_bytes {
    const void *p;
    size_t n;
} hn_bytes;

typedef struct hn_type {
    hn_type_kind kind;
    hone_dtype dtype;
    hn_shape shape;
    hn_bytes other;         /* HN_TYPE_OTHER */
    const char *denotation; /* or NULL */
    /* What each axis stands for, entries may be NULL; holds while the rank is n_denotations. */
    const char *const *dim_denotations;
    int n_denotations;
} hn_type;

typedef struct hn_prop {
    const char *key, *value;
} hn_prop;

typedef struct hn_props {
    int n;
    hn_prop *v;
} hn_props;

struct hn_value {
    const char *name;
    hn_graph *graph;
    int id; /* index in graph->values */
    hn_type type;
    /* The type as the file states it, saved again while it does not contradict `type`; NULL: none.
     * Whoever changes the sizes a model is for clears it. */
    const hn_type *stated;
    hn_node *producer; /* NULL for inputs and constants */
    int out_index;
    hn_use *uses;          /* first of the list */
    int n_uses, n_outputs; /* n_outputs: of these, outputs of a graph */
    hn_tensor *constant;   /* an initializer's contents, else NULL */
    /* Contents of a small integer value as dim expressions, found by inference; n_known 0: none. */
    hn_dim *known;
    int n_known, cap_known;
    hn_tensor *folded; /* contents of a small value, found by inference; NULL: none */
    bool is_input; /* a graph input; together with `constant`: an initializer that may be overridden
                    */
    bool declared; /* listed in value_info, so it is saved there again */
    bool lifted; /* made by lifting an old node to the newest semantics; saved only if still needed
                  */
    bool dead;
    const char *doc;
    hn_props metadata;
    uint64_t mark; /* scratch for walks */
    hn_bytes
        extra; /* an initializer's fields beside name, type, dims and data, saved as they came */
};

/* ---- attributes ---- */

typedef enum hn_attr_type { /* ONNX AttributeProto.AttributeType */
                            HN_ATTR_NONE = 0,
                            HN_ATTR_FLOAT = 1,
                            HN_ATTR_INT = 2,
                            HN_ATTR_STRING = 3,
                            HN_ATTR_TENSOR = 4,
                            HN_ATTR_GRAPH = 5,
                            HN_ATTR_FLOATS = 6,
                            HN_ATTR_INTS = 7,
                            HN_ATTR_STRINGS = 8,
                            HN_ATTR_TENSORS = 9,
                            HN_ATTR_GRAPHS = 10,
                            HN_ATTR_SPARSE_TENSOR = 11,
                            HN_ATTR_SPARSE_TENSORS = 12,
                            HN_ATTR_TYPE_PROTO = 13,
                            HN_ATTR_TYPE_PROTOS = 14,
} hn_attr_type;

const char *hn_attr_type_name(hn_attr_type t); /* "INT", "FLOATS" */
/* FLOATS for FLOAT and so on, and back; NONE for what is one already. */
hn_attr_type hn_attr_list_of(hn_attr_type t);
hn_attr_type hn_attr_element_of(hn_attr_type t);

struct hn_attr {
    const char *name;
    hn_attr_type type;
    int n; /* of the list types */
    union {
        float f;
        int64_t i;
        hn_str s;
        hn_tensor *tensor; /* also sparse */
        hn_graph *graph;
        const float *floats;
        const int64_t *ints;
        const hn_str *strings;
        hn_tensor **tensors;
        hn_graph **graphs;
        hn_bytes bytes;   /* TYPE_PROTO */
        hn_bytes *protos; /* TYPE_PROTOS */
    } u;
    /* Of a tensor, or of each of a list: fields of its TensorProto beside type, dims and data,
     * saved as they came; NULL: none. */
    hn_bytes *extra;
    const char *doc;
    hn_attr *next;
};

/* ---- nodes ---- */

/* A node as a file writes it. */
typedef struct hn_form {
    const char *op_type;
    hn_attr *attrs;
    int n_inputs;
    hn_value **inputs; /* NULL entries: absent */
    int n_outputs;
    hn_value **outputs;
} hn_form;

/* How a node stood in the file, kept when lifting it to the newest semantics changed it. Shared by
 * all the nodes one file node became; written again when none of them was edited (ops/lift.h). */
typedef struct hn_source {
    hn_form form;
    int64_t opset; /* of its domain, when it was read */
    int n_nodes;   /* nodes it became */
    bool edited;   /* one of them was changed or removed */
} hn_source;

struct hn_node {
    const char *name;   /* may be "" */
    const char *domain; /* "" for ai.onnx */
    const char *op_type;
    const hn_op_def *op; /* NULL: an operator hone does not know */
    hn_graph *graph;
    int64_t opset; /* of its domain, when it was read; INT64_MAX: made here, in the newest semantics
                    */
    bool old;      /* still in the semantics of `opset`; ops/lift.h brings it to the newest */
    bool edited;   /* changed since it was lifted (hn_node_touch) */
    bool formed; /* found to have the inputs, outputs and attributes it needs; not changed since */
    /* f16 or bf16: what the model computes it in, though here it takes and makes f32
     * (engine/widen.h). HONE_DTYPE_NONE: in the types it has. */
    hone_dtype written;
    hn_source *source; /* NULL: in the file it stood as it stands here */
    int n_inputs;
    hn_use *inputs;
    int n_outputs;
    hn_value **outputs;
    hn_attr *attrs;
    hn_node *prev, *next;
    const char *doc;
    const char *overload;
    hn_props metadata;
    hn_bytes extra; /* protobuf fields not otherwise understood, saved as they came */
    bool dead;
    uint64_t mark; /* scratch for walks */
};

/* ---- graphs and models ---- */

struct hn_graph {
    hn_model *model;
    hn_node *owner; /* the node whose attribute this is, or NULL */
    hn_graph *parent;
    int depth;
    const char *name;
    const char *doc;
    int n_inputs;
    hn_value **inputs;
    int n_outputs, cap_outputs, cap_inputs;
    hn_use *outputs;
    hn_node *first, *last;
    int n_nodes;
    hn_value **values; /* every value ever made here, dead ones included */
    int n_values, cap_values;
    hn_map names; /* name -> live value */
    hn_props metadata;
    hn_bytes extra;
};

typedef struct hn_opset {
    const char *domain; /* "" for ai.onnx */
    int64_t version;
} hn_opset;

struct hn_model {
    hn_allocator *alloc;
    hn_arena arena;
    hn_dims dims;
    int64_t ir_version;
    hn_opset *opsets;
    int n_opsets;
    const char *producer_name, *producer_version, *domain, *doc;
    int64_t model_version;
    hn_props metadata;
    hn_bytes extra;
    hn_graph *graph;
    const char *path; /* the file it came from, or NULL */
    /* On disk, with all files of external data in full: where it was last read from or written to.
     * 0: it was neither. */
    int64_t file_bytes;
    hn_graph **graphs; /* every graph made, for teardown */
    int n_graphs, cap_graphs;
    hn_map taken;  /* every name a value has had: where made-up names may not fall */
    bool unlisted; /* `taken` and the names of graphs are filled once a name is to be made */
    uint64_t n_made_up;
};

hone_status hn_model_create(hn_model **out, hn_allocator *alloc, hn_error *err);
void hn_model_destroy(hn_model *m); /* NULL accepted; half-built models too */
/* Version of the domain's opset, or 0 when the model does not import it. "ai.onnx" means "". */
int64_t hn_model_opset(const hn_model *m, const char *domain);
hone_status hn_model_set_opset(hn_model *m, const char *domain, int64_t version, hn_error *err);

/* A copy that shares the constants, for whoever edits a model that others still look at. Docs,
 * metadata, the forms nodes had in the file and all types but those of the inputs are left behind:
 * infer it. m is only read. */
hone_status hn_model_clone(hn_model **out, const hn_model *m, hn_allocator *alloc, hn_error *err);

/* The same, with names and attributes that lie in m, which must outlive it. */
hone_status hn_model_derive(hn_model **out, const hn_model *m, hn_allocator *alloc, hn_error *err);

/* A clone with docs, metadata, stated types and all else a file has, for whoever saves what was
 * made of a model. Its nodes count as edited: how they stood in the file is left behind here too.
 */
hone_status hn_model_copy(hn_model **out, const hn_model *m, hn_allocator *alloc, hn_error *err);

/* A clone of some nodes of a graph: those whose place in it is true in take (NULL: all of them).
 * What they use and do not make becomes an input, unless it is a constant: where all are taken, the
 * inputs of g come first. outputs: values of g or of a graph around it. *inputs: the value that
 * each input of the new model stands for; lives as long as that model. g is only read. */
hone_status hn_model_extract(hn_model **out, const hn_value *const **inputs, const hn_graph *g,
                             const bool *take, int n_outputs, const hn_value *const *outputs,
                             hn_allocator *alloc, hn_error *err);

/* Copies nodes of another graph that has no parent to the end of g: those whose place in `from` is
 * true in take. copies, by id of the values of `from`: what each that they use and do not make
 * stands for in g, constants excepted; gets those they make. A name that is taken gives way to
 * another. Sort g afterwards. */
hone_status hn_graph_graft(hn_graph *g, const hn_graph *from, const bool *take, hn_value **copies,
                           hn_error *err);

/* HONE_E_ARG when `path` is a file that constants of the model lie in: it is not to be overwritten.
 */
hone_status hn_model_check_target(const hn_model *m, const char *path, hn_error *err);

/* A graph of the model; parent and owner NULL for the top one (which becomes model->graph). */
hone_status hn_graph_create(hn_graph **out, hn_model *m, hn_graph *parent, hn_error *err);

/* ---- making and editing: the only ways to change links ---- */

/* A new value of that name. HONE_E_MODEL when the graph has a live value of that name already. NULL
 * name: one is made up from `hint`. */
hone_status hn_value_create(hn_value **out, hn_graph *g, const char *name, const char *hint,
                            hn_error *err);
/* Likewise, of a model that is `unlisted`: the name is no other value's, and is not copied. */
hone_status hn_value_create_unlisted(hn_value **out, hn_graph *g, const char *name, hn_error *err);
/* A new constant; takes over the caller's reference to the tensor, on failure too. */
hone_status hn_value_create_constant(hn_value **out, hn_graph *g, const char *name,
                                     const char *hint, hn_tensor *t, hn_error *err);
void hn_value_set_constant(hn_value *v, hn_tensor *t); /* takes over the reference */
/* Another name; HONE_E_MODEL when the graph has a live value of that name already. */
hone_status hn_value_rename(hn_value *v, const char *name, hn_error *err);
/* Name lookup in this graph alone / in it and the graphs around it. */
hn_value *hn_graph_value(const hn_graph *g, const char *name);
hn_value *hn_graph_find(const hn_graph *g, const char *name);
/* All uses of old become uses of by (graph outputs included). */
void hn_value_replace(hn_value *old, hn_value *by);
/* Takes an unused value without producer out of the graph. */
void hn_value_remove(hn_value *v);

hone_status hn_graph_add_input(hn_graph *g, hn_value *v, hn_error *err);
hone_status hn_graph_add_output(hn_graph *g, hn_value *v, hn_error *err);
/* Inputs that have a default become constants, as whoever changes them must take them for; how many
 * there were. */
int hn_model_fix_defaults(hn_model *m);
void hn_graph_set_output(hn_graph *g, int i, hn_value *v);

/* A node with n_inputs absent inputs and n_outputs absent outputs, not yet in the list. */
hone_status hn_node_create(hn_node **out, hn_graph *g, const char *domain, const char *op_type,
                           const char *name, int n_inputs, int n_outputs, hn_error *err);
/* A new node with the number of inputs and outputs that `like` has, and its texts, not copied. */
hone_status hn_node_create_like(hn_node **out, hn_graph *g, const hn_node *like, hn_error *err);
/* before NULL: at the end. */
void hn_node_insert(hn_node *n, hn_node *before);
void hn_node_set_input(hn_node *n, int i, hn_value *v); /* v may be NULL */
hone_status hn_node_resize_inputs(hn_node *n, int n_inputs, hn_error *err);
/* v must have no producer and be neither constant nor graph input. NULL detaches the output. */
void hn_node_set_output(hn_node *n, int i, hn_value *v);
/* Unlinks inputs and outputs (which are removed when unused) and takes the node out. */
void hn_node_remove(hn_node *n);
/* Call before changing a node in any other way than through these functions, or the types of its
 * values: a node that is not touched is saved as it came. */
void hn_node_touch(hn_node *n);

static inline hn_value *hn_node_input(const hn_node *n, int i) {
    return i < n->n_inputs ? n->inputs[i].value : NULL;
}
static inline hn_value *hn_node_output(const hn_node *n, int i) {
    return i < n->n_outputs ? n->outputs[i] : NULL;
}

/* Brings the graph's own nodes into topological order, moving as few as it takes; uses in subgraphs
 * count for the node that owns them. HONE_E_MODEL on a cycle. moved (may be NULL): they were not in
 * order before. */
hone_status hn_graph_sort(hn_graph *g, bool *moved, hn_error *err);

/* ---- attributes ---- */

hn_attr *hn_node_attr(const hn_node *n, const char *name); /* NULL if absent */
/* Adds an attribute of that name, or clears the one that is there, and marks the node touched. */
hone_status hn_node_add_attr(hn_attr **out, hn_node *n, const char *name, hn_attr_type type,
                             hn_error *err);
void hn_node_remove_attr(hn_node *n, const char *name);
hone_status hn_node_set_i(hn_node *n, const char *name, int64_t v, hn_error *err);
hone_status hn_node_set_f(hn_node *n, const char *name, float v, hn_error *err);
hone_status hn_node_set_s(hn_node *n, const char *name, const char *v, hn_error *err);
hone_status hn_node_set_ints(hn_node *n, const char *name, const int64_t *v, int count,
                             hn_error *err);

/* ---- walking ---- */

/* The next subgraph among the node's attributes: start with *at = 0; NULL at the end. */
hn_graph *hn_node_subgraph(const hn_node *n, int *at);
hn_graph *hn_attrs_subgraph(const hn_attr *first, int *at);
/* The constant contents of input i, or NULL. */
static inline hn_tensor *hn_node_constant(const hn_node *n, int i) {
    hn_value *v = hn_node_input(n, i);
    return v != NULL && !v->is_input ? v->constant : NULL;
}
/* "Conv 'conv1'" or "Conv (output 'x')", for messages. */
const char *hn_node_label(const hn_node *n, char *buf, size_t size);

/* ---- the verifier ---- */

/* Checks every invariant of this file: links both ways, order, names, scopes, depth. */
hone_status hn_model_verify(const hn_model *m, hn_error *err);

#endif

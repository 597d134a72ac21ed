/* The operator table: all that is true of an operator stands in one descriptor, in one file.
 *
 * To add an operator: write src/ops/<op>.c with a `const hn_op_def hn_op_<name>`, add its row to
 * ops.def, add cases to tests/ops/<op>.c. Everything else (reader, checks, inference, executor,
 * `hone ops`, docs) reads the table.
 *
 * Three functions carry the meaning:
 *   infer  output shapes (and small integer contents) from input shapes, symbolic or not;
 *   ref    the definition of the operator in plain C: floats are computed in double and rounded
 *          once when stored, integers are exact;
 *   cost   multiply-accumulates, and bytes where they are not simply inputs + outputs.
 * The executor runs infer with the actual sizes to allocate the outputs before it calls ref, so no
 * operator computes its output shape twice.
 */
#ifndef HN_OPS_OP_H
#define HN_OPS_OP_H

#include "base/pool.h"
#include "base/rng.h"
#include "base/stop.h"
#include "ir/ir.h"

/* ---- signature ----
 *
 * `.sig` is text: "(X:T, W:T, B:T?) -> (Y:T); T: float". Parsed once.
 *   name:TYPE       TYPE is a type variable (declared after ';') or a set used directly
 *   name:TYPE?      optional (may be absent or "")
 *   name:TYPE...    variadic, one or more; last only
 *   name:TYPE*      variadic, none or more; last only
 * All parameters of one type variable have the same type. A parameter with a set used directly
 * ("shape:s64", "seq:all...") is bound to nothing else. An output whose variable occurs in no input
 * gets its type from infer.
 * Sets, separated by spaces: dtype short names (f32 s64 bool ...) and the groups
 *   ieee   f16 f32 f64                 float  ieee bf16
 *   sint   s8 s16 s32 s64              uint   u8 u16 u32 u64         int  sint uint
 *   int4   s4 u4                       int2   s2 u2
 *   fp8    the four f8e4m3/f8e5m2 kinds
 *   num    float int                   tensor num bool c64 c128 string
 *   all    every type, the small ones and strings included
 */

#define HN_MAX_PARAMS 24

typedef struct hn_param {
    hn_str name;
    hn_dtypes types; /* what is allowed */
    int8_t var;      /* index of the type variable, -1: none */
    bool optional, variadic;
} hn_param;

typedef struct hn_sig {
    int n_in, n_out, n_vars;
    hn_param in[HN_MAX_PARAMS], out[HN_MAX_PARAMS];
    int in_min, in_max, out_min, out_max; /* INT_MAX when variadic */
} hn_sig;

/* ---- attributes ---- */

typedef struct hn_attr_def {
    const char *name;
    hn_attr_type type;
    bool required;
    /* The default of an optional INT, FLOAT or STRING; list types default to absent. A STRING with
     * a NULL default is absent. `has_default` false on an INT or FLOAT: its absence means
     * something, and the op asks hn_node_attr. */
    bool has_default;
    int64_t i;
    float f;
    const char *s;
    const char *one_of; /* STRING: accepted values separated by spaces, or NULL */
} hn_attr_def;

/* Rows of an attribute table; the table ends with {0}. */
#define HN_ATTR_I(name_, default_) \
    { .name = name_, .type = HN_ATTR_INT, .has_default = true, .i = default_ }
#define HN_ATTR_F(name_, default_) \
    { .name = name_, .type = HN_ATTR_FLOAT, .has_default = true, .f = default_ }
#define HN_ATTR_S(name_, default_, one_of_) \
    { .name = name_, .type = HN_ATTR_STRING, .has_default = true, .s = default_, .one_of = one_of_ }
#define HN_ATTR_OPT(name_, type_) \
    { .name = name_, .type = HN_ATTR_##type_ }
#define HN_ATTR_REQ(name_, type_) \
    { .name = name_, .type = HN_ATTR_##type_, .required = true }

/* The attribute's value, or the default its operator declares. Only for attributes the op declares;
 * nodes are checked against the table first, so the type is right and required ones are there. */
int64_t hn_attr_i(const hn_node *n, const char *name);
float hn_attr_f(const hn_node *n, const char *name);
/* Terminated text; NULL when absent without default. */
const char *hn_attr_s(const hn_node *n, const char *name);
/* NULL and *count = 0 when absent. */
const int64_t *hn_attr_ints(const hn_node *n, const char *name, int *count);
const float *hn_attr_floats(const hn_node *n, const char *name, int *count);
hn_graph *hn_attr_graph(const hn_node *n, const char *name);
static inline bool hn_attr_is(const hn_node *n, const char *name, const char *value) {
    const char *s = hn_attr_s(n, name);
    return s != NULL && strcmp(s, value) == 0;
}

/* ---- inference ---- */

typedef struct hn_infer_in {
    bool present;
    bool is_tensor;   /* false: a sequence, map or optional; shape is unknown */
    hone_dtype dtype; /* HONE_DTYPE_NONE: not known */
    hn_shape shape;
    const hn_tensor *tensor; /* the contents when known exactly (dense), else NULL */
    const hn_dim *values;    /* the contents of a small integer tensor as dims, else NULL */
    int n_values;
} hn_infer_in;

typedef struct hn_infer_out {
    bool wanted;
    hone_dtype dtype; /* filled in from the signature where it says so, before infer is called */
    hn_shape shape;   /* rank -1 before infer is called */
    hn_dim *values;
    int n_values;
} hn_infer_out;

typedef struct hn_infer hn_infer;
struct hn_infer {
    const hn_node *node;
    hn_dims *dims;
    hn_arena *scratch; /* dies when the node is done */
    int n_in, n_out;
    hn_infer_in *in;
    hn_infer_out *out;
    bool exact; /* the node will be evaluated: infer need not follow contents */
    /* Infers a subgraph whose inputs have the given types; results go to the types of its values.
     * certain false: the subgraph may not run, so a node in it that does not infer is no error
     * before it runs; the shapes of its outputs are then unknown.
     * NULL when sizes are actual (then control flow is not inferred). */
    hone_status (*body)(hn_infer *c, hn_graph *g, bool certain, int n, const hn_infer_in *inputs,
                        hn_error *err);
    void *driver;
};

/* "To the end" is written as INT64_MAX or the like. Contents past this number are known as this
 * number: past every size, but not to be calculated with. */
#define HN_FAR ((int64_t)1 << 60)

/* Integer tensors with at most this many elements have their contents followed. */
#define HN_MAX_KNOWN 256

static inline bool hn_has_in(const hn_infer *c, int i) { return i < c->n_in && c->in[i].present; }
static inline bool hn_wants_out(const hn_infer *c, int i) {
    return i < c->n_out && c->out[i].wanted;
}
/* Rank of input i, or -1 when it is absent or not known. */
static inline int hn_in_rank(const hn_infer *c, int i) {
    return hn_has_in(c, i) ? c->in[i].shape.rank : -1;
}
static inline const hn_shape *hn_in_shape(const hn_infer *c, int i) { return &c->in[i].shape; }

/* Setting outputs that are not there does nothing. */
void hn_set_shape(hn_infer *c, int out, const hn_shape *s);
void hn_set_dtype(hn_infer *c, int out, hone_dtype t);
/* The type that INT attribute `attr` names; HONE_E_TYPE when the signature does not allow it. */
hone_status hn_set_dtype_named(hn_infer *c, int out, const char *attr, hn_error *err);
/* Room for n known contents of output `out`, to be filled by the caller; NULL when n is over
 * HN_MAX_KNOWN, the output is not wanted, or memory ran out (then dims->status is set). */
hn_dim *hn_set_values(hn_infer *c, int out, int n);
/* Integer contents of input i when known as numbers: writes at most `max`, returns the count, or -1
 * when not known (or more than max). */
int hn_in_ints(const hn_infer *c, int i, int64_t *v, int max);
/* Contents as dims, numbers kept within +-HN_FAR; NULL when not known. *n is their count. */
const hn_dim *hn_in_values(const hn_infer *c, int i, int *n);
/* Fails with HONE_E_SHAPE naming the input when its rank is known and not within [lo, hi]. */
hone_status hn_want_rank(const hn_infer *c, int i, int lo, int hi, hn_error *err);
/* Brings axis into [0, rank), or fails with HONE_E_ARG. *axis is changed only on success. */
hone_status hn_want_axis(int64_t *axis, int rank, hn_error *err);
/* Fails when two dims are both numbers and differ. what: "channels of X and W". */
hone_status hn_want_equal(hn_dim a, hn_dim b, const char *what, hn_error *err);

/* Shape functions many operators share. */
hone_status hn_infer_same(hn_infer *c,
                          hn_error *err); /* every output has input 0's shape; contents too for
                                             outputs of same dtype are NOT copied */
hone_status hn_infer_broadcast(hn_infer *c, hn_error *err); /* output 0: all inputs broadcast */

/* ---- evaluation ---- */

typedef struct hn_eval hn_eval;
struct hn_eval {
    const hn_node *node;
    int n_in, n_out;
    const hn_tensor *const *in; /* NULL: absent. Dense and aligned. */
    hn_tensor **out;    /* allocated, uninitialised; NULL: not wanted. Traits DYNAMIC: all NULL */
    const bool *wanted; /* [n_out] */
    hn_allocator *alloc;
    hn_pool *pool;
    hn_rng *rng;
    hn_arena *scratch; /* tag SCRATCH; dies when the node is done */
    void *driver;
    const hn_stop *stop; /* ends the run, what is in out is then not used; NULL: nobody can */
};

static inline const hn_tensor *hn_eval_in(const hn_eval *e, int i) {
    return i < e->n_in ? e->in[i] : NULL;
}
static inline hn_tensor *hn_eval_out(const hn_eval *e, int i) {
    return i < e->n_out ? e->out[i] : NULL;
}
/* Uninitialised scratch for n elements of `size` bytes; NULL: out of memory (return HN_NOMEM(err)).
 */
void *hn_scratch(hn_eval *e, int64_t n, size_t size);
/* Elements [0, t->n) of t as doubles / integers in scratch. */
double *hn_scratch_f64(hn_eval *e, const hn_tensor *t);
int64_t *hn_scratch_s64(hn_eval *e, const hn_tensor *t);
/* For DYNAMIC operators: allocates output i (does nothing if it is not wanted: e->out[i] stays
 * NULL).*/
hone_status hn_eval_alloc(hn_eval *e, int i, hone_dtype dtype, int rank, const int64_t *dims,
                          hn_error *err);
/* For DYNAMIC operators: makes t (whose reference is taken over) output i. */
void hn_eval_give(hn_eval *e, int i, hn_tensor *t);
/* Runs a subgraph of the node: in[] has one tensor per input of the graph (borrowed); out[] gets a
 * reference per output. */
hone_status hn_eval_body(hn_eval *e, const hn_graph *g, int n_in, const hn_tensor *const *in,
                         hn_tensor **out, hn_error *err);
/* Runs a subgraph without inputs whose outputs are the node's own. */
hone_status hn_eval_branch(hn_eval *e, const hn_graph *g, hn_error *err);

/* ---- cost ---- */

typedef struct hn_cost {
    hn_dim macs; /* multiply-accumulates */
    hn_dim read_bytes, written_bytes;
} hn_cost;

/* ---- traits ---- */

typedef enum hn_trait {
    HN_VIEW = 1 << 0,        /* output 0 has the bytes of input 0 */
    HN_DYNAMIC = 1 << 1,     /* ref makes its outputs: sizes depend on contents, or they exist */
    HN_CONTROL = 1 << 2,     /* has subgraphs; implies HN_DYNAMIC */
    HN_RANDOM = 1 << 3,      /* not a function of its inputs: never folded, never merged */
    HN_ANY_ADDRESS = 1 << 4, /* ref moves input 0 as bytes: it need not be aligned */
    HN_CONVERTS = 1 << 5,    /* it is there to give its input another element type */
    HN_ACTIVATION = 1 << 6,  /* a function that kernels apply to what they have just computed */
    HN_HOMOGENEOUS = 1 << 7, /* f(s * x) = s * f(x) for s > 0, channel by channel */
    HN_NORM = 1 << 8, /* normalizes the axes from attribute `axis` on, multiplies by input 1 and
                         adds input 2 */
} hn_trait;

/* ---- integers ----
 *
 * An operator that can be quantized says here how it computes from integers. Quantization, the
 * engine and comparisons read nothing else, so an operator that fills in these fields is quantized
 * without a change elsewhere. All zero: it computes in floats whatever is done.
 */

typedef enum hn_role {
    HN_ROLE_NONE,
    HN_ROLE_PRODUCT, /* input 0 times a constant weight, summed: see hn_weights_def */
    HN_ROLE_ADD,     /* input 0 plus input 1; a product before it may add the other in its step */
    HN_ROLE_SUB,     /* input 0 less input 1 */
    HN_ROLE_MUL,     /* input 0 times input 1 */
    HN_ROLE_MEAN,    /* means over windows of images; without an attribute kernel_shape, over all */
    HN_ROLE_TABLE,   /* a function of one number: `function` */
    HN_ROLE_LIMIT,   /* cuts at limits: `limits`; part of the step of what it reads */
    HN_ROLE_MOVE,    /* moves elements: input 0 and the outputs share a scale */
    HN_ROLE_MAX,     /* the largest of windows, as for MEAN; input and output share a scale */
    HN_ROLE_JOIN,    /* moves the elements of all its inputs: they and the output share a scale */
    HN_ROLE_BIAS,    /* an ADD of a constant to a product; of single nodes, not of operators */
    HN_ROLE_STATE,   /* a PRODUCT, then a recurrence in floats; of single nodes too */
    HN_ROLE_COUNT_
} hn_role;

typedef enum hn_weight_kind {
    HN_WEIGHT_NONE,
    HN_WEIGHT_MATRIX,  /* the last two axes are a matrix */
    HN_WEIGHT_WINDOWS, /* axes 0 and 1 are channels, the others those of a window */
    HN_WEIGHT_STATE,   /* of a recurrent layer: W of its input, then R of its state */
} hn_weight_kind;

/* How a node multiplies by its weight: alpha * (x w) + beta * bias. */
typedef struct hn_weight_use {
    int channel_axis; /* of the weight: channels of the result */
    int sum_axis;     /* of the weight: summed over, beside those of a window; -1: depthwise */
    bool transposed;  /* x is, before it is multiplied */
    float alpha, beta;
} hn_weight_use;

typedef struct hn_weights_def {
    hn_weight_kind kind;
    int input;           /* the first that is a weight; of STATE, the next is one too */
    int bias;            /* the input that is added to the product; 0: none */
    const char *dynamic; /* the operator that multiplies integers whose range is found at run time;
                            NULL: there is none */
    /* How n uses a weight of these dims; false: n has no use for one. */
    bool (*use)(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u);
} hn_weights_def;

/* An operator that quantizers put in the place of others. */
typedef struct hn_quantized_def {
    const char *of;          /* those, "MatMul Gemm" */
    int weight, scale, zero; /* the inputs for what is input 1 of those; 0: none, or not known */
} hn_quantized_def;

/* ---- positions ----
 *
 * Which positions of its inputs an element of an output depends on: what must be known to take
 * slices out of values (compress/channel_groups.h). Roles say it of products, of operators that
 * move elements and of functions of single numbers, `derivative` of what works element by element.
 */
typedef enum hn_mixing {
    HN_MIXES_ALL,     /* not known: nothing can be taken out */
    HN_MIXES_NOTHING, /* element by element; inputs are broadcast */
    HN_MIXES_SPACE,   /* axes from 2 on; inputs from 1 on are vectors along axis 1, or settings */
    HN_MIXES_ALONG,   /* the axis that attribute `axis` names */
    HN_MIXES_REDUCED, /* the axes that input 1 names, or all, which go unless `keepdims` */
    HN_MIXES_SIZES,   /* it reads the sizes of its input alone */
} hn_mixing;

/* What in a node repeats sizes of its values, and has to change with them. */
typedef enum hn_sizes_kind {
    HN_SIZES_NONE,
    HN_SIZES_SHAPE,  /* the input is the shape of output 0; 0 and -1 stand for what follows */
    HN_SIZES_PARTS,  /* the sizes of the outputs along `axis`; absent: equal parts */
    HN_SIZES_BOUNDS, /* this input and the next: where slices begin and end; then axes and steps */
    HN_SIZES_PADS,   /* elements before and behind along each axis, or the axes of input 3 */
    HN_SIZES_GROUPS, /* attribute `group`: as many groups as there are channels, or fewer */
} hn_sizes_kind;

typedef struct hn_sizes_def {
    hn_sizes_kind kind;
    int input;
} hn_sizes_def;

/* ---- the descriptor ---- */

typedef struct hn_grad hn_grad; /* ops/grad.h */

struct hn_op_def {
    const char *domain; /* NULL or "" : ai.onnx */
    const char *name;
    const char
        *versions; /* opsets in which its definition changed, "1 6 7 13 14"; the newest last */
    const char *sig;
    const hn_attr_def *attrs; /* NULL: none */
    uint32_t traits;
    uint32_t settings; /* bit i: a constant input i is a statistic or scale, not a trained weight */
    uint32_t learned;  /* bit i: input i is a scale that is trained, one number or many */
    hn_role role;
    const char *(*refuse)(const hn_node *n); /* why n has no form of the role; NULL: it has one */
    /* Of LIMIT: cuts at numbers *lo and *hi, which are -INFINITY and INFINITY where there is no
     * limit; false: they are computed. */
    bool (*limits)(const hn_node *n, double *lo, double *hi);
    /* Of TABLE: f(x), by arithmetic that gives the same bits on every machine (hn_exp). */
    double (*function)(const hn_node *n, double x);
    double least, most; /* of output 0, whatever is read; both 0: not known */
    hn_mixing mixing;
    hn_sizes_def sizes;
    const hn_weights_def *weights;                    /* NULL: no input is a weight */
    const hn_quantized_def *quantized;                /* NULL: it is none of those */
    hone_status (*infer)(hn_infer *c, hn_error *err); /* NULL: shapes unknown before running */
    hone_status (*ref)(hn_eval *e, hn_error *err);
    void (*cost)(const hn_infer *c, hn_cost *cost); /* NULL: 0 MACs, bytes of inputs and outputs */
    /* How it is differentiated (grad.h): a text for elementwise operators, a function for others,
     * the nodes of simpler operators that it stands for, or why it cannot be. */
    const char *derivative;
    hone_status (*grad)(hn_grad *g, hn_error *err);
    hone_status (*spell)(hn_grad *g, hn_value **y, hn_error *err);
    const char *no_grad;
    /* Any further fact a family of operators shares a function over (a C function, a mode). */
    const void *data;
};

/* Every operator, sorted by domain, then name. */
extern const hn_op_def *const hn_ops[];
extern const int hn_n_ops;
/* NULL when hone does not know it. Domains "ai.onnx" and "" are one. */
const hn_op_def *hn_op_find(const char *domain, const char *name);
/* Looks up the operator of every node of the model; what is not known stays NULL. */
void hn_model_bind_ops(hn_model *m);
const hn_sig *hn_op_sig(const hn_op_def *op);
/* The types of one of the sets named above; 0: there is no such set. */
hn_dtypes hn_op_types(hn_str name);
const hn_attr_def *hn_op_attr(const hn_op_def *op, const char *name);
/* The version of the definition in force at an opset (the largest of `versions` not above it); 0
 * when the operator did not exist yet. */
int hn_op_version_at(const hn_op_def *op, int64_t opset);
int hn_op_first_version(const hn_op_def *op);

/* Arity and attributes against the descriptor; fails on the first finding. Attributes the operator
 * does not declare are not an error (they are kept). */
hone_status hn_node_check_form(const hn_node *n, hn_error *err);
/* Input types (HONE_DTYPE_NONE: absent or not known) against the signature; out[] gets the types
 * the signature gives the outputs, HONE_DTYPE_NONE where infer must say. */
hone_status hn_op_bind(const hn_node *n, int n_in, const hone_dtype *in, int n_out, hone_dtype *out,
                       hn_error *err);

#endif

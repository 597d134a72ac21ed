/* Plans: exactly how one machine computes one graph at one set of shapes.
 *
 * A plan is a list of steps. A step is a kernel with its problem and the places of its operands,
 * or, where no kernel serves, an operator's reference. Places are views of buffers; a buffer is a
 * piece of the slab, an input or output of the caller's, a constant, or packed weights:
 *
 *   value of the graph ──▶ view {buffer, offset, dims, strides} ──▶ buffer ──▶ address
 *
 * Several values may be views of one buffer: a transpose, a slice or a reshape that changes no byte
 * is no step at all. Buffers of the slab share its bytes when their lives do not meet (memory.h).
 *
 * Steps cannot fail, but for those that find contents their operator does not allow (`check`):
 * such a run ends with an error, and the next one starts anew.
 *
 * A plan is made once and never changes; what a run writes to is in its context (run.c).
 */
#ifndef HN_ENGINE_PLAN_H
#define HN_ENGINE_PLAN_H

#include "engine/device.h"
#include "ir/ir.h"

typedef enum hn_buffer_kind {
    HN_BUFFER_SLAB,
    HN_BUFFER_INPUT,    /* index: of the graph's inputs */
    HN_BUFFER_OUTPUT,   /* index: of the graph's outputs */
    HN_BUFFER_CONSTANT, /* tensor, read where it is: weights streamed from the file are this kind */
    HN_BUFFER_STORED, /* constant, in another format: packed or expanded before a plan is complete */
    HN_BUFFER_PACKED, /* index: into the plan's weights */
} hn_buffer_kind;

/* A constant in the format it is stored in: the tensors that hold it, and how they make it. */
typedef struct hn_constant {
    const hn_tensor *data;  /* elements, codes, indices, or the elements that are not 0 */
    const hn_tensor *other; /* codes: scales; a codebook: the table; sparse: places */
    const hn_tensor *zero;  /* codes: zero points; NULL: 0 */
    hn_stored as;           /* its addresses are those of the contents whenever they are read */
} hn_constant;

typedef struct hn_buffer {
    hn_buffer_kind kind;
    int index;
    const hn_tensor *tensor;
    const hn_constant *constant; /* of the kind STORED; else NULL */
    size_t bytes;
    int first, last; /* steps between which it is alive; first > last: never */
    int inside;      /* the buffer it is a part of, or -1 */
    hn_memory_space space;
    size_t offset; /* in the slab of its space */
} hn_buffer;

/* Element [i0, i1, ...] lies at offset + sum of i*stride, counted in elements of the buffer. */
typedef struct hn_view {
    int buffer; /* -1: none */
    hone_dtype dtype;
    int rank;
    int64_t offset;
    int64_t dims[HONE_MAX_RANK], strides[HONE_MAX_RANK];
} hn_view;

typedef struct hn_operand {
    int buffer;    /* -1: absent */
    size_t offset; /* in bytes */
} hn_operand;

/* The most operands a step may have. */
#define HN_MAX_OPERANDS 32

/* What a step has to tell, for profiles and logs. Runs do not read it. */
typedef struct hn_step_facts {
    const hn_node *maker;      /* the node it was made for */
    const char *label;         /* "Conv+Add+Clip" */
    double flops;              /* of the arithmetic asked for; 0: not counted */
    double macs;               /* of steps joined in strips; of others hn_step_macs tells */
    double bytes;              /* read and written */
    double constant_bytes;     /* of weights, as they are stored for it */
    size_t live_bytes;         /* of activations that are alive while it runs */
    const char *why;           /* it is this kernel that computes it */
    hn_isa isa;                /* the instruction sets it is computed with */
    hn_precision exactness;    /* of its kernel */
    const char *why_precision; /* of a product: why it computes in what it does; else NULL */
    const char *why_float; /* of a quantized graph: why it does not compute in integers; or NULL */
} hn_step_facts;

/* In the order in which a run reads it; what only making a plan needs comes last. */
typedef struct hn_step {
    const hn_family *family; /* NULL: the reference of `node` */
    const hn_kernel *kernel;
    void *problem;
    /* A step whose operands may hold what the operator does not allow, such as an index that is
     * out of range: its kernel then sets the s32 that is operand `flag`, and the run ends with the
     * error that `check` finds. NULL: it cannot fail. */
    hone_status (*check)(const void *problem, void *const *operands, hn_error *err);
    const hn_node *node;   /* the last of the nodes it computes */
    int together;          /* the first of that many steps that run at once; 0: by itself */
    int lane;              /* of those, the lane that runs it, counted from 1; 0: all of them */
    hn_memory_space space; /* of its operands: that of its kernel */
    uint32_t pieces;       /* between which it can be stopped; 0: not while it runs */
    bool asks;             /* it takes long enough to ask the caller whether to go on */
    bool sure;  /* it cannot fail, and no run is ended before or in it (hn_plan.replaces) */
    bool alone; /* too little work to wake other threads for */
    hn_work work;
    /* A reference step: inputs and outputs as dense views; buffer -1 where absent. */
    int n_in, n_out;
    hn_view *in, *out;
    int flag;
    int n_operands;
    uint32_t writes; /* bit i: operand i is written */
    hn_operand operands[HN_MAX_OPERANDS];
    hn_step_facts *facts;
    size_t problem_bytes;
    hn_precision precision; /* the least that is allowed */
    int packed;             /* of the plan's packed weights, where the kernel packs */
    const hn_view *weights; /* the constant to pack as it is to be seen; NULL: as it lies */
} hn_step;

/* One with no operands; NULL: out of memory. */
hn_step *hn_step_create(hn_arena *arena);

/* The problem of a step that is of this family; NULL: it is of another, or s is NULL. For lowerings
 * that change or take apart what another lowering made; what is true of a family, hn_family says.
 */
static inline void *hn_step_problem(const hn_step *s, const hn_family *family) {
    return s != NULL && s->family == family ? s->problem : NULL;
}

/* A constant that the model does not have: a table, or a combination of others. */
typedef struct hn_extra_constant hn_extra_constant;
struct hn_extra_constant {
    hn_tensor *tensor;
    hn_extra_constant *next;
};

/* An output that is shown, and the step that ends it; -1: none writes it. */
typedef struct hn_shown_output {
    int step, output;
} hn_shown_output;

/* An input and the output that becomes its value in the next run, by index of the graph's. Such an
 * input, a state or a parameter, is one for every plan: nothing of it is folded or packed, and its
 * memory, which runs change, is that of whoever keeps it. */
typedef struct hn_state_pair {
    int input, output;
} hn_state_pair;

typedef struct hn_premade hn_premade; /* premade.h */
typedef struct hn_weights hn_weights; /* weights.h */
typedef struct hn_packed hn_packed;

typedef struct hn_plan {
    hn_arena arena;
    hn_model *model; /* the graph at these shapes; constants are shared */
    int n_steps;
    hn_step **steps;
    int n_buffers;
    hn_buffer *buffers;
    hn_view *inputs;  /* by index of the graph's inputs; buffer -1: a constant, or not used */
    hn_view *outputs; /* dense */
    hn_shown_output
        *shown; /* one per output, by step: they lie in the slab; NULL: they are placed */
    /* By output: the input of its pair, if the output may be written to the same memory, or -1. All
     * steps from the first such write on are sure: a run that fails has changed no input. NULL:
     * there are no pairs. */
    int *replaces;
    int n_packed;
    hn_packed **packed;
    hn_extra_constant *made;
    size_t slab_bytes;    /* activations */
    size_t scratch_bytes; /* shared workspace and that of all lanes */
    /* The device that some of its steps run on; NULL: none does. Its workspace lies behind its
     * activations. */
    const hn_device *device;
    size_t device_bytes, device_scratch;
    size_t lane_offset, lane_bytes;
    int lanes;
} hn_plan;

/* The buffer whose bytes a buffer takes: its own, unless it lies inside another. */
static inline int hn_buffer_root(const hn_plan *p, int buffer) {
    while (p->buffers[buffer].inside >= 0) buffer = p->buffers[buffer].inside;
    return buffer;
}

/* Whether a buffer is a constant, *out, in whatever format. out may be NULL. */
static inline bool hn_buffer_constant(const hn_buffer *b, hn_constant *out) {
    const hn_tensor *t = b->tensor;
    if (b->kind != HN_BUFFER_CONSTANT && b->kind != HN_BUFFER_STORED) return false;
    if (out == NULL) return true;
    *out = b->kind == HN_BUFFER_STORED
               ? *b->constant
               : (hn_constant){.data = t, .as = {.type = t->dtype, .n = t->n}};
    return true;
}

/* Buffer number k of a step (its root), -1 where there is none, and whether it is written; false past
 * the last. Operands come first. */
static inline bool hn_step_buffer(const hn_plan *p, const hn_step *s, int k, int *root,
                                  bool *written) {
    int buffer;
    if (k >= s->n_operands + s->n_in + s->n_out) return false;
    if (k < s->n_operands) {
        buffer = s->operands[k].buffer;
        *written = s->writes >> k & 1;
    } else if (k < s->n_operands + s->n_in) {
        buffer = s->in[k - s->n_operands].buffer;
        *written = false;
    } else {
        buffer = s->out[k - s->n_operands - s->n_in].buffer;
        *written = true;
    }
    *root = buffer < 0 ? -1 : hn_buffer_root(p, buffer);
    return true;
}

#endif

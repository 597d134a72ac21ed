/* What the files of the ONNX reader share: onnx_read.c builds the graph, onnx_tensor.c the tensors,
 * onnx_function.c inlines functions. */
#ifndef HN_FORMATS_ONNX_READER_H
#define HN_FORMATS_ONNX_READER_H

#include "formats/onnx.h"
#include "formats/onnx_schema.h"

typedef struct hn_onnx_default {
    hn_bytes name, attr; /* an AttributeProto */
} hn_onnx_default;

/* A FunctionProto of the model. */
typedef struct hn_onnx_function {
    hn_bytes bytes;
    const char *domain, *name, *overload;
    int n_opsets;
    hn_opset *opsets;
    int n_defaults;
    hn_onnx_default *defaults;
    int n_inputs, n_outputs;
    hn_bytes *inputs, *outputs; /* names */
    bool called;
    struct hn_onnx_function *next; /* in the order of the file, last first */
} hn_onnx_function;

/* One call being inlined. */
typedef struct hn_onnx_call {
    const hn_onnx_function *function;
    hn_node *node;
    uint64_t id; /* left in the mark of each node made for it */
} hn_onnx_call;

/* More attributes of a node, or imports, than this are refused: both are searched one by one. */
#define HN_ONNX_MOST_ATTRS 256
#define HN_ONNX_MOST_OPSETS 256

typedef struct hn_onnx_reader {
    hn_allocator *alloc;
    hn_model *model; /* NULL when a lone tensor is read */
    hn_file *file;
    bool map;
    const char *folder;  /* of external data; NULL: none is allowed */
    hn_file **externals; /* each file opened once */
    int n_externals, cap_externals;
    hn_arena scratch;                             /* dies with the reader */
    hn_map functions;                             /* "domain\0name\0overload" -> hn_onnx_function */
    hn_onnx_function *last_function;              /* NULL: there is none */
    void (*finding)(void *ctx, const char *text); /* as in hn_onnx_options */
    void *finding_ctx;
    int64_t negative_dim;         /* the last size below 0 that was read; 0: none */
    const hn_onnx_stored *stored; /* as in hn_onnx_options */
    hn_dim any_size;              /* the symbol of a name that says nothing; NULL: none was read */
} hn_onnx_reader;

/* What names mean in one graph of the file. In a function the values have other names than in the
 * file, hence a map of its own. */
typedef struct hn_onnx_scope hn_onnx_scope;
struct hn_onnx_scope {
    const hn_onnx_scope *outer;
    hn_graph *graph;
    hn_map *names;
    const hn_onnx_call *call; /* NULL: not in a function */
};

/* Stands for an absent argument among the names of a call; never written. */
extern hn_value hn_onnx_absent;

static inline hn_wire hn_onnx_open(const hn_onnx_reader *r, hn_onnx_message message, hn_bytes b) {
    return hn_wire_open(&hn_onnx_messages[message], b, r->file->data);
}

/* If the reader is lenient: tells what err says of node n (NULL: of none) and gives HONE_OK,
 * whereupon the caller repairs and goes on. Lack of memory, limits, and bytes that are no protobuf
 * stay errors. */
hone_status hn_onnx_forgive(hn_onnx_reader *r, const hn_node *n, hone_status status, hn_error *err);

/* A terminated copy in the arena; HONE_E_FORMAT when there is a zero byte inside. */
hone_status hn_onnx_text(hn_arena *arena, hn_bytes b, const char *what, const char **out,
                         hn_error *err);
/* The fields of the message that are unknown or have their bit set in `keep`, copied to the model's
 * arena. */
hone_status hn_onnx_extra(hn_onnx_reader *r, hn_onnx_message message, hn_bytes bytes, uint32_t keep,
                          hn_bytes *out, hn_error *err);

/* name: that of the TensorProto; may be NULL. */
hone_status hn_onnx_tensor(hn_onnx_reader *r, hn_bytes bytes, hn_tensor **out, hn_bytes *name,
                           hn_error *err);
hone_status hn_onnx_sparse(hn_onnx_reader *r, hn_bytes bytes, hn_tensor **out, hn_bytes *name,
                           hn_error *err);

/* Builds the nodes that are `field` of the message (a graph or a function) and inserts them before
 * `before` (NULL: at the end). */
hone_status hn_onnx_nodes(hn_onnx_reader *r, const hn_onnx_scope *s, hn_onnx_message message,
                          hn_bytes bytes, uint32_t field, hn_node *before, hn_error *err);
/* True for an output of a caller that no node of the body has claimed yet. */
bool hn_onnx_unclaimed(const hn_value *v);
/* How often a repeated field occurs. */
hone_status hn_onnx_count(hn_onnx_reader *r, hn_onnx_message message, hn_bytes bytes,
                          uint32_t field, int *count, hn_error *err);
hone_status hn_onnx_opset(hn_onnx_reader *r, hn_bytes bytes, hn_opset *out, hn_error *err);

hone_status hn_onnx_add_function(hn_onnx_reader *r, hn_bytes bytes, hn_error *err);
/* Replaces every call of a function of the model by the function's nodes. */
hone_status hn_onnx_inline(hn_onnx_reader *r, hn_error *err);
/* What a function's attribute means in a call: the attribute of the calling node, or (*given NULL)
 * the AttributeProto of its default, or no bytes. */
hone_status hn_onnx_argument(hn_onnx_reader *r, const hn_onnx_call *call, hn_bytes name,
                             hn_attr **given, hn_bytes *fallback, hn_error *err);
/* Takes the graphs of the call's attribute over; they can go to one place only. */
hone_status hn_onnx_move_graphs(hn_node *node, hn_attr *a, hn_attr *from, hn_error *err);
/* "a/b", as long as the reader lives; NULL: out of memory. */
const char *hn_onnx_join(hn_onnx_reader *r, const char *a, const char *b);

#endif

/* The text form: ONNX's own textual syntax (docs/Syntax.md of ONNX), printed and parsed.
 *
 *     <
 *        ir_version: 10,
 *        opset_import: ["" : 21]
 *     >
 *     classify (float[batch,256] x) => (float[batch,2] y)
 *     <
 *        float[256,2] w = ext("9f86d081...", 2048),
 *        float[2] b = {0.5, -1},
 *        float[batch,2] h
 *     >
 *     {
 *        h = Gemm (x, w, b)
 *        [last] y = LeakyRelu <alpha: float = 0.1> (h)
 *     }
 *
 * What ONNX's parser reads is read, except functions, references to their attributes, and ONNX's
 * external data; a name must be defined above its use. A header that leaves out ir_version or
 * opset_import means the newest.
 *
 * What is printed ONNX's parser reads as the same model, except for additions where its syntax or
 * its parser falls short:
 *
 *     ext("<sha256>", <bytes>)   contents of a tensor of more than 64 elements. The bytes, as they
 *                                lie in memory, follow each other in a companion file in the order
 *                                in which the text names them
 *     sparse_tensor(float[9]) s = {float[2] {1, 2}, int64[2] {0, 7}}     values and indices
 *     undefined[2,3] x           a tensor whose element type is not known
 *     "a-b"."c d" ("float")      quotes around a domain, operator, attribute or graph that is not
 *                                an identifier (as ONNX has them around values)
 *     [float[1] {1}, ...]        lists of tensors, graphs and types
 *
 * Sizes only running will tell are `?`, expressions over symbols are quoted symbols. Not said: doc
 * strings and metadata of anything but the model, denotations, unknown protobuf fields, payloads of
 * NaNs.
 */
#ifndef HN_IR_TEXT_H
#define HN_IR_TEXT_H

#include "ir/ir.h"

#define HN_TEXT_MOST_INLINE 64 /* elements */

typedef hone_status (*hn_text_sink)(void *ctx, const void *data, size_t bytes, hn_error *err);

typedef struct hn_text_out {
    hn_text_sink text;
    void *text_ctx;
    hn_text_sink data; /* the companion; NULL: its bytes are not wanted */
    void *data_ctx;
    bool all_types; /* the types of all values, not only of those that declare theirs */
} hn_text_out;

/* Prints the model as it stands: after inference in the semantics of the newest opset, before in
 * those of its own. HONE_E_MODEL when it is half and half. */
hone_status hn_text_print(const hn_model *m, const hn_text_out *out, hn_error *err);
/* Prints to a file, and to <path>.bin if there is something for the companion. */
hone_status hn_text_save(const hn_model *m, const char *path, hn_error *err);

/* Errors begin with line and column ("12:7: found ')', wanted '='"). Nodes are left `old` and
 * without operators (hn_model_bind_ops of ops/op.h finds them). data: the companion, of which
 * tensors keep a reference; NULL: there is none, and a tensor that needs it is an error. */
hone_status hn_text_parse(hn_model **out, const char *text, size_t n, hn_file *data,
                          hn_allocator *alloc, hn_error *err);
/* The file and, where there is one, its companion. */
hone_status hn_text_load(hn_model **out, const char *path, hn_allocator *alloc, hn_error *err);

/* ---- shared by printer and parser ---- */

static inline bool hn_text_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool hn_text_is_digit(char c) { return c >= '0' && c <= '9'; }
/* True for a word that begins a type; *dtype is the element type it names, NONE for seq, map,
 * optional, sparse_tensor, opaque and undefined. */
bool hn_text_is_type(const char *s, size_t n, hone_dtype *dtype);
/* As what the elements of a tensor are written: small floats as the integer of their bits, complex
 * numbers as two. */
hone_dtype hn_text_element(hone_dtype t);

#endif

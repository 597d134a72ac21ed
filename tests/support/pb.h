/* Protobuf messages written down in tests, bad ones too.
 *
 *     pb("1i 2s 3b", 10, "name", pb("1s", "inside"))
 *
 * Each word is a field number and a kind: i an int, l an int64_t, f a double stored as float, s
 * text, b an hn_bytes; `r` alone takes an hn_bytes whose fields are put as they are. Bytes live
 * until pb_free. */
#ifndef TESTS_SUPPORT_PB_H
#define TESTS_SUPPORT_PB_H

#include "ir/ir.h"

hn_bytes pb(const char *format, ...);
void pb_free(void);

/* ---- ONNX ---- */

/* Names separated by spaces; "_" is an absent one. `attrs` holds attribute fields, pb("") if none.
 */
hn_bytes pb_node(const char *op, const char *inputs, const char *outputs, hn_bytes attrs);
/* As a field of a graph: several can be joined with pb("rr", ...). */
hn_bytes pb_nodes(const char *op, const char *inputs, const char *outputs);
/* A ValueInfoProto of type f32[dims], or without a type when there is no '['. "x[2,n,?]" */
hn_bytes pb_value(const char *text);
/* Input and output fields of a graph; values separated by spaces. */
hn_bytes pb_inputs(const char *values);
hn_bytes pb_outputs(const char *values);
/* A model around the fields of a graph: IR version 10, opset 21. */
hn_bytes pb_model(hn_bytes graph_fields);
/* A TensorProto of f32 [n] with raw data, all zero. */
hn_bytes pb_zeros(const char *name, int n);

#endif

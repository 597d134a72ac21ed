/* Models for tests, written in ONNX's textual form. */
#ifndef TESTS_SUPPORT_GRAPH_H
#define TESTS_SUPPORT_GRAPH_H

#include "ir/ir.h"

/* A model that imports the opset of ai.onnx, and version 1 of com.microsoft and of a domain `other`; the text is its
 * graph. Its types are inferred. Memory is scratch_mem's; fails the test if something is wrong. */
hn_model *graph_model(int opset, const char *text);

#endif

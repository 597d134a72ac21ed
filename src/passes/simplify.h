/* The graph passes as one call: the model afterwards computes the same with less.
 *
 * Inputs and outputs keep their names, types and shapes, the model stays standard ONNX, and what
 * may change from outside (inputs, initializers that an input overrides) is never taken for a
 * constant. Subgraphs are simplified too.
 *
 *     level 0   nothing
 *     level 1   the same arithmetic with fewer nodes: results are equal
 *     level 2   and constants multiplied or added into weights: results differ by rounding
 *     level 3   and subgraphs replaced by the one operator they spell out: likewise
 */
#ifndef HN_PASSES_SIMPLIFY_H
#define HN_PASSES_SIMPLIFY_H

#include "ir/ir.h"

typedef enum hn_pass_id {
#define HN_PASS(name, level, operators, help) HN_PASS_##name,
#include "passes/passes.def"
#undef HN_PASS
    HN_PASS_COUNT_
} hn_pass_id;

/* Bytes by which constant folding may make the model's file larger, unless the options say. */
#define HN_FOLD_GROWTH ((int64_t)1 << 20)

typedef struct hn_simplify_options {
    int level;
    /* Form only operators of `opset`, so that the model can be saved at it; 0: the model's own.
     * Without keep_opset every operator hone knows may be formed. */
    bool keep_opset;
    int64_t opset;
    bool inferred;          /* the model is, and has not been changed since */
    int64_t max_growth;     /* in bytes, by constant folding; negative: no limit */
    const char *disable;    /* names of passes, separated by commas, that do not run; or NULL */
    const char *stop_after; /* the pass after whose first run all ends; or NULL */
    const char *only;       /* the pass that runs alone, with dead nodes removed; or NULL */
} hn_simplify_options;

/* Level 3, the model's own opset, HN_FOLD_GROWTH. */
hn_simplify_options hn_simplify_defaults(void);
/* What constants may grow by in a model that will be written to a file: 1/64 of their bytes, 16 kB
 * to HN_FOLD_GROWTH. Whoever runs the model folds the rest. */
int64_t hn_simplify_file_growth(const hn_model *m);

typedef struct hn_pass_report {
    int rounds; /* over all passes; the last one changed nothing, unless there were too many */
    int nodes_before, nodes_after; /* of the model, subgraphs included */
    double ms;
    struct {
        int64_t fired; /* rewrites it made */
        double ms;
    } pass[HN_PASS_COUNT_];
} hn_pass_report;

const char *hn_pass_name(int id);
const char *hn_pass_help(int id); /* one line */
int hn_pass_level(int id);        /* the lowest at which it runs */

/* Infers the model before, between and after; report may be NULL. HONE_E_ARG for a level or name
 * of a pass that does not exist. When it fails otherwise the model still computes the same, but
 * some rewrites may have been made. */
hone_status hn_simplify(hn_model *m, const hn_simplify_options *o, hn_pass_report *report,
                        hn_error *err);

#endif

/* Models made of descriptions: text (docs/make.md) in, a graph with first values of its parameters
 * out, ready to be trained.
 *
 *     description ──▶ lines ──▶ layers ──▶ nodes and parameters
 *       settings ──────┘          └── initial values, by seed and name
 *
 * The architectures that hone knows are descriptions too: a file NAME.model each, and a row of
 * models.def.
 */
#ifndef HN_MAKE_MAKE_H
#define HN_MAKE_MAKE_H

#include "ir/ir.h"

/* An architecture. */
typedef struct hn_architecture {
    const char *name, *help;
    const char *settings; /* values for numbers of the text, as in hn_make_options */
    const char *text;
} hn_architecture;
extern const hn_architecture hn_architectures[];
extern const int hn_n_architectures;
const hn_architecture *hn_architecture_find(const char *name); /* NULL: there is none */

typedef struct hn_make_options {
    uint64_t seed;
    /* Values for numbers, lists and choices that the description declares, separated by spaces:
     * "width=0.5 layers=784-300-10 stem=cifar". The last of a name counts. NULL: none. */
    const char *settings;
    /* Scales depth, width and resolution together, by 1.2, 1.1 and 1.15 to this power. */
    double compound;
    int64_t most_params; /* 0: HN_MAKE_MOST_PARAMS */
} hn_make_options;
#define HN_MAKE_MOST_PARAMS ((int64_t)1 << 31)

/* A model of the description; name: of the file or architecture, for messages. Types are still to be
 * inferred. HONE_E_FORMAT, HONE_E_SHAPE, HONE_E_LIMIT: about the text, with line and column.
 * HONE_E_ARG: about the options. */
hone_status hn_make(hn_model **out, const char *name, const char *text, size_t n,
                    const hn_make_options *o, hn_allocator *alloc, hn_error *err);
/* The text with the values that the options give in place of its own; from the arena. */
hone_status hn_make_describe(char **out, const char *name, const char *text, size_t n,
                             const hn_make_options *o, hn_arena *arena, hn_error *err);

#endif

/* What an engine is made of: for engine.c, which keeps plans by shape, and segments.c, which runs
 * them. */
#ifndef HN_ENGINE_ENTRY_H
#define HN_ENGINE_ENTRY_H

#include <pthread.h>

#include "engine/choice.h"
#include "engine/cut.h"
#include "engine/engine.h"
#include "engine/prepared.h"

/* Engines inside engines: of the rest of a graph, or of a subgraph. What lies deeper runs through
 * the references. */
#define HN_ENGINE_DEPTH 64

typedef struct hn_shape_key hn_shape_key; /* engine.c */

/* A subgraph of a node that runs through the references, as an engine. */
typedef struct hn_body hn_body;
struct hn_body {
    const hn_graph *graph;
    hn_engine *engine;
    const hn_value *const *sources; /* by input of the engine: the inputs of the graph come first */
    int *outputs; /* by output of the engine: which of the graph's it is; the others are values
                   * that come from outside */
    hn_body *next;
};

/* One set of shapes: a plan with its free contexts, of the whole graph or of its head. Neither a
 * plan nor a cut: all of it runs through the references. */
typedef struct hn_entry hn_entry;
struct hn_entry {
    hn_shape_key *key; /* by input */
    hn_plan *plan;
    hn_cut *cut;
    hn_engine *tail;
    hn_body *bodies; /* of nodes of the mid */
    size_t peak;     /* of the allocator, as planned */
    size_t bytes;    /* of the plan and a context */
    bool *reads;     /* by constants made (prepared.h): in plain form; NULL: none */
    bool making;     /* by one of its users; key and users alone can be read */
    int users;       /* runs going on */
    hn_context *free[HN_ENGINE_CONTEXTS];
    int n_free;
    hn_entry *prev, *next; /* used longer ago: next */
    uint64_t hash;         /* of the key */
    hn_entry *chained;     /* with such a hash */
};

/* By the low bits of their hashes, entries are in so many chains. */
#define HN_ENTRY_CHAINS 64

/* What an engine and all inside it share. Runs hold `lock` for moments; plans and bodies are made
 * one at a time under `making`, which a run waits for only where it needs what is being made. Who
 * holds both took `making` first. */
typedef struct hn_common {
    pthread_mutex_t lock; /* of rooms and choices, and of entries and bodies of all engines */
    pthread_cond_t made;  /* an entry is made, or failed and is gone */
    hn_room *rooms;       /* not in use, used last first */
    int n_rooms;
    size_t plan_bytes;  /* of the entries of all engines */
    hn_choice *choices; /* of precisions, for all plans; they stay */
    hn_prepared *ready; /* holds the lock `making`, of what is below too */
    hn_owner owner;     /* of what is ready */
    hn_weights *weights;
} hn_common;

struct hn_engine {
    hn_engine_options o;
    hn_model *model; /* simplified; of what is ready, or, inside another engine, its own */
    int depth;       /* engines around it */
    bool heavy;      /* a node multiplies matrices */
    bool steady;     /* its inputs have the same sizes in every run */
    hn_common *all;
    hn_entry *entries, *oldest; /* used last first */
    int n_entries;
    int n_loose; /* of these, entries that serve other sizes too */
    hn_entry *chains[HN_ENTRY_CHAINS];
    hn_body *bodies; /* of nodes of `model` */
};

/* The entry that serves these inputs, with one user more and, if it has a plan, a context and a
 * room. */
hone_status hn_engine_take(hn_engine *e, const hn_tensor *const *in, hn_entry **out,
                           hn_context **context, hn_room **room, hn_error *err);
/* Context and room, which are NULL where the entry has no plan, may go before the entry does. */
void hn_engine_give(hn_engine *e, hn_entry *n, hn_context *c, hn_room *room, bool entry_too);

/* An engine of m inside another; takes over m, on failure too. What is wrong with m is left for the
 * references to say, since they run only what is needed. */
hone_status hn_engine_create_inside(hn_engine **out, const hn_engine *around, hn_model *m,
                                    hn_error *err);
/* Outputs as new tensors: place and its ctx. */
typedef struct hn_new_outputs {
    hn_allocator *alloc;
    hn_tensor **out;
} hn_new_outputs;
hn_output_place hn_place_new;

void hn_bodies_destroy(hn_engine *e, hn_body *b); /* the list; NULL accepted */

#endif

/* A model made ready for plans: simplified, with its packed weights. Engines of one model that
 * simplify it alike have it in common, so that another session of the model packs nothing again.
 *
 *     hone_model ──▶ hn_prepared_list ──▶ hn_prepared ◀── engine of a session
 *                                                     ◀── engine of another
 *
 * Constants that the passes made of the source's are needed in plain form while plans are made, and
 * afterwards where a step or another part reads them so; for the rest there are packed copies. So
 * the first plan once made drops their contents, and before another is made the passes make them
 * anew. From then on they stay, if they are as small as plans may be: other shapes may follow.
 *
 * Where a model that was made ready is kept (premade.h), it is taken instead, as long as the passes are
 * all to run and the host computes; its constants lie in a file, so nothing of it is dropped.
 */
#ifndef HN_ENGINE_PREPARED_H
#define HN_ENGINE_PREPARED_H

#include <pthread.h>

#include "base/map.h"
#include "engine/engine.h"
#include "engine/plan.h"
#include "engine/premade.h"

typedef struct hn_prepared hn_prepared;

struct hn_prepared_list {
    pthread_mutex_t lock;
    hn_prepared *first;
    /* What is kept for an instruction set, or NULL; outlives what is prepared. NULL: nothing is. */
    const hn_premade *(*kept)(void *ctx, hn_isa isa);
    void *kept_ctx;
};

struct hn_prepared {
    hn_prepared_list *list; /* NULL: of one engine alone */
    hn_prepared *next;
    int users; /* engines */
    /* What makes models alike. */
    char *disable; /* NULL: none */
    bool no_simplify;
    const hn_device *device;
    hn_allocator *alloc; /* of all below */
    hn_allocator common; /* where it is shared: counts for all engines */
    hn_owners owners;
    const hn_model *source;
    hn_model *model;        /* the source, simplified */
    const hn_premade *kept; /* that the model is of; NULL: it is of the source */
    hn_map names;           /* of what may be kept, by address */
    hn_map constants;       /* of the model and what they are views of, by address */
    pthread_mutex_t making; /* of what is below, of contents of constants, of engines' tuners */
    hn_arena scratch;       /* of plans while they are made; it stays, so that its pages do */
    hn_weights *weights;    /* of its constants; NULL: it is not shared, the engine has them */
    int n_made;
    int *made; /* values of `model`, by id, that only it holds, with contents that can be dropped */
    atomic_int *readers; /* by these: plans and parts that read them in plain form */
    bool dropped;        /* some are */
    bool keeps_plain;    /* none will be */
    bool reads_files;    /* the next plan is made of all constants, not of a few for its sizes */
};

/* What o->prepared has for these options, or a new one. `as` is the engine's place among the owners,
 * with its allocator set. */
hone_status hn_prepared_take(hn_prepared **out, const hn_model *source, const hn_engine_options *o,
                             hn_owner *as, hn_error *err);
void hn_prepared_give(hn_prepared *p, hn_owner *as); /* NULL accepted */

/* The passes of an engine over a model. */
hone_status hn_prepare_model(const hn_engine_options *o, hn_model *m, hn_error *err);

/* Begins and ends the making of a plan within the limit of an owner. */
void hn_prepared_lock(hn_prepared *p, hn_allocator *owner);
void hn_prepared_unlock(hn_prepared *p);

/* ---- while making ---- */

/* Makes what was dropped anew: the passes are a function of the source. It then stays, if it takes
 * no more than `budget`. */
hone_status hn_prepared_restore(hn_prepared *p, const hn_engine_options *o, size_t budget,
                                hn_error *err);
/* Gives up what only making plans needs, and what no one reads: reads[], by constants made, where
 * the newest plan does. Bytes of it; `only_count` gives up nothing. */
size_t hn_prepared_drop(hn_prepared *p, const bool *reads, bool only_count);
/* Whether t is a constant of the model, or what one is a view of: it stays as long as p does. */
bool hn_prepared_holds(const hn_prepared *p, const hn_tensor *t);

#endif

/* What the files of this room share: the bodies of the opaque handles. */
#ifndef HN_API_API_H
#define HN_API_API_H

#include "base/border.h"
#include "engine/prepared.h"
#include "formats/dataset.h"
#include "ir/ir.h"
#include "measure/program.h"

/* A model has an allocator of its own, so that what it takes can be told apart. Sessions hold
 * references to it. */
struct hone_model {
    atomic_int refs;
    hn_allocator alloc;
    hn_model *ir;
    hn_prepared_list prepared;  /* what its sessions share */
    struct hn_api_ready *ready; /* what its package has for them (ready.h); NULL: nothing */
    hone_model *made_of;        /* whose tensors it shares; NULL: none */
    hn_arena arena;             /* of the two lists */
    size_t n_inputs, n_outputs;
    hone_value_info *inputs, *outputs;
};

/* A model without a graph, whose allocator the graph is to be made with. */
hone_status hn_api_model_create(hone_model **out, hn_error *err);
void hn_api_model_unref(hone_model *m);
/* What every way of making or changing a model ends with: verifies, infers and describes it. */
hone_status hn_api_model_complete(hone_model *m, hn_error *err);

/* A model of the API of one that was made; takes it over, on failure too. Its memory must outlive
 * it. */
hone_status hn_api_model_adopt(hn_model *ir, hone_model **out, hn_error *err);
/* The model of a session, and how it runs it. */
hone_model *hn_api_session_model(const hone_session *s);
hn_run_options hn_api_session_run_options(const hone_session *s);
/* Likewise of a session that will not run itself: what it would run with is gone. */
hn_run_options hn_api_session_take_run_options(hone_session *s);
/* The threads that a session of these options would have, for work without one. NULL: the defaults.
 */
hone_status hn_api_pool_take(hn_pool **out, const hone_session_options *options, hn_error *err);

/* ---- callers' functions whose arguments have the caller's sizes ---- */

/* Samples of a caller, checked. They are read as inputs of `model`. */
typedef struct hn_api_samples {
    hone_samples own; /* whose values are the library's */
    hone_samples given;
    size_t n_inputs, value_size;
} hn_api_samples;
hone_status hn_api_take_samples(hn_api_samples *s, const hone_samples *given,
                                const hone_model *model, const hone_layout *caller, hn_error *err);

/* Options of an evaluation. */
typedef struct hn_api_eval {
    hone_eval_options own; /* whose batches are the library's */
    hone_eval_options given;
    const hone_layout *caller;
} hn_api_eval;
hone_status hn_api_take_eval(hn_api_eval *e, const hone_eval_options *given,
                             const hone_layout *caller, hn_error *err);

typedef struct hn_api_timer {
    hone_timer own; /* whose values and rounds are the library's */
    hone_timer given;
    const hone_layout *caller;
} hn_api_timer;
/* given NULL: leaves t as it is. */
hone_status hn_api_take_timer(hn_api_timer *t, const hone_timer *given, const hone_layout *caller,
                              hn_error *err);

/* Inputs and outputs of a run. */
typedef struct hn_api_values {
    hn_caller_array in, out;
} hn_api_values;
hone_status hn_api_take_values(hn_api_values *v, size_t n_in, const hone_value *in, size_t n_out,
                               const hone_value *out, const hone_layout *caller, hn_error *err);
/* Writes what a run made of the outputs into the caller's array. */
void hn_api_give_values(hn_api_values *v, hone_value *out);

/* Samples read as values, and as tensors for the graph (measure's hn_sample_source; ctx is an
 * hn_api_source). */
typedef struct hn_api_source {
    const hone_samples *samples;
    const hone_model *model; /* whose inputs they are */
    hn_allocator *alloc;
} hn_api_source;
hone_status hn_api_read_sample(const hone_samples *s, const hone_model *m, int64_t run,
                               hone_value *in, hn_error *err);
hone_status hn_api_load_sample(void *ctx, int64_t run, hn_tensor **in, hn_error *err);

/* ---- state ---- */

/* Inputs that states keep. */
typedef struct hn_api_pairs {
    size_t n;
    hn_state_pair *at;
} hn_api_pairs;
/* Takes apart hone_session_options.state; text NULL: there are none. Free `at`, on failure too. */
hone_status hn_api_pairs_read(hn_api_pairs *out, const hn_graph *g, const char *text,
                              hn_allocator *alloc, hn_error *err);
/* A reference to the model, or to one like it in which initializers that the text pairs with outputs
 * are inputs. */
hone_status hn_api_with_parameters(hone_model *model, const char *text, hone_model **out,
                                   hn_error *err);

/* For states: the pairs of a session, which stays until hone_session_destroy is called once more,
 * and the allocator whose limit holds for its runs. */
const hn_api_pairs *hn_api_session_ref(hone_session *s, hn_allocator **alloc);
/* As hone_session_run_sized. The state gives inputs that `in` lacks, and keeps outputs. */
hone_status hn_api_session_run(hone_session *s, hone_state *state, size_t n_in,
                               const hone_value *in, size_t n_out, hone_value *out,
                               const hone_layout *caller, hn_error *err);
/* Whether x can be given for the input v. */
hone_status hn_api_check_input(const hn_value *v, const hone_value *x, hn_error *err);

/* For runs: the value of the input of pair i. One that has none yet begins here, at the sizes that
 * symbols have (negative: none); size NULL: *v stays as it is. */
hone_status hn_api_state_input(hone_state *state, size_t i,
                               int64_t (*size)(void *sizes, hn_dim symbol), void *sizes,
                               const hone_value **v, hn_error *err);
/* Memory for output i of the graph, where the state keeps it; else *to becomes NULL. *to is NULL, or
 * the memory of an input in whose place the run can write the output. */
hone_status hn_api_state_place(hone_state *state, int i, hone_dtype dtype, int rank,
                               const int64_t *dims, void **to, hn_error *err);

struct hone_dataset {
    hn_allocator alloc;
    hn_dataset *data;
    bool warned; /* of a sample that is not finite */
};

/* Defines the init function of hone_<name>_options; the rest are the defaults that are not 0. */
#define HN_DEFINE_OPTIONS(name, ...)                                                 \
    void hone_##name##_options_init_sized(hone_##name##_options *o, size_t size) {   \
        hn_give_defaults(o, size, &(hone_##name##_options){__VA_ARGS__}, sizeof *o); \
    }
/* Fills `own` with the defaults and with what the caller gave, which may be NULL. */
#define HN_TAKE_OPTIONS(name, own, given, err) \
    (hone_##name##_options_init(own),          \
     hn_take_sized((own), sizeof *(own), (given), "hone_" #name "_options", (err)))

/* The library's form of a machine that a caller was given. NULL accepted. */
const hone_machine *hn_api_machine(const hone_machine *shown);

/* Likewise of a profile. NULL accepted. */
const hone_profile *hn_api_profile(const hone_profile *shown);

/* Gives v a block of its own for `bytes` of data and, unless name is NULL, a copy of the name. */
hone_status hn_api_own(hone_value *v, size_t bytes, const char *name, hn_error *err);

#endif

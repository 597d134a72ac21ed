/* hone_advise: facts of the model, the machine and the caller's wishes, for src/advise. */
#include <math.h>
#include <string.h>

#include "advise/advice.h"
#include "api/api.h"

typedef struct held {
    hone_advice result;
    hn_allocator alloc;
    hn_arena arena;
} held;

/* What a batch is made of where nobody says what the model is for. */
#define USUAL_BATCH 8
/* Of steps of a measured machine that the model did not run on. */
#define USUAL_OVERHEAD_US 1
#define USUAL_REACH 0.5

HN_DEFINE_OPTIONS(advise, .target = "cpu", .max_drop = -1, .inference_ms = -1, .outside_ms = -1)

const char *hone_advise_target(size_t i) {
    const hn_target *t = i < 1000 ? hn_target_at((int)i) : NULL;
    return t != NULL ? t->name : NULL;
}

const char *hone_advise_use(size_t i, const char **what) {
    const hn_purpose *u = i < 1000 ? hn_purpose_at((int)i) : NULL;
    if (u != NULL && what != NULL) *what = u->what;
    return u != NULL ? u->name : NULL;
}

void hone_advice_destroy(hone_advice *advice) {
    if (advice == NULL) return;
    held *h = advice->owner;
    hn_shown_free(advice, &h->result);
    hn_arena_deinit(&h->arena);
    hn_free(hn_allocator_default(), h);
}

static hone_status check(const hone_advise_options *o, hn_error *err) {
    char list[256];
    HN_CHECK(err, o->use == NULL || hn_purpose_named(o->use) != NULL, HONE_E_ARG,
             "there is no use '%s'; there are: %s", o->use, hn_purposes_text(list, sizeof list));
    HN_CHECK(err, o->target != NULL && hn_target_named(o->target) != NULL, HONE_E_ARG,
             "there is no target '%s'; there are: %s", o->target != NULL ? o->target : "",
             hn_devices_text(list, sizeof list));
    HN_CHECK(err, o->max_latency_ms >= 0 && o->max_file_bytes >= 0 && o->max_run_memory_bytes >= 0,
             HONE_E_ARG, "a limit is negative: %g ms, %lld bytes of file, %lld of memory",
             o->max_latency_ms, (long long)o->max_file_bytes, (long long)o->max_run_memory_bytes);
    HN_CHECK(err, o->requests_per_day >= 0 && o->machine_price >= 0, HONE_E_ARG,
             "requests_per_day is %g and machine_price %g, expected 0 or more", o->requests_per_day,
             o->machine_price);
    HN_CHECK(err, !o->here || (o->machine != NULL && o->profile != NULL), HONE_E_ARG,
             "here wants the profile and the machine that it was made on");
    return HONE_OK;
}

/* Of a machine that is not this one all that was measured counts: its instruction sets may be none
 * that this hone knows the order of. */
static hn_advice_machine described(const hone_advise_options *o, const hone_machine *m) {
    const hone_profile *p = o->profile;
    int64_t memory = m->memory_limit > 0 ? m->memory_limit : m->memory_bytes;
    return (hn_advice_machine){.limits = m,
                               .name = m->cpu,
                               .here = o->here,
                               .isa = o->here ? (o->isa != NULL ? o->isa : m->isa) : NULL,
                               .threads = o->here ? p->threads : m->threads,
                               .cores = m->allowed_cores,
                               .memory_bytes = memory > 0 ? (double)memory : 0,
                               .overhead_us = USUAL_OVERHEAD_US,
                               .reach = USUAL_REACH,
                               .fuses = true};
}

static double larger(double a, double b) { return a > b ? a : b; }

static hone_status advise(held *h, hone_model *m, const hone_advise_options *o,
                          const hone_dim_value *dims, hn_error *err) {
    const hn_purpose *use = o->use != NULL ? hn_purpose_named(o->use) : NULL;
    const hone_machine *machine = hn_api_machine(o->machine);
    hn_counts counts;
    hn_advice_facts f = {.target = hn_target_named(o->target),
                         .use = use,
                         .counts = &counts,
                         .profile = hn_api_profile(o->profile),
                         .run_bytes = (double)o->run_bytes,
                         .outside_ms = o->inference_ms >= 0 ? o->outside_ms : -1,
                         .inside_ms = o->inference_ms,
                         .max_ms = o->max_latency_ms > 0 ? o->max_latency_ms
                                   : use != NULL         ? use->max_ms
                                                         : 0,
                         .per_second = use != NULL ? use->per_second : 0,
                         .max_file = (double)o->max_file_bytes,
                         .max_memory = o->max_run_memory_bytes > 0 ? (double)o->max_run_memory_bytes
                                       : use != NULL               ? use->memory_bytes
                                                                   : 0,
                         .max_drop = o->max_drop,
                         .relative = o->max_drop_relative,
                         .requests_per_day = o->requests_per_day,
                         .machine_price = o->machine_price,
                         .data = o->has_data,
                         .model = o->model_word != NULL ? o->model_word : "MODEL",
                         .output = o->output_word != NULL ? o->output_word : "MODEL",
                         .samples = o->data_word != NULL ? o->data_word : "DATA"};
    int64_t batch = use == NULL
                        ? USUAL_BATCH
                        : (int64_t)larger(use->batch_hi > 8 ? use->batch_lo : use->batch_hi, 2);
    HN_TRY(hn_counts_make(&counts, m->ir, dims, o->n_dims, batch, &h->arena, err));
    if (machine != NULL)
        f.on = described(o, machine);
    else
        HN_TRY(hn_advice_typical(&f.on, hn_typical_of(o->target), &h->arena, err));
    return hn_advise(&h->result, &f, &h->arena, err);
}

hone_status hone_advise_sized(hone_model *model, const hone_advise_options *options,
                              hone_advice **out, const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(advice, stops, n_stops, verdict),
                                    HN_LIST(advice, branches, n_branches, advice_branch),
                                    HN_LIST(advice, remedies, n_remedies, advice_remedy),
                                    HN_LIST(advice, symptoms, n_symptoms, advice_symptom)};
    hone_advise_options o;
    hn_caller_array dims;
    HN_TRY(HN_TAKE_OPTIONS(advise, &o, options, err));
    HN_TRY(check(&o, err));
    held *h = hn_alloc_zero(hn_allocator_default(), sizeof *h, HN_MEM_OTHER);
    if (h == NULL) return HN_NOMEM(err);
    hn_allocator_init(&h->alloc);
    hn_arena_init(&h->arena, &h->alloc, HN_MEM_OTHER);
    h->result.size = sizeof h->result;
    h->result.owner = h;
    hone_status status = HN_TAKE_ARRAY(&dims, o.dims, o.n_dims, caller, dim_value, err);
    if (status == HONE_OK) {
        status = advise(h, model, &o, dims.own, err);
        hn_caller_array_deinit(&dims);
    }
    if (status == HONE_OK) HN_HAND_OUT(out, &h->result, lists, caller, advice, err);
    hone_advice_destroy(&h->result);
    return status;
}

/* The order in which passes run, and the runner around them.
 *
 * The passes run in the order below, again and again, until a round changes nothing or MOST_ROUNDS
 * are over; a pass that found nothing to do waits until another has changed something. Between
 * rounds types are inferred anew. Constants and shapes come first, since all else looks at them;
 * subgraphs that spell out one operator are recognised before their parts can be folded into
 * neighbours.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/simplify.h"

#define MOST_ROUNDS 16

static const hn_pass_id order[] = {
    /* what is known */
    HN_PASS_fold_constants,
    HN_PASS_simplify_shapes,
    HN_PASS_remove_identity,
    HN_PASS_common_subexpressions,
    HN_PASS_remove_dead,
    /* one operator spelled out */
    HN_PASS_form_layer_norm,
    HN_PASS_form_rms_norm,
    HN_PASS_form_gelu,
    HN_PASS_form_hard_swish, /* before the HardSigmoid in it */
    HN_PASS_form_hard_sigmoid,
    /* several that are one */
    HN_PASS_merge_transposes,
    HN_PASS_merge_reshapes,
    HN_PASS_merge_concats,
    HN_PASS_merge_reduces,
    /* into a neighbour */
    HN_PASS_fold_pad, /* before what it pads is quantized behind it */
    HN_PASS_move_quantize,
    HN_PASS_merge_quantize,
    HN_PASS_fold_transpose,
    HN_PASS_form_gemm,
    HN_PASS_fold_batch_norm,
    HN_PASS_fold_scale,
    HN_PASS_fold_scalar,
    HN_PASS_merge_convs,
};
#define N_ORDER ((int)(sizeof order / sizeof *order))
_Static_assert(N_ORDER == HN_PASS_COUNT_, "every pass has its place in the order");

static const struct {
    const char *name;
    int level;
    const char *operators;
    const char *help;
    hn_pass_fn *run;
} passes[] = {
#define HN_PASS(name, level, operators, help) {#name, level, operators, help, hn_pass_##name},
#include "passes/passes.def"
#undef HN_PASS
};

const char *hn_pass_name(int id) { return passes[id].name; }
const char *hn_pass_help(int id) { return passes[id].help; }
int hn_pass_level(int id) { return passes[id].level; }

hn_simplify_options hn_simplify_defaults(void) {
    return (hn_simplify_options){.level = 3, .keep_opset = true, .max_growth = HN_FOLD_GROWTH};
}

int64_t hn_simplify_file_growth(const hn_model *m) {
    enum { LEAST = 1 << 14, SHARE = 64 };
    int64_t bytes = 0;
    for (int g = 0; g < m->n_graphs; g++)
        for (int i = 0; i < m->graphs[g]->n_values; i++) {
            const hn_value *v = m->graphs[g]->values[i];
            if (!v->dead && v->constant != NULL) bytes += (int64_t)v->constant->bytes;
        }
    bytes /= SHARE;
    return bytes < LEAST ? LEAST : bytes < HN_FOLD_GROWTH ? bytes : HN_FOLD_GROWTH;
}

/* ---- options ---- */

static hone_status find_pass(const char *name, size_t n, int *id, hn_error *err) {
    for (*id = 0; *id < HN_PASS_COUNT_; ++*id)
        if (strlen(passes[*id].name) == n && memcmp(passes[*id].name, name, n) == 0) return HONE_OK;
    return HN_FAIL(err, HONE_E_ARG, "there is no pass '%.*s'", (int)(n < 200 ? n : 200), name);
}

/* What the options come to. */
typedef struct plan {
    bool runs[HN_PASS_COUNT_];
    uint64_t operators[HN_PASS_COUNT_]; /* one of these bits is that of an operator it needs */
    int stop_after;                     /* -1: none */
} plan;

/* A bit for an operator's name; several share one. */
static uint64_t bit_of(const char *name, size_t n) {
    unsigned h = (unsigned)n * 37 + (unsigned char)name[0] * 5 + (unsigned char)name[n - 1];
    return (uint64_t)1 << (h + (unsigned char)name[n / 2] * 11) % 64;
}

static uint64_t bits_of(const char *names) {
    uint64_t bits = 0;
    for (size_t n; *names != '\0'; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        bits |= bit_of(names, n);
    }
    return bits;
}

static uint64_t operators_of(const hn_model *m) {
    uint64_t bits = 0;
    for (int i = 0; i < m->n_graphs; i++)
        for (const hn_node *n = m->graphs[i]->first; n != NULL; n = n->next)
            if (n->op_type[0] != '\0') bits |= bit_of(n->op_type, strlen(n->op_type));
    return bits;
}

static hone_status read_options(const hn_simplify_options *o, plan *p, hn_error *err) {
    int id;
    HN_CHECK(err, o->level >= 0 && o->level <= 3, HONE_E_ARG, "level %d, expected 0 to 3",
             o->level);
    for (int i = 0; i < HN_PASS_COUNT_; i++) {
        p->runs[i] = passes[i].level <= o->level;
        p->operators[i] =
            passes[i].operators[0] != '\0' ? bits_of(passes[i].operators) : UINT64_MAX;
    }
    if (o->only != NULL) {
        HN_TRY(find_pass(o->only, strlen(o->only), &id, err));
        for (int i = 0; i < HN_PASS_COUNT_; i++) p->runs[i] = i == id || i == HN_PASS_remove_dead;
    }
    for (const char *at = o->disable; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");
        HN_TRY(find_pass(at, n, &id, err));
        p->runs[id] = false;
        at += n + (at[n] == ',');
    }
    p->stop_after = -1;
    if (o->stop_after != NULL)
        HN_TRY(find_pass(o->stop_after, strlen(o->stop_after), &p->stop_after, err));
    return HONE_OK;
}

/* ---- running ---- */

/* Depth is bounded by HN_MAX_DEPTH. */
static hone_status run_in(hn_graph *g, int id, hn_pass_ctx *c, hn_error *err) {
    bool alone = c->model->n_graphs == 1; /* there are no subgraphs */
    for (hn_node *n = g->first; n != NULL && !alone; n = n->next) {
        int at = 0;
        for (hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
            HN_TRY(run_in(sub, id, c, err));
    }
    hn_arena_init(&c->scratch, c->model->alloc, HN_MEM_SCRATCH);
    hone_status status = passes[id].run(g, c, err);
    hn_arena_deinit(&c->scratch);
    return status;
}

static int count_nodes(const hn_graph *g) {
    int count = g->n_nodes;
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
            count += count_nodes(sub);
    }
    return count;
}

static hone_status run_pass(int id, hn_pass_ctx *c, hn_pass_report *r, hn_error *err) {
    int64_t begun = hn_clock_ns(), fired = c->fired;
    hone_status status = run_in(c->model->graph, id, c, err);
    r->pass[id].ms += (double)(hn_clock_ns() - begun) * 1e-6;
    r->pass[id].fired += c->fired - fired;
#ifndef NDEBUG
    if (status == HONE_OK && c->fired != fired) status = hn_model_verify(c->model, err);
#endif
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_context(err, "pass %s", passes[id].name);
    return status;
}

static bool has_numbers(const hn_value *v) {
    int64_t dims[HONE_MAX_RANK];
    return v->type.kind == HN_TYPE_TENSOR && v->type.dtype != HONE_DTYPE_NONE &&
           hn_shape_is_const(&v->type.shape, dims);
}

/* Whether every value has its type and its sizes in numbers: passes keep those of the values they
 * compute otherwise, so inference would find nothing new. */
static bool is_settled(const hn_model *m) {
    for (int k = 0; k < m->n_graphs; k++)
        for (int i = 0; i < m->graphs[k]->n_values; i++) {
            const hn_value *v = m->graphs[k]->values[i];
            if (!v->dead && v->producer != NULL && !has_numbers(v)) return false;
        }
    return true;
}

/* *found: there may be something new to see. */
#ifdef NDEBUG
static hone_status infer_anew(hn_model *m, bool *found, hn_error *err) {
    *found = !is_settled(m);
    return *found ? hn_model_infer(m, NULL, err) : HONE_OK;
}
#else
/* Of the types and sizes of a settled model. */
static uint64_t types_digest(const hn_model *m) {
    uint64_t digest = 0;
    for (int k = 0; k < m->n_graphs; k++)
        for (int i = 0; i < m->graphs[k]->n_values; i++) {
            const hn_value *v = m->graphs[k]->values[i];
            int64_t dims[HONE_MAX_RANK];
            if (v->dead || v->producer == NULL || !hn_shape_is_const(&v->type.shape, dims))
                continue;
            digest = digest * 31 + (uint64_t)v->type.dtype + (uint64_t)v->type.shape.rank;
            for (int a = 0; a < v->type.shape.rank; a++) digest = digest * 31 + (uint64_t)dims[a];
        }
    return digest;
}

/* Infers all the same, to see that it finds nothing new. */
static hone_status infer_anew(hn_model *m, bool *found, hn_error *err) {
    *found = !is_settled(m);
    uint64_t before = types_digest(m);
    HN_TRY(hn_model_infer(m, NULL, err));
    assert(*found || types_digest(m) == before);
    return HONE_OK;
}
#endif

static hone_status run_rounds(const plan *p, hn_pass_ctx *c, hn_pass_report *r, hn_error *err) {
    int64_t done[HN_PASS_COUNT_]; /* what had fired when a pass found nothing to do */
    int64_t seen = -1;            /* what had fired when `operators` was right */
    uint64_t operators = 0;
    bool changed = true, found = true;
    for (; changed && r->rounds < MOST_ROUNDS; r->rounds++) {
        int64_t fired = c->fired;
        for (int i = 0; i < N_ORDER; i++) {
            int id = (int)order[i];
            int64_t before = c->fired;
            if (seen != before) operators = operators_of(c->model), seen = before;
            bool finds = (p->operators[id] & operators) != 0;
            if (!finds) done[id] = before;
            if (p->runs[id] && finds && (found || done[id] != before)) {
                HN_TRY(run_pass(id, c, r, err));
                done[id] = c->fired == before ? before : -1;
            }
            if (id == p->stop_after) return hn_model_infer(c->model, NULL, err);
        }
        changed = c->fired != fired;
        if (changed) HN_TRY(infer_anew(c->model, &found, err));
    }
    return HONE_OK;
}

hone_status hn_simplify(hn_model *m, const hn_simplify_options *o, hn_pass_report *report,
                        hn_error *err) {
    hn_pass_report unread;
    plan p;
    if (report == NULL) report = &unread;
    HN_TRY(read_options(o, &p, err));
    memset(report, 0, sizeof *report);
    int64_t begun = hn_clock_ns();
    /* Inputs with defaults may be given other contents, so nothing may follow from these. */
    if (!o->inferred) HN_TRY(hn_model_infer(m, NULL, err));
    hn_pass_ctx c = {.model = m, .opset = HN_NEWEST_OPSET, .max_growth = o->max_growth};
    if (o->keep_opset) c.opset = o->opset > 0 ? o->opset : hn_model_opset(m, "");
    report->nodes_before = count_nodes(m->graph);
    HN_TRY(run_rounds(&p, &c, report, err));
    report->nodes_after = count_nodes(m->graph);
    report->ms = (double)(hn_clock_ns() - begun) * 1e-6;
    hn_log(HONE_LOG_INFO, "simplified in %.1f ms: %d nodes became %d", report->ms,
           report->nodes_before, report->nodes_after);
    return HONE_OK;
}

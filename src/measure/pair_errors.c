#include "measure/pair_errors.h"

#include "base/size.h"
#include "ops/infer.h"

/* Pairs [lo, hi), measured together. */
typedef struct group {
    const hn_pairs *p;
    const hn_run_options *how;
    hn_allocator *alloc;
    hn_arena arena;
    int lo, hi;
    bool *reads;      /* by pair: steps of the group read it */
    int n_wanted;     /* values of A: those of the group and those that are read */
    int *wanted, *at; /* pairs; by pair: its place among them, or -1 */
    int *own;         /* lo, lo + 1, ... */
    hn_part part[3];
    hn_program *program[3];
    int64_t (*dims)[HONE_MAX_RANK]; /* of `wanted`, that part[ALONE] was made for */
    hn_tensor **value[3];           /* of a sample, in the order of the outputs */
} group;

/* A's own run, B's own run, and the steps of B given the values of A. */
enum { OWN_A, OWN_B, ALONE, N_RUNS };

static int n_values(const group *g, int run) { return run == OWN_A ? g->n_wanted : g->hi - g->lo; }

/* ---- what a group is made of ---- */

static hone_status find_wanted(group *g, hn_error *err) {
    const hn_pairs *p = g->p;
    size_t n = (size_t)p->n;
    g->reads = hn_arena_array(&g->arena, n, sizeof *g->reads);
    g->wanted = hn_arena_array(&g->arena, n, sizeof *g->wanted);
    g->at = hn_arena_array(&g->arena, n, sizeof *g->at);
    g->own = hn_arena_array(&g->arena, n, sizeof *g->own);
    if (g->reads == NULL || g->wanted == NULL || g->at == NULL || g->own == NULL)
        return HN_NOMEM(err);
    for (int i = g->lo; i < g->hi; i++) HN_TRY(hn_pairs_step(p, HN_SIDE_B, i, NULL, g->reads, err));
    for (int i = 0; i < p->n; i++) {
        bool inside = i >= g->lo && i < g->hi;
        g->at[i] = -1;
        if (inside) g->own[i - g->lo] = i;
        if (!inside && !g->reads[i]) continue;
        g->at[i] = g->n_wanted;
        g->wanted[g->n_wanted++] = i;
    }
    g->dims = hn_arena_array(&g->arena, (size_t)g->n_wanted, sizeof *g->dims);
    for (int run = 0; run < N_RUNS; run++)
        g->value[run] =
            hn_arena_array(&g->arena, (size_t)n_values(g, run) + 1, sizeof *g->value[run]);
    return g->dims != NULL && g->value[0] != NULL && g->value[1] != NULL && g->value[2] != NULL
               ? HONE_OK
               : HN_NOMEM(err);
}

static void end_program(group *g, int run) {
    hn_program_destroy(g->program[run]);
    hn_model_destroy(g->part[run].model);
    g->program[run] = NULL;
    g->part[run].model = NULL;
}

static hone_status make_program(group *g, int run, const bool *cut, const hn_tensor *const *like,
                                hn_error *err) {
    hn_side side = run == OWN_A ? HN_SIDE_A : HN_SIDE_B;
    HN_TRY(hn_pairs_part(g->p, side, cut, like, n_values(g, run), run == OWN_A ? g->wanted : g->own,
                         g->alloc, &g->part[run], err));
    return hn_program_create(&g->program[run], g->part[run].model, &g->how[side], err);
}

/* Made for the sizes of A's values, and again where another sample has others. */
static hone_status make_alone(group *g, hn_error *err) {
    bool fits = g->program[ALONE] != NULL;
    for (int k = 0; k < g->n_wanted && fits; k++)
        fits = memcmp(g->dims[k], g->value[OWN_A][k]->dims, sizeof *g->dims) == 0;
    if (fits) return HONE_OK;
    end_program(g, ALONE);
    const hn_tensor **like = hn_arena_array(&g->arena, (size_t)g->p->n, sizeof *like);
    if (like == NULL) return HN_NOMEM(err);
    for (int k = 0; k < g->n_wanted; k++) {
        like[g->wanted[k]] = g->value[OWN_A][k];
        memcpy(g->dims[k], g->value[OWN_A][k]->dims, sizeof *g->dims);
    }
    return make_program(g, ALONE, g->reads, like, err);
}

/* ---- running ---- */

static hone_status run(group *g, int run_id, hn_tensor *const *in, hn_error *err) {
    const hn_part *part = &g->part[run_id];
    const hn_graph *of_a = g->p->side[HN_SIDE_A].graph;
    int n = part->model->graph->n_inputs;
    const hn_tensor **given = hn_alloc_array(g->alloc, (size_t)n, sizeof *given, HN_MEM_SCRATCH);
    if (given == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) {
        int from = part->in[i];
        given[i] = from >= 0                ? g->value[OWN_A][g->at[from]]
                   : ~from < of_a->n_inputs ? in[~from]
                                            : NULL;
    }
    hone_status status = hn_program_run(g->program[run_id], given, g->value[run_id], err);
    hn_free(g->alloc, given);
    return status;
}

static void add(hn_distance *d, const hn_tensor *a, const hn_tensor *b) {
    if (a->n == b->n)
        hn_distance_add(d, a, b);
    else
        d->broken = true; /* sizes that depend on contents differ */
}

static hone_status measure(group *g, hn_tensor *const *in, hn_pair_error *errors, hn_error *err) {
    HN_TRY(run(g, OWN_A, in, err));
    HN_TRY(run(g, OWN_B, in, err));
    HN_TRY(make_alone(g, err));
    HN_TRY(run(g, ALONE, in, err));
    for (int i = g->lo; i < g->hi; i++) {
        const hn_tensor *a = g->value[OWN_A][g->at[i]];
        add(&errors[i].own, a, g->value[OWN_B][i - g->lo]);
        add(&errors[i].alone, a, g->value[ALONE][i - g->lo]);
    }
    return HONE_OK;
}

static void release_values(group *g) {
    for (int r = 0; r < N_RUNS; r++)
        for (int i = 0; g->value[r] != NULL && i < n_values(g, r); i++) {
            hn_tensor_unref(g->value[r][i]);
            g->value[r][i] = NULL;
        }
}

static void release_inputs(hn_tensor **in, int n) {
    for (int i = 0; i < n; i++) hn_tensor_unref(in[i]);
}

typedef struct job {
    const hn_pairs *p;
    const hn_run_options *how;
    const hn_sample_source *samples;
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    hn_tensor **in; /* of a sample */
} job;

static hone_status measure_samples(const job *j, group *g, hn_pair_error *errors, hn_error *err) {
    const hn_sample_source *s = j->samples;
    for (int64_t i = 0; i < s->n; i++) {
        HN_TRY(s->load(s->ctx, i, j->in, err));
        hone_status status = measure(g, j->in, errors, err);
        release_inputs(j->in, j->p->side[HN_SIDE_A].graph->n_inputs);
        release_values(g);
        HN_TRY(status);
        int64_t done = (int64_t)g->lo * s->n + (i + 1) * (g->hi - g->lo);
        HN_CHECK(err, j->progress == NULL || j->progress(j->progress_ctx, done, j->p->n * s->n),
                 HONE_E_LIMIT, "stopped");
    }
    return HONE_OK;
}

static hone_status measure_group(const job *j, int lo, int hi, hn_pair_error *errors,
                                 hn_error *err) {
    group g = {.p = j->p, .how = j->how, .alloc = j->p->alloc, .lo = lo, .hi = hi};
    hn_arena_init(&g.arena, g.alloc, HN_MEM_OTHER);
    hone_status status = find_wanted(&g, err);
    if (status == HONE_OK) status = make_program(&g, OWN_A, NULL, NULL, err);
    if (status == HONE_OK) status = make_program(&g, OWN_B, NULL, NULL, err);
    if (status == HONE_OK) status = measure_samples(j, &g, errors, err);
    for (int r = 0; r < N_RUNS; r++) end_program(&g, r);
    hn_arena_deinit(&g.arena);
    return status;
}

/* ---- groups ---- */

/* Bytes of each pair's value for the sample in j->in; 0 where only running tells. */
static hone_status find_bytes(const job *j, size_t *bytes, hn_error *err) {
    const hn_graph *a = j->p->side[HN_SIDE_A].graph;
    hn_model *m;
    HN_TRY(hn_model_clone(&m, a->model, j->p->alloc, err));
    for (int i = 0; i < a->n_inputs; i++)
        if (j->in[i] != NULL)
            m->graph->inputs[i]->type.shape = hn_shape_of(&m->dims, j->in[i]->rank, j->in[i]->dims);
    hone_status status = hn_model_infer(m, NULL, err);
    for (int i = 0; i < j->p->n && status == HONE_OK; i++) {
        const hn_value *v = hn_graph_value(m->graph, j->p->v[i].a->name);
        int64_t dims[HONE_MAX_RANK], n;
        int rank = v->type.shape.rank, known = 0;
        while (known < rank && hn_dim_is_const(v->type.shape.dim[known], &dims[known])) known++;
        bytes[i] = rank >= 0 && known == rank && hn_dims_count(dims, rank, &n) ? (size_t)n * 4 : 0;
    }
    hn_model_destroy(m);
    return status;
}

static hone_status measure_groups(const job *j, const size_t *bytes, size_t most,
                                  hn_pair_error *errors, hn_error *err) {
    for (int lo = 0, hi; lo < j->p->n; lo = hi) {
        size_t sum = 0;
        for (hi = lo; hi < j->p->n && (hi == lo || sum + 3 * bytes[hi] <= most); hi++)
            sum += 3 * bytes[hi];
        HN_TRY(measure_group(j, lo, hi, errors, err));
    }
    return HONE_OK;
}

hone_status hn_pair_errors(const hn_pairs *p, const hn_run_options how[2],
                           const hn_sample_source *samples, size_t most_bytes,
                           bool (*progress)(void *ctx, int64_t done, int64_t total), void *ctx,
                           hn_pair_error *errors, hn_error *err) {
    int n_in = p->side[HN_SIDE_A].graph->n_inputs;
    job j = {p, how, samples, progress, ctx, NULL};
    if (p->n == 0 || samples->n == 0) return HONE_OK;
    j.in = hn_alloc_zero(p->alloc, ((size_t)n_in + 1) * sizeof *j.in, HN_MEM_OTHER);
    size_t *bytes = hn_alloc_zero(p->alloc, (size_t)p->n * sizeof *bytes, HN_MEM_OTHER);
    hone_status status = j.in == NULL || bytes == NULL ? HN_NOMEM(err) : HONE_OK;
    if (status == HONE_OK) status = samples->load(samples->ctx, 0, j.in, err);
    if (status == HONE_OK) {
        status = find_bytes(&j, bytes, err);
        release_inputs(j.in, n_in);
    }
    if (status == HONE_OK) status = measure_groups(&j, bytes, most_bytes, errors, err);
    hn_free(p->alloc, bytes);
    hn_free(p->alloc, j.in);
    return status;
}

#include "train/distill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "engine/widen.h"
#include "ops/infer.h"
#include "passes/set_dim.h"
#include "passes/simplify.h"
#include "train/named.h"

/* ---- what to match ---- */

static const char *name_of(int i) { return hn_matches[i]->name; }

/* "KIND:TEACHER=STUDENT*WEIGHT" */
static hone_status read_match(hn_match *m, char *text, hn_error *err) {
    char *names = strchr(text, ':'), *student = names != NULL ? strchr(names, '=') : NULL;
    int at;
    HN_CHECK(err, student != NULL, HONE_E_ARG,
             "match '%s' is not KIND:TEACHER_VALUE=STUDENT_VALUE*WEIGHT", text);
    *names++ = '\0';
    *student++ = '\0';
    HN_TRY(hn_named_find("match", text, hn_n_matches, name_of, &at, err));
    *m = (hn_match){.row = hn_matches[at], .teacher = names, .student = student};
    m->weight = m->row->weight;
    char *times = strrchr(student, '*'), *end;
    if (times != NULL) {
        *times++ = '\0';
        m->weight = strtod(times, &end);
        HN_CHECK(err, end != times && *end == '\0' && m->weight > 0 && m->weight < 1e9, HONE_E_ARG,
                 "weight '%s' of match %s, expected a number above 0", times, text);
    }
    HN_CHECK(err, *names != '\0' && *student != '\0', HONE_E_ARG,
             "match %s does not name a value of both models", text);
    return HONE_OK;
}

static hone_status read_matches(hn_distill *d, hn_arena *arena, hn_error *err) {
    const char *given = d->o->match != NULL ? d->o->match : "";
    char *text = hn_arena_strdup(arena, given);
    if (text == NULL) return HN_NOMEM(err);
    for (char *rest = text, *word; (word = strsep(&rest, ",")) != NULL;) {
        if (*word == '\0') continue;
        HN_CHECK(err, d->n < HN_MOST_MATCHES, HONE_E_LIMIT, "more than %d matches",
                 HN_MOST_MATCHES);
        HN_TRY(read_match(&d->match[d->n++], word, err));
    }
    return HONE_OK;
}

/* A value of floats that the graph makes, by its name or that of the node that makes it. */
static hone_status named(hn_graph *g, const char *name, const char *whose, hn_value **out,
                         hn_error *err) {
    *out = hn_graph_value(g, name);
    for (hn_node *n = g->first; n != NULL && *out == NULL; n = n->next)
        if (strcmp(n->name, name) == 0) *out = hn_node_output(n, 0);
    HN_CHECK(err, *out != NULL, HONE_E_NOT_FOUND,
             "the %s has no value '%s': hone inspect lists them", whose, name);
    HN_CHECK(err, (*out)->producer != NULL && (*out)->type.dtype == HONE_DTYPE_F32, HONE_E_ARG,
             "value '%s' of the %s is not computed, or not f32", name, whose);
    return HONE_OK;
}

hone_status hn_distill_begin(hn_distill *d, const hn_distill_options *o, hn_graph *g,
                             hn_error *err) {
    *d = (hn_distill){.o = o};
    if (o->n_teachers == 0) return HONE_OK;
    HN_CHECK(err, o->temperature > 0 && o->alpha >= 0 && o->alpha <= 1, HONE_E_ARG,
             "temperature %g and alpha %g, expected above 0 and 0 to 1", o->temperature, o->alpha);
    HN_CHECK(err, o->self >= 0 && o->self < 1 && o->confidence >= 0 && o->confidence <= 1,
             HONE_E_ARG, "self %g and confidence %g, expected 0 to below 1 and 0 to 1", o->self,
             o->confidence);
    HN_TRY(read_matches(d, &g->model->arena, err));
    for (int i = 0; i < d->n; i++) {
        hn_value *v;
        HN_TRY(named(g, d->match[i].student, "student", &v, err));
        d->match[i].output = g->n_outputs;
        HN_TRY(hn_graph_add_output(g, v, err));
    }
    return HONE_OK;
}

void hn_distill_find(hn_distill *d, const hn_graph *g) {
    for (int i = 0; i < d->n; i++) d->match[i].value = g->outputs[d->match[i].output].value;
}

/* ---- teachers ---- */

/* A teacher in the graph of the student: its output, and its values of the matches. */
typedef struct seated {
    hn_value *y;
    hn_value *match[HN_MOST_MATCHES];
} seated;

/* The input of the student that the teacher's is: that of its name, or else of its place. */
static hn_value *same_input(const hn_distill *d, const hn_value *v, int place) {
    const hn_distill_inputs *in = d->inputs;
    for (int i = 0; i < in->n; i++)
        if (strcmp(in->data[i]->name, v->name) == 0) return in->data[i];
    return place < in->n ? in->data[place] : NULL;
}

static hone_status take_sizes(const hn_distill *d, hn_graph *t, hn_error *err) {
    for (int i = 0, k = 0; i < t->n_inputs; i++) {
        hn_value *v = t->inputs[i];
        if (v->constant != NULL) continue;
        const hn_value *own = same_input(d, v, k++);
        HN_CHECK(err, own != NULL, HONE_E_MODEL,
                 "the teacher has more inputs than the student: '%s'", v->name);
        const hn_shape *s = &own->type.shape;
        bool fits = v->type.dtype == own->type.dtype &&
                    (v->type.shape.rank < 0 || v->type.shape.rank == s->rank);
        for (int a = 0; fits && a < s->rank && v->type.shape.rank >= 0; a++) {
            int64_t wants, has;
            fits = !hn_dim_is_const(v->type.shape.dim[a], &wants) ||
                   (hn_dim_is_const(s->dim[a], &has) && has == wants);
        }
        HN_CHECK(err, fits, HONE_E_SHAPE,
                 "input '%s' of the teacher does not take what '%s' of the student does", v->name,
                 own->name);
        v->type.shape.rank = s->rank;
        for (int a = 0; a < s->rank; a++) {
            int64_t size = 0;
            hn_dim_is_const(s->dim[a], &size);
            v->type.shape.dim[a] = hn_dim_const(&t->model->dims, size);
        }
    }
    return HONE_OK;
}

/* The average of what is kept under this name; NULL: nothing is. */
static hn_value *average_of(const hn_distill *d, const char *name) {
    for (int i = 0; i < d->inputs->n_averages; i++)
        if (strcmp(d->inputs->averages[i].name, name) == 0) return d->inputs->averages[i].value;
    return NULL;
}

/* What is averaged becomes an input of the teacher, so that no pass takes it for a constant. */
static hone_status free_averaged(const hn_distill *d, hn_graph *t, hn_error *err) {
    for (int i = 0; i < d->inputs->n_averages; i++) {
        hn_value *v = hn_graph_value(t, d->inputs->averages[i].name);
        HN_TRY(hn_graph_add_input(t, v, err));
    }
    return HONE_OK;
}

/* Makes the teacher ready: sizes, matched values as outputs, fewer nodes. */
static hone_status prepare(const hn_distill *d, bool matched, hn_model *t, hn_error *err) {
    hn_graph *g = t->graph;
    int64_t samples;
    bool widened;
    HN_CHECK(err, g->n_outputs > 0, HONE_E_MODEL, "the teacher has no output");
    const hn_value *first = d->inputs->n > 0 ? d->inputs->data[0] : NULL;
    if (first != NULL && first->type.shape.rank > 0 &&
        hn_dim_is_const(first->type.shape.dim[0], &samples))
        HN_TRY(hn_model_free_batch(t, samples, err));
    HN_TRY(take_sizes(d, g, err));
    HN_TRY(hn_model_infer(t, NULL, err));
    HN_TRY(hn_widen(t, &widened, err));
    if (widened) HN_TRY(hn_model_infer(t, NULL, err));
    for (int i = 0; matched && i < d->n; i++) {
        hn_value *v;
        HN_TRY(named(g, d->match[i].teacher, "teacher", &v, err));
        HN_TRY(hn_graph_add_output(g, v, err));
    }
    hn_simplify_options o = hn_simplify_defaults();
    o.keep_opset = false;
    o.max_growth = -1;
    return hn_simplify(t, &o, NULL, err);
}

/* What an input of the teacher is in the graph of the student. */
static hone_status stand_in(const hn_distill *d, const hn_value *v, bool self, int *place,
                            hn_graph *to, hn_value **out, hn_error *err) {
    const hn_distill_inputs *in = d->inputs;
    if (v->constant == NULL) {
        *out = same_input(d, v, (*place)++);
        if (*out == in->data[0] && in->view != NULL) *out = in->view;
        return HONE_OK;
    }
    *out = self ? average_of(d, v->name) : NULL;
    if (*out != NULL) return HONE_OK;
    return hn_value_create_constant(out, to, NULL, v->name, hn_tensor_ref(v->constant), err);
}

static hone_status graft(const hn_distill *d, int which, const hn_model *t, const hn_loss *kind,
                         hn_graph *to, seated *s, hn_error *err) {
    const hn_graph *g = t->graph;
    bool matched = which == 0, self = d->o->teachers[which].model == NULL;
    int place = 0;
    hn_arena *arena = &to->model->arena;
    hn_value **copies = hn_arena_array(arena, (size_t)g->n_values + 1, sizeof *copies);
    bool *take = hn_arena_array(arena, (size_t)g->n_nodes + 1, sizeof *take);
    if (copies == NULL || take == NULL) return HN_NOMEM(err);
    memset(take, true, (size_t)g->n_nodes);
    for (int i = 0; i < g->n_inputs; i++)
        HN_TRY(stand_in(d, g->inputs[i], self, &place, to, &copies[g->inputs[i]->id], err));
    HN_TRY(hn_graph_graft(to, g, take, copies, err));
    s->y = copies[hn_loss_scores(g->outputs[0].value, kind)->id];
    int first = g->n_outputs - d->n;
    for (int i = 0; matched && i < d->n; i++) s->match[i] = copies[g->outputs[first + i].value->id];
    HN_CHECK(err, s->y != NULL, HONE_E_MODEL, "the teacher's output is a constant");
    return HONE_OK;
}

static hone_status seat(const hn_distill *d, int which, const hn_loss *kind, hn_graph *to,
                        seated *s, hn_error *err) {
    hn_model *t;
    const hn_model *from = d->o->teachers[which].model;
    bool self = from == NULL, matched = which == 0; /* values are matched with the first's */
    HN_TRY(hn_model_clone(&t, self ? d->inputs->student : from, to->model->alloc, err));
    hn_model_fix_defaults(t);
    hone_status status = self ? free_averaged(d, t->graph, err) : HONE_OK;
    if (status == HONE_OK) status = prepare(d, matched, t, err);
    if (status == HONE_OK) status = graft(d, which, t, kind, to, s, err);
    hn_model_destroy(t);
    return status;
}

/* ---- what they answer ---- */

/* What each class of a teacher's answer counts, before they are added: [1, classes, 1 ...]. */
static hn_value *shares(const hn_distill *d, hn_grad *g, int which, int rank, int64_t classes) {
    const hn_distill_options *o = d->o;
    int64_t dims[HONE_MAX_RANK];
    hn_tensor *t = NULL;
    hn_value *v = NULL;
    for (int i = 0; i < rank; i++) dims[i] = i == 1 ? classes : 1;
    if (g->status == HONE_OK)
        g->status = hn_tensor_create(&t, g->graph->model->alloc, HN_MEM_TENSOR, HONE_DTYPE_F32,
                                     rank, dims, g->err);
    if (g->status != HONE_OK) return NULL;
    for (int64_t c = 0; c < classes; c++) {
        double all = 0, own = 0;
        for (int i = 0; i < o->n_teachers; i++) {
            const hn_teacher *from = &o->teachers[i];
            double counts = c >= from->first && c <= from->last ? from->weight : 0;
            all += counts;
            if (i == which) own = counts;
        }
        ((float *)t->data)[c] = all > 0 ? (float)(own / all) : 0;
    }
    g->status = hn_value_create_constant(&v, g->graph, NULL, "shares", t, g->err);
    return v;
}

/* The teachers' answers as one: for each class the mean of those that are asked about it, then
 * divided by their sum where the answers are probabilities of classes. */
static hn_value *joint_answer(const hn_distill *d, hn_grad *g, const hn_loss *kind,
                              double temperature, const seated *seats, int rank,
                              const int64_t *dims) {
    hn_value *sum = NULL;
    for (int i = 0; i < d->o->n_teachers; i++) {
        hn_value *a = seats[i].y;
        if (kind->answer != NULL) a = kind->answer(g, a, temperature);
        if (d->o->n_teachers > 1)
            a = HN_EMIT2(g, "Mul", a, shares(d, g, i, rank, rank > 1 ? dims[1] : 1));
        sum = sum == NULL ? a : HN_EMIT2(g, "Add", sum, a);
    }
    if (d->o->n_teachers > 1 && kind->soft != NULL && kind->classes)
        sum = HN_EMIT2(g, "Div", sum, hn_emit_sum(g, sum, 1u << 1, true));
    return sum;
}

static hone_status fits(const hn_distill *d, hn_grad *g, const seated *seats, const hn_value *y,
                        int rank, const int64_t *dims, hn_error *err) {
    for (int i = 0; i < d->o->n_teachers; i++) {
        int64_t other[HONE_MAX_RANK];
        bool same = hn_grad_dims(g, seats[i].y, other) == rank;
        HN_TRY(g->status);
        for (int a = 0; same && a < rank; a++) same = other[a] == dims[a];
        char theirs[200], own[200];
        HN_CHECK(err, same, HONE_E_SHAPE, "teacher %d answers by %s, the student by %s", i + 1,
                 hn_shape_text(&seats[i].y->type.shape, theirs, sizeof theirs),
                 hn_shape_text(&y->type.shape, own, sizeof own));
        const hn_teacher *t = &d->o->teachers[i];
        int64_t classes = rank > 1 ? dims[1] : 1;
        HN_CHECK(err, t->last == HN_ALL_CLASSES || (t->first <= t->last && t->last < classes),
                 HONE_E_ARG, "teacher %d is asked about classes %lld to %lld of %lld", i + 1,
                 (long long)t->first, (long long)t->last, (long long)classes);
    }
    return HONE_OK;
}

/* The rows in which the teachers' highest probability is as high as is wanted; NULL: all rows. */
static hn_value *confident(const hn_distill *d, hn_grad *g, const hn_loss *kind,
                           const seated *seats, int rank, const int64_t *dims) {
    const int64_t classes = 1;
    if (d->o->confidence == 0) return NULL;
    hn_value *p = joint_answer(d, g, kind, 1, seats, rank, dims);
    hn_value *in[] = {p, hn_emit_ints(g, &classes, 1)};
    hn_node *most = hn_emit_node(g, "", "ReduceMax", 1, 2, in);
    hn_emit_i(g, most, "keepdims", 0);
    return HN_EMIT2(g, "GreaterOrEqual", hn_emitted(most, 0), hn_emit_number(g, d->o->confidence));
}

static hn_value *soft_loss(const hn_distill *d, hn_grad *g, const hn_loss *kind,
                           const hn_loss_options *loss, const seated *seats, hn_value *y, int rank,
                           const int64_t *dims) {
    double temperature = d->o->temperature;
    hn_value *answer = joint_answer(d, g, kind, temperature, seats, rank, dims);
    if (kind->soft != NULL)
        return kind->soft(g, y, answer, temperature, confident(d, g, kind, seats, rank, dims));
    return kind->emit(g, y, rank, dims, answer, loss);
}

/* ---- values of equal sizes ---- */

/* Which axis holds features: 1 of images, else the last. */
static int feature_axis(int rank) { return rank >= 4 ? 1 : rank - 1; }

/* A matrix [to, from] (or its transpose) whose rows average as adaptive pooling does. */
static hn_value *averages(hn_grad *g, int64_t from, int64_t to, bool transposed) {
    int64_t dims[] = {transposed ? from : to, transposed ? to : from};
    hn_tensor *t = NULL;
    hn_value *v = NULL;
    if (g->status == HONE_OK)
        g->status = hn_tensor_create(&t, g->graph->model->alloc, HN_MEM_TENSOR, HONE_DTYPE_F32, 2,
                                     dims, g->err);
    if (g->status != HONE_OK) return NULL;
    memset(t->data, 0, t->bytes);
    for (int64_t i = 0; i < to; i++) {
        int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
        for (int64_t k = begin; k < end; k++)
            ((float *)t->data)[transposed ? k * to + i : i * from + k] = 1 / (float)(end - begin);
    }
    g->status = hn_value_create_constant(&v, g->graph, NULL, "averages", t, g->err);
    return v;
}

/* Images [.., h, w] averaged to [.., to_h, to_w]. */
static hn_value *averaged(hn_grad *g, hn_value *v, const int64_t *from, const int64_t *to) {
    if (from[0] != to[0]) v = HN_EMIT2(g, "MatMul", averages(g, from[0], to[0], false), v);
    if (from[1] != to[1]) v = HN_EMIT2(g, "MatMul", v, averages(g, from[1], to[1], true));
    return v;
}

/* First weights like those of a layer of `from` inputs: uniform, of variance 1 / (3 from). */
static hn_tensor *first_projection(hn_grad *g, uint64_t seed, bool image, int64_t from,
                                   int64_t to) {
    int64_t dims[] = {image ? to : from, image ? from : to, 1, 1};
    hn_tensor *t = NULL;
    hn_rng rng;
    if (g->status == HONE_OK)
        g->status = hn_tensor_create(&t, g->graph->model->alloc, HN_MEM_TENSOR, HONE_DTYPE_F32,
                                     image ? 4 : 2, dims, g->err);
    if (g->status != HONE_OK) return NULL;
    hn_rng_init(&rng, seed);
    for (int64_t i = 0; i < t->n; i++)
        ((float *)t->data)[i] = (float)((2 * hn_rng_f64(&rng) - 1) / sqrt((double)from));
    return t;
}

typedef struct sides {
    hn_value *student, *teacher;
    int rank;
    int64_t dims[HONE_MAX_RANK]; /* of both, once they are equal */
} sides;

/* Makes spatial sizes equal, and with `projected` the features. */
static hone_status equalize(const hn_distill *d, int i, hn_grad *g, sides *s,
                            hn_distill_parameter *parameter, void *ctx, hn_error *err) {
    const hn_match *m = &d->match[i];
    int64_t own[HONE_MAX_RANK], other[HONE_MAX_RANK], to[2];
    s->rank = hn_grad_dims(g, s->student, own);
    int rank = hn_grad_dims(g, s->teacher, other), axis = feature_axis(s->rank);
    HN_TRY(g->status);
    bool same = rank == s->rank && rank >= 2;
    bool image = rank == 4;
    for (int a = 0; same && a < rank; a++)
        same = own[a] == other[a] || a == axis || (image && a >= 2);
    HN_CHECK(err, same, HONE_E_SHAPE,
             "values '%s' of the teacher and '%s' of the student cannot be matched: ranks %d and "
             "%d, or sizes that neither average nor project",
             m->teacher, m->student, rank, s->rank);
    for (int a = 0; image && a < 2; a++)
        to[a] = own[2 + a] < other[2 + a] ? own[2 + a] : other[2 + a];
    if (image) {
        s->student = averaged(g, s->student, own + 2, to);
        s->teacher = averaged(g, s->teacher, other + 2, to);
        own[2] = to[0], own[3] = to[1];
    }
    if (own[axis] != other[axis] && m->row->projected) {
        char name[64];
        snprintf(name, sizeof name, "match%d", i);
        hn_tensor *first =
            first_projection(g, d->o->seed + (uint64_t)i, image, own[axis], other[axis]);
        HN_TRY(g->status);
        hn_value *by = parameter(ctx, name, first);
        s->student = HN_EMIT2(g, image ? "Conv" : "MatMul", s->student, by);
        own[axis] = other[axis];
    }
    memcpy(s->dims, own, sizeof own);
    return g->status;
}

/* ---- how values are compared ---- */

static hn_value *mean_square(hn_grad *g, hn_value *a, hn_value *b) {
    hn_value *d = HN_EMIT2(g, "Sub", a, b);
    return hn_loss_mean(g, HN_EMIT2(g, "Mul", d, d));
}

static hn_value *features(hn_grad *g, hn_value *student, hn_value *teacher, int rank,
                          const int64_t *dims) {
    (void)rank, (void)dims;
    return mean_square(g, student, teacher);
}

static hn_value *directions(hn_grad *g, hn_value *student, hn_value *teacher, int rank,
                            const int64_t *dims) {
    (void)dims;
    return hn_loss_cosine(g, student, teacher, feature_axis(rank));
}

/* Rows of a matrix, each of length 1. */
static hn_value *unit_rows(hn_grad *g, hn_value *v) {
    hn_value *sum = hn_emit_sum(g, HN_EMIT2(g, "Mul", v, v), 1u << 1, true);
    hn_value *length = HN_EMIT1(g, "Sqrt", HN_EMIT2(g, "Add", sum, hn_emit_number(g, 1e-12)));
    return HN_EMIT2(g, "Div", v, length);
}

static hn_value *flat(hn_grad *g, hn_value *v, int64_t samples) {
    const int64_t dims[] = {samples, -1};
    return hn_emit_reshape(g, v, 2, dims);
}

/* Where a value is large: squares summed over features, as a row of length 1 for each sample. */
static hn_value *attention_map(hn_grad *g, hn_value *v, int rank, int64_t samples) {
    hn_value *sum = hn_emit_sum(g, HN_EMIT2(g, "Mul", v, v), 1u << feature_axis(rank), false);
    return unit_rows(g, flat(g, sum, samples));
}

static hn_value *attention(hn_grad *g, hn_value *student, hn_value *teacher, int rank,
                           const int64_t *dims) {
    return mean_square(g, attention_map(g, student, rank, dims[0]),
                       attention_map(g, teacher, rank, dims[0]));
}

/* How alike the samples of a batch are to each other. */
static hn_value *likeness(hn_grad *g, hn_value *v, int64_t samples) {
    hn_value *rows = flat(g, v, samples);
    return unit_rows(g, HN_EMIT2(g, "MatMul", rows, hn_emit_swapped(g, rows, 2)));
}

static hn_value *relation(hn_grad *g, hn_value *student, hn_value *teacher, int rank,
                          const int64_t *dims) {
    (void)rank;
    return mean_square(g, likeness(g, student, dims[0]), likeness(g, teacher, dims[0]));
}

static const hn_match_row features_row = {"features", "mean of squared differences", 0.1, true,
                                          features};
static const hn_match_row cosine_row = {"cosine", "1 - the cosine of the features of each place",
                                        0.1, true, directions};
static const hn_match_row attention_row = {
    "attention", "where values are large: squares summed over features", 1000, false, attention};
static const hn_match_row relation_row = {
    "relation", "how alike the samples of a batch are to each other", 1000, false, relation};

const hn_match_row *const hn_matches[] = {&features_row, &cosine_row, &attention_row,
                                          &relation_row};
const int hn_n_matches = sizeof hn_matches / sizeof *hn_matches;

/* ---- the loss ---- */

static hn_value *weighted(hn_grad *g, hn_value *v, double by) {
    return HN_EMIT2(g, "Mul", v, hn_emit_number(g, by));
}

static hn_value *plus(hn_grad *g, hn_value *a, hn_value *b) {
    return a == NULL ? b : HN_EMIT2(g, "Add", a, b);
}

hone_status hn_distill_emit(hn_distill *d, hn_grad *g, const hn_loss *kind,
                            const hn_loss_options *loss, hn_value *y, hn_value *hard,
                            const hn_distill_inputs *inputs, hn_distill_parameter *parameter,
                            void *ctx, hn_value **total, hn_error *err) {
    int n = d->o->n_teachers;
    d->inputs = inputs;
    HN_CHECK(err, d->o->confidence == 0 || (kind->classes && kind->soft != NULL), HONE_E_ARG,
             "confidence %g wants a loss by probabilities of classes, cross-entropy or kl; the "
             "loss is %s",
             d->o->confidence, kind->name);
    seated *seats = hn_arena_array(&g->graph->model->arena, (size_t)n, sizeof *seats);
    if (seats == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) HN_TRY(seat(d, i, kind, g->graph, &seats[i], err));
    HN_TRY(hn_graph_sort(g->graph, NULL, err));
    HN_TRY(hn_model_infer(g->graph->model, NULL, err));
    for (int i = 0; i < n; i++) seats[i].y = hn_loss_flat(g, seats[i].y, kind);
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, y, dims);
    HN_TRY(g->status);
    HN_TRY(fits(d, g, seats, y, rank, dims, err));
    double alpha = hard != NULL ? d->o->alpha : 1;
    hn_value *sum = NULL;
    if (alpha < 1) sum = weighted(g, hard, 1 - alpha);
    if (alpha > 0)
        sum = plus(g, sum, weighted(g, soft_loss(d, g, kind, loss, seats, y, rank, dims), alpha));
    for (int i = 0; i < d->n; i++) {
        const hn_match *m = &d->match[i];
        sides s = {.student = m->value, .teacher = seats[0].match[i]};
        HN_TRY(equalize(d, i, g, &s, parameter, ctx, err));
        hn_value *term = m->row->emit(g, s.student, s.teacher, s.rank, s.dims);
        sum = plus(g, sum, weighted(g, term, m->weight));
    }
    *total = sum;
    return g->status;
}

/* Streams: a model run step by step, with outputs of a step as inputs of the next (--state).
 *
 *     --over x:1   x of step t is slice t of the array that --in gives, along axis 1
 *     --steps N    the same inputs N times, or the first N slices
 *
 * An input that is kept and is given by --in begins with that value. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* An input that takes slices of an array. */
typedef struct over {
    hone_value whole; /* dtype HONE_DTYPE_NONE: it does not */
    int axis;
    bool drop; /* slices lack the axis */
    int64_t length;
} over;

struct stream {
    hone_session *session;
    hone_state *state;
    size_t n_over, n_first, n_kept;
    over *over;            /* by input of the feed */
    hone_value *first;     /* values that --in gives to kept inputs */
    hone_value_info *kept; /* the other kept inputs */
    bool stacks;           /* outputs get an axis for the steps */
    int64_t steps;
};

/* ---- what is kept leaves the feed ---- */

static bool is_kept(const hone_session *s, const char *name, bool output) {
    const char *in, *out;
    for (size_t i = 0; (in = hone_session_state(s, i, &out)) != NULL; i++)
        if (strcmp(output ? out : in, name) == 0) return true;
    return false;
}

static void take_kept(stream *s, feed *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_in; i++) {
        if (!is_kept(s->session, f->in[i].name, false)) {
            f->info[n] = f->info[i];
            f->in[n++] = f->in[i];
            continue;
        }
        if (f->in[i].dtype != HONE_DTYPE_NONE)
            s->first[s->n_first++] = f->in[i];
        else
            s->kept[s->n_kept++] = f->info[i];
    }
    f->n_in = n;
    n = 0;
    for (size_t i = 0; i < f->n_out; i++)
        if (!is_kept(s->session, f->out[i].name, true)) f->out[n++] = f->out[i];
    f->n_out = n;
}

/* ---- slices ---- */

/* Slice `step` of the array. */
static void cut(const over *o, int64_t step, hone_value *to) {
    const hone_value *w = &o->whole;
    size_t line = (size_t)hone_dtype_bits(w->dtype) / 8;
    for (int i = o->axis + 1; i < w->rank; i++) line *= (size_t)w->dims[i];
    size_t take = line * (size_t)o->length, all = line * (size_t)w->dims[o->axis];
    size_t rows = all > 0 ? w->bytes / all : 0;
    for (size_t i = 0; i < rows; i++)
        memcpy((char *)to->data + i * take, (const char *)w->data + i * all + (size_t)step * take,
               take);
}

/* The size that a slice of input i has along the axis. */
static int64_t slice_length(const feed *f, size_t i, int axis) {
    const hone_value_info *info = &f->info[i];
    int64_t size = 1;
    if (axis >= info->rank) return 1;
    if (info->dim_names[axis] == NULL) return info->dims[axis];
    feed_knows(f, info->dim_names[axis], &size);
    return size;
}

static exit_code over_input(stream *s, feed *f, size_t i, int64_t axis) {
    over *o = &s->over[i];
    hone_value *v = &f->in[i];
    hone_error err;
    if (v->dtype == HONE_DTYPE_NONE) {
        complain("--over wants the array of input '%s': --in %s=FILE.npy", v->name, v->name);
        return EXIT_USAGE;
    }
    int rank = f->info[i].rank >= 0 ? f->info[i].rank : v->rank;
    if (axis < 0) axis += v->rank;
    o->drop = v->rank == rank + 1;
    if (axis < 0 || axis >= v->rank || (v->rank != rank && !o->drop) ||
        hone_dtype_bits(v->dtype) % 8 != 0) {
        complain("--over: input '%s' has rank %d, its array has rank %d and no axis to go along",
                 v->name, rank, v->rank);
        return EXIT_USAGE;
    }
    o->axis = (int)axis;
    o->length = o->drop ? 1 : slice_length(f, i, o->axis);
    int64_t size = v->dims[axis];
    if (o->length < 1 || size % o->length != 0) {
        complain(
            "--over: axis %d of the array for input '%s' has size %lld, expected a multiple "
            "of %lld",
            o->axis, v->name, (long long)size, (long long)o->length);
        return EXIT_USAGE;
    }
    int64_t steps = size / o->length;
    if (s->steps >= 0 && s->steps != steps) {
        complain("--over: there are %lld steps of input '%s' and %lld of another", (long long)steps,
                 v->name, (long long)s->steps);
        return EXIT_USAGE;
    }
    s->steps = steps;
    o->whole = *v;
    hone_value slice = {.name = v->name, .dtype = v->dtype};
    for (int d = 0; d < v->rank; d++)
        if (d != o->axis || !o->drop)
            slice.dims[slice.rank++] = d == o->axis ? o->length : v->dims[d];
    *v = slice;
    return hone_value_fill(v, HONE_FILL_ZEROS, 0, &err) == HONE_OK ? EXIT_DONE : fail_with(&err);
}

/* --over INPUT[:AXIS] */
static exit_code read_over(stream *s, feed *f, const char *text) {
    size_t i = 0;
    long long axis = 0;
    char end;
    const char **names = must(calloc(f->n_in + 1, sizeof *names));
    for (size_t k = 0; k < f->n_in; k++) names[k] = f->in[k].name;
    for (; i < f->n_in; i++) {
        size_t n = strlen(names[i]);
        if (strcmp(text, names[i]) == 0) break;
        if (strncmp(text, names[i], n) == 0 && text[n] == ':' &&
            sscanf(text + n + 1, "%lld%c", &axis, &end) == 1)
            break;
    }
    exit_code code = EXIT_USAGE;
    if (i == f->n_in)
        has_no("the model", "input", text, names);
    else if (s->over[i].whole.dtype != HONE_DTYPE_NONE)
        complain("--over names input '%s' twice", names[i]);
    else
        code = over_input(s, f, i, axis);
    free(names);
    return code;
}

/* Sizes of symbols, from inputs that are kept, or from what a step takes of the others. */
static void settle(const stream *s, feed *f, bool kept) {
    for (size_t i = 0; i < f->n_in; i++) {
        hone_value v = f->in[i];
        if (v.dtype != HONE_DTYPE_NONE && is_kept(s->session, v.name, false) == kept)
            feed_take(f, i, &v);
    }
}

/* ---- the state before the first step, and after the last ---- */

static exit_code load_state(const stream *s, const char *path) {
    hone_value *arrays = NULL;
    size_t n = 0, taken = 0;
    hone_error err;
    exit_code code = EXIT_DONE;
    if (hone_npz_read(&arrays, &n, path, &err) != HONE_OK) return fail_with(&err);
    for (size_t i = 0; i < n && code == EXIT_DONE; i++, taken++)
        if (hone_state_set(s->state, &arrays[i], &err) != HONE_OK) code = fail_with(&err);
    if (code == EXIT_DONE && hone_session_state(s->session, taken, NULL) != NULL) {
        complain("%s: the state of %zu inputs, expected one of each pair of --state", path, taken);
        code = EXIT_INPUT;
    }
    hone_value_release(arrays, n);
    hone_free(arrays);
    return code;
}

static exit_code save_state(const stream *s, const char *path) {
    size_t n = 0;
    hone_error err;
    while (hone_session_state(s->session, n, NULL) != NULL) n++;
    hone_value *values = must(calloc(n, sizeof *values));
    hone_status status = HONE_OK;
    for (size_t i = 0; i < n && status == HONE_OK; i++) {
        values[i].name = hone_session_state(s->session, i, NULL);
        status = hone_state_get(s->state, &values[i], &err);
    }
    if (status == HONE_OK) status = hone_npz_write(values, n, path, &err);
    hone_value_release(values, n);
    free(values);
    return status == HONE_OK ? EXIT_DONE : fail_with(&err);
}

/* Zeros of the sizes that --dim gives, where it gives them all. */
static exit_code begin_zeros(const stream *s, const feed *f, const hone_value_info *info) {
    hone_value v = {.name = info->name, .dtype = info->dtype, .rank = info->rank};
    hone_error err;
    bool known = info->rank >= 0;
    for (int d = 0; d < info->rank && known; d++) {
        v.dims[d] = info->dims[d];
        if (info->dim_names[d] != NULL) known = feed_knows(f, info->dim_names[d], &v.dims[d]);
    }
    if (!known) return EXIT_DONE;
    hone_status status = hone_value_fill(&v, HONE_FILL_ZEROS, 0, &err);
    if (status == HONE_OK) status = hone_state_set(s->state, &v, &err);
    hone_value_release(&v, 1);
    return status == HONE_OK ? EXIT_DONE : fail_with(&err);
}

static exit_code begin_state(const stream *s, const feed *f, const char *load) {
    hone_error err;
    exit_code code = EXIT_DONE;
    if (load != NULL && s->n_first > 0) {
        complain("--in gives input '%s', and so does --load-state", s->first[0].name);
        return EXIT_USAGE;
    }
    if (load != NULL) return load_state(s, load);
    for (size_t i = 0; i < s->n_first && code == EXIT_DONE; i++)
        if (hone_state_set(s->state, &s->first[i], &err) != HONE_OK) code = fail_with(&err);
    for (size_t i = 0; i < s->n_kept && code == EXIT_DONE; i++)
        code = begin_zeros(s, f, &s->kept[i]);
    return code;
}

/* ---- steps ---- */

static bool same_type(const hone_value *a, const hone_value *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Puts what step t made behind what the steps before it made. An output whose shape changes is
 * that of the last step. */
static hone_status stack(const stream *s, int64_t t, hone_value *made, hone_value *all,
                         hone_error *err) {
    hone_value one = *all;
    if (t == 0 && made->rank < HONE_MAX_RANK) {
        hone_value whole = {.name = made->name, .dtype = made->dtype, .rank = made->rank + 1};
        whole.dims[0] = s->steps;
        memcpy(whole.dims + 1, made->dims, (size_t)made->rank * sizeof *made->dims);
        hone_status status = hone_value_fill(&whole, HONE_FILL_ZEROS, 0, err);
        if (status != HONE_OK) return status;
        *all = one = whole;
    }
    one.rank--;
    memmove(one.dims, one.dims + 1, sizeof one.dims - sizeof *one.dims);
    if (one.rank == made->rank && same_type(&one, made)) {
        if (made->bytes > 0)
            memcpy((char *)all->data + (size_t)t * made->bytes, made->data, made->bytes);
        hone_value_release(made, 1);
        return HONE_OK;
    }
    if (t > 0 && all->rank == made->rank + 1)
        note("output '%s' changes its shape: that of the last step is kept", made->name);
    hone_value_release(all, 1);
    *all = *made;
    *made = (hone_value){.name = all->name};
    return HONE_OK;
}

static exit_code run_steps(stream *s, feed *f) {
    hone_error err;
    hone_status status = HONE_OK;
    progress p;
    hone_value *made = must(calloc(f->n_out + 1, sizeof *made));
    for (size_t i = 0; i < f->n_out; i++) made[i].name = f->out[i].name;
    progress_start(&p, "run", "steps");
    for (int64_t t = 0; t < s->steps && status == HONE_OK; t++) {
        for (size_t i = 0; i < f->n_in; i++)
            if (s->over[i].whole.dtype != HONE_DTYPE_NONE) cut(&s->over[i], t, &f->in[i]);
        hone_value *out = s->stacks ? made : f->out;
        status = hone_state_run(s->state, f->n_in, f->in, f->n_out, out, &err);
        for (size_t i = 0; i < f->n_out && s->stacks && status == HONE_OK; i++)
            status = stack(s, t, &made[i], &f->out[i], &err);
        progress_step(&p, t + 1, s->steps);
    }
    progress_end(&p);
    hone_value_release(made, f->n_out);
    free(made);
    return status == HONE_OK ? EXIT_DONE : fail_with(&err);
}

/* ---- the whole ---- */

static exit_code read_steps(stream *s, const args *a, feed *f) {
    int64_t steps = -1;
    exit_code code = EXIT_DONE;
    s->steps = -1;
    if (!number_of(a, "--steps", 1, INT64_MAX, &steps)) return EXIT_USAGE;
    for (int k = 0; code == EXIT_DONE && value_at(a, "--over", k) != NULL; k++)
        code = read_over(s, f, value_at(a, "--over", k));
    if (code != EXIT_DONE) return code;
    if (s->steps >= 0 && steps > s->steps) {
        complain("--steps %lld: --over has slices for %lld", (long long)steps, (long long)s->steps);
        return EXIT_USAGE;
    }
    s->stacks = steps >= 0 || s->steps >= 0;
    if (steps >= 0 || s->steps < 0) s->steps = steps >= 0 ? steps : 1;
    return EXIT_DONE;
}

bool stream_wanted(const args *a, bool *wanted) {
    static const char *const others[] = {"--over", "--steps", "--load-state", "--save-state"};
    *wanted = has(a, "--state");
    for (size_t i = 0; i < sizeof others / sizeof *others && !*wanted; i++) {
        if (!has(a, others[i])) continue;
        complain("%s is for streams: --state INPUT=OUTPUT", others[i]);
        return false;
    }
    return true;
}

exit_code stream_begin(stream **out, const args *a, hone_session *session, feed *f) {
    hone_error err;
    stream *s = *out = must(calloc(1, sizeof *s));
    s->session = session;
    s->n_over = f->n_in;
    s->over = must(calloc(f->n_in + 1, sizeof *s->over));
    s->first = must(calloc(f->n_in + 1, sizeof *s->first));
    s->kept = must(calloc(f->n_in + 1, sizeof *s->kept));
    if (hone_state_create(&s->state, session, &err) != HONE_OK) return fail_with(&err);
    f->n_dims = f->n_asked; /* whole arrays settle nothing */
    settle(s, f, true);
    take_kept(s, f);
    exit_code code = read_steps(s, a, f);
    if (code == EXIT_DONE) settle(s, f, false);
    return code;
}

exit_code stream_run(stream *s, const args *a, feed *f) {
    exit_code code = begin_state(s, f, value_of(a, "--load-state"));
    if (code == EXIT_DONE) code = run_steps(s, f);
    if (code == EXIT_DONE && has(a, "--save-state"))
        code = save_state(s, value_of(a, "--save-state"));
    return code;
}

int64_t stream_steps(const stream *s) { return s != NULL ? s->steps : 1; }

void stream_end(stream *s) {
    if (s == NULL) return;
    hone_state_destroy(s->state);
    for (size_t i = 0; i < s->n_over; i++) hone_value_release(&s->over[i].whole, 1);
    free(s->over);
    hone_value_release(s->first, s->n_first);
    free(s->first);
    free(s->kept);
    free(s);
}

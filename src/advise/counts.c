#include "advise/counts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure/inspect.h"
#include "ops/nodes.h"
#include "passes/set_dim.h"

/* An image has at least so many rows and columns; a smaller input is not worth a thought. */
#define LEAST_IMAGE 32
/* Of an image's rows and columns, in 7ths: 224 becomes 160. */
#define SMALLER_OF_7 5
enum { MOST_INPUTS = 16, MOST_SETTINGS = MOST_INPUTS * HONE_MAX_RANK, WORDS = 1024 };

/* ---- nodes ---- */

/* The outputs of a convolution, and the positions in its window; false: it has none over 1, or is
 * depthwise. */
static bool dense_window(const hn_node *n, double *area, double *channels) {
    if (hn_weight_kind_of(n) != HN_WEIGHT_WINDOWS) return false;
    const hn_value *w = hn_node_input(n, hn_def_of(n)->weights->input);
    if (w == NULL || w->constant == NULL || w->constant->rank < 3) return false;
    const hn_tensor *t = w->constant;
    hn_weight_use use;
    if (!hn_weight_use_of(n, t, &use) || use.sum_axis < 0) return false;
    *area = 1;
    for (int i = 2; i < t->rank; i++) *area *= (double)t->dims[i];
    *channels = (double)t->dims[use.channel_axis];
    return *area > 1 && t->dims[use.sum_axis] > 1;
}

/* Element by element, of one input of its own shape: what engines compute with the node before. */
static bool is_fusable(const hn_node *n, double macs) {
    const hn_value *x = hn_node_input(n, 0), *y = hn_node_output(n, 0);
    const hn_op_def *op = hn_def_of(n);
    bool elements = (op->traits & (HN_ACTIVATION | HN_VIEW)) != 0 || op->derivative != NULL ||
                    op->role == HN_ROLE_LIMIT || op->role == HN_ROLE_TABLE ||
                    op->role == HN_ROLE_ADD || op->role == HN_ROLE_MUL ||
                    op->mixing == HN_MIXES_NOTHING || op->mixing == HN_MIXES_SPACE;
    return macs <= 0 && elements && x != NULL && y != NULL && x->producer != NULL &&
           ((op->traits & HN_VIEW) != 0 || hn_shape_equal(&x->type.shape, &y->type.shape));
}

static double known(int64_t v) { return v > 0 ? (double)v : 0; }

static void add_node(hn_counts *c, const hn_node *n, const hone_node_info *info) {
    double area, channels, macs = known(info->macs);
    double bytes = known(info->read_bytes) + known(info->written_bytes);
    double weights = known(info->params_bytes) < bytes ? known(info->params_bytes) : bytes;
    bool view = (hn_def_of(n)->traits & HN_VIEW) != 0;
    if (view) bytes = weights = 0;
    if (hn_weight_kind_of(n) == HN_WEIGHT_MATRIX) c->matrix_macs += macs;
    if (dense_window(n, &area, &channels)) {
        c->window_macs += macs;
        c->replaced += macs * (1 / channels + 1 / area);
    }
    c->works[c->n++] = (hn_piece){.precision = "f32",
                                  .macs = macs,
                                  .flops = 2 * macs,
                                  .bytes = bytes,
                                  .weights_bytes = weights,
                                  .fuses = is_fusable(n, macs)};
}

static const char *name_of(const hn_node *n) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL) return n->outputs[i]->name;
    return NULL;
}

/* Nodes of subgraphs, whose runs nobody can count, are left out. */
static hone_status add_nodes(hn_counts *c, const hn_model *m, const hone_inspection *in,
                             hn_arena *arena, hn_error *err) {
    c->works = hn_arena_array(arena, in->n_nodes + 1, sizeof *c->works);
    if (c->works == NULL) return HN_NOMEM(err);
    const hn_node *n = m->graph->first;
    for (size_t i = 0; i < in->n_nodes; i++) {
        const hone_node_info *info = &in->nodes[i];
        if (!info->supported && c->unsupported++ == 0) {
            c->unsupported_op = hn_arena_strdup(arena, info->op);
            if (c->unsupported_op == NULL) return HN_NOMEM(err);
        }
        if (n == NULL || info->output_name != name_of(n)) continue;
        if (n->n_inputs > 0) add_node(c, n, info); /* others are constants */
        n = n->next;
    }
    return HONE_OK;
}

/* What most weights are stored in, and what is computed in it. */
static void find_precision(hn_counts *c, const hone_inspection *in) {
    const hone_dtype_use *most = NULL;
    for (size_t i = 0; i < in->n_dtypes; i++)
        if (most == NULL || in->dtypes[i].elements > most->elements) most = &in->dtypes[i];
    hone_dtype dtype = most != NULL ? most->dtype : HONE_DTYPE_F32;
    int bits = hone_dtype_bits(dtype);
    bool floats = dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F64;
    bool halves = dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16;
    c->stored = hone_dtype_name(dtype);
    c->quantized = !floats && !halves && bits > 0 && bits <= 8;
    for (int i = 0; i < c->n; i++)
        if (c->works[i].macs > 0)
            c->works[i].precision = c->quantized ? "int8" : halves ? c->stored : "f32";
}

/* ---- sizes that may be set ---- */

typedef struct words {
    char text[WORDS];
    size_t used;
    hn_dim_setting settings[MOST_SETTINGS];
    char to[MOST_SETTINGS][24];
    int n;
    bool unspeakable; /* a name that quotes do not make a word of a command line */
} words;

static bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }

static void add_setting(words *w, const char *input, int axis, int64_t to) {
    if (w->n == MOST_SETTINGS || w->used >= WORDS) return;
    snprintf(w->to[w->n], sizeof w->to[0], "%lld", (long long)to);
    w->settings[w->n] = (hn_dim_setting){input, axis, w->to[w->n]};
    w->n++;
    for (const char *c = input; *c != '\0'; c++)
        w->unspeakable |= *c == '\'' || is_control((unsigned char)*c);
    bool plain = strspn(input,
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "_-./:") == strlen(input);
    w->used += (size_t)snprintf(w->text + w->used, WORDS - w->used, " --set-dim %s%s:%d=%lld%s",
                                plain ? "" : "'", input, axis, (long long)to, plain ? "" : "'");
}

/* The words, if the model takes those sizes. */
static hone_status try_settings(const char **out, const words *w, const hn_model *m,
                                hn_arena *arena, hn_error *err) {
    hn_model *copy = NULL;
    hn_error refused;
    *out = "";
    if (w->n == 0 || w->used >= WORDS || w->unspeakable) return HONE_OK;
    HN_TRY(hn_model_clone(&copy, m, arena->alloc, err));
    hone_status status = hn_model_set_dims(copy, w->settings, w->n, &refused);
    hn_model_destroy(copy);
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    if (status != HONE_OK) return HONE_OK;
    *out = hn_arena_strdup(arena, w->text);
    return *out != NULL ? HONE_OK : HN_NOMEM(err);
}

static int64_t size_of(hn_dim d) {
    int64_t v;
    return hn_dim_is_const(d, &v) ? v : -1;
}

/* Sizes come from files, and may be as large as they like. */
static int64_t smaller_of(int64_t size) {
    return size / 7 * SMALLER_OF_7 + size % 7 * SMALLER_OF_7 / 7;
}

/* The inputs that a run must be given. */
static const hn_value *input_at(const hn_model *m, int i) {
    const hn_graph *g = m->graph;
    if (i >= g->n_inputs || i >= MOST_INPUTS) return NULL;
    return g->inputs[i];
}

static bool is_given(const hn_value *v) { return v->constant == NULL && v->type.shape.rank > 0; }

static hone_status find_sizes(hn_counts *c, const hn_model *m, const hone_inspection *in,
                              int64_t batch, hn_arena *arena, hn_error *err) {
    words *all = hn_arena_array(arena, 3, sizeof *all), *larger = all, *fixed = all + 1,
          *smaller = all + 2;
    const hn_value *v;
    if (all == NULL) return HN_NOMEM(err);
    memset(all, 0, 3 * sizeof *all);
    c->fixed = true;
    c->samples = 0;
    c->batch = batch;
    c->smaller = c->set_smaller = "";
    for (int i = 0; (v = input_at(m, i)) != NULL; i++) {
        const hn_shape *s = &v->type.shape;
        if (!is_given(v)) continue;
        int64_t first = size_of(s->dim[0]), h = s->rank == 4 ? size_of(s->dim[2]) : 0,
                w = s->rank == 4 ? size_of(s->dim[3]) : 0;
        if (c->samples == 0) c->samples = first > 0 ? first : 1;
        /* Inputs that share a symbol are set by one. */
        if (larger->n == 0 || first >= 0) add_setting(larger, v->name, 0, batch);
        for (int d = 0; d < s->rank; d++) {
            const char *name;
            if (size_of(s->dim[d]) >= 0 || !hn_dim_is_symbol(s->dim[d], &name)) continue;
            bool again = false;
            c->fixed = false;
            for (int k = 0; k < fixed->n; k++) {
                const hn_value *other = hn_graph_value(m->graph, fixed->settings[k].input);
                again |=
                    other != NULL && other->type.shape.dim[fixed->settings[k].axis] == s->dim[d];
            }
            for (size_t k = 0; k < in->n_dims && !again; k++)
                if (strcmp(in->dims[k].name, name) == 0)
                    add_setting(fixed, v->name, d, in->dims[k].value);
        }
        if (h < LEAST_IMAGE || w < LEAST_IMAGE || smaller->n > 0) continue;
        int64_t rows = smaller_of(h), columns = smaller_of(w);
        char text[100];
        add_setting(smaller, v->name, 2, rows);
        add_setting(smaller, v->name, 3, columns);
        c->pixels = (double)rows * (double)columns / ((double)h * (double)w);
        snprintf(text, sizeof text, "%lld x %lld to %lld x %lld", (long long)h, (long long)w,
                 (long long)rows, (long long)columns);
        c->smaller = hn_arena_strdup(arena, text);
        if (c->smaller == NULL) return HN_NOMEM(err);
    }
    if (c->samples == 0) c->samples = 1;
    HN_TRY(try_settings(&c->set_batch, larger, m, arena, err));
    HN_TRY(try_settings(&c->set_fixed, fixed, m, arena, err));
    return try_settings(&c->set_smaller, smaller, m, arena, err);
}

static double bytes_of_inputs(const hn_model *m, const hone_inspection *in) {
    double bytes = 0;
    const hn_value *v;
    for (int i = 0; (v = input_at(m, i)) != NULL; i++) {
        double n = hone_dtype_bits(v->type.dtype) / 8.0;
        if (!is_given(v)) continue;
        for (int d = 0; d < v->type.shape.rank; d++) {
            const char *name;
            int64_t size = size_of(v->type.shape.dim[d]);
            if (size < 0 && hn_dim_is_symbol(v->type.shape.dim[d], &name))
                for (size_t k = 0; k < in->n_dims; k++)
                    if (strcmp(in->dims[k].name, name) == 0) size = in->dims[k].value;
            n *= size > 0 ? (double)size : 1;
        }
        bytes += n;
    }
    return bytes;
}

/* ---- all of it ---- */

static bool is_described(const hn_model *m) {
    for (int i = 0; i < m->metadata.n; i++)
        if (strcmp(m->metadata.v[i].key, "hone.description") == 0) return true;
    return false;
}

hone_status hn_counts_make(hn_counts *c, hn_model *m, const hone_dim_value *dims, size_t n_dims,
                           int64_t batch, hn_arena *arena, hn_error *err) {
    hone_inspection *in = NULL;
    *c = (hn_counts){.stored = "f32"};
    HN_TRY(hn_model_inspect(m, dims, n_dims, arena->alloc, &in, err));
    hone_status status = add_nodes(c, m, in, arena, err);
    if (status == HONE_OK) status = find_sizes(c, m, in, batch, arena, err);
    if (status == HONE_OK) {
        find_precision(c, in);
        c->macs = known(in->macs);
        c->params = known(in->params);
        c->weights_bytes = known(in->params_bytes);
        c->file_bytes = in->file_bytes > 0 ? (double)in->file_bytes : c->weights_bytes;
        c->activation_bytes = known(in->activation_peak);
        c->input_bytes = bytes_of_inputs(m, in);
        c->sparse = in->params > 0 ? (double)in->params_zero / (double)in->params : 0;
        c->described = is_described(m);
    }
    hn_inspection_destroy(in);
    return status;
}

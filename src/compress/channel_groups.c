#include "compress/channel_groups.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engine/layers.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "ops/nodes.h"

/* Numbers of atoms begin with 1; 0: none. While elements are moved, 0 stands for what a node puts
 * there itself (Pad does), which may go with what it lies beside, and this one for no atom. */
#define NONE_MOVED (-1)

/* Sizes that are symbols are this, but for the first axis of an input. Networks of images divide
 * theirs by up to 64. */
#define SYMBOL 64

/* The atoms of a value, stored once for axes along which they are the same. */
typedef struct labels {
    int rank;
    int64_t dims[HONE_MAX_RANK]; /* 1 for axes along which nothing changes */
    int32_t *v;                  /* NULL: no element has one */
} labels;

typedef struct atom {
    int32_t up;      /* towards the one it was joined with; itself: none */
    int32_t family;  /* of the atoms that were made together */
    const char *why; /* of the last one: it stays; NULL: it may go */
    bool head;
} atom;

typedef struct family {
    int32_t up;
    hn_node *maker;
    int group; /* of the last one, from 1 */
} family;

/* A cut before it is known along which axis its value is cut. */
typedef struct pending {
    hn_node *node;
    int input, axis;
    hn_cut_kind kind;
    const hn_value *value; /* of the looked-at model */
    int value_axis;
} pending;

typedef struct work {
    hn_node *node;
    double macs;
    const hn_value *y, *x; /* x NULL: it is not summed over channels that may go */
} work;

typedef struct list {
    int n, room;
    void *v;
} list;

typedef struct walk {
    hn_channels *out;
    hn_allocator *alloc;
    hn_arena *arena;  /* of what is given back */
    hn_arena scratch; /* of the rest */
    hn_model *k;      /* the model with numbers for sizes */
    labels *of;       /* by id of its values */
    list atoms, families, pending, works;
    bool changed;
} walk;

/* ---- lists ---- */

static void *append(walk *w, list *l, size_t size) {
    if (l->n == l->room) {
        int more = l->room > 0 ? 2 * l->room : 64;
        void *v = hn_arena_array(&w->scratch, (size_t)more, size);
        if (v == NULL) return NULL;
        if (l->n > 0) memcpy(v, l->v, (size_t)l->n * size);
        l->v = v;
        l->room = more;
    }
    return (char *)l->v + (size_t)l->n++ * size;
}

static atom *atom_at(const walk *w, int32_t i) { return (atom *)w->atoms.v + i; }
static family *family_at(const walk *w, int32_t i) { return (family *)w->families.v + i; }

/* ---- atoms ---- */

static int32_t find(const walk *w, int32_t i) {
    atom *a = w->atoms.v;
    while (a[i].up != i) i = a[i].up = a[a[i].up].up;
    return i;
}

static int32_t find_family(const walk *w, int32_t i) {
    family *f = w->families.v;
    while (f[i].up != i) i = f[i].up = f[f[i].up].up;
    return i;
}

static void block(walk *w, int32_t a, const char *why) {
    atom *of = atom_at(w, find(w, a));
    if (of->why == NULL) of->why = why;
}

static int32_t join(walk *w, int32_t a, int32_t b) {
    a = find(w, a), b = find(w, b);
    if (a == b) return a;
    if (b < a) {
        int32_t t = a;
        a = b, b = t;
    }
    atom *x = atom_at(w, a), *y = atom_at(w, b);
    y->up = a;
    x->head |= y->head;
    if (x->why == NULL) x->why = y->why;
    int32_t f = find_family(w, x->family), g = find_family(w, y->family);
    if (f != g) family_at(w, f < g ? g : f)->up = f < g ? f : g;
    w->changed = true;
    return a;
}

/* n atoms of a family of their own. */
static hone_status make_atoms(walk *w, hn_node *maker, int64_t n, int32_t *first, hn_error *err) {
    int32_t f = w->families.n;
    family *of = append(w, &w->families, sizeof *of);
    if (of == NULL) return HN_NOMEM(err);
    *of = (family){.up = f, .maker = maker};
    if (w->atoms.n == 0) {
        if (append(w, &w->atoms, sizeof(atom)) == NULL) return HN_NOMEM(err);
        *atom_at(w, 0) = (atom){0};
    }
    *first = w->atoms.n;
    for (int64_t i = 0; i < n; i++) {
        int32_t at = w->atoms.n;
        if (append(w, &w->atoms, sizeof(atom)) == NULL) return HN_NOMEM(err);
        *atom_at(w, at) = (atom){.up = at, .family = f};
    }
    return HONE_OK;
}

/* ---- labels ---- */

static int rank_of(const hn_value *v) { return v->type.shape.rank; }

/* -1: not known. */
static int64_t size_of(const hn_value *v, int axis) {
    int64_t n = -1;
    return hn_dim_is_const(v->type.shape.dim[axis], &n) ? n : -1;
}

static bool sizes_known(const hn_value *v, int64_t *dims) {
    return v != NULL && v->type.kind == HN_TYPE_TENSOR && rank_of(v) >= 0 &&
           hn_shape_is_const(&v->type.shape, dims);
}

static int64_t count(const labels *l) {
    int64_t n = 1;
    for (int i = 0; i < l->rank; i++) n *= l->dims[i];
    return n;
}

static hone_status room_for(walk *w, labels *l, hn_error *err) {
    l->v = hn_arena_array(&w->scratch, (size_t)count(l) + 1, sizeof *l->v);
    return l->v != NULL ? HONE_OK : HN_NOMEM(err);
}

/* The next place within dims; false after the last. */
static bool step(int64_t *at, int rank, const int64_t *dims) {
    for (int i = rank; i-- > 0;) {
        if (++at[i] < dims[i]) return true;
        at[i] = 0;
    }
    return false;
}

/* Of an element whose place has `more` axes in front. */
static int32_t *element(const labels *l, const int64_t *at, int more) {
    int64_t k = 0;
    for (int i = 0; i < l->rank; i++) k = k * l->dims[i] + (l->dims[i] > 1 ? at[more + i] : 0);
    return &l->v[k];
}

static labels *labels_of(const walk *w, const hn_value *v) {
    return v != NULL && w->of[v->id].v != NULL ? &w->of[v->id] : NULL;
}

static bool varies(const labels *l, int axis) { return l->dims[axis] > 1; }

static void block_all(walk *w, const labels *l, const char *why) {
    for (int64_t i = 0; l != NULL && i < count(l); i++)
        if (l->v[i] > 0) block(w, l->v[i], why);
}

static hone_status block_inputs(walk *w, const hn_node *n, const char *what, hn_error *err) {
    char text[200];
    const char *why = NULL;
    for (int i = 0; i < n->n_inputs; i++) {
        const labels *l = labels_of(w, hn_node_input(n, i));
        if (l == NULL) continue;
        if (why == NULL) {
            snprintf(text, sizeof text, "%s '%.60s' %s", n->op_type, hn_layer_name(n), what);
            why = hn_arena_strdup(w->arena, text);
            if (why == NULL) return HN_NOMEM(err);
        }
        block_all(w, l, why);
    }
    return HONE_OK;
}

static hone_status cut_later(walk *w, hn_node *n, int input, int axis, hn_cut_kind kind,
                             const hn_value *v, int value_axis, hn_error *err) {
    pending *p = append(w, &w->pending, sizeof *p);
    if (p == NULL) return HN_NOMEM(err);
    *p = (pending){n, input, axis, kind, v, value_axis};
    return HONE_OK;
}

/* ---- element by element ---- */

/* The constant inputs that have positions of the output along its axes. */
static hone_status cut_constants(walk *w, hn_node *n, hn_node *was, const hn_value *y,
                                 hn_error *err) {
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        for (int a = 0; t != NULL && a < t->rank; a++) {
            int of = rank_of(y) - t->rank + a;
            if (of >= 0 && t->dims[a] > 1 && t->dims[a] == size_of(y, of))
                HN_TRY(cut_later(w, was, i, a, HN_CUT_FOLLOWS, y, of, err));
        }
    }
    return HONE_OK;
}

/* Input v, which has no atom here, has other elements for other positions of the output. */
static bool spread_over(const hn_value *v, const labels *y) {
    for (int i = 0; i < rank_of(v); i++)
        if (varies(y, y->rank - rank_of(v) + i) && size_of(v, i) != 1) return true;
    return false;
}

static hone_status elementwise(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    const hn_value *y = n->outputs[0];
    labels *to = &w->of[y->id], out = {.rank = rank_of(y)};
    int64_t at[HONE_MAX_RANK] = {0};
    for (int i = 0; i < out.rank; i++) out.dims[i] = 1;
    for (int i = 0; i < n->n_inputs; i++) {
        const labels *l = labels_of(w, hn_node_input(n, i));
        for (int a = 0; l != NULL && a < l->rank; a++)
            if (varies(l, a)) out.dims[out.rank - l->rank + a] = l->dims[a];
    }
    HN_TRY(room_for(w, &out, err));
    do {
        int32_t *label = element(&out, at, 0);
        for (int i = 0; i < n->n_inputs; i++) {
            const labels *l = labels_of(w, hn_node_input(n, i));
            int32_t of = l != NULL ? *element(l, at, out.rank - l->rank) : 0;
            if (of > 0) *label = *label > 0 ? join(w, *label, of) : of;
        }
        for (int i = 0; *label > 0 && i < n->n_inputs; i++) {
            const hn_value *v = hn_node_input(n, i);
            const labels *l = labels_of(w, v);
            if (v == NULL || v->constant != NULL || rank_of(v) < 0) continue;
            if (l != NULL && *element(l, at, out.rank - l->rank) > 0) continue;
            if (spread_over(v, &out)) block(w, *label, "it meets what has no channels to take out");
        }
    } while (step(at, out.rank, out.dims));
    *to = out;
    return cut_constants(w, n, was, y, err);
}

/* ---- moved elements ---- */

static hone_status moved_labels(walk *w, const hn_value *v, const labels *l, hn_tensor **out,
                                hn_error *err) {
    int64_t dims[HONE_MAX_RANK], at[HONE_MAX_RANK] = {0};
    hn_shape_is_const(&v->type.shape, dims);
    HN_TRY(hn_tensor_create(out, w->alloc, HN_MEM_SCRATCH, HONE_DTYPE_S32, rank_of(v), dims, err));
    int32_t *to = (*out)->data;
    int32_t fill = v->constant != NULL ? 0 : NONE_MOVED;
    if ((*out)->n == 0) return HONE_OK;
    do {
        int32_t label = l != NULL ? *element(l, at, 0) : 0;
        *to++ = label > 0 ? label : fill;
    } while (step(at, rank_of(v), dims));
    return HONE_OK;
}

/* What a node reads beside the elements it moves; NULL: it is not known. */
static hone_status setting_of(walk *w, const hn_value *v, hn_tensor **out, hn_error *err) {
    int64_t numbers[HN_MAX_KNOWN], n = v->n_known;
    *out = NULL;
    const hn_tensor *t = v->constant != NULL ? v->constant : v->folded;
    if (t != NULL && t->data != NULL) {
        *out = hn_tensor_ref(t);
        return HONE_OK;
    }
    if (n == 0 || n > HN_MAX_KNOWN || v->type.dtype != HONE_DTYPE_S64) return HONE_OK;
    for (int64_t i = 0; i < n; i++)
        if (!hn_dim_is_const(v->known[i], &numbers[i])) return HONE_OK;
    return hn_tensor_from_s64(out, w->alloc, HONE_DTYPE_S64, rank_of(v) == 0 ? 0 : 1, &n, numbers,
                              err);
}

/* Axes along which the elements that are not free differ. */
static uint32_t axes_that_vary(const hn_tensor *t) {
    const int32_t *v = t->data;
    uint32_t bits = 0;
    int64_t stride = 1;
    for (int a = t->rank; a-- > 0; stride *= t->dims[a]) {
        bool differs = false;
        for (int64_t i = 0; i < t->n && !differs; i += t->dims[a] * stride)
            for (int64_t j = i; j < i + stride && !differs; j++) {
                int32_t seen = 0;
                for (int64_t k = 0; k < t->dims[a] && !differs; k++) {
                    int32_t x = v[j + k * stride];
                    differs = x != 0 && seen != 0 && x != seen;
                    if (x != 0) seen = x;
                }
            }
        if (differs) bits |= 1u << a;
    }
    return bits;
}

/* What a node itself puts along the only axis that varies goes with the slice it is in; slices of
 * nothing else are new channels where `makes`, else they stay. */
static hone_status settle_free(walk *w, hn_node *n, hn_tensor *t, int axis, bool makes,
                               hn_error *err) {
    int32_t *v = t->data, first = 0;
    int64_t inner = 1, size = t->dims[axis], missing = 0;
    for (int a = axis + 1; a < t->rank; a++) inner *= t->dims[a];
    int32_t *slice = hn_arena_array(&w->scratch, (size_t)size + 1, sizeof *slice);
    if (slice == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < t->n; i++)
        if (v[i] != 0) slice[i / inner % size] = v[i];
    for (int64_t i = 0; i < size; i++) missing += slice[i] == 0;
    if (missing > 0 && makes) HN_TRY(make_atoms(w, n, missing, &first, err));
    for (int64_t i = 0; i < size; i++)
        if (slice[i] == 0) slice[i] = makes ? first++ : NONE_MOVED;
    for (int64_t i = 0; i < t->n; i++)
        if (v[i] == 0) v[i] = slice[i / inner % size];
    return HONE_OK;
}

static hone_status settle(walk *w, hn_node *n, const hn_value *y, hn_tensor *t, bool makes,
                          hn_error *err) {
    uint32_t bits = axes_that_vary(t);
    labels *l = &w->of[y->id], out = {.rank = t->rank};
    int32_t *v = t->data;
    int64_t at[HONE_MAX_RANK] = {0}, full[HONE_MAX_RANK];
    bool some = false;
    for (int64_t i = 0; i < t->n; i++) some |= v[i] > 0;
    if (!some) return HONE_OK;
    for (int a = 0; a < t->rank; a++)
        if (bits == 1u << a) HN_TRY(settle_free(w, n, t, a, makes, err));
    if ((bits & (bits - 1)) == 0 && bits != 0) {
        bits = axes_that_vary(t);
    } else {
        int32_t only = bits == 0 ? 0 : NONE_MOVED;
        for (int64_t i = 0; i < t->n && only == 0; i++) only = v[i];
        for (int64_t i = 0; i < t->n; i++)
            if (v[i] == 0) v[i] = only;
        bits = axes_that_vary(t);
    }
    for (int a = 0; a < t->rank; a++) {
        full[a] = t->dims[a];
        out.dims[a] = (bits >> a & 1) != 0 ? t->dims[a] : 1;
    }
    HN_TRY(room_for(w, &out, err));
    do {
        int32_t x = *v++;
        *element(&out, at, 0) = x > 0 ? x : 0;
    } while (step(at, t->rank, full));
    *l = out;
    return HONE_OK;
}

static hone_status moves(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    bool joins = n->op->role == HN_ROLE_JOIN, pads = n->op->sizes.kind == HN_SIZES_PADS;
    hn_tensor **in = hn_arena_array(&w->scratch, (size_t)n->n_inputs + 1, sizeof *in);
    hn_tensor **out = hn_arena_array(&w->scratch, (size_t)n->n_outputs + 1, sizeof *out);
    const hn_exec_options o = {.alloc = w->alloc};
    hone_status status = HONE_OK;
    bool known = true;
    if (in == NULL || out == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = hn_node_input(n, i);
        int32_t free_one = 0;
        if (v == NULL) continue;
        if (i == 0 || joins)
            HN_TRY_GOTO(moved_labels(w, v, labels_of(w, v), &in[i], err));
        else if (pads && i == 2)
            HN_TRY_GOTO(
                hn_tensor_create(&in[i], w->alloc, HN_MEM_SCRATCH, HONE_DTYPE_S32, 0, NULL, err));
        else
            HN_TRY_GOTO(setting_of(w, v, &in[i], err));
        if (pads && i == 2) memcpy(in[i]->data, &free_one, sizeof free_one);
        known = known && in[i] != NULL;
    }
    if (!known) {
        status = block_inputs(w, n, "moves them by numbers that are computed", err);
        goto fail;
    }
    HN_TRY_GOTO(hn_node_run(n, &o, (const hn_tensor *const *)in, out, err));
    for (int i = 0; i < n->n_outputs; i++)
        if (out[i] != NULL) HN_TRY_GOTO(settle(w, was, n->outputs[i], out[i], pads, err));
    for (int i = 0; joins && i < n->n_inputs; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        for (int a = 0; t != NULL && a < t->rank; a++)
            if (t->dims[a] == size_of(n->outputs[0], a))
                HN_TRY_GOTO(cut_later(w, was, i, a, HN_CUT_FOLLOWS, n->outputs[0], a, err));
    }
fail:
    for (int i = 0; i < n->n_inputs; i++) hn_tensor_unref(in[i]);
    for (int i = 0; i < n->n_outputs; i++) hn_tensor_unref(out[i]);
    return status;
}

/* ---- operators that mix positions along some axes ---- */

/* The atoms of each slice along an axis become one. */
static void join_slices(walk *w, const labels *l, int axis) {
    for (int64_t i = 0; i < l->dims[axis]; i++) {
        int64_t at[HONE_MAX_RANK] = {0};
        int32_t of = 0;
        bool stays = false;
        do {
            if (at[axis] != i) continue;
            int32_t a = *element(l, at, 0);
            if (a > 0) of = of > 0 ? join(w, of, a) : a;
            stays |= a <= 0;
        } while (step(at, l->rank, l->dims));
        if (of > 0 && stays) block(w, of, "only a part of a slice could be taken out");
    }
}

/* Before positions along the `mixed` axes are: atoms of v that differ there are joined to slices
 * along another axis along which they differ too. *done false: there is no such axis. */
static hone_status join_mixed(walk *w, const hn_value *v, uint32_t mixed, bool *done,
                              hn_error *err) {
    const labels *l = &w->of[v->id];
    labels out = {.rank = l->rank};
    int64_t at[HONE_MAX_RANK] = {0};
    int axis = -1;
    bool some = false;
    for (int a = 0; a < l->rank; a++) {
        bool is_mixed = (mixed >> a & 1) != 0;
        out.dims[a] = 1;
        if (!varies(l, a)) continue;
        some |= is_mixed;
        if (!is_mixed && (axis < 0 || l->dims[a] > l->dims[axis])) axis = a;
    }
    *done = !some || axis >= 0;
    if (!some || axis < 0) return HONE_OK;
    join_slices(w, l, axis);
    out.dims[axis] = l->dims[axis];
    HN_TRY(room_for(w, &out, err));
    for (int64_t i = 0; i < out.dims[axis]; i++) {
        at[axis] = i;
        out.v[i] = *element(l, at, 0);
    }
    w->of[v->id] = out;
    return HONE_OK;
}

/* Output 0 has the atoms of input 0, less the axes that are not there any more. */
static hone_status pass_on(walk *w, hn_node *n, uint32_t mixed, uint32_t dropped, const char *what,
                           hn_error *err) {
    const labels *l = labels_of(w, hn_node_input(n, 0));
    bool done;
    HN_TRY(join_mixed(w, hn_node_input(n, 0), mixed, &done, err));
    if (!done) return block_inputs(w, n, what, err);
    labels out = {.v = l->v};
    for (int a = 0; a < l->rank; a++) {
        if ((dropped >> a & 1) == 0) out.dims[out.rank++] = l->dims[a];
    }
    w->of[n->outputs[0]->id] = out;
    return HONE_OK;
}

/* Axes from 2 on are mixed. */
static hone_status spatial(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0), *y = n->outputs[0];
    const labels *l = labels_of(w, x);
    if (rank_of(x) < 2 || rank_of(y) != rank_of(x) || size_of(x, 0) != size_of(y, 0) ||
        size_of(x, 1) != size_of(y, 1))
        return block_inputs(w, n, "changes their number", err);
    for (int i = 1; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        bool setting = n->op->sizes.kind != HN_SIZES_NONE;
        if (hn_node_input(n, i) == NULL || setting) continue;
        if (t == NULL) return block_inputs(w, n, "has a factor that is computed", err);
        if (l != NULL && t->rank == 1 && t->n == size_of(x, 1))
            HN_TRY(cut_later(w, was, i, 0, HN_CUT_FOLLOWS, y, 1, err));
    }
    return pass_on(w, n, ~3u, 0, "mixes them", err);
}

static hone_status along(walk *w, hn_node *n, hn_error *err) {
    int64_t axis = hn_attr_i(n, "axis");
    HN_TRY(hn_want_axis(&axis, rank_of(hn_node_input(n, 0)), err));
    return pass_on(w, n, 1u << axis, 0, "mixes them", err);
}

static hone_status reduced(walk *w, hn_node *n, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0), *axes = hn_node_input(n, 1);
    int rank = rank_of(x);
    uint32_t bits = 0;
    if (axes != NULL) {
        hn_tensor *t;
        HN_TRY(setting_of(w, axes, &t, err));
        if (t == NULL) return block_inputs(w, n, "has axes that are computed", err);
        for (int64_t i = 0; i < t->n; i++) {
            int64_t a = hn_tensor_s64(t, i);
            bits |= 1u << (a < 0 ? a + rank : a);
        }
        hn_tensor_unref(t);
    }
    if (bits == 0 && hn_attr_i(n, "noop_with_empty_axes") == 0) bits = (1u << rank) - 1;
    return pass_on(w, n, bits, hn_attr_i(n, "keepdims") != 0 ? 0 : bits, "sums them up", err);
}

/* ---- products ---- */

static hone_status note_work(walk *w, const hn_node *n, hn_node *was, const hn_value *x,
                             hn_error *err) {
    hn_cost cost = {0};
    int64_t macs;
    work *of = append(w, &w->works, sizeof *of);
    if (of == NULL) return HN_NOMEM(err);
    HN_TRY(hn_node_cost(n, &cost, err));
    if (cost.macs == NULL || !hn_dim_is_const(cost.macs, &macs)) macs = 0;
    *of = (work){was, (double)macs, n->outputs[0], x};
    return HONE_OK;
}

/* New channels along an axis of y; one alone is none that could be taken out. */
static hone_status make_channels(walk *w, hn_node *was, const hn_value *y, int axis, int64_t each,
                                 hn_error *err) {
    int32_t first;
    labels *l = &w->of[y->id];
    int64_t n = size_of(y, axis);
    *l = (labels){.rank = rank_of(y)};
    if (each <= 1) return HONE_OK;
    for (int i = 0; i < l->rank; i++) l->dims[i] = 1;
    l->dims[axis] = n;
    HN_TRY(room_for(w, l, err));
    HN_TRY(make_atoms(w, was, each, &first, err));
    for (int64_t i = 0; i < n; i++) l->v[i] = first + (int32_t)(i % each);
    return HONE_OK;
}

/* What a product adds, input i, along the last axis; false: it is computed. */
static bool adds_constant(const hn_node *n, int i) {
    return i <= 0 || hn_node_input(n, i) == NULL || hn_node_constant(n, i) != NULL;
}

static hone_status cut_bias(walk *w, const hn_node *n, hn_node *was, int axis, hn_error *err) {
    const hn_value *y = n->outputs[0];
    int i = n->op->weights->bias;
    const hn_tensor *t = i > 0 ? hn_node_constant(n, i) : NULL;
    if (t == NULL || t->rank < 1 || t->dims[t->rank - 1] != size_of(y, axis)) return HONE_OK;
    return cut_later(w, was, i, t->rank - 1, HN_CUT_FOLLOWS, y, axis, err);
}

/* Each output channel has one input channel. */
static hone_status depthwise(walk *w, hn_node *n, hn_node *was, bool forward, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0), *y = n->outputs[0];
    const labels *l = labels_of(w, x);
    int64_t times = size_of(y, 1) / size_of(x, 1);
    HN_TRY(note_work(w, n, was, NULL, err));
    if (l == NULL || !varies(l, 1)) return block_inputs(w, n, "reads all of them", err);
    labels *to = &w->of[y->id], out = *l;
    out.dims[1] = size_of(y, 1);
    HN_TRY(room_for(w, &out, err));
    for (int64_t i = 0; i < out.dims[1]; i++) out.v[i] = l->v[i / times];
    *to = out;
    HN_TRY(cut_later(w, was, 1, 0, HN_CUT_FOLLOWS, forward ? y : x, 1, err));
    return cut_bias(w, n, was, 1, err);
}

/* A convolution by `groups` groups, 1 of them too: those that are at the same place of their group
 * go together, so that groups stay alike. */
static hone_status windows(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0), *y = n->outputs[0];
    const labels *l = labels_of(w, x);
    const hn_tensor *t = hn_const_in(n, 1);
    hn_weight_use u;
    int64_t groups = hn_attr_i(n, "group"), in = size_of(x, 1), out = size_of(y, 1);
    if (t == NULL || !hn_weight_use_of(n, t, &u) || !adds_constant(n, n->op->weights->bias) ||
        n->n_inputs > 3)
        return block_inputs(w, n, "has weights that are computed", err);
    bool done = true;
    if (l != NULL) HN_TRY(join_mixed(w, x, ~2u, &done, err));
    if (!done) return block_inputs(w, n, "mixes them", err);
    bool forward = u.channel_axis == 0;
    if (groups == in && groups > 1) return depthwise(w, n, was, forward, err);
    HN_TRY(note_work(w, n, was, x, err));
    int64_t each = in / groups;
    for (int64_t i = each; l != NULL && varies(l, 1) && i < in; i++) {
        int32_t a = l->v[i % each], b = l->v[i];
        if (a > 0 && b > 0) join(w, a, b);
        if (a > 0 && b == 0) block(w, a, "groups of a convolution would differ");
        if (b > 0 && a == 0) block(w, b, "groups of a convolution would differ");
    }
    if (l != NULL) HN_TRY(cut_later(w, was, 1, forward ? 1 : 0, HN_CUT_READS, x, 1, err));
    HN_TRY(make_channels(w, was, y, 1, out / groups, err));
    HN_TRY(cut_later(w, was, 1, forward ? 0 : 1, HN_CUT_MAKES, y, 1, err));
    return cut_bias(w, n, was, 1, err);
}

/* By a constant matrix. */
static hone_status matrix(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0), *y = n->outputs[0];
    const labels *l = labels_of(w, x);
    hn_weight_use u;
    int last = rank_of(x) - 1, input = n->op->weights->input;
    const hn_tensor *t = hn_const_in(n, input);
    bool rows = false;
    if (t == NULL || t->rank != 2 || !hn_weight_use_of(n, t, &u) || last < 0 ||
        rank_of(y) != rank_of(x) || (l != NULL && u.transposed))
        return block_inputs(w, n, "multiplies them by no constant matrix", err);
    for (int a = 0; l != NULL && a < last; a++) rows |= varies(l, a);
    if (rows && varies(l, last)) return block_inputs(w, n, "sums them up", err);
    HN_TRY(note_work(w, n, was, rows ? NULL : x, err));
    if (rows) return pass_on(w, n, 0, 0, "", err);
    if (l != NULL) HN_TRY(cut_later(w, was, input, u.sum_axis, HN_CUT_READS, x, last, err));
    if (!adds_constant(n, n->op->weights->bias)) return HONE_OK;
    HN_TRY(make_channels(w, was, y, last, size_of(y, last), err));
    HN_TRY(cut_later(w, was, input, u.channel_axis, HN_CUT_MAKES, y, last, err));
    return cut_bias(w, n, was, last, err);
}

/* Factor i of a product of values has other elements for other atoms of the other factor. */
static bool meets_atoms(const hn_value *v, int i, const labels *other, int r) {
    for (int a = 0; other != NULL && a < other->rank; a++) {
        int of = r - other->rank + a, own = i == 0 ? r - 1 : r - 2; /* of the other factor */
        if (!varies(other, a) || of == own) continue;
        if (of == (i == 0 ? r - 2 : r - 1)) return true; /* what is summed over */
        int mine = of - (r - rank_of(v));
        if (mine >= 0 && size_of(v, mine) != 1) return true;
    }
    return false;
}

/* Of two values: matrices one by one, as attention has them for its heads. What is summed over is
 * one piece: part of a scalar product is another number. */
static hone_status values(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    const hn_value *v[2] = {hn_node_input(n, 0), hn_node_input(n, 1)}, *y = n->outputs[0];
    const labels *l[2] = {labels_of(w, v[0]), labels_of(w, v[1])};
    int r = rank_of(y);
    labels out = {.rank = r};
    int64_t at[HONE_MAX_RANK] = {0}, sum = 1;
    if (r < 2 || rank_of(v[0]) < 2 || rank_of(v[1]) < 2)
        return block_inputs(w, n, "multiplies them by a vector", err);
    HN_TRY(note_work(w, n, was, NULL, err));
    if (l[0] == NULL && l[1] == NULL) return HONE_OK;
    for (int a = 0; a < r; a++) out.dims[a] = 1;
    for (int i = 0; i < 2; i++)
        for (int a = 0; l[i] != NULL && a < l[i]->rank; a++) {
            int of = r - l[i]->rank + a, summed = i == 0 ? r - 1 : r - 2;
            if (varies(l[i], a)) *(of == summed ? &sum : &out.dims[of]) = l[i]->dims[a];
        }
    HN_TRY(room_for(w, &out, err));
    do {
        int32_t *label = element(&out, at, 0);
        for (int64_t k = 0; k < sum; k++) {
            int32_t of[2] = {0};
            for (int i = 0; i < 2; i++) {
                int64_t place[HONE_MAX_RANK];
                memcpy(place, at, sizeof place);
                place[i == 0 ? r - 1 : r - 2] = k;
                if (l[i] != NULL) of[i] = *element(l[i], place, r - l[i]->rank);
                if (of[i] > 0) *label = *label > 0 ? join(w, *label, of[i]) : of[i];
            }
            for (int i = 0; i < 2; i++)
                if (of[i] == 0 && of[1 - i] > 0 && meets_atoms(v[i], i, l[1 - i], r))
                    block(w, of[1 - i], "it is multiplied by what has no channels to take out");
        }
        if (*label > 0) atom_at(w, find(w, *label))->head = true;
    } while (step(at, r, out.dims));
    w->of[y->id] = out;
    return HONE_OK;
}

/* ---- the walk ---- */

static bool reads_atoms(const walk *w, const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++)
        if (labels_of(w, hn_node_input(n, i)) != NULL) return true;
    return false;
}

static hn_mixing mixing_of(const hn_op_def *op) {
    if (op->mixing != HN_MIXES_ALL) return op->mixing;
    bool alike = op->derivative != NULL || op->role == HN_ROLE_LIMIT || op->role == HN_ROLE_TABLE;
    return alike ? HN_MIXES_NOTHING : HN_MIXES_ALL;
}

/* Every output but the first is nobody's, and all sizes are known. */
static bool can_be_seen(const hn_node *n) {
    int64_t dims[HONE_MAX_RANK];
    bool several = n->op->role == HN_ROLE_MOVE;
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        if (v == NULL || (i > 0 && !several && v->n_uses == 0)) continue;
        if ((i > 0 && !several) || !sizes_known(v, dims)) return false;
    }
    for (int i = 0; i < n->n_inputs; i++)
        if (hn_node_input(n, i) != NULL && !sizes_known(hn_node_input(n, i), dims)) return false;
    return n->n_outputs > 0 && n->outputs[0] != NULL;
}

static hone_status visit(walk *w, hn_node *n, hn_node *was, hn_error *err) {
    const hn_op_def *op = hn_def_of(n);
    hn_weight_kind kind = hn_weight_kind_of(n);
    bool standard = op->domain == NULL || op->domain[0] == '\0', some = reads_atoms(w, n);
    if (standard && mixing_of(op) == HN_MIXES_SIZES) return HONE_OK;
    if (!standard || op->name == NULL || !can_be_seen(n))
        return block_inputs(w, n, "has no rule for them", err);
    if (kind == HN_WEIGHT_WINDOWS) return windows(w, n, was, err);
    if (kind == HN_WEIGHT_MATRIX && op->weights->bias == 0 &&
        hn_node_constant(n, op->weights->input) == NULL)
        return values(w, n, was, err);
    if (kind == HN_WEIGHT_MATRIX) return matrix(w, n, was, err);
    if (!some) return HONE_OK;
    switch (mixing_of(op)) {
        case HN_MIXES_NOTHING: return elementwise(w, n, was, err);
        case HN_MIXES_SPACE: return spatial(w, n, was, err);
        case HN_MIXES_ALONG: return along(w, n, err);
        case HN_MIXES_REDUCED: return reduced(w, n, err);
        case HN_MIXES_ALL:
        case HN_MIXES_SIZES: break;
    }
    if (op->role == HN_ROLE_MOVE || op->role == HN_ROLE_JOIN) return moves(w, n, was, err);
    return block_inputs(
        w, n, (op->traits & HN_NORM) != 0 ? "normalizes over them" : "has no rule for them", err);
}

static void block_uses(walk *w, const hn_value *v) {
    const labels *l = labels_of(w, v);
    for (const hn_use *u = v != NULL ? v->uses : NULL; l != NULL && u != NULL; u = u->next) {
        if (u->node == NULL)
            block_all(w, l, "it reaches an output of the model");
        else if (u->node->graph != w->k->graph)
            block_all(w, l, "a subgraph reads it");
    }
}

/* ---- whole slices ---- */

static bool differs_along(walk *w, const labels *l, int axis) {
    int64_t at[HONE_MAX_RANK] = {0}, first[HONE_MAX_RANK];
    do {
        memcpy(first, at, sizeof first);
        first[axis] = 0;
        int32_t a = *element(l, at, 0), b = *element(l, first, 0);
        if ((a > 0) != (b > 0) || (a > 0 && find(w, a) != find(w, b))) return true;
    } while (step(at, l->rank, l->dims));
    return false;
}

/* How many atoms would be left if those of each slice were joined. */
static hone_status classes_along(walk *w, const labels *l, int axis, int64_t *n, hn_error *err) {
    int64_t at[HONE_MAX_RANK] = {0};
    hn_arena_mark here = hn_arena_here(&w->scratch);
    int32_t *up =
        hn_arena_array(&w->scratch, (size_t)w->atoms.n + (size_t)l->dims[axis] + 1, sizeof *up);
    if (up == NULL) return HN_NOMEM(err);
    /* Of each atom the slice it is in, of each slice the one it was joined with; from 1. */
    int32_t *slice = up + w->atoms.n;
    *n = l->dims[axis];
    for (int64_t i = 0; i < *n; i++) slice[i] = (int32_t)i;
    do {
        int32_t a = *element(l, at, 0), s = (int32_t)at[axis], r;
        if (a <= 0) continue;
        while (slice[s] != s) s = slice[s];
        if (up[find(w, a)] == 0) up[find(w, a)] = s + 1;
        for (r = up[find(w, a)] - 1; slice[r] != r;) r = slice[r];
        if (r == s) continue;
        slice[r > s ? r : s] = r > s ? s : r;
        --*n;
    } while (step(at, l->rank, l->dims));
    hn_arena_back(&w->scratch, here);
    return HONE_OK;
}

/* The axis along which the units of l are whole slices, joined until they are; -1: l is one. */
static hone_status settle_axis(walk *w, const labels *l, int *axis, hn_error *err) {
    int n = 0;
    int64_t most = 0;
    *axis = -1;
    for (int a = 0; a < l->rank; a++) {
        int64_t left = 0;
        if (!varies(l, a) || !differs_along(w, l, a)) continue;
        HN_TRY(classes_along(w, l, a, &left, err));
        n++;
        if (left <= most) continue;
        *axis = a;
        most = left;
    }
    if (n > 1) join_slices(w, l, *axis);
    return HONE_OK;
}

static hone_status settle_axes(walk *w, int *axes, hn_error *err) {
    do {
        w->changed = false;
        for (int i = 0; i < w->k->graph->n_values; i++)
            if (w->of[i].v != NULL) HN_TRY(settle_axis(w, &w->of[i], &axes[i], err));
    } while (w->changed);
    for (int i = 0; i < w->k->graph->n_values; i++)
        if (w->of[i].v != NULL && axes[i] < 0)
            block_all(w, &w->of[i], "a value would be left without channels");
    return HONE_OK;
}

/* ---- what is given back ---- */

/* Numbers units by group, in the order of the products that make them. */
static hone_status number_units(walk *w, int32_t *unit_of, hn_error *err) {
    hn_channels *c = w->out;
    c->groups = hn_arena_array(w->arena, (size_t)w->families.n + 1, sizeof *c->groups);
    c->units = hn_arena_array(w->arena, (size_t)w->atoms.n + 1, sizeof *c->units);
    if (c->groups == NULL || c->units == NULL) return HN_NOMEM(err);
    for (int32_t f = 0; f < w->families.n; f++) {
        family *of = family_at(w, find_family(w, f));
        if (of->group == 0) {
            of->group = ++c->n_groups;
            c->groups[c->n_groups - 1] =
                (hn_channel_group){.name = hn_layer_name(of->maker), .op = of->maker->op_type};
        }
    }
    for (int g = 0; g < c->n_groups; g++) {
        hn_channel_group *group = &c->groups[g];
        group->first = c->n_units;
        for (int32_t a = 1; a < w->atoms.n; a++) {
            const atom *at = atom_at(w, a);
            if (find(w, a) != a || family_at(w, find_family(w, at->family))->group != g + 1)
                continue;
            group->heads |= at->head;
            if (at->why != NULL && group->why == NULL) group->why = at->why;
            if (at->why != NULL) continue;
            c->units[c->n_units] = (hn_channel_unit){.group = g};
            unit_of[a] = c->n_units++;
        }
        group->n = c->n_units - group->first;
    }
    return HONE_OK;
}

static hone_status give_slices(walk *w, const int *axes, const int32_t *unit_of, hn_error *err) {
    hn_channels *c = w->out;
    const hn_graph *g = w->k->graph;
    c->n_slices = c->model->graph->n_values;
    c->slices = hn_arena_array(w->arena, (size_t)c->n_slices + 1, sizeof *c->slices);
    if (c->slices == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_values; i++) {
        const labels *l = &w->of[i];
        if (l->v == NULL || axes[i] < 0 || g->values[i]->dead) continue;
        hn_slices *s = hn_arena_zero(w->arena, sizeof *s);
        int64_t n = l->dims[axes[i]], at[HONE_MAX_RANK] = {0};
        int32_t *unit = hn_arena_array(w->arena, (size_t)n, sizeof *unit);
        if (s == NULL || unit == NULL) return HN_NOMEM(err);
        for (int64_t k = 0; k < n; k++) {
            at[axes[i]] = k;
            int32_t a = *element(l, at, 0);
            unit[k] = a > 0 ? unit_of[find(w, a)] : -1;
        }
        *s = (hn_slices){l->rank, axes[i], n, unit};
        c->slices[hn_graph_value(c->model->graph, g->values[i]->name)->id] = s;
    }
    return HONE_OK;
}

static const hn_slices *slices_of(const walk *w, const hn_value *v) {
    const hn_value *was = v != NULL ? hn_graph_value(w->out->model->graph, v->name) : NULL;
    return was != NULL ? w->out->slices[was->id] : NULL;
}

static bool some_may_go(const hn_slices *s) {
    for (int64_t i = 0; s != NULL && i < s->n; i++)
        if (s->unit[i] >= 0) return true;
    return false;
}

/* A unit of a cut carries its share of the constant. */
static void count_parameters(hn_channels *c, const hn_channel_cut *cut) {
    const hn_tensor *t = hn_node_constant(cut->node, cut->input);
    for (int64_t i = 0; i < cut->n; i++)
        if (cut->unit[i] >= 0) c->units[cut->unit[i]].parameters += t->n / cut->n;
}

static hone_status give_cuts(walk *w, hn_error *err) {
    hn_channels *c = w->out;
    const pending *p = w->pending.v;
    c->cuts = hn_arena_array(w->arena, (size_t)w->pending.n + 1, sizeof *c->cuts);
    if (c->cuts == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w->pending.n; i++) {
        const hn_slices *s = slices_of(w, p[i].value);
        const hn_tensor *t = hn_node_constant(p[i].node, p[i].input);
        if (!some_may_go(s) || s->axis != p[i].value_axis || t == NULL) continue;
        int64_t n = t->dims[p[i].axis];
        assert(n <= s->n && "groups read the first of them");
        c->cuts[c->n_cuts++] =
            (hn_channel_cut){p[i].node, p[i].input, p[i].axis, p[i].kind, n, s->unit};
        count_parameters(c, &c->cuts[c->n_cuts - 1]);
        if (p[i].kind != HN_CUT_MAKES) continue;
        hn_channel_group *g = NULL;
        for (int64_t k = 0; k < s->n && g == NULL; k++)
            if (s->unit[k] >= 0) g = &c->groups[c->units[s->unit[k]].group];
        if (g == NULL) continue;
        g->n_makers++;
        if (s->n > g->channels) g->channels = s->n;
    }
    return HONE_OK;
}

static void count_macs(hn_channels *c, const hn_channel_work *of) {
    const hn_slices *s[2] = {of->out, of->in};
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; s[k] != NULL && i < s[k]->n; i++)
            if (s[k]->unit[i] >= 0) c->units[s[k]->unit[i]].macs += of->macs / (double)s[k]->n;
}

static hone_status give_works(walk *w, hn_error *err) {
    hn_channels *c = w->out;
    const work *p = w->works.v;
    c->works = hn_arena_array(w->arena, (size_t)w->works.n + 1, sizeof *c->works);
    if (c->works == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w->works.n; i++) {
        hn_channel_work *of = &c->works[c->n_works++];
        *of = (hn_channel_work){p[i].node, p[i].macs, slices_of(w, p[i].y), slices_of(w, p[i].x)};
        count_macs(c, of);
    }
    return HONE_OK;
}

/* ---- the whole ---- */

hone_status hn_channels_look(hn_model **out, const hn_model *m, hn_error *err) {
    HN_TRY(hn_model_clone(out, m, m->alloc, err));
    hn_graph *g = (*out)->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        hn_shape *s = &g->inputs[i]->type.shape;
        for (int a = 0; a < s->rank; a++) {
            int64_t n;
            if (!hn_dim_is_const(s->dim[a], &n))
                s->dim[a] = hn_dim_const(&(*out)->dims, a == 0 ? 1 : SYMBOL);
        }
    }
    hone_status status = hn_model_infer(*out, NULL, err);
    if (status == HONE_OK) return HONE_OK;
    hn_model_destroy(*out);
    *out = NULL;
    return status;
}

static hone_status find_all(walk *w, hn_error *err) {
    HN_TRY(hn_channels_look(&w->k, w->out->model, err));
    size_t n = (size_t)w->k->graph->n_values + 1;
    w->of = hn_arena_array(&w->scratch, n, sizeof *w->of);
    int *axes = hn_arena_array(&w->scratch, n, sizeof *axes);
    if (w->of == NULL || axes == NULL) return HN_NOMEM(err);
    hn_node *was = w->out->model->graph->first;
    for (hn_node *at = w->k->graph->first; at != NULL; at = at->next, was = was->next) {
        HN_TRY(visit(w, at, was, err));
        for (int i = 0; i < at->n_outputs; i++) block_uses(w, at->outputs[i]);
    }
    HN_TRY(settle_axes(w, axes, err));
    int32_t *unit_of = hn_arena_array(&w->scratch, (size_t)w->atoms.n + 1, sizeof *unit_of);
    if (unit_of == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w->atoms.n; i++) unit_of[i] = -1;
    HN_TRY(number_units(w, unit_of, err));
    HN_TRY(give_slices(w, axes, unit_of, err));
    HN_TRY(give_cuts(w, err));
    return give_works(w, err);
}

hone_status hn_channels_find(hn_channels *out, hn_model *m, hn_allocator *alloc, hn_error *err) {
    *out = (hn_channels){.model = m};
    hn_arena_init(&out->arena, alloc, HN_MEM_OTHER);
    walk w = {.out = out, .alloc = alloc, .arena = &out->arena};
    hn_arena_init(&w.scratch, alloc, HN_MEM_SCRATCH);
    hone_status status = find_all(&w, err);
    hn_model_destroy(w.k);
    hn_arena_deinit(&w.scratch);
    if (status != HONE_OK) hn_channels_deinit(out);
    return status;
}

void hn_channels_deinit(hn_channels *c) {
    if (c->model != NULL) hn_arena_deinit(&c->arena);
    *c = (hn_channels){0};
}

int64_t hn_slices_left(const hn_channels *c, const hn_slices *s) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) n += s->unit[i] < 0 || !c->units[s->unit[i]].gone;
    return n;
}

double hn_channels_macs(const hn_channels *c) {
    double sum = 0;
    for (int i = 0; i < c->n_works; i++) {
        const hn_channel_work *w = &c->works[i];
        double macs = w->macs;
        if (w->out != NULL) macs *= (double)hn_slices_left(c, w->out) / (double)w->out->n;
        if (w->in != NULL) macs *= (double)hn_slices_left(c, w->in) / (double)w->in->n;
        sum += macs;
    }
    return sum;
}

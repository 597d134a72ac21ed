/* Einsum: sums of products over labelled axes, "bhid,bhjd->bhij".
 *
 * Operands are contracted two at a time, left to right, each contraction one call of the reference
 * product. The labels of the pair fall into four sets:
 *
 *     batch   in both and still needed afterwards        a matrix of the stack each
 *     rows    in the left one only, still needed         m
 *     cols    in the right one only, still needed        n
 *     sum     not needed any more                        k
 *
 * "Still needed" means in the output or in an operand to come. A label an operand does not have, or
 * has with size 1 where the label is longer, has stride 0 there; one that it has twice (a diagonal)
 * has the sum of the strides. A single operand is contracted with the scalar 1. What lies between
 * two contractions is kept in double, or for integers in int64_t modulo 2^64.
 */
#include "ops/einsum.h"
#include "base/size.h"
#include "ops/gemm_ref.h"
#include "ops/grad.h"

#define N_LETTERS HN_EINSUM_LETTERS
#define N_LABELS HN_EINSUM_LABELS
typedef hn_einsum_term term;

/* ---- the equation ---- */

static int letter_of(char ch) {
    if (ch >= 'A' && ch <= 'Z') return ch - 'A'; /* capitals sort first, as in ASCII */
    if (ch >= 'a' && ch <= 'z') return ch - 'a' + 26;
    return -1;
}

/* Reads one term up to ',', "->" or the end. rank: of the operand, so that "..." takes the axes
 * without a letter; -1 for the output, where it stands for n_dots of them. */
static hone_status parse_term(const char **at, int rank, int n_dots, term *t, hn_error *err) {
    int letters = 0, dots = -1;
    uint8_t label[HONE_MAX_RANK];
    for (; **at != '\0' && **at != ',' && **at != '-'; (*at)++) {
        if (**at == ' ') continue;
        if (**at == '.') {
            HN_CHECK(err, dots < 0 && strncmp(*at, "...", 3) == 0, HONE_E_ARG,
                     "equation: '.' is not part of one \"...\"");
            dots = letters;
            *at += 2;
            continue;
        }
        int letter = letter_of(**at);
        HN_CHECK(err, letter >= 0, HONE_E_ARG, "equation: character code %d is not a label",
                 (unsigned char)**at);
        HN_CHECK(err, letters < HONE_MAX_RANK, HONE_E_ARG, "equation: a term has over %d labels",
                 HONE_MAX_RANK);
        label[letters++] = (uint8_t)letter;
    }
    if (rank >= 0) {
        n_dots = rank - letters;
        HN_CHECK(err, dots >= 0 ? n_dots >= 0 : n_dots == 0, HONE_E_SHAPE,
                 "equation: a term has %d labels%s, its operand has rank %d", letters,
                 dots >= 0 ? " besides \"...\"" : "", rank);
    }
    HN_CHECK(err, dots < 0 || letters + n_dots <= HONE_MAX_RANK, HONE_E_SHAPE,
             "equation: the output has over %d axes", HONE_MAX_RANK);
    t->rank = 0;
    for (int i = 0; i <= letters; i++) {
        for (int k = 0; i == dots && k < n_dots; k++)
            t->label[t->rank++] = (uint8_t)(N_LABELS - n_dots + k);
        if (i < letters) t->label[t->rank++] = label[i];
    }
    return HONE_OK;
}

/* Without "->": the axes of "..." and then every letter that occurs once, sorted. */
static hone_status implicit_output(const term *in, int n_in, int n_dots, term *out, hn_error *err) {
    int seen[N_LETTERS] = {0};
    for (int i = 0; i < n_in; i++)
        for (int a = 0; a < in[i].rank; a++)
            if (in[i].label[a] < N_LETTERS) seen[in[i].label[a]]++;
    out->rank = 0;
    for (int k = 0; k < n_dots; k++) out->label[out->rank++] = (uint8_t)(N_LABELS - n_dots + k);
    for (int l = 0; l < N_LETTERS; l++) {
        if (seen[l] != 1) continue;
        HN_CHECK(err, out->rank < HONE_MAX_RANK, HONE_E_SHAPE,
                 "equation: the output has over %d axes", HONE_MAX_RANK);
        out->label[out->rank++] = (uint8_t)l;
    }
    return HONE_OK;
}

hone_status hn_einsum_parse(const char *equation, int n_in, const int *ranks, term *in, term *out,
                            hn_error *err) {
    const char *at = equation;
    int n_dots = 0;
    for (int i = 0; i < n_in; i++) {
        HN_TRY(parse_term(&at, ranks[i], 0, &in[i], err));
        int dots = 0;
        for (int a = 0; a < in[i].rank; a++) dots += in[i].label[a] >= N_LETTERS;
        if (dots > n_dots) n_dots = dots;
        bool last = i == n_in - 1;
        HN_CHECK(err, (*at == ',') == !last, HONE_E_ARG,
                 "equation: has %s terms than the %d inputs", last ? "more" : "fewer", n_in);
        if (!last) at++;
    }
    if (*at == '\0') return implicit_output(in, n_in, n_dots, out, err);
    HN_CHECK(err, at[0] == '-' && at[1] == '>', HONE_E_ARG, "equation: '-' is not part of \"->\"");
    at += 2;
    HN_TRY(parse_term(&at, -1, n_dots, out, err));
    HN_CHECK(err, *at == '\0', HONE_E_ARG, "equation: text follows the output");
    bool known[N_LABELS] = {0};
    for (int i = 0; i < n_in; i++)
        for (int a = 0; a < in[i].rank; a++) known[in[i].label[a]] = true;
    for (int a = 0; a < out->rank; a++) {
        HN_CHECK(err, known[out->label[a]], HONE_E_ARG,
                 "equation: the output has a label that is new or stands twice");
        known[out->label[a]] = false;
        n_dots -= out->label[a] >= N_LETTERS;
    }
    HN_CHECK(err, n_dots == 0, HONE_E_ARG, "equation: the output lacks the \"...\" of the inputs");
    return HONE_OK;
}

/* ---- inference ---- */

/* The terms of a node whose ranks are all known, in scratch; *in NULL when some is not. */
static hone_status terms_of(const hn_infer *c, term **in, term *out, hn_error *err) {
    *in = NULL;
    int *ranks = hn_arena_array(c->scratch, (size_t)c->n_in, sizeof *ranks);
    term *terms = hn_arena_array(c->scratch, (size_t)c->n_in, sizeof *terms);
    if (ranks == NULL || terms == NULL) return HN_NOMEM(err);
    for (int i = 0; i < c->n_in; i++)
        if ((ranks[i] = hn_in_rank(c, i)) < 0) return HONE_OK;
    HN_TRY(hn_einsum_parse(hn_attr_s(c->node, "equation"), c->n_in, ranks, terms, out, err));
    *in = terms;
    return HONE_OK;
}

/* Sizes of the labels; NULL for those not used. */
static hone_status label_dims(const hn_infer *c, const term *in, hn_dim *dim, hn_error *err) {
    for (int l = 0; l < N_LABELS; l++) dim[l] = NULL;
    for (int i = 0; i < c->n_in; i++)
        for (int a = 0; a < in[i].rank; a++) {
            hn_dim *known = &dim[in[i].label[a]], size = hn_in_shape(c, i)->dim[a];
            if (*known == NULL)
                *known = size;
            else if (!hn_dim_broadcast(c->dims, *known, size, known))
                return hn_want_equal(*known, size, "sizes of axes with one label", err);
        }
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    term *in, out;
    hn_dim dim[N_LABELS];
    HN_TRY(terms_of(c, &in, &out, err));
    if (in == NULL) return HONE_OK;
    HN_TRY(label_dims(c, in, dim, err));
    hn_shape y = {.rank = out.rank};
    for (int a = 0; a < out.rank; a++) y.dim[a] = dim[out.label[a]];
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* Labels still needed when operands [0, i] are done. */
static void needed_after(const term *in, int n_in, const term *out, int i, bool *needed) {
    memset(needed, 0, N_LABELS * sizeof *needed);
    for (int a = 0; a < out->rank; a++) needed[out->label[a]] = true;
    for (int k = i + 1; k < n_in; k++)
        for (int a = 0; a < in[k].rank; a++) needed[in[k].label[a]] = true;
}

static void cost(const hn_infer *c, hn_cost *total) {
    term *in, out;
    hn_dim dim[N_LABELS];
    if (c->n_in < 2 || terms_of(c, &in, &out, NULL) != HONE_OK || in == NULL ||
        label_dims(c, in, dim, NULL) != HONE_OK)
        return;
    bool have[N_LABELS] = {0}, needed[N_LABELS];
    for (int i = 0; i < c->n_in; i++) {
        for (int a = 0; a < in[i].rank; a++) have[in[i].label[a]] = true;
        hn_dim macs = hn_dim_const(c->dims, 1);
        for (int l = 0; l < N_LABELS; l++)
            if (have[l]) macs = hn_dim_mul(c->dims, macs, dim[l]);
        if (i > 0) total->macs = hn_dim_add(c->dims, total->macs, macs);
        needed_after(in, c->n_in, &out, i, needed);
        for (int l = 0; l < N_LABELS; l++) have[l] = have[l] && needed[l];
    }
}

/* ---- evaluation ---- */

typedef struct operand {
    hone_dtype dtype; /* HONE_DTYPE_NONE: the scalar 1 */
    void *data;
    bool has[N_LABELS];
    int64_t stride[N_LABELS];
} operand;

/* A set of labels as one index, the last label fastest. */
typedef struct axes {
    int n;
    int64_t size; /* product */
    int64_t dim[N_LABELS];
    uint8_t label[N_LABELS];
} axes;

typedef struct contraction {
    bool integer;
    axes batch, rows, cols, sum;
    operand left, right, out;
} contraction;

static bool axes_add(axes *x, int label, int64_t dim) {
    x->label[x->n] = (uint8_t)label;
    x->dim[x->n++] = dim;
    return hn_i64_mul(x->size, dim, &x->size);
}

/* Walks indices of a set in order, keeping the offset they have in an operand. */
typedef struct walk {
    const axes *x;
    int64_t stride[N_LABELS], at[N_LABELS], offset;
} walk;

static void walk_start(walk *w, const axes *x, const operand *o, int64_t index) {
    w->x = x;
    w->offset = 0;
    for (int i = x->n - 1; i >= 0; i--) {
        w->stride[i] = o->stride[x->label[i]];
        w->at[i] = index % x->dim[i];
        w->offset += w->at[i] * w->stride[i];
        index /= x->dim[i];
    }
}

static void walk_next(walk *w) {
    for (int i = w->x->n - 1; i >= 0; i--) {
        w->offset += w->stride[i];
        if (++w->at[i] < w->x->dim[i]) return;
        w->offset -= w->x->dim[i] * w->stride[i];
        w->at[i] = 0;
    }
}

static void load(const contraction *c, const operand *o, const axes *rows, const axes *cols,
                 const hn_block *at, void *dst) {
    walk b, r, k;
    walk_start(&b, &c->batch, o, at->batch);
    walk_start(&r, rows, o, at->row);
    for (int64_t i = 0; i < at->n_rows; i++, walk_next(&r)) {
        walk_start(&k, cols, o, at->col);
        for (int64_t j = 0; j < at->n_cols; j++, walk_next(&k)) {
            int64_t to = i * at->n_cols + j, from = b.offset + r.offset + k.offset;
            if (c->integer)
                ((int64_t *)dst)[to] =
                    o->dtype == HONE_DTYPE_NONE ? 1 : hn_load_s64(o->dtype, o->data, from);
            else
                ((double *)dst)[to] =
                    o->dtype == HONE_DTYPE_NONE ? 1 : hn_load_f64(o->dtype, o->data, from);
        }
    }
}

static void load_left(const void *ctx, const hn_block *at, void *dst) {
    const contraction *c = ctx;
    load(c, &c->left, &c->rows, &c->sum, at, dst);
}

static void load_right(const void *ctx, const hn_block *at, void *dst) {
    const contraction *c = ctx;
    load(c, &c->right, &c->sum, &c->cols, at, dst);
}

static void store(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const contraction *c = ctx;
    walk b, r, k;
    walk_start(&b, &c->batch, &c->out, at->batch);
    walk_start(&r, &c->rows, &c->out, at->row);
    for (int64_t i = 0; i < at->n_rows; i++, walk_next(&r)) {
        walk_start(&k, &c->cols, &c->out, at->col);
        for (int64_t j = 0; j < at->n_cols; j++, walk_next(&k)) {
            int64_t from = i * pitch + j, to = b.offset + r.offset + k.offset;
            if (c->integer)
                hn_store_s64(c->out.dtype, c->out.data, to, ((const int64_t *)sums)[from]);
            else
                hn_store_f64(c->out.dtype, c->out.data, to, ((const double *)sums)[from]);
        }
    }
}

/* Strides of a dense array whose axes carry the labels of t; dims[] are the array's own. */
static operand dense(const term *t, const int64_t *dims, hone_dtype dtype, void *data) {
    operand o = {.dtype = dtype, .data = data};
    int64_t stride = 1;
    for (int a = t->rank - 1; a >= 0; a--) {
        o.has[t->label[a]] = true;
        if (dims[a] != 1) o.stride[t->label[a]] += stride;
        /* Only an array without elements can overflow here, and then nothing uses the stride. */
        if (!hn_i64_mul(stride, dims[a], &stride)) stride = 0;
    }
    return o;
}

/* One contraction of c->left and c->right into c->out, or when `target` is NULL into scratch. */
static hone_status contract(hn_eval *e, contraction *c, const int64_t *dim, const bool *needed,
                            const operand *target, hn_error *err) {
    c->batch = c->rows = c->cols = c->sum = (axes){.size = 1};
    bool fits = true;
    for (int l = 0; l < N_LABELS; l++) {
        bool left = c->left.has[l], right = c->right.has[l];
        if (!left && !right) continue;
        axes *set = !needed[l] ? &c->sum : left && right ? &c->batch : left ? &c->rows : &c->cols;
        fits = axes_add(set, l, dim[l]) && fits;
    }
    int64_t size;
    fits = fits && hn_i64_mul(c->batch.size, c->rows.size, &size) &&
           hn_i64_mul(size, c->cols.size, &size);
    HN_CHECK(err, fits, HONE_E_SHAPE, "a partial result is too large");
    if (target != NULL) {
        c->out = *target;
    } else {
        c->out = (operand){.dtype = c->integer ? HONE_DTYPE_S64 : HONE_DTYPE_F64};
        c->out.data = hn_scratch(e, size, 8);
        if (c->out.data == NULL) return HN_NOMEM(err);
        int64_t stride = 1;
        for (int l = N_LABELS - 1; l >= 0; l--) {
            if (!needed[l] || (!c->left.has[l] && !c->right.has[l])) continue;
            c->out.has[l] = true;
            c->out.stride[l] = stride;
            stride *= dim[l];
        }
    }
    hn_gemm g = {.n_batch = c->batch.size,
                 .m = c->rows.size,
                 .n = c->cols.size,
                 .k = c->sum.size,
                 .integer = c->integer,
                 .a = {load_left, c},
                 .b = {load_right, c},
                 .store = store,
                 .out = c};
    return hn_gemm_ref(e, &g, err);
}

/* Sums an operand over what neither the other one nor a later step has: "i,j->" then takes i + j
 * steps, and not i * j. */
static hone_status sum_alone(hn_eval *e, operand *o, const operand *other, bool integer,
                             const int64_t *dim, const bool *needed, hn_error *err) {
    bool kept[N_LABELS], any = false;
    for (int l = 0; l < N_LABELS; l++) {
        kept[l] = needed[l] || other->has[l];
        any = any || (o->has[l] && !kept[l] && dim[l] != 1);
    }
    if (!any) return HONE_OK;
    contraction *c = hn_scratch(e, 1, sizeof *c);
    if (c == NULL) return HN_NOMEM(err);
    *c = (contraction){.integer = integer, .left = *o, .right = {.dtype = HONE_DTYPE_NONE}};
    HN_TRY(contract(e, c, dim, kept, NULL, err));
    *o = c->out;
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_tensor *y = e->out[0];
    if (y->n == 0) return HONE_OK; /* other axes may then have sizes whose product overflows */
    int *ranks = hn_scratch(e, e->n_in, sizeof *ranks);
    term *in = hn_scratch(e, e->n_in, sizeof *in), out;
    contraction *c = hn_scratch(e, 1, sizeof *c);
    if (ranks == NULL || in == NULL || c == NULL) return HN_NOMEM(err);
    for (int i = 0; i < e->n_in; i++) ranks[i] = e->in[i]->rank;
    HN_TRY(hn_einsum_parse(hn_attr_s(e->node, "equation"), e->n_in, ranks, in, &out, err));
    int64_t dim[N_LABELS];
    for (int l = 0; l < N_LABELS; l++) dim[l] = 1;
    for (int i = 0; i < e->n_in; i++)
        for (int a = 0; a < in[i].rank; a++)
            if (e->in[i]->dims[a] != 1) dim[in[i].label[a]] = e->in[i]->dims[a];

    operand target = dense(&out, y->dims, y->dtype, y->data);
    c->integer = hn_dtype_is_int(y->dtype);
    bool needed[N_LABELS];
    for (int i = 0; i < e->n_in; i++) {
        operand o = dense(&in[i], e->in[i]->dims, e->in[i]->dtype, e->in[i]->data);
        if (i == 0) {
            c->left = o;
            if (e->n_in > 1) continue;
            o = (operand){.dtype = HONE_DTYPE_NONE};
        }
        c->right = o;
        needed_after(in, e->n_in, &out, i, needed);
        if (e->n_in > 1) {
            HN_TRY(sum_alone(e, &c->left, &c->right, c->integer, dim, needed, err));
            HN_TRY(sum_alone(e, &c->right, &c->left, c->integer, dim, needed, err));
        }
        HN_TRY(contract(e, c, dim, needed, i == e->n_in - 1 ? &target : NULL, err));
        c->left = c->out;
    }
    return HONE_OK;
}

/* ---- gradients ---- */

enum { MOST_OPERANDS = 8 };

/* All that a gradient asks of the equation. */
typedef struct equation {
    int n_in;
    term in[MOST_OPERANDS], out;
    int64_t dims[MOST_OPERANDS][HONE_MAX_RANK]; /* of the operands */
    int64_t size[N_LABELS];
} equation;

static hone_status read_equation(hn_grad *g, equation *q, hn_error *err) {
    int ranks[MOST_OPERANDS];
    q->n_in = g->node->n_inputs;
    if (q->n_in > MOST_OPERANDS) return hn_grad_refuse(g, "it has more than 8 operands", err);
    for (int l = 0; l < N_LABELS; l++) q->size[l] = 1;
    for (int i = 0; i < q->n_in; i++) ranks[i] = hn_grad_dims(g, hn_grad_in(g, i), q->dims[i]);
    HN_TRY(g->status);
    HN_TRY(hn_einsum_parse(hn_attr_s(g->node, "equation"), q->n_in, ranks, q->in, &q->out, err));
    for (int i = 0; i < q->n_in; i++)
        for (int a = 0; a < q->in[i].rank; a++)
            if (q->dims[i][a] != 1) q->size[q->in[i].label[a]] = q->dims[i][a];
    return HONE_OK;
}

/* The text of an equation, with letters of its own. */
typedef struct writer {
    char text[16 + (MOST_OPERANDS + 1) * (HONE_MAX_RANK + 1)];
    size_t n;
    int used;
    char letter[N_LABELS]; /* 0: none yet */
} writer;

static bool write_term(writer *w, const char *before, const term *t) {
    size_t n = strlen(before);
    memcpy(w->text + w->n, before, n);
    w->n += n;
    for (int a = 0; a < t->rank; a++) {
        char *c = &w->letter[t->label[a]];
        if (*c == 0) {
            if (w->used == N_LETTERS) return false;
            *c = (char)(w->used < 26 ? 'a' + w->used : 'A' + w->used - 26);
            w->used++;
        }
        w->text[w->n++] = *c;
    }
    w->text[w->n] = '\0';
    return true;
}

static bool has(const term *t, int label) {
    for (int a = 0; a < t->rank; a++)
        if (t->label[a] == label) return true;
    return false;
}

/* Operand k has the label, and in its whole size. */
static bool gives(const equation *q, int k, int label) {
    for (int a = 0; a < q->in[k].rank; a++)
        if (q->in[k].label[a] == label && q->dims[k][a] == q->size[label]) return true;
    return false;
}

/* The product of dy and all operands but i, with the labels of operand i that these have. Labels
 * that only operand i has, and others of size 1 there, are axes of size 1. */
static hn_value *product_without(hn_grad *g, const equation *q, int i, int64_t *dims) {
    const term *own = &q->in[i];
    term made = {0};
    writer w = {0};
    hn_value *in[MOST_OPERANDS + 1] = {g->dy[0]};
    int n = 1;
    bool fits = write_term(&w, "", &q->out);
    for (int k = 0; k < q->n_in; k++) {
        if (k == i) continue;
        in[n++] = hn_grad_in(g, k);
        fits = fits && write_term(&w, ",", &q->in[k]);
    }
    for (int a = 0; a < own->rank; a++) {
        int label = own->label[a];
        bool found = has(&q->out, label);
        for (int k = 0; k < q->n_in; k++) found = found || (k != i && gives(q, k, label));
        dims[a] = 1;
        if (!found || has(&made, label) || q->dims[i][a] != q->size[label]) continue;
        made.label[made.rank++] = (uint8_t)label;
        dims[a] = q->dims[i][a];
    }
    if (!fits || !write_term(&w, "->", &made)) {
        hn_grad_refuse(g, "it has too many labels", g->err);
        g->status = HONE_E_UNSUPPORTED;
        return NULL;
    }
    hn_node *e = hn_emit_node(g, "", "Einsum", 1, n, in);
    hn_emit_s(g, e, "equation", w.text);
    return hn_emit_reshape(g, hn_emitted(e, 0), own->rank, dims);
}

/* 1 where axes a and b of `rank` are equal, 0 elsewhere. */
static hn_value *diagonal(hn_grad *g, int rank, int a, int b, int64_t size) {
    int64_t dims[HONE_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = i == a || i == b ? size : 1;
    hn_tensor *t;
    hn_value *v = hn_emit_table(g, rank, dims, &t);
    for (int64_t i = 0; v != NULL && i < size; i++)
        hn_store_f64(t->dtype, t->data, i * size + i, 1);
    return v;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    equation q = {0};
    HN_TRY(read_equation(g, &q, err));
    for (int i = 0; i < q.n_in; i++) {
        const term *own = &q.in[i];
        int64_t dims[HONE_MAX_RANK];
        if (!hn_grad_wants(g, i)) continue;
        hn_value *v = product_without(g, &q, i, dims);
        for (int b = 1; b < own->rank; b++) { /* an axis that stands twice is a diagonal */
            int a = 0;
            while (a < b && own->label[a] != own->label[b]) a++;
            if (a < b) v = HN_EMIT2(g, "Mul", v, diagonal(g, own->rank, a, b, q.dims[i][b]));
        }
        hn_grad_give(g, i, hn_emit_expanded(g, v, own->rank, q.dims[i]));
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_REQ("equation", STRING), {0}};

const hn_op_def hn_op_einsum = {
    .name = "Einsum",
    .versions = "12 28",
    .sig = "(Inputs:T...) -> (Output:T); T: num",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
    .cost = cost,
};

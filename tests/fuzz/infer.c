/* Shape inference on made-up graphs.
 *
 * The bytes are choices: which operators, which inputs (earlier values, constants), which
 * attributes of which values, which opset. The graph is inferred; where it can be run on small
 * tensors, what inference said must hold for what came out: element types, ranks, every size that
 * is a number, every known content.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/eval.h"
#include "ops/infer.h"

#define MOST_VALUES 64

typedef struct source {
    const uint8_t *p;
    size_t n;
} source;

static unsigned pick(source *s, unsigned n) {
    unsigned v = 0;
    if (s->n > 0) {
        v = *s->p++;
        s->n--;
    }
    if (n > 256 && s->n > 0) {
        v = v << 8 | *s->p++;
        s->n--;
    }
    return v % n;
}

typedef struct maker {
    source s;
    hn_allocator alloc;
    hn_model *m;
    hn_graph *g;
    hn_value *values[MOST_VALUES];
    hn_tensor *given[MOST_VALUES]; /* contents of graph inputs, by their index */
    int n_values;
} maker;

static void must(hone_status s, const hn_error *err) {
    if (s == HONE_OK) return;
    fprintf(stderr, "the target itself fails: %s\n", err->text);
    abort();
}

/* Mostly what models hold; now and then anything. */
static hone_dtype pick_type(maker *k) {
    static const hone_dtype common[] = {HONE_DTYPE_F32,  HONE_DTYPE_F32,  HONE_DTYPE_S64,
                                        HONE_DTYPE_S64,  HONE_DTYPE_U8,   HONE_DTYPE_S8,
                                        HONE_DTYPE_S32,  HONE_DTYPE_BOOL, HONE_DTYPE_F16,
                                        HONE_DTYPE_BF16, HONE_DTYPE_F64,  HONE_DTYPE_U4};
    unsigned c = pick(&k->s, 16);
    if (c < 12) return common[c];
    hone_dtype t = (hone_dtype)(1 + pick(&k->s, HONE_DTYPE_COUNT_ - 1));
    return t == HONE_DTYPE_STRING ? HONE_DTYPE_F32 : t;
}

static int64_t pick_number(maker *k) {
    static const int64_t odd[] = {-1, INT64_MAX, INT64_MIN, 1 << 20, -2, INT32_MAX, 100, -7};
    unsigned c = pick(&k->s, 32);
    return c < 24 ? (int64_t)(c % 6) : odd[c - 24];
}

static hn_tensor *pick_tensor(maker *k, hone_dtype t, int most_rank) {
    int64_t dims[8];
    int rank = (int)pick(&k->s, (unsigned)most_rank + 1);
    for (int i = 0; i < rank; i++) dims[i] = pick(&k->s, 8) == 7 ? 0 : 1 + pick(&k->s, 4);
    hn_tensor *x;
    hn_error err;
    must(hn_tensor_create(&x, &k->alloc, HN_MEM_WEIGHTS, t, rank, dims, &err), &err);
    memset(x->data, 0, x->bytes);
    if (t == HONE_DTYPE_BOOL || hn_dtype_in(t, HN_DTYPES_COMPLEX)) return x;
    for (int64_t i = 0; i < x->n; i++)
        hn_store_f64(
            t, x->data, i,
            hn_dtype_is_int(t) ? (double)(pick_number(k) % 1000) : (double)pick_number(k) * 0.5);
    return x;
}

static hn_value *add_input(maker *k) {
    char name[16];
    hn_error err;
    hn_value *v;
    int at = k->g->n_inputs;
    snprintf(name, sizeof name, "x%d", at);
    hn_tensor *t = pick_tensor(k, pick_type(k), 5);
    must(hn_value_create(&v, k->g, name, NULL, &err), &err);
    must(hn_graph_add_input(k->g, v, &err), &err);
    v->type.kind = HN_TYPE_TENSOR;
    v->type.dtype = t->dtype;
    v->type.shape = hn_shape_of(&k->m->dims, t->rank, t->dims);
    for (int i = 0; i < t->rank; i++) { /* some sizes become symbols: one per size, so they agree */
        if (pick(&k->s, 3) != 0) continue;
        char symbol[16];
        snprintf(symbol, sizeof symbol, "d%d", (int)t->dims[i]);
        v->type.shape.dim[i] = hn_dim_symbol(&k->m->dims, symbol);
    }
    if (pick(&k->s, 12) == 0) v->type.shape = hn_shape_unknown();
    k->given[at] = t;
    return v;
}

static hn_value *add_constant(maker *k) {
    hn_error err;
    hn_value *v;
    hone_dtype t = pick(&k->s, 2) ? HONE_DTYPE_S64 : pick_type(k);
    must(hn_value_create_constant(&v, k->g, NULL, "c", pick_tensor(k, t, 2), &err), &err);
    return v;
}

static hn_value *pick_value(maker *k) {
    unsigned c = pick(&k->s, 8);
    if (c >= 2 && k->n_values > 0) return k->values[pick(&k->s, (unsigned)k->n_values)];
    if (k->n_values == MOST_VALUES || k->g->n_inputs == MOST_VALUES) return k->values[0];
    hn_value *v = c == 0 ? add_input(k) : add_constant(k);
    k->values[k->n_values++] = v;
    return v;
}

static void add_attrs(maker *k, hn_node *n, const hn_op_def *op) {
    hn_error err;
    for (const hn_attr_def *d = op->attrs; d != NULL && d->name != NULL; d++) {
        if (!d->required && pick(&k->s, 3) != 0) continue;
        hn_attr *a;
        if (d->type == HN_ATTR_INT) {
            must(hn_node_set_i(n, d->name, pick_number(k), &err), &err);
        } else if (d->type == HN_ATTR_FLOAT) {
            must(hn_node_set_f(n, d->name, (float)pick_number(k) * 0.25f, &err), &err);
        } else if (d->type == HN_ATTR_STRING) {
            char word[64] = "none";
            if (d->one_of != NULL) { /* one of its words */
                const char *w = d->one_of;
                for (unsigned c = pick(&k->s, 6); c > 0 && strchr(w, ' ') != NULL; c--)
                    w = strchr(w, ' ') + 1;
                snprintf(word, sizeof word, "%.*s", (int)strcspn(w, " "), w);
            }
            must(hn_node_set_s(n, d->name, word, &err), &err);
        } else if (d->type == HN_ATTR_INTS) {
            int64_t v[8];
            int count = (int)pick(&k->s, 7);
            for (int i = 0; i < count; i++) v[i] = pick_number(k);
            must(hn_node_set_ints(n, d->name, v, count, &err), &err);
        } else if (d->type == HN_ATTR_TENSOR) {
            hn_tensor *t = pick_tensor(k, pick_type(k), 2);
            must(hn_node_add_attr(&a, n, d->name, HN_ATTR_TENSOR, &err), &err);
            a->u.tensor = t;
        } else if (d->type == HN_ATTR_FLOATS) {
            float *v = hn_arena_array(&k->m->arena, 4, sizeof *v);
            if (v == NULL) abort();
            must(hn_node_add_attr(&a, n, d->name, HN_ATTR_FLOATS, &err), &err);
            a->n = (int)pick(&k->s, 5);
            for (int i = 0; i < a->n; i++) v[i] = (float)pick_number(k) * 0.5f;
            a->u.floats = v;
        }
    }
}

static void add_node(maker *k) {
    const hn_op_def *op = hn_ops[pick(&k->s, (unsigned)hn_n_ops)];
    if ((op->traits & HN_CONTROL) != 0) return;
    const hn_sig *sig = hn_op_sig(op);
    hn_error err;
    int n_in = sig->in_min, n_out = sig->out_min > 0 ? sig->out_min : 1;
    if (sig->in_max > n_in)
        n_in += (int)pick(&k->s, 1 + (unsigned)(sig->in_max - n_in < 4 ? sig->in_max - n_in : 4));
    if (sig->out_max > n_out)
        n_out +=
            (int)pick(&k->s, 1 + (unsigned)(sig->out_max - n_out < 3 ? sig->out_max - n_out : 3));
    hn_node *n;
    char name[24];
    snprintf(name, sizeof name, "n%d", k->g->n_nodes);
    must(hn_node_create(&n, k->g, op->domain, op->name, name, n_in, n_out, &err), &err);
    n->op = op;
    for (int i = 0; i < n_in; i++)
        if (i < sig->in_min || pick(&k->s, 4) != 0) hn_node_set_input(n, i, pick_value(k));
    add_attrs(k, n, op);
    for (int i = 0; i < n_out; i++) {
        hn_value *v;
        if (i > 0 && pick(&k->s, 4) == 0) continue;
        must(hn_value_create(&v, k->g, NULL, name, &err), &err);
        hn_node_set_output(n, i, v);
        if (k->n_values < MOST_VALUES) k->values[k->n_values++] = v;
    }
    if (pick(&k->s, 4) == 0) {
        n->old = true; /* an older definition: lifting has its say */
        n->opset = 1 + pick(&k->s, HN_NEWEST_OPSET);
    }
    hn_node_insert(n, NULL);
}

/* ---- what inference said must be what came out ---- */

static int64_t size_of(void *ctx, hn_dim symbol) {
    (void)ctx;
    const char *name;
    return hn_dim_is_symbol(symbol, &name) && name[0] == 'd' && !hn_dim_is_fresh(symbol)
               ? atoi(name + 1)
               : -1;
}

static void wrong(const hn_value *v, const hn_tensor *t, const char *what) {
    char shape[300], found[300], label[320] = "";
    if (v->producer != NULL) hn_node_label(v->producer, label, sizeof label);
    fprintf(stderr, "%s of '%s' by %s: inferred %s%s, found %s\n", what, v->name, label,
            hone_dtype_name(v->type.dtype), hn_shape_text(&v->type.shape, shape, sizeof shape),
            hn_tensor_text(t, found, sizeof found));
    abort();
}

static void compare(void *ctx, const hn_value *v, const hn_tensor *t) {
    (void)ctx;
    if (v->type.dtype != HONE_DTYPE_NONE && v->type.dtype != t->dtype) wrong(v, t, "the type");
    if (v->type.shape.rank >= 0) {
        if (v->type.shape.rank != t->rank) wrong(v, t, "the rank");
        for (int i = 0; i < t->rank; i++) {
            int64_t size;
            if (hn_dim_eval(v->type.shape.dim[i], size_of, NULL, &size) && size != t->dims[i])
                wrong(v, t, "a size");
        }
    }
    if (v->known == NULL) return;
    if (v->n_known != t->n) wrong(v, t, "the number of known contents");
    for (int i = 0; i < v->n_known; i++) {
        int64_t x, found = hn_tensor_s64(t, i);
        if (found > HN_FAR) found = HN_FAR;
        if (found < -HN_FAR) found = -HN_FAR;
        if (hn_dim_eval(v->known[i], size_of, NULL, &x) && x != found) {
            fprintf(stderr, "content %d: inferred %lld, found %lld\n", i, (long long)x,
                    (long long)found);
            wrong(v, t, "a content");
        }
    }
}

static bool few_steps(void *ctx) { return --*(int *)ctx > 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 4096) return 0;
    static maker k;
    hn_error err;
    memset(&k, 0, sizeof k);
    k.s = (source){data, size};
    hn_allocator_init(&k.alloc);
    k.alloc.limit = 4u << 20;
    must(hn_model_create(&k.m, &k.alloc, &err), &err);
    must(hn_model_set_opset(k.m, "", HN_NEWEST_OPSET, &err), &err);
    must(hn_model_set_opset(k.m, "com.microsoft", 1, &err), &err);
    must(hn_graph_create(&k.g, k.m, NULL, &err), &err);
    for (int i = 0; i < 12 && k.s.n > 0; i++) add_node(&k);
    for (int i = 0; i < k.n_values; i++)
        if (k.values[i]->producer != NULL) must(hn_graph_add_output(k.g, k.values[i], &err), &err);
    must(hn_model_verify(k.m, &err), &err);

    if (hn_model_infer(k.m, NULL, &err) == HONE_OK && k.g->n_outputs > 0) {
        must(hn_model_verify(k.m, &err), &err);
        hn_tensor *out[MOST_VALUES + 1] = {0};
        int steps = 64;
        hn_exec_options o = {.alloc = &k.alloc,
                             .observe = compare,
                             .keep_going = few_steps,
                             .keep_going_ctx = &steps};
        if (hn_graph_run(k.g, &o, (const hn_tensor *const *)k.given, out, &err) == HONE_OK)
            for (int i = 0; i < k.g->n_outputs; i++) hn_tensor_unref(out[i]);
    }
    for (int i = 0; i < MOST_VALUES; i++) hn_tensor_unref(k.given[i]);
    hn_model_destroy(k.m);
    if (atomic_load(&k.alloc.blocks) != 0) {
        fprintf(stderr, "%zu blocks are still allocated\n", (size_t)atomic_load(&k.alloc.blocks));
        abort();
    }
    return 0;
}

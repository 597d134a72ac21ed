/* Shape inference on made-up graphs.
 *
 * The bytes are choices: which operators, which inputs (earlier values, graph inputs, constants),
 * which attributes of which values, which opset, which subgraphs. The graph is inferred; then it is
 * run on small tensors, and what inference said must hold for what came out: element types, ranks,
 * sizes, known contents. Saved as ONNX and loaded again it must give the same bits. Simplified, it
 * must give the same numbers where the level promises them, and tensors of the same kind at any.
 *
 * A graph of nodes that all fail their checks tests little. So a value comes with a sample of what
 * it will hold; inputs are picked by type and size; each node is tried on the samples of its inputs
 * and mostly dropped when it fails. Operators whose inputs must fit together, or whose attributes
 * must fit the inputs, have rows in `recipes`.
 *
 * HONE_FUZZ_COUNTS=1 in the environment prints, at the end, how often each operator ran.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/onnx.h"
#include "ops/control.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "passes/simplify.h"

#define MOST_VALUES 64
#define MOST_INPUTS 64

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
    hn_graph *top, *g; /* g: where nodes go now */
    hn_value *values[MOST_VALUES];
    hn_tensor *samples[MOST_VALUES]; /* of each value; NULL: not known */
    int n_values;
    hn_tensor *given[MOST_INPUTS]; /* contents of the inputs of top */
    int64_t opset;
    int nodes_left;
    /* Sizes only running could tell, as they were met. */
    hn_dim symbols[256];
    int64_t sizes[256];
    int n_symbols;
} maker;

static void must(hone_status s, const hn_error *err) {
    if (s == HONE_OK) return;
    fprintf(stderr, "the target itself fails: %s\n", err->text);
    abort();
}

/* ---- numbers and tensors ---- */

static int64_t odd_number(maker *k) {
    static const int64_t odd[] = {-1, INT64_MAX, INT64_MIN, 1 << 20, -2, INT32_MAX, 100, -7};
    return odd[pick(&k->s, 8)];
}

static float pick_float(maker *k) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 1e-30f, -1, -0.0f};
    unsigned c = pick(&k->s, 32);
    return c < 28 ? (float)(c % 7) * 0.25f : odd[pick(&k->s, 8)];
}

/* One of the set; mostly what models hold, now and then anything. */
static hone_dtype pick_type(maker *k, hn_dtypes set) {
    static const hone_dtype common[] = {HONE_DTYPE_F32,  HONE_DTYPE_F32,  HONE_DTYPE_S64,
                                        HONE_DTYPE_S64,  HONE_DTYPE_U8,   HONE_DTYPE_S8,
                                        HONE_DTYPE_S32,  HONE_DTYPE_BOOL, HONE_DTYPE_F16,
                                        HONE_DTYPE_BF16, HONE_DTYPE_F64,  HONE_DTYPE_U4};
    if (pick(&k->s, 64) != 63) set &= ~HN_DTYPE_BIT(STRING);
    hone_dtype t = HONE_DTYPE_F32;
    for (int tries = 0; tries < 2; tries++) {
        unsigned c = pick(&k->s, 16);
        if (c >= 12) break;
        t = common[c];
        if (hn_dtype_in(t, set)) return t;
    }
    t = (hone_dtype)(1 + pick(&k->s, HONE_DTYPE_COUNT_ - 1));
    for (int i = 1; i < HONE_DTYPE_COUNT_ && !hn_dtype_in(t, set); i++)
        t = (hone_dtype)(t % (HONE_DTYPE_COUNT_ - 1) + 1);
    return hn_dtype_in(t, set) ? t : HONE_DTYPE_F32;
}

/* What an input should be. */
typedef struct want {
    hn_dtypes types;
    bool sized; /* rank and dims count */
    bool absent;
    bool contents; /* it holds v: one axis, or a scalar */
    int rank;
    int64_t dims[HONE_MAX_RANK];
    int64_t v[HONE_MAX_RANK];
} want;

static void pick_dims(maker *k, want *w, int most_rank) {
    w->rank = (int)pick(&k->s, (unsigned)most_rank + 1);
    for (int i = 0; i < w->rank; i++) w->dims[i] = pick(&k->s, 16) == 15 ? 0 : 1 + pick(&k->s, 4);
}

/* Small numbers, the first ones as the bytes say; one tensor in a few holds an odd one. */
static void fill(maker *k, hn_tensor *t) {
    static const unsigned tops[] = {1, 2, 3, 6};
    unsigned c = pick(&k->s, 32), seed = pick(&k->s, 256), top = tops[c % 4];
    bool whole = hn_dtype_is_int(t->dtype) || t->dtype == HONE_DTYPE_BOOL;
    for (int64_t i = 0; i < t->n; i++) {
        seed = i < 4 ? pick(&k->s, 256) : (seed * 1103515245u + 12345u) >> 3;
        double v = seed % top;
        if (!whole && c >= 8) v = v * 0.375 + (c < 20 ? 0.125 : -0.25);
        hn_store_f64(t->dtype, t->data, i, v);
    }
    if (c >= 4 || t->n == 0 || t->dtype == HONE_DTYPE_BOOL) return;
    int64_t at = pick(&k->s, (unsigned)t->n);
    if (whole)
        hn_store_s64(t->dtype, t->data, at, odd_number(k));
    else
        hn_store_f64(t->dtype, t->data, at, (double)pick_float(k));
}

static hn_tensor *make_tensor(maker *k, hone_dtype t, const want *w) {
    hn_tensor *x;
    hn_error err;
    if (t == HONE_DTYPE_STRING) {
        static const hn_str texts[8192]; /* all empty */
        must(hn_tensor_create_strings(&x, &k->alloc, w->rank, w->dims, texts, &err), &err);
        return x;
    }
    must(hn_tensor_create(&x, &k->alloc, HN_MEM_WEIGHTS, t, w->rank, w->dims, &err), &err);
    if (x->bytes > 0) memset(x->data, 0, x->bytes);
    if (!w->contents) {
        fill(k, x);
        return x;
    }
    for (int64_t i = 0; i < x->n; i++) hn_store_f64(t, x->data, i, (double)w->v[i]);
    return x;
}

/* Constants of a file may lie anywhere in memory. */
static hn_tensor *misalign(maker *k, hn_tensor *t) {
    hn_error err;
    hn_tensor *x;
    char *p = hn_arena_alloc(&k->m->arena, t->bytes + 1);
    if (p == NULL) abort();
    if (t->bytes > 0) memcpy(p + 1, t->data, t->bytes);
    must(hn_tensor_create_borrowed(&x, &k->alloc, t->dtype, t->rank, t->dims, p + 1, &err), &err);
    hn_tensor_unref(t);
    return x;
}

/* A sparse tensor with at most two of t's elements. */
static hn_tensor *sparsify(maker *k, hn_tensor *t) {
    hn_error err;
    int64_t n = t->n > 2 ? 2 : t->n, at[2] = {0, t->n - 1};
    hn_tensor *values, *indices, *x;
    must(hn_tensor_create(&values, &k->alloc, HN_MEM_WEIGHTS, t->dtype, 1, &n, &err), &err);
    if (values->bytes > 0) memset(values->data, 0, values->bytes);
    for (int64_t i = 0; i < n; i++) hn_copy_element(t->dtype, values->data, i, t->data, at[i]);
    if (n > 0 && pick(&k->s, 64) == 63) at[n - 1] = odd_number(k);
    must(hn_tensor_from_s64(&indices, &k->alloc, HONE_DTYPE_S64, 1, &n, at, &err), &err);
    must(hn_tensor_create_sparse(&x, &k->alloc, t->rank, t->dims, values, indices, &err), &err);
    hn_tensor_unref(t);
    return x;
}

/* ---- values ---- */

static void remember(maker *k, hn_value *v, const hn_tensor *sample) {
    if (k->n_values == MOST_VALUES) return;
    k->values[k->n_values] = v;
    k->samples[k->n_values++] = hn_tensor_ref(sample);
}

static void forget(maker *k, int n_values) {
    while (k->n_values > n_values) hn_tensor_unref(k->samples[--k->n_values]);
}

static const hn_tensor *sample_of(const maker *k, const hn_value *v) {
    for (int i = 0; i < k->n_values; i++)
        if (k->values[i] == v) return k->samples[i];
    return NULL;
}

static hn_value *add_input(maker *k, hn_tensor *t) {
    char name[16];
    hn_error err;
    hn_value *v;
    int at = k->top->n_inputs;
    snprintf(name, sizeof name, "x%d", at);
    must(hn_value_create(&v, k->top, name, NULL, &err), &err);
    must(hn_graph_add_input(k->top, v, &err), &err);
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
    remember(k, v, t);
    return v;
}

static hn_value *add_constant(maker *k, hn_tensor *t) {
    hn_error err;
    hn_value *v;
    unsigned how = t->dtype != HONE_DTYPE_STRING ? pick(&k->s, 12) : 12;
    if (how == 0) t = misalign(k, t);
    if (how == 1) t = sparsify(k, t);
    must(hn_value_create_constant(&v, k->g, NULL, "c", t, &err), &err);
    remember(k, v, t);
    return v;
}

static bool suits(const hn_tensor *t, const want *w) {
    return t != NULL && hn_dtype_in(t->dtype, w->types) &&
           (!w->sized || hn_tensor_same_dims(t, w->rank, w->dims));
}

/* An earlier value that suits, or a new one that does; seldom any value at all. */
static hn_value *pick_value(maker *k, want *w) {
    unsigned c = pick(&k->s, 16);
    unsigned n = (unsigned)k->n_values;
    if (c == 15 && n > 0) return k->values[pick(&k->s, n)];
    if (c < 9 && n > 0 && !w->contents) {
        unsigned from = pick(&k->s, n);
        for (unsigned i = 0; i < n; i++)
            if (suits(k->samples[(from + i) % n], w)) return k->values[(from + i) % n];
    }
    if (n > 0 && (n == MOST_VALUES || k->top->n_inputs == MOST_INPUTS)) return k->values[0];
    if (!w->sized) pick_dims(k, w, 4);
    hn_tensor *t = make_tensor(k, pick_type(k, w->types), w);
    return c % 2 == 0 || (w->contents && c < 12) ? add_constant(k, t) : add_input(k, t);
}

/* ---- recipes: what inputs and attributes fit together ----
 *
 * Inputs are separated by spaces. One is a list of dims ("n,c,H,W"), "." for a scalar, "*" for
 * anything, "-" for nothing, or known contents: "[a,b]" a vector, "{a}" a scalar; a type may stand
 * in front, as in "u8:a,b". A size is a product of letters and numbers: a letter is a size picked
 * once for the node, small when in lower case. Attributes are written the same way: name=number,
 * name=[list], name='text'. An operator may have several rows; attributes a row does not name are
 * still picked by chance.
 */
typedef struct recipe {
    const char *op, *inputs, *attrs;
} recipe;

static const recipe recipes[] = {
    {"AffineGrid", "n,2,3 [n,c,H,W]", ""},
    {"AffineGrid", "n,3,4 [n,c,d,H,W]", ""},
    {"Attention", "b,h,q,e b,h,s,e b,h,s,f q,s b,h,p,e b,h,p,f", ""},
    {"Attention", "b,q,2*e b,s,2*e b,s,2*f q,s", "q_num_heads=2 kv_num_heads=2"},
    {"AveragePool", "n,c,H,W", "kernel_shape=[h,w]"},
    {"AveragePool", "n,c,L", "kernel_shape=[h]"},
    {"BiasGelu", "a,b b", ""},
    {"BlackmanWindow", "{A}", ""},
    {"BatchNormalization", "n,c,H,W c c c c", ""},
    {"CausalConvWithState", "b,c,L c,1,3 c b,c,2", ""},
    {"CenterCropPad", "A,B [C,D]", ""},
    {"Col2Im", "n,c*h*w,1 [h,w] [h,w]", ""},
    {"Col2Im", "n,c,A [1,A] [1,1]", ""},
    {"Compress", "A,b A", "axis=0"},
    {"Concat", "a,b a,b a,b", "axis=0"},
    {"ConstantOfShape", "[a,b]", ""},
    {"Conv", "n,c,H,W m,c,h,w m", ""},
    {"Conv", "n,c,L m,c,k m", ""},
    {"Conv", "n,2*c,H,W 2*m,c,h,w 2*m", "group=2"},
    {"ConvInteger", "n,c,H,W m,c,h,w . .", ""},
    {"ConvTranspose", "n,c,H,W c,m,h,w m", ""},
    {"ConvTranspose", "n,2*c,L 2*c,m,k 2*m", "group=2"},
    {"CumProd", "A,b {0}", ""},
    {"CumSum", "A,b {1}", ""},
    {"DFT", "b,L,1 {L} {1}", ""},
    {"DFT", "b,L,2", ""},
    {"DeformConv", "n,c,H,W m,c,1,1 n,2,H,W m n,1,H,W", ""},
    {"DepthToSpace", "n,4*c,h,w", "blocksize=2"},
    {"DequantizeLinear", "A,b .", ""},
    {"DequantizeLinear", "A,b A A", "axis=0"},
    {"DequantizeLinear", "a,2*b a,b a,b", "axis=1 block_size=2"},
    {"Det", "b,n,n", ""},
    {"Einsum", "a,b b,c", "equation='ij,jk->ik'"},
    {"Einsum", "a,b,c", "equation='...ij->...ji'"},
    {"Einsum", "a,b a,b", "equation='ij,ij'"},
    {"Einsum", "a,a", "equation='ii->i'"},
    {"EyeLike", "a,b", ""},
    {"Expand", "a,1 [c,a,b]", ""},
    {"GRU", "t,b,i 1,3*h,i 1,3*h,h 1,6*h b 1,b,h", "hidden_size=h"},
    {"Gather", "A,b C", ""},
    {"GatherElements", "a,b a,b", ""},
    {"GatherND", "a,b c,2", ""},
    {"GatherND", "a,b,c a,d,1", "batch_dims=1"},
    {"Gemm", "a,b b,c c", "transA=0 transB=0"},
    {"Gemm", "b,a c,b a,c", "transA=1 transB=1"},
    {"GlobalAveragePool", "n,c,H,W", ""},
    {"GlobalLpPool", "n,c,H", ""},
    {"GlobalMaxPool", "n,c,H", ""},
    {"GridSample", "n,c,H,W n,h,w,2", ""},
    {"GridSample", "n,c,d,H,W n,e,h,w,3", ""},
    {"GroupNormalization", "n,2*c,H 2*c 2*c", "num_groups=2"},
    {"HammingWindow", "{A}", ""},
    {"HannWindow", "{A}", ""},
    {"InstanceNormalization", "n,c,H c c", ""},
    {"LRN", "n,C,H,W", "size=3"},
    {"LSTM", "t,b,i 1,4*h,i 1,4*h,h 1,8*h b 1,b,h 1,b,h 1,3*h", "hidden_size=h"},
    {"LSTM", "t,b,i 2,4*h,i 2,4*h,h 2,8*h", "hidden_size=h direction='bidirectional'"},
    {"LayerNormalization", "a,b b b", ""},
    {"LinearAttention", "b,s,2*e b,s,2*e b,s,2*f b,2,e,f b,s,2*e b,s,2",
     "q_num_heads=2 kv_num_heads=2"},
    {"LpPool", "n,c,H,W", "kernel_shape=[h,w]"},
    {"MatMul", "a,b b,c", ""},
    {"MatMul", "n,a,b n,b,c", ""},
    {"MatMulInteger", "a,b b,c . .", ""},
    {"MaxPool", "n,c,H,W", "kernel_shape=[h,w]"},
    {"MaxPool", "n,c,L", "kernel_shape=[h]"},
    {"MaxUnpool", "n,c,h,w n,c,h,w [n,c,2*h,2*w]", "kernel_shape=[2,2] strides=[2,2]"},
    {"MelWeightMatrix", "{a} {4*B} {100} {1} {40}", ""},
    {"Multinomial", "b,C", ""},
    {"NegativeLogLikelihoodLoss", "n,c,D n,D c", ""},
    {"NonMaxSuppression", "b,S,4 b,c,S {a} . .", ""},
    {"OneHot", "A {C} 2", ""},
    {"Pad", "a,b [1,0,c,1] .", ""},
    {"QLinearConv", "n,c,H,W . . m,c,h,w . . . . m", ""},
    {"QLinearConv", "n,c,L . . m,c,k m m . . m", ""},
    {"QLinearMatMul", "a,b . . b,c . . . .", ""},
    {"QLinearMatMul", "n,a,b . . b,c c c . .", ""},
    {"QuantizeLinear", "A,b .", ""},
    {"QuantizeLinear", "A,b A A", "axis=0"},
    {"QuantizeLinear", "a,2*b a,b a,b", "axis=1 block_size=2"},
    {"RMSNormalization", "a,b b", ""},
    {"RNN", "t,b,i 1,h,i 1,h,h 1,2*h b 1,b,h", "hidden_size=h"},
    {"Range", "{0} {C} {1}", ""},
    {"Reshape", "a,b,c [b,a*c]", ""},
    {"Reshape", "a,b,c [0,1,b*c]", "allowzero=0"},
    {"Resize", "n,c,H,W - [1,1,2,2]", ""},
    {"Resize", "n,c,h,w - - [n,c,H,W]", ""},
    {"Resize", "h,w 4 - [H,W]", "mode='linear'"},
    {"ReverseSequence", "A,b b", "time_axis=0 batch_axis=1"},
    {"RoiAlign", "n,c,H,W r,4 r", "output_height=2 output_width=2"},
    {"RotaryEmbedding", "b,2,s,2*e b,s,e b,s,e", "interleaved=0"},
    {"RotaryEmbedding", "b,s,4*e M,e M,e b,s", "num_heads=2"},
    {"STFT", "b,L,1 {a} c {c}", ""},
    {"ScatterElements", "a,b a,b a,b", ""},
    {"ScatterND", "a,b c,1 c,b", ""},
    {"Slice", "A,B [1] [C] [0] [d]", ""},
    {"Slice", "A,B [a,b] [C,D]", ""},
    {"SoftmaxCrossEntropyLoss", "n,c,D n,D c", ""},
    {"SpaceToDepth", "n,c,2*h,2*w", "blocksize=2"},
    {"Split", "2*a,b [a,a]", "axis=0"},
    {"Squeeze", "a,1,b [1]", ""},
    {"TensorScatter", "b,S,d b,s,d b", ""},
    {"TfIdfVectorizer", "b,L",
     "ngram_counts=[0,3] ngram_indexes=[0,1,2,3,4] pool_int64s=[0,1,2,0,1,1,2] mode='TFIDF' "
     "max_gram_length=2 max_skip_count=1 min_gram_length=1"},
    {"Tile", "a,b [c,d]", ""},
    {"TopK", "A,B [c]", ""},
    {"Transpose", "a,b,c", "perm=[2,0,1]"},
    {"Transpose", "a,b,c,d", "perm=[0,2,1,3]"},
    {"Trilu", "a,b {1}", ""},
    {"Unsqueeze", "a,b [1]", ""},
    {"Attention", "b,s,2*e 2*e,6*f 6*f", "num_heads=2"},
    {"DynamicQuantizeLSTM", "t,b,i 1,i,4*h 1,h,4*h 1,8*h b 1,b,h 1,b,h 1,3*h 1 1 1 1",
     "hidden_size=h"},
    {"DynamicQuantizeMatMul", "a,b b,c . . c", ""},
    {"EmbedLayerNormalization", "b,s b,s A,e B,e A,e e e b,s", ""},
    {"FusedConv", "n,c,H,W m,c,h,w m", "activation='Relu'"},
    {"FusedGemm", "a,b b,c c", "transA=0 transB=0 activation='Relu'"},
    {"FusedMatMul", "a,b b,c", "transA=0 transB=0"},
    {"MatMulIntegerToFloat", "a,b b,c . . . . c", ""},
    {"MatMulNBits", "a,16*b c,b,8 c*b", "K=16*b N=c bits=4 block_size=16"},
    {"MultiHeadAttention", "b,s,2*e b,t,2*e b,t,2*f", "num_heads=2"},
    {"NhwcMaxPool", "n,H,W,c", "kernel_shape=[h,w]"},
    {"QGemm", "a,b . . b,c . . c . .", "transA=0 transB=0"},
    {"QLinearAdd", "a,b . . a,b . . . .", ""},
    {"QLinearAveragePool", "n,c,H,W . . . .", "kernel_shape=[h,w]"},
    {"QLinearConcat", ". u8:. u8:a,b f32:. u8:. u8:a,b f32:. u8:.", "axis=0"},
    {"QLinearGlobalAveragePool", "n,c,H,W . . . .", ""},
    {"QLinearLeakyRelu", "a,b . . . .", ""},
    {"QLinearMul", "a,b . . b . . . .", ""},
    {"QLinearSigmoid", "a,b . . . .", ""},
    {"SimplifiedLayerNormalization", "a,b b", ""},
    {"SkipLayerNormalization", "b,s,d b,s,d d d d", ""},
    {"SkipSimplifiedLayerNormalization", "b,s,d b,s,d d d", ""},
    {"TransposeMatMul", "a,b b,c", "transA=0 transB=0"},
};

static const recipe *pick_recipe(maker *k, const hn_op_def *op) {
    const recipe *found[8];
    unsigned n = 0;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes && n < 8; i++)
        if (strcmp(recipes[i].op, op->name) == 0) found[n++] = &recipes[i];
    return n > 0 ? found[pick(&k->s, n)] : NULL;
}

static int n_inputs(const recipe *r) {
    int n = r->inputs[0] != '\0';
    for (const char *p = r->inputs; *p != '\0'; p++) n += *p == ' ';
    return n;
}

/* The sizes of the letters of one node; 0: not picked yet. */
typedef struct letters {
    int64_t size[128];
} letters;

static int64_t read_size(maker *k, letters *l, const char **p) {
    int64_t v = 1;
    for (;;) {
        if (isdigit((unsigned char)**p)) {
            char *end;
            v *= strtol(*p, &end, 10);
            *p = end;
        } else {
            int c = **p;
            if (l->size[c] == 0) l->size[c] = 1 + pick(&k->s, c >= 'a' ? 3 : 7);
            v *= l->size[c];
            ++*p;
        }
        if (**p != '*') return v;
        ++*p;
    }
}

static int read_sizes(maker *k, letters *l, const char **p, int64_t *v) {
    int n = 0;
    for (;;) {
        v[n++] = read_size(k, l, p);
        if (**p != ',') return n;
        ++*p;
    }
}

/* The next input of a recipe. */
static void read_input(maker *k, letters *l, const char **p, want *w) {
    if (strcspn(*p, ":") < strcspn(*p, " ")) {
        w->types = strncmp(*p, "u8", 2) == 0 ? HN_DTYPE_BIT(U8) : HN_DTYPE_BIT(F32);
        *p += strcspn(*p, ":") + 1;
    }
    char first = **p;
    w->sized = first != '*' && first != '\0';
    if (first == '[' || first == '{') {
        ++*p;
        int n = read_sizes(k, l, p, w->v);
        ++*p;
        w->contents = true;
        w->rank = first == '[';
        w->dims[0] = n;
    } else if (first == '.' || first == '*' || first == '-') {
        w->absent = first == '-';
        ++*p;
    } else if (first != '\0') {
        w->rank = read_sizes(k, l, p, w->dims);
    }
    if (**p == ' ') ++*p;
    if (w->sized && w->rank > 0 && !w->contents && pick(&k->s, 32) == 31)
        w->dims[pick(&k->s, (unsigned)w->rank)] = pick(&k->s, 3); /* and then it does not fit */
}

static void read_attrs(maker *k, letters *l, const char *p, hn_node *n) {
    hn_error err;
    while (*p != '\0') {
        char name[32];
        size_t len = strcspn(p, "=");
        snprintf(name, sizeof name, "%.*s", (int)len, p);
        p += len + 1;
        int64_t v[HONE_MAX_RANK];
        bool known = hn_op_attr(n->op, name) != NULL;
        if (*p == '\'') {
            char text[32];
            len = strcspn(p + 1, "'");
            snprintf(text, sizeof text, "%.*s", (int)len, p + 1);
            if (known) must(hn_node_set_s(n, name, text, &err), &err);
            p += len + 2;
        } else if (*p == '[') {
            p++;
            int count = read_sizes(k, l, &p, v);
            if (known) must(hn_node_set_ints(n, name, v, count, &err), &err);
            p++;
        } else {
            v[0] = read_size(k, l, &p);
            if (known) must(hn_node_set_i(n, name, v[0], &err), &err);
        }
        if (*p == ' ') p++;
    }
}

/* ---- attributes ---- */

static bool named(const char *name, const char *part) { return strstr(name, part) != NULL; }

static int64_t pick_int(maker *k, const char *name, int rank) {
    if (pick(&k->s, 16) == 15) return odd_number(k);
    if (named(name, "type") || named(name, "precision") || strcmp(name, "to") == 0)
        return pick_type(k, ~0u);
    if (named(name, "axis") && rank > 0) return (int64_t)pick(&k->s, 2 * (unsigned)rank) - rank;
    return pick(&k->s, 4);
}

static int pick_ints(maker *k, const char *name, int rank, int64_t *v) {
    if (rank > HONE_MAX_RANK) rank = HONE_MAX_RANK;
    int most = rank > 0 ? rank : 1, spatial = rank > 2 ? rank - 2 : 1;
    int lengths[] = {most, spatial, 2 * spatial, 1, 2, (int)pick(&k->s, 5)};
    int n = lengths[pick(&k->s, 6)];
    if (pick(&k->s, 4) != 3 && named(name, "pads")) n = 2 * spatial;
    if (pick(&k->s, 4) != 3 && (named(name, "strides") || named(name, "dilations"))) n = spatial;
    bool axes = named(name, "axes"), perm = named(name, "perm");
    if (perm) n = most;
    unsigned turn = pick(&k->s, (unsigned)most), low = named(name, "pad") ? 0 : 1;
    for (int i = 0; i < n; i++) {
        if (perm)
            v[i] = (i + (int)turn) % n;
        else if (axes)
            v[i] = (int64_t)pick(&k->s, 2 * (unsigned)most) - most;
        else
            v[i] = low + pick(&k->s, 3);
        if (pick(&k->s, 32) == 31) v[i] = odd_number(k);
    }
    return n;
}

static void pick_word(maker *k, const hn_attr_def *d, char *word, size_t size) {
    static const char *const some[] = {"Relu", "Tanh",      "LeakyRelu", "Clip",
                                       "",     "ij,jk->ik", "i->",       "...i,...i->..."};
    snprintf(word, size, "%s", some[pick(&k->s, 8)]);
    if (d->one_of == NULL || pick(&k->s, 64) == 63) return;
    const char *w = d->one_of;
    for (unsigned c = pick(&k->s, 8); c > 0 && strchr(w, ' ') != NULL; c--) w = strchr(w, ' ') + 1;
    snprintf(word, size, "%.*s", (int)strcspn(w, " "), w);
}

/* rank: of the first input. */
static void add_attr(maker *k, hn_node *n, const hn_attr_def *d, int rank) {
    hn_error err;
    hn_attr *a;
    char word[64];
    if (d->type == HN_ATTR_INT) {
        must(hn_node_set_i(n, d->name, pick_int(k, d->name, rank), &err), &err);
    } else if (d->type == HN_ATTR_FLOAT) {
        must(hn_node_set_f(n, d->name, pick_float(k), &err), &err);
    } else if (d->type == HN_ATTR_STRING) {
        pick_word(k, d, word, sizeof word);
        must(hn_node_set_s(n, d->name, word, &err), &err);
    } else if (d->type == HN_ATTR_INTS) {
        int64_t v[2 * HONE_MAX_RANK];
        int count = pick_ints(k, d->name, rank, v);
        must(hn_node_set_ints(n, d->name, v, count, &err), &err);
    } else if (d->type == HN_ATTR_TENSOR || d->type == HN_ATTR_SPARSE_TENSOR) {
        want w = {.types = ~0u};
        pick_dims(k, &w, 1);
        hn_tensor *t = make_tensor(k, pick_type(k, w.types), &w);
        must(hn_node_add_attr(&a, n, d->name, d->type, &err), &err);
        a->u.tensor = d->type == HN_ATTR_SPARSE_TENSOR ? sparsify(k, t)
                      : pick(&k->s, 8) == 0            ? misalign(k, t)
                                                       : t;
    } else if (d->type == HN_ATTR_FLOATS) {
        float *v = hn_arena_array(&k->m->arena, 4, sizeof *v);
        if (v == NULL) abort();
        must(hn_node_add_attr(&a, n, d->name, HN_ATTR_FLOATS, &err), &err);
        a->n = (int)pick(&k->s, 5);
        for (int i = 0; i < a->n; i++) v[i] = pick_float(k);
        a->u.floats = v;
    } else if (d->type == HN_ATTR_STRINGS) {
        hn_str *v = hn_arena_array(&k->m->arena, 6, sizeof *v);
        if (v == NULL) abort();
        must(hn_node_add_attr(&a, n, d->name, HN_ATTR_STRINGS, &err), &err);
        a->n = (int)pick(&k->s, 7);
        for (int i = 0; i < a->n; i++) {
            pick_word(k, d, word, sizeof word);
            v[i].p = hn_arena_strdup(&k->m->arena, word);
            v[i].n = strlen(word);
        }
        a->u.strings = v;
    }
}

static void add_attrs(maker *k, hn_node *n, int rank) {
    for (const hn_attr_def *d = n->op->attrs; d != NULL && d->name != NULL; d++)
        if (hn_node_attr(n, d->name) == NULL && (d->required || pick(&k->s, 4) == 3))
            add_attr(k, n, d, rank);
}

/* What older definitions called what is now an input or another attribute. */
static void add_old_attrs(maker *k, hn_node *n, int rank) {
    static const hn_attr_def rows[] = {
        HN_ATTR_REQ("axes", INTS),   HN_ATTR_REQ("axis", INT),      HN_ATTR_REQ("broadcast", INT),
        HN_ATTR_REQ("ends", INTS),   HN_ATTR_REQ("k", INT),         HN_ATTR_REQ("max", FLOAT),
        HN_ATTR_REQ("min", FLOAT),   HN_ATTR_REQ("mode", STRING),   HN_ATTR_REQ("pads", INTS),
        HN_ATTR_REQ("ratio", FLOAT), HN_ATTR_REQ("scales", FLOATS), HN_ATTR_REQ("shape", INTS),
        HN_ATTR_REQ("spatial", INT), HN_ATTR_REQ("split", INTS),    HN_ATTR_REQ("starts", INTS),
        HN_ATTR_REQ("value", FLOAT),
    };
    for (unsigned i = pick(&k->s, 4); i > 0; i--) add_attr(k, n, &rows[pick(&k->s, 16)], rank);
    if (n->n_inputs > 1 && pick(&k->s, 2)) must(hn_node_resize_inputs(n, 1, NULL), NULL);
    static const char *const gone[] = {"Upsample", "Scatter"};
    if (pick(&k->s, 8) == 7) {
        n->op_type = gone[pick(&k->s, 2)];
        n->op = NULL;
    }
}

/* ---- nodes ---- */

static void add_control(maker *k, const hn_op_def *op);

static bool is_contrib(const hn_op_def *op) { return op->domain != NULL && op->domain[0] != '\0'; }

/* The operator whose name, hashed with the choice, comes out highest: stored inputs keep their
 * meaning when an operator is added to the table. */
static const hn_op_def *pick_op(maker *k) {
    uint32_t choice = pick(&k->s, 65536), highest = 0;
    const hn_op_def *best = hn_ops[0];
    for (int i = 0; i < hn_n_ops; i++) {
        uint32_t h = (is_contrib(hn_ops[i]) ? 3u : 2166136261u) ^ choice;
        for (const char *p = hn_ops[i]->name; *p != '\0'; p++)
            h = (h ^ (unsigned char)*p) * 16777619u;
        h = (h ^ h >> 15) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        if (h < highest) continue;
        highest = h;
        best = hn_ops[i];
    }
    return best;
}

/* Inputs that no recipe speaks of are like the first, or broadcast to it, or small, or anything. */
static void pick_like(maker *k, const hn_tensor *first, want *w) {
    unsigned c = pick(&k->s, 8);
    w->sized = first != NULL && c < 7;
    if (!w->sized) return;
    if (c >= 5) {
        w->rank = c == 5;
        w->dims[0] = 1 + pick(&k->s, 3);
        return;
    }
    int drop = c < 3 || first->rank == 0 ? 0 : (int)pick(&k->s, (unsigned)first->rank + 1);
    w->rank = first->rank - drop;
    for (int i = 0; i < w->rank; i++)
        w->dims[i] = c >= 3 && pick(&k->s, 4) == 0 ? 1 : first->dims[drop + i];
}

static void pick_inputs(maker *k, hn_node *n, const hn_sig *sig, const char *recipe_inputs,
                        letters *l) {
    hone_dtype bound[2 * HN_MAX_PARAMS] = {0};
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_param *p = &sig->in[i < sig->n_in ? i : sig->n_in - 1];
        want w = {.types = p->types};
        if (*recipe_inputs != '\0')
            read_input(k, l, &recipe_inputs, &w);
        else if (i > 0)
            pick_like(k, sample_of(k, hn_node_input(n, 0)), &w);
        bool absent = i >= sig->in_min || p->optional;
        if (w.absent) continue;
        if (absent && pick(&k->s, p->variadic ? 16 : 4) == 0) continue;
        if (p->var >= 0 && bound[p->var] != HONE_DTYPE_NONE) w.types = 1u << bound[p->var];
        hn_value *v = pick_value(k, &w);
        hn_node_set_input(n, i, v);
        const hn_tensor *t = sample_of(k, v);
        if (p->var >= 0 && t != NULL && bound[p->var] == HONE_DTYPE_NONE) bound[p->var] = t->dtype;
    }
}

static void add_outputs(maker *k, hn_node *n, hn_tensor *const *samples) {
    hn_error err;
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v;
        if (i > 0 && pick(&k->s, i < hn_op_sig(n->op)->out_min ? 32 : 4) == 0) continue;
        must(hn_value_create(&v, k->g, NULL, "y", &err), &err);
        hn_node_set_output(n, i, v);
        if (samples != NULL) remember(k, v, samples[i]);
    }
}

static void add_node(maker *k) {
    if (k->nodes_left-- <= 0) return;
    const hn_op_def *op = pick_op(k);
    if ((op->traits & HN_CONTROL) != 0) {
        add_control(k, op);
        return;
    }
    const hn_sig *sig = hn_op_sig(op);
    hn_error err;
    letters l = {{0}};
    const recipe *r = pick(&k->s, 8) != 7 ? pick_recipe(k, op) : NULL;
    int n_in = sig->in_min, n_out = sig->out_min > 0 ? sig->out_min : 1;
    bool wild = pick(&k->s, 32) == 31;
    int more_in = sig->in_max - n_in < 8 ? sig->in_max - n_in : 8;
    int more_out = sig->out_max - n_out < 3 ? sig->out_max - n_out : 3;
    if (more_in > 0) n_in += (int)pick(&k->s, 1 + (unsigned)more_in);
    if (r != NULL && pick(&k->s, 2) == 0 && n_inputs(r) >= sig->in_min) n_in = n_inputs(r);
    if (wild) n_in = sig->n_in > 0 ? (int)pick(&k->s, 6) : 0, n_out = (int)pick(&k->s, 4);
    if (more_out > 0) n_out += (int)pick(&k->s, 1 + (unsigned)more_out);
    hn_node *n;
    must(hn_node_create(&n, k->g, op->domain, op->name, "", n_in, n_out, &err), &err);
    n->op = op;
    pick_inputs(k, n, sig, r != NULL ? r->inputs : "", &l);
    if (r != NULL) read_attrs(k, &l, r->attrs, n);
    const hn_tensor *first = n_in > 0 ? sample_of(k, hn_node_input(n, 0)) : NULL;
    add_attrs(k, n, first != NULL ? first->rank : 2);
    add_outputs(k, n, NULL);
    bool old = k->opset < HN_NEWEST_OPSET && pick(&k->s, 3) == 0;
    if (old) add_old_attrs(k, n, first != NULL ? first->rank : 2);
    hn_node_insert(n, NULL);

    const hn_tensor *in[HN_MAX_PARAMS + 8] = {0};
    hn_tensor *out[8] = {0};
    bool known = true;
    for (int i = 0; i < n_in; i++) {
        in[i] = sample_of(k, hn_node_input(n, i));
        known = known && (in[i] != NULL || hn_node_input(n, i) == NULL);
    }
    hn_exec_options o = {.alloc = &k->alloc};
    bool ran = known && hn_node_run(n, &o, in, out, &err) == HONE_OK;
    if (known && !ran && !old && pick(&k->s, 4) != 3) {
        hn_node_remove(n);
        return;
    }
    for (int i = 0; i < n_out; i++) {
        if (n->outputs[i] != NULL) remember(k, n->outputs[i], out[i]);
        hn_tensor_unref(out[i]);
    }
    n->old = true; /* as every node comes from a file */
    n->opset = is_contrib(op) ? 1 : k->opset;
}

/* ---- subgraphs ---- */

static hn_tensor *number_tensor(maker *k, hone_dtype t, int64_t v) {
    hn_tensor *x;
    hn_error err;
    must(hn_tensor_from_s64(&x, &k->alloc, t, 0, NULL, &v, &err), &err);
    return x;
}

/* in: samples of its inputs. like[i]: what output i should be like, or NULL. out: a sample of each
 * output, with a reference, or NULL. */
static void add_body(maker *k, hn_node *n, const char *attr, int n_in, hn_tensor *const *in,
                     int n_out, hn_tensor *const *like, hn_tensor **out) {
    hn_error err;
    hn_graph *around = k->g, *g;
    hn_attr *a;
    int visible = k->n_values;
    must(hn_graph_create(&g, k->m, around, &err), &err);
    g->owner = n;
    must(hn_node_add_attr(&a, n, attr, HN_ATTR_GRAPH, &err), &err);
    a->u.graph = g;
    k->g = g;
    for (int i = 0; i < n_in; i++) {
        hn_value *v;
        must(hn_value_create(&v, g, NULL, "b", &err), &err);
        must(hn_graph_add_input(g, v, &err), &err);
        remember(k, v, in[i]);
    }
    for (unsigned i = pick(&k->s, 4); i > 0; i--) add_node(k);
    for (int i = 0; i < n_out; i++) {
        hn_value *v;
        want w = {.types = ~0u};
        unsigned c = pick(&k->s, 8);
        if (like[i] != NULL && c < 6) {
            w.types = 1u << like[i]->dtype;
            w.sized = c < 5;
            w.rank = like[i]->rank;
            memcpy(w.dims, like[i]->dims, sizeof w.dims);
        }
        v = c == 7 && k->n_values > 0 ? k->values[k->n_values - 1] : pick_value(k, &w);
        must(hn_graph_add_output(g, v, &err), &err);
        out[i] = hn_tensor_ref(sample_of(k, v));
    }
    forget(k, visible);
    k->g = around;
}

static void add_if(maker *k, hn_node *n) {
    hn_tensor *yes[4] = {0}, *no[4] = {0};
    add_body(k, n, "then_branch", 0, NULL, n->n_outputs, no, yes);
    add_body(k, n, "else_branch", 0, NULL, n->n_outputs, yes, no);
    add_outputs(k, n, yes);
    for (int i = 0; i < n->n_outputs; i++) {
        hn_tensor_unref(yes[i]);
        hn_tensor_unref(no[i]);
    }
}

static void add_loop(maker *k, hn_node *n, int carried) {
    hn_tensor *in[8] = {0}, *like[8] = {0}, *out[8] = {0};
    in[0] = number_tensor(k, HONE_DTYPE_S64, 0);
    in[1] = number_tensor(k, HONE_DTYPE_BOOL, 1);
    for (int i = 0; i < carried; i++)
        in[i + 2] = hn_tensor_ref(sample_of(k, hn_node_input(n, i + 2)));
    for (int i = 0; i < carried + 1; i++) like[i] = in[i + 1];
    add_body(k, n, "body", carried + 2, in, n->n_outputs + 1, like, out);
    for (int i = carried + 1; i < n->n_outputs + 1; i++) {
        hn_tensor_unref(out[i]); /* parts of what the loop gives */
        out[i] = NULL;
    }
    add_outputs(k, n, out + 1);
    for (int i = 0; i < 8; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(out[i]);
    }
}

static void add_scan(maker *k, hn_node *n, int states) {
    hn_tensor *in[8] = {0}, *like[8] = {0}, *out[8] = {0};
    hn_error err;
    must(hn_node_set_i(n, "num_scan_inputs", n->n_inputs - states, &err), &err);
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = sample_of(k, hn_node_input(n, i));
        if (i < states)
            in[i] = like[i] = hn_tensor_ref(t);
        else if (t != NULL && t->data != NULL && t->dtype != HONE_DTYPE_STRING && t->rank > 0 &&
                 t->dims[0] > 0)
            must(hn_axis_take(&in[i], &k->alloc, t, 0, 0, &err), &err);
    }
    add_body(k, n, "body", n->n_inputs, in, n->n_outputs, like, out);
    for (int i = states; i < n->n_outputs; i++) {
        hn_tensor_unref(out[i]);
        out[i] = NULL;
    }
    add_attrs(k, n, 2);
    add_outputs(k, n, out);
    for (int i = 0; i < 8; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(out[i]);
    }
}

static void add_control(maker *k, const hn_op_def *op) {
    if (k->g->depth >= 2) return;
    bool is_if = strcmp(op->name, "If") == 0, is_loop = strcmp(op->name, "Loop") == 0;
    int carried = is_if ? 0 : (int)pick(&k->s, 3), n_out = carried + (int)pick(&k->s, 3);
    int n_in = is_if ? 1 : is_loop ? 2 + carried : carried + 1 + (int)pick(&k->s, 2);
    if (n_out == 0) n_out = 1;
    hn_error err;
    hn_node *n;
    must(hn_node_create(&n, k->g, op->domain, op->name, "", n_in, n_out, &err), &err);
    n->op = op;
    int64_t length = 1 + pick(&k->s, 4);
    for (int i = 0; i < n_in; i++) {
        want w = {.types = ~0u};
        if (is_if || (is_loop && i < 2)) {
            w = (want){.types = is_loop && i == 0 ? HN_DTYPE_BIT(S64) : HN_DTYPE_BIT(BOOL),
                       .sized = true,
                       .contents = is_loop && pick(&k->s, 2),
                       .v = {length}};
            if (is_loop && pick(&k->s, 4) == 0) continue;
        } else if (!is_loop && i >= carried) {
            pick_dims(k, &w, 2);
            w.sized = true;
            w.dims[w.rank++] = length;
            w.dims[0] = length;
        }
        hn_node_set_input(n, i, pick_value(k, &w));
    }
    if (is_if)
        add_if(k, n);
    else if (is_loop)
        add_loop(k, n, carried);
    else
        add_scan(k, n, carried);
    n->old = true;
    n->opset = k->opset;
    hn_node_insert(n, NULL);
}

/* ---- what inference said must be what came out ---- */

static unsigned runs[1024];

static void print_counts(void) {
    for (int i = 0; i < hn_n_ops; i++)
        fprintf(stderr, "%8u %s%s\n", runs[i], is_contrib(hn_ops[i]) ? "com.microsoft." : "",
                hn_ops[i]->name);
}

static void count(const hn_op_def *op) {
    for (int i = 0; i < hn_n_ops; i++)
        if (hn_ops[i] == op) runs[i]++;
}

static int64_t size_of(void *ctx, hn_dim symbol) {
    const maker *k = ctx;
    const char *name;
    for (int i = 0; i < k->n_symbols; i++)
        if (k->symbols[i] == symbol) return k->sizes[i];
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

static bool holds(maker *k, hn_dim d, int64_t found) {
    int64_t lo, hi, v;
    hn_dim_range(d, &lo, &hi);
    return found >= lo && found <= hi && (!hn_dim_eval(d, size_of, k, &v) || v == found);
}

static void compare(void *ctx, const hn_value *v, const hn_tensor *t) {
    maker *k = ctx;
    if (v->producer != NULL) count(v->producer->op);
    if (v->type.dtype != HONE_DTYPE_NONE && v->type.dtype != t->dtype) wrong(v, t, "the type");
    if (v->type.shape.rank >= 0) {
        if (v->type.shape.rank != t->rank) wrong(v, t, "the rank");
        /* A body that never ran has not told the sizes of what it would give. */
        bool never_ran = t->n == 0 && v->producer != NULL && v->producer->op != NULL &&
                         (v->producer->op->traits & HN_CONTROL) != 0;
        for (int i = 0; i < t->rank && !never_ran; i++) {
            hn_dim d = v->type.shape.dim[i];
            if (!holds(k, d, t->dims[i])) wrong(v, t, "a size");
            /* From here on this symbol is this size: but in a loop it is one at each turn. */
            if (v->graph == k->top && hn_dim_is_fresh(d) && size_of(k, d) < 0 &&
                k->n_symbols < 256) {
                k->symbols[k->n_symbols] = d;
                k->sizes[k->n_symbols++] = t->dims[i];
            }
        }
    }
    if (v->n_known == 0) return;
    if (v->n_known != t->n) wrong(v, t, "the number of known contents");
    for (int i = 0; i < v->n_known; i++) {
        int64_t found = hn_tensor_s64(t, i);
        if (found > HN_FAR) found = HN_FAR;
        if (found < -HN_FAR) found = -HN_FAR;
        if (!holds(k, v->known[i], found)) {
            char text[200];
            fprintf(stderr, "content %d: inferred %s, found %lld\n", i,
                    hn_dim_text(v->known[i], text, sizeof text), (long long)found);
            wrong(v, t, "a content");
        }
    }
}

static bool few_steps(void *ctx) { return --*(int *)ctx > 0; }

static void note(void *ctx, const hn_node *n, const hn_error *e) {
    (void)n;
    (void)e;
    ++*(int *)ctx;
}

static hone_status run(maker *k, const hn_graph *g, bool watch, hn_tensor **out, hn_error *err) {
    int steps = 200;
    hn_exec_options o = {.alloc = &k->alloc,
                         .observe = watch ? compare : NULL,
                         .observe_ctx = k,
                         .keep_going = few_steps,
                         .keep_going_ctx = &steps};
    return hn_graph_run(g, &o, (const hn_tensor *const *)k->given, out, err);
}

static bool memory_ran_out(hone_status s) { return s == HONE_E_NOMEM; }

/* Saves and loads the model and runs what was loaded; out is what it gave before. */
static void resave(maker *k, hn_tensor *const *out) {
    hn_error err;
    hn_file *file = NULL;
    hn_model *again = NULL;
    hn_tensor *now[MOST_VALUES + 1] = {0};
    hone_status status = hn_onnx_save_memory(&file, k->m, NULL, &err);
    if (status != HONE_OK) return; /* the opset may have no words for it */
    status = hn_onnx_load_memory(&again, file, NULL, &k->alloc, &err);
    if (!memory_ran_out(status)) must(status, &err);
    if (status == HONE_OK) status = hn_model_infer(again, NULL, &err);
    if (!memory_ran_out(status)) must(status, &err);
    if (status == HONE_OK) status = run(k, again->graph, false, now, &err);
    if (!memory_ran_out(status)) must(status, &err);
    for (int i = 0; status == HONE_OK && i < k->top->n_outputs; i++) {
        if (!hn_tensor_equal(out[i], now[i])) wrong(k->top->outputs[i].value, now[i], "a reload");
        hn_tensor_unref(now[i]);
    }
    hn_model_destroy(again);
    hn_file_unref(file);
}

static bool is_random(const hn_graph *g) {
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        int at = 0;
        if (n->op != NULL && (n->op->traits & HN_RANDOM) != 0) return true;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
            if (is_random(sub)) return true;
    }
    return false;
}

/* Equal numbers; zeros may have the other sign. */
static bool same_numbers(const hn_tensor *a, const hn_tensor *b) {
    if (hn_tensor_equal(a, b)) return true;
    if (a->dtype == HONE_DTYPE_STRING || hn_dtype_in(a->dtype, HN_DTYPES_COMPLEX)) return false;
    for (int64_t i = 0; i < a->n; i++) {
        double x = hn_tensor_f64(a, i), y = hn_tensor_f64(b, i);
        if (x != y && !(isnan(x) && isnan(y))) return false;
    }
    return true;
}

/* Simplifies the model and runs what became of it; out is what it gave before. */
static void simplify(maker *k, hn_tensor *const *out) {
    hn_error err;
    hn_tensor *now[MOST_VALUES + 1] = {0};
    hn_simplify_options o = hn_simplify_defaults();
    o.level = pick(&k->s, 2) == 0 ? 1 : 3;
    o.keep_opset = pick(&k->s, 2) == 0;
    bool exact = o.level == 1 && !is_random(k->top);
    hone_status status = hn_simplify(k->m, &o, NULL, &err);
    if (!memory_ran_out(status)) must(status, &err);
    hn_error broken;
    must(hn_model_verify(k->m, &broken), &broken);
    if (status == HONE_OK) status = run(k, k->top, false, now, &err);
    if (!memory_ran_out(status)) must(status, &err);
    for (int i = 0; status == HONE_OK && i < k->top->n_outputs; i++) {
        const hn_value *v = k->top->outputs[i].value;
        if (now[i]->dtype != out[i]->dtype ||
            !hn_tensor_same_dims(now[i], out[i]->rank, out[i]->dims))
            wrong(v, now[i], "another type once simplified");
        if (exact && !same_numbers(out[i], now[i])) wrong(v, now[i], "other numbers, simplified");
        hn_tensor_unref(now[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool started;
    if (!started && getenv("HONE_FUZZ_COUNTS") != NULL) atexit(print_counts);
    started = true;
    if (size > 4096) return 0;
    static maker k;
    hn_error err;
    memset(&k, 0, sizeof k);
    k.s = (source){data, size};
    hn_allocator_init(&k.alloc);
    k.alloc.limit = 4u << 20;
    must(hn_model_create(&k.m, &k.alloc, &err), &err);
    k.opset = pick(&k.s, 4) == 3 ? 7 + pick(&k.s, HN_NEWEST_OPSET - 6) : HN_NEWEST_OPSET;
    must(hn_model_set_opset(k.m, "", k.opset, &err), &err);
    must(hn_model_set_opset(k.m, "com.microsoft", 1, &err), &err);
    k.m->ir_version = 13;
    must(hn_graph_create(&k.top, k.m, NULL, &err), &err);
    k.g = k.top;
    k.nodes_left = 16;
    bool all = pick(&k.s, 8) == 7;
    while (k.nodes_left > 0 && k.s.n > 0) add_node(&k);
    /* Passes look for values that only one node uses; that an output is a use hides much. */
    bool few = pick(&k.s, 2) == 0;
    for (int i = 0; i < k.n_values; i++)
        if (k.values[i]->producer != NULL && !(few && k.values[i]->n_uses > 0))
            must(hn_graph_add_output(k.top, k.values[i], &err), &err);
    must(hn_model_verify(k.m, &err), &err);

    int findings = 0;
    hn_infer_options o = {.finding = note, .ctx = &findings};
    hone_status status = hn_model_infer(k.m, all ? &o : NULL, &err);
    must(hn_model_verify(k.m, &err), &err);
    for (const hn_node *n = k.top->first; n != NULL; n = n->next) {
        hn_cost cost;
        must(hn_node_cost(n, &cost, &err), &err);
    }
    hn_tensor *out[MOST_VALUES + 1] = {0};
    if (status == HONE_OK && findings == 0 && run(&k, k.top, true, out, &err) == HONE_OK) {
        if (pick(&k.s, 4) == 0) resave(&k, out);
        if (few) simplify(&k, out);
        for (int i = 0; i < k.top->n_outputs; i++) hn_tensor_unref(out[i]);
    }
    forget(&k, 0);
    for (int i = 0; i < MOST_INPUTS; i++) hn_tensor_unref(k.given[i]);
    hn_model_destroy(k.m);
    if (atomic_load(&k.alloc.blocks) != 0) {
        fprintf(stderr, "%zu blocks are still allocated\n", (size_t)atomic_load(&k.alloc.blocks));
        abort();
    }
    return 0;
}

/* The table of operators, lookup in it, and the signature texts parsed. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"

#define HN_OP(name) extern const hn_op_def hn_op_##name;
#include "ops/ops.def"
#undef HN_OP

const hn_op_def *const hn_ops[] = {
#define HN_OP(name) &hn_op_##name,
#include "ops/ops.def"
#undef HN_OP
    NULL};
#define N_OPS ((int)(sizeof hn_ops / sizeof *hn_ops) - 1)
const int hn_n_ops = N_OPS;

/* ---- signatures ---- */

#define SUB_BYTE_INTS (HN_DTYPE_BIT(S4) | HN_DTYPE_BIT(U4) | HN_DTYPE_BIT(S2) | HN_DTYPE_BIT(U2))
#define INTS (HN_DTYPES_INT & ~SUB_BYTE_INTS)

static const struct group {
    const char *name;
    hn_dtypes types;
} groups[] = {
    {"ieee", HN_DTYPES_IEEE},
    {"float", HN_DTYPES_FLOAT},
    {"sint", INTS &HN_DTYPES_SIGNED},
    {"uint", INTS &HN_DTYPES_UNSIGNED},
    {"int", INTS},
    {"int4", HN_DTYPE_BIT(S4) | HN_DTYPE_BIT(U4)},
    {"int2", HN_DTYPE_BIT(S2) | HN_DTYPE_BIT(U2)},
    {"fp8", HN_DTYPES_FP8 & ~HN_DTYPE_BIT(F8E8M0)},
    {"num", HN_DTYPES_FLOAT | INTS},
    {"tensor",
     HN_DTYPES_FLOAT | HN_DTYPES_COMPLEX | HN_DTYPE_BIT(BOOL) | HN_DTYPE_BIT(STRING) | INTS},
    {"all", ((1u << HONE_DTYPE_COUNT_) - 1) & ~1u},
};

/* A reader over the text of a signature. The texts are ours, so a mistake in one is an assertion.
 */
typedef struct cursor {
    const char *p;
} cursor;

static void skip_spaces(cursor *c) {
    while (*c->p == ' ' || *c->p == '\n') c->p++;
}

static bool take(cursor *c, const char *token) {
    skip_spaces(c);
    size_t n = strlen(token);
    if (strncmp(c->p, token, n) != 0) return false;
    c->p += n;
    return true;
}

static void must(cursor *c, const char *token) {
    bool found = take(c, token);
    assert(found && "signature text");
    (void)found;
}

static hn_str word(cursor *c) {
    skip_spaces(c);
    const char *from = c->p;
    while ((*c->p >= 'a' && *c->p <= 'z') || (*c->p >= 'A' && *c->p <= 'Z') ||
           (*c->p >= '0' && *c->p <= '9') || *c->p == '_')
        c->p++;
    return (hn_str){from, (size_t)(c->p - from)};
}

static bool str_is(hn_str s, const char *text) {
    return strlen(text) == s.n && memcmp(s.p, text, s.n) == 0;
}

hn_dtypes hn_op_types(hn_str s) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (str_is(s, groups[i].name)) return groups[i].types;
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++)
        if (str_is(s, hone_dtype_name((hone_dtype)t))) return 1u << t;
    return 0;
}

#define MAX_VARS 12

typedef struct vars {
    int n;
    hn_str name[MAX_VARS];
} vars;

static int parse_params(cursor *c, hn_param *params, vars *v, int *min, int *max) {
    int n = 0;
    *min = 0;
    must(c, "(");
    while (!take(c, ")")) {
        if (n > 0) must(c, ",");
        assert(n < HN_MAX_PARAMS && "signature text");
        hn_param *p = &params[n++];
        *p = (hn_param){.name = word(c), .var = -1};
        must(c, ":");
        hn_str type = word(c);
        p->types = hn_op_types(type);
        if (p->types == 0) { /* a variable */
            int k = 0;
            while (k < v->n &&
                   !(v->name[k].n == type.n && memcmp(v->name[k].p, type.p, type.n) == 0))
                k++;
            if (k == v->n) {
                assert(v->n < MAX_VARS && "signature text");
                v->name[v->n++] = type;
            }
            p->var = (int8_t)k;
        }
        bool none = false;
        if (take(c, "..."))
            p->variadic = true;
        else if (take(c, "*"))
            p->variadic = none = true;
        else if (take(c, "?"))
            p->optional = true;
        if (!p->optional && !none) *min = n;
    }
    *max = n > 0 && params[n - 1].variadic ? INT_MAX : n;
    return n;
}

static void parse_sig(const char *text, hn_sig *sig) {
    cursor c = {text};
    vars v = {0};
    sig->n_in = parse_params(&c, sig->in, &v, &sig->in_min, &sig->in_max);
    must(&c, "->");
    sig->n_out = parse_params(&c, sig->out, &v, &sig->out_min, &sig->out_max);
    while (take(&c, ";")) {
        hn_str name = word(&c);
        must(&c, ":");
        int k = 0;
        while (k < v.n && !(v.name[k].n == name.n && memcmp(v.name[k].p, name.p, name.n) == 0)) k++;
        assert(k < v.n && "signature text: a variable no parameter uses");
        hn_dtypes types = 0;
        for (;;) {
            hn_str w = word(&c);
            if (w.n == 0) break;
            assert(hn_op_types(w) != 0 && "signature text: unknown set");
            types |= hn_op_types(w);
        }
        for (int i = 0; i < sig->n_in; i++)
            if (sig->in[i].var == k) sig->in[i].types = types;
        for (int i = 0; i < sig->n_out; i++)
            if (sig->out[i].var == k) sig->out[i].types = types;
    }
    sig->n_vars = v.n;
    skip_spaces(&c);
    assert(*c.p == '\0' && "signature text");
}

/* ---- lookup ---- */

/* Signatures by the address of their operator: every node asks for its own again and again while a
 * plan is made. Open addressing. */
enum { SIG_SLOTS = 1024 };
_Static_assert(2 * N_OPS <= SIG_SLOTS, "half of the slots are free");
static struct {
    const hn_op_def *op; /* NULL: free */
    hn_sig sig;
} sigs[SIG_SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t sig_slot(const hn_op_def *op) {
    size_t i = (uintptr_t)op / 16 * 0x9E3779B1u % SIG_SLOTS;
    while (sigs[i].op != NULL && sigs[i].op != op) i = (i + 1) % SIG_SLOTS;
    return i;
}

static void parse_sigs(void) {
    for (int i = 0; i < N_OPS; i++) {
        size_t at = sig_slot(hn_ops[i]);
        sigs[at].op = hn_ops[i];
        parse_sig(hn_ops[i]->sig, &sigs[at].sig);
    }
}

static const char *domain_of(const hn_op_def *op) { return op->domain != NULL ? op->domain : ""; }

static int compare(const char *domain, const char *name, const hn_op_def *op) {
    int d = strcmp(domain, domain_of(op));
    return d != 0 ? d : strcmp(name, op->name);
}

/* The table is sorted. */
static int find(const char *domain, const char *name) {
    int lo = 0, hi = N_OPS;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2, c = compare(domain, name, hn_ops[mid]);
        if (c == 0) return mid;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

const hn_op_def *hn_op_find(const char *domain, const char *name) {
    int i = find(strcmp(domain, "ai.onnx") == 0 ? "" : domain, name);
    return i < 0 ? NULL : hn_ops[i];
}

void hn_model_bind_ops(hn_model *m) {
    for (int i = 0; i < m->n_graphs; i++)
        for (hn_node *n = m->graphs[i]->first; n != NULL; n = n->next)
            n->op = hn_op_find(n->domain, n->op_type);
}

const hn_sig *hn_op_sig(const hn_op_def *op) {
    pthread_once(&once, parse_sigs);
    size_t at = sig_slot(op);
    if (sigs[at].op == op) return &sigs[at].sig;
    /* A descriptor that is not of the table stands for the row of its name. */
    int i = find(domain_of(op), op->name);
    assert(i >= 0);
    return &sigs[sig_slot(hn_ops[i])].sig;
}

int hn_op_version_at(const hn_op_def *op, int64_t opset) {
    int best = 0;
    for (const char *p = op->versions; *p != '\0';) {
        char *end;
        long v = strtol(p, &end, 10);
        if (end == p) break;
        if (v <= opset) best = (int)v;
        p = end;
    }
    return best;
}

int hn_op_first_version(const hn_op_def *op) { return (int)strtol(op->versions, NULL, 10); }

/* ---- attributes ---- */

const hn_attr_def *hn_op_attr(const hn_op_def *op, const char *name) {
    for (const hn_attr_def *a = op->attrs; a != NULL && a->name != NULL; a++)
        if (strcmp(a->name, name) == 0) return a;
    return NULL;
}

static const hn_attr_def *declared(const hn_node *n, const char *name, hn_attr_type type) {
    const hn_attr_def *d = hn_op_attr(n->op, name);
    assert(d != NULL && d->type == type && "an attribute the operator does not declare");
    (void)type;
    return d;
}

int64_t hn_attr_i(const hn_node *n, const char *name) {
    const hn_attr_def *d = declared(n, name, HN_ATTR_INT);
    const hn_attr *a = hn_node_attr(n, name);
    return a != NULL ? a->u.i : d->i;
}

float hn_attr_f(const hn_node *n, const char *name) {
    const hn_attr_def *d = declared(n, name, HN_ATTR_FLOAT);
    const hn_attr *a = hn_node_attr(n, name);
    return a != NULL ? a->u.f : d->f;
}

const char *hn_attr_s(const hn_node *n, const char *name) {
    const hn_attr_def *d = declared(n, name, HN_ATTR_STRING);
    const hn_attr *a = hn_node_attr(n, name);
    return a != NULL ? a->u.s.p : d->s;
}

const int64_t *hn_attr_ints(const hn_node *n, const char *name, int *count) {
    declared(n, name, HN_ATTR_INTS);
    const hn_attr *a = hn_node_attr(n, name);
    *count = a != NULL ? a->n : 0;
    return a != NULL ? a->u.ints : NULL;
}

const float *hn_attr_floats(const hn_node *n, const char *name, int *count) {
    declared(n, name, HN_ATTR_FLOATS);
    const hn_attr *a = hn_node_attr(n, name);
    *count = a != NULL ? a->n : 0;
    return a != NULL ? a->u.floats : NULL;
}

hn_graph *hn_attr_graph(const hn_node *n, const char *name) {
    declared(n, name, HN_ATTR_GRAPH);
    const hn_attr *a = hn_node_attr(n, name);
    return a != NULL ? a->u.graph : NULL;
}

/* ---- checking a node against its descriptor ---- */

static bool listed(const char *list, hn_str value) {
    size_t n = value.n;
    for (const char *p = list; *p != '\0';) {
        size_t len = strcspn(p, " ");
        if (len == n && memcmp(p, value.p, n) == 0) return true;
        p += len;
        while (*p == ' ') p++;
    }
    return false;
}

static hone_status check_attrs(const hn_node *n, hn_error *err) {
    char label[320];
    for (const hn_attr_def *d = n->op->attrs; d != NULL && d->name != NULL; d++) {
        const hn_attr *a = hn_node_attr(n, d->name);
        if (a == NULL) {
            HN_CHECK(err, !d->required, HONE_E_MODEL, "%s: attribute '%s' is missing",
                     hn_node_label(n, label, sizeof label), d->name);
            continue;
        }
        HN_CHECK(err, a->type == d->type, HONE_E_MODEL, "%s: attribute '%s' is %s, expected %s",
                 hn_node_label(n, label, sizeof label), d->name, hn_attr_type_name(a->type),
                 hn_attr_type_name(d->type));
        if (d->one_of != NULL)
            HN_CHECK(err, listed(d->one_of, a->u.s), HONE_E_MODEL,
                     "%s: attribute '%s' is '%.*s', expected one of: %s",
                     hn_node_label(n, label, sizeof label), d->name, (int)a->u.s.n, a->u.s.p,
                     d->one_of);
    }
    return HONE_OK;
}

/* The parameter that slot i belongs to: a variadic last one takes all that follow. */
static const hn_param *param_at(const hn_param *params, int n, int i) {
    return &params[i < n ? i : n - 1];
}

/* given: slots that are filled, slots: those there are. */
static hone_status check_count(const hn_node *n, const char *what, int given, int slots, int min,
                               int max, hn_error *err) {
    if (given >= min && slots <= max) return HONE_OK;
    char label[320], wanted[32];
    if (max == INT_MAX)
        snprintf(wanted, sizeof wanted, "at least %d", min);
    else if (min == max)
        snprintf(wanted, sizeof wanted, "%d", min);
    else
        snprintf(wanted, sizeof wanted, "%d to %d", min, max);
    return hn_fail(err, HONE_E_MODEL, "%s: has %d %s, expected %s",
                   hn_node_label(n, label, sizeof label), slots > max ? slots : given, what,
                   wanted);
}

hone_status hn_node_check_form(const hn_node *n, hn_error *err) {
    assert(n->op != NULL);
    const hn_sig *sig = hn_op_sig(n->op);
    char label[320];
    int n_in = n->n_inputs;
    while (n_in > 0 && n->inputs[n_in - 1].value == NULL) n_in--;
    HN_TRY(check_count(n, "inputs", n_in, n->n_inputs, sig->in_min, sig->in_max, err));
    HN_TRY(check_count(n, "outputs", n->n_outputs, n->n_outputs, sig->out_min, sig->out_max, err));
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_param *p = param_at(sig->in, sig->n_in, i);
        HN_CHECK(err, n->inputs[i].value != NULL || p->optional || (i >= n_in && !p->variadic),
                 HONE_E_MODEL, "%s: input %d (%.*s) is missing",
                 hn_node_label(n, label, sizeof label), i, (int)p->name.n, p->name.p);
    }
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_param *p = param_at(sig->out, sig->n_out, i);
        HN_CHECK(err, n->outputs[i] != NULL || p->optional || p->variadic, HONE_E_MODEL,
                 "%s: output %d (%.*s) is missing", hn_node_label(n, label, sizeof label), i,
                 (int)p->name.n, p->name.p);
    }
    return check_attrs(n, err);
}

hone_status hn_op_bind(const hn_node *n, int n_in, const hone_dtype *in, int n_out, hone_dtype *out,
                       hn_error *err) {
    const hn_sig *sig = hn_op_sig(n->op);
    hone_dtype bound[MAX_VARS] = {0};
    char label[320];
    for (int i = 0; i < n_in; i++) {
        if (in[i] == HONE_DTYPE_NONE) continue;
        const hn_param *p = param_at(sig->in, sig->n_in, i);
        HN_CHECK(err, hn_dtype_in(in[i], p->types), HONE_E_TYPE,
                 "%s: input %d (%.*s) has type %s, which the operator does not take",
                 hn_node_label(n, label, sizeof label), i, (int)p->name.n, p->name.p,
                 hone_dtype_name(in[i]));
        if (p->var < 0) continue;
        if (bound[p->var] == HONE_DTYPE_NONE) bound[p->var] = in[i];
        HN_CHECK(err, bound[p->var] == in[i], HONE_E_TYPE,
                 "%s: input %d (%.*s) has type %s, but an earlier input of the same kind has %s",
                 hn_node_label(n, label, sizeof label), i, (int)p->name.n, p->name.p,
                 hone_dtype_name(in[i]), hone_dtype_name(bound[p->var]));
    }
    for (int i = 0; i < n_out; i++) {
        const hn_param *p = param_at(sig->out, sig->n_out, i);
        bool single = p->types != 0 && (p->types & (p->types - 1)) == 0;
        out[i] = p->var >= 0 ? bound[p->var] : HONE_DTYPE_NONE;
        if (single) out[i] = (hone_dtype)__builtin_ctz(p->types);
    }
    return HONE_OK;
}

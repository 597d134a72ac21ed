#include "ir/dims.h"

#include <stdarg.h>
#include <stdio.h>

typedef enum kind { CONST, SYM, PROD, SUM, FDIV, MIN, MAX, JOIN } kind;

typedef struct term {
    int64_t coef; /* SUM only; 1 elsewhere */
    hn_dim dim;
} term;

struct hn_dim_node {
    uint8_t kind;
    bool fresh;
    bool any_sign; /* SYM: stands for an expression that may be negative */
    uint16_t n;    /* args */
    uint32_t id;   /* order of creation: the sort key */
    uint32_t size; /* nodes that a walk over the expression visits, shared ones each time */
    uint64_t hash;
    int64_t value;    /* CONST: the number; SUM: its constant part; SYM: upper bound */
    const char *name; /* SYM */
    hn_dim symbol;    /* stands for an expression larger than MOST_SIZE; else NULL */
    term args[];
};

/* An expression with more terms than this becomes a fresh symbol: sound, and no file can make
 * shapes explode. */
#define MOST_TERMS 24

/* And so does one over which a walk would visit more nodes. Expressions share their parts, so that
 * a few dozen nodes of a graph could build one that takes for ever to walk over. Those of feature
 * pyramids with symbolic heights and widths have about 100. */
#define MOST_SIZE 512

static const hn_dim_node poison = {
    .kind = SYM, .fresh = true, .size = 1, .value = INT64_MAX, .name = "?"};

void hn_dims_init(hn_dims *t, hn_allocator *alloc) {
    memset(t, 0, sizeof *t);
    hn_arena_init(&t->arena, alloc, HN_MEM_MODEL);
    hn_map_init(&t->symbols, alloc);
}

void hn_dims_deinit(hn_dims *t) {
    if (t->arena.alloc == NULL) return;
    hn_map_deinit(&t->symbols);
    hn_free(t->arena.alloc, t->slots);
    hn_arena_deinit(&t->arena);
    t->slots = NULL;
    t->capacity = t->used = 0;
}

static hn_dim trouble(hn_dims *t, hone_status status) {
    if (t->status == HONE_OK) t->status = status;
    return &poison;
}

/* ---- hash-consing ---- */

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static bool same(const hn_dim_node *a, kind k, int64_t value, const term *args, int n) {
    if (a->kind != k || a->n != n || a->value != value) return false;
    for (int i = 0; i < n; i++)
        if (a->args[i].coef != args[i].coef || a->args[i].dim != args[i].dim) return false;
    return true;
}

static bool grow(hn_dims *t) {
    size_t capacity = t->capacity == 0 ? 64 : t->capacity * 2;
    hn_dim_node **slots = hn_alloc_array(t->arena.alloc, capacity, sizeof *slots, HN_MEM_MODEL);
    if (slots == NULL) return false;
    memset(slots, 0, capacity * sizeof *slots);
    for (size_t i = 0; i < t->capacity; i++) {
        if (t->slots[i] == NULL) continue;
        size_t j = t->slots[i]->hash & (capacity - 1);
        while (slots[j] != NULL) j = (j + 1) & (capacity - 1);
        slots[j] = t->slots[i];
    }
    hn_free(t->arena.alloc, t->slots);
    t->slots = slots;
    t->capacity = capacity;
    return true;
}

static hn_dim_node *new_node(hn_dims *t, kind k, int64_t value, const term *args, int n,
                             uint64_t hash) {
    hn_dim_node *d = hn_arena_zero(&t->arena, sizeof *d + (size_t)n * sizeof(term));
    if (d == NULL) return NULL;
    d->kind = (uint8_t)k;
    d->n = (uint16_t)n;
    d->hash = hash;
    d->value = value;
    d->size = 1;
    for (int i = 0; i < n; i++) {
        d->args[i] = args[i];
        d->size += args[i].dim->size;
    }
    d->id = (uint32_t)++t->used;
    return d;
}

static hn_dim_node *new_symbol(hn_dims *t, const char *name, size_t n) {
    const char *copy = hn_arena_strndup(&t->arena, name, n);
    hn_dim_node *d = new_node(t, SYM, INT64_MAX, NULL, 0, 0);
    if (copy == NULL || d == NULL) return NULL;
    d->name = copy;
    return d;
}

/* Not in the map: a file that comes along with this name means another symbol. NULL: out of memory.
 */
static hn_dim_node *new_fresh(hn_dims *t, int64_t upper) {
    char text[16], *end = text + sizeof text, *name; /* snprintf takes longer than the rest */
    do {
        name = end;
        uint32_t rest = t->n_fresh++;
        do *--name = (char)('0' + rest % 10);
        while ((rest /= 10) > 0);
        *--name = 'u';
    } while (hn_map_get(&t->symbols, name, (size_t)(end - name)) != NULL);
    hn_dim_node *d = new_symbol(t, name, (size_t)(end - name));
    if (d == NULL) return NULL;
    d->fresh = true;
    d->value = upper < 0 ? INT64_MAX : upper;
    return d;
}

/* The symbol for an expression that is too large, with the bounds of that expression. */
static hn_dim symbol_for(hn_dims *t, hn_dim d) {
    int64_t lo, hi;
    hn_dim_range(d, &lo, &hi);
    hn_dim_node *symbol = new_fresh(t, hi == INT64_MAX ? -1 : hi);
    if (symbol == NULL) return trouble(t, HONE_E_NOMEM);
    symbol->any_sign = lo < 0;
    return symbol;
}

/* The one node of that contents. What is too large is kept as well, so that the same expression
 * gets the same symbol again. */
static hn_dim intern(hn_dims *t, kind k, int64_t value, const term *args, int n) {
    if ((t->used + 1) * 4 > t->capacity * 3 && !grow(t)) return trouble(t, HONE_E_NOMEM);
    uint64_t h = mix((uint64_t)k + 17, (uint64_t)value);
    for (int i = 0; i < n; i++)
        h = mix(mix(h, (uint64_t)args[i].coef), (uint64_t)(uintptr_t)args[i].dim);
    h ^= h >> 31;
    size_t mask = t->capacity - 1, i = h & mask;
    for (; t->slots[i] != NULL; i = (i + 1) & mask)
        if (t->slots[i]->hash == h && same(t->slots[i], k, value, args, n))
            return t->slots[i]->symbol != NULL ? t->slots[i]->symbol : t->slots[i];
    hn_dim_node *d = new_node(t, k, value, args, n, h);
    if (d == NULL) return trouble(t, HONE_E_NOMEM);
    t->slots[i] = d;
    if (d->size > MOST_SIZE) d->symbol = symbol_for(t, d);
    return d->symbol != NULL ? d->symbol : d;
}

hn_dim hn_dim_const(hn_dims *t, int64_t v) {
    if (v > HN_DIM_MAX || v < -HN_DIM_MAX) return trouble(t, HONE_E_SHAPE);
    return intern(t, CONST, v, NULL, 0);
}

/* Named symbols are told apart by their name, so they live in their own map. */
hn_dim hn_dim_symbol(hn_dims *t, const char *name) {
    size_t n = strlen(name);
    hn_dim_node *d = hn_map_get(&t->symbols, name, n);
    if (d != NULL) return d;
    d = new_symbol(t, name, n);
    if (d == NULL || !hn_map_put(&t->symbols, d->name, n, d)) return trouble(t, HONE_E_NOMEM);
    return d;
}

hn_dim hn_dim_fresh(hn_dims *t, int64_t upper) {
    hn_dim d = new_fresh(t, upper);
    return d != NULL ? d : trouble(t, HONE_E_NOMEM);
}

/* ---- linear forms ---- */

typedef struct linear {
    int64_t c;
    int n;
    bool too_big, overflow;
    term t[MOST_TERMS];
} linear;

static void linear_add_term(linear *l, int64_t coef, hn_dim d) {
    if (coef == 0) return;
    int i = 0;
    while (i < l->n && l->t[i].dim->id < d->id) i++;
    if (i < l->n && l->t[i].dim == d) {
        if (__builtin_add_overflow(l->t[i].coef, coef, &l->t[i].coef)) l->overflow = true;
        if (l->t[i].coef == 0) {
            memmove(&l->t[i], &l->t[i + 1], (size_t)(l->n - i - 1) * sizeof(term));
            l->n--;
        }
        return;
    }
    if (l->n == MOST_TERMS) {
        l->too_big = true;
        return;
    }
    memmove(&l->t[i + 1], &l->t[i], (size_t)(l->n - i) * sizeof(term));
    l->t[i] = (term){coef, d};
    l->n++;
}

/* l += coef * d */
static void linear_add(linear *l, hn_dim d, int64_t coef) {
    int64_t v;
    if (d->kind != CONST && d->kind != SUM) {
        linear_add_term(l, coef, d);
        return;
    }
    if (__builtin_mul_overflow(d->value, coef, &v) || __builtin_add_overflow(l->c, v, &l->c))
        l->overflow = true;
    for (int i = 0; i < d->n; i++) {
        if (__builtin_mul_overflow(d->args[i].coef, coef, &v))
            l->overflow = true;
        else
            linear_add_term(l, v, d->args[i].dim);
    }
}

static hn_dim from_linear(hn_dims *t, const linear *l) {
    if (l->overflow || l->c > HN_DIM_MAX || l->c < -HN_DIM_MAX) return trouble(t, HONE_E_SHAPE);
    if (l->too_big) return hn_dim_fresh(t, -1);
    if (l->n == 0) return hn_dim_const(t, l->c);
    if (l->n == 1 && l->c == 0 && l->t[0].coef == 1) return l->t[0].dim;
    return intern(t, SUM, l->c, l->t, l->n);
}

hn_dim hn_dim_add(hn_dims *t, hn_dim a, hn_dim b) {
    linear l = {0};
    linear_add(&l, a, 1);
    linear_add(&l, b, 1);
    return from_linear(t, &l);
}

hn_dim hn_dim_sub(hn_dims *t, hn_dim a, hn_dim b) {
    linear l = {0};
    linear_add(&l, a, 1);
    linear_add(&l, b, -1);
    return from_linear(t, &l);
}

hn_dim hn_dim_addc(hn_dims *t, hn_dim a, int64_t c) { return hn_dim_add(t, a, hn_dim_const(t, c)); }

hn_dim hn_dim_mulc(hn_dims *t, hn_dim a, int64_t c) {
    linear l = {0};
    linear_add(&l, a, c);
    return from_linear(t, &l);
}

/* ---- products ---- */

/* The atoms of a term: those of a product, or the term itself. */
static int atoms_of(hn_dim d, hn_dim *out) {
    if (d->kind != PROD) {
        out[0] = d;
        return 1;
    }
    for (int i = 0; i < d->n; i++) out[i] = d->args[i].dim;
    return d->n;
}

static hn_dim from_atoms(hn_dims *t, hn_dim *atoms, int n) {
    if (n == 0) return hn_dim_const(t, 1);
    if (n == 1) return atoms[0];
    term args[MOST_TERMS];
    for (int i = 0; i < n; i++) { /* insertion sort by id */
        int j = i;
        for (; j > 0 && args[j - 1].dim->id > atoms[i]->id; j--) args[j] = args[j - 1];
        args[j] = (term){1, atoms[i]};
    }
    return intern(t, PROD, 0, args, n);
}

static hn_dim mul_terms(hn_dims *t, hn_dim a, hn_dim b) {
    hn_dim atoms[2 * MOST_TERMS];
    int n = atoms_of(a, atoms);
    n += atoms_of(b, atoms + n);
    return n > MOST_TERMS ? hn_dim_fresh(t, -1) : from_atoms(t, atoms, n);
}

hn_dim hn_dim_mul(hn_dims *t, hn_dim a, hn_dim b) {
    if (a->kind == CONST) return hn_dim_mulc(t, b, a->value);
    if (b->kind == CONST) return hn_dim_mulc(t, a, b->value);
    linear la = {0}, lb = {0}, out = {0};
    linear_add(&la, a, 1);
    linear_add(&lb, b, 1);
    if ((la.n + (la.c != 0)) * (lb.n + (lb.c != 0)) > MOST_TERMS) return hn_dim_fresh(t, -1);
    int64_t v;
    for (int i = 0; i < la.n; i++) {
        for (int j = 0; j < lb.n; j++) {
            if (__builtin_mul_overflow(la.t[i].coef, lb.t[j].coef, &v))
                return trouble(t, HONE_E_SHAPE);
            linear_add_term(&out, v, mul_terms(t, la.t[i].dim, lb.t[j].dim));
        }
        if (__builtin_mul_overflow(la.t[i].coef, lb.c, &v)) return trouble(t, HONE_E_SHAPE);
        linear_add_term(&out, v, la.t[i].dim);
    }
    linear_add(&out, b, la.c);
    return from_linear(t, &out);
}

/* ---- division ---- */

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

/* x / (coef * atoms) when that goes without remainder. */
static bool divide_term(hn_dims *t, term x, int64_t coef, hn_dim *atoms, int n, term *out) {
    if (x.coef % coef != 0) return false;
    hn_dim left[MOST_TERMS];
    int m = atoms_of(x.dim, left);
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < m && left[j] != atoms[i]) j++;
        if (j == m) return false;
        left[j] = left[--m];
    }
    *out = (term){x.coef / coef, from_atoms(t, left, m)};
    return true;
}

hn_dim hn_dim_div(hn_dims *t, hn_dim a, hn_dim b) {
    if (a == b && a != &poison && b->kind != CONST) return hn_dim_const(t, 1);
    int64_t c = 1;
    hn_dim atoms[MOST_TERMS];
    int n = 0;
    if (b->kind == CONST) {
        c = b->value;
    } else if (b->kind == SUM && b->n == 1 && b->value == 0) {
        c = b->args[0].coef;
        n = atoms_of(b->args[0].dim, atoms);
    } else {
        n = atoms_of(b, atoms);
    }
    if (c == 0) return hn_dim_fresh(t, -1);
    if (c < 0) return hn_dim_div(t, hn_dim_mulc(t, a, -1), hn_dim_mulc(t, b, -1));
    if (a->kind == CONST && (n == 0 || a->value == 0))
        return hn_dim_const(t, floor_div(a->value, c));

    /* a = b*q + r with every term of a that b divides in q: floor(a/b) = q + floor(r/b). */
    linear la = {0}, q = {0}, r = {0};
    linear_add(&la, a, 1);
    for (int i = 0; i < la.n; i++) {
        term part;
        if (!divide_term(t, la.t[i], c, atoms, n, &part))
            linear_add_term(&r, la.t[i].coef, la.t[i].dim);
        else
            linear_add(&q, part.dim, part.coef);
    }
    r.c = la.c;
    if (n == 0) {
        r.c = la.c - floor_div(la.c, c) * c;
        linear_add(&q, hn_dim_const(t, floor_div(la.c, c)), 1);
    }
    hn_dim rest = from_linear(t, &r);
    int64_t lo, hi, b_lo, b_hi;
    hn_dim_range(rest, &lo, &hi);
    hn_dim_range(b, &b_lo, &b_hi);
    if (hn_dim_is(rest, 0) || (lo >= 0 && hi < b_lo)) return from_linear(t, &q);
    hn_dim part;
    if (rest->kind == FDIV && rest->args[1].dim->kind == CONST && b->kind == CONST &&
        rest->args[1].dim->value < INT32_MAX && b->value < INT32_MAX)
        /* floor(floor(x/p)/q) = floor(x/(pq)) */
        part = hn_dim_div(t, rest->args[0].dim, hn_dim_mul(t, rest->args[1].dim, b));
    else
        part = intern(t, FDIV, 0, (term[]){{1, rest}, {1, b}}, 2);
    linear_add(&q, part, 1);
    return from_linear(t, &q);
}

hn_dim hn_dim_div_ceil(hn_dims *t, hn_dim a, hn_dim b) {
    return hn_dim_div(t, hn_dim_add(t, a, hn_dim_addc(t, b, -1)), b);
}

/* ---- min, max, bounds ---- */

static int64_t sat_add(int64_t a, int64_t b) {
    int64_t r;
    if (a == INT64_MAX || b == INT64_MAX) return INT64_MAX;
    if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
    if (__builtin_add_overflow(a, b, &r)) return a > 0 ? INT64_MAX : INT64_MIN;
    return r;
}

static int64_t sat_mul(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0) return 0;
    if (a == INT64_MAX || a == INT64_MIN || b == INT64_MAX || b == INT64_MIN ||
        __builtin_mul_overflow(a, b, &r))
        return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
    return r;
}

/* Expressions nest through fdiv, min and max; this far down the bounds are simply not known. */
#define DEEPEST 32

static void range_at(hn_dim d, int64_t *lo, int64_t *hi, int depth) {
    int64_t l, h, l2, h2;
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    if (depth > DEEPEST) return;
    switch ((kind)d->kind) {
        case CONST: *lo = *hi = d->value; return;
        case SYM:
            *lo = d->any_sign ? INT64_MIN : 0;
            *hi = d->value;
            return;
        case PROD:
            *lo = *hi = 1;
            for (int i = 0; i < d->n; i++) {
                range_at(d->args[i].dim, &l, &h, depth + 1);
                if (l < 0) {
                    *lo = INT64_MIN;
                    *hi = INT64_MAX;
                    return;
                }
                *lo = sat_mul(*lo, l);
                *hi = sat_mul(*hi, h);
            }
            return;
        case SUM:
            *lo = *hi = d->value;
            for (int i = 0; i < d->n; i++) {
                int64_t c = d->args[i].coef;
                range_at(d->args[i].dim, &l, &h, depth + 1);
                *lo = sat_add(*lo, c > 0 ? sat_mul(c, l) : sat_mul(c, h));
                *hi = sat_add(*hi, c > 0 ? sat_mul(c, h) : sat_mul(c, l));
            }
            return;
        case FDIV:
            range_at(d->args[0].dim, &l, &h, depth + 1);
            range_at(d->args[1].dim, &l2, &h2, depth + 1);
            if (l2 < 1) l2 = 1;
            if (l >= 0) {
                *lo = h2 == INT64_MAX || h2 < 1 ? 0 : l / h2;
                *hi = h == INT64_MAX ? h : h / l2;
            } else {
                *lo = l;
                *hi = h < 0 ? -1 : (h == INT64_MAX ? h : h / l2);
            }
            return;
        case MIN:
        case MAX:
            range_at(d->args[0].dim, &l, &h, depth + 1);
            range_at(d->args[1].dim, &l2, &h2, depth + 1);
            *lo = (d->kind == MIN) == (l < l2) ? l : l2;
            *hi = (d->kind == MIN) == (h < h2) ? h : h2;
            return;
        case JOIN:
            range_at(d->args[0].dim, &l, &h, depth + 1);
            range_at(d->args[1].dim, &l2, &h2, depth + 1);
            *lo = l < l2 ? l : l2;
            *hi = h > h2 ? h : h2;
            return;
    }
}

void hn_dim_range(hn_dim d, int64_t *lo, int64_t *hi) { range_at(d, lo, hi, 0); }

/* max(x, min(x, y)) = x and max(x, max(x, y)) = max(x, y), and so with min; m may be the inner one.
 * NULL when it is not. */
static hn_dim absorb(hn_dim x, hn_dim m, kind k) {
    if (m->kind != MIN && m->kind != MAX) return NULL;
    if (m->args[0].dim != x && m->args[1].dim != x) return NULL;
    return m->kind == k ? m : x;
}

static hn_dim min_max(hn_dims *t, hn_dim a, hn_dim b, kind k) {
    if (a == b) return a;
    hn_dim one = absorb(a, b, k);
    if (one == NULL) one = absorb(b, a, k);
    if (one != NULL) return one;
    /* "To the end" is written as a huge number by exporters; no real dim reaches it. */
    if (k == MIN && a->kind == CONST && a->value >= INT32_MAX) return b;
    if (k == MIN && b->kind == CONST && b->value >= INT32_MAX) return a;
    int64_t lo, hi;
    hn_dim_range(hn_dim_sub(t, a, b), &lo, &hi);
    if (lo >= 0) return k == MIN ? b : a;
    if (hi <= 0) return k == MIN ? a : b;
    bool swap = a->id > b->id;
    return intern(t, k, 0, (term[]){{1, swap ? b : a}, {1, swap ? a : b}}, 2);
}

hn_dim hn_dim_min(hn_dims *t, hn_dim a, hn_dim b) { return min_max(t, a, b, MIN); }
hn_dim hn_dim_max(hn_dims *t, hn_dim a, hn_dim b) { return min_max(t, a, b, MAX); }

/* What two sizes broadcast to: the one that is not 1. (Not their maximum: 0 and 1 give 0.) Sizes
 * that do not broadcast give either. */
static hn_dim join(hn_dims *t, hn_dim a, hn_dim b) {
    if (a == b || hn_dim_is(b, 1)) return a;
    if (hn_dim_is(a, 1) || b->kind == CONST) return b;
    if (a->kind == CONST) return a;
    if (b->kind == JOIN && (b->args[0].dim == a || b->args[1].dim == a)) return b;
    if (a->kind == JOIN && (a->args[0].dim == b || a->args[1].dim == b)) return a;
    bool swap = a->id > b->id;
    return intern(t, JOIN, 0, (term[]){{1, swap ? b : a}, {1, swap ? a : b}}, 2);
}

bool hn_dim_is_const(hn_dim d, int64_t *v) {
    if (d->kind != CONST) return false;
    *v = d->value;
    return true;
}

bool hn_dim_is_symbol(hn_dim d, const char **name) {
    if (d->kind != SYM) return false;
    *name = d->name;
    return true;
}

bool hn_dim_is_fresh(hn_dim d) { return d->fresh; }

/* ---- text, evaluation, substitution ---- */

typedef struct text {
    char *buf;
    size_t size, at;
} text;

static void put(text *o, const char *format, ...) HONE_PRINTF(2, 3);
static void put(text *o, const char *format, ...) {
    if (o->at + 1 >= o->size) return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(o->buf + o->at, o->size - o->at, format, args);
    va_end(args);
    if (n > 0) o->at += (size_t)n;
    if (o->at >= o->size) o->at = o->size - 1;
}

static unsigned long long magnitude(int64_t v) {
    return v < 0 ? 0ull - (unsigned long long)v : (unsigned long long)v;
}

static void put_dim(text *o, hn_dim d, int depth) {
    if (depth > DEEPEST) {
        put(o, "...");
        return;
    }
    switch ((kind)d->kind) {
        case CONST: put(o, "%lld", (long long)d->value); return;
        case SYM: put(o, "%s", d->name); return;
        case PROD:
            for (int i = 0; i < d->n; i++) {
                if (i > 0) put(o, "*");
                put_dim(o, d->args[i].dim, depth + 1);
            }
            return;
        case SUM:
            for (int i = 0; i < d->n; i++) {
                int64_t c = d->args[i].coef;
                if (c < 0)
                    put(o, i > 0 ? " - " : "-");
                else if (i > 0)
                    put(o, " + ");
                if (c != 1 && c != -1) put(o, "%llu*", magnitude(c));
                put_dim(o, d->args[i].dim, depth + 1);
            }
            if (d->value != 0) put(o, d->value < 0 ? " - %llu" : " + %llu", magnitude(d->value));
            return;
        case FDIV: {
            bool plain_a = d->args[0].dim->kind == SYM || d->args[0].dim->kind == PROD;
            bool plain_b = d->args[1].dim->kind == SYM || d->args[1].dim->kind == CONST;
            put(o, plain_a ? "floor(" : "floor((");
            put_dim(o, d->args[0].dim, depth + 1);
            put(o, plain_a ? "/" : ")/");
            if (!plain_b) put(o, "(");
            put_dim(o, d->args[1].dim, depth + 1);
            put(o, plain_b ? ")" : "))");
            return;
        }
        case MIN:
        case MAX:
        case JOIN:
            put(o, d->kind == MIN ? "min(" : d->kind == MAX ? "max(" : "join(");
            put_dim(o, d->args[0].dim, depth + 1);
            put(o, ", ");
            put_dim(o, d->args[1].dim, depth + 1);
            put(o, ")");
            return;
    }
}

char *hn_dim_text(hn_dim d, char *buf, size_t size) {
    text o = {buf, size, 0};
    if (size > 0) buf[0] = '\0';
    put_dim(&o, d, 0);
    return buf;
}

static bool eval_at(hn_dim d, int64_t (*value)(void *, hn_dim), void *ctx, int64_t *out,
                    int depth) {
    int64_t a, b;
    if (depth > 2 * DEEPEST) return false;
    switch ((kind)d->kind) {
        case CONST: *out = d->value; return true;
        case SYM: *out = value(ctx, d); return *out >= 0;
        case PROD:
            *out = 1;
            for (int i = 0; i < d->n; i++)
                if (!eval_at(d->args[i].dim, value, ctx, &a, depth + 1) ||
                    __builtin_mul_overflow(*out, a, out))
                    return false;
            return true;
        case SUM:
            *out = d->value;
            for (int i = 0; i < d->n; i++)
                if (!eval_at(d->args[i].dim, value, ctx, &a, depth + 1) ||
                    __builtin_mul_overflow(a, d->args[i].coef, &a) ||
                    __builtin_add_overflow(*out, a, out))
                    return false;
            return true;
        case FDIV:
        case MIN:
        case MAX:
        case JOIN:
            if (!eval_at(d->args[0].dim, value, ctx, &a, depth + 1) ||
                !eval_at(d->args[1].dim, value, ctx, &b, depth + 1))
                return false;
            if (d->kind == JOIN) {
                if (a != b && a != 1 && b != 1) return false;
                *out = a == 1 ? b : a;
                return true;
            }
            if (d->kind != FDIV) {
                *out = (d->kind == MIN) == (a < b) ? a : b;
                return true;
            }
            if (b <= 0) return false;
            *out = floor_div(a, b);
            return true;
    }
    return false;
}

bool hn_dim_eval(hn_dim d, int64_t (*value)(void *ctx, hn_dim symbol), void *ctx, int64_t *out) {
    return eval_at(d, value, ctx, out, 0);
}

static hn_dim subst_at(hn_dims *t, hn_dim d, hn_dim sym, hn_dim by, int depth) {
    if (depth > 2 * DEEPEST) return hn_dim_fresh(t, -1);
    switch ((kind)d->kind) {
        case CONST: return d;
        case SYM: return d == sym ? by : d;
        case PROD: {
            hn_dim p = hn_dim_const(t, 1);
            for (int i = 0; i < d->n; i++)
                p = hn_dim_mul(t, p, subst_at(t, d->args[i].dim, sym, by, depth + 1));
            return p;
        }
        case SUM: {
            hn_dim s = hn_dim_const(t, d->value);
            for (int i = 0; i < d->n; i++) {
                hn_dim x = subst_at(t, d->args[i].dim, sym, by, depth + 1);
                s = hn_dim_add(t, s, hn_dim_mulc(t, x, d->args[i].coef));
            }
            return s;
        }
        case FDIV:
        case MIN:
        case MAX:
        case JOIN: {
            hn_dim a = subst_at(t, d->args[0].dim, sym, by, depth + 1);
            hn_dim b = subst_at(t, d->args[1].dim, sym, by, depth + 1);
            if (d->kind == JOIN) return join(t, a, b);
            return d->kind == FDIV ? hn_dim_div(t, a, b) : min_max(t, a, b, (kind)d->kind);
        }
    }
    return d;
}

hn_dim hn_dim_subst(hn_dims *t, hn_dim d, hn_dim symbol_, hn_dim by) {
    return subst_at(t, d, symbol_, by, 0);
}

/* ---- shapes ---- */

hn_shape hn_shape_of(hn_dims *t, int rank, const int64_t *dims) {
    hn_shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) s.dim[i] = hn_dim_const(t, dims[i]);
    return s;
}

bool hn_shape_equal(const hn_shape *a, const hn_shape *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

bool hn_shape_is_const(const hn_shape *s, int64_t *dims) {
    if (s->rank < 0) return false;
    for (int i = 0; i < s->rank; i++) {
        int64_t v;
        if (!hn_dim_is_const(s->dim[i], &v)) return false;
        if (dims != NULL) dims[i] = v;
    }
    return true;
}

hn_dim hn_shape_product(hn_dims *t, const hn_shape *s, int from, int to) {
    hn_dim p = hn_dim_const(t, 1);
    for (int i = from; i < to; i++) p = hn_dim_mul(t, p, s->dim[i]);
    return p;
}

char *hn_shape_text(const hn_shape *s, char *buf, size_t size) {
    text o = {buf, size, 0};
    if (size > 0) buf[0] = '\0';
    put(&o, s->rank < 0 ? "[?" : "[");
    for (int i = 0; i < s->rank; i++) {
        if (i > 0) put(&o, ", ");
        put_dim(&o, s->dim[i], 0);
    }
    put(&o, "]");
    return buf;
}

bool hn_dim_broadcast(hn_dims *t, hn_dim a, hn_dim b, hn_dim *out) {
    bool numbers = a->kind == CONST && b->kind == CONST;
    if (numbers && a->value != b->value && a->value != 1 && b->value != 1) return false;
    *out = join(t, a, b); /* a number other than 1 stands: the symbol is that number or 1 */
    return true;
}

bool hn_shape_broadcast(hn_dims *t, const hn_shape *a, const hn_shape *b, hn_shape *out) {
    if (a->rank < 0 || b->rank < 0) {
        *out = hn_shape_unknown();
        return true;
    }
    hn_shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < s.rank; i++) {
        int ia = i - (s.rank - a->rank), ib = i - (s.rank - b->rank);
        if (ia < 0)
            s.dim[i] = b->dim[ib];
        else if (ib < 0)
            s.dim[i] = a->dim[ia];
        else if (!hn_dim_broadcast(t, a->dim[ia], b->dim[ib], &s.dim[i]))
            return false;
    }
    *out = s;
    return true;
}

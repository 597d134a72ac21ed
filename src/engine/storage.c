#include "engine/storage.h"

#include "base/log.h"

/* What a problem says of an operand: its type, to be changed, and how many elements it has. */
typedef struct stored {
    hn_float *type; /* NULL: not one that has a choice */
    int64_t count;
} stored;

static stored stored_of(const hn_step *s, int operand) {
    const hn_family *f = s->family;
    hn_float *type = f->stored != NULL ? f->stored(s->problem, operand) : NULL;
    stored o = {type, 1};
    for (int i = 0; type != NULL && i < f->n_axes; i++)
        for (int k = 0; k < f->axes[i].n && f->axes[i].operand == operand; k++)
            o.count *= ((const int64_t *)((const char *)s->problem + f->axes[i].dims))[k];
    return o;
}

/* What is known of a buffer. */
typedef struct facts {
    bool may;     /* be bf16, as far as is known */
    bool product; /* a product reads or writes it */
} facts;

static void rule_out(facts *f, int buffer) {
    if (buffer >= 0) f[buffer].may = false;
}

static void find_candidates(const hn_plan *p, facts *f) {
    for (int i = 0; i < p->n_buffers; i++)
        f[i] = (facts){.may = p->buffers[i].kind == HN_BUFFER_SLAB};
    for (int i = 0; i < p->n_steps; i++) {
        const hn_step *s = p->steps[i];
        for (int k = 0; k < s->n_in; k++) rule_out(f, s->in[k].buffer);
        for (int k = 0; k < s->n_out; k++) rule_out(f, s->out[k].buffer);
        for (int k = 0; k < s->n_operands; k++) {
            int buffer = s->operands[k].buffer;
            if (buffer < 0) continue;
            if (stored_of(s, k).type == NULL || s->precision < HN_PRECISION_BF16)
                f[buffer].may = false;
            if (s->family->multiplies) f[buffer].product = true;
        }
    }
}

/* Gives the operands of a step the types that are known so far; says if any is bf16. */
static bool set_types(const hn_step *s, const facts *f) {
    bool any = false;
    for (int k = 0; k < s->n_operands; k++) {
        hn_float *type = stored_of(s, k).type;
        if (type == NULL) continue;
        int buffer = s->operands[k].buffer;
        bool narrow = buffer >= 0 && f[buffer].may && f[buffer].product;
        *type = narrow ? HN_FLOAT_BF16 : HN_FLOAT_F32;
        any |= narrow;
    }
    return any;
}

/* Whether a row other than the reference takes the step as it is now, and every row that was asked
 * for does. */
static bool accepts(const hn_step *s, const hn_compile *how) {
    hn_allowed allowed = {.isa = how->isa, .precision = s->precision};
    const char *why;
    for (int i = 0; i < how->n_forced; i++)
        if (how->forced[i].family == s->family &&
            !hn_kernel_serves(how->forced[i].kernel, allowed, s->problem, &why))
            return false;
    const hn_kernel *row = hn_kernel_choose(s->family, allowed, s->problem, NULL, NULL);
    return row != s->family->rows[s->family->n_rows - 1];
}

/* Takes back what a step does not accept, until all do. */
static void settle(const hn_plan *p, const hn_compile *how, facts *f) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->n_steps; i++) {
            const hn_step *s = p->steps[i];
            if (!set_types(s, f) || accepts(s, how)) continue;
            for (int k = 0; k < s->n_operands; k++)
                if (stored_of(s, k).type != NULL) rule_out(f, s->operands[k].buffer);
            set_types(s, f);
            changed = true;
        }
    }
}

/* Halves what became bf16. */
static void shrink(hn_plan *p, const facts *f) {
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        for (int k = 0; k < s->n_operands; k++) {
            stored o = stored_of(s, k);
            if (o.type == NULL || *o.type != HN_FLOAT_BF16) continue;
            s->operands[k].offset /= 2;
            s->facts->bytes -= 2.0 * (double)o.count;
        }
    }
    int n = 0;
    for (int i = 0; i < p->n_buffers; i++)
        if (f[i].may && f[i].product) p->buffers[i].bytes /= 2, n++;
    if (n > 0) hn_log(HONE_LOG_DEBUG, "storage,%d of %d buffers are bf16", n, p->n_buffers);
}

hone_status hn_plan_store(hn_plan *p, const hn_compile *how, hn_error *err) {
    int allowing = 0;
    for (int i = 0; i < p->n_steps; i++) allowing += p->steps[i]->precision >= HN_PRECISION_BF16;
    if (allowing == 0) return HONE_OK;
    facts *f = hn_alloc_array(how->alloc, (size_t)p->n_buffers + 1, sizeof *f, HN_MEM_OTHER);
    if (f == NULL) return HN_NOMEM(err);
    find_candidates(p, f);
    settle(p, how, f);
    shrink(p, f);
    hn_free(how->alloc, f);
    return HONE_OK;
}

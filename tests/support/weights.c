#include "support/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/weighted.h"

static hn_tensor *random_of(const hn_type *type, hn_allocator *alloc, hn_rng *rng) {
    int64_t dims[HONE_MAX_RANK];
    for (int i = 0; i < type->shape.rank; i++)
        assert_true(hn_dim_is_const(type->shape.dim[i], &dims[i]));
    hn_tensor *t;
    hn_error err;
    if (hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, type->dtype, type->shape.rank, dims, &err))
        fail_msg("%s", err.text);
    for (int64_t i = 0; i < t->n; i++) hn_store_f64(t->dtype, t->data, i, hn_rng_normal(rng));
    return t;
}

void make_weights(hn_model *m, uint64_t seed) {
    hn_rng rng;
    hn_rng_init(&rng, seed);
    for (int i = 0; i < m->graph->n_inputs; i++) {
        hn_value *v = m->graph->inputs[i];
        if (v->name[0] == 'w' || v->name[0] == 'b')
            hn_value_set_constant(v, random_of(&v->type, m->alloc, &rng));
    }
    hn_model_fix_defaults(m);
}

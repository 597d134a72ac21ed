#include "support/stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "ops/eval.h"
#include "support/scratch.h"

#define MOST 512 /* inputs, outputs */

static hn_error err;

/* Random contents, different for each seed. */
static hn_tensor *random_tensor(hone_dtype dtype, int rank, const int64_t *dims, uint64_t seed) {
    hn_tensor *t;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, dtype, rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) hn_store_f64(t->dtype, t->data, i, hn_rng_f64(&rng) * 2 - 1);
    return t;
}

/* Copies t to part `at` of `whole` along the axis, or back. */
static void move_part(const hn_tensor *whole, const hn_tensor *part, int axis, int64_t at,
                      bool back) {
    int64_t inner = hone_dtype_bits(part->dtype) / 8, outer = 1;
    for (int i = axis; i < part->rank; i++) inner *= part->dims[i];
    for (int i = 0; i < axis; i++) outer *= part->dims[i];
    int64_t times = whole->dims[axis] / part->dims[axis];
    for (int64_t o = 0; o < outer; o++) {
        char *w = (char *)whole->data + (o * times + at) * inner,
             *p = (char *)part->data + o * inner;
        memcpy(back ? p : w, back ? w : p, (size_t)inner);
    }
}

static void run(const hn_model *m, hn_tensor **in, hn_tensor **out) {
    hn_exec_options o = {.alloc = &scratch_mem};
    if (hn_graph_run(m->graph, &o, (const hn_tensor *const *)in, out, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

typedef struct tensors {
    hn_tensor *v[MOST];
} tensors;

static void release(tensors *t) {
    for (int i = 0; i < MOST; i++) hn_tensor_unref(t->v[i]);
}

/* For every input that has no default. */
static tensors random_inputs(const hn_graph *g, uint64_t seed) {
    tensors t = {{NULL}};
    int64_t dims[HONE_MAX_RANK];
    assert_true(g->n_inputs <= MOST && g->n_outputs <= MOST);
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_type *type = &g->inputs[i]->type;
        if (g->inputs[i]->constant != NULL) continue;
        assert_true(hn_shape_is_const(&type->shape, dims));
        t.v[i] = random_tensor(type->dtype, type->shape.rank, dims, seed++);
    }
    return t;
}

static tensors stack(const tensors *parts, int axis) {
    tensors t = {{NULL}};
    for (int i = 0; i < MOST; i++) {
        const hn_tensor *one = parts[0].v[i];
        if (one == NULL) continue;
        int64_t dims[HONE_MAX_RANK];
        memcpy(dims, one->dims, sizeof dims);
        dims[axis] *= 3;
        t.v[i] = random_tensor(one->dtype, one->rank, dims, 0);
        for (int s = 0; s < 3; s++) move_part(t.v[i], parts[s].v[i], axis, s, false);
    }
    return t;
}

static void check_parts(const tensors *whole, const tensors *parts, int axis) {
    for (int i = 0; i < MOST; i++) {
        const hn_tensor *one = parts[0].v[i];
        if (one == NULL) continue;
        hn_tensor *part = random_tensor(one->dtype, one->rank, one->dims, 0);
        assert_int_equal(whole->v[i]->dims[axis], 3 * one->dims[axis]);
        for (int s = 0; s < 3; s++) {
            move_part(whole->v[i], part, axis, s, true);
            assert_true(hn_tensor_equal(part, parts[s].v[i]));
        }
        hn_tensor_unref(part);
    }
}

void stack_check(const hn_model *a, const hn_model *b, int in_axis, int out_axis) {
    tensors in[3], out[3] = {{{NULL}}}, same = {{NULL}}, whole = {{NULL}};
    for (int s = 0; s < 3; s++) {
        in[s] = random_inputs(a->graph, (uint64_t)s * MOST);
        run(a, in[s].v, out[s].v);
    }
    run(b, in[0].v, same.v);
    for (int i = 0; i < a->graph->n_outputs; i++)
        assert_true(hn_tensor_equal(same.v[i], out[0].v[i]));
    tensors stacked = stack(in, in_axis);
    run(b, stacked.v, whole.v);
    check_parts(&whole, out, out_axis);
    for (int s = 0; s < 3; s++) release(&in[s]), release(&out[s]);
    release(&same), release(&stacked), release(&whole);
}

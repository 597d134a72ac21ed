/* Rewinding: parameters go back to what they were after the step of training that `train keep=N`
 * has remembered. Weights that are zero in layers that keep their zeros stay so: what is left is the
 * network that lottery tickets are (Frankle and Carbin 2019).
 *
 *     train epochs=10 keep=0; prune sparsity=0.2; rewind; train epochs=10; ...
 */
#include <string.h>

#include "compress/compression.h"
#include "engine/layers.h"

static hone_status go_back(hn_transform_ctx *c, hn_value *v, const hn_value *same, hn_error *err) {
    hn_tensor *was = v->constant, *made;
    const hn_tensor *to = same->constant;
    unsigned keeps = hn_shrinking_keeps(c->shrinking, v->name);
    HN_CHECK(err, (keeps & HN_KEEPS_TIES) == 0, HONE_E_ARG,
             "weight '%s' is clustered: its values of an early step are not; rewind before",
             v->name);
    bool fits = to->rank == was->rank;
    for (int i = 0; fits && i < to->rank; i++) fits = to->dims[i] == was->dims[i];
    char a[100], b[100];
    HN_CHECK(err, fits, HONE_E_SHAPE, "weight '%s' is %s now, and was %s at the step to go back to",
             v->name, hn_shape_text(&v->type.shape, a, sizeof a),
             hn_shape_text(&same->type.shape, b, sizeof b));
    HN_TRY(hn_tensor_create(&made, c->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, was->rank, was->dims,
                            err));
    float *w = made->data;
    memcpy(w, to->data, was->bytes);
    for (int64_t i = 0; i < was->n && (keeps & HN_KEEPS_ZEROS) != 0; i++)
        if (hn_weight_at(was, i) == 0) w[i] = 0;
    hn_value_set_constant(v, made);
    c->changed++;
    return HONE_OK;
}

hone_status hn_transform_rewind(hn_transform_ctx *c, hn_error *err) {
    const hn_model *early = c->shrinking != NULL ? c->shrinking->early : NULL;
    HN_CHECK(err, early != NULL, HONE_E_ARG,
             "no step was remembered to go back to: a line 'train keep=0' must come before");
    for (int i = 0; i < c->model->graph->n_values; i++) {
        hn_value *v = c->model->graph->values[i];
        if (v->dead || v->constant == NULL || v->constant->dtype != HONE_DTYPE_F32 ||
            v->constant->data == NULL)
            continue;
        const hn_value *same = hn_graph_value(early->graph, v->name);
        const hn_tensor *to = same != NULL ? same->constant : NULL;
        if (to == NULL || to->dtype != HONE_DTYPE_F32 || to->data == NULL) continue;
        HN_TRY(go_back(c, v, same, err));
    }
    return HONE_OK;
}

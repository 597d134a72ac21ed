#include "measure/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/size.h"

#define HN_METRIC(name) extern const hn_metric hn_metric_##name;
#include "measure/metrics.def"
#undef HN_METRIC

const hn_metric *const hn_metrics[] = {
#define HN_METRIC(name) &hn_metric_##name,
#include "measure/metrics.def"
#undef HN_METRIC
};
const int hn_n_metrics = sizeof hn_metrics / sizeof hn_metrics[0];

hone_status hn_metric_find(const char *name, int *metric, int *value, hn_error *err) {
    char names[400];
    size_t used = 0;
    for (int m = 0; m < hn_n_metrics; m++)
        for (int v = 0; v < HN_METRIC_VALUES && hn_metrics[m]->values[v].name != NULL; v++) {
            const char *known = hn_metrics[m]->values[v].name;
            if (strcmp(known, name) == 0) {
                *metric = m;
                *value = v;
                return HONE_OK;
            }
            if (used < sizeof names)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                         used > 0 ? ", " : "", known);
        }
    return HN_FAIL(err, HONE_E_NOT_FOUND, "there is no metric '%s'; there are %s", name, names);
}

const hone_value *hn_metric_output(const hn_metric_task *t, const hone_eval_batch *b, int k) {
    return &b->outputs[k < t->n_asked ? t->asked[k] : 0];
}

bool hn_metric_is_real(const hone_value *v) {
    return hone_dtype_bits(v->dtype) > 0 && !hn_dtype_in(v->dtype, HN_DTYPES_COMPLEX);
}

const char *hn_metric_text(const char *kind, const hone_value *v, char *buf, size_t bytes) {
    int used = snprintf(buf, bytes, "%s '%.200s' is %s[", kind, v->name, hone_dtype_name(v->dtype));
    for (int d = 0; d < v->rank && used < (int)bytes; d++)
        used += snprintf(buf + used, bytes - (size_t)used, "%s%lld", d > 0 ? ", " : "",
                         (long long)v->dims[d]);
    if (used < (int)bytes) snprintf(buf + used, bytes - (size_t)used, "]");
    return buf;
}

hone_status hn_metric_sample(const hone_eval_batch *b, const hone_value *output, int64_t *elements,
                             hn_error *err) {
    char text[400];
    HN_CHECK(err, hn_metric_is_real(output), HONE_E_TYPE,
             "output '%s' is of type %s, which has no order", output->name,
             hone_dtype_name(output->dtype));
    HN_CHECK(err, b->rows == 1 || (output->rank > 0 && output->dims[0] == b->n), HONE_E_SHAPE,
             "%s, expected %lld along its first axis",
             hn_metric_text("output", output, text, sizeof text), (long long)b->rows);
    int64_t all = 0;
    bool fits = hn_dims_count(output->dims, output->rank, &all);
    assert(fits);
    (void)fits;
    *elements = all / b->n;
    HN_CHECK(err, *elements > 0, HONE_E_SHAPE, "%s: it has no elements",
             hn_metric_text("output", output, text, sizeof text));
    return HONE_OK;
}

bool hn_metric_same_size(const hone_value *a, const hone_value *b) {
    int64_t n, m;
    return hn_metric_is_real(a) && hn_metric_is_real(b) && hn_dims_count(a->dims, a->rank, &n) &&
           hn_dims_count(b->dims, b->rank, &m) && n == m;
}

bool hn_metric_is_class(const hone_value *output, int64_t elements) {
    return elements == 1 && hn_dtype_is_int(output->dtype);
}

int64_t hn_metric_highest(const double *score, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (score[i] > score[best] || (isnan(score[best]) && !isnan(score[i]))) best = i;
    return best;
}

hone_status hn_metric_label(const hone_eval_batch *b, int64_t i, const hone_value *output,
                            int64_t classes, hn_error *err) {
    HN_CHECK(err, b->labels[i] >= 0 && b->labels[i] < classes, HONE_E_ARG,
             "sample %lld has label %lld, but output '%s' has %lld classes", (long long)b->index[i],
             (long long)b->labels[i], output->name, (long long)classes);
    return HONE_OK;
}

const hone_value *hn_metric_target(const hone_eval_batch *b, const char *part) {
    for (size_t i = 0; i < b->n_targets; i++)
        if (strstr(b->targets[i].name, part) != NULL) return &b->targets[i];
    return b->n_targets == 1 ? &b->targets[0] : NULL;
}

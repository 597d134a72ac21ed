/* The operator table, the version, the log. */
#include "base/log.h"
#include "ops/op.h"

size_t hone_n_ops(void) { return (size_t)hn_n_ops; }

hone_status hone_op(size_t i, hone_op_info *out, hone_error *err) {
    HN_CHECK(err, i < (size_t)hn_n_ops, HONE_E_ARG, "there are %d operators", hn_n_ops);
    const hn_op_def *op = hn_ops[i];
    *out = (hone_op_info){.domain = op->domain != NULL ? op->domain : "",
                          .name = op->name,
                          .versions = op->versions,
                          .signature = op->sig,
                          .runs = op->ref != NULL,
                          .infers = op->infer != NULL,
                          .costs = op->cost != NULL,
                          .differentiates = op->grad != NULL};
    return HONE_OK;
}

const char *hone_version(void) { return HN_VERSION; }

static struct {
    void (*fn)(void *ctx, hone_log_level level, const char *line);
    void *ctx;
} sink;

static void forward(void *ctx, hn_log_level level, const char *line) {
    (void)ctx;
    sink.fn(sink.ctx, (hone_log_level)level, line);
}

void hone_log_set(void (*fn)(void *ctx, hone_log_level level, const char *line), void *ctx,
                  hone_log_level level) {
    hn_log_set(NULL, NULL, HN_LOG_ERROR);
    sink.fn = fn;
    sink.ctx = ctx;
    if (fn != NULL) hn_log_set(forward, NULL, (hn_log_level)level);
}

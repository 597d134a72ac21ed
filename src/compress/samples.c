#include "compress/samples.h"

#include <string.h>

#include "ir/ir.h"
#include "measure/loader.h"
#include "measure/look.h"

static hone_status spread(hn_sample_choice *c, hn_dataset *from, int64_t most, hn_error *err) {
    int64_t count = hn_dataset_count(from), n = most > 0 && most < count ? most : count;
    HN_CHECK(err, n > 0, HONE_E_ARG, "the dataset has no samples");
    c->index = hn_alloc_array(c->alloc, (size_t)n, sizeof *c->index, HN_MEM_DATA);
    if (c->index == NULL) return HN_NOMEM(err);
    /* Quotient and remainder apart: the product of both counts may be too large. */
    for (int64_t i = 0; i < n; i++)
        c->index[i] = i * (count / n) + (int64_t)((double)i * (double)(count % n) / (double)n);
    return hn_dataset_part(&c->data, from, c->index, n, err);
}

typedef struct pass {
    hn_sample_choice *c;
    const hn_graph *graph;
    hn_look look;
    hone_value *values; /* one per input */
    hn_sample_progress *progress;
    void *progress_ctx;
} pass;

/* ---- one batch ---- */

/* The hash so far and that of each input make the next. */
static void add_hash(hn_sample_choice *c, const hn_samples *s) {
    char both[2 * HN_SHA256_HEX];
    for (int i = 0; i < s->n_in; i++) {
        const hn_tensor *t = s->in[i];
        if (t == NULL) continue;
        memcpy(both, c->hash, HN_SHA256_HEX);
        hn_sha256(t->data, t->bytes, both + HN_SHA256_HEX);
        hn_sha256(both, sizeof both, c->hash);
    }
}

static hone_status add_look(pass *p, const hn_samples *s, hn_error *err) {
    int64_t rows = hn_feed_rows(p->c->feed, s->n);
    size_t n = 0;
    for (int i = 0; i < s->n_in; i++) {
        const hn_tensor *t = s->in[i];
        hone_value *v = &p->values[n];
        if (t == NULL) continue;
        *v = (hone_value){
            .name = p->graph->inputs[i]->name, .dtype = t->dtype, .rank = t->rank, .data = t->data};
        memcpy(v->dims, t->dims, sizeof v->dims);
        if (v->rank > 0 && v->dims[0] == rows) v->dims[0] = s->n;
        v->bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
        n++;
    }
    return hn_look_add(&p->look, p->values, n, s->n, s->index, err);
}

/* ---- all of them ---- */

static hone_status go_over(pass *p, hn_loader *loader, hn_error *err) {
    hn_sample_choice *c = p->c;
    int64_t total = hn_dataset_count(c->data);
    for (int64_t done = 0; done < total;) {
        hn_samples s;
        HN_TRY(hn_loader_next(loader, &s, err));
        done = s.n > 0 ? s.index[s.n - 1] + 1 : total;
        hone_status status = s.n > 0 ? add_look(p, &s, err) : HONE_OK;
        if (s.n > 0) add_hash(c, &s);
        c->n += s.n;
        hn_samples_deinit(&s);
        HN_TRY(status);
        HN_CHECK(err, p->look.not_finite == 0, HONE_E_FORMAT,
                 "sample %lld of the dataset holds a NaN or an infinity, expected finite numbers",
                 (long long)c->index[p->look.first_not_finite]);
        HN_CHECK(err, p->progress == NULL || p->progress(p->progress_ctx, done, total),
                 HONE_E_LIMIT, "stopped after %lld of %lld samples", (long long)done,
                 (long long)total);
    }
    HN_CHECK(err, c->n > 0, HONE_E_FORMAT, "none of the %lld samples can be decoded",
             (long long)total);
    return HONE_OK;
}

static hone_status look_at_all(pass *p, int threads, hn_error *err) {
    hn_sample_choice *c = p->c;
    hn_loader *loader;
    hn_loader_options o = {.threads = threads};
    char text[sizeof c->warning];
    size_t bytes = ((size_t)p->graph->n_inputs + 1) * sizeof *p->values;
    p->values = hn_alloc_zero(c->alloc, bytes, HN_MEM_DATA);
    if (p->values == NULL) return HN_NOMEM(err);
    HN_TRY(hn_loader_create(&loader, c->feed, &o, c->alloc, err));
    hone_status status = go_over(p, loader, err);
    hn_loader_destroy(loader);
    if (status != HONE_OK) return status;
    const char *verdict = hn_look_verdict(&p->look, text, sizeof text);
    if (verdict != NULL) memcpy(c->warning, verdict, strlen(verdict) + 1);
    return HONE_OK;
}

hone_status hn_sample_choose(hn_sample_choice *out, hn_dataset *from, int64_t most,
                             const hn_graph *g, int64_t batch, int threads,
                             hn_sample_progress *progress, void *progress_ctx, hn_allocator *alloc,
                             hn_error *err) {
    *out = (hn_sample_choice){.alloc = alloc};
    pass p = {.c = out, .graph = g, .progress = progress, .progress_ctx = progress_ctx};
    hn_look_init(&p.look, alloc);
    hn_sha256(NULL, 0, out->hash);
    hone_status status = spread(out, from, most, err);
    if (status == HONE_OK) status = hn_feed_create(&out->feed, g, out->data, batch, alloc, err);
    if (status == HONE_OK) status = look_at_all(&p, threads, err);
    hn_look_deinit(&p.look);
    hn_free(alloc, p.values);
    if (status != HONE_OK) hn_sample_choice_deinit(out);
    return status;
}

void hn_sample_choice_deinit(hn_sample_choice *c) {
    hn_feed_destroy(c->feed);
    hn_dataset_close(c->data);
    if (c->alloc != NULL) hn_free(c->alloc, c->index);
    *c = (hn_sample_choice){0};
}

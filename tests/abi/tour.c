/* A program that calls every function of hone.h that takes or gives structs and prints what it
 * gets. tests/structure/released builds it against several headers and runs it with the library of
 * today; what it prints must be the same with all of them:
 *
 *   frozen   hone.h of the last release, so that the names are called that it was linked with
 *   today    hone.h
 *   older    hone.h whose structs lack their last field      (TOUR_OLDER)
 *   newer    hone.h whose structs have three fields more     (TOUR_NEWER)
 *
 * Behind each struct that the library fills lie guard bytes, which must not change. Last fields are
 * not looked at, since `older` has none. */
#include <hone/hone.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TOUR_MODELS
#define TOUR_MODELS "tests/models"
#endif
#define MODEL(name) TOUR_MODELS "/" name ".onnx"

/* ---- guards ---- */

#define GUARD 0xa5
#define GUARDED(type, name)      \
    struct {                     \
        type v;                  \
        unsigned char guard[64]; \
    } name;                      \
    memset(&name, GUARD, sizeof name)

static int failures;

static void check_guard(const unsigned char *guard, const char *name, int line) {
    for (int i = 0; i < 64; i++)
        if (guard[i] != GUARD) {
            printf("line %d: byte %d behind '%s' was written\n", line, i, name);
            failures++;
            return;
        }
}

/* What the library does not know of a struct it fills is 0. */
static void check_future(const uint64_t *future, const char *name, int line) {
    if ((future[0] | future[1] | future[2]) == 0) return;
    printf("line %d: unknown fields of '%s' are not 0\n", line, name);
    failures++;
}

#ifdef TOUR_NEWER
#define FUTURE(x) check_future((x).future, #x, __LINE__)
#else
#define FUTURE(x) (void)check_future
#endif
#define WHOLE(name)                                 \
    do {                                            \
        check_guard((name).guard, #name, __LINE__); \
        FUTURE((name).v);                           \
    } while (0)

static hone_error error;

#define MUST(call) must((call), #call, __LINE__)
static void must(hone_status status, const char *call, int line) {
    if (status == HONE_OK) return;
    printf("line %d: %s: %s\n", line, call, error.text);
    exit(1);
}

static const char *text(const char *t) { return t != NULL ? t : "-"; }

/* ---- options ---- */

/* A newer caller may set what an older library does not know: that is refused, never ignored. */
#ifdef TOUR_NEWER
#define REFUSES(o, call)                                                                           \
    do {                                                                                           \
        (o).future[1] = 7;                                                                         \
        if ((call) != HONE_E_ARG || strstr(error.text, "was built for a newer version") == NULL) { \
            printf("line %d: %s does not refuse unknown fields\n", __LINE__, #call);               \
            failures++;                                                                            \
        }                                                                                          \
        (o).future[1] = 0;                                                                         \
    } while (0)
#else
#define REFUSES(o, call) (void)0
#endif

#define INIT(type)                                                             \
    do {                                                                       \
        GUARDED(hone_##type##_options, o);                                     \
        hone_##type##_options_init(&o.v);                                      \
        WHOLE(o);                                                              \
        if (o.v.size != sizeof o.v)                                            \
            printf("hone_" #type "_options: size %u\n", o.v.size), failures++; \
    } while (0)

static void options(void) {
    INIT(load);
    INIT(save);
    INIT(simplify);
    INIT(session);
    INIT(loader);
    INIT(eval);
    INIT(compare);
    INIT(bisect);
    INIT(reduce);
    INIT(quantize);
    INIT(machine);
    INIT(profile);
    INIT(optimize);
    INIT(report);
#ifdef HONE_SIZED_H /* hone.h of version 0.1 makes no models */
    INIT(make);
#endif
    hone_quantize_options q;
    hone_quantize_options_init(&q);
    printf("options: %s %lld %lld %g\n", q.type, (long long)q.group, (long long)q.samples,
           q.max_drop);
}

/* ---- tables ---- */

static void tables(void) {
    for (size_t i = 0; i < hone_n_ops(); i += 40) {
        GUARDED(hone_op_info, o);
        MUST(hone_op(i, &o.v, &error));
        WHOLE(o);
        printf("op %s %s %d\n", o.v.name, o.v.versions, o.v.runs);
    }
    for (size_t i = 0; i < hone_n_kernels(); i += 60) {
        GUARDED(hone_kernel_info, k);
        MUST(hone_kernel(i, &k.v, &error));
        WHOLE(k);
        printf("kernel %s %s %s\n", k.v.family, k.v.name, k.v.isa);
    }
    for (size_t i = 0; i < hone_n_metrics(); i++) {
        GUARDED(hone_metric_info, m);
        MUST(hone_metric(i, &m.v, &error));
        WHOLE(m);
        printf("metric %s\n", m.v.name);
    }
    for (size_t i = 0; i < hone_n_passes(); i += 10) {
        GUARDED(hone_pass_info, p);
        MUST(hone_pass(i, &p.v, &error));
        WHOLE(p);
        printf("pass %s\n", p.v.name);
    }
    for (size_t i = 0; i < hone_n_quantize_choices(HONE_QUANTIZE_TYPES); i++) {
        GUARDED(hone_quantize_choice, c);
        MUST(hone_quantize_choice_at(HONE_QUANTIZE_TYPES, i, &c.v, &error));
        WHOLE(c);
        printf("type %s\n", c.v.name);
    }
#ifdef HONE_SIZED_H /* hone.h of version 0.1 has no transforms */
    for (size_t i = 0; i < hone_n_transforms(); i++) {
        GUARDED(hone_transform_info, t);
        MUST(hone_transform_at(i, &t.v, &error));
        WHOLE(t);
        GUARDED(hone_param_info, p);
        if (hone_transform_param_at(i, 0, &p.v, &error) == HONE_OK) WHOLE(p);
    }
    for (size_t i = 0; i < hone_n_architectures(); i++) {
        GUARDED(hone_architecture_info, a);
        MUST(hone_architecture(i, &a.v, &error));
        WHOLE(a);
    }
#endif
}

/* ---- values ---- */

static void print_values(const char *what, const hone_value *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        printf("%s %s %s[", what, text(v[i].name), hone_dtype_name(v[i].dtype));
        for (int k = 0; k < v[i].rank; k++) printf("%lld ", (long long)v[i].dims[k]);
        printf("] %zu bytes", v[i].bytes);
        if (v[i].dtype == HONE_DTYPE_F32 && v[i].bytes >= 8)
            printf(" %.6g %.6g", ((const float *)v[i].data)[0], ((const float *)v[i].data)[1]);
        printf("\n");
    }
}

static void values(void) {
    GUARDED(hone_value, v);
    memset(&v.v, 0, sizeof v.v);
    v.v.name = "filled";
    v.v.dtype = HONE_DTYPE_F32;
    v.v.rank = 2;
    v.v.dims[0] = 2;
    v.v.dims[1] = 3;
    MUST(hone_value_fill(&v.v, HONE_FILL_RANDOM, 5, &error));
    WHOLE(v);
    print_values("value", &v.v, 1);
    REFUSES(v.v, hone_value_fill(&v.v, HONE_FILL_ONES, 1, &error));
    GUARDED(hone_difference, d);
    MUST(hone_value_difference(&v.v, &v.v, &d.v, &error));
    WHOLE(d);
    printf("difference %g\n", d.v.mean);

    hone_value two[2] = {v.v, v.v};
    two[1].name = "second";
    MUST(hone_npz_write(two, 2, "tour.npz", &error));
    MUST(hone_npy_write(&two[1], "tour.npy", &error));
    GUARDED(hone_value, read);
    MUST(hone_npy_read(&read.v, "tour.npy", &error));
    WHOLE(read);
    print_values("npy", &read.v, 1);
    hone_value *all;
    size_t n;
    MUST(hone_npz_read(&all, &n, "tour.npz", &error));
    print_values("npz", all, n);
    hone_value_release(all, n);
    hone_free(all);
    hone_value_release(&read.v, 1);
    hone_value_release(&v.v, 1);
    WHOLE(read);
    remove("tour.npy");
    remove("tour.npz");
}

/* ---- models ---- */

static void models(void) {
    hone_model *m;
    hone_load_options load;
    hone_load_options_init(&load);
    MUST(hone_model_load(&m, MODEL("layers"), &load, &error));
    REFUSES(load, hone_model_load(&m, MODEL("layers"), &load, &error));
    for (size_t i = 0; i < hone_model_n_inputs(m); i++) {
        GUARDED(hone_value_info, info);
        MUST(hone_model_input(m, i, &info.v, &error));
        WHOLE(info);
        printf("input %s %s %d\n", info.v.name, hone_dtype_name(info.v.dtype), info.v.rank);
    }
    GUARDED(hone_value_info, out);
    MUST(hone_model_output(m, 0, &out.v, &error));
    WHOLE(out);
    printf("output %s\n", out.v.name);

    hone_inspection *in;
    hone_dim_value size;
    memset(&size, 0, sizeof size);
    size.name = "batch";
    size.value = 7;
    MUST(hone_model_inspect(m, &size, 1, &in, &error));
    printf("inspection %zu %zu %zu\n", in->n_nodes, in->n_ops, in->n_dtypes);
    FUTURE(*in);
    for (size_t i = 0; i < in->n_nodes; i++) {
        printf("node %s %s %s %lld\n", in->nodes[i].name, in->nodes[i].op, in->nodes[i].output_type,
               (long long)in->nodes[i].macs);
        FUTURE(in->nodes[i]);
    }
    for (size_t i = 0; i < in->n_ops; i++)
        printf("use %s %lld\n", in->ops[i].op, (long long)in->ops[i].count);
    for (size_t i = 0; i < in->n_dtypes; i++)
        printf("dtype %s %lld\n", hone_dtype_name(in->dtypes[i].dtype),
               (long long)in->dtypes[i].elements);
    for (size_t i = 0; i < in->n_dims; i++)
        printf("dim %s %lld\n", in->dims[i].name, (long long)in->dims[i].value);
    hone_inspection_destroy(in);

    struct {
        hone_pass_result v[200];
        unsigned char guard[64];
    } r;
    memset(&r, GUARD, sizeof r);
    hone_model_destroy(m);
    MUST(hone_model_load(&m, MODEL("int8"), NULL, &error));
    MUST(hone_model_simplify(m, NULL, r.v, &error));
    for (size_t i = 0; i < hone_n_passes(); i++)
        if (r.v[i].fired != 0) printf("pass %zu fired %lld\n", i, (long long)r.v[i].fired);
    check_guard((unsigned char *)&r.v[hone_n_passes()], "results", __LINE__);
    hone_dim_setting to[2];
    memset(to, 0, sizeof to);
    to[0].input = "x";
    to[0].to = "4";
    to[1].input = "nobody";
    to[1].to = "3";
    printf("set_dims: %s", hone_status_name(hone_model_set_dims(m, to, 2, &error)));
    printf(", %s\n", error.text);
    hone_model_destroy(m);
}

/* ---- sessions ---- */

static void on_step(void *ctx, const hone_step_info *s) {
    int *steps = ctx;
    printf("step %s %s %s %s\n", s->node, s->op, text(s->kernel), s->output);
    FUTURE(*s);
    ++*steps;
}

static void on_span(void *ctx, const hone_span *s) {
    int *spans = ctx;
    FUTURE(*s);
    if (strcmp(s->category, "region") == 0 && strcmp(s->name, "mine") == 0) ++*spans;
}

static void sessions(void) {
    hone_model *m;
    hone_session *s;
    GUARDED(hone_session_options, o);
    hone_session_options_init(&o.v);
    o.v.threads = 1;
    MUST(hone_model_load(&m, MODEL("add"), NULL, &error));
    MUST(hone_session_create(&s, m, &o.v, &error));
    WHOLE(o);
    REFUSES(o.v, hone_session_create(&s, m, &o.v, &error));

    float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, ab[4], y[4];
    hone_value in[2];
    struct {
        hone_value v[2];
        unsigned char guard[64];
    } out;
    memset(in, 0, sizeof in);
    memset(&out, 0, sizeof out.v);
    memset(out.guard, GUARD, sizeof out.guard);
    float *data[4] = {a, b, ab, y};
    const char *names[4] = {"a", "b", "ab", "y"};
    for (int i = 0; i < 4; i++) {
        hone_value *v = i < 2 ? &in[i] : &out.v[i - 2];
        v->name = names[i];
        v->dtype = HONE_DTYPE_F32;
        v->rank = 2;
        v->dims[0] = v->dims[1] = 2;
        v->data = data[i];
        v->bytes = sizeof a;
    }
    MUST(hone_session_prepare(s, 2, in, &error));
    MUST(hone_session_run(s, 2, in, 2, out.v, &error));
    check_guard(out.guard, "outputs", __LINE__);
    print_values("output", out.v, 2);
    out.v[1].data = NULL; /* now the library's own */
    MUST(hone_session_run(s, 2, in, 2, out.v, &error));
    print_values("output", out.v, 2);
    hone_value_release(out.v, 2);
    printf("released %d\n", out.v[1].data == NULL && out.v[0].data == ab);
    REFUSES(in[1], hone_session_run(s, 2, in, 2, out.v, &error));
    out.v[1].data = y;
    out.v[1].bytes = sizeof y;
    int steps = 0, spans = 0;
    hone_span_listen(on_span, &spans);
    hone_region_begin("mine");
    MUST(hone_session_profile(s, 2, in, 2, out.v, on_step, &steps, &error));
    hone_region_end();
    hone_span_listen(NULL, NULL);
    printf("%d steps, %d spans\n", steps, spans);
    check_guard(out.guard, "outputs", __LINE__);

    GUARDED(hone_memory_use, use);
    use.v = hone_session_memory(s);
    WHOLE(use);
    printf("memory %zu %zu %d\n", use.v.weights_bytes, use.v.arena_bytes, use.v.peak_bytes > 0);
    GUARDED(hone_tuning, t);
    t.v = hone_session_tuning(s);
    WHOLE(t);
    printf("tuning %lld\n", (long long)t.v.problems);

    hone_machine *machine;
    hone_profile *p;
    hone_profile_options how;
    MUST(hone_machine_look(&machine, &error));
    FUTURE(*machine);
    for (size_t i = 0; i < machine->n_caches; i++)
        printf("cache %d %lld\n", machine->caches[i].level, (long long)machine->caches[i].bytes);
    for (size_t i = 0; i < machine->n_isas; i++) printf("isa %s\n", machine->isas[i].name);
    hone_profile_options_init(&how);
    how.runs = 2;
    how.machine = machine;
    MUST(hone_profile_create(&p, s, 2, in, 2, out.v, &how, &error));
    FUTURE(*p);
    printf("profile %lld %zu\n", (long long)p->runs, p->n_steps);
    for (size_t i = 0; i < p->n_steps; i++)
        printf("profiled %s %s %g\n", p->steps[i].node, p->steps[i].op, p->steps[i].flops);
    for (size_t i = 0; i < p->n_verdicts; i++) /* whether it asks others depends on the times */
        if (strstr(p->verdicts[i].question, " fit ") != NULL)
            printf("question %s\n", p->verdicts[i].question);
    hone_profile_destroy(p);
    hone_machine_destroy(machine);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

/* ---- states ---- */

/* Not in the last release, nor is the option in `older`: prints only what is wrong. */
#if defined HONE_SIZED_H && !defined TOUR_OLDER
static void states(void) {
    hone_model *m;
    hone_session *s;
    hone_state *state;
    hone_session_options o;
    hone_session_options_init(&o);
    o.state = "sum=next";
    MUST(hone_model_load_text(
        &m, "m (float[2] x, float[2] sum) => (float[2] next) { next = Add (sum, x) }", &error));
    MUST(hone_session_create(&s, m, &o, &error));
    MUST(hone_state_create(&state, s, &error));
    float x[2] = {1, 2};
    hone_value in;
    memset(&in, 0, sizeof in);
    in.name = "x";
    in.dtype = HONE_DTYPE_F32;
    in.rank = 1;
    in.dims[0] = 2;
    in.data = x;
    in.bytes = sizeof x;
    GUARDED(hone_value, out);
    memset(&out.v, 0, sizeof out.v);
    out.v.name = "next";
    MUST(hone_state_run(state, 1, &in, 1, &out.v, &error));
    WHOLE(out);
    hone_value_release(&out.v, 1);
    in.name = "sum";
    MUST(hone_state_set(state, &in, &error));
    REFUSES(in, hone_state_set(state, &in, &error));
    in.name = "x";
    MUST(hone_state_run(state, 1, &in, 0, NULL, &error));
    REFUSES(in, hone_state_run(state, 1, &in, 0, NULL, &error));
    memset(&out.v, 0, sizeof out.v);
    out.v.name = "sum";
    MUST(hone_state_get(state, &out.v, &error));
    WHOLE(out);
    const float *sum = out.v.data;
    if (out.v.bytes != 8 || sum[0] != 2 || sum[1] != 4) printf("wrong state\n"), failures++;
    hone_value_release(&out.v, 1);
    MUST(hone_state_reset(state, &error));
    hone_state_destroy(state);
    hone_session_destroy(s);
    hone_model_destroy(m);
}
#else
static void states(void) {}
#endif

/* ---- data ---- */

static hone_status on_batch(void *ctx, const hone_eval_batch *b, hone_error *err) {
    (void)ctx;
    (void)err;
    FUTURE(*b);
    printf("batch %lld\n", (long long)b->n);
    for (size_t i = 0; i < b->n_inputs; i++)
        printf("given %s %zu\n", b->inputs[i].name, b->inputs[i].bytes);
    for (size_t i = 0; i < b->n_outputs; i++)
        printf("got %s %zu\n", b->outputs[i].name, b->outputs[i].bytes);
    return HONE_OK;
}

static void data(const char *digits) {
    hone_model *m, *small;
    hone_session *s;
    hone_dataset *d;
    hone_loader *l;
    MUST(hone_model_load(&m, digits, NULL, &error));
    MUST(hone_session_create(&s, m, NULL, &error));
    MUST(hone_dataset_open(&d, "synthetic:digits,n=40,seed=3", &error));
    GUARDED(hone_value, x);
    MUST(hone_dataset_read(d, m, 2, 3, &x.v, &error));
    WHOLE(x);
    print_values("samples", &x.v, 1);
    hone_value_release(&x.v, 1);
    printf("targets: %s\n", hone_status_name(hone_dataset_targets(d, 0, 0, 1, &x.v, &error)));
    MUST(hone_loader_create(&l, d, m, NULL, &error));
    for (const hone_batch *b; hone_loader_next(l, &b, &error) == HONE_OK && b->n > 0;) {
        FUTURE(*b);
        print_values("loaded", b->in, b->n_in);
    }
    hone_loader_destroy(l);

    hone_eval_options how;
    hone_eval_options_init(&how);
    how.on_batch = on_batch;
    how.tables = true;
    how.batch = 20;
    GUARDED(hone_eval_result, r);
    MUST(hone_session_eval(s, d, &how, &r.v, &error));
    WHOLE(r);
    printf("eval %lld %lld\n", (long long)r.v.samples, (long long)r.v.top1);
    hone_evaluation *e;
    MUST(hone_session_measure(s, d, &how, &e, &error));
    FUTURE(*e);
    for (size_t i = 0; i < e->n_metrics; i++)
        printf("measured %s %.4f\n", e->metrics[i].name, e->metrics[i].value);
    for (size_t i = 0; i < e->n_class_rows; i++)
        printf("class %lld %lld\n", (long long)e->class_rows[i].id,
               (long long)e->class_rows[i].samples);
    hone_evaluation_destroy(e);
    hone_session_destroy(s);

    hone_quantize_options q;
    hone_quantization *report;
    hone_layer_rule rules[2];
    memset(rules, 0, sizeof rules);
    rules[0].pattern = rules[1].pattern = "*";
    rules[0].type = "f32";
    rules[1].type = "int8-weights";
    hone_quantize_options_init(&q);
    q.type = "int8-weights";
    q.layers = rules;
    q.n_layers = 2;
    MUST(hone_model_quantize(&small, m, NULL, &q, &report, &error));
    FUTURE(*report);
    for (size_t i = 0; i < report->n_layers; i++)
        printf("layer %s %s %s\n", report->layers[i].node, report->layers[i].op,
               report->layers[i].type);
    hone_quantization_destroy(report);
    hone_model_destroy(small);
    REFUSES(rules[1], hone_model_quantize(&small, m, NULL, &q, NULL, &error));
#ifdef HONE_SIZED_H
    hone_transform_options t;
    hone_transform_options_init(&t);
    MUST(hone_model_transform(&small, m, "hone recipe 2; convert type=f16", NULL, &t, &report,
                              &error));
    FUTURE(*report);
    hone_quantization_destroy(report);
    hone_model_destroy(small);
#endif
    hone_dataset_destroy(d);
    hone_model_destroy(m);
}

/* ---- two models ---- */

static hone_status read_ones(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    hone_model *m = ctx;
    (void)run;
    for (size_t i = 0; i < hone_model_n_inputs(m); i++) {
        hone_value_info info;
        hone_status status = hone_model_input(m, i, &info, err);
        if (status != HONE_OK) return status;
        if (strcmp(in[i].name, info.name) != 0) printf("input %zu is called %s\n", i, in[i].name);
        in[i].dtype = info.dtype;
        in[i].rank = info.rank;
        for (int k = 0; k < info.rank; k++) in[i].dims[k] = info.dims[k] > 0 ? info.dims[k] : 2;
        status = hone_value_fill(&in[i], HONE_FILL_ONES, 1, err);
        if (status != HONE_OK) return status;
    }
    return HONE_OK;
}

static hone_status has_relu(void *ctx, hone_model *a, hone_model *b, size_t n_in,
                            const hone_value *in, bool *failed, hone_error *err) {
    hone_inspection *i;
    (void)b;
    print_values(ctx, in, n_in);
    hone_status status = hone_model_inspect(a, NULL, 0, &i, err);
    *failed = false;
    for (size_t k = 0; status == HONE_OK && k < i->n_nodes; k++)
        *failed |= strcmp(i->nodes[k].name, "relu3") == 0;
    if (status == HONE_OK) hone_inspection_destroy(i);
    return status;
}

static void two_models(void) {
    const char *paths[2] = {MODEL("layers"), MODEL("damaged")};
    hone_model *m[2];
    hone_session *s[2];
    for (int i = 0; i < 2; i++) {
        MUST(hone_model_load(&m[i], paths[i], NULL, &error));
        MUST(hone_session_create(&s[i], m[i], NULL, &error));
    }
    hone_samples samples;
    memset(&samples, 0, sizeof samples);
    samples.count = samples.batch = 2;
    samples.read = read_ones;
    samples.ctx = m[0];
    hone_comparison *c;
    MUST(hone_session_compare(s[0], s[1], &samples, NULL, &c, &error));
    FUTURE(*c);
    REFUSES(samples, hone_session_compare(s[0], s[1], &samples, NULL, &c, &error));
    for (size_t i = 0; i < c->n_outputs; i++)
        printf("compared %s %.3f\n", c->outputs[i].name, c->outputs[i].sqnr_db);
    for (size_t i = 0; i < c->n_tensors; i++)
        printf("tensor %s %.3f\n", c->tensors[i].name, c->tensors[i].isolated_sqnr_db);
    hone_comparison_destroy(c);
    hone_bisection *b;
    MUST(hone_session_bisect(s[0], s[1], &samples, NULL, &b, &error));
    FUTURE(*b);
    for (size_t i = 0; i < b->n_steps; i++)
        printf("harmful %s %s\n", b->steps[i].node, b->steps[i].op);
    hone_bisection_destroy(b);
    hone_reduction *r;
    hone_reduce_options o;
    hone_reduce_options_init(&o);
    o.fails = has_relu;
    o.fails_ctx = (void *)"part";
    MUST(hone_session_reduce(s[0], s[0], &samples, &o, &r, &error));
    FUTURE(*r);
    printf("reduced to %zu nodes\n", r->nodes_after);
    print_values("for", r->in, r->n_in);
    hone_reduction_destroy(r);
    for (int i = 0; i < 2; i++) {
        hone_session_destroy(s[i]);
        hone_model_destroy(m[i]);
    }
}

/* ---- timing ---- */

static void timing(void) {
    double ms[40];
    hone_timing series[3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 40; i++) ms[i] = 1 + k + 0.01 * ((i * 7) % 10);
        GUARDED(hone_timing, t);
        MUST(hone_timing_of(&t.v, ms, NULL, 0, 40, &error));
        WHOLE(t);
        series[k] = t.v;
    }
    printf("timing %.4f %.4f %.4f\n", series[0].p50, series[1].p50, series[2].p50);
    GUARDED(hone_timing_change, c);
    c.v = hone_timing_compare(&series[0], &series[2]);
    WHOLE(c);
    printf("change %d %.4f\n", (int)c.v.verdict, c.v.ratio);
    bool yes;
    GUARDED(hone_timing, all);
    size_t fastest = hone_timing_join(&all.v, series, 3, &yes);
    WHOLE(all);
    printf("joined %zu %.4f %d\n", fastest, all.v.p50, yes);
    c.v = hone_timing_judge(&series[1], series, 3, &yes);
    WHOLE(c);
    printf("judged %d %.4f %d\n", (int)c.v.verdict, c.v.ratio, yes);
    GUARDED(hone_energy, e);
    hone_energy_read(&e.v);
    WHOLE(e);
    printf("energy %d %d\n", e.v.n, e.v.n > 0 || isnan(hone_energy_between(&e.v, &e.v)));
}

/* ---- optimizing, timed by the program ---- */

static hone_status open_model(void *ctx, int id, const void *onnx, size_t bytes, size_t n_in,
                              const hone_value *in, hone_error *err) {
    (void)ctx;
    (void)onnx;
    (void)bytes;
    (void)err;
    if (id == 0) print_values("timed", in, n_in);
    return HONE_OK;
}

static hone_status run_round(void *ctx, int first, int second, double seconds, hone_round *out,
                             hone_error *err) {
    (void)ctx;
    (void)seconds;
    (void)err;
    FUTURE(*out);
    for (int i = 0; i < 2; i++)
        out->median_ms[i] = out->least_ms[i] = (i == 0 ? first : second) == 0 ? 2 : 1;
    return HONE_OK;
}

static void close_model(void *ctx, int id) {
    (void)ctx;
    (void)id;
}

#ifdef HONE_SIZED_H /* hone.h of version 0.1 gives no advice */
static void advising(const char *digits) {
    hone_model *m;
    hone_advice *a;
    hone_advise_options o;
    hone_dim_value dims[] = {{.name = "batch", .value = 1}};
    hone_advise_options_init(&o);
    o.target = "mobile_npu";
    o.use = "video";
    o.n_dims = 1;
    o.dims = dims;
    MUST(hone_model_load(&m, digits, NULL, &error));
    MUST(hone_advise(m, &o, &a, &error));
    const hone_advice_remedy *last = &a->remedies[a->n_remedies - 1];
    const hone_advice_symptom *sign = &a->symptoms[a->n_symptoms - 1];
    if (strcmp(a->target, "mobile_npu") != 0 || strcmp(last->name, "distil") != 0 ||
        last->branch != a->n_branches - 1 || strcmp(sign->kind, "the way back") != 0 ||
        strcmp(a->branches[last->branch].answer, "no") != 0) {
        printf("line %d: the advice is not what it should be\n", __LINE__);
        failures++;
    }
    hone_advice_destroy(a);
    REFUSES(o, hone_advise(m, &o, &a, &error));
    hone_model_destroy(m);
}
#else
static void advising(const char *digits) { (void)digits; }
#endif

static void optimizing(const char *digits) {
    hone_model *m;
    hone_optimization *found;
    hone_optimize_options o;
    hone_timer t;
    memset(&t, 0, sizeof t);
    t.size = sizeof t;
    t.name = "a clock";
    t.open = open_model;
    t.round = run_round;
    t.close = close_model;
    hone_optimize_options_init(&o);
    o.runtime = "onnxruntime";
    o.timer = &t;
    MUST(hone_model_load(&m, digits, NULL, &error));
    MUST(hone_optimize(m, &o, &found, &error));
    FUTURE(*found);
    for (size_t i = 0; i < found->n_rows; i++)
        printf("row %s %s %s\n", found->rows[i].name, found->rows[i].state, found->rows[i].gain);
    for (size_t i = 0; i < found->n_criteria; i++)
        printf("criterion %s %s\n", found->criteria[i].question, found->criteria[i].answer);
    for (size_t i = 0; i < found->n_guards; i++) printf("guard %s\n", found->guards[i].question);
    hone_optimization_destroy(found);
    REFUSES(t, hone_optimize(m, &o, &found, &error));
    hone_model_destroy(m);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    options();
    tables();
    values();
    models();
    sessions();
    states();
    data(argv[1]);
    two_models();
    timing();
    optimizing(argv[1]);
    advising(argv[1]);
    if (failures == 0) printf("all structs whole\n");
    return failures > 0;
}

/* Memory spaces: host memory that poses as a device.
 *
 * The addresses it hands out have a bit set that no address of a process has: a kernel of the host
 * that touches one crashes. Its own kernels take the bit away and call the kernels of the host; an
 * operand that is not in memory of the device is counted as astray. So results are the bits of the
 * CPU, and every copy that is missing shows. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/backend.h"
#include "engine/memory.h"
#include "engine/prepared.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/gather_rows/gather_rows.h"
#include "kernels/map_f32/map_f32.h"

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

/* ---- the device ---- */

#define FAR ((uintptr_t)1 << 50)
enum { MOST_BLOCKS = 64, SCRATCH = 100, MAP = 1, CONV = 2, BOTH = MAP | CONV };

typedef struct block {
    char *data;
    size_t bytes;
} block;

typedef struct device {
    int families; /* that it serves */
    int refuses;  /* the step that it refuses, of those it is asked for; -1: none */
    int asked;
    int to, from, astray, launched, waits;
    bool full, broken; /* has no memory; cannot compute */
    block blocks[MOST_BLOCKS];
    size_t live;
} device;

static device posing;

static void *take(void *ctx, size_t bytes) {
    device *d = ctx;
    for (int i = 0; i < MOST_BLOCKS && !d->full; i++) {
        block *b = &d->blocks[i];
        if (b->data != NULL) continue;
        *b = (block){aligned_alloc(HN_ALIGN, (bytes + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN), bytes};
        if (b->data == NULL) return NULL;
        memset(b->data, 0xff, bytes); /* floats that are no numbers */
        d->live += bytes;
        return (void *)((uintptr_t)b->data | FAR);
    }
    return NULL;
}

/* What an address of the device stands for; NULL: it is none, or not of a block that is taken. */
static void *real(device *d, const void *address) {
    char *at = (char *)((uintptr_t)address & ~FAR);
    for (int i = 0; i < MOST_BLOCKS && ((uintptr_t)address & FAR) != 0; i++) {
        const block *b = &d->blocks[i];
        if (b->data != NULL && at >= b->data && at < b->data + b->bytes) return at;
    }
    d->astray++;
    return NULL;
}

static void give(void *ctx, void *address) {
    device *d = ctx;
    char *data = real(d, address);
    for (int i = 0; i < MOST_BLOCKS; i++) {
        if (data == NULL || d->blocks[i].data != data) continue;
        d->live -= d->blocks[i].bytes;
        free(data);
        d->blocks[i].data = NULL;
    }
}

static void copy_to(void *ctx, void *dst, const void *src, size_t bytes) {
    device *d = ctx;
    void *to = real(d, dst);
    d->to++;
    if (to != NULL) memcpy(to, src, bytes);
}

static void copy_from(void *ctx, void *dst, const void *src, size_t bytes) {
    device *d = ctx;
    const void *from = real(d, src);
    d->from++;
    if (from != NULL) memcpy(dst, from, bytes);
}

static hone_status wait_for_all(void *ctx, hn_error *e) {
    device *d = ctx;
    d->waits++;
    HN_CHECK(e, !d->broken, HONE_E_UNSUPPORTED, "the device is broken");
    return HONE_OK;
}

static const hn_kernel *host_row(const hn_family *f, const void *problem) {
    hn_allowed allowed = {.isa = hn_isa_available(), .precision = HN_PRECISION_F32};
    return hn_kernel_choose(f, allowed, problem, NULL, NULL);
}

static bool serves(int family, const char **why) {
    *why = "not now";
    return (posing.families & family) != 0 && posing.asked++ != posing.refuses;
}

static void launch(const hn_kernel *row, const hn_call *call, int phase, int64_t begin, int64_t end,
                   void *lane) {
    device *d = call->device;
    void *ptr[32] = {0};
    int astray = d->astray;
    for (int i = 0; i < 32; i++)
        if (call->ptr[i] != NULL) ptr[i] = real(d, call->ptr[i]);
    hn_call here = {.problem = call->problem, .work = call->work, .ptr = ptr};
    if (call->work->scratch > 0) here.scratch = real(d, call->scratch);
    d->launched++;
    if (d->astray != astray) return;
    if (phase == 0 && here.scratch != NULL) memset(here.scratch, 0xff, call->work->scratch);
    row->run(&here, phase, begin, end, lane);
}

static bool map_ok(const void *problem, const char **why) {
    (void)problem;
    return serves(MAP, why);
}
static void map_work(const void *problem, int lanes, hn_work *w) {
    host_row(&hn_map_f32_family, problem)->work(problem, lanes, w);
    w->scratch += SCRATCH; /* which is spoilt, and must be nobody else's */
}
static void map_run(const hn_call *c, int phase, int64_t begin, int64_t end, void *lane) {
    launch(host_row(&hn_map_f32_family, c->problem), c, phase, begin, end, lane);
}

static const hn_kernel *conv_row(const void *problem) {
    return host_row(&hn_conv_f32_family, problem);
}
static bool conv_ok(const void *problem, const char **why) {
    *why = "its weights stay as they lie";
    return conv_row(problem)->pack != NULL && serves(CONV, why);
}
static void conv_work(const void *problem, int lanes, hn_work *w) {
    conv_row(problem)->work(problem, lanes, w);
}
static void conv_run(const hn_call *c, int phase, int64_t begin, int64_t end, void *lane) {
    launch(conv_row(c->problem), c, phase, begin, end, lane);
}
static size_t conv_bytes(const void *problem) { return conv_row(problem)->packed_bytes(problem); }
/* The rows of the host, which lay weights out in their own ways, are one row here. */
static uint64_t conv_key(const void *problem) {
    return conv_row(problem)->pack_key(problem) ^ (uintptr_t)conv_row(problem);
}
static int64_t conv_tasks(const void *problem) { return hn_pack_tasks(conv_row(problem), problem); }
static void conv_pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                      void *dst) {
    conv_row(problem)->pack(problem, plain, begin, end, dst);
}

static const hn_kernel map_kernel = {
    .name = "posing_map", .order = "", .ok = map_ok, .work = map_work, .run = map_run};
static const hn_kernel conv_kernel = {.name = "posing_conv",
                                      .order = "",
                                      .ok = conv_ok,
                                      .work = conv_work,
                                      .run = conv_run,
                                      .packed_bytes = conv_bytes,
                                      .pack_key = conv_key,
                                      .pack_tasks = conv_tasks,
                                      .pack = conv_pack};
/* Serves all, and is never to be taken: its steps may find an index out of range. */
static const hn_kernel gather_kernel = {.name = "posing_gather", .order = ""};
static const hn_kernel *const gather_rows[] = {&gather_kernel};
static const hn_kernel *const map_rows[] = {&map_kernel};
static const hn_kernel *const conv_rows[] = {&conv_kernel};
static const hn_device_family families[] = {{&hn_map_f32_family, map_rows, 1},
                                            {&hn_conv_f32_family, conv_rows, 1},
                                            {&hn_gather_rows_family, gather_rows, 1}};
static const hn_device posing_device = {.name = "posing",
                                        .ctx = &posing,
                                        .allocate = take,
                                        .release = give,
                                        .copy_to = copy_to,
                                        .copy_from = copy_from,
                                        .wait = wait_for_all,
                                        .families = families,
                                        .n_families = 3};

static hone_status find_device(const hn_device **out, hn_error *e) {
    (void)e;
    *out = &posing_device;
    return HONE_OK;
}

/* The row that a device needs in the table of backends. */
static const hn_backend backend = {.name = "posing",
                                   .help = "the host, posing as a device",
                                   .executor = &hn_executor_engine,
                                   .device = find_device};

/* ---- running ---- */

enum { MOST_OUT = 4 };

typedef struct results {
    int n;
    char *data[MOST_OUT];
    size_t bytes[MOST_OUT];
} results;

static void forget(results *r) {
    for (int i = 0; i < MOST_OUT; i++) free(r->data[i]);
    *r = (results){0};
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    results *r = ctx;
    (void)e;
    free(r->data[i]);
    r->bytes[i] = hone_value_bytes(dtype, rank, dims);
    *to = r->data[i] = malloc(r->bytes[i] + 1);
    return HONE_OK;
}

static hone_status show(void *ctx, int i, const hn_tensor *t, hn_error *e) {
    void *to;
    HN_TRY(place(ctx, i, t->dtype, t->rank, t->dims, &to, e));
    memcpy(to, t->data, t->bytes);
    return HONE_OK;
}

/* Labels of the steps of a run, those on the device in brackets. */
typedef struct steps {
    char text[2000];
    int n, copies;
} steps;

static void note(void *ctx, const hn_step_time *t) {
    steps *s = ctx;
    bool copy = strcmp(t->step->facts->label, "Copy") == 0;
    bool there = t->step->space == HN_SPACE_DEVICE && !copy;
    s->copies += copy;
    if (copy && strcmp(t->step->facts->why, "from host to posing") != 0)
        assert_string_equal(t->step->facts->why, "from posing to host");
    snprintf(s->text + strlen(s->text), sizeof s->text - strlen(s->text), "%s%s%s%s",
             s->n++ > 0 ? " " : "", there ? "[" : "", t->step->facts->label, there ? "]" : "");
}

static void pose(int takes) {
    assert_int_equal(posing.live, 0);
    posing = (device){.families = takes, .refuses = -1};
}

typedef struct way {
    int threads;
    bool parallel, fuse, shows, no_sharing;
    bool odd; /* constants lie at odd addresses, as in a file */
} way;

static hn_engine_options options(hn_pool *pool, way w) {
    return (hn_engine_options){.alloc = &model_mem,
                               .pool = pool,
                               .isa = hn_isa_available(),
                               .seed = 1,
                               .parallel = w.parallel,
                               .shows = w.shows,
                               .no_sharing = w.no_sharing,
                               .no_simplify = true,
                               .no_fuse = !w.fuse};
}

static hone_status run(const hn_runner *r, way w, hn_tensor **in, results *out, hn_error *e) {
    const hn_tensor *const *given = (const hn_tensor *const *)in;
    return w.shows ? hn_runner_run_shown(r, given, show, out, e)
                   : hn_runner_run(r, given, place, out, NULL, NULL, e);
}

/* Moves the constants of the graph to odd addresses of a block that the caller frees. */
static char *move_constants(const hn_graph *g) {
    char *moved = calloc(1, 1 << 16), *at = moved + 1;
    for (int i = 0; i < g->n_values; i++) {
        hn_tensor *old = g->values[i]->constant;
        if (old == NULL) continue;
        memcpy(at, old->data, old->bytes);
        assert_int_equal(hn_tensor_create_borrowed(&g->values[i]->constant, &model_mem, old->dtype,
                                                   old->rank, old->dims, at, &err),
                         HONE_OK);
        at += (old->bytes + 1) / 2 * 2;
        hn_tensor_unref(old);
    }
    return moved;
}

/* Runs the model on the CPU and with the device: the same bits, twice. Inputs whose name begins with
 * w are constants. Returns the steps, and what
 * a run copied in *to and *from; the memory in *use, which may be NULL. */
static steps ran(const char *text, way w, hn_engine_memory *use, int *to, int *from) {
    hn_model *m = model_inferred(text);
    hn_pool *pool;
    hn_rng rng;
    hn_tensor *in[MOST_OUT] = {0};
    results want = {0}, got = {0};
    steps s = {.text = ""};
    hn_runner cpu, dev;
    hn_engine_memory none;
    char *odd = w.odd ? move_constants(m->graph) : NULL;
    hn_rng_init(&rng, 7);
    for (int i = 0; i < m->graph->n_inputs; i++) {
        hn_value *v = m->graph->inputs[i];
        hn_tensor *x = random_tensor_of(v, &rng);
        if (v->name[0] == 'w')
            hn_value_set_constant(v, x);
        else
            in[i] = x;
    }
    assert_int_equal(hn_pool_create(&pool, w.threads > 0 ? w.threads : 1, &model_mem, &err), 0);
    hn_engine_options o = options(pool, w);
    assert_int_equal(hn_runner_create(&cpu, NULL, m, &o, &err), HONE_OK);
    assert_int_equal(hn_runner_create(&dev, &backend, m, &o, &err), HONE_OK);
    if (run(&cpu, w, in, &want, &err) != HONE_OK) fail_msg("%s", err.text);
    for (int k = 0; k < 2; k++) {
        size_t before = atomic_load(&model_mem.taken), live = posing.live;
        posing.to = posing.from = posing.waits = 0;
        if (run(&dev, w, in, &got, &err) != HONE_OK) fail_msg("%s", err.text);
        for (int i = 0; i < m->graph->n_outputs; i++) {
            assert_int_equal(got.bytes[i], want.bytes[i]);
            assert_memory_equal(got.data[i], want.data[i], want.bytes[i]);
        }
        /* Constants are copied before the first run, and never again. */
        if (k == 0) continue;
        *to = posing.to, *from = posing.from;
        assert_int_equal(posing.live, live);
        if (hn_engine_memory_use(dev.self).planned && !w.shows)
            assert_int_equal(atomic_load(&model_mem.taken), before);
    }
    if (!w.shows)
        assert_int_equal(
            hn_runner_run(&dev, (const hn_tensor *const *)in, place, &got, note, &s, &err),
            HONE_OK);
    if (!w.shows) assert_int_equal(s.copies, *to + *from);
    hn_runner_memory(&dev, use != NULL ? use : &none);
    hn_runner_destroy(&dev);
    hn_runner_destroy(&cpu);
    hn_pool_destroy(pool);
    for (int i = 0; i < MOST_OUT; i++) hn_tensor_unref(in[i]);
    forget(&want);
    forget(&got);
    free(odd);
    assert_int_equal(posing.astray, 0);
    assert_int_equal(posing.live, 0);
    return s;
}

/* The same, with these steps and so many copies. */
static void expect(const char *text, const char *wanted, int to, int from) {
    int found_to, found_from;
    steps s = ran(text, (way){0}, NULL, &found_to, &found_from);
    assert_string_equal(s.text, wanted);
    assert_int_equal(found_to, to);
    assert_int_equal(found_from, from);
}

/* ---- tests ---- */

/* Without this the rest proves little. */
static void the_host_cannot_touch_the_device(void **state) {
    (void)state;
    pose(BOTH);
    volatile float *there = take(&posing, 4);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(0);
        _exit(there[0] == 1 ? 0 : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    give(&posing, (void *)(uintptr_t)there);
    float mine = 1;
    assert_null(real(&posing, &mine));
    assert_int_equal(posing.astray, 1);
}

static void a_chain_stays_on_the_device(void **state) {
    (void)state;
    hn_engine_memory use;
    int to, from;
    pose(BOTH);
    expect("m (float[4,16] x) => (float[4,16] y) { a = Relu (x) b = Exp (a) y = Tanh (b) }",
           "Copy [Relu] [Exp] [Tanh] Copy", 1, 1);
    pose(BOTH);
    ran("m (float[4,16] x) => (float[4,16] y) { a = Relu (x) b = Exp (a) y = Tanh (b) }", (way){0},
        &use, &to, &from);
    /* The copy of x, whose place its results take, and what is copied out. */
    assert_int_equal(use.slab, 0);
    assert_true(use.device_slab > SCRATCH);
    assert_true(use.device_slab <= 2 * 4 * 16 * sizeof(float) + hn_aligned(SCRATCH));
    size_t shared = use.device_slab;
    pose(BOTH);
    ran("m (float[4,16] x) => (float[4,16] y) { a = Relu (x) b = Exp (a) y = Tanh (b) }",
        (way){.no_sharing = true}, &use, &to, &from);
    assert_true(use.device_slab > shared);
    assert_int_equal(use.device_weights, 0);
}

static void nothing_changes_without_kernels_of_the_device(void **state) {
    (void)state;
    pose(0);
    expect("m (float[4,16] x) => (float[4,16] y) { a = Relu (x) y = Softmax (a) }", "Relu Softmax",
           0, 0);
    assert_int_equal(posing.launched, 0);
    assert_int_equal(posing.waits, 0);
}

static void spaces_meet(void **state) {
    (void)state;
    pose(BOTH);
    expect(
        "m (float[4,16] x) => (float[4,16] y)"
        " { a = Relu (x) b = Softmax (a) y = Exp (b) }",
        "Copy [Relu] Copy Softmax Copy [Exp] Copy", 2, 2);
    /* A value is copied once for all that read it there. */
    pose(BOTH);
    expect(
        "m (float[4,16] x) => (float[4,16] y, float[4,16] z, float[4,16] v)"
        " { a = Relu (x) y = Softmax (a) z = Softmax <axis: int = 0> (a) b = Exp (a)"
        "   v = Add (b, x) }",
        "Copy [Relu] Copy Softmax Softmax [Exp] [Add] Copy", 1, 2);
    /* An output that the device writes is copied behind it; the host then reads that. */
    pose(BOTH);
    expect("m (float[4,16] x) => (float[4,16] y, float[4,16] z) { y = Relu (x) z = Softmax (y) }",
           "Copy [Relu] Copy Softmax", 1, 1);
    /* An output of the host that the device reads. */
    pose(BOTH);
    expect("m (float[4,16] x) => (float[4,16] y, float[4,16] z) { y = Softmax (x) z = Relu (y) }",
           "Softmax Copy [Relu] Copy", 1, 1);
}

/* A buffer that steps of both spaces write, each a part of it. */
static void buffers_are_written_in_parts(void **state) {
    (void)state;
    int to, from;
    static const char *const graphs[] = {
        "m (float[4,16] x) => (float[12,16] y, float[12,16] z)"
        " { a = Relu (x) b = Softmax (x) c = Exp (x) y = Concat <axis: int = 0> (a, b, c)"
        "   z = Exp (y) }",
        "m (float[4,16] x) => (float[12,16] y, float[12,16] z)"
        " { a = Softmax (x) b = Relu (x) c = Softmax (b) v = Concat <axis: int = 0> (a, b, c)"
        "   y = Exp (v) z = Softmax (v) }"};
    static const char *const wanted[] = {"Copy [Relu] Copy Softmax Copy [Exp] Copy [Exp] Copy",
                                         "Softmax Copy Copy [Relu] Copy Softmax Copy [Exp] Copy "
                                         "Softmax"};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        for (int fuse = 0; fuse < 2; fuse++) {
            pose(BOTH);
            steps s = ran(graphs[i], (way){.fuse = fuse}, NULL, &to, &from);
            assert_string_equal(s.text, wanted[i]);
        }
}

#define WEIGHTS                                                         \
    " <float[8,16] w = {"                                               \
    "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,"  \
    "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,"  \
    "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,"  \
    "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}," \
    " float[16] v = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>"

static void constants_are_copied_once(void **state) {
    (void)state;
    hn_engine_memory use;
    int to, from;
    pose(BOTH);
    steps s = ran("m (float[4,8] x) => (float[4,16] y)" WEIGHTS
                  " { a = MatMul (x, w) b = Mul (a, v) y = Sub (b, v) }",
                  (way){0}, &use, &to, &from);
    assert_string_equal(s.text, "Copy [MatMul] [Mul] [Sub] Copy");
    assert_int_equal(to, 1);
    assert_int_equal(from, 1);
    assert_true(use.device_weights >= (8 * 16 + 16) * sizeof(float));
    assert_int_equal(use.weights, 0);
    /* One that the host reads, too. */
    pose(BOTH);
    s = ran("m (float[1,16] x) => (float[1,16] y, float[16] z)" WEIGHTS
            " { y = Mul (x, v) z = Softmax (v) }",
            (way){0}, &use, &to, &from);
    assert_string_equal(s.text, "Copy [Mul] Copy Softmax");
    assert_int_equal(to, 1);
    assert_int_equal(from, 1);
    assert_int_equal(use.device_weights, 16 * sizeof(float));
    assert_int_equal(use.weights, 0);
    /* From an odd address both have a copy. */
    pose(BOTH);
    ran("m (float[1,16] x) => (float[1,16] y, float[16] z)" WEIGHTS
        " { y = Mul (x, v) z = Softmax (v) }",
        (way){.odd = true}, &use, &to, &from);
    assert_int_equal(use.device_weights, 16 * sizeof(float));
    assert_int_equal(use.weights, 16 * sizeof(float));
}

/* Weights that are not constant are packed by the host on every run, and copied then. */
static void computed_weights_are_packed_by_the_host(void **state) {
    (void)state;
    int to, from;
    pose(BOTH);
    steps s =
        ran("m (float[2,8,20,20] x, float[64,8,3,3] k) => (float[2,64,18,18] y)"
            " { a = Relu (k) b = Conv (x, a) y = Relu (b) }",
            (way){0}, NULL, &to, &from);
    assert_non_null(strstr(s.text, "Copy [Relu]"));
    assert_non_null(strstr(s.text, "Copy Pack Copy Copy [Conv] [Relu] Copy"));
    assert_int_equal(to, 3);
    assert_int_equal(from, 2);
}

static void a_step_that_is_refused_runs_on_the_host(void **state) {
    (void)state;
    static const char graph[] =
        "m (float[4,16] x) => (float[4,16] y) { a = Relu (x) b = Exp (a) y = Tanh (b) }";
    static const char *const wanted[] = {"Relu Copy [Exp] [Tanh] Copy",
                                         "Copy [Relu] Copy Exp Copy [Tanh] Copy",
                                         "Copy [Relu] [Exp] Copy Tanh"};
    static const int to[] = {1, 2, 1}, from[] = {1, 2, 1};
    for (int i = 0; i < 3; i++) {
        pose(BOTH);
        posing.refuses = i;
        expect(graph, wanted[i], to[i], from[i]);
    }
    pose(BOTH);
    expect(
        "m (float[4,16] x, int64[2] at) => (float[2,16] y)"
        " { a = Relu (x) b = Gather (a, at) y = Exp (b) }",
        "Copy [Relu] Copy Gather Copy [Exp] Copy", 2, 2);
}

/* Rows of other lengths make other plans, which share constants and memory of the device. */
static void plans_share_the_device(void **state) {
    (void)state;
    hn_model *m = model_inferred("m (float[n,8] x) => (float[n,16] y)" WEIGHTS
                                 " { a = MatMul (x, w) b = Softmax (a) y = Add (b, v) }");
    hn_pool *pool;
    hn_runner r[2];
    hn_engine_memory use;
    size_t weights = 0;
    pose(BOTH);
    assert_int_equal(hn_pool_create(&pool, 2, &model_mem, &err), HONE_OK);
    hn_engine_options o = options(pool, (way){0});
    assert_int_equal(hn_runner_create(&r[0], NULL, m, &o, &err), HONE_OK);
    assert_int_equal(hn_runner_create(&r[1], &backend, m, &o, &err), HONE_OK);
    for (int64_t rows = 1; rows < 40; rows++) {
        hn_tensor *x, *y[2];
        int64_t dims[] = {rows, 8};
        assert_int_equal(
            hn_tensor_create(&x, &model_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, 2, dims, &err), 0);
        for (int64_t i = 0; i < rows * 8; i++) ((float *)x->data)[i] = (float)(i % 7) - 3;
        const hn_tensor *in[] = {x};
        for (int k = 0; k < 2; k++)
            assert_int_equal(hn_runner_run_tensors(&r[k], in, &y[k], &err), HONE_OK);
        assert_true(hn_tensor_equal(y[0], y[1]));
        hn_runner_memory(&r[1], &use);
        if (rows == 1) weights = use.device_weights;
        /* Few forms of the weights serve all lengths. */
        assert_true(use.device_weights <= 4 * weights);
        assert_true(posing.live >= use.device_weights + use.device_slab);
        for (int k = 0; k < 2; k++) hn_tensor_unref(y[k]);
        hn_tensor_unref(x);
    }
    for (int k = 0; k < 2; k++) hn_runner_destroy(&r[k]);
    hn_pool_destroy(pool);
    assert_int_equal(posing.live, 0);
}

/* Engines of one model with one device have its constants there in common; the host's own do not
 * take them. */
static void engines_share_constants(void **state) {
    (void)state;
    hn_model *m = model_inferred("m (float[4,8] x) => (float[4,16] y)" WEIGHTS
                                 " { a = MatMul (x, w) b = Softmax (a) y = Add (b, v) }");
    hn_prepared_list list = {.lock = PTHREAD_MUTEX_INITIALIZER};
    hn_rng rng;
    hn_pool *pool;
    hn_runner r[3];
    hn_engine_memory use[3];
    hn_tensor *y[3];
    hn_rng_init(&rng, 7);
    hn_tensor *x = random_tensor_of(m->graph->inputs[0], &rng);
    const hn_tensor *in[] = {x};
    pose(BOTH);
    assert_int_equal(hn_pool_create(&pool, 1, &model_mem, &err), HONE_OK);
    hn_engine_options o = options(pool, (way){0});
    o.prepared = &list;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(hn_runner_create(&r[k], k < 2 ? &backend : NULL, m, &o, &err), HONE_OK);
        assert_int_equal(hn_runner_run_tensors(&r[k], in, &y[k], &err), HONE_OK);
        assert_true(hn_tensor_equal(y[0], y[k]));
        hn_runner_memory(&r[k], &use[k]);
    }
    assert_true(use[0].device_weights > 0);
    assert_int_equal(use[1].device_weights, use[0].device_weights);
    assert_int_equal(posing.live, use[0].device_weights + 2 * use[0].device_slab);
    assert_int_equal(use[2].device_weights, 0);
    assert_true(use[2].weights > 0);
    for (int k = 0; k < 3; k++) {
        hn_runner_destroy(&r[k]);
        hn_tensor_unref(y[k]);
    }
    hn_tensor_unref(x);
    hn_pool_destroy(pool);
    assert_int_equal(posing.live, 0);
}

/* Cut into parts, and with bodies: every part has a plan of its own. */
static void parts_and_bodies_use_the_device(void **state) {
    (void)state;
    static const char *const graphs[] = {
        "m (float[4,8] x) => (float[n] y)" WEIGHTS
        " { a = MatMul (x, w) b = Relu (a) at = NonZero (b)"
        "   rows = Transpose <perm: ints = [1, 0]> (at) some = GatherND (b, rows) y = Exp (some) }",
        "m (float[4,8] x, bool c) => (float[4,16] y)" WEIGHTS
        " { a = Relu (x) b = If (c) <then_branch = yes () => (p) { q = MatMul (a, w) p = Exp (q) },"
        "   else_branch = no () => (r) { s = MatMul (a, w) r = Tanh (s) }> y = Softmax (b) }",
        "m (float[4,16] x) => (float[4,16] y) <int64 times = {3}, bool go = {1},"
        " float[16] u = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}> { y = Loop (times, go, x) <body = again"
        " (int64 i, bool c, float[4,16] p) => (c, r) { t = Transpose <perm: ints = [1, 0]> (p)"
        "   s = MatMul (p, t) q = MatMul (s, p) v = Tanh (q) r = Mul (v, u) }> }"};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        for (int threads = 1; threads < 3; threads++) {
            int to, from;
            pose(BOTH);
            steps s = ran(graphs[i], (way){.threads = threads, .fuse = true}, NULL, &to, &from);
            assert_non_null(strchr(s.text, '['));
            assert_true(to > 0 && from > 0);
        }
}

#define MIXED                                                                         \
    "m (float[4,8] x) => (float[4,16] y, float[4,16] z, float[4,16] v2)" WEIGHTS      \
    " { a = MatMul (x, w) b = Softmax (a) c = Add (b, v) d = Exp (c) e = Softmax (d)" \
    "   f = Add (e, a) y = Tanh (f) g = Relu (a) z = Softmax (g) v2 = Mul (g, z) }"

static void other_ways_to_run(void **state) {
    (void)state;
    static const way ways[] = {{.threads = 2},
                               {.threads = 2, .parallel = true},
                               {.threads = 3, .parallel = true, .fuse = true},
                               {.fuse = true},
                               {.shows = true},
                               {.shows = true, .fuse = true},
                               {.no_sharing = true}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int takes = MAP; takes <= BOTH; takes++) {
            int to, from;
            pose(takes);
            ran(MIXED, ways[i], NULL, &to, &from);
            assert_true(posing.launched > 0 && posing.waits > 0);
        }
    /* Branches that would run at the same time. */
    int to, from;
    pose(BOTH);
    steps s =
        ran("m (float[64,512] x) => (float[64,512] y, float[64,512] z)"
            " { a = Exp (x) b = Tanh (x) c = Softmax (x) d = Softmax <axis: int = 0> (x)"
            "   y = Add (a, b) z = Add (c, d) }",
            (way){.threads = 2, .parallel = true}, NULL, &to, &from);
    assert_non_null(strstr(s.text, "[Exp] [Tanh]"));
}

/* Convolutions that memory binds run on the host as one step, some rows at a time. */
static void steps_of_the_device_are_not_joined(void **state) {
    (void)state;
    static const char graph[] =
        "m (float[1,5,72,71] x, float[64,5,1,1] w, float[64,1,3,3] wd) => (float[1,64,72,71] y)"
        " { a = Conv (x, w) y = Conv <group = 64, pads = [1, 1, 1, 1]> (a, wd) }";
    int to, from;
    pose(0);
    steps s = ran(graph, (way){.fuse = true}, NULL, &to, &from);
    assert_non_null(strstr(s.text, "Conv, Conv"));
    pose(BOTH);
    s = ran(graph, (way){.fuse = true}, NULL, &to, &from);
    assert_non_null(strstr(s.text, "[Conv] [Conv]"));
}

static hone_status made_and_run(hn_model *m, hn_pool *pool, const hn_tensor *const *in) {
    hn_runner r;
    results got = {0};
    hn_engine_options o = options(pool, (way){0});
    HN_TRY(hn_runner_create(&r, &backend, m, &o, &err));
    hone_status status = hn_runner_run(&r, in, place, &got, NULL, NULL, &err);
    hn_runner_destroy(&r);
    forget(&got);
    return status;
}

static void failures_leave_nothing_behind(void **state) {
    (void)state;
    hn_model *m = model_inferred(MIXED);
    hn_rng rng;
    hn_pool *pool;
    hn_rng_init(&rng, 7);
    hn_tensor *x = random_tensor_of(m->graph->inputs[0], &rng);
    const hn_tensor *in[] = {x};
    assert_int_equal(hn_pool_create(&pool, 1, &model_mem, &err), HONE_OK);
    pose(BOTH);
    posing.full = true;
    assert_int_equal(made_and_run(m, pool, in), HONE_E_NOMEM);
    assert_non_null(strstr(err.text, "posing"));
    posing.full = false;
    posing.broken = true;
    assert_int_equal(made_and_run(m, pool, in), HONE_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "broken"));
    posing.broken = false;
    hone_status status = HONE_E_NOMEM;
    for (int n = 0; status == HONE_E_NOMEM; n++) {
        atomic_store(&model_mem.fail_after, n);
        status = made_and_run(m, pool, in);
        assert_int_equal(posing.live, 0);
    }
    atomic_store(&model_mem.fail_after, -1);
    assert_int_equal(status, HONE_OK);
    hn_tensor_unref(x);
    hn_pool_destroy(pool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_host_cannot_touch_the_device),
        TEST(a_chain_stays_on_the_device),
        TEST(nothing_changes_without_kernels_of_the_device),
        TEST(spaces_meet),
        TEST(buffers_are_written_in_parts),
        TEST(constants_are_copied_once),
        TEST(computed_weights_are_packed_by_the_host),
        TEST(a_step_that_is_refused_runs_on_the_host),
        TEST(plans_share_the_device),
        TEST(engines_share_constants),
        TEST(parts_and_bodies_use_the_device),
        TEST(other_ways_to_run),
        TEST(steps_of_the_device_are_not_joined),
        TEST(failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

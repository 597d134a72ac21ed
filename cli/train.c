#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "write.h"

extern const verb verb_distill;

/* What became of an epoch. */
typedef struct epoch_line {
    int64_t epoch, steps;
    double loss, rate, val, rate_of_samples;
} epoch_line;

/* The loss step by step, thinned: when the list is full, each two neighbours become one. */
enum { MOST_LOSSES = 1024 };
typedef struct loss_curve {
    int64_t stride, in_sum; /* steps of a number; of those, how many the next one has so far */
    double sum;
    size_t n;
    double at[MOST_LOSSES];
} loss_curve;

typedef struct job {
    const char *input, *output, *val_spec, *folder;
    const char *student; /* how it is made of the teacher; NULL: it is a file */
    bool resume, keep_last;
    int64_t patience, save_every;
    hone_train_options o;
    hone_session_options session;
    hone_model *model, *best;
    const char *const *teacher_paths; /* n_teachers of o */
    hone_model **teachers;
    hone_dataset *data, *val;
    hone_trainer *trainer;
    hone_train_place at;
    const char *loss;
    char metric[64];
    bool share, lower_better;
    double kept_val, seconds, samples_per_second, trained; /* trained: seconds in steps */
    int64_t kept_epoch, samples;
    size_t n_lines;
    epoch_line *lines;
    int64_t first_step;
    loss_curve losses;
    events events;
    progress bar;
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- options ---- */

static bool read_paths(const args *a, job *j) {
    j->student = value_of(a, "--student");
    j->input = j->student != NULL ? j->student : a->argument[a->n - 1];
    j->output = value_of(a, "--output");
    j->val_spec = value_of(a, "--val");
    j->folder = value_of(a, "--checkpoint");
    j->resume = has(a, "--resume");
    const char *keep = value_of(a, "--keep");
    j->keep_last = keep != NULL ? strcmp(keep, "last") == 0 : j->val_spec == NULL;
    if (j->output == NULL)
        complain("--output FILE says where the trained model goes");
    else if (a->verb == &verb_distill && j->student == NULL && a->n < 2 &&
             value_of(a, "--self") == NULL)
        complain(
            "distill wants TEACHER and STUDENT, --student width=0.5 to make one, or --self 0.999 "
            "to teach the student by averages of itself");
    else if (value_of(a, "--data") == NULL)
        complain("%s wants --data KIND:PATH, for example --data synthetic:digits", a->verb->name);
    else if (keep != NULL && strcmp(keep, "last") != 0 && strcmp(keep, "best") != 0)
        complain("--keep wants best or last, got '%s'", keep);
    else if (j->val_spec == NULL && !j->keep_last)
        complain("--keep best wants --val SPEC, samples to judge by");
    else if (value_of(a, "--patience") != NULL && j->keep_last)
        complain("--patience wants --val SPEC and --keep best: it waits for a better model");
    else if (j->resume && j->folder == NULL)
        complain("--resume wants --checkpoint DIR, where training was saved");
    else
        return true;
    return false;
}

static bool read_numbers(const args *a, job *j) {
    hone_train_options *o = &j->o;
    int64_t readers = o->readers;
    bool read = number_of(a, "--epochs", 1, 1000000, &o->epochs) &&
                number_of(a, "--batch", 1, INT32_MAX, &o->batch) &&
                number_of(a, "--parts", 1, INT32_MAX, &o->parts) &&
                number_of(a, "--patience", 1, 1000000, &j->patience) &&
                number_of(a, "--save-every", 1, INT32_MAX, &j->save_every) &&
                real_of(a, "--lr", 1e-12, 1e6, &o->rate) &&
                real_of(a, "--warmup-epochs", 0, 1e6, &o->warmup) &&
                real_of(a, "--momentum", 0, 1, &o->momentum) &&
                real_of(a, "--weight-decay", 0, 1e3, &o->decay) &&
                real_of(a, "--label-smoothing", 0, 1, &o->smoothing) &&
                real_of(a, "--clip", 0, 1e30, &o->clip) &&
                real_of(a, "--ema", 0, 0.99999999, &o->average) &&
                real_of(a, "--temperature", 1e-3, 1e3, &o->temperature) &&
                real_of(a, "--alpha", 0, 1, &o->alpha) &&
                real_of(a, "--self", 1e-6, 0.999999, &o->self) &&
                real_of(a, "--confidence", 0, 1, &o->confidence) &&
                number_of(a, "--readers", 0, 64, &readers);
    o->readers = (int)readers;
    return read;
}

static bool read_options(const args *a, job *j) {
    hone_train_options_init(&j->o);
    if (!read_paths(a, j) || !session_options(a, &j->session) || !read_numbers(a, j)) return false;
    hone_train_options *o = &j->o;
    if (value_of(a, "--optimizer") != NULL) o->optimizer = value_of(a, "--optimizer");
    if (value_of(a, "--schedule") != NULL) o->schedule = value_of(a, "--schedule");
    o->loss = value_of(a, "--loss");
    o->augment = value_of(a, "--augment");
    o->freeze = value_of(a, "--freeze");
    o->freeze_statistics = has(a, "--freeze-statistics");
    o->class_weights = value_of(a, "--class-weights");
    o->rates = value_of(a, "--lr-scale");
    o->match = value_of(a, "--match");
    o->teacher_augment = value_of(a, "--teacher-augment");
    o->teacher_shares = value_of(a, "--teacher-shares");
    o->nesterov = has(a, "--nesterov");
    o->seed = j->session.seed;
    o->session = &j->session;
    return true;
}

/* ---- checkpoints ---- */

static char *in_folder(const job *j, const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", j->folder, name) < 0) path = must(NULL);
    return path;
}

/* Of several processes the first writes and speaks. */
static bool is_first(const job *j) { return j->at.rank == 0; }

static hone_status save(job *j, const char *name, hone_error *err) {
    if (j->folder == NULL || !is_first(j)) return HONE_OK;
    char *path = in_folder(j, name);
    hone_status status = hone_trainer_save(j->trainer, path, err);
    free(path);
    return status;
}

static bool make_folder(const job *j) {
    if (j->folder == NULL || mkdir(j->folder, 0777) == 0 || errno == EEXIST) return true;
    complain("cannot make %s: %s", j->folder, strerror(errno));
    return false;
}

/* ---- evaluation ---- */

/* The first metric that suits the model. */
static hone_status judge(job *j, hone_model *m, double *value, hone_error *err) {
    hone_session *s = NULL;
    hone_evaluation *e = NULL;
    hone_status status = hone_session_create(&s, m, &j->session, err);
    if (status == HONE_OK) status = hone_session_measure(s, j->val, NULL, &e, err);
    if (status == HONE_OK && e->n_metrics > 0) {
        snprintf(j->metric, sizeof j->metric, "%s", e->metrics[0].name);
        j->share = e->metrics[0].is_share;
        j->lower_better = e->metrics[0].lower_better;
        *value = e->metrics[0].value;
    }
    hone_evaluation_destroy(e);
    hone_session_destroy(s);
    return status;
}

static bool is_better(const job *j, double value) {
    if (isnan(j->kept_val)) return true;
    return j->lower_better ? value < j->kept_val : value > j->kept_val;
}

/* Takes m, which is then the job's, as the best so far. */
static hone_status keep_best(job *j, hone_model *m, double value, hone_error *err) {
    hone_model_destroy(j->best);
    j->best = m;
    j->kept_val = value;
    j->kept_epoch = j->at.epoch;
    return save(j, "best.onnx", err);
}

/* ---- what is kept of the course ---- */

static void add_loss(loss_curve *c, double loss) {
    c->sum += loss;
    if (++c->in_sum < c->stride) return;
    if (c->n == MOST_LOSSES) {
        c->n /= 2;
        for (size_t i = 0; i < c->n; i++) c->at[i] = (c->at[2 * i] + c->at[2 * i + 1]) / 2;
        c->stride *= 2;
        return; /* the number that is begun goes on */
    }
    c->at[c->n++] = c->sum / (double)c->in_sum;
    c->sum = 0;
    c->in_sum = 0;
}

static bool open_events(const args *a, job *j) {
    const char *folder = value_of(a, "--tensorboard");
    if (folder == NULL || !is_first(j) || events_open(&j->events, folder)) return true;
    complain("cannot write events to %s: %s", folder, strerror(errno));
    return false;
}

/* Of at most some 10000 steps. */
static bool log_step(job *j) {
    int64_t each = 1 + j->at.steps / 10000;
    if (j->at.step % each != 0) return true;
    return events_scalar(&j->events, "loss", j->at.step, j->at.loss) &&
           events_scalar(&j->events, "learning_rate", j->at.step, j->at.rate);
}

static bool log_epoch(job *j, const epoch_line *l) {
    char tag[80];
    snprintf(tag, sizeof tag, "val/%s", j->metric);
    return events_scalar(&j->events, "epoch/loss", l->steps, l->loss) &&
           events_scalar(&j->events, "epoch/samples_per_second", l->steps, l->rate_of_samples) &&
           (isnan(l->val) || events_scalar(&j->events, tag, l->steps, l->val));
}

/* Training goes on without events. */
static void give_up_events(job *j) {
    progress_end(&j->bar);
    complain("cannot write %s, no more events follow: %s", j->events.path, strerror(errno));
    events_close(&j->events);
}

/* ---- training ---- */

static void print_epoch(const job *j, const epoch_line *l, bool as_note) {
    char val[64] = "";
    if (!is_first(j)) return;
    if (j->val != NULL)
        snprintf(val, sizeof val, j->share ? "  %s %.2f%%" : "  %s %.6g", j->metric,
                 j->share ? 100 * l->val : l->val);
    char text[200];
    snprintf(text, sizeof text, "epoch %*lld/%lld  loss %.4f%s  %.0f samples/s  lr %.3g",
             j->at.epochs > 9 ? 2 : 1, (long long)l->epoch, (long long)j->at.epochs, l->loss, val,
             l->rate_of_samples, l->rate);
    if (as_note)
        note("%s", text);
    else
        line("%s", text);
    fflush(stdout);
}

static hone_status end_epoch(const args *a, job *j, double seconds, hone_error *err) {
    epoch_line *l = &j->lines[j->n_lines++];
    hone_model *m = NULL;
    *l = (epoch_line){.epoch = j->at.epoch,
                      .steps = j->at.step,
                      .loss = j->at.epoch_loss,
                      .rate = j->at.rate,
                      .val = NAN,
                      .rate_of_samples = (double)(j->at.per_epoch * j->at.samples) / seconds};
    progress_end(&j->bar);
    hone_status status = HONE_OK;
    if (j->val != NULL) status = hone_trainer_model(j->trainer, &m, err);
    if (status == HONE_OK && m != NULL) status = judge(j, m, &l->val, err);
    if (status == HONE_OK && m != NULL && !j->keep_last && is_better(j, l->val)) {
        status = keep_best(j, m, l->val, err);
        m = NULL;
    } else if (j->keep_last) {
        j->kept_val = l->val;
        j->kept_epoch = j->at.epoch;
    }
    hone_model_destroy(m);
    /* Last: a run that is killed before goes through the epoch again, and judges it again. */
    if (status == HONE_OK) status = save(j, "last.onnx", err);
    if (status == HONE_OK) print_epoch(j, l, has(a, "--json"));
    if (status == HONE_OK && !log_epoch(j, l)) give_up_events(j);
    return status;
}

static void say_last(const job *j) {
    char *last = j->folder != NULL ? in_folder(j, "last.onnx") : NULL;
    if (last != NULL && access(last, F_OK) == 0) note("the last checkpoint is %s", last);
    free(last);
}

static exit_code stop_here(job *j) {
    hone_error err;
    progress_end(&j->bar);
    if (j->folder == NULL) {
        note("nothing was saved: --checkpoint DIR keeps what is done so far");
    } else if (save(j, "last.onnx", &err) != HONE_OK) {
        return fail_with(&err);
    } else {
        note("%lld of %lld steps are saved in %s: the same command with --resume goes on",
             (long long)j->at.step, (long long)j->at.steps, j->folder);
    }
    return say_interrupted();
}

static bool has_waited(const job *j) {
    return j->patience > 0 && j->at.epoch - j->kept_epoch >= j->patience;
}

static exit_code run_steps(const args *a, job *j) {
    hone_error err;
    double begun = now(), epoch = 0;
    progress_start(&j->bar, "train", "samples");
    while (j->at.step < j->at.steps) {
        double t = now();
        if (!not_interrupted(NULL)) return stop_here(j);
        if (hone_trainer_step(j->trainer, &err) != HONE_OK) {
            progress_end(&j->bar);
            if (!not_interrupted(NULL)) return stop_here(j);
            exit_code code = fail_with(&err);
            say_last(j);
            return code;
        }
        hone_trainer_at(j->trainer, &j->at);
        epoch += now() - t;
        j->trained += now() - t;
        j->samples += j->at.samples;
        add_loss(&j->losses, j->at.loss);
        if (!log_step(j)) give_up_events(j);
        progress_step(&j->bar, j->at.step * j->at.samples, j->at.steps * j->at.samples);
        hone_status status = HONE_OK;
        if (j->at.in_epoch == 0) {
            status = end_epoch(a, j, epoch, &err);
            epoch = 0;
        } else if (j->save_every > 0 && j->at.step % j->save_every == 0) {
            status = save(j, "last.onnx", &err);
        }
        if (status != HONE_OK) {
            exit_code code = fail_with(&err);
            say_last(j);
            return code;
        }
        if (j->at.in_epoch == 0 && has_waited(j)) break;
    }
    progress_end(&j->bar);
    hone_trainer_end(j->trainer);
    j->seconds = now() - begun;
    j->samples_per_second = j->trained > 0 ? (double)j->samples / j->trained : 0;
    return EXIT_DONE;
}

/* ---- the whole ---- */

#include "schema/train.def"

#include "schema/distill.def" /* has the keys of train */

static exit_code finish(const args *a, job *j) {
    hone_model *m = j->best;
    hone_error err;
    hone_status status = HONE_OK;
    if (m == NULL) status = hone_trainer_model(j->trainer, &m, &err);
    if (status == HONE_OK) status = hone_model_save(m, j->output, NULL, &err);
    if (m != j->best) hone_model_destroy(m);
    if (status != HONE_OK) return fail_with(&err);
    if (!has(a, "--json")) {
        char bytes[32];
        line("%lld steps in %.1f s, %.0f samples/s, at most %s of memory; %s is %s",
             (long long)j->at.step, j->seconds, j->samples_per_second,
             human_bytes(j->at.peak_bytes, bytes), j->output,
             j->best != NULL ? "the best on --val" : "the last");
    }
    json out;
    results_begin(&out, a);
    if (a->verb == &verb_distill)
        write_distill(&out, a, j);
    else
        write_train(&out, a, j);
    return results_end(&out, a);
}

/* The best model so far, and the epoch it is of: a checkpoint like the last one. */
static hone_status resume_best(job *j, const char *path, hone_error *err) {
    hone_status status = hone_trainer_resume(j->trainer, path, err);
    if (status == HONE_OK) status = hone_trainer_model(j->trainer, &j->best, err);
    if (status == HONE_OK) status = judge(j, j->best, &j->kept_val, err);
    hone_trainer_at(j->trainer, &j->at);
    j->kept_epoch = j->at.epoch;
    return status;
}

/* Takes up what a folder holds. */
static hone_status resume(job *j, hone_error *err) {
    char *last = in_folder(j, "last.onnx"), *best = in_folder(j, "best.onnx");
    hone_status status = HONE_OK;
    if (access(last, F_OK) != 0) {
        note("%s holds no checkpoint yet: training begins anew", j->folder);
    } else {
        if (!j->keep_last && access(best, F_OK) == 0) status = resume_best(j, best, err);
        if (status == HONE_OK) status = hone_trainer_resume(j->trainer, last, err);
        hone_trainer_at(j->trainer, &j->at);
    }
    free(last);
    free(best);
    return status;
}

/* A student of the teacher's description with other values; true if it could be made. */
static bool make_student(job *j) {
    const char *text = hone_model_metadata(j->teachers[0], "hone.description");
    hone_make_options o;
    hone_error err;
    if (text == NULL) {
        complain(
            "%s was not made by hone make, which keeps a description to make students of: give "
            "the student as a file",
            j->teacher_paths[0]);
        return false;
    }
    char *settings = must(strdup(j->student));
    for (char *c = settings; *c != '\0'; c++)
        if (*c == ',') *c = ' ';
    hone_make_options_init(&o);
    o.text = text;
    o.settings = settings;
    o.seed = j->session.seed;
    hone_status status = hone_make(&j->model, "student", &o, &err);
    free(settings);
    if (status == HONE_OK) return true;
    fail_with(&err);
    return false;
}

/* All models but the last, which is trained. */
static hone_status open_models(const args *a, job *j, hone_error *err) {
    size_t n = (size_t)a->n - (j->student == NULL);
    j->teachers = must(calloc(n + 1, sizeof(hone_model *)));
    j->o.teachers = j->teachers;
    j->teacher_paths = a->argument;
    hone_status status = HONE_OK;
    if (j->student == NULL) status = load_model_at(a, j->input, &j->model, err);
    for (; j->o.n_teachers < n && status == HONE_OK; j->o.n_teachers++)
        status = load_model_at(a, a->argument[j->o.n_teachers], &j->teachers[j->o.n_teachers], err);
    return status;
}

static hone_status open_all(const args *a, job *j, hone_error *err) {
    hone_status status = hone_dataset_open(&j->data, value_of(a, "--data"), err);
    if (status == HONE_OK && j->val_spec != NULL)
        status = hone_dataset_open(&j->val, j->val_spec, err);
    if (status == HONE_OK) status = hone_trainer_create(&j->trainer, j->model, j->data, &j->o, err);
    if (status != HONE_OK) return status;
    hone_trainer_at(j->trainer, &j->at);
    if (!is_first(j)) set_verbosity(true, false);
    j->loss = hone_trainer_loss(j->trainer);
    return j->resume ? resume(j, err) : HONE_OK;
}

static void introduce(const job *j) {
    char n[32];
    note("%s parameters, loss %s, %s; an epoch is %lld steps of %lld samples",
         human_count(j->at.parameters, n), j->loss, j->o.optimizer, (long long)j->at.per_epoch,
         (long long)j->at.samples);
    if (j->at.parts > 1)
        note("a step is computed in %lld parts by %lld process%s", (long long)j->at.parts,
             (long long)j->at.ranks, j->at.ranks > 1 ? "es" : "");
    char of[64] = "", twice[160] = "";
    if (j->at.segments > 0) {
        if (j->session.max_memory > 0)
            snprintf(of, sizeof of, " of %s allowed",
                     human_bytes((int64_t)j->session.max_memory, n));
        snprintf(twice, sizeof twice,
                 ", activations of %lld segment%s are computed twice: %.0f %% more "
                 "multiply-accumulates",
                 (long long)j->at.segments, j->at.segments > 1 ? "s" : "", 100 * j->at.recomputed);
    }
    if (j->at.planned_bytes > 0)
        note("memory: %s planned%s%s", human_bytes(j->at.planned_bytes, n), of, twice);
}

static exit_code run(const args *a) {
    job j = {.losses.stride = 1, .kept_val = NAN};
    hone_error err;
    catch_interrupt();
    if (!read_options(a, &j)) return EXIT_USAGE;
    if (!make_folder(&j)) return EXIT_INPUT;
    j.session.keep_going = not_interrupted;
    j.lines = must(calloc((size_t)j.o.epochs + 1, sizeof *j.lines));
    hone_status status = open_models(a, &j, &err);
    exit_code code = EXIT_DONE;
    bool made = status != HONE_OK || j.student == NULL || make_student(&j);
    if (status == HONE_OK && made) status = open_all(a, &j, &err);
    if (!made) {
        code = EXIT_USAGE;
    } else if (status != HONE_OK) {
        code = fail_with(&err);
        if (status == HONE_E_ARG && j.model != NULL) code = EXIT_USAGE;
    } else if (open_events(a, &j)) {
        j.first_step = j.at.step;
        if (!has(a, "--json")) introduce(&j);
        code = run_steps(a, &j);
    } else {
        code = EXIT_INPUT;
    }
    if (code == EXIT_DONE && is_first(&j)) code = finish(a, &j);
    events_close(&j.events);
    hone_trainer_destroy(j.trainer);
    hone_model_destroy(j.best);
    for (size_t i = 0; i < j.o.n_teachers; i++) hone_model_destroy(j.teachers[i]);
    free(j.teachers);
    hone_dataset_destroy(j.val);
    hone_dataset_destroy(j.data);
    hone_model_destroy(j.model);
    free(j.lines);
    return code;
}

/* Those of both verbs. */
#define TRAINING_OPTIONS                                                                             \
    {"--data", 'd', "SPEC", "samples to use, with labels or targets: KIND:PATH[,key=value...]",      \
     false,    NULL},                                                                                \
        {"--val", 0, "SPEC", "samples to judge by: after each epoch", false, NULL},                  \
        {"--output", 'o', ">FILE", "write the result here: the trained model", false, NULL},         \
        {"--epochs", 0, "N", "how often to go through the data (default: 10)", false, NULL},         \
        {"--batch", 'b', "N", "samples per run (default: 64)", false, NULL},                         \
        {"--parts",                                                                                  \
         0,                                                                                          \
         "N",                                                                                        \
         "compute a batch in so many parts (default: 1, or one for each process of mpirun)",         \
         false,                                                                                      \
         NULL},                                                                                      \
        {"--optimizer", 0, "NAME", "adam (default), adamw or sgd", false, NULL},                     \
        {"--lr", 0, "R", "highest learning rate (default: 0.001, of sgd 0.1)", false, NULL},         \
        {"--schedule", 0,   "NAME", "of the rate: constant (default), cosine, one-cycle or step",    \
         false,        NULL},                                                                        \
        {"--warmup-epochs", 0, "N", "let the rate grow from 0 for so long", false, NULL},            \
        {"--momentum", 0, "M", "of sgd (default: 0.9)", false, NULL},                                \
        {"--nesterov", 0, NULL, "let sgd look ahead", false, NULL},                                  \
        {"--weight-decay", 0, "W", "of weights, not of biases and norms (default: 0)", false, NULL}, \
        {"--loss",                                                                                   \
         0,                                                                                          \
         "NAME",                                                                                     \
         "cross-entropy, bce, mse, l1, huber, kl or cosine (default: by labels or targets)",         \
         false,                                                                                      \
         NULL},                                                                                      \
        {"--label-smoothing", 0, "S", "spread this share of a label over all classes", false, NULL}, \
        {"--class-weights",                                                                          \
         0,                                                                                          \
         "W,...",                                                                                    \
         "what each class counts in the loss; or balanced: the rarer the more",                      \
         false,                                                                                      \
         NULL},                                                                                      \
        {"--lr-scale", 0,   "PATTERN=F,...", "factors of the learning rate by parameters' names",    \
         false,        NULL},                                                                        \
        {"--clip", 0, "N", "shorten all gradients together to this length", false, NULL},            \
        {"--ema", 0,                                                                                 \
         "D",     "write averages of the parameters over steps, that keep D of what they were",      \
         false,   NULL},                                                                             \
        {"--augment", 0,   "LIST", "change samples: flip:crop=4:cutmix (all in docs/train.md)",      \
         false,       NULL},                                                                         \
        {"--readers", 0,                                                                             \
         "N",         "threads that read and augment ahead (default: spare cores, 1 to 4)",          \
         false,       NULL},                                                                         \
        {"--freeze", 0, "PATTERN,...", "parameters that stay as they are", false, NULL},             \
        {"--freeze-statistics",                                                                      \
         0,                                                                                          \
         NULL,                                                                                       \
         "leave the statistics of BatchNormalization alone",                                         \
         false,                                                                                      \
         NULL},                                                                                      \
        {"--checkpoint", 0, "<>DIR", "save here after each epoch, and on Ctrl-C", false, NULL},      \
        {"--save-every", 0, "STEPS", "save within an epoch, too", false, NULL},                      \
        {"--resume", 0, NULL, "go on from what --checkpoint DIR holds", false, NULL},                \
        {"--keep", 0,   "WHICH", "write the best model on --val (default with it), or the last",     \
         false,    NULL},                                                                            \
        {"--patience", 0,   "EPOCHS", "stop when --val has not become better for so long",           \
         false,        NULL},                                                                        \
        {"--tensorboard", 0, ">DIR", "write event files of TensorBoard here", false, NULL},          \
        OPTION_PRECISION, OPTION_SEED, OPTION_THREADS, OPTION_RESERVE, OPTION_ISA, OPTION_BACKEND,   \
        OPTION_MAX_MEMORY, OPTION_TIME_LIMIT, OPTION_NO_MMAP, OPTION_JSON, OPTION_REPORT,            \
        OPTION_QUIET, OPTION_VERBOSE

static const option_def options[] = {TRAINING_OPTIONS, {0}};

static const option_def distill_options[] = {
    {"--student", 0, "NAME=VALUE,...",
     "make the student of the teacher's description (hone make): width=0.5,depth=0.75", false,
     NULL},
    {"--temperature", 0, "T", "divide scores by it before they are compared (default: 3)", false,
     NULL},
    {"--alpha", 0, "A", "the share of teachers' answers in the loss (default: 0.7)", false, NULL},
    {"--match", 0, "KIND:TEACHER=STUDENT,...",
     "values to be made alike: KIND is features, cosine, attention or relation; *WEIGHT may follow",
     false, NULL},
    {"--teacher-shares", 0, "W,...",
     "weights of several teachers (default: 1 each); 2@0-4: asked about classes 0 to 4 alone",
     false, NULL},
    {"--self", 0, "D",
     "let the student teach itself by averages of its parameters, that keep D of what they were",
     false, NULL},
    {"--teacher-augment", 0, "LIST",
     "change samples like this for teachers, and by --augment for the student", false, NULL},
    {"--confidence", 0, "C",
     "leave out answers whose highest probability is under C (default: 0, none)", false, NULL},
    TRAINING_OPTIONS,
    {0},
};

const verb verb_train = {
    .name = "train",
    .usage = "MODEL --data SPEC -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "train a model on data with labels or targets",
    .options = options,
    .run = run,
};

const verb verb_distill = {
    .name = "distill",
    .usage = "[TEACHER...] STUDENT --data SPEC -o FILE",
    .n_arguments = 1,
    .most_arguments = MOST_ARGUMENTS,
    .summary = "train a model to answer as others do",
    .options = distill_options,
    .run = run,
};

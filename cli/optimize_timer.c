/* Models are timed in a Python process: both ONNX Runtime and OpenVINO are installed as Python
 * packages most of the time, one script serves both, and a runtime that crashes takes only that
 * process with it. HONE_PYTHON names the interpreter; python3 by default.
 *
 * The script reads a line per request and answers with one:
 *
 *     open ID MODEL.onnx INPUTS.npz     ok                        inputs are arrays "0", "1" ...
 *     round ID ID SECONDS               times MEDIAN MEDIAN LEAST LEAST CALM      in ms
 *     close ID                          ok
 *
 * or with "error" and a text. Its first line is "ready" and the runtime's name and version, or
 * "error".
 */
#include "optimize_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rounds and turns last for the time that the process gets, so that on a busy machine they have as
 * many runs, unless they then take MOST times as long. On one thread, runs are timed so too: what
 * others use the core for meanwhile does not count. A turn is long enough for the threads of the
 * other model, which spin for a while, to have gone to sleep. A round is calm if no thread lost its
 * core during the fastest runs. */
static const char script[] =
    "import resource, signal, statistics, sys, time\n"
    "import numpy as np\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "answers, sys.stdout = sys.stdout, sys.stderr\n"
    "runtime, threads = sys.argv[1], int(sys.argv[2])\n"
    "TURN, LEAST_RUNS, MOST = 0.01, 3, 6\n"
    "clock = time.process_time if threads == 1 else time.perf_counter\n"
    "def in_onnxruntime(path, arrays):\n"
    "    options = ort.SessionOptions()\n"
    "    options.intra_op_num_threads = threads\n"
    "    options.log_severity_level = 4\n"
    "    session = ort.InferenceSession(path, options, providers=['CPUExecutionProvider'])\n"
    "    feed = dict(zip([i.name for i in session.get_inputs()], arrays))\n"
    "    return lambda: session.run(None, feed)\n"
    "def in_openvino(path, arrays):\n"
    "    settings = {'INFERENCE_NUM_THREADS': threads, 'PERFORMANCE_HINT': 'LATENCY'}\n"
    "    request = ov.Core().compile_model(path, 'CPU', settings).create_infer_request()\n"
    "    feed = dict(enumerate(arrays))\n"
    "    return lambda: request.infer(feed, share_inputs=True)\n"
    "def cores_taken():\n"
    "    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw\n"
    "def passed(since, seconds):\n"
    "    got = (time.process_time() - since[0]) / threads\n"
    "    return got >= seconds or time.perf_counter() - since[1] >= MOST * seconds\n"
    "def now():\n"
    "    return time.process_time(), time.perf_counter()\n"
    "def turn(run, found):\n"
    "    begun = now()\n"
    "    while True:\n"
    "        taken, start = cores_taken(), clock()\n"
    "        run()\n"
    "        end = clock()\n"
    "        found.append(((end - start) * 1e3, cores_taken() == taken))\n"
    "        if passed(begun, TURN):\n"
    "            return\n"
    "def play(runs, seconds):\n"
    "    found = [], []\n"
    "    begun, i = now(), 0\n"
    "    while not passed(begun, seconds) or len(found[1]) < LEAST_RUNS:\n"
    "        for k in (i % 2, 1 - i % 2):\n"
    "            turn(runs[k], found[k])\n"
    "        i += 1\n"
    "    medians = [statistics.median(ms for ms, _ in each) for each in found]\n"
    "    least = [min(each) for each in found]\n"
    "    calm = int(all(c for _, c in least))\n"
    "    return 'times', *medians, *(ms for ms, _ in least), calm\n"
    "models = {}\n"
    "def answer(words):\n"
    "    if words[0] == 'open':\n"
    "        with np.load(words[3]) as file:\n"
    "            arrays = [file[str(i)] for i in range(len(file.files))]\n"
    "        run = make(words[2], arrays)\n"
    "        for _ in range(3):\n"
    "            run()\n"
    "        models[words[1]] = run\n"
    "    if words[0] == 'round':\n"
    "        return play([models[w] for w in words[1:3]], float(words[3]))\n"
    "    if words[0] == 'close':\n"
    "        models.pop(words[1], None)\n"
    "    return ('ok',)\n"
    "def say(*words):\n"
    "    print(' '.join(' '.join(map(str, words)).split())[:400], file=answers, flush=True)\n"
    "try:\n"
    "    if runtime == 'onnxruntime':\n"
    "        import onnxruntime as ort\n"
    "        make, name = in_onnxruntime, 'ONNX Runtime ' + ort.__version__\n"
    "    else:\n"
    "        import openvino as ov\n"
    "        make, name = in_openvino, 'OpenVINO ' + ov.__version__.split('-')[0]\n"
    "    say('ready', name)\n"
    "except Exception as failure:\n"
    "    sys.exit(say('error', failure))\n"
    "for line in sys.stdin:\n"
    "    try:\n"
    "        say(*answer(line.rstrip('\\n').split('\\t')))\n"
    "    except Exception as failure:\n"
    "        say('error', failure)\n";

/* Those that the script knows how to run. */
static const char *const measurable[] = {"onnxruntime", "openvino"};

static hone_status fail(hone_error *err, const char *format, ...) HONE_PRINTF(2, 3);
static hone_status fail(hone_error *err, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    return err->status = HONE_E_UNSUPPORTED;
}

/* ---- files ---- */

static char *path_of(const runtime_timer *t, int id, const char *ending) {
    char *path;
    if (asprintf(&path, "%s/%d.%s", t->folder, id, ending) < 0) path = must(NULL);
    return path;
}

static void remove_files(const runtime_timer *t, int id) {
    static const char *const endings[] = {"onnx", "npz"};
    for (int i = 0; i < 2; i++) {
        char *path = path_of(t, id, endings[i]);
        unlink(path);
        free(path);
    }
}

static bool write_file(const char *path, const void *data, size_t bytes) {
    FILE *f = fopen(path, "wb");
    bool good = f != NULL && fwrite(data, 1, bytes, f) == bytes;
    if (f != NULL && fclose(f) != 0) good = false;
    return good;
}

/* Named by their places, which any name of an input could get in the way of. */
static hone_status write_inputs(const char *path, size_t n, const hone_value *in, hone_error *err) {
    hone_value *own = must(calloc(n + 1, sizeof *own));
    char(*names)[24] = must(calloc(n + 1, sizeof *names));
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        own[i] = in[i];
        own[i].name = names[i];
    }
    hone_status status = hone_npz_write(own, n, path, err);
    free(names);
    free(own);
    return status;
}

/* ---- requests ---- */

/* Its answer without the first word, which is `wanted`; NULL after saying in err why not. */
static const char *read_answer(runtime_timer *t, const char *wanted, char *text, int room,
                               hone_error *err) {
    size_t n = strlen(wanted);
    errno = 0;
    while (fgets(text, room, t->from) == NULL) {
        bool interrupted = errno == EINTR; /* the answer still comes */
        clearerr(t->from);
        if (interrupted) continue;
        fail(err, "%s: its process has ended", t->name);
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, wanted, n) == 0 && (text[n] == ' ' || text[n] == '\0'))
        return text + n + (text[n] == ' ');
    fail(err, "%s: %s", t->name, strncmp(text, "error ", 6) == 0 ? text + 6 : text);
    return NULL;
}

static hone_status open_model(void *ctx, int id, const void *onnx, size_t bytes, size_t n_in,
                              const hone_value *in, hone_error *err) {
    runtime_timer *t = ctx;
    char text[512], *model = path_of(t, id, "onnx"), *inputs = path_of(t, id, "npz");
    hone_status status = write_inputs(inputs, n_in, in, err);
    if (status == HONE_OK && !write_file(model, onnx, bytes))
        status = fail(err, "%s: %s", model, strerror(errno));
    if (status == HONE_OK) {
        fprintf(t->to, "open\t%d\t%s\t%s\n", id, model, inputs);
        if (read_answer(t, "ok", text, sizeof text, err) == NULL) status = err->status;
    }
    free(model);
    free(inputs);
    if (status != HONE_OK) remove_files(t, id);
    return status;
}

static hone_status play_round(void *ctx, int first, int second, double seconds, hone_round *out,
                              hone_error *err) {
    runtime_timer *t = ctx;
    char text[512];
    int calm;
    fprintf(t->to, "round\t%d\t%d\t%g\n", first, second, seconds);
    const char *times = read_answer(t, "times", text, sizeof text, err);
    if (times == NULL) return err->status;
    if (sscanf(times, "%lf %lf %lf %lf %d", &out->median_ms[0], &out->median_ms[1],
               &out->least_ms[0], &out->least_ms[1], &calm) != 5)
        return fail(err, "%s: its process answered '%s', wanted times", t->name, text);
    out->calm = calm != 0;
    return HONE_OK;
}

static void close_model(void *ctx, int id) {
    runtime_timer *t = ctx;
    char text[512];
    hone_error unused;
    fprintf(t->to, "close\t%d\n", id);
    read_answer(t, "ok", text, sizeof text, &unused);
    remove_files(t, id);
}

/* ---- the process ---- */

static bool make_folder(runtime_timer *t) {
    const char *where = getenv("TMPDIR");
    int n = snprintf(t->folder, sizeof t->folder, "%s/hone-optimize-XXXXXX",
                     where != NULL && *where != '\0' ? where : "/tmp");
    if (n < (int)sizeof t->folder && mkdtemp(t->folder) != NULL) return true;
    t->folder[0] = '\0';
    return false;
}

static void become(const char *python, const char *runtime, int threads, int from, int to) {
    char count[16];
    snprintf(count, sizeof count, "%d", threads);
    char *words[] = {(char *)python, "-c", (char *)script, (char *)runtime, count, NULL};
    if (dup2(from, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0) _exit(126);
    execvp(python, words);
    dprintf(STDOUT_FILENO, "error %s\n", strerror(errno));
    _exit(127);
}

/* One that has ended is noticed where it does not answer. */
static bool start_process(runtime_timer *t, const char *python, const char *runtime, int threads) {
    int there[2], back[2];
    if (pipe2(there, O_CLOEXEC) != 0) return false;
    if (pipe2(back, O_CLOEXEC) != 0) {
        close(there[0]);
        close(there[1]);
        return false;
    }
    fflush(NULL);
    signal(SIGPIPE, SIG_IGN);
    t->child = fork();
    if (t->child == 0) become(python, runtime, threads, there[0], back[1]);
    close(there[0]);
    close(back[1]);
    t->to = must(fdopen(there[1], "w"));
    t->from = must(fdopen(back[0], "r"));
    setvbuf(t->to, NULL, _IOLBF, 0);
    return t->child > 0;
}

static bool is_measurable(const char *runtime) {
    for (size_t i = 0; i < sizeof measurable / sizeof *measurable; i++)
        if (strcmp(measurable[i], runtime) == 0) return true;
    return false;
}

bool timer_start(runtime_timer *t, const char *runtime, int threads, char *why, size_t bytes) {
    const char *python = getenv("HONE_PYTHON");
    char text[512];
    hone_error err = {0};
    *t = (runtime_timer){0};
    if (!is_measurable(runtime)) {
        snprintf(why, bytes, "hone cannot measure %s", runtime);
        return false;
    }
    if (python == NULL || *python == '\0') python = "python3";
    snprintf(t->name, sizeof t->name, "%.60s", python);
    const char *name = NULL;
    if (make_folder(t) && start_process(t, python, runtime, threads))
        name = read_answer(t, "ready", text, sizeof text, &err);
    if (name == NULL) {
        snprintf(why, bytes,
                 "%s cannot be measured here (%.160s); HONE_PYTHON names a Python with it", runtime,
                 err.text[0] != '\0' ? err.text : strerror(errno));
        timer_end(t);
        return false;
    }
    snprintf(t->name, sizeof t->name, "%.100s", name);
    t->timer = (hone_timer){.size = sizeof t->timer,
                            .name = t->name,
                            .ctx = t,
                            .open = open_model,
                            .round = play_round,
                            .close = close_model};
    return true;
}

void timer_end(runtime_timer *t) {
    if (t->to != NULL) fclose(t->to);
    if (t->from != NULL) fclose(t->from);
    while (t->child > 0 && waitpid(t->child, NULL, 0) < 0 && errno == EINTR) continue;
    if (t->folder[0] != '\0' && rmdir(t->folder) != 0)
        note("'%s' was left: %s", t->folder, strerror(errno));
    *t = (runtime_timer){0};
}

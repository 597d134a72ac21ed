/* --precision: whether a model can run at it, and what it does to the outputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define MUCH 0.01 /* a mean difference that is warned of */

static bool is_quantized(hone_model *m) {
    hone_inspection *i;
    bool found = false;
    if (hone_model_inspect(m, NULL, 0, &i, NULL) != HONE_OK) return true; /* the session says why */
    for (size_t k = 0; k < i->n_ops; k++) {
        const char *op = i->ops[k].op;
        found |= strstr(op, "uantize") != NULL || strstr(op, "Integer") != NULL ||
                 strstr(op, "QLinear") != NULL || strstr(op, "QGemm") != NULL;
    }
    hone_inspection_destroy(i);
    return found;
}

exit_code check_precision(const args *a, hone_model *m, const char *name) {
    static const char *const names[] = {"f32", "f32-relaxed", "bf16", "f16", "int8", "auto", NULL};
    int i = 0;
    if (name == NULL) return EXIT_DONE;
    while (names[i] != NULL && strcmp(name, names[i]) != 0) i++;
    if (names[i] == NULL)
        complain("--precision wants f32, f32-relaxed, bf16, f16, int8 or auto, got '%s'", name);
    else if (strcmp(name, "f16") == 0)
        complain("f16 is not available on this machine; bf16 takes as many bits");
    else if (strcmp(name, "int8") != 0 || is_quantized(m))
        return EXIT_DONE;
    else
        complain("%s is a float model; hone quantize makes an int8 one of it", a->argument[0]);
    return EXIT_USAGE;
}

exit_code open_session(const args *a, hone_model *m, const hone_session_options *o,
                       hone_session **s) {
    hone_error err;
    exit_code code = check_precision(a, m, o->precision);
    if (code != EXIT_DONE || hone_session_create(s, m, o, &err) == HONE_OK) return code;
    code = fail_with(&err);
    return err.status == HONE_E_ARG && o->layer_precision != NULL ? EXIT_USAGE : code;
}

void note_choices(const hone_session *s) {
    const char *text;
    for (size_t i = 0; (text = hone_session_choice(s, i)) != NULL; i++) note("auto: %s", text);
}

void note_precision(const char *used, const char *why) {
    if (why != NULL && why[0] != '\0') note("computes in %s: %s", used, why);
}

void note_session_precision(hone_session *s) {
    note_precision(hone_session_precision(s), hone_session_why_precision(s));
}

/* Whether something is rounded to 16-bit floats, so that outputs are worth a look. */
static bool is_half(const hone_session_options *o) {
    return (o->precision != NULL && strcmp(o->precision, "bf16") == 0) ||
           (o->layer_precision != NULL && strstr(o->layer_precision, ":bf16") != NULL);
}

/* What is compared: numbers that are no indices. */
static bool is_compared(const hone_value *v) {
    return v->dtype == HONE_DTYPE_F32 || v->dtype == HONE_DTYPE_F64 || v->dtype == HONE_DTYPE_F16 ||
           v->dtype == HONE_DTYPE_BF16;
}

hone_status compare_with_f32(hone_model *m, const hone_session_options *o, const feed *f,
                             const hone_value *out, hone_difference *d, hone_error *err) {
    *d = (hone_difference){NAN, NAN};
    if (!is_half(o) || strcmp(o->backend, "cpu") != 0) return HONE_OK;
    hone_session_options plain = *o;
    plain.precision = "f32";
    plain.layer_precision = NULL;
    plain.kernels = plain.tune = plain.tune_cache = NULL;
    hone_session *s = NULL;
    hone_value *exact = must(calloc(f->n_out + 1, sizeof *exact));
    for (size_t i = 0; i < f->n_out; i++) exact[i].name = f->out[i].name;
    hone_status status = hone_session_create(&s, m, &plain, err);
    if (status == HONE_OK) status = hone_session_run(s, f->n_in, f->in, f->n_out, exact, err);
    for (size_t i = 0; i < f->n_out && status == HONE_OK; i++) {
        hone_difference one;
        if (!is_compared(&exact[i])) continue;
        status = hone_value_difference(&out[i], &exact[i], &one, err);
        if (status != HONE_OK) break;
        d->mean = fmax(d->mean, one.mean);
        d->max = fmax(d->max, one.max);
    }
    hone_value_release(exact, f->n_out);
    hone_session_destroy(s);
    free(exact);
    return status;
}

void note_difference(const hone_difference *d) {
    if (isnan(d->mean)) return;
    note("%soutputs differ from those of f32 by %.2g of the largest value on average, %.2g at most",
         d->mean > MUCH ? "warning: " : "", d->mean, d->max);
}

/* The names that programs linked with version 0.1 call. In hone.h they are inlines over the _sized
 * functions; the library goes on exporting them, and here they work with the structs of version
 * 0.1, whatever has been appended to them since: base/released.def has their sizes, and a layout of
 * NULL stands for them. Functions that are newer than version 0.1 have no row. */
#include "api/api.h"

/* The C name differs from the exported one, which hone.h has taken. */
#define RELEASED(type, name, params, body)               \
    HONE_API type released_##name params __asm__(#name); \
    type released_##name params { body; }

/* ---- options: name, last field ---- */

#define RELEASED_OPTIONS(name, last)                                        \
    RELEASED(void, hone_##name##_options_init, (hone_##name##_options * o), \
             hone_##name##_options_init_sized(o, HN_SIZE_TO(hone_##name##_options, last)))

RELEASED_OPTIONS(load, no_mmap)
RELEASED_OPTIONS(save, external_min)
RELEASED_OPTIONS(simplify, stop_after)
RELEASED_OPTIONS(session, layer_precision)
RELEASED_OPTIONS(loader, seed)
RELEASED_OPTIONS(eval, on_batch_ctx)
RELEASED_OPTIONS(compare, progress_ctx)
RELEASED_OPTIONS(bisect, progress_ctx)
RELEASED_OPTIONS(reduce, progress_ctx)
RELEASED_OPTIONS(quantize, max_file_bytes)
RELEASED_OPTIONS(machine, progress_ctx)
RELEASED_OPTIONS(profile, progress_ctx)
RELEASED_OPTIONS(optimize, candidate)
RELEASED_OPTIONS(report, names)

/* ---- structs that are returned: as they were ---- */

typedef struct tuning {
    int64_t problems, known, measured, changed;
    double ms;
} tuning;
typedef struct memory_use {
    size_t bytes[8];
} memory_use;
typedef struct timing_change {
    hone_change verdict;
    double then, now, ratio, margin;
} timing_change;

#define AS_IT_WAS(type, last) \
    static_assert(sizeof(type) == HN_SIZE_TO(hone_##type, last), "it was longer or shorter")
AS_IT_WAS(tuning, ms);
AS_IT_WAS(memory_use, bound_bytes);
AS_IT_WAS(timing_change, margin);

/* Body of a function that returns one of them: the call with `out`. */
#define RETURNED(type, call) \
    type out;                \
    call;                    \
    return out

RELEASED(tuning, hone_session_tuning, (const hone_session *session),
         RETURNED(tuning, hone_session_tuning_sized(session, (hone_tuning *)&out, NULL)))
RELEASED(memory_use, hone_session_memory, (const hone_session *session),
         RETURNED(memory_use, hone_session_memory_sized(session, (hone_memory_use *)&out, NULL)))
RELEASED(timing_change, hone_timing_compare, (const hone_timing *then, const hone_timing *now),
         RETURNED(timing_change,
                  hone_timing_compare_sized(then, now, (hone_timing_change *)&out, NULL)))
RELEASED(timing_change, hone_timing_judge,
         (const hone_timing *then, const hone_timing *series, size_t n, bool *more),
         RETURNED(timing_change,
                  hone_timing_judge_sized(then, series, n, more, (hone_timing_change *)&out, NULL)))

/* ---- the rest ---- */

RELEASED(void, hone_value_release, (hone_value * values, size_t n),
         hone_value_release_sized(values, n, NULL))
RELEASED(hone_status, hone_value_fill,
         (hone_value * v, hone_fill fill, uint64_t seed, hone_error *err),
         return hone_value_fill_sized(v, fill, seed, NULL, err))
RELEASED(hone_status, hone_value_difference,
         (const hone_value *a, const hone_value *b, hone_difference *out, hone_error *err),
         return hone_value_difference_sized(a, b, out, NULL, err))
RELEASED(hone_status, hone_npy_read, (hone_value * out, const char *path, hone_error *err),
         return hone_npy_read_sized(out, path, NULL, err))
RELEASED(hone_status, hone_npy_write, (const hone_value *v, const char *path, hone_error *err),
         return hone_npy_write_sized(v, path, NULL, err))
RELEASED(hone_status, hone_npz_read,
         (hone_value * *out, size_t *n, const char *path, hone_error *err),
         return hone_npz_read_sized(out, n, path, NULL, err))
RELEASED(hone_status, hone_npz_write,
         (const hone_value *v, size_t n, const char *path, hone_error *err),
         return hone_npz_write_sized(v, n, path, NULL, err))
RELEASED(hone_status, hone_model_set_dims,
         (hone_model * model, const hone_dim_setting *settings, size_t n, hone_error *err),
         return hone_model_set_dims_sized(model, settings, n, NULL, err))
RELEASED(hone_status, hone_model_input,
         (const hone_model *model, size_t i, hone_value_info *out, hone_error *err),
         return hone_model_input_sized(model, i, out, NULL, err))
RELEASED(hone_status, hone_model_output,
         (const hone_model *model, size_t i, hone_value_info *out, hone_error *err),
         return hone_model_output_sized(model, i, out, NULL, err))
RELEASED(hone_status, hone_model_inspect,
         (hone_model * model, const hone_dim_value *dims, size_t n_dims, hone_inspection **out,
          hone_error *err),
         return hone_model_inspect_sized(model, dims, n_dims, out, NULL, err))
RELEASED(hone_status, hone_pass, (size_t i, hone_pass_info *out, hone_error *err),
         return hone_pass_sized(i, out, NULL, err))
RELEASED(hone_status, hone_model_simplify,
         (hone_model * model, const hone_simplify_options *options, hone_pass_result *results,
          hone_error *err),
         return hone_model_simplify_sized(model, options, results, NULL, err))
RELEASED(hone_status, hone_session_prepare,
         (hone_session * session, size_t n_in, const hone_value *in, hone_error *err),
         return hone_session_prepare_sized(session, n_in, in, NULL, err))
RELEASED(hone_status, hone_session_run,
         (hone_session * session, size_t n_in, const hone_value *in, size_t n_out, hone_value *out,
          hone_error *err),
         return hone_session_run_sized(session, n_in, in, n_out, out, NULL, err))
RELEASED(hone_status, hone_session_profile,
         (hone_session * session, size_t n_in, const hone_value *in, size_t n_out, hone_value *out,
          void (*step)(void *ctx, const hone_step_info *info), void *ctx, hone_error *err),
         return hone_session_profile_sized(session, n_in, in, n_out, out, step, ctx, NULL, err))
RELEASED(hone_status, hone_dataset_read,
         (hone_dataset * dataset, const hone_model *model, int64_t first, int64_t n,
          hone_value *out, hone_error *err),
         return hone_dataset_read_sized(dataset, model, first, n, out, NULL, err))
RELEASED(hone_status, hone_dataset_targets,
         (hone_dataset * dataset, size_t i, int64_t first, int64_t n, hone_value *out,
          hone_error *err),
         return hone_dataset_targets_sized(dataset, i, first, n, out, NULL, err))
RELEASED(hone_status, hone_loader_create,
         (hone_loader * *out, hone_dataset *dataset, hone_model *model,
          const hone_loader_options *options, hone_error *err),
         return hone_loader_create_sized(out, dataset, model, options, NULL, err))
RELEASED(hone_status, hone_session_eval,
         (hone_session * session, hone_dataset *dataset, const hone_eval_options *options,
          hone_eval_result *result, hone_error *err),
         return hone_session_eval_sized(session, dataset, options, result, NULL, err))
RELEASED(hone_status, hone_metric, (size_t i, hone_metric_info *out, hone_error *err),
         return hone_metric_sized(i, out, NULL, err))
RELEASED(hone_status, hone_session_measure,
         (hone_session * session, hone_dataset *dataset, const hone_eval_options *options,
          hone_evaluation **out, hone_error *err),
         return hone_session_measure_sized(session, dataset, options, out, NULL, err))
RELEASED(hone_status, hone_session_compare,
         (hone_session * a, hone_session *b, const hone_samples *samples,
          const hone_compare_options *options, hone_comparison **out, hone_error *err),
         return hone_session_compare_sized(a, b, samples, options, out, NULL, err))
RELEASED(hone_status, hone_session_bisect,
         (hone_session * a, hone_session *b, const hone_samples *samples,
          const hone_bisect_options *options, hone_bisection **out, hone_error *err),
         return hone_session_bisect_sized(a, b, samples, options, out, NULL, err))
RELEASED(hone_status, hone_session_reduce,
         (hone_session * a, hone_session *b, const hone_samples *samples,
          const hone_reduce_options *options, hone_reduction **out, hone_error *err),
         return hone_session_reduce_sized(a, b, samples, options, out, NULL, err))
RELEASED(hone_status, hone_quantize_choice_at,
         (hone_quantize_table table, size_t i, hone_quantize_choice *out, hone_error *err),
         return hone_quantize_choice_at_sized(table, i, out, NULL, err))
RELEASED(hone_status, hone_model_quantize,
         (hone_model * *out, hone_model *model, hone_dataset *data,
          const hone_quantize_options *options, hone_quantization **report, hone_error *err),
         return hone_model_quantize_sized(out, model, data, options, report, NULL, err))
RELEASED(hone_status, hone_op, (size_t i, hone_op_info *out, hone_error *err),
         return hone_op_sized(i, out, NULL, err))
RELEASED(hone_status, hone_kernel, (size_t i, hone_kernel_info *out, hone_error *err),
         return hone_kernel_sized(i, out, NULL, err))
RELEASED(hone_status, hone_timing_of,
         (hone_timing * out, const double *durations, const double *pace, double best, size_t n,
          hone_error *err),
         return hone_timing_of_sized(out, durations, pace, best, n, NULL, err))
RELEASED(size_t, hone_timing_join,
         (hone_timing * out, const hone_timing *series, size_t n, bool *settled),
         return hone_timing_join_sized(out, series, n, settled, NULL))
RELEASED(void, hone_energy_read, (hone_energy * out), hone_energy_read_sized(out, NULL))
RELEASED(double, hone_energy_between, (const hone_energy *from, const hone_energy *to),
         return hone_energy_between_sized(from, to, NULL))
RELEASED(hone_status, hone_machine_probe,
         (hone_machine * *out, const hone_machine_options *options, hone_error *err),
         return hone_machine_probe_sized(out, options, NULL, err))
RELEASED(hone_status, hone_machine_look, (hone_machine * *out, hone_error *err),
         return hone_machine_look_sized(out, NULL, err))
RELEASED(hone_status, hone_profile_create,
         (hone_profile * *out, hone_session *session, size_t n_in, const hone_value *in,
          size_t n_out, hone_value *outputs, const hone_profile_options *options, hone_error *err),
         return hone_profile_create_sized(out, session, n_in, in, n_out, outputs, options, NULL,
                                          err))
RELEASED(hone_status, hone_optimize,
         (hone_model * model, const hone_optimize_options *options, hone_optimization **out,
          hone_error *err),
         return hone_optimize_sized(model, options, out, NULL, err))
RELEASED(void, hone_span_listen, (void (*fn)(void *ctx, const hone_span *span), void *ctx),
         hone_span_listen_sized(fn, ctx, NULL))

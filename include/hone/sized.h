/* sized.h: how structs of different sizes cross the border. hone.h includes it; programs do not.
 *
 * Structs of hone.h grow: a later version appends fields. A program and the library it runs with
 * may therefore disagree about the size of a struct. So the program says how large its structs are:
 *
 *   Options    An options struct begins with its size, which its _init function writes.
 *   The rest   A function that takes or gives any other struct is an inline of hone.h. It calls the
 *              exported function of the same name with _sized behind it and hands over a
 *              hone_layout: the sizes of all structs, as the program was compiled.
 *
 * What holds then, whichever of the two is newer:
 *
 *   The library never writes behind the caller's struct and never reads behind it. Elements of an
 *   array lie as far apart as the caller's size says, in arguments, in results and in callbacks.
 *
 *   A caller's struct that is longer than the library's is accepted when the bytes the library does
 *   not know are 0, and refused with HONE_E_ARG otherwise. In what the library gives these bytes
 *   are 0.
 *
 *   Where a caller's struct is shorter, the missing fields have their defaults.
 *
 * Programs in other languages call the _sized functions with the sizes of their own structs. An
 * entry of 0, an entry behind `size`, and NULL for the whole layout stand for the structs of
 * version 0.1. So do the plain names that the library still exports for programs linked with
 * version 0.1. */
#ifndef HONE_SIZED_H
#define HONE_SIZED_H

/* All structs of hone.h without hone_error, whose form is final, and without those that only ever
 * carry their own size: options and hone_timer. New ones are appended. */
#define HONE_STRUCT_LIST(X) \
    X(value)                \
    X(difference)           \
    X(dim_setting)          \
    X(value_info)           \
    X(dim_value)            \
    X(node_info)            \
    X(op_use)               \
    X(dtype_use)            \
    X(inspection)           \
    X(pass_info)            \
    X(pass_result)          \
    X(step_info)            \
    X(tuning)               \
    X(memory_use)           \
    X(batch)                \
    X(eval_batch)           \
    X(eval_result)          \
    X(metric_info)          \
    X(metric_value)         \
    X(class_value)          \
    X(evaluation)           \
    X(samples)              \
    X(output_error)         \
    X(tensor_error)         \
    X(comparison)           \
    X(bisect_step)          \
    X(bisection)            \
    X(reduction)            \
    X(quantize_choice)      \
    X(layer_rule)           \
    X(quantized_layer)      \
    X(quantized_value)      \
    X(mix_point)            \
    X(quantization)         \
    X(op_info)              \
    X(kernel_info)          \
    X(timing)               \
    X(timing_change)        \
    X(energy)               \
    X(cache_info)           \
    X(peak_info)            \
    X(bandwidth_info)       \
    X(isa_info)             \
    X(gpu_info)             \
    X(machine)              \
    X(step_profile)         \
    X(verdict)              \
    X(profile)              \
    X(optimize_row)         \
    X(optimization)         \
    X(round)                \
    X(span)                 \
    X(transform_result)     \
    X(transform_info)       \
    X(param_info)           \
    X(stage)                \
    X(train_place)          \
    X(architecture_info)    \
    X(shrunk_layer)         \
    X(package_tensor)       \
    X(package_code)         \
    X(package)              \
    X(package_ready)        \
    X(advice_branch)        \
    X(advice_remedy)        \
    X(advice_symptom)       \
    X(advice)

typedef struct hone_layout {
    uint32_t size;
#define HONE_X(name) uint32_t name;
    HONE_STRUCT_LIST(HONE_X)
#undef HONE_X
} hone_layout;

/* The sizes in this header. */
HONE_INLINE const hone_layout *hone_layout_here(void) {
    static const hone_layout here = {sizeof(hone_layout),
#define HONE_X(name) sizeof(hone_##name),
                                     HONE_STRUCT_LIST(HONE_X)
#undef HONE_X
    };
    return &here;
}

/* ---- what the library exports ---- */

HONE_API void hone_value_release_sized(hone_value *values, size_t n, const hone_layout *caller);
HONE_API hone_status hone_value_fill_sized(hone_value *v, hone_fill fill, uint64_t seed,
                                           const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_value_difference_sized(const hone_value *a, const hone_value *b,
                                                 hone_difference *out, const hone_layout *caller,
                                                 hone_error *err);
HONE_API hone_status hone_npy_read_sized(hone_value *out, const char *path,
                                         const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_npy_write_sized(const hone_value *v, const char *path,
                                          const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_npz_read_sized(hone_value **out, size_t *n, const char *path,
                                         const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_npz_write_sized(const hone_value *v, size_t n, const char *path,
                                          const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_model_set_dims_sized(hone_model *model, const hone_dim_setting *settings,
                                               size_t n, const hone_layout *caller,
                                               hone_error *err);
HONE_API hone_status hone_model_input_sized(const hone_model *model, size_t i, hone_value_info *out,
                                            const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_model_output_sized(const hone_model *model, size_t i,
                                             hone_value_info *out, const hone_layout *caller,
                                             hone_error *err);
HONE_API hone_status hone_architecture_sized(size_t i, hone_architecture_info *out,
                                             const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_model_inspect_sized(hone_model *model, const hone_dim_value *dims,
                                              size_t n_dims, hone_inspection **out,
                                              const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_pass_sized(size_t i, hone_pass_info *out, const hone_layout *caller,
                                     hone_error *err);
HONE_API hone_status hone_model_simplify_sized(hone_model *model,
                                               const hone_simplify_options *options,
                                               hone_pass_result *results, const hone_layout *caller,
                                               hone_error *err);
HONE_API hone_status hone_session_prepare_sized(hone_session *session, size_t n_in,
                                                const hone_value *in, const hone_layout *caller,
                                                hone_error *err);
HONE_API hone_status hone_session_run_sized(hone_session *session, size_t n_in,
                                            const hone_value *in, size_t n_out, hone_value *out,
                                            const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_state_run_sized(hone_state *state, size_t n_in, const hone_value *in,
                                          size_t n_out, hone_value *out, const hone_layout *caller,
                                          hone_error *err);
HONE_API hone_status hone_state_get_sized(hone_state *state, hone_value *v,
                                          const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_state_set_sized(hone_state *state, const hone_value *v,
                                          const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_session_profile_sized(hone_session *session, size_t n_in,
                                                const hone_value *in, size_t n_out, hone_value *out,
                                                void (*step)(void *ctx, const hone_step_info *info),
                                                void *ctx, const hone_layout *caller,
                                                hone_error *err);
HONE_API void hone_session_tuning_sized(const hone_session *session, hone_tuning *out,
                                        const hone_layout *caller);
HONE_API void hone_session_memory_sized(const hone_session *session, hone_memory_use *out,
                                        const hone_layout *caller);
HONE_API hone_status hone_dataset_read_sized(hone_dataset *dataset, const hone_model *model,
                                             int64_t first, int64_t n, hone_value *out,
                                             const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_dataset_targets_sized(hone_dataset *dataset, size_t i, int64_t first,
                                                int64_t n, hone_value *out,
                                                const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_loader_create_sized(hone_loader **out, hone_dataset *dataset,
                                              hone_model *model, const hone_loader_options *options,
                                              const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_session_eval_sized(hone_session *session, hone_dataset *dataset,
                                             const hone_eval_options *options,
                                             hone_eval_result *result, const hone_layout *caller,
                                             hone_error *err);
HONE_API hone_status hone_metric_sized(size_t i, hone_metric_info *out, const hone_layout *caller,
                                       hone_error *err);
HONE_API hone_status hone_session_measure_sized(hone_session *session, hone_dataset *dataset,
                                                const hone_eval_options *options,
                                                hone_evaluation **out, const hone_layout *caller,
                                                hone_error *err);
HONE_API hone_status hone_session_compare_sized(hone_session *a, hone_session *b,
                                                const hone_samples *samples,
                                                const hone_compare_options *options,
                                                hone_comparison **out, const hone_layout *caller,
                                                hone_error *err);
HONE_API hone_status hone_session_bisect_sized(hone_session *a, hone_session *b,
                                               const hone_samples *samples,
                                               const hone_bisect_options *options,
                                               hone_bisection **out, const hone_layout *caller,
                                               hone_error *err);
HONE_API hone_status hone_session_reduce_sized(hone_session *a, hone_session *b,
                                               const hone_samples *samples,
                                               const hone_reduce_options *options,
                                               hone_reduction **out, const hone_layout *caller,
                                               hone_error *err);
HONE_API hone_status hone_quantize_choice_at_sized(hone_quantize_table table, size_t i,
                                                   hone_quantize_choice *out,
                                                   const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_transform_at_sized(size_t i, hone_transform_info *out,
                                             const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_transform_param_at_sized(size_t transform, size_t i, hone_param_info *out,
                                                   const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_model_transform_sized(hone_model **out, hone_model *model,
                                                const char *recipe, hone_dataset *data,
                                                const hone_transform_options *options,
                                                hone_quantization **report,
                                                const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_model_quantize_sized(hone_model **out, hone_model *model,
                                               hone_dataset *data,
                                               const hone_quantize_options *options,
                                               hone_quantization **report,
                                               const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_op_sized(size_t i, hone_op_info *out, const hone_layout *caller,
                                   hone_error *err);
HONE_API hone_status hone_kernel_sized(size_t i, hone_kernel_info *out, const hone_layout *caller,
                                       hone_error *err);
HONE_API hone_status hone_timing_of_sized(hone_timing *out, const double *durations,
                                          const double *pace, double best, size_t n,
                                          const hone_layout *caller, hone_error *err);
HONE_API void hone_timing_compare_sized(const hone_timing *then, const hone_timing *now,
                                        hone_timing_change *out, const hone_layout *caller);
HONE_API size_t hone_timing_join_sized(hone_timing *out, const hone_timing *series, size_t n,
                                       bool *settled, const hone_layout *caller);
HONE_API void hone_timing_judge_sized(const hone_timing *then, const hone_timing *series, size_t n,
                                      bool *more, hone_timing_change *out,
                                      const hone_layout *caller);
HONE_API void hone_energy_read_sized(hone_energy *out, const hone_layout *caller);
HONE_API double hone_energy_between_sized(const hone_energy *from, const hone_energy *to,
                                          const hone_layout *caller);
HONE_API hone_status hone_machine_probe_sized(hone_machine **out,
                                              const hone_machine_options *options,
                                              const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_machine_look_sized(hone_machine **out, const hone_layout *caller,
                                             hone_error *err);
HONE_API hone_status hone_machine_read_sized(hone_machine **out, const char *path,
                                             const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_profile_create_sized(hone_profile **out, hone_session *session,
                                               size_t n_in, const hone_value *in, size_t n_out,
                                               hone_value *outputs,
                                               const hone_profile_options *options,
                                               const hone_layout *caller, hone_error *err);
HONE_API hone_status hone_optimize_sized(hone_model *model, const hone_optimize_options *options,
                                         hone_optimization **out, const hone_layout *caller,
                                         hone_error *err);
HONE_API void hone_span_listen_sized(void (*fn)(void *ctx, const hone_span *span), void *ctx,
                                     const hone_layout *caller);
HONE_API hone_status hone_package_inspect_sized(hone_package **out, const char *path,
                                                const hone_layout *caller, hone_error *err);
HONE_API void hone_package_options_init_sized(hone_package_options *o, size_t size);
HONE_API void hone_load_options_init_sized(hone_load_options *o, size_t size);
HONE_API void hone_save_options_init_sized(hone_save_options *o, size_t size);
HONE_API void hone_simplify_options_init_sized(hone_simplify_options *o, size_t size);
HONE_API void hone_session_options_init_sized(hone_session_options *o, size_t size);
HONE_API void hone_trainer_at_sized(const hone_trainer *trainer, hone_train_place *out,
                                    const hone_layout *caller);
HONE_API void hone_train_options_init_sized(hone_train_options *o, size_t size);
HONE_API void hone_loader_options_init_sized(hone_loader_options *o, size_t size);
HONE_API void hone_eval_options_init_sized(hone_eval_options *o, size_t size);
HONE_API void hone_compare_options_init_sized(hone_compare_options *o, size_t size);
HONE_API void hone_bisect_options_init_sized(hone_bisect_options *o, size_t size);
HONE_API void hone_reduce_options_init_sized(hone_reduce_options *o, size_t size);
HONE_API void hone_transform_options_init_sized(hone_transform_options *o, size_t size);
HONE_API void hone_quantize_options_init_sized(hone_quantize_options *o, size_t size);
HONE_API void hone_qat_options_init_sized(hone_qat_options *o, size_t size);
HONE_API void hone_machine_options_init_sized(hone_machine_options *o, size_t size);
HONE_API void hone_profile_options_init_sized(hone_profile_options *o, size_t size);
HONE_API void hone_optimize_options_init_sized(hone_optimize_options *o, size_t size);
HONE_API hone_status hone_advise_sized(hone_model *model, const hone_advise_options *options,
                                       hone_advice **out, const hone_layout *caller,
                                       hone_error *err);
HONE_API void hone_advise_options_init_sized(hone_advise_options *o, size_t size);
HONE_API void hone_report_options_init_sized(hone_report_options *o, size_t size);
HONE_API void hone_make_options_init_sized(hone_make_options *o, size_t size);

/* ---- the functions of hone.h ---- */

HONE_INLINE void hone_value_release(hone_value *values, size_t n) {
    hone_value_release_sized(values, n, hone_layout_here());
}
HONE_INLINE hone_status hone_value_fill(hone_value *v, hone_fill fill, uint64_t seed,
                                        hone_error *err) {
    return hone_value_fill_sized(v, fill, seed, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_value_difference(const hone_value *a, const hone_value *b,
                                              hone_difference *out, hone_error *err) {
    return hone_value_difference_sized(a, b, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_npy_read(hone_value *out, const char *path, hone_error *err) {
    return hone_npy_read_sized(out, path, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_npy_write(const hone_value *v, const char *path, hone_error *err) {
    return hone_npy_write_sized(v, path, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_npz_read(hone_value **out, size_t *n, const char *path,
                                      hone_error *err) {
    return hone_npz_read_sized(out, n, path, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_npz_write(const hone_value *v, size_t n, const char *path,
                                       hone_error *err) {
    return hone_npz_write_sized(v, n, path, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_model_set_dims(hone_model *model, const hone_dim_setting *settings,
                                            size_t n, hone_error *err) {
    return hone_model_set_dims_sized(model, settings, n, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_model_input(const hone_model *model, size_t i, hone_value_info *out,
                                         hone_error *err) {
    return hone_model_input_sized(model, i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_model_output(const hone_model *model, size_t i, hone_value_info *out,
                                          hone_error *err) {
    return hone_model_output_sized(model, i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_model_inspect(hone_model *model, const hone_dim_value *dims,
                                           size_t n_dims, hone_inspection **out, hone_error *err) {
    return hone_model_inspect_sized(model, dims, n_dims, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_architecture(size_t i, hone_architecture_info *out, hone_error *err) {
    return hone_architecture_sized(i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_package_inspect(hone_package **out, const char *path,
                                             hone_error *err) {
    return hone_package_inspect_sized(out, path, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_pass(size_t i, hone_pass_info *out, hone_error *err) {
    return hone_pass_sized(i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_model_simplify(hone_model *model, const hone_simplify_options *options,
                                            hone_pass_result *results, hone_error *err) {
    return hone_model_simplify_sized(model, options, results, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_prepare(hone_session *session, size_t n_in,
                                             const hone_value *in, hone_error *err) {
    return hone_session_prepare_sized(session, n_in, in, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_run(hone_session *session, size_t n_in, const hone_value *in,
                                         size_t n_out, hone_value *out, hone_error *err) {
    return hone_session_run_sized(session, n_in, in, n_out, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_state_run(hone_state *state, size_t n_in, const hone_value *in,
                                       size_t n_out, hone_value *out, hone_error *err) {
    return hone_state_run_sized(state, n_in, in, n_out, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_state_get(hone_state *state, hone_value *v, hone_error *err) {
    return hone_state_get_sized(state, v, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_state_set(hone_state *state, const hone_value *v, hone_error *err) {
    return hone_state_set_sized(state, v, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_profile(hone_session *session, size_t n_in,
                                             const hone_value *in, size_t n_out, hone_value *out,
                                             void (*step)(void *ctx, const hone_step_info *info),
                                             void *ctx, hone_error *err) {
    return hone_session_profile_sized(session, n_in, in, n_out, out, step, ctx, hone_layout_here(),
                                      err);
}
HONE_INLINE hone_tuning hone_session_tuning(const hone_session *session) {
    hone_tuning out;
    hone_session_tuning_sized(session, &out, hone_layout_here());
    return out;
}
HONE_INLINE hone_memory_use hone_session_memory(const hone_session *session) {
    hone_memory_use out;
    hone_session_memory_sized(session, &out, hone_layout_here());
    return out;
}
HONE_INLINE hone_status hone_dataset_read(hone_dataset *dataset, const hone_model *model,
                                          int64_t first, int64_t n, hone_value *out,
                                          hone_error *err) {
    return hone_dataset_read_sized(dataset, model, first, n, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_dataset_targets(hone_dataset *dataset, size_t i, int64_t first,
                                             int64_t n, hone_value *out, hone_error *err) {
    return hone_dataset_targets_sized(dataset, i, first, n, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_loader_create(hone_loader **out, hone_dataset *dataset,
                                           hone_model *model, const hone_loader_options *options,
                                           hone_error *err) {
    return hone_loader_create_sized(out, dataset, model, options, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_eval(hone_session *session, hone_dataset *dataset,
                                          const hone_eval_options *options,
                                          hone_eval_result *result, hone_error *err) {
    return hone_session_eval_sized(session, dataset, options, result, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_metric(size_t i, hone_metric_info *out, hone_error *err) {
    return hone_metric_sized(i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_measure(hone_session *session, hone_dataset *dataset,
                                             const hone_eval_options *options,
                                             hone_evaluation **out, hone_error *err) {
    return hone_session_measure_sized(session, dataset, options, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_compare(hone_session *a, hone_session *b,
                                             const hone_samples *samples,
                                             const hone_compare_options *options,
                                             hone_comparison **out, hone_error *err) {
    return hone_session_compare_sized(a, b, samples, options, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_bisect(hone_session *a, hone_session *b,
                                            const hone_samples *samples,
                                            const hone_bisect_options *options,
                                            hone_bisection **out, hone_error *err) {
    return hone_session_bisect_sized(a, b, samples, options, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_session_reduce(hone_session *a, hone_session *b,
                                            const hone_samples *samples,
                                            const hone_reduce_options *options,
                                            hone_reduction **out, hone_error *err) {
    return hone_session_reduce_sized(a, b, samples, options, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_quantize_choice_at(hone_quantize_table table, size_t i,
                                                hone_quantize_choice *out, hone_error *err) {
    return hone_quantize_choice_at_sized(table, i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_transform_at(size_t i, hone_transform_info *out, hone_error *err) {
    return hone_transform_at_sized(i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_transform_param_at(size_t transform, size_t i, hone_param_info *out,
                                                hone_error *err) {
    return hone_transform_param_at_sized(transform, i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_model_transform(hone_model **out, hone_model *model,
                                             const char *recipe, hone_dataset *data,
                                             const hone_transform_options *options,
                                             hone_quantization **report, hone_error *err) {
    return hone_model_transform_sized(out, model, recipe, data, options, report, hone_layout_here(),
                                      err);
}
HONE_INLINE hone_status hone_model_quantize(hone_model **out, hone_model *model, hone_dataset *data,
                                            const hone_quantize_options *options,
                                            hone_quantization **report, hone_error *err) {
    return hone_model_quantize_sized(out, model, data, options, report, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_op(size_t i, hone_op_info *out, hone_error *err) {
    return hone_op_sized(i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_kernel(size_t i, hone_kernel_info *out, hone_error *err) {
    return hone_kernel_sized(i, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_timing_of(hone_timing *out, const double *durations,
                                       const double *pace, double best, size_t n, hone_error *err) {
    return hone_timing_of_sized(out, durations, pace, best, n, hone_layout_here(), err);
}
HONE_INLINE hone_timing_change hone_timing_compare(const hone_timing *then,
                                                   const hone_timing *now) {
    hone_timing_change out;
    hone_timing_compare_sized(then, now, &out, hone_layout_here());
    return out;
}
HONE_INLINE size_t hone_timing_join(hone_timing *out, const hone_timing *series, size_t n,
                                    bool *settled) {
    return hone_timing_join_sized(out, series, n, settled, hone_layout_here());
}
HONE_INLINE hone_timing_change hone_timing_judge(const hone_timing *then, const hone_timing *series,
                                                 size_t n, bool *more) {
    hone_timing_change out;
    hone_timing_judge_sized(then, series, n, more, &out, hone_layout_here());
    return out;
}
HONE_INLINE void hone_energy_read(hone_energy *out) {
    hone_energy_read_sized(out, hone_layout_here());
}
HONE_INLINE double hone_energy_between(const hone_energy *from, const hone_energy *to) {
    return hone_energy_between_sized(from, to, hone_layout_here());
}
HONE_INLINE hone_status hone_machine_probe(hone_machine **out, const hone_machine_options *options,
                                           hone_error *err) {
    return hone_machine_probe_sized(out, options, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_machine_look(hone_machine **out, hone_error *err) {
    return hone_machine_look_sized(out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_machine_read(hone_machine **out, const char *path, hone_error *err) {
    return hone_machine_read_sized(out, path, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_profile_create(hone_profile **out, hone_session *session, size_t n_in,
                                            const hone_value *in, size_t n_out, hone_value *outputs,
                                            const hone_profile_options *options, hone_error *err) {
    return hone_profile_create_sized(out, session, n_in, in, n_out, outputs, options,
                                     hone_layout_here(), err);
}
HONE_INLINE hone_status hone_optimize(hone_model *model, const hone_optimize_options *options,
                                      hone_optimization **out, hone_error *err) {
    return hone_optimize_sized(model, options, out, hone_layout_here(), err);
}
HONE_INLINE hone_status hone_advise(hone_model *model, const hone_advise_options *options,
                                    hone_advice **out, hone_error *err) {
    return hone_advise_sized(model, options, out, hone_layout_here(), err);
}
HONE_INLINE void hone_trainer_at(const hone_trainer *trainer, hone_train_place *out) {
    hone_trainer_at_sized(trainer, out, hone_layout_here());
}
HONE_INLINE void hone_train_options_init(hone_train_options *o) {
    hone_train_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_span_listen(void (*fn)(void *ctx, const hone_span *span), void *ctx) {
    hone_span_listen_sized(fn, ctx, hone_layout_here());
}
HONE_INLINE void hone_package_options_init(hone_package_options *o) {
    hone_package_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_load_options_init(hone_load_options *o) {
    hone_load_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_save_options_init(hone_save_options *o) {
    hone_save_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_simplify_options_init(hone_simplify_options *o) {
    hone_simplify_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_session_options_init(hone_session_options *o) {
    hone_session_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_loader_options_init(hone_loader_options *o) {
    hone_loader_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_eval_options_init(hone_eval_options *o) {
    hone_eval_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_compare_options_init(hone_compare_options *o) {
    hone_compare_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_bisect_options_init(hone_bisect_options *o) {
    hone_bisect_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_reduce_options_init(hone_reduce_options *o) {
    hone_reduce_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_transform_options_init(hone_transform_options *o) {
    hone_transform_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_quantize_options_init(hone_quantize_options *o) {
    hone_quantize_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_qat_options_init(hone_qat_options *o) {
    hone_qat_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_machine_options_init(hone_machine_options *o) {
    hone_machine_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_profile_options_init(hone_profile_options *o) {
    hone_profile_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_optimize_options_init(hone_optimize_options *o) {
    hone_optimize_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_advise_options_init(hone_advise_options *o) {
    hone_advise_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_report_options_init(hone_report_options *o) {
    hone_report_options_init_sized(o, sizeof *o);
}
HONE_INLINE void hone_make_options_init(hone_make_options *o) {
    hone_make_options_init_sized(o, sizeof *o);
}

#endif

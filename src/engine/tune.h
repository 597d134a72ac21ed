/* Tuning: choices between ways that give the same bits, made by measuring.
 *
 * Two things may be chosen without changing a result: which of the rows of one accumulation order
 * computes a step (kernel.h), and whether the step is worth waking other threads for. A problem is
 * known by its family, a hash of its bytes and the order, and the number of lanes; what was found
 * for it is kept, and with a file also from one process to the next:
 *
 *   hone-tuning/1 hone=0.1.0 isa=avx512 kernels=8d1f03c2a9be4471 cpu=Neoverse V1
 *   conv_f32 9b2e6f01a4d3c857 2 avx512_band all 103.2 Conv+Relu
 *   ^family  ^problem         ^ ^kernel     ^   ^us   ^what it was met as, for people
 *                             lanes         `all` lanes or `one`
 *
 * What precision "auto" chose (choice.h) is kept too: a line without a name for each graph it has
 * looked at, with its time as chosen and in integers, and one for each operator that it left in float.
 *
 *   auto 5f3a90c2d1187be4 2 310.2 350.1 conv12
 *        ^graph           ^ ^us f32 ^us int8
 *
 * Lines may be edited; a line that names a kernel which is not there, or would change bits, is
 * passed over. A file whose first line is not that of this machine, this version and these kernels
 * is ignored and replaced.
 */
#ifndef HN_ENGINE_TUNE_H
#define HN_ENGINE_TUNE_H

#include "base/pool.h"
#include "engine/plan.h"

typedef enum hn_tune_effort { HN_TUNE_OFF, HN_TUNE_FAST, HN_TUNE_FULL } hn_tune_effort;

typedef struct hn_tuner hn_tuner;

/* path: the file, read now; NULL: none. What is wrong with it is a warning in the log. With
 * HN_TUNE_OFF what the file says is taken and nothing is measured. The path is copied. */
hone_status hn_tuner_create(hn_tuner **out, hn_tune_effort effort, hn_isa isa, const char *path,
                            hn_allocator *alloc, hn_error *err);
void hn_tuner_destroy(hn_tuner *t); /* NULL accepted */
/* Takes in the lines of a file, its first line left out. */
hone_status hn_tuner_read(hn_tuner *t, const char *text, size_t bytes, hn_error *err);

/* May replace the kernel and `alone` of a step whose kernel is chosen. t may be NULL. */
hone_status hn_tune_step(hn_tuner *t, const hn_plan *p, hn_step *s, hn_pool *pool, hn_error *err);
/* FNV-1a, from HN_TUNE_HASH on. */
#define HN_TUNE_HASH UINT64_C(0xcbf29ce484222325)
uint64_t hn_tune_hash(uint64_t h, const void *data, size_t bytes);
/* The i-th line on a graph: the operator's name and its times in float and in integers; NULL: there
 * are no more. t may be NULL. */
const char *hn_tuner_choice(const hn_tuner *t, uint64_t graph, int lanes, int i, double us[2]);
/* Adds a line, which it took `ns` to find. t may be NULL. */
hone_status hn_tuner_keep_choice(hn_tuner *t, uint64_t graph, int lanes, const char *name,
                                 const double us[2], int64_t ns, hn_error *err);
/* Writes the file if there is something new; failing to is a warning. t may be NULL. */
void hn_tuner_save(hn_tuner *t);

/* So far: problems met, taken from the file, and measured; steps whose choice was not the first;
 * time spent measuring. */
typedef struct hn_tuning {
    int problems, known, measured, changed;
    int64_t ns;
} hn_tuning;
hn_tuning hn_tuner_total(const hn_tuner *t);

#endif

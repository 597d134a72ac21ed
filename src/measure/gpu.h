/* NVIDIA GPUs and what they are, on machines that have some, without linking to NVIDIA's libraries.
 *
 * The driver says its version below /proc. NVML, a library that comes with it, is opened at run
 * time and tells the rest; where it is missing or fails, names alone are read below /proc. `root`
 * is "" for the machine's own, and `by` how libraries are opened: tests bring their own of both.
 */
#ifndef HN_MEASURE_GPU_H
#define HN_MEASURE_GPU_H

#include "base/arena.h"
#include "base/error.h"
#include "hone/hone.h"

#define HN_GPU_NAME 128 /* bytes of a name, its end included */
#define HN_GPU_MOST 64

typedef struct hn_library_loader {
    void *(*open)(const char *name); /* NULL: there is none */
    void *(*symbol)(void *library, const char *name);
    void (*close)(void *library);
} hn_library_loader;
extern const hn_library_loader hn_library_loader_system;

typedef struct hn_gpus {
    size_t n;
    hone_gpu_info *list;
} hn_gpus;

/* The driver's version, "535.104.05"; false where there is none. */
bool hn_gpu_driver(const char *root, char *version, size_t bytes);
hone_status hn_gpus_find(hn_gpus *out, const char *root, const hn_library_loader *by,
                         hn_arena *arena, hn_error *err);
/* Adds one to a list; more than HN_GPU_MOST are left out. Control characters of the name become
 * spaces. */
hone_status hn_gpus_add(hn_gpus *gpus, hone_gpu_info gpu, hn_arena *arena, hn_error *err);

#endif

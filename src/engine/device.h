/* Devices: memory and kernels beside those of the host.
 *
 * An engine may be given one (hn_engine_options.device). When kernels are chosen, each step asks the
 * device first and takes a kernel of the host where the device has none that serves. Every buffer
 * lies in one space, and all operands of a step lie in the space of its kernel: where spaces meet,
 * spaces.c adds steps that copy. Inputs and outputs of a graph are in host memory.
 *
 * Addresses of the device are never read or written by the host; it only adds offsets to them.
 * Runs of several threads may call the functions of a device at the same time.
 */
#ifndef HN_ENGINE_DEVICE_H
#define HN_ENGINE_DEVICE_H

#include "base/error.h"
#include "kernels/kernel.h"

/* Where a buffer lies. An engine has at most one device. */
typedef enum hn_memory_space { HN_SPACE_HOST, HN_SPACE_DEVICE, HN_SPACE_COUNT_ } hn_memory_space;

/* The device's kernels for the problems of a family, best first. All of them may refuse a problem;
 * the host then computes the step. Their `run` is called on one thread, with operands and scratch of
 * the device; hn_call.device is the device's ctx. What hn_family says of its kernels, such as that a
 * result may take the place of an operand (may_replace), holds for them too. The problem, the work, the lane's scratch and what
 * `pack` reads and writes are in host memory. */
typedef struct hn_device_family {
    const hn_family *family;
    const hn_kernel *const *rows;
    int n_rows;
} hn_device_family;

typedef struct hn_device {
    const char *name;
    void *ctx; /* for the functions below and for its kernels */
    /* A block that begins at a multiple of HN_ALIGN; NULL: there is no memory for it. */
    void *(*allocate)(void *ctx, size_t bytes);
    void (*release)(void *ctx, void *block);
    /* From host memory, which may change once it returns; into host memory, which holds the bytes
     * once it returns. Both come after all that was launched before. */
    void (*copy_to)(void *ctx, void *dst, const void *src, size_t bytes);
    void (*copy_from)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Ends a run: waits for what was launched, and tells what went wrong since. NULL: kernels are
     * done when they return, and cannot fail. */
    hone_status (*wait)(void *ctx, hn_error *err);
    const hn_device_family *families;
    int n_families;
} hn_device;

#endif

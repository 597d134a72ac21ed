#include "measure/gpu.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "/proc/driver/nvidia"

/* ---- libraries ---- */

#if defined(HN_NO_DLOPEN)
static void *open_none(const char *name) {
    (void)name;
    return NULL;
}
const hn_library_loader hn_library_loader_system = {.open = open_none};
#else
#include <dlfcn.h>
static void *open_library(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
static void close_library(void *library) { dlclose(library); }
const hn_library_loader hn_library_loader_system = {open_library, dlsym, close_library};
#endif

/* What is called of NVML; all return 0 for success. A device is a handle of NVML's own. */
typedef struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *n);
    int (*device)(unsigned i, void **device);
    int (*name)(void *device, char *name, unsigned bytes);
    int (*memory)(void *device, unsigned long long total_free_used[3]);
    int (*capability)(void *device, int *major, int *minor);
} nvml;

static bool find_functions(nvml *n, const hn_library_loader *by, void *library) {
    const struct {
        const char *name;
        void *to; /* a pointer to a function pointer, which is as wide as one to data */
    } wanted[] = {
        {"nvmlInit_v2", &n->init},
        {"nvmlShutdown", &n->shutdown},
        {"nvmlDeviceGetCount_v2", &n->count},
        {"nvmlDeviceGetHandleByIndex_v2", &n->device},
        {"nvmlDeviceGetName", &n->name},
        {"nvmlDeviceGetMemoryInfo", &n->memory},
        {"nvmlDeviceGetCudaComputeCapability", &n->capability},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *at = by->symbol(library, wanted[i].name);
        if (at == NULL) return false;
        memcpy(wanted[i].to, &at, sizeof at);
    }
    return true;
}

static hone_status ask_nvml(hn_gpus *out, const nvml *n, hn_arena *arena, hn_error *err) {
    unsigned count = 0;
    if (n->count(&count) != 0) return HONE_OK;
    for (unsigned i = 0; i < count && i < HN_GPU_MOST; i++) {
        char name[HN_GPU_NAME] = "";
        void *device = NULL;
        unsigned long long memory[3] = {0};
        hone_gpu_info gpu = {.name = name, .memory_bytes = -1};
        if (n->device(i, &device) != 0 || n->name(device, name, sizeof name) != 0) continue;
        name[sizeof name - 1] = '\0';
        if (n->memory(device, memory) == 0 && memory[0] <= INT64_MAX)
            gpu.memory_bytes = (int64_t)memory[0];
        if (n->capability(device, &gpu.capability[0], &gpu.capability[1]) != 0)
            gpu.capability[0] = gpu.capability[1] = 0;
        HN_TRY(hn_gpus_add(out, gpu, arena, err));
    }
    return HONE_OK;
}

/* ---- /proc ---- */

/* A file of the driver's folder; NULL: there is none. */
static FILE *open_file(const char *root, const char *path) {
    char full[1024];
    if (snprintf(full, sizeof full, "%s" FOLDER "/%s", root, path) >= (int)sizeof full) return NULL;
    return fopen(full, "re");
}

bool hn_gpu_driver(const char *root, char *version, size_t bytes) {
    char line[512], *rest = line;
    bool found = false;
    FILE *f = open_file(root, "version");
    if (f == NULL) return false;
    /* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ...": the word of
     * digits and dots. */
    if (fgets(line, sizeof line, f) == NULL) line[0] = '\0';
    for (char *word; !found && (word = strtok_r(rest, " \t\n", &rest)) != NULL;) {
        found = strchr(word, '.') != NULL && strspn(word, "0123456789.") == strlen(word);
        if (found) snprintf(version, bytes, "%s", word);
    }
    fclose(f);
    return found;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static hone_status read_folder(hn_gpus *out, const char *root, hn_arena *arena, hn_error *err) {
    enum { SLOT = 32 }; /* "0000:3b:00.0" */
    char path[1024], slots[HN_GPU_MOST][SLOT], line[256];
    size_t n = 0;
    if (snprintf(path, sizeof path, "%s" FOLDER "/gpus", root) >= (int)sizeof path) return HONE_OK;
    DIR *folder = opendir(path);
    if (folder == NULL) return HONE_OK;
    for (struct dirent *e; n < HN_GPU_MOST && (e = readdir(folder)) != NULL;)
        if (e->d_name[0] != '.' && strlen(e->d_name) < SLOT) strcpy(slots[n++], e->d_name);
    closedir(folder);
    qsort(slots, n, SLOT, by_name);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "gpus/%.31s/information", slots[i]);
        FILE *f = open_file(root, path);
        if (f == NULL) continue;
        bool named = false;
        while (!named && fgets(line, sizeof line, f) != NULL)
            named = strncmp(line, "Model:", 6) == 0;
        fclose(f);
        if (!named) continue;
        line[strcspn(line, "\n")] = '\0';
        char *name = line + 6 + strspn(line + 6, " \t");
        HN_TRY(hn_gpus_add(out, (hone_gpu_info){.name = name, .memory_bytes = -1}, arena, err));
    }
    return HONE_OK;
}

/* ---- the list ---- */

hone_status hn_gpus_add(hn_gpus *gpus, hone_gpu_info gpu, hn_arena *arena, hn_error *err) {
    if (gpus->n == HN_GPU_MOST) return HONE_OK;
    if (gpus->list == NULL) gpus->list = hn_arena_array(arena, HN_GPU_MOST, sizeof *gpus->list);
    char *name = hn_arena_strdup(arena, gpu.name);
    if (gpus->list == NULL || name == NULL) return HN_NOMEM(err);
    for (char *c = name; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = ' ';
    gpu.name = name;
    gpus->list[gpus->n++] = gpu;
    return HONE_OK;
}

hone_status hn_gpus_find(hn_gpus *out, const char *root, const hn_library_loader *by,
                         hn_arena *arena, hn_error *err) {
    hone_status status = HONE_OK;
    nvml n;
    void *library = by->open("libnvidia-ml.so.1");
    *out = (hn_gpus){0};
    if (library != NULL) {
        if (find_functions(&n, by, library) && n.init() == 0) {
            status = ask_nvml(out, &n, arena, err);
            n.shutdown();
        }
        by->close(library);
    }
    if (status == HONE_OK && out->n == 0) status = read_folder(out, root, arena, err);
    return status;
}

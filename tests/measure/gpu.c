#include "measure/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "support/tree.h"

#define NVIDIA "/proc/driver/nvidia/"

/* ---- a library that is not NVIDIA's ---- */

static struct {
    bool there;
    const char *missing; /* a function it does not have */
    int init, name, memory, capability, open, running;
    unsigned count;
} fake;

static int fake_init(void) {
    fake.running += fake.init == 0;
    return fake.init;
}
static int fake_shutdown(void) {
    fake.running--;
    return 0;
}
static int fake_count(unsigned *n) {
    *n = fake.count;
    return 0;
}
static int fake_device(unsigned i, void **device) {
    static int devices[1000];
    *device = &devices[i];
    return i == 1 ? 9 : 0; /* one that is not to be had */
}
static int fake_name(void *device, char *name, unsigned bytes) {
    assert_non_null(device);
    memset(name, 'x', bytes); /* as it must not: without an end */
    if (bytes > 9) memcpy(name, "Some\nGPU", 9);
    return fake.name;
}
static int fake_memory(void *device, unsigned long long total_free_used[3]) {
    assert_non_null(device);
    total_free_used[0] = 150754820096;
    return fake.memory;
}
static int fake_capability(void *device, int *major, int *minor) {
    assert_non_null(device);
    *major = 9;
    *minor = 1;
    return fake.capability;
}

static void *open_fake(const char *name) {
    assert_string_equal(name, "libnvidia-ml.so.1");
    fake.open += fake.there;
    return fake.there ? &fake : NULL;
}
static void close_fake(void *library) {
    assert_ptr_equal(library, &fake);
    fake.open--;
}
static void *symbol_of_fake(void *library, const char *name) {
    static const struct {
        const char *name;
        void (*fn)(void);
    } all[] = {
        {"nvmlInit_v2", (void (*)(void))fake_init},
        {"nvmlShutdown", (void (*)(void))fake_shutdown},
        {"nvmlDeviceGetCount_v2", (void (*)(void))fake_count},
        {"nvmlDeviceGetHandleByIndex_v2", (void (*)(void))fake_device},
        {"nvmlDeviceGetName", (void (*)(void))fake_name},
        {"nvmlDeviceGetMemoryInfo", (void (*)(void))fake_memory},
        {"nvmlDeviceGetCudaComputeCapability", (void (*)(void))fake_capability},
    };
    void *at = NULL;
    assert_ptr_equal(library, &fake);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i].name) == 0) memcpy(&at, &all[i].fn, sizeof at);
    assert_non_null(at);
    return fake.missing != NULL && strcmp(name, fake.missing) == 0 ? NULL : at;
}

static const hn_library_loader by_fake = {open_fake, symbol_of_fake, close_fake};

/* ---- tests ---- */

static int setup(void **state) {
    memset(&fake, 0, sizeof fake);
    return scratch_setup(state) != 0 || tree_setup(state) != 0;
}
static int teardown(void **state) {
    assert_int_equal(fake.open, 0);
    assert_int_equal(fake.running, 0);
    return scratch_teardown(state) != 0 || tree_teardown(state) != 0;
}

static void find(hn_gpus *g, hn_arena *arena) {
    hn_error err;
    hn_arena_init(arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_gpus_find(g, tree_root, &by_fake, arena, &err), HONE_OK);
}

static void nvml_tells(void **state) {
    (void)state;
    hn_gpus g;
    hn_arena arena;
    fake.there = true;
    fake.count = 3;
    find(&g, &arena);
    assert_int_equal(g.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(g.list[i].name, "Some GPU");
        assert_true(g.list[i].memory_bytes == INT64_C(150754820096));
        assert_true(g.list[i].capability[0] == 9 && g.list[i].capability[1] == 1);
    }
    hn_arena_deinit(&arena);
    fake.memory = fake.capability = 3;
    find(&g, &arena);
    assert_true(g.n == 2 && g.list[0].memory_bytes == -1 && g.list[0].capability[1] == 0);
    hn_arena_deinit(&arena);
    fake.count = 900;
    find(&g, &arena);
    assert_true(g.n > 2 && g.n <= HN_GPU_MOST);
    hn_arena_deinit(&arena);
}

/* Without the library, or with one that does not do: what the driver says below /proc. */
static void names_are_read_from_proc(void **state) {
    (void)state;
    hn_gpus g;
    hn_arena arena;
    char version[16];
    find(&g, &arena);
    assert_int_equal(g.n, 0);
    assert_false(hn_gpu_driver(tree_root, version, sizeof version));
    tree_put(NVIDIA "version", "nothing like it\n");
    assert_false(hn_gpu_driver(tree_root, version, sizeof version));
    tree_put(NVIDIA "version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15\n");
    assert_true(hn_gpu_driver(tree_root, version, sizeof version));
    assert_string_equal(version, "535.104.05");
    tree_put(NVIDIA "gpus/0000:3b:00.0/information", "IRQ: 7\nModel: \t\t NVIDIA B\nVideo: 1\n");
    tree_put(NVIDIA "gpus/0000:18:00.0/information", "Model: \t\t NVIDIA A\n");
    tree_put(NVIDIA "gpus/0000:5e:00.0/information", "IRQ: 7\n");
    tree_put(NVIDIA "gpus/a_name_that_is_longer_than_that_of_any_slot/information", "Model: C\n");
    for (int how = 0; how < 4; how++) {
        fake.there = how > 0;
        fake.missing = how == 1 ? "nvmlDeviceGetName" : NULL;
        fake.init = how == 2 ? 9 : 0;
        find(&g, &arena); /* how 3: no devices */
        assert_int_equal(g.n, 2);
        assert_string_equal(g.list[0].name, "NVIDIA A");
        assert_string_equal(g.list[1].name, "NVIDIA B");
        assert_true(g.list[1].memory_bytes == -1 && g.list[1].capability[0] == 0);
        hn_arena_deinit(&arena);
    }
}

static void memory_may_run_out(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    fake.there = true;
    fake.count = 3;
    for (int i = 0; status != HONE_OK; i++) {
        hn_gpus g;
        hn_arena arena;
        hn_error err;
        hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
        atomic_store(&scratch_mem.fail_after, i);
        status = hn_gpus_find(&g, tree_root, &by_fake, &arena, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        assert_true(status == HONE_OK || (status == HONE_E_NOMEM && i < 10));
        hn_arena_deinit(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nvml_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_read_from_proc, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

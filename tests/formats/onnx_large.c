/* label: slow */
/* Models over 2 GB: external data is mapped wherever in its file it lies, and goes out again as
 * external data without being asked for. Needs 3 GB of disk; the input is a file of holes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "support/pb.h"
#include "support/scratch.h"

enum { TENSORS = 3 };
#define ELEMENTS ((int64_t)200 << 20) /* 800 MB each */
#define FIRST ((int64_t)5 << 30)      /* beyond what 32 bits can say */
#define LAST_VALUE(i) ((float)(i) + 0.5f)

static hn_bytes weight(int i) {
    char name[16], offset[32];
    snprintf(name, sizeof name, "w%d", i);
    snprintf(offset, sizeof offset, "%lld", (long long)(FIRST + i * ELEMENTS * 4));
    return pb("1l2i8s13b13b14i", ELEMENTS, HONE_DTYPE_F32, name,
              pb("1s2s", "location", "holes.bin"), pb("1s2s", "offset", offset), 1);
}

static const char *put_model(void) {
    int fd = open(scratch_path("holes.bin"), O_RDWR | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, FIRST + TENSORS * ELEMENTS * 4), 0);
    hn_bytes graph = pb_outputs("w0 w1 w2");
    for (int i = 0; i < TENSORS; i++) {
        float v = LAST_VALUE(i);
        assert_int_equal(pwrite(fd, &v, sizeof v, FIRST + (i + 1) * ELEMENTS * 4 - 4), sizeof v);
        graph = pb("r5b", graph, weight(i));
    }
    close(fd);
    hn_bytes model = pb_model(graph);
    return scratch_put("large.onnx", model.p, model.n);
}

static void check(const hn_model *m) {
    for (int i = 0; i < TENSORS; i++) {
        const hn_tensor *t = m->graph->values[i]->constant;
        assert_true(hn_tensor_f64(t, ELEMENTS - 1) == (double)LAST_VALUE(i));
        assert_true(hn_tensor_f64(t, 0) == 0);
    }
}

static void more_than_two_gigabytes(void **state) {
    (void)state;
    struct statvfs disk;
    assert_int_equal(statvfs(scratch_path(""), &disk), 0);
    if ((uint64_t)disk.f_bavail * disk.f_frsize < (uint64_t)4 << 30) {
        print_message("less than 4 GB of disk are free\n");
        skip();
    }
    hn_error err = {0};
    hn_model *m = NULL;
    hn_file *file = NULL;
    if (hn_onnx_load(&m, put_model(), NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    check(m);
    assert_true(atomic_load(&scratch_mem.peak) < (1 << 20));
    assert_int_equal(hn_onnx_save_memory(&file, m, NULL, &err), HONE_E_LIMIT);
    assert_non_null(strstr(err.text, "an ONNX file holds at most 2 GB"));
    if (hn_onnx_save(m, scratch_path("saved.onnx"), NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_model_destroy(m);
    m = NULL;
    struct stat st;
    assert_int_equal(stat(scratch_path("saved.onnx.data"), &st), 0);
    assert_int_equal(st.st_size, TENSORS * ELEMENTS * 4);
    if (hn_onnx_load(&m, scratch_path("saved.onnx"), NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    check(m);
    hn_model_destroy(m);
    assert_true(atomic_load(&scratch_mem.peak) < (1 << 20));
    pb_free();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(more_than_two_gigabytes, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "ops/infer.h"
#include "support/op_test.h"

static void steps_and_clamps(void **state) {
    (void)state;

    OP_RUN("Slice", .in = {"s32[6]{0 ..}", "s64[1]{1}", "s64[1]{5}", "", "s64[1]{2}"},
           .out = {"s32[2]{1 3}"});
    OP_RUN("Slice", .in = {"s32[6]{0 ..}", "s32[1]{-2}", "s32[1]{100}"}, .out = {"s32[2]{4 5}"});
    OP_RUN("Slice", .in = {"s32[3]{0 ..}", "s64[1]{9}", "s64[1]{20}"}, .out = {"s32[0]{}"});
    OP_RUN("Slice", .in = {"s32[3]{0 ..}", "s64[1]{2}", "s64[1]{1}"}, .out = {"s32[0]{}"});
    OP_RUN("Slice",
           .in = {"s32[3]{0 ..}", "s64[1]{-9223372036854775808}", "s64[1]{9223372036854775807}"},
           .out = {"s32[3]{0 1 2}"});
    OP_RUN("Slice",
           .in = {"s32[3]{0 ..}", "s64[1]{0}", "s64[1]{3}", "", "s64[1]{9223372036854775807}"},
           .out = {"s32[1]{0}"});
    OP_RUN("Slice", .in = {"f32[]{7}", "s64[0]{}", "s64[0]{}"}, .out = {"f32[]{7}"});
    OP_RUN("Slice", .in = {"f32[0, 3]{}", "s64[1]{1}", "s64[1]{3}", "s64[1]{1}"},
           .out = {"f32[0, 2]{}"});
}

static void backwards(void **state) {
    (void)state;

    OP_RUN("Slice",
           .in = {"s32[5]{0 ..}", "s64[1]{-1}", "s64[1]{-9223372036854775808}", "", "s64[1]{-1}"},
           .out = {"s32[5]{4 3 2 1 0}"});
    OP_RUN("Slice", .in = {"s32[5]{0 ..}", "s64[1]{100}", "s64[1]{1}", "", "s64[1]{-2}"},
           .out = {"s32[2]{4 2}"});
    OP_RUN("Slice",
           .in = {"s32[5]{0 ..}", "s64[1]{3}", "s64[1]{-9}", "", "s64[1]{-9223372036854775808}"},
           .out = {"s32[1]{3}"});
    /* A start before the first element is clamped to it. */
    OP_RUN("Slice", .in = {"s32[5]{0 ..}", "s64[1]{-9}", "s64[1]{-9}", "", "s64[1]{-1}"},
           .out = {"s32[1]{0}"});
    OP_RUN("Slice", .in = {"s32[0]{}", "s64[1]{-1}", "s64[1]{-9}", "", "s64[1]{-1}"},
           .out = {"s32[0]{}"});
}

static void several_axes(void **state) {
    (void)state;

    OP_RUN("Slice", .in = {"u8[2, 3, 4]{0 ..}", "s64[2]{1 0}", "s64[2]{3 2}", "s64[2]{-1 1}"},
           .out = {"u8[2, 2, 2]{1 2 5 6 13 14 17 18}"});
    OP_RUN("Slice", .in = {"u4[2, 3]{0 ..}", "s64[1]{1}", "s64[1]{3}", "s64[1]{1}"},
           .error = "does not take");
    OP_RUN("Slice",
           .in = {"bool[4]{1 0 0 1}", "s64[1]{3}", "s64[1]{-5}", "s64[1]{0}", "s64[1]{-3}"},
           .out = {"bool[2]{1 1}"});
}

static void symbolic_sizes(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32[n, m]", "s64[1]{0}", "s64[1]{9223372036854775807}", "s64[1]{1}"},
             .out = {"f32[n, m]"});
    OP_INFER("Slice", .in = {"f32[n, m]", "s64[1]{0}", "s64[1]{2147483647}", "s64[1]{0}"},
             .out = {"f32[n, m]"});
    OP_INFER("Slice", .in = {"f32[n, m]", "s64[1]{2}", "s64[1]{9223372036854775807}", "s64[1]{1}"},
             .out = {"f32[n, max(m - 2, 0)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{5}"}, .out = {"f32[min(n, 5)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{2}", "s64[1]{5}"},
             .out = {"f32[max(min(n - 2, 3), 0)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{-1}"}, .out = {"f32[max(n - 1, 0)]"});
    OP_INFER("Slice", .in = {"f32[n + 1]", "s64[1]{0}", "s64[1]{-1}"}, .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[n + 4]", "s64[1]{-4}", "s64[1]{-1}"}, .out = {"f32[3]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-1}", "s64[1]{9223372036854775807}"},
             .out = {"f32[min(n, 1)]"});
    OP_INFER("Slice", .in = {"f32[n + 1]", "s64[1]{-1}", "s64[1]{9223372036854775807}"},
             .out = {"f32[1]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-3}", "s64[1]{4}"},
             .out = {"f32[max(min(n, 4) - max(n - 3, 0), 0)]"});
    OP_INFER("Slice",
             .in = {"f32[2*n]", "s64[1]{0}", "s64[1]{9223372036854775807}", "", "s64[1]{2}"},
             .out = {"f32[n]"});
    OP_INFER("Slice",
             .in = {"f32[2*n]", "s64[1]{1}", "s64[1]{9223372036854775807}", "", "s64[1]{2}"},
             .out = {"f32[floor((max(2*n - 1, 0) + 1)/2)]"});
    OP_INFER("Slice",
             .in = {"f32[n]", "s64[1]{-1}", "s64[1]{-9223372036854775807}", "", "s64[1]{-1}"},
             .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{9}", "", "s64[1]{9223372036854775807}"},
             .out = {"f32[floor((min(n, 9) + 2147483646)/2147483647)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-2}", "s64[1]{0}", "", "s64[1]{-1}"},
             .out = {"f32[?]"});
}

static void symbolic_bounds(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32[512]", "s64[1]{0}", "s64[1]{n}"}, .out = {"f32[min(512, n)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{n}"}, .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[p + n]", "s64[1]{p}", "s64[1]{p + n}"}, .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[64]", "s64[1]{p}", "s64[1]{p + n}"},
             .out = {"f32[max(min(n, 64 - p), 0)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-1*k - 1}", "s64[1]{9223372036854775807}"},
             .out = {"f32[min(n, k + 1)]"});
    OP_INFER("Slice", .in = {"f32[8]", "s64[1]{n - 1}", "s64[1]{8}"}, .out = {"f32[?<=8]"});
}

static void contents_not_known(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32", "s64[1]", "s64[1]"}, .out = {"f32"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64[1]", "s64[1]", "s64[1]{0}"},
             .out = {"f32[?<=4, n]"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64[1]{0}", "s64[1]{1}", "s64[1]"},
             .out = {"f32[?<=4, ?]"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64[1]{0}", "s64[1]{1}", "s64[1]{1}", "s64[1]"},
             .out = {"f32[4, ?]"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64", "s64"}, .out = {"f32[?, ?]"});
}

static void follows_contents(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"s64[3]{n 4 m}", "s64[1]{1}", "s64[1]{9223372036854775807}"},
             .out = {"s64[2]{4 m}"});
    OP_INFER("Slice",
             .in = {"s64[3]{n 4 m}", "s64[1]{-1}", "s64[1]{-9}", "s64[1]{0}", "s64[1]{-1}"},
             .out = {"s64[3]{m 4 n}"});
    OP_INFER("Slice", .in = {"s64[2, 2]{a b c d}", "s64[1]{1}", "s64[1]{2}", "s64[1]{1}"},
             .out = {"s64[2, 1]{b d}"});
    OP_INFER("Slice", .in = {"s64[3]{n 4 m}", "s64[1]{n}", "s64[1]{3}"},
             .out = {"s64[max(3 - n, 0)]{?}"});
}

static void refuses(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32[4]", "s64[1]{0}", "s64[1]{1}", "s64[1]{1}"},
             .error = "axis 1 is outside [-1, 1)");
    OP_INFER("Slice", .in = {"f32[4]", "s64[1]{0}", "s64[1]{1}", "s64[1]{0}", "s64[1]{0}"},
             .error = "step 0 is 0");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[2]{1 1}", "s64[2]{0 -2}"},
             .error = "axis 0 is listed twice");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[1]{1}"},
             .error = "2 starts are listed for 1 ends");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[2]{1 1}", "s64[1]{0}"},
             .error = "1 axes are listed for 2 starts");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[2]{1 1}", "", "s64[1]{1}"},
             .error = "1 steps are listed for 2 starts");
    OP_INFER("Slice", .in = {"f32[4]", "s64[2]{0 0}", "s64[2]{1 1}"},
             .error = "input 1 has 2 entries, expected at most 1");
    OP_INFER("Slice", .in = {"f32[4]", "s64[1, 1]", "s64[1]{1}"},
             .error = "input 1 has rank 2, expected 0 to 1");
    OP_RUN("Slice", .in = {"string[0]{}", "s64[1]{0}", "s64[1]{1}"}, .error = "strings");
}

/* How many elements there are, by walking over them. */
static int64_t walk(int64_t d, int64_t start, int64_t end, int64_t step) {
    int64_t n = 0;
    if (start < 0) start += d;
    if (end < 0) end += d;
    if (start < 0) start = 0;
    if (start > d - (step < 0)) start = d - (step < 0);
    for (int64_t i = start; i >= 0 && i < d && (step > 0 ? i < end : i > end); i += step) n++;
    return n;
}

static int64_t size_of_axis(void *ctx, hn_dim symbol) {
    (void)symbol;
    return *(const int64_t *)ctx;
}

/* The length found for an axis of size n must be right for every n. */
static void symbolic_lengths_hold(void **state) {
    (void)state;
    hn_allocator *alloc = hn_allocator_default();
    hn_error err;
    hn_model *m;
    hn_graph *g;
    hn_node *node;
    hn_value *v;
    assert_int_equal(hn_model_create(&m, alloc, &err), HONE_OK);
    assert_int_equal(hn_graph_create(&g, m, NULL, &err), HONE_OK);
    assert_int_equal(hn_node_create(&node, g, "", "Slice", "", 5, 1, &err), HONE_OK);
    node->op = hn_op_find("", "Slice");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(hn_value_create(&v, g, NULL, "in", &err), HONE_OK);
        hn_node_set_input(node, i, v);
    }
    assert_int_equal(hn_value_create(&v, g, NULL, "out", &err), HONE_OK);
    hn_node_set_output(node, 0, v);
    hn_shape data = {.rank = 1, .dim = {hn_dim_symbol(&m->dims, "n")}};
    hn_shape list = {.rank = 1, .dim = {hn_dim_const(&m->dims, 1)}};
    hn_arena scratch;
    hn_arena_init(&scratch, alloc, HN_MEM_SCRATCH);
    int exact = 0;
    for (int64_t step = -3; step <= 3; step++) {
        for (int64_t start = -7; start <= 7; start++) {
            for (int64_t end = -7; step != 0 && end <= 7; end++) {
                const hn_dim values[4] = {hn_dim_const(&m->dims, start),
                                          hn_dim_const(&m->dims, end), hn_dim_const(&m->dims, 0),
                                          hn_dim_const(&m->dims, step)};
                hn_infer_in in[5] = {
                    {.present = true, .is_tensor = true, .dtype = HONE_DTYPE_F32, .shape = data}};
                for (int i = 1; i < 5; i++)
                    in[i] = (hn_infer_in){.present = true,
                                          .is_tensor = true,
                                          .dtype = HONE_DTYPE_S64,
                                          .shape = list,
                                          .values = &values[i - 1],
                                          .n_values = 1};
                hn_infer_out out = {.wanted = true};
                hn_infer c = {.node = node,
                              .dims = &m->dims,
                              .scratch = &scratch,
                              .n_in = 5,
                              .n_out = 1,
                              .in = in,
                              .out = &out};
                if (hn_node_infer(&c, &err) != HONE_OK) fail_msg("%s", err.text);
                if (hn_dim_is_fresh(out.shape.dim[0])) continue;
                exact++;
                for (int64_t n = 0, length; n <= 9; n++) {
                    assert_true(hn_dim_eval(out.shape.dim[0], size_of_axis, &n, &length));
                    assert_int_equal(length, walk(n, start, end, step));
                }
            }
        }
    }
    assert_int_equal(exact, 3 * 15 * 15); /* every one that goes forward */
    hn_arena_deinit(&scratch);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_clamps),      cmocka_unit_test(backwards),
        cmocka_unit_test(several_axes),          cmocka_unit_test(symbolic_sizes),
        cmocka_unit_test(symbolic_bounds),       cmocka_unit_test(contents_not_known),
        cmocka_unit_test(follows_contents),      cmocka_unit_test(refuses),
        cmocka_unit_test(symbolic_lengths_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

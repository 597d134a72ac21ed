#include "support/op_test.h"

static void forms(void **state) {
    (void)state;
    OP_RUN("Einsum", .attrs = "equation='ij,jk->ik'", .in = {"f32[2, 3]{1 ..}", "f32[3, 2]{1 ..}"},
           .out = {"f32[2, 2]{22 28 49 64}"});
    OP_RUN("Einsum", .attrs = "equation='ij,jk->ki'", .in = {"f32[2, 3]{1 ..}", "f32[3, 2]{1 ..}"},
           .out = {"f32[2, 2]{22 49 28 64}"});
    OP_RUN("Einsum", .attrs = "equation='ij->ji'", .in = {"f32[2, 3]{1 ..}"},
           .out = {"f32[3, 2]{1 4 2 5 3 6}"});
    OP_RUN("Einsum", .attrs = "equation='ij->'", .in = {"f32[2, 3]{1 ..}"}, .out = {"f32[]{21}"});
    OP_RUN("Einsum", .attrs = "equation='ii->i'", .in = {"f32[2, 2]{1 2 3 4}"},
           .out = {"f32[2]{1 4}"});
    OP_RUN("Einsum", .attrs = "equation='ii'", .in = {"f32[2, 2]{1 2 3 4}"}, .out = {"f32[]{5}"});
    OP_RUN("Einsum", .attrs = "equation=','", .in = {"f32[]{3}", "f32[]{4}"}, .out = {"f32[]{12}"});
    OP_RUN("Einsum", .attrs = "equation='->'", .in = {"f32[]{3}"}, .out = {"f32[]{3}"});
    /* Without an output: letters that occur once, capitals first. */
    OP_RUN("Einsum", .attrs = "equation='ba,aC'", .in = {"f32[2, 1]{1 2}", "f32[1, 2]{3 4}"},
           .out = {"f32[2, 2]{3 6 4 8}"});
    OP_RUN("Einsum", .attrs = "equation=' a b , c -> c a '",
           .in = {"f32[2, 2]{1 2 3 4}", "f32[2]{1 10}"}, .out = {"f32[2, 2]{3 7 30 70}"});
}

/* What one operand alone has is summed before the product. */
static void sums_of_one_operand(void **state) {
    (void)state;
    OP_RUN("Einsum", .attrs = "equation='i,j,k->'",
           .in = {"f32[3]{1 2 3}", "f32[2]{1 10}", "f32[2]{3 4}"}, .out = {"f32[]{462}"});
    OP_RUN("Einsum", .attrs = "equation='ab,cd->ac'",
           .in = {"s32[2, 2]{1 2 3 4}", "s32[2, 2]{1 2 3 4}"}, .out = {"s32[2, 2]{9 21 21 49}"});
    OP_RUN("Einsum", .attrs = "equation='ab,bc->b'",
           .in = {"f32[2, 2]{1 2 3 4}", "f32[2, 3]{1 ..}"}, .out = {"f32[2]{24 90}"});
    OP_RUN("Einsum", .attrs = "equation='ab,ac->c'", .in = {"f32[1, 2]{1 2}", "f32[3, 1]{1 2 3}"},
           .out = {"f32[1]{18}"});
}

static void dots(void **state) {
    (void)state;
    OP_RUN("Einsum", .attrs = "equation='...i,...i->...'",
           .in = {"f32[2, 1, 2]{1 2 3 4}", "f32[3, 2]{1 1 2 2 3 3}"},
           .out = {"f32[2, 3]{3 6 9 7 14 21}"});
    OP_RUN("Einsum", .attrs = "equation='i...'", .in = {"f32[2, 2]{1 2 3 4}"},
           .out = {"f32[2, 2]{1 3 2 4}"});
    OP_RUN("Einsum", .attrs = "equation='...i->i...'", .in = {"f32[2]{1 2}"},
           .out = {"f32[2]{1 2}"});
    OP_RUN("Einsum", .attrs = "equation='ij,ij->i'",
           .in = {"f32[2, 2]{1 2 3 4}", "f32[1, 2]{1 10}"}, .out = {"f32[2]{21 43}"});
}

static void many(void **state) {
    (void)state;
    OP_RUN("Einsum", .attrs = "equation='i,ij,j->'",
           .in = {"s32[2]{1 2}", "s32[2, 2]{1 2 3 4}", "s32[2]{10 100}"}, .out = {"s32[]{1070}"});
    /* Partial sums of integers wrap and are exact in the end. */
    OP_RUN("Einsum", .attrs = "equation='i,i,i->i'", .in = {"s8[1]{100}", "s8[1]{100}", "s8[1]{3}"},
           .out = {"s8[1]{48}"});
    OP_RUN("Einsum", .attrs = "equation='i,i->'",
           .in = {"u64[2]{18446744073709551615 1}", "u64[2]{3 5}"}, .out = {"u64[]{2}"});
    /* In f16 partial sums would not hold 4096 + 1. */
    OP_RUN("Einsum", .attrs = "equation='i,i->'", .in = {"f16[3]{4096 1 -4096}", "f16[3]{1 1 1}"},
           .out = {"f16[]{1}"});
}

static void empty(void **state) {
    (void)state;
    OP_RUN("Einsum", .attrs = "equation='ij,jk->ik'", .in = {"f32[2, 0]{}", "f32[0, 1]{}"},
           .out = {"f32[2, 1]{0 0}"});
    OP_RUN("Einsum", .attrs = "equation='ij->i'", .in = {"f32[0, 3]{}"}, .out = {"f32[0]{}"});
    OP_RUN("Einsum", .attrs = "equation='cba->'", .in = {"f32[0, 1099511627776, 1099511627776]{}"},
           .error = "too large");
    OP_RUN("Einsum", .attrs = "equation='bca->'", .in = {"f32[1099511627776, 0, 4]{}"},
           .out = {"f32[]{0}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Einsum", .attrs = "equation='bhid,bhjd->bhij'",
             .in = {"f32[b, 12, s, 64]", "f32[b, 12, t, 64]"}, .out = {"f32[b, 12, s, t]"});
    OP_INFER("Einsum", .attrs = "equation='ij,jk'", .in = {"f32[n, m]", "f32[64, k]"},
             .out = {"f32[n, k]"});
    OP_INFER("Einsum", .attrs = "equation='ij,jk'", .in = {"f32[n, m]", "f32"}, .out = {"f32"});
    OP_INFER("Einsum", .attrs = "equation='i,i->i'", .in = {"f32[n]", "f32[2]"},
             .out = {"f32[2]"}); /* n is 2, or 1 and repeated */
    OP_INFER("Einsum", .attrs = "equation='i,i->i'", .in = {"f32[n]", "f32[n]"}, .out = {"f32[n]"});
    OP_INFER("Einsum", .attrs = "equation='ij,jk'", .in = {"f32[2, 3]", "f32[4, 5]"},
             .error = "sizes of axes with one label differ: 3 and 4");
}

static void bad_equations(void **state) {
    (void)state;
    OP_INFER("Einsum", .attrs = "equation='ij,jk,kl'", .in = {"f32[2, 2]", "f32[2, 2]"},
             .error = "has more terms than the 2 inputs");
    OP_INFER("Einsum", .attrs = "equation='ij'", .in = {"f32[2, 2]", "f32[2, 2]"},
             .error = "has fewer terms than the 2 inputs");
    OP_INFER("Einsum", .attrs = "equation='ij->ik'", .in = {"f32[2, 2]"},
             .error = "a label that is new or stands twice");
    OP_INFER("Einsum", .attrs = "equation='ij->ii'", .in = {"f32[2, 2]"},
             .error = "a label that is new or stands twice");
    OP_INFER("Einsum", .attrs = "equation='i1'", .in = {"f32[2, 2]"},
             .error = "character code 49 is not a label");
    OP_INFER("Einsum", .attrs = "equation='i..'", .in = {"f32[2, 2]"}, .error = "'.' is not part");
    OP_INFER("Einsum", .attrs = "equation='...i...'", .in = {"f32[2, 2]"},
             .error = "'.' is not part");
    OP_INFER("Einsum", .attrs = "equation='ij-i'", .in = {"f32[2, 2]"}, .error = "'-' is not part");
    OP_INFER("Einsum", .attrs = "equation='ij->i->j'", .in = {"f32[2, 2]"},
             .error = "text follows the output");
    OP_INFER("Einsum", .attrs = "equation='ijk'", .in = {"f32[2, 2]"},
             .error = "a term has 3 labels, its operand has rank 2");
    OP_INFER("Einsum", .attrs = "equation='...ijk'", .in = {"f32[2, 2]"},
             .error = "a term has 3 labels besides \"...\", its operand has rank 2");
    OP_INFER("Einsum", .attrs = "equation='...i->i'", .in = {"f32[2, 2]"},
             .error = "the output lacks the \"...\" of the inputs");
    OP_INFER("Einsum", .attrs = "equation='abcdefghijklmnopq'", .in = {"f32[1, 1]"},
             .error = "a term has over 16 labels");
    OP_INFER("Einsum", .attrs = "equation='abcdefghijkl,mnopqrst'",
             .in = {"f32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", "f32[1, 1, 1, 1, 1, 1, 1, 1]"},
             .error = "the output has over 16 axes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),         cmocka_unit_test(sums_of_one_operand),
        cmocka_unit_test(dots),          cmocka_unit_test(many),
        cmocka_unit_test(empty),         cmocka_unit_test(shapes),
        cmocka_unit_test(bad_equations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

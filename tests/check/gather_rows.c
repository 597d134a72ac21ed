/* Cases of gather_rows: pieces of all sizes, both kinds of index, indices from the end and outside.
 */
#include "kernels/gather_rows/gather_rows.h"

#include <string.h>

#include "check.h"

enum { GAP = 1, FLAG = 2, FROM_START = 4 };

static check_case *add(check_list *list, const char *name, int64_t outer, int64_t axis,
                       int64_t count, int64_t bytes, bool wide, int flags) {
    int64_t gap = flags & GAP ? 12 : 0;
    hn_gather_rows p = {.outer = outer,
                        .axis = axis,
                        .count = count,
                        .bytes = bytes,
                        .x_axis = bytes + gap,
                        .x_outer = axis * (bytes + gap) + gap,
                        .y_count = bytes + 2 * gap,
                        .y_outer = count * (bytes + 2 * gap),
                        .wide = wide,
                        .from_start = (flags & FROM_START) != 0};
    check_case *c = check_add(list, "%s_%lldx%lldx%lldx%lld_%d", name, (long long)outer,
                              (long long)axis, (long long)count, (long long)bytes, wide ? 64 : 32);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_U8,
                      axis == 0 ? 0 : (outer - 1) * p.x_outer + (axis - 1) * p.x_axis + bytes);
    check_operand_add(c, CHECK_IN, wide ? CHECK_I64 : CHECK_I32, count);
    check_operand_add(c, CHECK_OUT, CHECK_U8,
                      (outer - 1) * p.y_outer + (count - 1) * p.y_count + bytes);
    check_operand_add(c, flags & FLAG ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    c->only_random = true;
    c->bytes = 2.0 * (double)(outer * count * bytes);
    return c;
}

static void cases(check_list *list) {
    static const int64_t bytes[] = {1, 2, 4, 8, 12, 256, 3072};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (int wide = 0; wide < 2; wide++) {
            add(list, "rows", 1, 50, 33, bytes[i], wide != 0, FLAG);
            add(list, "axis", 3, 7, 11, bytes[i], wide != 0, GAP);
            add(list, "outside", 2, 9, 20, bytes[i], wide != 0, FLAG | GAP);
        }
    add(list, "outside_unseen", 2, 9, 20, 16, true, 0);
    add(list, "from_start", 2, 9, 20, 16, true, FLAG | FROM_START);
    add(list, "from_start", 1, 9, 3, 4, false, FLAG | FROM_START);
    add(list, "many", 5, 1000, 3001, 4, true, FLAG);
    add(list, "embedding", 1, 30000, 128, 1536, true, FLAG)->bench = true;
    add(list, "elements", 1, 3000, 20000, 4, true, FLAG)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_gather_rows p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    size_t n = c->operand[operand].count;
    int64_t edge = strncmp(c->name, "outside", 7) == 0 ? 3 : 0; /* beyond both ends */
    for (size_t i = 0; i < n; i++) {
        int64_t range = 2 * (p.axis + edge);
        int64_t v = (int64_t)hn_rng_below(rng, (uint64_t)range) - range / 2;
        if (edge > 0 && i % 7 == 3) v = i % 2 != 0 ? INT64_MAX : INT64_MIN;
        if (operand == HN_GATHER_X)
            ((uint8_t *)data)[i] = (uint8_t)hn_rng_below(rng, 256);
        else if (operand == HN_GATHER_OUTSIDE)
            ((int32_t *)data)[i] = 0;
        else if (p.wide)
            ((int64_t *)data)[i] = v;
        else
            ((int32_t *)data)[i] = v > INT32_MAX   ? INT32_MAX
                                   : v < INT32_MIN ? INT32_MIN
                                                   : (int32_t)v;
    }
    return true;
}

const check_family check_gather_rows = {
    .family = &hn_gather_rows_family, .cases = cases, .fill = fill};

#include "kernels/space.h"

/* Moves axis `from` of every operand to `to`. */
static void move_axis(hn_space *s, int to, int from) {
    s->dims[to] = s->dims[from];
    for (int o = 0; o < s->n; o++) s->stride[o][to] = s->stride[o][from];
}

static void swap_axes(hn_space *s, int i, int j) {
    hn_space old = *s;
    move_axis(s, i, j);
    s->dims[j] = old.dims[i];
    for (int o = 0; o < s->n; o++) s->stride[o][j] = old.stride[o][i];
}

/* Whether axis j, the next inner one, continues axis i in every operand. */
static int joins(const hn_space *s, int i, int j) {
    for (int o = 0; o < s->n; o++)
        if (s->stride[o][i] != s->stride[o][j] * s->dims[j]) return 0;
    return 1;
}

static int64_t size_of(int64_t stride) { return stride < 0 ? -stride : stride; }

void hn_space_collapse(hn_space *s, int by) {
    int n = 0;
    for (int i = 0; i < s->rank; i++)
        if (s->dims[i] != 1) move_axis(s, n++, i);
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0; j--)
            if (size_of(s->stride[by][j - 1]) < size_of(s->stride[by][j])) swap_axes(s, j - 1, j);
    for (int i = n - 2; i >= 0; i--) {
        if (!joins(s, i, i + 1)) continue;
        int64_t dim = s->dims[i] * s->dims[i + 1];
        move_axis(s, i, i + 1);
        s->dims[i] = dim;
        for (int j = i + 2; j < n; j++) move_axis(s, j - 1, j);
        n--;
    }
    s->rank = n > 0 ? n : 1;
    for (int i = n; i < HN_SPACE_RANK; i++) {
        s->dims[i] = i == 0;
        for (int o = 0; o < s->n; o++) s->stride[o][i] = i == 0;
    }
}

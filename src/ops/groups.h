/* Elements that belong together along some of the axes: what a reduction makes one number of, what
 * a normalization or softmax looks at as a whole.
 *
 * Axes of a kind (together or apart) that lie next to each other are one run in memory, so a tensor
 * is seen as alternating runs. What varies fastest decides how a group is walked over:
 *
 *     [.., apart, TOGETHER]    one group at a time, by runs of its elements
 *     [.., TOGETHER, apart]    neighbouring groups at once, by rows of one element of each
 *
 * Both are one loop for the caller: element i of a stretch belongs to group i * step of those being
 * walked over, step being 0 or 1. Elements come in the order of memory, whatever the threads.
 */
#ifndef HN_OPS_GROUPS_H
#define HN_OPS_GROUPS_H

#include "ops/broadcast.h"

typedef struct hn_groups {
    int64_t count; /* of groups; their order is that of the axes that are not together */
    int64_t n;     /* elements in each; 0 also when there are no groups */
    int64_t inner; /* neighbouring groups: the apart axes that come last */
    int64_t run;   /* neighbouring elements of one group: the together axes that come last */
    /* The other axes, the innermost first: size, and elements per step. */
    int n_apart, n_together;
    int64_t apart[HONE_MAX_RANK], apart_step[HONE_MAX_RANK];
    int64_t together[HONE_MAX_RANK], together_step[HONE_MAX_RANK];
} hn_groups;

/* Bit k of `together` stands for axis k. The groups must be countable: the product of the other
 * dims fits in 63 bits. */
void hn_groups_init(hn_groups *g, int rank, const int64_t *dims, uint32_t together);

/* fn(ctx, first, width) for all groups, at most HN_BLOCK neighbours at a time, spread over the
 * threads. */
void hn_for_groups(hn_pool *pool, const hn_groups *g,
                   void (*fn)(void *ctx, int64_t first, int64_t width), void *ctx);
/* For use in such an fn: hands over every element of its groups. Elements [at, at + n), n at most
 * HN_BLOCK, of which number i belongs to group first + i * step. */
void hn_group_walk(const hn_groups *g, int64_t first, int64_t width,
                   void (*take)(void *state, int64_t at, int64_t n, int64_t step), void *state);

#endif

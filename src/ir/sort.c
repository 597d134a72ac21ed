/* Topological order. The uses of a value are its outgoing edges; a use inside a subgraph counts as
 * one by the node that owns the subgraph. */
#include <string.h>

#include "ir/ir.h"

/* The node of g that the use belongs to, however deep; NULL: an output of g itself. */
static hn_node *user_in(const hn_graph *g, const hn_use *u) {
    hn_node *n = u->node != NULL ? u->node : u->graph != g ? u->graph->owner : NULL;
    while (n != NULL && n->graph != g) n = n->graph->owner;
    return n;
}

/* Among nodes that wait (left[i] > 0), steps back along inputs until it must be on the cycle. */
static const hn_node *on_cycle(hn_node *const *nodes, const int *left, int n) {
    const hn_node *at = NULL;
    for (int i = 0; i < n && at == NULL; i++)
        if (left[i] > 0) at = nodes[i];
    for (int step = 0; step < n; step++) {
        const hn_node *back = NULL;
        for (int i = 0; i < at->n_inputs && back == NULL; i++) {
            const hn_value *v = at->inputs[i].value;
            if (v != NULL && v->producer != NULL && v->graph == at->graph &&
                left[v->producer->mark] > 0)
                back = v->producer;
        }
        if (back == NULL) break;
        at = back;
    }
    return at;
}

/* A heap of node indices, smallest first: of the nodes that are ready, the one that came first goes
 * first, so nodes in order stay where they are. */
static void push(int *heap, int *n, int x) {
    int i = (*n)++;
    for (; i > 0 && heap[(i - 1) / 2] > x; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = x;
}

static int pop(int *heap, int *n) {
    int top = heap[0], x = heap[--*n], i = 0;
    for (int child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= x) break;
        heap[i] = heap[child];
    }
    heap[i] = x;
    return top;
}

static void link_in_order(hn_graph *g, hn_node *const *nodes, const int *order) {
    hn_node *prev = NULL;
    g->first = NULL;
    for (int i = 0; i < g->n_nodes; i++) {
        hn_node *n = nodes[order[i]];
        n->prev = prev;
        n->next = NULL;
        if (prev != NULL)
            prev->next = n;
        else
            g->first = n;
        prev = n;
    }
    g->last = prev;
}

/* Once for each use of the node's results, `user` is the node of g behind it. */
#define FOR_EACH_USER(g, node, user)                                                          \
    for (int out_ = 0; out_ < (node)->n_outputs; out_++)                                      \
        for (hn_use *u_ = (node)->outputs[out_] != NULL ? (node)->outputs[out_]->uses : NULL; \
             u_ != NULL; u_ = u_->next)                                                       \
            for (hn_node *user = user_in(g, u_); user != NULL; user = NULL)

static hone_status sort(hn_graph *g, hn_node **nodes, int *left, int *heap, int *order,
                        hn_error *err) {
    int n = g->n_nodes, n_heap = 0, done = 0;
    for (int i = 0; i < n; i++) FOR_EACH_USER(g, nodes[i], user) left[user->mark]++;
    for (int i = 0; i < n; i++)
        if (left[i] == 0) push(heap, &n_heap, i);
    while (n_heap > 0) {
        int i = pop(heap, &n_heap);
        order[done++] = i;
        FOR_EACH_USER(g, nodes[i], user)
        if (--left[user->mark] == 0) push(heap, &n_heap, (int)user->mark);
    }
    char label[320];
    HN_CHECK(err, done == n, HONE_E_MODEL, "%s depends on its own result: the nodes form a cycle",
             hn_node_label(on_cycle(nodes, left, n), label, sizeof label));
    link_in_order(g, nodes, order);
    return HONE_OK;
}

hone_status hn_graph_sort(hn_graph *g, bool *moved, hn_error *err) {
    bool ordered = true;
    uint64_t at = 0;
    for (hn_node *n = g->first; n != NULL; n = n->next) n->mark = at++;
    for (hn_node *n = g->first; n != NULL && ordered; n = n->next)
        FOR_EACH_USER(g, n, user) ordered &= user->mark > n->mark;
    hone_status status = HONE_OK;
    if (!ordered) {
        hn_allocator *alloc = g->model->alloc;
        size_t count = (size_t)g->n_nodes;
        hn_node **nodes = hn_alloc_array(alloc, count, sizeof *nodes, HN_MEM_OTHER);
        int *numbers = hn_alloc_array(alloc, 3 * count, sizeof *numbers, HN_MEM_OTHER);
        if (nodes == NULL || numbers == NULL) {
            status = HN_NOMEM(err);
        } else {
            for (hn_node *n = g->first; n != NULL; n = n->next) nodes[n->mark] = n;
            memset(numbers, 0, count * sizeof *numbers);
            status = sort(g, nodes, numbers, numbers + count, numbers + 2 * count, err);
        }
        hn_free(alloc, nodes);
        hn_free(alloc, numbers);
    }
    for (hn_node *n = g->first; n != NULL; n = n->next) n->mark = 0;
    if (moved != NULL) *moved = !ordered;
    return status;
}

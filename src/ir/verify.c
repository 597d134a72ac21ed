/* The verifier: every invariant of ir.h, checked by walking. It reads links only in ways that stay
 * safe when they are wrong. */
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

#define BROKEN(...) return hn_fail(err, HONE_E_MODEL, __VA_ARGS__)

/* u must be in its value's list. Lists are checked for length and back-links once per value. */
static hone_status check_value(const hn_graph *g, const hn_value *v, hn_error *err) {
    if (v->graph != g)
        BROKEN("value '%s' is listed in graph '%s' but belongs elsewhere", v->name, g->name);
    if (v->dead) {
        if (v->n_uses != 0 || v->producer != NULL)
            BROKEN("removed value '%s' is still in use", v->name);
        return HONE_OK;
    }
    if (v->name == NULL || v->name[0] == '\0') BROKEN("a value of graph '%s' has no name", g->name);
    if (!g->model->unlisted && hn_graph_value(g, v->name) != v)
        BROKEN("looking up '%s' in graph '%s' gives another value", v->name, g->name);
    for (const hn_graph *up = g->parent; up != NULL && !g->model->unlisted; up = up->parent)
        if (hn_graph_value(up, v->name) != NULL)
            BROKEN("'%s' is defined in graph '%s' and again in a graph around it", v->name,
                   g->name);
    int n = 0, outputs = 0;
    const hn_use *prev = NULL;
    for (const hn_use *u = v->uses; u != NULL; prev = u, u = u->next) {
        if (u->value != v || u->prev != prev || ++n > v->n_uses)
            BROKEN("the use-list of '%s' is broken", v->name);
        bool there =
            u->node != NULL
                ? !u->node->dead && u->index < u->node->n_inputs && &u->node->inputs[u->index] == u
                : u->index < u->graph->n_outputs && &u->graph->outputs[u->index] == u;
        if (!there) BROKEN("'%s' is used by an input that does not exist", v->name);
        outputs += u->node == NULL;
    }
    if (n != v->n_uses) BROKEN("'%s' counts %d uses but has %d", v->name, v->n_uses, n);
    if (outputs != v->n_outputs)
        BROKEN("'%s' counts %d outputs but is %d", v->name, v->n_outputs, outputs);
    if (v->producer != NULL) {
        const hn_node *p = v->producer;
        if (p->dead || p->graph != g || v->out_index >= p->n_outputs ||
            p->outputs[v->out_index] != v)
            BROKEN("'%s' names a producer that does not produce it", v->name);
        if (v->constant != NULL || v->is_input)
            BROKEN("'%s' is computed by a node and also an input or constant", v->name);
    }
    if (v->type.shape.rank > HONE_MAX_RANK) BROKEN("'%s' has rank %d", v->name, v->type.shape.rank);
    return HONE_OK;
}

/* stamp: a number no earlier walk used; nodes met so far carry it. */
static hone_status check_use(const hn_graph *g, const hn_use *u, uint64_t stamp, const char *who,
                             hn_error *err) {
    const hn_value *v = u->value;
    if (v == NULL) return HONE_OK;
    if (v->dead) BROKEN("%s uses '%s', which was removed", who, v->name);
    const hn_graph *up = g;
    while (up != NULL && up != v->graph) up = up->parent;
    if (up == NULL) BROKEN("%s uses '%s' of a graph that does not enclose it", who, v->name);
    if (v->producer == NULL && v->constant == NULL && !v->is_input)
        BROKEN("%s uses '%s', which nothing computes", who, v->name);
    if (v->producer != NULL && v->producer->mark != stamp)
        BROKEN("%s uses '%s' before it is computed", who, v->name);
    bool linked = u->prev != NULL ? u->prev->next == u : v->uses == u;
    if (!linked) BROKEN("%s is missing in the use-list of '%s'", who, v->name);
    return HONE_OK;
}

static hone_status check_graph(const hn_graph *g, uint64_t stamp, hn_error *err) {
    if (g->depth > HN_MAX_DEPTH) BROKEN("graph '%s' is nested too deep", g->name);
    for (int i = 0; i < g->n_values; i++) {
        if (g->values[i]->id != i) BROKEN("value '%s' has the wrong id", g->values[i]->name);
        HN_TRY(check_value(g, g->values[i], err));
    }
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_value *v = g->inputs[i];
        if (v->graph != g || !v->is_input || v->dead || v->producer != NULL)
            BROKEN("input %d of graph '%s' is not an input value", i, g->name);
    }
    int n = 0;
    const hn_node *prev = NULL;
    for (hn_node *node = g->first; node != NULL; prev = node, node = node->next) {
        char label[320];
        hn_node_label(node, label, sizeof label);
        if (node->prev != prev || node->graph != g || node->dead || ++n > g->n_nodes)
            BROKEN("the node list of graph '%s' is broken at %s", g->name, label);
        for (int i = 0; i < node->n_inputs; i++) {
            const hn_use *u = &node->inputs[i];
            if (u->node != node || u->index != i) BROKEN("%s: input %d is mislabelled", label, i);
            HN_TRY(check_use(g, u, stamp, label, err));
        }
        for (int i = 0; i < node->n_outputs; i++) {
            const hn_value *v = node->outputs[i];
            if (v != NULL && (v->producer != node || v->out_index != i))
                BROKEN("%s: output %d ('%s') names another producer", label, i, v->name);
        }
        int at = 0;
        for (hn_graph *sub; (sub = hn_node_subgraph(node, &at)) != NULL;) {
            if (sub->parent != g || sub->owner != node)
                BROKEN("%s: a subgraph is not its own", label);
            HN_TRY(check_graph(sub, stamp, err));
        }
        node->mark = stamp;
    }
    if (n != g->n_nodes || g->last != prev)
        BROKEN("graph '%s' counts %d nodes but has %d", g->name, g->n_nodes, n);
    for (int i = 0; i < g->n_outputs; i++) {
        const hn_use *u = &g->outputs[i];
        char who[300];
        snprintf(who, sizeof who, "output %d of graph '%.200s'", i, g->name);
        if (u->node != NULL || u->graph != g || u->index != i) BROKEN("%s is mislabelled", who);
        if (u->value == NULL) BROKEN("%s is absent", who);
        HN_TRY(check_use(g, u, stamp, who, err));
    }
    return HONE_OK;
}

hone_status hn_model_verify(const hn_model *m, hn_error *err) {
    static _Atomic uint64_t stamps;
    if (m->graph == NULL) BROKEN("the model has no graph");
    return check_graph(m->graph, ++stamps, err);
}

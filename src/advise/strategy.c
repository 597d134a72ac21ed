#include "advise/strategy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HN_DEVICE(...)
#define HN_BRANCH(...)
#define HN_REMEDY(...)
#define HN_TROUBLE(...)
#define HN_REFUSED(...)

#undef HN_DEVICE
#define HN_DEVICE(name, tree, bits, pruning, layout, precision) \
    {#name, HN_TREE_##tree, bits, pruning, layout, precision},
static const hn_target devices[] = {
#include "advise/strategy.def"
};
#undef HN_DEVICE
#define HN_DEVICE(...)

#undef HN_BRANCH
#define HN_BRANCH(tree, id, question) {HN_TREE_##tree, HN_BRANCH_##id, question},
static const hn_branch branches[] = {
#include "advise/strategy.def"
};
#undef HN_BRANCH
#define HN_BRANCH(...)

#undef HN_REMEDY
#define HN_REMEDY(device, branch, name, does, by, gain, command) \
    {#device, HN_BRANCH_##branch, name, HN_DOES_##does, HN_BY_##by, gain, command},
static const hn_remedy remedies[] = {
#include "advise/strategy.def"
};
#undef HN_REMEDY
#define HN_REMEDY(...)

#undef HN_TROUBLE
#define HN_TROUBLE(device, does, sign, remedy) {#device, HN_DOES_##does, sign, remedy},
static const hn_trouble troubles[] = {
#include "advise/strategy.def"
};
#undef HN_TROUBLE
#define HN_TROUBLE(...)

#undef HN_REFUSED
#define HN_REFUSED(device, does, name, why) {#device, HN_DOES_##does, name, why},
static const hn_refused refused[] = {
#include "advise/strategy.def"
};

#define HN_DOES(...)
#define HN_TYPICAL(...)
#define HN_PURPOSE(...)
#define HN_SYMPTOM(...)

#undef HN_DOES
#define HN_DOES(id, precision, flops, activations, weights, file, effort, needs, loss, risk) \
    {precision, flops, activations, weights, file, effort, HN_WANTS_##needs, loss, risk},
static const hn_does effects[] = {
#include "advise/advice.def"
};
#undef HN_DOES
#define HN_DOES(...)

#undef HN_TYPICAL
#define HN_TYPICAL(device, ...) {#device, __VA_ARGS__},
static const hn_typical typicals[] = {
#include "advise/advice.def"
};
#undef HN_TYPICAL
#define HN_TYPICAL(...)

#undef HN_PURPOSE
#define HN_PURPOSE(name, ...) {#name, __VA_ARGS__},
static const hn_purpose uses[] = {
#include "advise/advice.def"
};
#undef HN_PURPOSE
#define HN_PURPOSE(...)

#undef HN_SYMPTOM
#define HN_SYMPTOM(...) {__VA_ARGS__},
static const hn_symptom symptoms[] = {
#include "advise/advice.def"
};

#define COUNT(table) ((int)(sizeof table / sizeof *table))

const hn_target *hn_target_at(int i) { return i < COUNT(devices) ? &devices[i] : NULL; }

const hn_target *hn_target_named(const char *name) {
    for (int i = 0; i < COUNT(devices); i++)
        if (strcmp(devices[i].name, name) == 0) return &devices[i];
    return NULL;
}

const hn_branch *hn_branch_at(hn_tree tree, int i) {
    for (int k = 0; k < COUNT(branches); k++)
        if (branches[k].tree == tree && i-- == 0) return &branches[k];
    return NULL;
}

const hn_remedy *hn_remedy_at(const char *device, int i) {
    for (int k = 0; k < COUNT(remedies); k++)
        if (strcmp(remedies[k].device, device) == 0 && i-- == 0) return &remedies[k];
    return NULL;
}

const hn_remedy *hn_remedy_named(const char *device, const char *name) {
    const hn_remedy *r;
    for (int i = 0; (r = hn_remedy_at(device, i)) != NULL; i++)
        if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

const hn_trouble *hn_trouble_of(const char *device) {
    for (int i = 0; i < COUNT(troubles); i++)
        if (strcmp(troubles[i].device, device) == 0) return &troubles[i];
    return NULL;
}

const hn_refused *hn_refused_at(const char *device, int i) {
    for (int k = 0; k < COUNT(refused); k++)
        if (strcmp(refused[k].device, device) == 0 && i-- == 0) return &refused[k];
    return NULL;
}

const hn_does *hn_does_of(hn_does_id id) { return &effects[id]; }

const hn_typical *hn_typical_of(const char *device) {
    for (int i = 0; i < COUNT(typicals); i++)
        if (strcmp(typicals[i].device, device) == 0) return &typicals[i];
    return NULL;
}

const hn_purpose *hn_purpose_at(int i) { return i < COUNT(uses) ? &uses[i] : NULL; }

const hn_purpose *hn_purpose_named(const char *name) {
    for (int i = 0; i < COUNT(uses); i++)
        if (strcmp(uses[i].name, name) == 0) return &uses[i];
    return NULL;
}

const hn_symptom *hn_symptom_at(int i) { return i < COUNT(symptoms) ? &symptoms[i] : NULL; }

/* Adds a text and what stands before it, as far as there is room; returns what is used then. */
static size_t append(char *text, size_t bytes, size_t used, const char *before, const char *more) {
    if (used < bytes)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? before : "", more);
    return used;
}

const char *hn_devices_text(char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < COUNT(devices); i++)
        used = append(text, bytes, used, ", ", devices[i].name);
    return text;
}

const char *hn_purposes_text(char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < COUNT(uses); i++) used = append(text, bytes, used, ", ", uses[i].name);
    return text;
}

const char *hn_remedies_text(const char *device, char *text, size_t bytes) {
    const hn_remedy *r;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; (r = hn_remedy_at(device, i)) != NULL; i++)
        used = append(text, bytes, used, ", ", r->name);
    return text;
}

/* Recipes that verbs write: the options of a verb as the parameters of its transform. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

char *recipe_add(char *text, const char *more) {
    size_t n = text != NULL ? strlen(text) : 0;
    text = must(realloc(text, n + strlen(more) + 1));
    strcpy(text + n, more);
    return text;
}

char *recipe_add_word(char *text, const char *name, const char *value, bool for_layers) {
    char *word = must(malloc(strlen(name) + strlen(value) + 2));
    sprintf(word, for_layers ? "%s:%s" : value[0] != '\0' ? "%s=%s" : "%s", name, value);
    text = recipe_add(text, " ");
    if (strpbrk(word, " ;'\t") == NULL) {
        text = recipe_add(text, word);
    } else {
        text = recipe_add(text, "'");
        for (const char *at = word; *at != '\0'; at++)
            text = recipe_add(text, *at == '\'' ? "''" : (char[]){*at, '\0'});
        text = recipe_add(text, "'");
    }
    free(word);
    return text;
}

char *recipe_add_options(char *text, const args *a) {
    text = recipe_add(text, a->verb->transform);
    for (const option_def *d = options_of(a->verb); d->name != NULL; d++) {
        bool own = true;
        for (const option_def *o = a->verb->options; o->name != NULL; o++)
            own = own && strcmp(o->name, d->name) != 0;
        for (int k = 0; own && value_at(a, d->name, k) != NULL; k++)
            text = recipe_add_word(text, d->name + 2, value_at(a, d->name, k), d->many);
    }
    return recipe_add(text, "\n");
}

/* The pool of n-grams that the attributes of a TfIdfVectorizer describe. */
#ifndef HN_OPS_TFIDF_VECTORIZER_H
#define HN_OPS_TFIDF_VECTORIZER_H

#include "ops/op.h"

typedef struct hn_ngrams {
    const int64_t *items, *starts, *columns;
    const float *weights; /* NULL: none, or they do not count in this mode */
    int n_items, n_starts, n_columns;
    int64_t shortest, longest, skips, width;
    bool once; /* an n-gram counts once, however often it occurs */
} hn_ngrams;

/* Fails where the attributes contradict each other. */
hone_status hn_ngrams_read(const hn_node *n, hn_ngrams *p, hn_error *err);
/* Where the n-grams of length n begin in the items, and how many there are. */
int64_t hn_ngrams_of(const hn_ngrams *p, int64_t n, int64_t *count);

#endif

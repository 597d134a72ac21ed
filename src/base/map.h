/* A map from text (pointer and length) to a pointer. Keys are not copied: they must outlive the
 * map. Open addressing. */
#ifndef HN_BASE_MAP_H
#define HN_BASE_MAP_H

#include <string.h>

#include "base/alloc.h"

typedef struct hn_map_slot {
    const char *key; /* NULL: free */
    size_t key_bytes;
    uint64_t hash;
    void *value; /* NULL: removed */
} hn_map_slot;

typedef struct hn_map {
    hn_allocator *alloc;
    hn_map_slot *slots;
    size_t capacity, used; /* used counts removed slots too */
} hn_map;

void hn_map_init(hn_map *map, hn_allocator *alloc);
void hn_map_deinit(hn_map *map);
void *hn_map_get(const hn_map *map, const char *key, size_t key_bytes); /* NULL if absent */
/* Adds or replaces; value must not be NULL. False when out of memory. */
bool hn_map_put(hn_map *map, const char *key, size_t key_bytes, void *value);
void hn_map_remove(hn_map *map, const char *key, size_t key_bytes);

/* Another one in each process, so that no file can hold names that collide: for tables in memory
 * alone, of which nothing that is written may show the order. */
uint64_t hn_hash_bytes(const void *data, size_t bytes);

#endif

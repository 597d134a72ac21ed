#include "base/map.h"

void hn_map_init(hn_map *map, hn_allocator *alloc) { *map = (hn_map){.alloc = alloc}; }

void hn_map_deinit(hn_map *map) {
    if (map->alloc != NULL) hn_free(map->alloc, map->slots);
    *map = (hn_map){.alloc = map->alloc};
}

/* FNV-1a with a final mix, so that the low bits used as the index depend on every byte. */
uint64_t hn_hash_bytes(const void *data, size_t bytes) {
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h;
}

/* The slot that holds the key, or the free slot where it would go. The table is never full. */
static hn_map_slot *find(const hn_map *map, const char *key, size_t bytes, uint64_t hash) {
    size_t mask = map->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        hn_map_slot *s = &map->slots[i];
        if (s->key == NULL) return s;
        if (s->hash == hash && s->key_bytes == bytes && memcmp(s->key, key, bytes) == 0) return s;
    }
}

void *hn_map_get(const hn_map *map, const char *key, size_t bytes) {
    if (map->capacity == 0) return NULL;
    return find(map, key, bytes, hn_hash_bytes(key, bytes))->value;
}

static bool grow(hn_map *map) {
    size_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
    hn_map_slot *slots = hn_alloc_array(map->alloc, capacity, sizeof *slots, HN_MEM_OTHER);
    if (slots == NULL) return false;
    memset(slots, 0, capacity * sizeof *slots);
    hn_map old = *map;
    map->slots = slots;
    map->capacity = capacity;
    map->used = 0;
    for (size_t i = 0; i < old.capacity; i++) {
        const hn_map_slot *s = &old.slots[i];
        if (s->key == NULL || s->value == NULL) continue;
        *find(map, s->key, s->key_bytes, s->hash) = *s;
        map->used++;
    }
    hn_free(map->alloc, old.slots);
    return true;
}

bool hn_map_put(hn_map *map, const char *key, size_t bytes, void *value) {
    if ((map->used + 1) * 4 > map->capacity * 3 && !grow(map)) return false;
    uint64_t hash = hn_hash_bytes(key, bytes);
    hn_map_slot *s = find(map, key, bytes, hash);
    if (s->key == NULL) map->used++;
    *s = (hn_map_slot){key, bytes, hash, value};
    return true;
}

void hn_map_remove(hn_map *map, const char *key, size_t bytes) {
    if (map->capacity == 0) return;
    find(map, key, bytes, hn_hash_bytes(key, bytes))->value = NULL;
}

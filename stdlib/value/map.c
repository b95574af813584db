// Map: looking up, listing and making maps. A key is searched from the first to the last: maps of
// rows are short, and a table costs more than it saves.
#include "stdlib/value/map.h"

#include "stdlib/hash.h"
#include "stdlib/text.h"

#include <string.h>

static const char *entry_at(const SbType *type, SbList map, int64_t i) {
    return (const char *)map.ptr + i * (int64_t)type->elem->size;
}

static SbStr key_at(const SbType *type, SbList map, int64_t i) {
    SbStr key;
    memcpy(&key, entry_at(type, map, i), sizeof key);
    return key;
}

// The place of a key among the first `count` entries, or -1.
static int64_t find(const SbType *type, SbList map, int64_t count, SbStr key) {
    for (int64_t i = 0; i < count; i++)
        if (sb_str_equal(key_at(type, map, i), key)) return i;
    return -1;
}

// Of many entries: a table of places, probed linearly.
static int32_t check_many(SbCall *call, const SbType *type, SbList map) {
    int64_t slots = 16;
    while (slots < map.len * 2) slots *= 2;
    const SbCall before = *call;
    int64_t *table = sb_alloc(call, slots * (int64_t)sizeof *table);
    if (!table) return SB_FAULT_TOO_LARGE;
    memset(table, 0, (size_t)slots * sizeof *table);
    int32_t status = SB_OK;
    for (int64_t i = 0; i < map.len && !status; i++) {
        const SbStr key = key_at(type, map, i);
        uint64_t at = sb_hash_bytes(0, key.ptr, key.len) & (uint64_t)(slots - 1);
        while (table[at] && !sb_str_equal(key_at(type, map, table[at] - 1), key))
            at = (at + 1) & (uint64_t)(slots - 1);
        if (table[at]) status = SB_FAULT_DUPLICATE_KEY;
        table[at] = i + 1;
    }
    sb_release(call, &before);
    return status;
}

int32_t sb_map_check(SbCall *call, const SbType *type, SbList entries) {
    enum { FEW = 16 };
    if (entries.len > FEW) return check_many(call, type, entries);
    for (int64_t i = 1; i < entries.len; i++)
        if (find(type, entries, i, key_at(type, entries, i)) >= 0) return SB_FAULT_DUPLICATE_KEY;
    return SB_OK;
}

int32_t sb_map_get(const SbType *type, SbList map, SbStr key, void *out) {
    const SbField *field = &type->elem->fields[1];
    const int64_t i = find(type, map, map.len, key);
    if (i < 0) return SB_NULL;
    const char *value = entry_at(type, map, i) + field->offset;
    if (!sb_is_valid(field->type, value)) return SB_NULL;
    memcpy(out, value, (size_t)sb_base_size(field->type));
    return SB_OK;
}

bool sb_map_has(const SbType *type, SbList map, SbStr key) {
    return find(type, map, map.len, key) >= 0;
}

SbList sb_map_entries(SbList map) { return map; }

// One field of each entry.
static int32_t gather(SbCall *call, const SbType *type, SbList map, uint32_t field, SbList *out) {
    const int64_t size = type->elem->fields[field].type->size;
    char *copy = sb_alloc(call, map.len * size);
    if (!copy) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < map.len; i++)
        memcpy(copy + i * size, entry_at(type, map, i) + type->elem->fields[field].offset,
               (size_t)size);
    *out = (SbList){copy, map.len};
    return SB_OK;
}

int32_t sb_map_keys(SbCall *call, const SbType *type, SbList map, SbList *out) {
    return gather(call, type, map, 0, out);
}

int32_t sb_map_values(SbCall *call, const SbType *type, SbList map, SbList *out) {
    return gather(call, type, map, 1, out);
}

int32_t sb_map_of(SbCall *call, const SbType *type, SbList entries, SbList *out) {
    *out = entries;
    return sb_map_check(call, type, entries);
}

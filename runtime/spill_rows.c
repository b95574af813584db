#include "runtime/spill_rows.h"

#include <string.h>

typedef enum Way { WAY_MEASURE, WAY_PUT, WAY_LINK } Way;

// Goes along what an entry points to, in the order in which it lies on disk.
typedef struct Walk {
    Way      way;
    int64_t  at;      // Bytes passed.
    Spill   *spill;   // When writing,
    uint32_t thread;  // by this one.
    char    *base;    // When linking: what is there...
    int64_t  end;     // ...how much of it...
    bool     bad;     // ...and that it ends too early.
} Walk;

static int64_t round_up(int64_t bytes) { return (bytes + 15) & ~INT64_C(15); }

static void align(Walk *walk) {
    static const char zeroes[15];
    int64_t gap = round_up(walk->at) - walk->at;
    if (walk->way == WAY_PUT) spill_add(walk->spill, walk->thread, zeroes, gap);
    walk->at += gap;
}

// `bytes` that the pointer at `field` points to. Where they lie now; nullptr: they are not there.
static const char *hold(Walk *walk, const void *field, int64_t bytes) {
    const char *here;
    memcpy(&here, field, sizeof here);
    switch (walk->way) {
    case WAY_MEASURE: break;
    case WAY_PUT: spill_add(walk->spill, walk->thread, here, bytes); break;
    case WAY_LINK:
        walk->bad |= bytes < 0 || bytes > walk->end - walk->at;
        if (walk->bad) return nullptr;
        here = walk->base + walk->at;
        memcpy((void *)(uintptr_t)field, &here, sizeof here);
        break;
    }
    walk->at += bytes;
    return here;
}

static bool is_flat(const SbType *type) {
    return type->kind != SB_STR && type->kind != SB_BYTES && type->kind != SB_JSON &&
           type->kind != SB_LIST && type->kind != SB_STRUCT;
}

// Recursion follows the type, whose depth the compiler limits.
static void walk_value(Walk *walk, const SbType *type, const char *value) {
    if (type->nullable && !value[type->valid_offset]) return;
    if (type->kind == SB_LIST) {
        SbList list;
        memcpy(&list, value, sizeof list);
        align(walk);
        const char *elems = hold(walk, value + offsetof(SbList, ptr),
                                 list.len * (int64_t)type->elem->size);
        for (int64_t i = 0; i < list.len && elems && !is_flat(type->elem); i++)
            walk_value(walk, type->elem, elems + i * (int64_t)type->elem->size);
    } else if (type->kind == SB_STRUCT) {
        for (uint32_t i = 0; i < type->field_count; i++)
            walk_value(walk, type->fields[i].type, value + type->fields[i].offset);
    } else if (!is_flat(type)) {
        SbStr text;
        memcpy(&text, value, sizeof text);
        hold(walk, value + offsetof(SbStr, ptr), text.len);
    }
}

static void walk_key(Walk *walk, const char *value) {
    SbKeyStr key;
    memcpy(&key, value, sizeof key);
    if (key.len > SB_KEY_INLINE) hold(walk, value + offsetof(SbKeyStr, far.ptr), key.len);
}

// How many bytes the entry's values take, from the first on.
static int64_t walk_entry(Walk *walk, const SbBreaker *what, const SbEntry *entry) {
    for (uint32_t i = 0; i < what->held_count; i++) {
        const SbHeld *held = &what->held[i];
        const char *value = (const char *)entry + held->offset;
        switch ((SbHeldKind)held->kind) {
        case SB_HELD_VALUE: walk_value(walk, held->type, value); break;
        case SB_HELD_KEY: walk_key(walk, value); break;
        }
    }
    align(walk);
    return walk->bad ? -1 : walk->at;
}

bool spill_put(Spill *spill, uint32_t thread, const SbBreaker *what, const SbEntry *entry) {
    Walk measure = {.way = WAY_MEASURE};
    int64_t held = walk_entry(&measure, what, entry), fixed = what->entry_bytes;
    if (!spill_row(spill, thread, fixed + held)) return false;
    spill_add(spill, thread, (const char *)entry, fixed);
    Walk put = {.way = WAY_PUT, .spill = spill, .thread = thread};
    walk_entry(&put, what, entry);
    return !spill->failed;
}

int64_t spill_link(const SbBreaker *what, SbEntry *entry, char *held, int64_t len) {
    Walk link = {.way = WAY_LINK, .base = held, .end = len};
    return walk_entry(&link, what, entry);
}

SbEntry *spill_keep(SbRows *rows, const SbBreaker *what, const SbEntry *entry,
                    int64_t held_bytes) {
    SbEntry *copy = sb_rows_add(rows);
    if (!copy) return nullptr;
    memcpy(copy, entry, what->entry_bytes);
    if (held_bytes == 0) return copy;
    const char *from = (const char *)entry + what->entry_bytes;
    char *held = sb_slab_alloc(&rows->state->texts, held_bytes);
    if (!held) {
        rows->count--;
        rows->at -= what->entry_bytes;
        return nullptr;
    }
    memcpy(held, from, (size_t)held_bytes);
    spill_link(what, copy, held, held_bytes);
    return copy;
}

#include "runtime/core/records.h"

bool item_before(const Item *a, const Item *b) {
    if (a->input != b->input) return a->input < b->input;
    if (a->region != b->region) return a->region < b->region;
    const Name *x = &a->name, *y = &b->name;
    if (x->unit != y->unit) return x->unit < y->unit;
    uint8_t depth = x->depth < y->depth ? x->depth : y->depth;
    for (uint8_t i = 0; i < depth; i++)
        if (x->path[i] != y->path[i]) return x->path[i] < y->path[i];
    // Of the same work, what makes lost partitions again stands first.
    return x->depth != y->depth ? x->depth < y->depth : a->rerun && !b->rerun;
}

enum { ARITY = 4 };

static HeapEntry entry_of(const Item *items, ItemId id) {
    const Item *item = &items[id.i];
    uint64_t way = (uint64_t)item->input << 8 | item->region;
    return (HeapEntry){way << 32 | item->name.unit, id};
}

static bool entry_before(const Item *items, const HeapEntry *a, const HeapEntry *b) {
    if (a->key != b->key) return a->key < b->key;
    return item_before(&items[a->id.i], &items[b->id.i]);
}

static void settle(const Item *items, Heap *heap, uint32_t at, HeapEntry entry) {
    while (at && entry_before(items, &entry, &heap->entries[(at - 1) / ARITY])) {
        heap->entries[at] = heap->entries[(at - 1) / ARITY];
        at = (at - 1) / ARITY;
    }
    heap->entries[at] = entry;
    heap->root = heap->entries[0].id;
}

// The gap at `at` goes down to a leaf, and the last entry comes up from there.
static void fill_gap(const Item *items, Heap *heap, uint32_t at) {
    HeapEntry last = heap->entries[--heap->count];
    for (;;) {
        uint32_t first = at * ARITY + 1, least = first;
        if (first >= heap->count) break;
        for (uint32_t c = first + 1; c < first + ARITY && c < heap->count; c++)
            if (entry_before(items, &heap->entries[c], &heap->entries[least])) least = c;
        if (!entry_before(items, &heap->entries[least], &last)) break;
        heap->entries[at] = heap->entries[least];
        at = least;
    }
    if (at < heap->count) settle(items, heap, at, last);
    heap->root = heap->count ? heap->entries[0].id : (ItemId){0};
}

void heap_push(const Item *items, Heap *heap, ItemId id) {
    settle(items, heap, heap->count++, entry_of(items, id));
}

ItemId heap_pop(const Item *items, Heap *heap) {
    ItemId least = heap->root;
    fill_gap(items, heap, 0);
    // One of these comes next. Of many items none is in a cache.
    for (uint32_t i = 1; i <= ARITY && i < heap->count; i++)
        __builtin_prefetch(&items[heap->entries[i].id.i]);
    return least;
}

void heap_remove(const Item *items, Heap *heap, ItemId id) {
    uint32_t at = 0;
    while (heap->entries[at].id.i != id.i) at++;
    fill_gap(items, heap, at);
}

uint64_t digest_add(uint64_t digest, uint64_t checksum) {
    uint64_t x = (digest ^ checksum) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

bool name_same(const Name *a, const Name *b) {
    if (a->root.i != b->root.i || a->unit != b->unit || a->depth != b->depth) return false;
    for (uint8_t i = 0; i < a->depth; i++)
        if (a->path[i] != b->path[i] || a->via[i] != b->via[i]) return false;
    return true;
}

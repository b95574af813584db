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

static void settle(const Item *items, Heap *heap, uint32_t at, ItemId id) {
    while (at && item_before(&items[id.i], &items[heap->ids[(at - 1) / ARITY].i])) {
        heap->ids[at] = heap->ids[(at - 1) / ARITY];
        at = (at - 1) / ARITY;
    }
    heap->ids[at] = id;
    heap->root = heap->ids[0];
}

// The gap at `at` goes down to a leaf, and the last item comes up from there.
static void fill_gap(const Item *items, Heap *heap, uint32_t at) {
    ItemId last = heap->ids[--heap->count];
    for (;;) {
        uint32_t first = at * ARITY + 1, least = first;
        if (first >= heap->count) break;
        for (uint32_t c = first + 1; c < first + ARITY && c < heap->count; c++)
            if (item_before(&items[heap->ids[c].i], &items[heap->ids[least].i])) least = c;
        if (!item_before(&items[heap->ids[least].i], &items[last.i])) break;
        heap->ids[at] = heap->ids[least];
        at = least;
    }
    if (at < heap->count) settle(items, heap, at, last);
    heap->root = heap->count ? heap->ids[0] : (ItemId){0};
}

void heap_push(const Item *items, Heap *heap, ItemId id) { settle(items, heap, heap->count++, id); }

ItemId heap_pop(const Item *items, Heap *heap) {
    ItemId least = heap->root;
    fill_gap(items, heap, 0);
    return least;
}

void heap_remove(const Item *items, Heap *heap, ItemId id) {
    uint32_t at = 0;
    while (heap->ids[at].i != id.i) at++;
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

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

static ItemId meld(Item *items, ItemId a, ItemId b) {
    if (!a.i || !b.i) return a.i ? a : b;
    if (item_before(&items[b.i], &items[a.i])) {
        ItemId other = a;
        a = b, b = other;
    }
    items[b.i].sibling = items[a.i].child;
    items[a.i].child = b;
    return a;
}

void heap_push(Item *items, Heap *heap, ItemId id) {
    items[id.i].child = items[id.i].sibling = (ItemId){0};
    heap->root = meld(items, heap->root, id);
}

// Melds the children in pairs from left to right, then the pairs from right to left.
ItemId heap_pop(Item *items, Heap *heap) {
    ItemId least = heap->root, pairs = {0}, rest = items[least.i].child;
    while (rest.i) {
        ItemId a = rest, b = items[a.i].sibling;
        rest = b.i ? items[b.i].sibling : (ItemId){0};
        items[a.i].sibling = (ItemId){0};
        if (b.i) items[b.i].sibling = (ItemId){0};
        ItemId pair = meld(items, a, b);
        items[pair.i].sibling = pairs;
        pairs = pair;
    }
    heap->root = (ItemId){0};
    while (pairs.i) {
        ItemId next = items[pairs.i].sibling;
        items[pairs.i].sibling = (ItemId){0};
        heap->root = meld(items, heap->root, pairs);
        pairs = next;
    }
    return least;
}

void heap_remove(Item *items, Heap *heap, ItemId id) {
    ItemId others = {0};
    for (ItemId at = heap_pop(items, heap); at.i != id.i; at = heap_pop(items, heap)) {
        items[at.i].sibling = others;
        others = at;
    }
    while (others.i) {
        ItemId at = others;
        others = items[at.i].sibling;
        heap_push(items, heap, at);
    }
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

#include "runtime/core/records.h"

bool item_before(const Item *a, const Item *b) {
    if (a->input != b->input) return a->input < b->input;
    if (a->region != b->region) return a->region < b->region;
    if (a->unit != b->unit) return a->unit < b->unit;
    uint8_t depth = a->depth < b->depth ? a->depth : b->depth;
    for (uint8_t i = 0; i < depth; i++)
        if (a->path[i] != b->path[i]) return a->path[i] < b->path[i];
    return a->depth < b->depth;
}

static ItemId meld(Item *items, ItemId a, ItemId b) {
    if (!a.i || !b.i) return a.i ? a : b;
    if (item_before(&items[b.i], &items[a.i])) return meld(items, b, a);
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

// Records of the schedule: what is alive, in pools that are made once, and heaps of it.
#ifndef SBC_RUNTIME_CORE_RECORDS_H
#define SBC_RUNTIME_CORE_RECORDS_H

#include "runtime/core/order.h"
#include "runtime/core/pacing.h"
#include "runtime/core/schedule.h"

typedef struct ItemId {
    uint32_t i;
} ItemId;  // 0: none. A unit or a partition, for one consumer.

// What a partition is, for ever: a unit of a root, and a step for each stage down from it. A step
// is the input by which rows came, and the number of the output that took them.
typedef struct Name {
    StageId root;
    uint32_t unit;
    uint8_t depth;
    uint8_t via[DEPTH_MAX];
    uint32_t path[DEPTH_MAX];
} Name;

typedef struct Part {
    State state;
    Purse purse;
    Room room;      // Of that purse.
    StageId stage;  // That made it.
    NodeId node;
    uint16_t readers;  // Items and tasks that are not done with it.
    uint16_t idle;     // Readers that are items which no task has taken.
    uint16_t spooled;  // Idle items that wait in front of a spool.
    bool listed;       // Among what its node could spill.
    bool child;        // A rerun is to make it again.
    bool parted;       // Its data was found lost, and is freed by itself.
    bool is_short;     // Its spool is one of a zip.
    int64_t bytes, rows;
    int64_t stored;  // Bytes that it takes where it is brought back from disk.
    uint64_t data, checksum;
    PartId next, prior;  // Of what its node could spill; next: of a rerun's children, or unused.
    PartId node_next, node_prior;  // Of what is on its node.
    ItemId waiting;                // Items that wait for it, by `sibling`.
    Name name;
} Part;

typedef struct Item {
    State state;
    StageId stage;
    uint8_t input;      // Of its stage, the edge on which it came;
    uint8_t region;     // of that edge.
    bool rerun;         // Its place in the order is gone: its outputs were made before.
    bool again;         // Breakers have its rows.
    bool begun;         // A task was launched for it.
    bool stale;         // Its partition was lost after a launch had taken it.
    PartId part, side;  // None: a unit. side: of a piece of a zip, the right partition.
    Name name;          // Of its partition, or of the unit.
    PlaceId place, marks;
    ItemId sibling;         // Of whatever list it is in.
    ItemId older, newer;    // Units of a root that have begun and not ended; of all reruns.
    PartId children;        // Of a rerun: lost partitions that it makes again, by `next`.
    TaskId task, twin;      // The attempts.
    uint32_t outputs;       // Outputs that were handed over, by whichever attempt was first.
    uint64_t digest;        // The checksum of the checksums of these outputs.
    int64_t bytes, rows;    // Of input.
    int64_t filled;         // Bytes that these rows fill, of what its partition is charged.
    int64_t row, side_row;  // Of a piece; row: of what waits for a zip, the first row not taken.
    uint64_t checksum;      // Of its partition.
    StageId maker;          // Of its partition.
    NodeId node;            // Of what is covered.
} Item;

typedef struct Task {
    State state;
    StageId stage;
    NodeId node;
    Purse scratch, output, input;
    bool rerun;          // Of its item.
    bool fills;          // What it needs is for a breaker.
    bool must;           // It cannot go on without.
    bool ahead;          // It has no slot yet, and begins on its node when there is one (ahead.c).
    ItemId item, chain;  // item: none if it is canceled; chain: more of the launch, by `sibling`.
    PartId parts[2];     // That it reads.
    uint32_t outputs;    // Outputs of this item that it handed over.
    uint64_t digest;     // The checksum of the checksums of these outputs.
    int64_t made, busy;  // Bytes of these outputs; nanoseconds that the task computed.
    Pace launch;         // Of a stage with batches: what it did so far of its launch.
    int64_t rows;        // Of a stage with batches: rows of its launch so far.
    int64_t loaded;      // Bytes of its input that came from elsewhere.
    int64_t granted;     // Bytes that it asked for and has.
    int64_t over;        // Bytes of `granted` that were not there.
    int64_t need;        // Bytes that it waits for.
    BreakerId breaker;
    int64_t started;
    TaskId next, prior;  // Of the stage, in the order of launches; `next` of the free list.
    TaskId node_next, node_prior;
} Task;

// An item, and what mostly decides which stands first, so that the others need not be looked at.
typedef struct HeapEntry {
    uint64_t key;  // Input, region and unit.
    ItemId id;
} HeapEntry;

// A heap of items by place, in room for as many as there can be.
typedef struct Heap {
    HeapEntry *entries;
    uint32_t count;
    ItemId root;  // The first item, or none.
} Heap;

// Is `a` in front of `b`? Both are work of one stage.
bool item_before(const Item *a, const Item *b);

void heap_push(const Item *items, Heap *heap, ItemId id);
ItemId heap_pop(const Item *items, Heap *heap);
// Takes one out that is in it: as many steps as the heap has items.
void heap_remove(const Item *items, Heap *heap, ItemId id);

bool name_same(const Name *a, const Name *b);

// The checksum of a sequence grows by one.
uint64_t digest_add(uint64_t digest, uint64_t checksum);

// Nodes as bits, with a word above that says which words are not empty.
typedef struct NodeSet {
    uint64_t words[NODES_MAX / 64], top[NODES_MAX / 64 / 64];
} NodeSet;

static inline void node_set_put(NodeSet *set, NodeId node, bool in) {
    uint32_t word = node.i / 64;
    if (in)
        set->words[word] |= 1ull << node.i % 64;
    else
        set->words[word] &= ~(1ull << node.i % 64);
    if (set->words[word])
        set->top[word / 64] |= 1ull << word % 64;
    else
        set->top[word / 64] &= ~(1ull << word % 64);
}
static inline bool node_set_has(const NodeSet *set, NodeId node) {
    return set->words[node.i / 64] >> node.i % 64 & 1;
}
// The first node of the set; false: it is empty.
static inline bool node_set_first(const NodeSet *set, NodeId *node) {
    for (uint32_t t = 0; t < NODES_MAX / 64 / 64; t++) {
        if (!set->top[t]) continue;
        uint32_t word = t * 64 + (uint32_t)__builtin_ctzll(set->top[t]);
        node->i = (uint16_t)(word * 64 + (uint32_t)__builtin_ctzll(set->words[word]));
        return true;
    }
    return false;
}

#endif

// Records of the schedule: what is alive, in pools that are made once, and heaps of it.
#ifndef SBC_RUNTIME_CORE_RECORDS_H
#define SBC_RUNTIME_CORE_RECORDS_H

#include "runtime/core/schedule.h"

enum { DEPTH_MAX = 12 };   // Stage borders between a source and a sink.

typedef struct Part {
    int64_t  bytes;       // That the ledger is charged.
    StageId  stage;       // That made it.
    Purse    purse;
    uint64_t data;        // The caller's.
    uint8_t  readers;     // Items that are not consumed yet.
    uint32_t unused;      // Next of the free list.
} Part;

typedef enum ItemState : uint8_t { ITEM_READY, ITEM_TAKEN } ItemState;

// A unit or partition, and the stage that is to work on it.
typedef struct Item {
    PartId    part;       // None: a unit of a source.
    StageId   stage;
    ItemState state;
    // Where its rows stand among all of the stage: unit, then the number of the output at each
    // stage from the source to here.
    uint32_t  unit;
    uint32_t  path[DEPTH_MAX];
    uint8_t   depth, input;     // `input`: of its stage, the edge on which it came;
    uint8_t   region;           // of that edge.
    NodeId    node, marks;
    ItemId    child, sibling;   // In the heap of ready or paused work of the stage.
    TaskId    task;             // Of a taken or paused one.
    int64_t   bytes;            // Of input.
} Item;

typedef enum TaskState : uint8_t { TASK_RUNNING, TASK_PAUSED } TaskState;

typedef struct Task {
    ItemId    item;
    StageId   stage;
    TaskState state;
    Purse     scratch, output;
    uint32_t  outputs;    // That it handed over,
    int64_t   made, busy; // their bytes, and the nanoseconds that it computed.
    TaskId    next, prior;  // Of the stage, in the order of launches; `next` of the free list.
} Task;

// A pairing heap of items by place: insertion takes constant time.
typedef struct Heap { ItemId root; } Heap;

// Is `a` in front of `b`? Both are work of one stage.
bool   item_before(const Item *a, const Item *b);

void   heap_push(Item *items, Heap *heap, ItemId id);
ItemId heap_pop(Item *items, Heap *heap);

#endif

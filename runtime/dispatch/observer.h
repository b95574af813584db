// Observer: who wants to know, or has a say, while rows go through a job: limits, commits, the
// watch.
//
// The dispatch names no observer. It tells all of them what happens, and asks them all. The list
// that the job opened it with has their order. observers.def has each event and each question, one
// line each. An observer fills in what it cares for:
//
//   static void freed(void *self, LivePartition *live) { ... }
//   static const ObserverCalls calls = {.freed = freed};
//   Observer observer = {&calls, self};
//
// An observer may tell events of its own to those that come after it: limits say tell_settled and
// tell_counted_late when rows that they kept back are final.
#ifndef SBC_RUNTIME_OBSERVER_H
#define SBC_RUNTIME_OBSERVER_H

#include "runtime/dispatch/flow.h"

// What a thread does.
typedef enum Work {
    WORK_TASK,    // Rows of a stage.
    WORK_READ,    // Cutting and reading a task's input.
    WORK_WRITE,   // Bytes to files.
    WORK_FINISH,  // Finishing a breaker: sorting, merging.
    WORK_KINDS,
} Work;

// Does somebody keep back what a partition says of the rows that it judged?
typedef enum Keeping : uint32_t { KEEP_NOT, KEEP_ALL, KEEP_NO_MEMORY } Keeping;

// What was kept back of a unit at one stage, once it is final.
typedef struct LateCounts {
    uint32_t     root, number;  // The unit.
    VerdictPlace place;         // The stage, and the way to it.
    const int64_t *counts;      // Of [step][SbCount] those from `from` on; all others are zero.
    uint32_t     from, count;
    const RejectList *rejects;
    int64_t      taken;         // Rows of the stage's input.
    bool         of_root;       // The stage is the root: all below counts then.
    int64_t      made, bytes;   // Rows of the source; bytes between cursors.
    int64_t      end;           // Of the source: where its last row ends.
    bool         whole;         // The last row ends where the unit does.
} LateCounts;

typedef struct ObserverCalls {
#define TELL0(name, doc) void (*name)(void *self);
#define TELL1(name, A, a, doc) void (*name)(void *self, A a);
#define TELL2(name, A, a, B, b, doc) void (*name)(void *self, A a, B b);
#define TELL3(name, A, a, B, b, C, c, doc) void (*name)(void *self, A a, B b, C c);
#define ALL1(name, A, a, doc) bool (*name)(void *self, A a);
#define ALL2(name, A, a, B, b, doc) bool (*name)(void *self, A a, B b);
#define ANY1(name, A, a, doc) bool (*name)(void *self, A a);
#define LEAST0(name, doc) int64_t (*name)(void *self);
#define LEAST2(name, A, a, B, b, doc) int64_t (*name)(void *self, A a, B b);
#define SUM0(name, doc) uint32_t (*name)(void *self);
#define SUM1(name, A, a, doc) uint32_t (*name)(void *self, A a);
#define MOST2(name, A, a, B, b, doc) uint32_t (*name)(void *self, A a, B b);
#define MOST3(name, A, a, B, b, C, c, doc) uint32_t (*name)(void *self, A a, B b, C c);
#include "runtime/dispatch/observers.def"
} ObserverCalls;

typedef struct Observer {
    const ObserverCalls *calls;
    void                *self;
} Observer;

enum { OBSERVERS_MAX = 4 };

typedef struct Observers {
    Observer items[OBSERVERS_MAX];
    uint32_t count;
} Observers;

// tell_NAME(observers, ...): tells or asks all of them.
#define TELL0(name, doc) void tell_##name(const Observers *all);
#define TELL1(name, A, a, doc) void tell_##name(const Observers *all, A a);
#define TELL2(name, A, a, B, b, doc) void tell_##name(const Observers *all, A a, B b);
#define TELL3(name, A, a, B, b, C, c, doc) void tell_##name(const Observers *all, A a, B b, C c);
#define ALL1(name, A, a, doc) bool tell_##name(const Observers *all, A a);
#define ALL2(name, A, a, B, b, doc) bool tell_##name(const Observers *all, A a, B b);
#define ANY1(name, A, a, doc) bool tell_##name(const Observers *all, A a);
#define LEAST0(name, doc) int64_t tell_##name(const Observers *all);
#define LEAST2(name, A, a, B, b, doc) int64_t tell_##name(const Observers *all, A a, B b);
#define SUM0(name, doc) uint32_t tell_##name(const Observers *all);
#define SUM1(name, A, a, doc) uint32_t tell_##name(const Observers *all, A a);
#define MOST2(name, A, a, B, b, doc) uint32_t tell_##name(const Observers *all, A a, B b);
#define MOST3(name, A, a, B, b, C, c, doc) \
    uint32_t tell_##name(const Observers *all, A a, B b, C c);
#include "runtime/dispatch/observers.def"

#endif

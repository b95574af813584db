// Schedule: which work runs next. Events in, actions out.
//
// A task is a stage at work on one item: a unit of a source, or one partition. It runs on a slot
// (the resources that its stage demands), hands over output partitions one by one, and is told
// behind each whether it goes on. A task that may not go on gives its slot back and is resumed
// later, at the same place.
//
// Policy and its parts: the ledger says what may run at all, pacing how fast sources may go, and
// the bytes that wait behind each stage which of those that could run does.
#ifndef SBC_RUNTIME_CORE_SCHEDULE_H
#define SBC_RUNTIME_CORE_SCHEDULE_H

#include "runtime/core/ledger.h"
#include "runtime/core/order.h"
#include "runtime/core/pacing.h"

#include <stddef.h>

typedef struct ItemId { uint32_t i; } ItemId;   // 0: none. A unit or a partition, for one consumer.
typedef struct PartId { uint32_t i; } PartId;   // 0: none.
typedef struct TaskId { uint32_t i; } TaskId;   // 0: none.

// full: what this page says. pessimistic: without pacing.
typedef enum Policy : uint8_t { POLICY_FULL, POLICY_PESSIMISTIC } Policy;

typedef enum EventKind : uint8_t {
    EVENT_START,    // Time begins.
    EVENT_OUTPUT,   // A running task hands a partition over; unless it is its last, it asks whether
                    // it goes on.
    EVENT_DONE,     // A running task has ended without a last partition.
    EVENT_TICK,     // The time that ACTION_TIMER asked for.
} EventKind;

typedef struct Event {
    EventKind kind;
    TaskId    task;
    int64_t   now;      // Nanoseconds; never less than before.
    int64_t   bytes;    // Of the output.
    uint64_t  data;     // The caller's name of the output; launches and frees give it back.
    bool      last;     // The task ends with this output.
    int64_t   busy;     // Nanoseconds that the task computed since the last event of it.
} Event;

typedef enum ActionKind : uint8_t {
    ACTION_LAUNCH,  // A task begins: of `stage`, at `unit` or at the partition `data`.
    ACTION_RESUME,  // A paused task goes on.
    ACTION_GO_ON,   // Answers to EVENT_OUTPUT: the task keeps its slot,
    ACTION_PAUSE,   // or gives it back.
    ACTION_FREE,    // Nobody needs the partition any more.
    ACTION_TIMER,   // Send EVENT_TICK at `at`.
    ACTION_END,     // All work is done.
} ActionKind;

typedef struct Action {
    ActionKind kind;
    StageId    stage;
    TaskId     task;
    uint32_t   unit;
    uint64_t   data;
    bool       of_unit;  // Of a launch: its input is a unit, not a partition.
    int64_t    at;
} Action;

typedef struct Schedule Schedule;

typedef enum CoreFault : uint8_t {
    CORE_OK,
    CORE_MEMORY_BELOW_MINIMUM,
    CORE_PLAN_TOO_WIDE
} CoreFault;

// Bytes that schedule_init needs for the plan.
size_t schedule_bytes(const CorePlan *plan);
// Builds a schedule in `room`, which is zeroed and aligned to 16. *minimum: bytes of memory that
// the plan needs at least.
CoreFault schedule_init(Schedule *schedule, const CorePlan *plan, Policy policy, int64_t *minimum);

// Takes an event; returns its actions, which are valid until the next call.
typedef struct Actions { const Action *items; uint32_t count; } Actions;
Actions schedule_step(Schedule *schedule, const Event *event);

// What the simulator and the progress line look at.
typedef struct StageFigures {
    uint32_t running, paused, ready;
    int64_t  queued_bytes;   // Of its outputs that wait for a consumer.
    uint64_t launched, ended;
} StageFigures;
StageFigures schedule_figures(const Schedule *schedule, StageId stage);
const Ledger *schedule_ledger(const Schedule *schedule);

// Checks what must hold between events; returns null, or what does not hold. Constant time, but for
// `whole`, which looks at every record.
const char *schedule_check(const Schedule *schedule, bool whole);

#endif

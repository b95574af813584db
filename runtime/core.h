// Core: which task runs next, where, and how much memory it may take, as pure step functions.
//
// It reads no clock, does no I/O and allocates nothing after the start; tests/sim drives it in
// virtual time. core/README.md says what it promises.
//
// Called by runtime/dispatch, which tells it events and does what the actions say, and by
// runtime/plan, which makes its plan.
//
// Worked example:
//
//   Event event = {.kind = EVENT_DONE, .task = id, .now = now};
//   Actions actions = schedule_step(schedule, &event);   // LAUNCH, FREE, FINISH, ...
//
// Circle: batch, choose, drain, finish, launch, pool, repair, schedule, spill, stop: one step
// function: an event may begin, end and stop tasks, and each of these leads to the others.
#ifndef SBC_RUNTIME_ROOM_CORE_H
#define SBC_RUNTIME_ROOM_CORE_H

#include "runtime/core/membership.h"
#include "runtime/core/policy.h"
#include "runtime/core/schedule.h"

#endif

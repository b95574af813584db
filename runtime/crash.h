// Crash: what a job says when a signal ends it, and how an address leads back to the pipeline.
//
//   crash    the message of a signal          image    the executable: functions, lines, frames
//   unwind   from a frame to its caller       place    from an address to the step and its line
//
// Called by runtime/main (crash_open), by each thread (crash_stack_open) and by the sampler of
// runtime/observe. All that runs in a signal handler is async-signal-safe: no allocation, no lock.
//
// Worked example: the sampler asks which step a thread computes for.
//
//   Place place = place_find(image, address);   // The step and the line of the pipeline.
#ifndef SBC_RUNTIME_ROOM_CRASH_H
#define SBC_RUNTIME_ROOM_CRASH_H

#include "runtime/crash/crash.h"
#include "runtime/crash/place.h"
#include "runtime/crash/unwind.h"

#endif

// States: the table of states.def, as one enum and one question.
#ifndef SBC_RUNTIME_CORE_STATES_H
#define SBC_RUNTIME_CORE_STATES_H

#include <stdint.h>

// TASK_NONE, TASK_RUNNING, ... ITEM_NONE, ...: a record whose bytes are all zero is a free task;
// all others set their state when they are taken.
typedef enum State : uint8_t {
#define STATE(machine, name, what) machine##_##name,
#include "runtime/core/states.def"
    STATES,
} State;

// Does the table know the transition?
bool state_may(State from, State to);
// "TASK_RUNNING".
const char *state_name(State state);
// Which machine's: "TASK".
const char *state_machine(State state);
// What the state is, in words.
const char *state_text(State state);

// Goes to a state. False: there is no such transition, and nothing changed.
static inline bool state_go(State *state, State to) {
    if (!state_may(*state, to)) return false;
    *state = to;
    return true;
}

#endif

#include "runtime/core/states.h"

static const bool may[STATES][STATES] = {
#define TRANSITION(machine, from, to, when) [machine##_##from][machine##_##to] = true,
#include "runtime/core/states.def"
};

static const struct {
    const char *machine, *name, *text;
} texts[STATES] = {
#define STATE(machine, name, what) [machine##_##name] = {#machine, #machine "_" #name, what},
#include "runtime/core/states.def"
};

bool state_may(State from, State to) { return may[from][to]; }

const char *state_name(State state) { return texts[state].name; }
const char *state_machine(State state) { return texts[state].machine; }
const char *state_text(State state) { return texts[state].text; }

// Trial: what workers are told of rows that ended foreign code, and the calls that a fresh worker
// tries for the coordinator.
#ifndef SBC_RUNTIME_WIRE_TRIAL_H
#define SBC_RUNTIME_WIRE_TRIAL_H

#include "runtime/task.h"
#include "runtime/wire/ask.h"

void wire_put_case(Text *text, const GuardCase *is);
// False: there is none left, or these bytes are no case (from->bad).
bool wire_get_case(Unpack *from, GuardCase *is);

// The trial stands before the ASK of the unit.
void wire_put_trial(Text *text, const GuardTrial *trial);
// The ranges are from malloc. False: these bytes are no trial, or there is no memory.
bool wire_get_trial(Unpack *from, GuardTrial *trial);

#endif

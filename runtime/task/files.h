// Files: whole files as rows {path, bytes}.
#ifndef SBC_RUNTIME_FILES_H
#define SBC_RUNTIME_FILES_H

#include "runtime/task/task.h"

// Reads the files of the task's unit into entries; one over row_max is left out and remembered.
bool files_load(SbTaskState *state, Trouble *trouble);
// Rejects those that were left out. False: the unit must stop.
bool files_reject_long(SbTaskState *state);

#endif

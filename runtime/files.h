// Files: whole files as rows {path, bytes}.
#ifndef SBC_RUNTIME_FILES_H
#define SBC_RUNTIME_FILES_H

#include "runtime/task.h"

// Reads the unit's files into entries; a file over row_max is rejected.
bool files_load(SbTaskState *state, Unit *unit, Trouble *trouble);

// The path in an entry and the number of its file.
SbStr files_path(const Source *source, const SbEntry *entry, uint32_t *file);

#endif

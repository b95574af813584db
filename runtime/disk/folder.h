// Spill folder: the folder of a job under --spill, its lock, and what killed jobs left there.
#ifndef SBC_RUNTIME_SPILL_FOLDER_H
#define SBC_RUNTIME_SPILL_FOLDER_H

#include "runtime/report.h"

// Makes a folder under `root` and locks it. `path` comes from malloc; `folder` is a descriptor that
// holds the lock until it is closed, or the process ends.
bool spill_folder_make(const char *root, char **path, int *folder, Trouble *trouble);
// Removes it with all in it, and closes the descriptor.
void spill_folder_remove(const char *path, int folder);

#endif

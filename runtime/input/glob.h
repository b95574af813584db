// Glob: from the paths of a source to the files it reads.
//
// A path is a file, a folder (its plain files that are not hidden), a pattern (`*`, `?`, `[a-z]`
// within a name; `**` stands for any folders) or "-". Files are sorted by the bytes of their paths.
#ifndef SBC_RUNTIME_GLOB_H
#define SBC_RUNTIME_GLOB_H

#include "runtime/abi/value.h"
#include "runtime/report.h"

typedef struct PathList {
    char   **paths;
    uint32_t count, cap;
} PathList;

// A copy of a path from malloc. Rows take paths as texts: SB_SLACK bytes after it are readable.
char *glob_copy(const char *path);
// Adds the files of one path. No match, or what cannot be read, is a trouble.
bool glob_add(PathList *list, const char *path, Trouble *trouble);
void glob_sort(PathList *list);
void glob_close(PathList *list);

bool glob_is_url(const char *path);  // SCHEME://...

// Does `name` match the pattern (of one path component)?
bool glob_match(const char *pattern, const char *name);

#endif

// Durable: all calls that make bytes last: temporary files, writes, syncs, renames.
//
// A file is made under a temporary name beside its final one and appears under that only when it
// is published.
#ifndef SBC_RUNTIME_DURABLE_H
#define SBC_RUNTIME_DURABLE_H

#include "runtime/trouble.h"

typedef struct DurableFile {
    char *path;        // Final.
    char *temporary;   // nullptr once published or discarded.
    int   fd;          // -1: closed.
    bool  replace;     // An existing file may be replaced.
} DurableFile;

// Makes the parent folders and the temporary file.
bool durable_create(DurableFile *file, const char *path, bool replace, Trouble *trouble);
// May be called from several threads for different ranges.
bool durable_write(const DurableFile *file, const char *bytes, int64_t len, int64_t offset,
                   Trouble *trouble);
// Brings everything to the disk and closes; the file is still temporary.
bool durable_sync(DurableFile *file, Trouble *trouble);
bool durable_publish(DurableFile *file, Trouble *trouble);
// Removes what is still temporary and frees the names.
void durable_close(DurableFile *file);

bool durable_make_folder(const char *path, Trouble *trouble);
bool durable_sync_folder_of(const char *path, Trouble *trouble);
void durable_remove(const char *path);

#endif

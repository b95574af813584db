// Durable: all calls that make bytes last: temporary files, writes, syncs, renames, locks.
//
// A file is made under a temporary name beside its final one and appears under that only when it
// is published. What a crash leaves of it:
//
//   bytes       those that were written before a sync that succeeded; of the others any part
//   names       those made, renamed or removed before a sync of their folder that succeeded; of
//               the others any
//
// A sync that failed is not tried again on the same file. The system may have dropped what it could
// not write, and the second sync would say that all is well.
//
// A file may be made of one that stands under its final name: its base. The base stays as it is
// until the new file takes its name, and what changed since then is not replaced.
//
// The calls to the system stand in a table, so that tests put a disk of their own in its place. On
// that disk a crash loses, tears and reorders what was not synced (tests/unit/model_disk.h).
#ifndef SBC_RUNTIME_DURABLE_H
#define SBC_RUNTIME_DURABLE_H

#include "runtime/report.h"

#include <sys/types.h>

// What is known of the file under the final name of one that begins with its bytes.
typedef struct DurableBase {
    bool    appends;   // The new file begins with the bytes of the base, if there is one.
    bool    is;        // There is one.
    int64_t size, inode, seconds, nanoseconds;  // The time is that of its last change.
} DurableBase;

// The fields in a list, for pack.h.
#define DURABLE_BASE_FIELDS(NUMBER, base)                                                   \
    NUMBER(base.appends) NUMBER(base.is) NUMBER(base.size) NUMBER(base.inode)               \
    NUMBER(base.seconds) NUMBER(base.nanoseconds)

// Each returns what the call of its name does, and sets errno.
typedef struct DurableCalls {
    int (*open)(const char *path, int flags, mode_t mode);  // O_CLOEXEC is added.
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *bytes, size_t len, off_t offset);
    ssize_t (*write)(int fd, const void *bytes, size_t len, off_t offset);
    int (*sync_data)(int fd);           // fdatasync: the bytes and the length.
    int (*sync)(int fd);                // fsync; of a folder: its names.
    int (*truncate)(int fd, off_t len);
    int (*reserve)(int fd, off_t len);  // posix_fallocate from the start; 0 or an error number.
    off_t (*size)(int fd);
    int (*rename)(const char *from, const char *to, bool replace);
    int (*unlink)(const char *path);
    int (*make_folder)(const char *path);
    int (*lock)(int fd);                // For this process alone; fails when another holds it.
    int (*about)(int fd, DurableBase *base);  // Of a plain file; of anything else EINVAL.
    // Gives the file `to` the permissions of `from`, and as many of its first `len` bytes as go
    // without this process. Returns how many bytes went.
    int64_t (*clone)(int from, int to, int64_t len);
} DurableCalls;

// The system's calls, and those that are used.
extern const DurableCalls durable_system;
void durable_use(const DurableCalls *calls);

enum { DURABLE_TAG = 6 };  // Characters of a temporary name's ending.

typedef struct DurableFile {
    char *path;        // Final.
    char *temporary;   // nullptr once published or discarded.
    int   fd;          // -1: closed.
    bool  replace;     // An existing file may be replaced.
    DurableBase base;
    bool  keep;        // A temporary file that is closed stays: the next run goes on with it.
    _Atomic bool failed;  // A sync failed.
    struct DurableFile *next, **link;  // Of those that durable_abandon removes; nullptr: none.
} DurableFile;

typedef struct DurableSetup {
    const char *path;
    bool        replace;
    const char *tag;    // The end of the temporary name. With the tag of a job that can be resumed
                        // the file may be there already. nullptr: a random end. The next job
                        // removes such a file when this job is killed (runtime/host/leftover.h).
} DurableSetup;

// Makes the parent folders and the temporary file.
bool durable_create(DurableFile *file, const DurableSetup *setup, Trouble *trouble);
// Sets the names of a file that an earlier run made, without opening it.
bool durable_name(DurableFile *file, const DurableSetup *setup, Trouble *trouble);
// Opens what an earlier run left under the temporary name; false: errno says why.
bool durable_find(DurableFile *file);
// The file, which is empty, begins with the bytes of the one that has its final name, if there is
// one. Sets file->base.
bool durable_copy_base(DurableFile *file, Trouble *trouble);
// Bytes after the first `len` go: they were not committed.
bool durable_cut(const DurableFile *file, int64_t len, Trouble *trouble);
// May be called from several threads for different ranges.
bool durable_write(const DurableFile *file, const char *bytes, int64_t len, int64_t offset,
                   Trouble *trouble);
// Up to `len` bytes from `offset`; fewer at the end of the file. -1: trouble.
int64_t durable_read(const DurableFile *file, char *bytes, int64_t len, int64_t offset,
                     Trouble *trouble);
// Brings what is written to the disk.
bool durable_flush(DurableFile *file, Trouble *trouble);
// The same, and closes; the file is still temporary.
bool durable_sync(DurableFile *file, Trouble *trouble);
bool durable_publish(DurableFile *file, Trouble *trouble);
// Removes what is still temporary, unless it is kept, and frees the names.
void durable_close(DurableFile *file);
// The process ends at once: removes all temporary files that are not kept. Whoever makes or
// publishes one from now on waits for the end.
void durable_abandon(void);

bool durable_make_folder(const char *path, Trouble *trouble);
bool durable_sync_folder_of(const char *path, Trouble *trouble);
// True: it was there.
bool durable_remove(const char *path);

// Is the path to blame for the error of a call, and not the machine?
bool durable_blames_path(int error);

// ---- by name, for the journal ---------------------------------------------------------------

// Publishes a file of which only the names are left. True also when that was done before: the
// temporary file is gone and the final one has `size` bytes.
bool durable_rename(const char *temporary, const char *path, bool replace, int64_t size,
                    Trouble *trouble);
// May a file be published under the name? Not where a folder stands, nor, unless it replaces, where
// anything does.
bool durable_check_name(const char *path, bool replace, Trouble *trouble);
// The same of a file with a base: is that as it was?
bool durable_check_base(const char *path, const DurableBase *base, Trouble *trouble);
// As durable_rename, of a file with a base. Of several processes that do so at once one succeeds.
// What was published before may have become longer since.
bool durable_rename_base(const char *temporary, const char *path, const DurableBase *base,
                         int64_t size, Trouble *trouble);
// Whatever it is, a link too.
bool durable_is_there(const char *path);
bool durable_is_folder(const char *path);
// Up to `len` bytes from the front of a file; -1: it cannot be read.
int64_t durable_front(const char *path, char *bytes, int64_t len);
// The length of a file; -1: it is not there.
int64_t durable_size(const char *path);
// A folder, locked for this process as long as the descriptor is open; -1: errno says why,
// EWOULDBLOCK that another process holds it.
int durable_lock_folder(const char *path);
void durable_unlock(int fd);
// Opens a file that only this module's users write, made when `make`; -1: errno.
int durable_open(const char *path, bool make);
// The whole of a file from malloc; nullptr: errno.
char *durable_load(const char *path, int64_t *len);
// Room for `len` bytes in all; false: there is none.
bool durable_reserve(int fd, int64_t len);
// Exactly `len` bytes; false: there are fewer, or errno.
bool durable_get(int fd, char *bytes, int64_t len, int64_t offset);
bool durable_put(int fd, const char *bytes, int64_t len, int64_t offset);
bool durable_put_sync(int fd);
void durable_shut(int fd);

#endif

// Sink: where the rows of a `write` go: a file, a folder of parts, standard output.
//
// Bytes are given in order and get their places at once. The writing of plain files is handed back
// as extents that any thread may do in any order. Compressed files are cut into chunks of a fixed
// size, each a member of its own. Their bytes do not depend on who gave them.
//
// An output by key has a file, or a folder of parts, for each key. Its rows come sorted by key, so
// that one part is filled after the other, as those of a folder are. A key is never given again.
#ifndef SBC_RUNTIME_SINK_H
#define SBC_RUNTIME_SINK_H

#include "runtime/compression.h"
#include "runtime/format.h"
#include "runtime/host.h"

#include <pthread.h>

typedef struct SinkPart {
    DurableFile file;
    char       *key;          // Outputs by key: what follows the path. nullptr: there are no keys.
    uint32_t    number;       // Of the part in its folder.
    _Atomic int32_t pending;  // Extents to be written, one while the part is being filled, one
                              // while a mark stands in it.
    int64_t     size;         // Bytes of a part that is filled.
    Checksum    sum;          // Checksum of a filled part, where there is a journal.
    char       *header;       // That is written last; nullptr: there is none yet.
    bool        has_text;     // Its base has, so that no header comes before its rows.
} SinkPart;

typedef struct Sink Sink;
typedef struct SinkNames SinkNames;  // names.h

typedef struct Extent {
    SinkPart   *part;
    int64_t     offset;
    const char *bytes;
    int64_t     len;
    void       *owner;  // Owner of the bytes.
    Sink       *sink;
    uint64_t    number; // Number among the sink's extents.
} Extent;

typedef struct ExtentList {
    Extent *items;
    size_t  count, cap;
} ExtentList;

typedef struct SinkLog SinkLog;  // Of a job with a journal: sink_mark.h.

struct Sink {
    char       *path;        // Of an output by key as it is written, with braces.
    char       *front;       // Outputs by key: the path in front of the key. nullptr: there are
                             // no keys.
    const SbSink *what;
    int64_t     files_max;   // Of an output by key.
    int64_t     files;       // That it has made, once it is finished.
    SinkNames  *names;       // Names of all outputs; nullptr: they cannot meet.
    bool        to_stream;   // Standard output, a device or a pipe: written as it comes.
    bool        folder, replace;
    bool        append;      // Files begin with what stands under their names (append.h).
    bool        journaled;   // A manifest follows it.
    bool        done;        // The reader of the stream has left.
    int         fd;          // Of the stream; else -1.
    bool        waits;       // The stream may take no bytes for a while: a pipe or a terminal.
    _Atomic int64_t put;     // Bytes that the system has taken.
    Compression compression;
    int64_t     part_bytes;  // INT64_MAX: one file.
    bool        part_has_rows;  // The last part has more than its header.
    SinkPart  **parts;
    uint32_t    part_count, part_cap;
    int64_t     offset;      // In the last part.
    int64_t     rows, bytes; // Counted before compression. Others may look at bytes meanwhile.
    char       *chunk;       // Bytes that wait for compression.
    int64_t     chunk_len;
    const char *tag;         // Part of temporary names; nullptr: random names.
    SinkLog    *log;         // nullptr: no journal, or a stream.
};

typedef struct SinkSetup {
    SbStr   path;
    const SbSink *what;     // What is written: its rows and the step.
    int64_t part_bytes;
    int64_t files_max;
    SinkNames *names;
    bool    replace;
    bool    journaled;      // Of a job with a journal.
    const char *tag;        // Of a job with a journal: see DurableSetup. Else nullptr.
    const struct SinkPlace *from;  // Where an earlier run came to; nullptr: none did.
} SinkSetup;

// Refuses outputs that exist; makes nothing. What this set is given back by sink_close.
bool sink_check(Sink *sink, const SinkSetup *setup, Trouble *trouble);
// Makes the first temporary file of a sink that is checked.
bool sink_open(Sink *sink, const SinkSetup *setup, Trouble *trouble);
// The next rows, and their bytes.
typedef struct SinkRows {
    SbStr   bytes;
    int64_t count;
    SbStr   key;            // Of an output by key: all rows are of it.
} SinkRows;

// Adds what is left to write to `extents`.
bool sink_take(Sink *sink, SinkRows rows, ExtentList *extents, Trouble *trouble);
// Does one extent; closes the part when it was its last.
bool sink_write(const Extent *extent, Trouble *trouble);
// Everything is given and written: brings it to the disk.
bool sink_finish(Sink *sink, Trouble *trouble);
// Are the names free that the sink is about to take? Asked of all sinks before the first is
// published.
bool sink_check_names(const Sink *sink, Trouble *trouble);
bool sink_publish(Sink *sink, Trouble *trouble);
// Parts [from, end) of an output stand in one folder.
uint32_t sink_folder_end(const Sink *sink, uint32_t from);
// Makes the names of all parts safe.
bool sink_sync_folders(const Sink *sink, Trouble *trouble);
// Are the two files in one folder?
bool sink_same_folder(const char *a, const char *b);
// The number in the name of a part; -1: the name is of no part.
int64_t sink_part_number(const char *name, const char *extension);
// Of a folder that replaces one: removes the parts of an earlier run from number `count` on.
void sink_remove_parts(const char *path, const char *extension, uint32_t count);
// Removes what was not published. With a journal that stays for the next run.
void sink_close(Sink *sink);
// Removes what was not published, if the job cannot be resumed.
void sink_forget(Sink *sink);

// Adds the next part, of an output by key that of `key`. `makes`: with its file; else an earlier
// run made that, and only its names are set.
bool sink_add_part(Sink *sink, SbStr key, bool makes, Trouble *trouble);
// An extent or a mark that the part waits for is done. The last one syncs and closes the part.
bool sink_part_release(SinkPart *part, Trouble *trouble);

#endif

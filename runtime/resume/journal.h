// Journal: the records of what a job has committed, in DIR/journal.
//
//   head     "sbc-jrnl", version, zero, checksum of these: 32 bytes
//   record   length of the payload, type, sequence number, own checksum (64 bits, of these and the
//            payload), payload padded to eight bytes, chained checksum (XXH3-128 of the one before,
//            or the head's, of these and of the payload's XXH3-128)
//
// One record is written and synced before the next is written. So when a record is bad and a good
// one with a higher number stands after it, bytes that were safe have changed: a bad middle, which
// refuses. When none does, the record was being written when the job ended: a bad tail, which is
// cut. Nothing is repaired in place: whoever goes on writes the whole journal anew under another
// name and renames it (a checkpoint), which also keeps it short.
//
// The file is longer than what it holds: room is taken in steps, zeroed, so that a full disk is
// found before a commit depends on it.
#ifndef SBC_RUNTIME_JOURNAL_H
#define SBC_RUNTIME_JOURNAL_H

#include "runtime/host.h"
#include "runtime/report.h"

enum { JOURNAL_VERSION = 14 };
enum { JOURNAL_ROOM = 1 << 20 };  // On the disk it grows in steps of so many bytes.

typedef struct JournalRecord {
    uint32_t    type;     // Not 0.
    uint64_t    seq;      // From 0.
    const char *payload;
    int64_t     len;
} JournalRecord;

// ---- reading --------------------------------------------------------------------------------

typedef enum JournalState {
    JOURNAL_RECORD,
    JOURNAL_END,      // No more; `cut` bytes of a bad tail were there.
    JOURNAL_FOREIGN,  // No journal.
    JOURNAL_VERSIONED,    // Of another version, which is in `version`.
    JOURNAL_DAMAGED,  // The record at `at` is bad, and a later one is not.
} JournalState;

typedef struct JournalReader {
    const char *bytes;
    int64_t     len, at;
    uint64_t    seq;
    Checksum    chain;
    uint32_t    version;
    int64_t     cut;
} JournalReader;

// The records of bytes[0..len), one call each; payloads point into them.
JournalState journal_next(JournalReader *reader, JournalRecord *record);

// ---- writing --------------------------------------------------------------------------------

typedef struct Journal {
    char    *folder, *path, *new_path;
    int      lock;        // Of the folder.
    int      fd;          // -1: none yet.
    int      new_fd;      // The checkpoint that is being written.
    int64_t  at, room;
    uint64_t seq;
    Checksum chain;
    bool     failed;      // A write or a sync: nothing more is written.
} Journal;

// Sets the trouble that there is no memory for the journal. False.
bool journal_no_memory(Trouble *trouble);
// Makes the folder and locks it.
bool journal_open(Journal *journal, const char *folder, Trouble *trouble);
void journal_close(Journal *journal);
// The file as it is, from malloc; nullptr without trouble: there is none.
char *journal_load(const Journal *journal, int64_t *len, Trouble *trouble);

// A checkpoint: begin, add records, adopt. Until it is adopted the old journal stands.
bool journal_begin(Journal *journal, Trouble *trouble);
bool journal_add(Journal *journal, uint32_t type, const char *payload, int64_t len,
                 Trouble *trouble);
bool journal_adopt(Journal *journal, Trouble *trouble);
// One record, safe when this returns true.
bool journal_append(Journal *journal, uint32_t type, const char *payload, int64_t len,
                    Trouble *trouble);
// Removes it: nothing is left to go on with.
void journal_remove(Journal *journal);

#endif

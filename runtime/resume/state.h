// Resume state: what the journal's records say together.
//
//   BEGIN      the run: the ending of temporary names; the program, parameters, options and inputs
//              as pairs of a name and a value, the program first
//   COMMIT     how far sinks are safe, and of the roots that go on there the units [0, n) that are
//              committed, with their counts and the rejects that came since; which
//              right rows of joins they matched; and the runs of breakers that hold what came of
//              these units since (resume/breakers.c)
//   CASES      verdicts about rows that end foreign code, as wire/trial.h packs them
//   PUBLISH    all is made: the files, under which names they appear, the closing figures
//   DONE       and they have
#ifndef SBC_RUNTIME_RESUME_STATE_H
#define SBC_RUNTIME_RESUME_STATE_H

#include "runtime/abi/program.h"
#include "runtime/output.h"
#include "runtime/resume/journal.h"
#include "runtime/host.h"

typedef enum RecordType {
    RECORD_BEGIN = 1,
    RECORD_COMMIT,
    RECORD_PUBLISH,
    RECORD_DONE,
    RECORD_CASES,
} RecordType;

typedef struct FileCut {
    int64_t rows, bytes;
} FileCut;

// The first bytes of a unit, as they were read.
typedef struct InputBlock {
    int64_t  file, offset, len;
    Checksum sum;
} InputBlock;

// Where a root goes on.
typedef struct StageCut {
    bool     is;
    uint64_t units;        // Committed.
    uint32_t file;         // The next unit's; what `next` and `chain_begin` count from.
    int64_t  next;
    Checksum sum;          // Of a stream's text before `next`.
    int64_t  chain_begin, chain_lines;
    int64_t  rows;         // Of its source.
    int64_t *figures;      // As below.
    FileCut *files;        // Those up to the next unit's.
    uint32_t file_count;
    Text     rejects;      // Packed.
    uint32_t reject_count;
    Text     blocks;       // InputBlocks, one after the other.
} StageCut;

typedef struct SinkState {
    bool           is;
    SinkPlace      place;  // Its texts are those that follow.
    SbStr          chunk, key;
    SinkPartPlace *parts;
    uint32_t       part_count;
} SinkState;

// Which right rows of a join were matched (sb_breaker_copy_marks).
typedef struct MarksState {
    bool    is;
    int64_t rows;
    Text    bits;
} MarksState;

// Figures are, one after the other: [step][SbCount]; rows that passed each terminal of each stage.
// By stage, rows that it took from edges, or the unmatched ones of a join. By stage, rows that came
// to the limit that it reads.
typedef struct ResumeState {
    uint32_t   stage_count, sink_count, breaker_count, figure_count;
    uint32_t   passed_at, taken_at, came_at;  // In the figures.
    SbStr      begin;     // The payload of BEGIN, in the journal's text.
    StageCut  *stages;
    SinkState *sinks;
    MarksState *marks;    // By breaker.
    uint64_t  *ordinals;  // By stage: as in Commit.
    Text       run_files; // Of breakers, packed as one text each, in the order of their numbers.
    uint32_t   run_file_count;  // How many texts are in run_files.
    Text       cases;     // Of all records CASES.
    SbStr      publish;   // The payload of PUBLISH.
    bool       done;
    char      *text;      // What the journal held; owned.
} ResumeState;

// What a COMMIT is made of. Of a cut rejects, blocks, and files from `file_from` on are new.
typedef struct CommitCut {
    uint32_t        stage;
    const StageCut *cut;
    uint32_t        file_from;
} CommitCut;

typedef struct CommitSink {
    uint32_t             sink;
    const SinkPlace     *place;
    uint32_t             part_from;  // Parts from here on are new.
    const SinkPartPlace *parts;      // The new parts.
} CommitSink;

typedef struct Commit {
    const CommitCut  *cuts;
    uint32_t          cut_count;
    const CommitSink *sinks;
    uint32_t          sink_count;
    const uint64_t   *ordinals;   // By stage: units over edges are numbered from there on.
    uint32_t          stage_count;
} Commit;

bool state_open(ResumeState *state, const SbJob *job);
void state_close(ResumeState *state);
// Reads a whole journal, of which it takes possession. What commits mean depends on the program:
// the journal of another one is not read.
bool state_read(ResumeState *state, SbStr journal, const char *program, const char *folder,
                Trouble *trouble);
// Where a sink goes on; nullptr: no commit has any of it.
const SinkPlace *state_place(const ResumeState *state, uint32_t sink);
// Takes a commit in. False: it makes no sense.
bool state_fold(ResumeState *state, const char *payload, int64_t len);

// After it come the number of joins of which there are marks and these (marks_pack), and the
// number of files of runs and what is known of each.
void commit_pack(const Commit *commit, uint32_t figure_count, Text *text);
void marks_pack(uint32_t breaker, int64_t rows, SbStr bits, Text *text);
// The state as one commit, for a checkpoint.
bool state_write(const ResumeState *state, Journal *journal, Trouble *trouble);

#endif

// Resume run: what the files of this room share. Nobody else includes it.
//
//   units of a root ─▶ tallies ─▶ folded, in their order, into the root's cut ─┐
//   bytes of a sink ─▶ marks between two units ────────────────────────────────┼▶ commit of a group
//   rows of a breaker ─▶ lanes of one parity ─▶ runs ──────────────────────────┤
//   right rows of a join that were matched ─▶ a bit each ──────────────────────┘
//
// A *group* is what has to be committed together: sinks and breakers that the same roots feed. A
// commit of it holds all units of each of its roots below a target, and nothing else.
#ifndef SBC_RUNTIME_RESUME_RUN_H
#define SBC_RUNTIME_RESUME_RUN_H

#include "runtime/rejects.h"
#include "runtime/resume/resume.h"
#include "runtime/resume/state.h"

// What was made of a unit so far.
typedef struct UnitTally {
    uint32_t alive;         // Tasks and partitions that are made of it; one more while it is in
                            // doubt (limits.h).
    bool     cut;           // The unit is there and wanted; else it stands after the last one.
    Unit     unit;          // As it was when its task ended.
    int64_t  rows;          // Of the source.
    bool     part;          // A limit wanted some of the rows only.
    int64_t  end;           // Where the last row that is wanted ends in the file.
    int64_t *figures;       // As in StageCut.
    Text     rejects;       // Packed.
    uint32_t reject_count;
    InputBlock block;       // Without bytes: none.
} UnitTally;

// A root, by number of its stage.
typedef struct RootLog {
    bool       goes_on;
    const char *why;        // It does not; of what is no root, of what it leads to.
    uint32_t   group;
    uint32_t   zip;         // The stage that its rows come to, and to no other place; UINT32_MAX:
                            // none.
    bool       over;        // All its units are folded, and there are no more.
    StageCut   cut;         // Of the units that are folded; rejects and blocks are those since
                            // the last commit.
    UnitTally *tallies;     // Of the units from there on: of unit n at n % cap.
    uint64_t   begun;       // Those before it have begun.
    uint32_t   cap;
    uint32_t   again;       // Partitions that are made once more of units that are folded.
    uint64_t   target;      // Units of the commit that is chosen; no more are folded until it is
                            // packed. UINT64_MAX: none is.
    uint64_t   taken;       // Of units from there on no sink has been given anything.
    uint64_t   split;       // Units from there on fill lanes of the group's parity, others the
                            // other ones.
    uint64_t   committed;
    uint32_t   file_from;   // Files before are in the journal.
} RootLog;

// What rows of roots end in: a sink, a breaker, marks in a breaker, or a zip.
typedef struct RootEnd {
    uint32_t *roots;        // In the order in which their rows come.
    uint32_t  root_count;
} RootEnd;

// The number of the end that is the zip of that stage; those before are none.
static inline uint32_t zip_end(const SbJob *what, uint32_t stage) {
    return what->sink_count + 2 * what->breaker_count + stage;
}

typedef struct GroupSink {
    uint32_t  sink;
    bool      judged;       // Where the next commit cuts it is fixed.
    bool      marked;       // Something stands before the place where the next commit cuts it.
    SinkMark  mark;
    uint32_t  part_from;    // Parts before are in the journal.
} GroupSink;

typedef enum CommitState {
    COMMIT_NONE,
    COMMIT_CHOSEN,  // The targets are fixed; not all that stands before them is done, or workers
                    // have rows of it still.
    COMMIT_READY,   // It is, and packed; bytes before the marks may be on their way.
    COMMIT_BUSY,    // A thread writes it.
} CommitState;

// A join whose right rows come out that nothing matched.
typedef struct GroupTable {
    uint32_t  breaker;
    bool      taken;        // The commit that is ready has its marks.
    bool      closed;       // It is not there any more.
    int64_t   rows;         // Right rows that it had.
    Text      last;         // All marks that it had.
    bool      last_taken;   // A commit had these marks.
} GroupTable;

// One that replays has a single sink, and its roots are none of these.
typedef struct CommitGroup {
    CommitState state;
    bool       replays;
    uint32_t  *roots;
    uint32_t   root_count;
    GroupSink *sinks;
    uint32_t   sink_count;
    uint32_t  *breakers;
    uint32_t   breaker_count;
    bool       waits;       // What is done is not safe yet: workers are to hand it over.
    bool       asked;       // They have been told.
    GroupTable *tables;
    uint32_t   table_count;
    uint32_t   parity;      // Of the lanes that units fill that no commit is chosen for.
    bool       has_runs;    // A commit had some.
    bool       ended;       // Its breakers are being finished: it is committed no more.
    Text       record;      // Of the commit that is ready.
    int64_t    begun_ns;    // When this life of the job began.
    int64_t    last_ns;     // When the last commit was chosen, or the job began.
    int64_t    write_ns;    // What the last commit took to write.
    int64_t    last_bytes;  // What the sinks had when the last commit was chosen.
    int64_t    due_ns;      // When a commit of rows that are done is due; 0: no such time.
} CommitGroup;

struct Resume {
    Dispatch    *d;         // While stages run; nullptr before.
    Limits      *limits;
    // The parts of the job that commits use. The job owns them.
    const SbJob *what;
    const Options *options;
    const Params *params;
    const SbSetup *setup;
    const char  *limit_text;  // Of rejects.
    char         approx[128]; // What computes steps that are approx; empty: there are none.
    Source      *sources;
    Sink        *sinks;
    SbBreakerState **breakers;
    const bool  *ready;     // By breaker: its rows are there.
    pthread_mutex_t *fills; // By lane, while stages run.
    Edge        *edges;
    Spill       *spill;
    SbMemory    *memory;
    Progress    *progress;
    Guards      *guards;
    const _Atomic int *drain;
    Trouble     *trouble;
    Log         *log;
    Journal      journal;
    ResumeState  state;
    char         tag[DURABLE_TAG + 1];
    bool         finished;
    bool         always;    // Tests: commit after every unit.
    int64_t      looked_ns; // When a commit that waits for workers was looked at last.
    bool         closed;    // Rows are dropped from now on: what is done may not be what it seems.
    RootLog     *roots;     // By stage; those that are no roots are empty.
    uint32_t     root_count;
    CommitGroup *groups;
    uint32_t     group_count;
    RootEnd     *ends;      // By sink, then by breaker, then by breaker that is a GroupTable, then
    uint32_t     end_count; // by stage that is a zip.
    uint32_t    *group_of;  // By end; UINT32_MAX: it has no journal.
    uint32_t     lanes;     // Of a parity.
    uint64_t    *ordinals;  // By stage: units over edges are numbered from there on.
    pthread_mutex_t writing;  // Of the journal and the state.
    pthread_mutex_t flushing;  // Of files of runs, until the journal names them.
};

// ---- resume.c -----------------------------------------------------------------------------------

// The pairs of names and values that a run is known by, without the inputs.
void resume_identity(const Resume *resume, Text *text);
char *resume_program(const SbJob *what);
bool resume_make(Job *job);
// The journal's state, if there is a journal; it is of this program, parameters and options.
bool resume_read(Job *job);
// Is the run the one that began the journal? Without `inputs` sources need not be open.
bool resume_same(Resume *resume, bool inputs);

// ---- resume/input.c -----------------------------------------------------------------------------

// The inputs as pairs of a name and what is known of it.
void input_pairs(const SbJob *what, const Source *sources, Text *text);
// Adds the block that the unit begins with, while the unit has its text.
void input_add_block(const StageRun *run, const Unit *unit, UnitTally *tally);
// Are the blocks of the units that are committed in the files still? Sources are open.
bool input_check(Resume *resume);

// ---- resume/groups.c ----------------------------------------------------------------------------

// What goes on, and what is committed together. Sinks are open. False: no memory.
bool resume_groups_open(Resume *resume);
void resume_groups_close(Resume *resume);
// The group that the breaker is committed with; nullptr: it is not.
CommitGroup *group_of_breaker(const Resume *resume, uint32_t breaker);
// The group that is committed with the marks of its right rows; nullptr: none is.
CommitGroup *group_of_table(const Resume *resume, uint32_t breaker);

// ---- resume/cut.c -------------------------------------------------------------------------------

// Adds a record. False: no memory.
bool tally_reject(UnitTally *tally, const Reject *reject);
// Takes the tally of the next unit into the cut. False: no memory.
bool cut_fold(const StageRun *run, RootLog *log, const UnitTally *tally, uint32_t figure_count);
// Where the first unit begins that is not committed.
void resume_units(const StageRun *run, UnitsStart *start);
// Begins the cut of a root that goes on, and brings back what an earlier run committed of it:
// source rows, and figures of steps and edges. Edges that are counted where they are taken have
// none. False: no memory.
bool cut_restore(Resume *resume, StageRun *runs, uint32_t root, const Limits *limits);
// The records of rejects that it committed. False: no memory, or trouble of the spill.
bool cut_restore_records(Resume *resume, uint32_t root, Verdict *verdict);

// ---- resume/breakers.c --------------------------------------------------------------------------

// Brings what the lanes of the other parity have put into breakers of the group to the disk; adds
// it to the record. No task fills these lanes. Without the lock.
bool breakers_commit(Resume *resume, CommitGroup *group, Trouble *trouble);
// Opens breakers, and brings back what they held.
bool breakers_restore(Resume *resume);
// The files go: the job needs them no more.
void breakers_remove(Resume *resume);

// ---- resume/marks.c -----------------------------------------------------------------------------

// Of which tables the commit that is packed has the marks. The lock is held.
void marks_choose(const Resume *resume, CommitGroup *group);
// Adds them to the record. Without the lock.
bool marks_commit(const Resume *resume, CommitGroup *group, Trouble *trouble);
// The breaker is about to be closed: commits that follow need its marks. The lock is held.
bool marks_keep(const Resume *resume, uint32_t breaker, Trouble *trouble);
// The breaker is finished, and nothing has looked it up.
bool marks_restore(Resume *resume, uint32_t breaker);

// ---- resume/commit.c ----------------------------------------------------------------------------

// The lock of the dispatch is held, but while a commit is written.

// The sink is about to be given rows of the root's unit, by the caller alone.
bool group_taking(Resume *resume, uint32_t sink, uint32_t root, uint64_t unit, Trouble *trouble);
// Chooses a commit if one is due, and packs it once all before its targets is done. `last`: one is
// due in any case.
bool group_look(Resume *resume, CommitGroup *group, bool last, Trouble *trouble);
// When a commit of rows that are done will be due. 0: none are, or it is not for the time to say.
int64_t group_due(const Resume *resume, const CommitGroup *group);
// May the breaker be finished? Not while it is being committed, nor before what took long to come
// into it is.
bool group_may_finish(Resume *resume, uint32_t breaker, Trouble *trouble);
// The commit that is chosen waits for what waits for the group's breakers: there is none before
// they are finished, and none after that.
void group_give_up(Resume *resume, CommitGroup *group);
// Has workers hand over what the commit waits for.
void group_flush(const Resume *resume, CommitGroup *group);
// A commit that can be written, from now on the caller's; nullptr: none.
CommitGroup *group_ready(Resume *resume);
// Writes it; without the lock.
bool group_write(Resume *resume, CommitGroup *group, Trouble *trouble);
// It is written, or given up: its marks go. Without the lock, or when no thread is at work.
bool group_done(CommitGroup *group, Trouble *trouble);

// ---- resume/describe.c --------------------------------------------------------------------------

// Says something of the journal.
void resume_say(Log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
// What each stage does that goes on, or could not.
void resume_say_stages(Resume *resume, bool resumed);
// "1 row", "1,234 bytes"
void describe_rows(Text *text, int64_t rows, const char *what);
// What becomes of the stage, instead of what the text held.
void describe_stage(const Resume *resume, uint32_t number, Text *text);

// ---- resume/publish.c, resume/show.c ------------------------------------------------------------

// Are the outputs of a finished job what it left?
bool resume_check_outputs(Job *job);
// Publishes what a PUBLISH record says, as far as it is not; ends with DONE.
bool resume_finish(Job *job);

#endif

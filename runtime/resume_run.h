// Resume run: what the files of resume*.c share.
#ifndef SBC_RUNTIME_RESUME_RUN_H
#define SBC_RUNTIME_RESUME_RUN_H

#include "runtime/resume.h"
#include "runtime/resume_state.h"

typedef enum PendingState {
    PENDING_NONE,
    PENDING_MARKED,  // Marks are taken; counts are not final yet.
    PENDING_READY,   // They are; bytes before the marks may be on their way.
    PENDING_BUSY,    // It is being committed.
} PendingState;

// What is to be committed of a stage next.
typedef struct StageLog {
    const SbStage *stage;
    uint32_t  index;
    bool      goes_on;
    PendingState  state;        // Guarded by the lock, as `marks` and `cut` are by the state.
    uint64_t  unit;         // Whose end the marks stand at.
    SinkMark *marks;        // By terminal.
    bool     *marked;
    StageCut  cut;
    uint32_t  file_from;    // Files before are in the journal, or as many...
    uint32_t  reject_from;  // ...rejects.
    uint32_t *part_from;    // By terminal.
    int64_t   last_ns;      // When the last marks were taken...
    int64_t   last_bytes;   // ...and what the sinks had then.
} StageLog;

typedef struct Resume {
    Journal         journal;
    ResumeState     state;
    char            tag[DURABLE_TAG + 1];
    bool            resumed;    // The journal was there.
    bool            finished;
    bool            always;     // Tests: commit behind every partition.
    StageLog       *logs;
    uint32_t        log_count;
    pthread_mutex_t lock;       // Of the logs' states.
    pthread_mutex_t writing;    // Of the journal and the state.
    _Atomic uint32_t ready;     // Logs that are.
} Resume;

// Does nothing but rows behind the cut matter to the stage?
bool resume_goes_on(const Job *job, const SbStage *stage);
// Sinks are open.
bool resume_logs_open(Job *job);
void resume_logs_close(Job *job);
void resume_set_state(Resume *resume, StageLog *log, PendingState state);
// The pairs of names and values that a run is known by, without the inputs, or the inputs alone.
void resume_identity(const Job *job, Text *text);
void resume_inputs(const Job *job, Text *text);
char *resume_program(const Job *job);
bool resume_make(Job *job);
// The journal's state, if there is a journal; it is of this program, parameters and options.
bool resume_read(Job *job);
// Is the run the one that began the journal? Without `inputs` sources need not be open.
bool resume_same(Job *job, bool inputs);
// Are the outputs of a finished job what it left?
bool resume_check_outputs(Job *job);
// What each stage does that goes on.
void resume_say_stages(Job *job);
// Publishes what a PUBLISH record says, as far as it is not; ends with DONE.
bool resume_finish(Job *job);
// Says something of the journal.
void resume_say(Job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

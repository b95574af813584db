// A task: one stage on one unit of input. Generated code keeps its cursor here, and the runtime the
// rest.
//
// Used by generated code and by runtime/task. Order keys are unique within the input of a stage and
// grow in output order.
#ifndef SBC_RUNTIME_ABI_TASK_H
#define SBC_RUNTIME_ABI_TASK_H

#include "runtime/abi/batch.h"
#include "runtime/abi/kernel.h"
#include "runtime/abi/kept.h"
#include "runtime/abi/text.h"

// What a stage returns.
typedef enum SbStageStatus : int32_t {
    SB_STAGE_DONE,   // The input is used up, or nobody wants more of it (task->stopped).
    SB_STAGE_FULL,   // An output reached its quota, after a row or inside one: take the output and
                     // call again.
    SB_STAGE_NEED,   // task->need bytes more are wanted; call again when granted.
    SB_STAGE_FAULT,  // The job fails; task->failure says why.
} SbStageStatus;

typedef struct SbInput {
    // Text: rows that start in [begin, end). The last row ends at `end`. Rows are whole.
    const char *text;
    int64_t     begin, end;
    int64_t     offset;          // Of text[0] in the source, after decompression.
    int64_t     line;            // Line number of `begin`, when the stage asked for lines; else 0.
    const uint32_t *fields;      // What the reader says of the file: of CSV the field number of
                                 // each source column.
    uint32_t    field_count;     // Fields a row.
    uint32_t    source_file;     // Number of the file within the source.
    SbStr       source_name;
    SbIndex    *index;
    // Rows: entries[begin..end). Range: the numbers begin..end-1.
    const SbEntry *const *entries;
    const SbEntry *const *right;  // Zip: the rows of the right side, by the same numbers.
} SbInput;

typedef struct SbFailure {
    uint32_t site;
    int32_t  fault;
    uint64_t order;
} SbFailure;

// Where a loop over what one row makes goes on: with the row of that number. A join finds the match
// by the place (sb_join_place).
typedef struct SbInside {
    int64_t number, place;
} SbInside;

enum { SB_INSIDE_MAX = 8 };   // Loops, one inside the other, that a stage leaves.

// One stage on one unit of input. The runtime owns it; generated code keeps its cursor here.
typedef struct SbTask {
    SbCall   call;
    SbInput  input;
    int64_t  cursor;           // Text: next byte relative to input.text. Others: next row number.
    uint64_t order;            // Order key of the next row this unit delivers.
    uint64_t origin;           // Of the row that is rejected: the order key of its row of a source
                               // or a breaker, however many edges lie between.
    uint64_t came;             // Of the row that is rejected: the order key in its entry. Stages
                               // that read an edge set it.
    const void *const *params; // Value of each parameter, in memory layout.
    void   **terminals;        // By SbStage.terminals: SbGroups *, SbRows * or SbOut *.
    int64_t *limits;           // By terminal: rows it still takes; INT64_MAX for all.
    const SbTable *const *tables;  // By breaker number: finished join tables.
    int64_t *counts;           // [step][SbCount], and more: sb_figure_count.
    int64_t  made;             // Rows of the source in the partition, at the last border between
                               // blocks.
    int64_t  need;
    int32_t  stopped;          // No terminal wants more rows.
    int32_t  cancel;           // Set by others; polled once a block.
    int32_t  full;             // The outputs hold a partition: the stage returns after the row.
    int32_t  splits;           // A full stage returns inside the row, in a loop over what the row
                               // makes.
    uint32_t insides;          // Loops in which the stage goes on inside the row at the cursor.
    SbInside inside[SB_INSIDE_MAX];  // The outer loop first; none: the stage begins with the row.
    uint32_t asked;            // SbStage.ask: breaker number of a join.
    int32_t  tells_marks;      // Right rows that are matched are told (sb_join_mark): this process
                               // only reads them.
    SbFailure failure;
    SbBatchRows batch;         // Of SbStage.calls.
    SbKernelRows kernel;       // Of SbStage.kernels.
    struct SbTaskState *state; // Runtime's.
} SbTask;

// Accounting: in + made = on + filtered + rejected + merged, for each step.
//
// Generated code counts MADE and FILTERED. MADE are the rows of a source, good and bad, that were
// judged. They are also elements of an explode and matches of a join beyond the first. FILTERED are
// rows that filters drop, also those of a source; samples; empty explodes; left rows that a join
// drops. sb_reject_* count REJECTED.
//
// The runtime fills in the rest. IN of a step is the sum of ON of the steps in `from`. A group or
// distinct has as many ON as groups; the other rows are MERGED. A join MERGES its right rows but
// those that come out unmatched, a zip its right rows. A limit FILTERS what it skips.
//
// Both ways of merging know only what a breaker keeps. A step may reject rows of a breaker, or rows
// in front of it; SbSite.merges corrects MERGED by these.
typedef enum SbCount {
    SB_IN,
    SB_MADE,
    SB_ON,
    SB_FILTERED,
    SB_REJECTED,
    SB_MERGED,
    SB_COUNTS
} SbCount;

typedef int32_t SbStageFn(SbTask *task);

#endif

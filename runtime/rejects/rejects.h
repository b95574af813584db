// Rejects: records of rows that could not be judged, their order, limits and file.
//
// docs/rejects.md fixes the bytes. Tasks collect records; the verdict (verdict.h) has those of all
// tasks, which may be on disk (reject_set.h); the job judges and writes them when all stages have
// run.
#ifndef SBC_RUNTIME_REJECTS_H
#define SBC_RUNTIME_REJECTS_H

#include "runtime/abi/program.h"
#include "runtime/memory.h"
#include "runtime/report.h"

typedef struct Reject {
    bool     behind;       // A meeting: source, line, offset and length are null.
    bool     has_place;    // line, offset and length are known.
    bool     has_line;     // `line` counts from the start of the file.
    bool     fails;        // `else fail`: ends the job and stands in no file.
    bool     result;       // Of what the step has gathered: after the rows that came to it.
    bool     goes_on;      // The step began in a stage before, which handed the row over.
    uint32_t source, file, step;
    uint32_t stage;        // The stage that judged the row.
    uint16_t way;          // By which of the ways the row came into the stage where its step began,
                           // in the order of the ways.
    uint64_t origin;       // Of its row (SbTask.origin), after the rank of the flow's root.
    uint64_t came;         // Order key of its row where its step began: (rank of that stage, unit,
                           // rows that the unit had handed over).
    uint64_t sequence;     // (rank of the stage, unit, number in it): order of equals.
    int64_t  offset, length;
    int64_t  line;         // First relative to the unit, made absolute by the commit; 0: none.
    int64_t  row;          // Number of the row in its unit, from 0, then in its source.
    int64_t  weight;       // Rejects that it counts as.
    uint32_t site;         // UINT32_MAX: none.
    int32_t  fault;
    const char *path;      // Of the file; nullptr: none.
    char    *message;      // Both from one malloc, `message` its start.
    char    *raw;
    int64_t  message_len, raw_len;
} Reject;

typedef struct RejectList {
    Reject   *items;
    uint32_t  count, cap;
    int64_t   weight;
    int64_t   bytes;    // Charged.
    SbMemory *memory;
} RejectList;

// What a task knows of a reject; texts are copied.
typedef struct RejectFacts {
    Reject      place;   // Everything but message and raw.
    const char *detail;  // nullptr: none.
    int64_t     detail_len;
    bool        bare;    // The detail is no text of the row: it is shown without quotes.
    const char *raw;
    int64_t     raw_len;
} RejectFacts;

// Adds a record. False: out of memory.
bool rejects_add(RejectList *list, const SbJob *job, const RejectFacts *facts);
// Adds a copy of a record, its texts too.
bool rejects_copy(RejectList *list, const Reject *reject);
// Moves all records of `from` after those of `list`, which has the same account.
bool rejects_move(RejectList *list, RejectList *from);
// The same of its last one.
bool rejects_move_last(RejectList *list, RejectList *from);
// Keeps the first `count` records.
void rejects_cut(RejectList *list, uint32_t count);
void rejects_close(RejectList *list);

// < 0, 0, > 0: by place among all rows of the job (verdict.h).
int rejects_by_place(const Reject *a, const Reject *b);
// The same in the order of the rejects file.
int rejects_by_file(const Reject *a, const Reject *b);

typedef struct RejectLimits {
    int64_t rows;    // -1: no such limit.
    double  share;   // -1: no such limit.
} RejectLimits;

// A share, judged as records come in the order of the file.
typedef struct RejectShare {
    double   most;
    uint32_t source;    // Of whose rows; UINT32_MAX: of all.
    bool     begun;     // Row 10,000 has passed.
    bool     over;
    int64_t  rejected;
} RejectShare;

void rejects_share_open(RejectShare *share, double most, uint32_t source);
void rejects_share_take(RejectShare *share, const Reject *reject);
// At the end: is the share of so many rows passed?
bool rejects_share_over(const RejectShare *share, int64_t rows);

// What stands before the first record.
#define REJECTS_HEADER_JSONL ""
#define REJECTS_HEADER_CSV   "step,source,line,offset,length,code,message,raw\n"
// A record, as JSON lines or CSV.
void rejects_text(const Reject *reject, const SbJob *job, SbRecords form, Text *text);
// What the user sees of a record that ends the job. `limit` nullptr: it fails by itself.
void rejects_explain(const Reject *reject, const SbJob *job, const char *limit, int64_t weight,
                     Text *text);
// The same as fields of an event, each with a comma before it.
void rejects_event(const Reject *reject, const SbJob *job, const char *limit, int64_t weight,
                   Text *text);

#endif

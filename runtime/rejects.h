// Rejects: records of rows that could not be judged, their order, limits and file.
//
// docs/rejects.md fixes the bytes. Tasks collect records; commits hand them over in unit order;
// the job sorts and writes them when all stages have run.
#ifndef SBC_RUNTIME_REJECTS_H
#define SBC_RUNTIME_REJECTS_H

#include "runtime/abi.h"
#include "runtime/memory.h"
#include "runtime/sink.h"
#include "runtime/text.h"

typedef struct Reject {
    bool     behind;       // A meeting: source, line, offset and length are null.
    bool     has_place;    // line, offset and length are known.
    bool     has_line;     // `line` counts from the start of the file.
    bool     fails;        // `else fail`: ends the job and stands in no file.
    uint32_t source, file, step;
    uint32_t stage;        // That judged the row,
    uint16_t way;          // and by which of the ways into it the row came, in their order.
    uint64_t origin;       // Of its row (SbTask.origin), behind the rank of the flow's root.
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
// Moves all records of `from` behind those of `list`.
bool rejects_move(RejectList *list, RejectList *from);
void rejects_close(RejectList *list);
void rejects_sort(RejectList *list);
// The number of records of a sorted list that stand before `reject`.
uint32_t rejects_before(const RejectList *list, const Reject *reject);

typedef struct RejectLimits {
    int64_t rows;    // -1: no such limit.
    double  share;   // -1: no such limit.
} RejectLimits;

// After sorting: the number of records up to and with the one that passes the row limit; 0: none.
uint32_t rejects_over_rows(const RejectList *list, RejectLimits limits);
// Is the share passed, by `rows` rows of source `source`, or (UINT32_MAX) of all?
bool rejects_over_share(const RejectList *list, double share, uint32_t source, int64_t rows);

// The message of a fault that no row is to blame for.
const char *rejects_fault_text(int32_t fault);

// The first `count` records as JSON lines or CSV, header included.
void rejects_text(const RejectList *list, uint32_t count, const SbJob *job, SbFormat format,
                  Text *text);
// What the user sees of a record that ends the job. `limit` nullptr: it fails by itself.
void rejects_explain(const Reject *reject, const SbJob *job, const char *limit, int64_t weight,
                     Text *text);
// The same as fields of an event, each with a comma before it.
void rejects_event(const Reject *reject, const SbJob *job, const char *limit, int64_t weight,
                   Text *text);

#endif

// Functions over batches of rows: what code generation says of one, and what it gets.
//
// Used by code generation, which writes an SbBatchFn for a stage, by runtime/task and by
// stdlib/arrow. `sbc header` prints SbBatch and the prototype for users.
#ifndef SBC_RUNTIME_ABI_BATCH_H
#define SBC_RUNTIME_ABI_BATCH_H

#include "runtime/abi/value.h"

struct ArrowSchema;
struct ArrowArray;

enum { SB_MESSAGE_BYTES = 256 };

// What a batch function is told beside its rows, and says beside its result.
struct SbBatch {
    const char **errors;   // `fallible`: one for each row, all null; a text there rejects the row.
                           // Else null.
    void        *state;    // `state`: what NAME_init made. Else null.
    char         message[SB_MESSAGE_BYTES];  // Why the whole batch failed.
};

// What a function of the runtime's own says beside. Its `batch` is what an SbBatchCall gets.
struct SbBatchOwn {
    struct SbBatch batch;
    const char **misfits;  // As batch.errors: what is wrong with the result of a row.
    int64_t      timeout;  // Microseconds that a call may take, or a row where rows are called one
                           // by one; 0: any time.
    int64_t      row;      // The row at which the process ended, or took too long; -1: not known.
    bool         slow;     // It took too long.
    bool         misfit;   // The whole result does not fit, as `words` say; no row is tried again.
    char         words[SB_MESSAGE_BYTES * 4];  // Why the whole batch failed, if not batch.message.
};

// `rows` is a struct array with a child for each parameter, `schema` its type. The function fills
// `result`, which the caller releases. 0: done. Else all rows of the batch failed.
typedef int32_t SbBatchCall(const struct ArrowSchema *schema, struct ArrowArray *rows,
                            struct ArrowArray *result, struct SbBatch *batch);

// `state`: makes what each call is handed; null: `batch->message` says why there is none. A call
// has a state to itself. At the end of the job each is closed.
typedef void *SbBatchInit(struct SbBatch *batch);
typedef void  SbBatchClose(void *state);

struct SbBatchStates;  // runtime/task/states.h

typedef struct SbBatchFn {
    SbStr         name;
    SbBatchCall  *call;
    const void   *about;    // A function of the runtime's own: `batch->state` of its calls, and
                            // `batch` is that of an SbBatchOwn. Else null.
    SbBatchInit  *init;     // Null: there is no state.
    SbBatchClose *close;
    struct SbBatchStates **states;  // The states of the function, wherever it is called; null: it
                                    // has none, and any number of threads may call it.
    const SbType *row;      // The arguments as a struct; offsets count from the entry.
    const SbType *result;
    int64_t       rows;     // Of a batch at most; 0: the program does not say.
    int64_t       timeout;  // SbBatchOwn.timeout of its calls; 0 where another process ends them.
    uint8_t       pure;     // Rows of a batch that failed may be given once more.
    uint8_t       fallible;
    uint8_t       alone;    // One call at a time.
} SbBatchFn;

// Results of the rows first .. first + count - 1 of a task's input.
typedef struct SbBatchRows {
    int64_t  first, count;
    void    *state;     // What the calls are handed.
    int64_t  calling, calling_count;  // Rows that foreign code has at this moment; count 0: none.
    bool     called;    // Foreign code was called for some of the rows.
    bool     no_room;   // There was no memory for some of the rows.
    char    *values;    // One after the other, of the base type's size.
    int32_t *statuses;
    SbStr   *details;   // Of rows whose status is a fault.
} SbBatchRows;

#endif

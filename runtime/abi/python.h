// Python functions: what code generation says of those that a job calls.
//
// Used by code generation, which writes an SbPython, by runtime/python and by runtime/main. Only
// the data of a job that calls Python names runtime/python, so that no other job carries the room.
#ifndef SBC_RUNTIME_ABI_PYTHON_H
#define SBC_RUNTIME_ABI_PYTHON_H

#include "runtime/abi/batch.h"

typedef struct SbPythonFn {
    SbStr         name;     // As the program declares it.
    SbStr         callee;   // "module:function"
    SbStr         folder;   // Of the .sbd file, as sbc was given it: "lib/", or empty.
    const SbType *row;      // The arguments as a struct.
    const SbType *result;
    uint8_t       by_rows;  // It is called with the values of one row.
    uint8_t       state;    // The callee makes what is called.
    uint8_t       alone;    // One process runs all calls.
    uint8_t       pure;
} SbPythonFn;

typedef struct SbPythonRoom SbPythonRoom;  // runtime/python/python.h

typedef struct SbPython {
    const SbPythonRoom      *room;
    const SbPythonFn *const *fns;
    uint32_t                 fn_count;
    SbStr                    folder;  // The working folder of sbc when it compiled the job.
} SbPython;

// An SbBatchCall: `batch->state` is the SbPythonFn.
SbBatchCall sb_python_call;

extern const SbPythonRoom sb_python_room;

#endif

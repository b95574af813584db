// What runtime/main and the reference interpreter call.
#ifndef SBC_RUNTIME_PYTHON_PYTHON_H
#define SBC_RUNTIME_PYTHON_PYTHON_H

#include "runtime/abi/python.h"
#include "runtime/memory.h"

// Why a job cannot begin. Each is a trouble of the same name (runtime/report/troubles.def).
typedef enum PythonFaultKind {
    PYTHON_FAULT_NONE,
    PYTHON_FAULT_START,      // There is no interpreter that runs.
    PYTHON_FAULT_OLD,
    PYTHON_FAULT_MODULE,     // It is not there.
    PYTHON_FAULT_IMPORT,     // It cannot be imported.
    PYTHON_FAULT_FUNCTION,   // The module has none of that name.
    PYTHON_FAULT_SIGNATURE,
    PYTHON_FAULT_MEMORY,     // There is none to begin with.
} PythonFaultKind;

enum { PYTHON_FAULT_BYTES = 1536 };

typedef struct PythonFault {
    PythonFaultKind kind;
    char            text[PYTHON_FAULT_BYTES];
} PythonFault;

typedef struct PythonSetup {
    const char *interpreter;  // Of --python; nullptr: that of $VIRTUAL_ENV, else python3 of $PATH.
    uint32_t    threads;      // No more processes than that, and one for each that is `alone`.
    SbMemory   *memory;       // What they take later is charged to it; nullptr: nobody counts.
} PythonSetup;

// What was found when the first process had loaded all functions.
typedef struct PythonFound {
    char     interpreter[256];
    char     version[32];
    uint32_t least, most;     // So many processes there have to be, and may be at once.
    int64_t  each;            // Memory that each of them holds at first.
} PythonFound;

// By this table a job that calls no Python links nothing of the room.
struct SbPythonRoom {
    // Begins to serve the functions of `python`.
    void (*open)(const SbPython *python, const PythonSetup *setup);
    // Starts a first process, which loads all functions. False: `fault` says what is wrong.
    bool (*check)(PythonFound *found, PythonFault *fault);
    // There will be no more processes than that, from `least` to `most`.
    void (*limit)(uint32_t processes);
    // Ends all processes. No call may run.
    void (*close)(void);
};

// The function of those that are served now; nullptr: none has the name, callee and folder.
const SbPythonFn *python_find(SbStr name, SbStr callee, SbStr folder);

#endif

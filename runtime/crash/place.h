// Place: from an address of generated code to the line of the pipeline and the step that it is of.
#ifndef SBC_RUNTIME_PLACE_H
#define SBC_RUNTIME_PLACE_H

#include "runtime/abi/program.h"
#include "runtime/crash/image.h"

typedef struct Place {
    const SbFile *file;    // Of the pipeline; nullptr: the place is in no .sbd file.
    uint32_t line, column;
    uint32_t offset;       // Of line and column in the file's text.
    SbStr    text;         // The line.
} Place;

// Async-signal-safe, as all here.
Place place_of(const SbJob *job, Line line);
// The innermost step that holds the place; nullptr: it is in a function.
const SbStepInfo *place_step(const SbJob *job, const Place *place);

#endif

// Steps: the table of what may follow a `|`, steps.def.
#ifndef SBC_FRONTEND_STEPS_H
#define SBC_FRONTEND_STEPS_H

#include "ir/text.h"

enum {
    STEP_COUNT = 0
#define STEP(...) +1
#include "frontend/steps.def"
};

// What `sbc doc` says of one.
typedef struct StepDoc {
    const char *word;
    const char *forms;    // Ways to write it, one a line.
    const char *doc;
    const char *example;  // A flow.
} StepDoc;

extern const StepDoc step_docs[STEP_COUNT];

#endif

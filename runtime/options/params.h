// Params: the job's parameters, from text to values in memory layout.
#ifndef SBC_RUNTIME_PARAMS_H
#define SBC_RUNTIME_PARAMS_H

#include "runtime/options/options.h"

typedef struct Params {
    const void **values;  // By parameter.
} Params;

// Is the text a value of its parameter's type?
bool params_check(const SbJob *job, const ParamText *text, Trouble *trouble);
// Of texts that were checked. Values are allocated from `call` and live as long as it.
bool params_read(Params *params, const SbJob *job, const Options *options, SbCall *call,
                 Trouble *trouble);
void params_close(Params *params);

// "i64", "[str]", "decimal(9,2)?".
void params_type_text(const SbType *type, char *text, size_t size);

#endif

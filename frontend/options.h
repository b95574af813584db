// Options: the table of what follows the path of a source or a sink, options.def.
#ifndef SBC_FRONTEND_OPTIONS_H
#define SBC_FRONTEND_OPTIONS_H

#include "ir/format.h"

enum {
    OPTION_COUNT = 0
#define OPTION(...) +1
#include "frontend/options.def"
};

typedef struct OptionDoc {
    FormatOption id;
    const char  *name;
    const char  *usual;  // What it is unless given.
    const char  *doc;
} OptionDoc;

extern const OptionDoc option_docs[OPTION_COUNT];

#endif

// Config: --config=run.yaml, a mapping of option and parameter names to values.
//
//   input: [a.csv, b.csv]
//   threads: 8
//   overwrite: true
//
// The command line wins. `[]` is a list without values. All mistakes are shown, with
// file, line and a caret.
#ifndef SBC_RUNTIME_CONFIG_H
#define SBC_RUNTIME_CONFIG_H

#include "runtime/options/options.h"

bool config_read(Options *options, const SbJob *job, Trouble *trouble);

#endif

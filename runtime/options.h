// Options: what the command line and the configuration file of a job say, and the values of its
// parameters.
//
//   options  options.def, one line each      config   --config=run.yaml, by libyaml
//   params   from text to values in memory layout
//
// Called by runtime/main; others read the Options that came of it.
//
// Circle: commands, config, options, params, worker_kinds: the command line names a file of
// options, which holds options and parameters; values of some options are read in files of their
// own.
#ifndef SBC_RUNTIME_ROOM_OPTIONS_H
#define SBC_RUNTIME_ROOM_OPTIONS_H

#include "runtime/options/options.h"
#include "runtime/options/params.h"

#endif

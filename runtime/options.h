// Options: what the command line and the configuration file of a job say, and the values of its
// parameters.
//
//   options  options.def, one line each      config   --config=run.yaml, by libyaml
//   params   from text to values in memory layout
//
// Called by runtime/main; others read the Options that came of it.
//
// Circle: config, options, params: the command line names a file of options, which holds options
// and parameters.
#ifndef SBC_RUNTIME_ROOM_OPTIONS_H
#define SBC_RUNTIME_ROOM_OPTIONS_H

#include "runtime/options/options.h"
#include "runtime/options/params.h"

#endif

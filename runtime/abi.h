// abi: everything that generated code, the standard library and the runtime share, in parts by who
// uses them:
//
//   value.h    values, types, status           all of the standard library
//   call.h     scratch memory of a call        functions that make values
//   text.h     indexed text, bytes for sinks   scanners, writers
//   kept.h     rows that are kept              breakers, edges, keys, aggregates
//   task.h     one stage on one unit           generated code, runtime/task
//   program.h  what a job is                   code generation, all of the runtime
//   calls.h    what generated code calls       code generation; who defines them
//   foreign.h  C files of the user             codegen/build, runtime/memory
//   batch.h    functions over batches           code generation, stdlib/arrow, runtime/task
//   python.h   functions in Python              code generation, runtime/python, runtime/main
//   cpu_level.h  what a CPU has to have        codegen/build, runtime/job
//
// Code generation takes offsets and sizes from these structs by offsetof and sizeof, in its own
// process (codegen/emit.h). Each job has SB_ABI_VERSION, which is checked when the job starts.
//
// Worked example: the stage of `read csv(x) as {a: i64} | where a > 1 | group by a {}` is an
// SbStageFn. Its SbTask has an input that holds a block of text. The stage indexes rows into
// SbIndex and looks each key up in the SbGroups of terminal 0. For a new key it calls
// sb_groups_insert, for a bad row sb_reject_text. At the end of the text it returns SB_STAGE_DONE.
#ifndef SBC_RUNTIME_ABI_ABI_H
#define SBC_RUNTIME_ABI_ABI_H

#include "runtime/abi/batch.h"
#include "runtime/abi/calls.h"
#include "runtime/abi/foreign.h"
#include "runtime/abi/python.h"

enum { SB_ABI_VERSION = 23 };

// The owner and the type of the ELF note by which `sbc` knows a job. The note holds SB_ABI_VERSION.
#define SB_MARK_OWNER "sbc"
enum { SB_MARK_TYPE = 1 };

#endif

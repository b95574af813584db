// Output: where the rows of a `write` go: a file, a folder of parts, standard output.
//
//   sink       bytes in order, places at once, writing by any thread
//   sink_mark  a place up to which the journal says that a sink is safe
//   manifest   OUT.manifest.json, which says what a published output has
//   names      files of all outputs, where their names come of the rows
//   lines      rows that are lines
//
// Called by the dispatch, which gives bytes, and by runtime/main and runtime/resume, which publish.
//
// Worked example: bytes of one partition.
//
//   sink_take(sink, (SinkRows){bytes, count}, &extents, trouble);   // In the order of the rows.
//   for (...) sink_write(&extents.items[i], trouble);       // By any thread, in any order.
//
// Circle: sink, sink_mark: a sink that goes on keeps a log of what it was given, and the log closes
// parts.
#ifndef SBC_RUNTIME_ROOM_OUTPUT_H
#define SBC_RUNTIME_ROOM_OUTPUT_H

#include "runtime/output/lines.h"
#include "runtime/output/manifest.h"
#include "runtime/output/names.h"
#include "runtime/output/sink.h"
#include "runtime/output/sink_mark.h"

#endif

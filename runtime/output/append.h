// Append: outputs whose rows come after those that a file has.
//
// The file stays as it is until the job succeeds. A part begins with a copy of it, its base, and is
// renamed over it at the end, as any output appears (runtime/host/durable.h). So a job that is
// killed leaves the file as it was.
//
//   out.csv ─ copied ─▶ .out.csv.XXXXXX ◀─ new rows        at the end: .out.csv.XXXXXX ─▶ out.csv
//
// A header stands once, at the front of the file. A line end that the last row of the base lacks
// is added. After a compressed base come members of their own.
#ifndef SBC_RUNTIME_APPEND_H
#define SBC_RUNTIME_APPEND_H

#include "runtime/output/sink.h"

// A sink that appends has no folder of parts.
bool append_check_folder(const Sink *sink, Trouble *trouble);
// Can rows be appended to the file? Changes nothing.
bool append_check(const Sink *sink, const char *path, Trouble *trouble);
// Begins a part, which is the sink's last one, with its base. Sets sink->offset.
bool append_begin(Sink *sink, SinkPart *part, Trouble *trouble);

#endif

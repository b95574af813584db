// Names: the files that a job reads and writes, where names of outputs come of its rows.
//
// What an output by key writes is known only when its rows come. Each file that an output begins is
// noted here first, so that no two outputs write one file, and none writes what is read.
#ifndef SBC_RUNTIME_NAMES_H
#define SBC_RUNTIME_NAMES_H

#include "runtime/output/sink.h"

// nullptr: no memory.
SinkNames *names_open(void);
void names_close(SinkNames *names);
// A file that is read.
bool names_read(SinkNames *names, const char *path, Trouble *trouble);
// A file that the sink is about to write; its folder is made. False: it has another use. May be
// called by several threads.
bool names_take(SinkNames *names, const char *path, const Sink *sink, Trouble *trouble);

#endif

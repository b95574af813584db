// Manifest: OUT.manifest.json, which says what files the output of a job with a journal has.
//
// It appears after its output, and goes before that output is replaced. So no manifest speaks of
// other files than those beside it. A file of that name that says something else belongs to
// somebody else.
#ifndef SBC_RUNTIME_MANIFEST_H
#define SBC_RUNTIME_MANIFEST_H

#include "runtime/abi/program.h"
#include "runtime/output/sink.h"
#include "runtime/report.h"

// Follows the path of an output.
#define MANIFEST_ENDING ".manifest.json"

// The name of the manifest of an output: beside it, a folder too, so that who reads it meets rows
// only. That of an output by key stands in the last folder that all its files have; what is written
// for the key has - in place of /. From malloc; nullptr: no memory.
char *manifest_name(SbStr path, SbStr shape);
char *manifest_path(const Sink *sink);
// What it says of an output that is whole.
void manifest_text(const SbJob *what, const Sink *sink, Text *text);
// May the sink leave one? Not in place of what is none, unless the sink replaces what is there.
bool manifest_check(const Sink *sink, Trouble *trouble);
// The one of what stands there now goes, before anything is published. `synced`: the caller syncs
// the folder.
bool manifest_remove(const Sink *sink, bool synced, Trouble *trouble);

#endif

// Source pack: the files of a source with all that is known of them, for a process that reads the
// same files.
#ifndef SBC_RUNTIME_SOURCE_PACK_H
#define SBC_RUNTIME_SOURCE_PACK_H

#include "runtime/host.h"
#include "runtime/input/source.h"

void source_pack(Text *text, const Source *source);
// The header of one file.
void source_pack_header(Text *text, const Source *source, uint32_t file);
bool source_unpack_header(Unpack *from, Source *source);
// Gives the source, which is set and has no files, those that were packed. False: these bytes are
// none, or there is no memory.
bool source_unpack(Unpack *from, Source *source);

#endif

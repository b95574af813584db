// Reject pack: a record as the journal and messages between processes hold it.
#ifndef SBC_RUNTIME_REJECT_PACK_H
#define SBC_RUNTIME_REJECT_PACK_H

#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/rejects/rejects.h"

void reject_pack(Text *text, const Reject *reject);
// Adds the record to the list. `sources`: those of the job. False: the bytes are no record of this
// job, or there is no memory.
bool reject_unpack(const SbJob *what, const Source *sources, Unpack *from, RejectList *list);

#endif

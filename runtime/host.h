// Host: the system: threads, durable files, retries, checksums, and where tests fail it.
//
//   pool       the threads that compute         parallel    a call on all threads
//   durable    all calls that make bytes last   retry       what is done about an error
//   checksum   XXH3 of what has to be the same again
//   pack       numbers and bytes in journals and messages
//   leftover   temporary files of killed jobs
//   failpoint  where tests kill a job, or let a call fail
//
// Called by rooms that do I/O or want threads. All fsync, rename and lock calls are in durable.c.
//
// Worked example: a read that may be interrupted, or tried again.
//
//   do got = pread(fd, at, len, offset);
//   while (got < 0 && retry_error(errno, &retry));
#ifndef SBC_RUNTIME_ROOM_HOST_H
#define SBC_RUNTIME_ROOM_HOST_H

#include "runtime/host/checksum.h"
#include "runtime/host/durable.h"
#include "runtime/host/failpoint.h"
#include "runtime/host/pack.h"
#include "runtime/host/parallel.h"
#include "runtime/host/pool.h"
#include "runtime/host/retry.h"

#endif

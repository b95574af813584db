// Observe: what threads do and what stages wait for, for people and machines.
//
//   watch        figures, states, spans     observer   what the dispatch tells the watch
//   stage_times  the closing table          bound      what kept the job from being faster
//   progress     lines and the watchdog     trace      a file for Perfetto
//   metrics      Prometheus text, JSON      http       the server
//   sample       steps of threads           summary    the table of steps
//   null_words   what may be meant as null
//
// Called by runtime/main. Nothing here changes what a job does.
#ifndef SBC_RUNTIME_ROOM_OBSERVE_H
#define SBC_RUNTIME_ROOM_OBSERVE_H

#include "runtime/observe/http.h"
#include "runtime/observe/metrics.h"
#include "runtime/observe/null_words.h"
#include "runtime/observe/progress.h"
#include "runtime/observe/sample.h"
#include "runtime/observe/summary.h"
#include "runtime/observe/trace.h"
#include "runtime/observe/watch.h"

#endif

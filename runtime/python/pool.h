// Private to this room: the processes of a job.
#ifndef SBC_RUNTIME_PYTHON_POOL_H
#define SBC_RUNTIME_PYTHON_POOL_H

#include "runtime/python/process.h"
#include "runtime/python/python.h"

// The number of a function in what a process is asked.
int64_t pool_number(const SbPythonFn *fn);

// A process that has loaded all functions, for one call. Waits while as many run as may.
// nullptr: `words` say why there is none.
PyProcess *pool_take(const SbPythonFn *fn, char words[WORDS_MAX]);
// The call is over, and its results are read.
void pool_give(const SbPythonFn *fn, PyProcess *process);
// The process died, or does not do what it should.
void pool_lose(const SbPythonFn *fn, PyProcess *process);

#endif

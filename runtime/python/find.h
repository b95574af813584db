// Private to this room: the interpreter, and the folders of modules.
#ifndef SBC_RUNTIME_PYTHON_FIND_H
#define SBC_RUNTIME_PYTHON_FIND_H

#include "runtime/python/python.h"

enum { PATH_BYTES = 4096 };

// Says what is wrong, unless that was said. False, so that callers can return it.
bool fault_set(PythonFault *fault, PythonFaultKind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The path of the interpreter. `given`: of --python, or nullptr.
bool find_interpreter(const char *given, char path[PATH_BYTES], PythonFault *fault);

// Where the module of a function is looked for first: beside the .sbd file as it was compiled. A
// job that travelled finds no such folder, and looks beside itself.
void find_folder(const SbPython *python, const SbPythonFn *fn, char path[PATH_BYTES]);

#endif

// Private to this room: one process of the interpreter.
#ifndef SBC_RUNTIME_PYTHON_PROCESS_H
#define SBC_RUNTIME_PYTHON_PROCESS_H

#include "runtime/python/wire.h"

#include <stddef.h>
#include <sys/types.h>

enum { WORDS_MAX = 256 };  // Of what goes into SbBatch.message.

typedef struct PyProcess {
    struct PyProcess *next;    // In a list of free ones.
    pid_t   pid;
    int     pidfd, socket;
    int     args_fd, results_fd;
    char   *args;              // Mapped; written here.
    int64_t args_bytes;
    const char *results;       // Mapped; read here.
    int64_t results_bytes;
    int64_t grown;             // Bytes that the account was charged for beyond the first process's.
    int64_t measured_ns;       // When its memory was read last.
    int64_t timeout;           // Microseconds that a call may take, or a row; 0: any time.
    bool    notes_rows;        // The row of the call stands at the begin of the results.
    int64_t row;               // Of a call that did not come back; -1: not known.
    bool    spent;             // It holds more than there is: it ends after its call.
    char    version[32];
} PyProcess;

typedef enum PyOutcome {
    PY_GOOD,
    PY_DIED,     // It is reaped; `words` say how it ended.
    PY_SLOW,     // It took too long, and is reaped; `words` say how much time there was.
    PY_FAILED,   // A call of the system failed, as `words` say.
} PyOutcome;

// Starts `interpreter`, a path, and takes its first words: WIRE_HELLO, WIRE_OLD or WIRE_LACKS,
// which `letter` says and `words` go on with. It ends with the job. nullptr: `words` say why.
PyProcess *process_begin(const char *interpreter, char *letter, char words[WORDS_MAX]);

// Makes the memory of arguments at least so large.
bool process_room(PyProcess *process, int64_t bytes, char words[WORDS_MAX]);

// Sends and waits. `reply` gets at most `reply_max` bytes, *len of them.
PyOutcome process_ask(PyProcess *process, const WireRequest *request, void *reply,
                      size_t reply_max, size_t *len, char words[WORDS_MAX]);

// Maps the memory of results as far as `bytes`.
bool process_see(PyProcess *process, int64_t bytes, char words[WORDS_MAX]);

// Bytes that only this process holds; 0: not known.
int64_t process_bytes(const PyProcess *process);

// Asks it to end, waits a while, ends it, and frees the record.
void process_end(PyProcess *process);


#endif

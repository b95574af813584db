// Process: a worker as a process of the system: the same executable, run once more.
//
//   coordinator ─ process_start ─▶ worker ─ process_inherited: its number, its socket, the arenas
//        │                           │
//        └─ process_kill, process_reap ┘   killed by its pidfd; reaped before another one starts
//
// A worker dies with its coordinator (PR_SET_PDEATHSIG), and is the first that the system ends when
// memory is short (oom_score_adj).
#ifndef SBC_RUNTIME_WORKER_PROCESS_H
#define SBC_RUNTIME_WORKER_PROCESS_H

#include "runtime/memory.h"
#include "runtime/report.h"

#include <stdbool.h>
#include <sys/types.h>

// The exit code of a worker whose foreign code keeps too much memory.
enum { WORKER_WORN = 98 };

typedef struct Process {
    pid_t pid;    // 0: there is none.
    int   pidfd;
    int   socket; // This side's end of the connection.
} Process;

enum { PROCESS_MORE_MAX = 96 };

// What a worker is told when it starts, in its environment.
typedef struct Inherited {
    uint32_t   node;
    int        socket;
    ArenaSpace space;  // To be joined.
    int        more[PROCESS_MORE_MAX];  // Descriptors that mean something to others.
    uint32_t   more_count;
} Inherited;

// What a process is started with: in the variable "SOCKET WORDS FD FD ...".
typedef struct ProcessAsk {
    char *const *argv;
    const char  *variable;
    const char  *words;      // Numbers, with a space between two.
    const int   *fds;        // Open there too, under the same numbers.
    uint32_t     fd_count;
} ProcessAsk;

// Starts this executable with the same arguments. Its standard input is empty, its standard output
// goes nowhere. 0, or an error of the system.
int  process_spawn(Process *process, const ProcessAsk *ask);
// Reads the next number of what such a process finds in its variable.
bool process_number(const char **at, uint64_t *number);
// Starts it as worker `node`, which finds them in Inherited. False: the trouble says why.
bool process_start(Process *process, char *const *argv, const Inherited *gives, Trouble *trouble);
// Ends it, whatever it does. Nothing where there is none.
void process_kill(const Process *process);
// Waits until it is gone, at most so long, and forgets it. Returns its status as waitpid gives it;
// -1: it is there still.
int  process_reap(Process *process, int64_t wait_ns);

// Is this process a worker? True once: what the environment says is taken out of it. False, and
// trouble->kind is set: it says nonsense.
bool process_inherited(Inherited *inherited, Trouble *trouble);
// Of a worker, at its start: it ends with its coordinator. The system shows its name.
void process_follow(const char *name);

#endif

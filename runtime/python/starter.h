// Private to this room: a thread that starts processes. The kernel ends a process with the thread
// that started it (PR_SET_PDEATHSIG), and threads of tasks come and go.
#ifndef SBC_RUNTIME_PYTHON_STARTER_H
#define SBC_RUNTIME_PYTHON_STARTER_H

#include <sys/types.h>

enum { START_FDS = 7 };  // Descriptors 0 to 6 of the process.

typedef struct Start {
    const char  *path;
    char *const *argv;
    int          fds[START_FDS];
    pid_t        pid;    // Out.
    int          error;  // Out: errno; 0: it runs.
} Start;

// Waits until the process runs `path`, or does not. The first call makes the thread.
void starter_start(Start *start);
void starter_close(void);

#endif

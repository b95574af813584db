#include "runtime/main/leave.h"

#include "runtime/host.h"
#include "runtime/main/main.h"

#include <stdlib.h>
#include <unistd.h>

// A process runs one job at a time; exit() knows no other way to it.
static _Atomic(Job *) running;

bool leave_settles(Job *job, Ending ending) {
    int none = ENDING_NOT_YET;
    return atomic_compare_exchange_strong(&job->stop.ending, &none, (int)ending);
}

void leave(Job *job, Trouble *trouble) {
    if (!leave_settles(job, ENDING_LEAVES)) return;
    job_log_trouble(job, trouble);
    durable_abandon();
    spill_abandon(&job->machine.spill);
    _exit(trouble_exit_code(trouble));
}

// Somebody called exit() while the job ran.
static void on_exit_called(void) {
    Job *job = atomic_exchange(&running, nullptr);
    if (!job) return;
    Trouble trouble = {0};
    trouble_set(&trouble, TROUBLE_EXITED, "an extern function called exit()");
    leave(job, &trouble);
    _exit(trouble_exit_code(&trouble));
}

void leave_open(Job *job) {
    static bool registered;
    if (!registered) registered = atexit(on_exit_called) == 0;
    atomic_store(&running, job);
}

void leave_close(void) { atomic_store(&running, nullptr); }

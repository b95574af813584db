// Functions in Python, as the job opens them.
#include "runtime/main/main.h"
#include "runtime/python.h"
#include "runtime/report.h"

static const TroubleKind troubles[] = {
    [PYTHON_FAULT_START] = TROUBLE_PYTHON, [PYTHON_FAULT_OLD] = TROUBLE_PYTHON_OLD,
    [PYTHON_FAULT_MODULE] = TROUBLE_PYTHON_MODULE, [PYTHON_FAULT_IMPORT] = TROUBLE_PYTHON_IMPORT,
    [PYTHON_FAULT_FUNCTION] = TROUBLE_PYTHON_FUNCTION,
    [PYTHON_FAULT_SIGNATURE] = TROUBLE_PYTHON_SIGNATURE, [PYTHON_FAULT_MEMORY] = TROUBLE_MEMORY,
};

void job_open_python(Job *job, uint32_t threads) {
    const SbPython *python = job->ask.what->python;
    PythonSetup setup = {.interpreter = job->ask.options.python, .threads = threads,
                         .memory_max = job->machine.memory_whole, .memory = &job->machine.memory};
    if (python) python->room->open(python, &setup);
}

void job_close_python(Job *job) {
    const SbPython *python = job->ask.what->python;
    if (python) python->room->close();
}

static bool start(Job *job, uint32_t threads, PythonFound *found, Trouble *trouble) {
    PythonFault fault = {0};
    job_open_python(job, threads);
    return job->ask.what->python->room->check(found, &fault) ||
           trouble_set(trouble, troubles[fault.kind], "%s", fault.text);
}

bool job_start_python(Job *job, uint32_t threads) {
    PythonFound found;
    if (!job->ask.what->python) return true;
    if (!start(job, threads, &found, &job->trouble)) return false;
    job->machine.memory_whole -= found.bytes;  // Nobody else has it.
    job->machine.memory_python = found.bytes;
    return true;
}

bool job_check_python(Job *job, uint32_t threads, Text *found, Trouble *trouble) {
    enum : int64_t { MIB = 1 << 20 };
    PythonFound is;
    if (!start(job, threads, &is, trouble)) return false;
    sb_text_format(found, "Python %s; %u process%s, %lld MiB", is.version, is.processes,
                   is.processes == 1 ? "" : "es", (long long)(is.bytes / MIB + 1));
    return true;
}

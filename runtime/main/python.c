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
                         .memory = &job->machine.memory};
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

// What a process has grown by until its call is over, and what differs from run to run.
static int64_t planned(const PythonFound *is, uint32_t processes) {
    enum : int64_t { GRANULE = 512 << 10, SLACK_SHARE = 8 };
    int64_t each = is->each + is->each / SLACK_SHARE;
    return (each + GRANULE - 1) / GRANULE * GRANULE * processes;
}

// As many processes as half of the memory holds, or what rows at full speed leave of it, but for
// what rows need at least. 0: not even as many as there have to be.
static uint32_t count_of(const PythonFound *is, int64_t whole, const MemoryNeeds *needs) {
    int64_t part = whole / 2, each = is->each > 0 ? is->each : 1;
    if (needs->full > 0 && part < whole - needs->full) part = whole - needs->full;
    if (part < is->least * each) part = is->least * each;
    if (part > whole - needs->least) part = whole - needs->least;
    if (part < is->least * each) return 0;
    return part / each < is->most ? (uint32_t)(part / each) : is->most;
}

static bool refuse(const Job *job, const PythonFound *is, const MemoryNeeds *needs,
                   Trouble *trouble) {
    enum : int64_t { MIB = 1 << 20 };
    int64_t least = needs->least + planned(is, is->least), whole = job->machine.memory_whole;
    trouble_set(trouble, TROUBLE_MEMORY_LEAST,
                "the job needs at least %.1f MiB of memory, with %u Python process%s, and %s "
                "%.1f MiB", (double)least / MIB, is->least, is->least == 1 ? "" : "es",
                job->ask.options.memory ? "--memory gives" : "80 % of the machine are",
                (double)whole / MIB);
    trouble_fix(trouble, "give it --memory=%lldMiB or more; --plan shows what takes it",
                (long long)((least + MIB - 1) / MIB));
    return false;
}

bool job_start_python(Job *job, uint32_t threads) {
    PythonFound is;
    if (!job->ask.what->python) return true;
    if (!start(job, threads, &is, &job->trouble)) return false;
    MemoryNeeds needs = memory_plan_needs(job, threads);
    uint32_t processes = count_of(&is, job->machine.memory_whole, &needs);
    if (processes == 0) return refuse(job, &is, &needs, &job->trouble);
    job->ask.what->python->room->limit(processes);
    job->machine.memory_python = processes * is.each;
    job->machine.memory_whole -= job->machine.memory_python;  // Nobody else has it.
    return true;
}

bool job_check_python(Job *job, uint32_t threads, int64_t *least, Text *found, Trouble *trouble) {
    enum : int64_t { MIB = 1 << 20 };
    PythonFound is;
    if (!start(job, threads, &is, trouble)) return false;
    MemoryNeeds needs = memory_plan_needs(job, threads);
    uint32_t processes = count_of(&is, job->machine.memory_whole, &needs);
    if (processes == 0) processes = is.least;
    *least = planned(&is, is.least);
    sb_text_format(found, "Python %s; %u process%s, %lld MiB", is.version, processes,
                   processes == 1 ? "" : "es", (long long)(processes * is.each / MIB + 1));
    return true;
}

MemoryNeeds job_plan_python(Job *job, uint32_t threads, Trouble *trouble) {
    PythonFound is;
    if (!job->ask.what->python || !start(job, threads, &is, trouble)) return (MemoryNeeds){0};
    return (MemoryNeeds){planned(&is, is.least), planned(&is, is.most)};
}

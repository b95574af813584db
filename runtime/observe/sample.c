#define _GNU_SOURCE  // SIGEV_THREAD_ID, pthread_getattr_np
#include "runtime/observe/sample.h"

#include "runtime/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4096, PROBES_MAX = 16, FRAMES_MAX = 48 };
enum : int64_t { PERIOD_NS = 5'000'000 };

// An address of the pipeline's code, and how often a thread was there.
typedef struct Slot {
    uintptr_t address;  // 0: free.
    uint32_t  count;
} Slot;

typedef struct SampledThread {
    const Samples *samples;
    timer_t   timer;
    bool      on;
    uint64_t  stack_end;
    uint64_t  other;  // Samples that were not on behalf of the pipeline's code, or found no slot.
    Slot      slots[SLOTS];
} SampledThread;

struct Samples {
    const SbJob  *job;
    Modules       modules;
    uintptr_t     begin, end;  // The code of the stages.
    uint32_t      count;
    SampledThread threads[];
};

// ---- the handler --------------------------------------------------------------------------------

static void note(SampledThread *thread, uintptr_t address, uint32_t times) {
    size_t at = (address * 0x9e3779b97f4a7c15) >> 52;
    static_assert(SLOTS == 1 << (64 - 52));
    for (uint32_t i = 0; i < PROBES_MAX; i++, at = (at + 1) % SLOTS) {
        Slot *slot = &thread->slots[at];
        if (slot->address && slot->address != address) continue;
        slot->address = address;
        slot->count += times;
        return;
    }
    thread->other += times;
}

static void on_sample(int number, siginfo_t *info, void *context) {
    (void)number;
    SampledThread *thread = info->si_value.sival_ptr;
    if (info->si_code != SI_TIMER || !thread) return;
    const Samples *samples = thread->samples;
    uint32_t times = 1 + (uint32_t)info->si_overrun;
    Registers registers = registers_of(context);
    registers.stack_end = thread->stack_end;
    for (uint32_t i = 0; i < FRAMES_MAX; i++) {
        uintptr_t address = registers.at[REGISTER_RIP] - (i > 0);
        if (address >= samples->begin && address < samples->end) {
            note(thread, address, times);
            return;
        }
        if (!unwind_step(&samples->modules, &registers, i > 0)) break;
    }
    thread->other += times;
}

// ---- threads ------------------------------------------------------------------------------------

static uint64_t stack_end(void) {
    pthread_attr_t attributes;
    void *stack = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    pthread_attr_getstack(&attributes, &stack, &bytes);
    pthread_attr_destroy(&attributes);
    return (uint64_t)(uintptr_t)stack + bytes;
}

void samples_thread(Samples *samples, uint32_t number, bool on) {
    if (!samples || number >= samples->count) return;
    SampledThread *thread = &samples->threads[number];
    if (thread->on) timer_delete(thread->timer);
    thread->on = false;
    if (!on) return;
    thread->samples = samples;
    thread->stack_end = stack_end();
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = SIGPROF,
                             .sigev_value.sival_ptr = thread};
    event._sigev_un._tid = gettid();
    const struct timespec period = {.tv_nsec = PERIOD_NS};
    const struct itimerspec times = {period, period};
    bool made = thread->stack_end &&
                timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &thread->timer) == 0;
    thread->on = made;
    if (made) timer_settime(thread->timer, 0, &times, nullptr);
}

// ---- the job ------------------------------------------------------------------------------------

// From the first stage's code to the end of the last one's, at the level that this CPU runs.
static void find_code(Samples *samples) {
    Image image;
    image_open(&image);
    uintptr_t base = samples->modules.items[0].base;
    for (uint32_t s = 0; s < samples->job->stage_count; s++) {
        uintptr_t run = (uintptr_t)samples->job->stages[s].run;
        Function function = image_function(&image, run - base);
        if (!function.end) continue;
        if (!samples->begin || run < samples->begin) samples->begin = run;
        if (function.end + base > samples->end) samples->end = function.end + base;
    }
    image_close(&image);
}

Samples *samples_open(const SbJob *job, uint32_t threads) {
    Samples *samples = calloc(1, sizeof *samples + threads * sizeof *samples->threads);
    if (!samples) return nullptr;
    samples->job = job;
    samples->count = threads;
    modules_find(&samples->modules);
    find_code(samples);
    struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    if (sigaction(SIGPROF, &action, nullptr) == 0) return samples;
    free(samples);
    return nullptr;
}

void samples_close(Samples *samples) {
    for (uint32_t i = 0; samples && i < samples->count; i++) samples_thread(samples, i, false);
    if (samples) signal(SIGPROF, SIG_IGN);
    free(samples);
}

double samples_count(const Samples *samples, double *seconds) {
    static const double EACH = (double)PERIOD_NS / 1e9;
    Image image;
    uint64_t other = 0;
    image_open(&image);
    for (uint32_t i = 0; i < samples->count * SLOTS; i++) {
        const Slot *slot = &samples->threads[i / SLOTS].slots[i % SLOTS];
        if (!slot->count) continue;
        Line line = image_line(&image, slot->address - samples->modules.items[0].base);
        Place place = place_of(samples->job, line);
        const SbStepInfo *step = place.file ? place_step(samples->job, &place) : nullptr;
        if (step) seconds[step - samples->job->steps] += slot->count * EACH;
        else other += slot->count;
    }
    image_close(&image);
    for (uint32_t i = 0; i < samples->count; i++) other += samples->threads[i].other;
    return (double)other * EACH;
}

// The message is put together and written on the alternate stack with system calls and own memory
// only. Handlers have no argument of their own, hence the state at file level.
#define _GNU_SOURCE  // tgkill
#include "runtime/crash/crash.h"

#include "runtime/crash/place.h"
#include "runtime/crash/unwind.h"
#include "runtime/report.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 * 1024,
    FRAMES_SHOWN = 8,
    FRAMES_MAX = 1 << 20,      // A megabyte of stack holds fewer.
    NEAR_STACK = 64 * 1024,    // A fault so near the stack pointer is an overflow.
};

static const struct Fatal {
    int         number;
    const char *name, *what;
    bool        has_address;   // The address that was accessed, else that of the instruction.
} fatals[] = {
    {SIGSEGV, "SIGSEGV", "invalid memory access", true},
    {SIGBUS, "SIGBUS", "memory that cannot be reached", true},
    {SIGFPE, "SIGFPE", "arithmetic error", false},
    {SIGILL, "SIGILL", "illegal instruction", false},
    {SIGABRT, "SIGABRT", "abort", false},
};

static struct {
    const SbJob *job;
    Modules      modules;
    Image        image;
    atomic_int   thread;   // That describes its crash; 0: none does.
    int          signal;   // Its signal.
    bool         json;     // The message is one string of an event.
    bool         worker;   // The job goes on.
    atomic_bool  hushed;   // Nothing is said.
} crash;

const char *crash_name(int signal) {
    for (size_t i = 0; i < sizeof fatals / sizeof *fatals; i++)
        if (fatals[i].number == signal) return fatals[i].name;
    return nullptr;
}

static thread_local int32_t *mark __attribute__((tls_model("initial-exec")));

void crash_mark(int32_t *signal) { mark = signal; }

// ---- text -----------------------------------------------------------------------------------

typedef struct Message {
    char   bytes[1024];
    size_t len;
} Message;

static void flush(Message *m) {
    for (size_t at = 0; at < m->len;) {
        ssize_t put = write(STDERR_FILENO, m->bytes + at, m->len - at);
        if (put <= 0) break;
        at += (size_t)put;
    }
    m->len = 0;
}

static void add_raw(Message *m, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (m->len == sizeof m->bytes) flush(m);
        m->bytes[m->len++] = text[i];
    }
}

static void add(Message *m, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        const char escape[] = {'\\', 'u', '0', '0', "0123456789abcdef"[byte >> 4],
                               "0123456789abcdef"[byte & 15]};
        bool plain = !crash.json || (byte >= 0x20 && byte != '"' && byte != '\\');
        add_raw(m, plain ? text + i : escape, plain ? 1 : sizeof escape);
    }
}

static void say(Message *m, const char *text) { add(m, text, strlen(text)); }

static void say_text(Message *m, SbStr text) { add(m, text.ptr, (size_t)text.len); }

static void say_number(Message *m, uint64_t value, unsigned base) {
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = "0123456789abcdef"[value % base];
    while (value /= base);
    if (base == 16) say(m, "0x");
    add(m, digits + at, sizeof digits - at);
}

// ---- places ---------------------------------------------------------------------------------

// sb_stage_3_v4 -> 3
static const SbStage *stage_named(const char *function) {
    static const char prefix[] = "sb_stage_";
    uint32_t number = 0;
    if (strncmp(function, prefix, sizeof prefix - 1) != 0) return nullptr;
    for (const char *at = function + sizeof prefix - 1; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    return number < crash.job->stage_count ? &crash.job->stages[number] : nullptr;
}

// ---- the stack ------------------------------------------------------------------------------

typedef struct Frame {
    uintptr_t     address;
    const Module *module;
    Function      function;
    Line          line;
} Frame;

static Frame frame_at(uintptr_t address, bool called) {
    Frame frame = {.address = address, .module = modules_at(&crash.modules, address),
                   .function.name = ""};
    if (frame.module != &crash.modules.items[0]) return frame;
    uintptr_t in_file = address - frame.module->base - called;
    frame.function = image_function(&crash.image, in_file);
    frame.line = image_line(&crash.image, in_file);
    return frame;
}

// A recursion has too many frames to look up each.
static bool in_function_of(const Frame *frame, uintptr_t address) {
    uintptr_t in_file = address - crash.modules.items[0].base;
    return in_file > frame->function.begin && in_file < frame->function.end;
}

typedef struct Stack {
    Frame    shown[FRAMES_SHOWN], pipeline;  // `pipeline`: the innermost of generated code.
    uint32_t count, between;                 // Frames of the second kind that are not shown.
    bool     has_pipeline;
} Stack;

// Frames up to that of generated code; without one, the innermost.
static void read_stack(Registers registers, Stack *stack) {
    Frame frame = {.function.name = ""};
    for (uint32_t i = 0; i < FRAMES_MAX; i++) {
        uintptr_t address = registers.at[REGISTER_RIP];
        bool show = stack->count < FRAMES_SHOWN;
        if (show || !in_function_of(&frame, address)) frame = frame_at(address, i > 0);
        if (place_of(crash.job, frame.line).file) {
            stack->pipeline = frame;
            stack->has_pipeline = true;
            return;
        }
        if (show) stack->shown[stack->count++] = frame;
        else stack->between++;
        if (!unwind_step(&crash.modules, &registers, i > 0)) return;
    }
}

static void say_frame(Message *m, const Frame *frame) {
    say(m, "      ");
    if (frame->function.name[0]) say(m, frame->function.name);
    else say_number(m, frame->address, 16);
    if (frame->line.file && frame->line.line) {
        say(m, " (");
        say(m, frame->line.file);
        say(m, ":");
        say_number(m, frame->line.line, 10);
        say(m, ")");
    } else if (frame->module && frame->module->name[0]) {
        say(m, " (");
        say(m, frame->module->name);
        say(m, ")");
    }
    say(m, "\n");
}

static void say_stack(Message *m, const Stack *stack) {
    say(m, "  = stack:\n");
    for (uint32_t i = 0; i < stack->count; i++) say_frame(m, &stack->shown[i]);
    if (stack->between) {
        say(m, "      ... ");
        say_number(m, stack->between, 10);
        say(m, " more ...\n");
    }
    if (stack->has_pipeline) say_frame(m, &stack->pipeline);
    flush(m);
}

// The line of the pipeline with a caret, as messages of the compiler show it.
static void say_place(Message *m, const Place *place) {
    size_t width = 1;
    for (uint32_t rest = place->line; rest >= 10; rest /= 10) width++;
    add(m, "          ", width);
    say(m, " --> ");
    say_text(m, place->file->path);
    say(m, ":");
    say_number(m, place->line, 10);
    say(m, ":");
    say_number(m, place->column, 10);
    say(m, "\n ");
    add(m, "          ", width);
    say(m, " |\n ");
    say_number(m, place->line, 10);
    say(m, " | ");
    say_text(m, place->text);
    say(m, "\n ");
    add(m, "          ", width);
    say(m, " | ");
    for (uint32_t i = 1; i < place->column && i <= place->text.len; i++)
        add(m, place->text.ptr[i - 1] == '\t' ? "\t" : " ", 1);
    say(m, "^\n");
    const SbStepInfo *step = place_step(crash.job, place);
    if (step) {
        say(m, "  = step: ");
        say_text(m, step->label);
        say(m, "\n");
    }
}

// ---- the handler ----------------------------------------------------------------------------

static void say_cause(Message *m, int number, const siginfo_t *info, const Registers *registers) {
    const struct Fatal *fatal = fatals;
    while (fatal->number != number) fatal++;
    uint64_t address = (uint64_t)(uintptr_t)info->si_addr, stack = registers->at[REGISTER_RSP];
    say(m, crash.worker ? "warning[" : "error[");
    say(m, trouble_code(TROUBLE_CRASH));
    say(m, crash.worker ? "]: a worker crashed: " : "]: the job crashed: ");
    say(m, fatal->name);
    say(m, ", ");
    if (info->si_code <= 0 && number != SIGABRT) {
        say(m, "sent by process ");
        say_number(m, (uint64_t)info->si_pid, 10);
    } else if (number == SIGSEGV && address + NEAR_STACK > stack && address < stack + NEAR_STACK) {
        say(m, "stack overflow");
    } else {
        say(m, fatal->what);
        if (number != SIGABRT) {
            say(m, fatal->has_address ? " at address " : " at ");
            say_number(m, address, 16);
        }
    }
    say(m, "\n");
    flush(m);
}

// The event around the message; the seconds of the others would take more than system calls.
static void say_event(Message *m, bool begins) {
    static const char trouble[] = "{\"event\":\"trouble\",\"code\":\"";
    static const char warning[] = "{\"event\":\"warning\",\"code\":\"";
    const char *begin = crash.worker ? warning : trouble;
    static const char code_end[] = "\",\"message\":\"", end[] = "\"}\n";
    if (!crash.json) return;
    if (!begins) {
        add_raw(m, end, sizeof end - 1);
        return;
    }
    add_raw(m, begin, strlen(begin));
    say(m, trouble_code(TROUBLE_CRASH));
    add_raw(m, code_end, sizeof code_end - 1);
}

static void describe(int number, const siginfo_t *info, const void *context) {
    Registers registers = registers_of(context);
    Message message = {.len = 0};
    Stack stack = {.count = 0};
    say_event(&message, true);
    say_cause(&message, number, info, &registers);
    image_open(&crash.image);
    read_stack(registers, &stack);
    Place place = place_of(crash.job, stack.pipeline.line);
    if (stack.has_pipeline) say_place(&message, &place);
    const SbStage *stage = stack.has_pipeline ? stage_named(stack.pipeline.function.name) : nullptr;
    if (stage && !place_step(crash.job, &place)) {
        say(&message, "  = stage: ");
        say_text(&message, stage->label);
        say(&message, "\n");
    }
    say_stack(&message, &stack);
    if (!crash.worker) {
        say(&message, "  = fix: ");
        say(&message, trouble_fix_text(TROUBLE_CRASH));
        say(&message, "\n");
    }
    say_event(&message, false);
    flush(&message);
}

// Ends the process by the signal, as if nobody had listened.
[[noreturn]] static void die(int number) {
    sigset_t all;
    signal(number, SIG_DFL);
    sigemptyset(&all);
    sigaddset(&all, number);
    pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
    tgkill(getpid(), gettid(), number);
    _exit(128 + number);
}

static void on_crash(int number, siginfo_t *info, void *context) {
    int nobody = 0, me = gettid();
    if (mark) *mark = number;
    if (atomic_compare_exchange_strong(&crash.thread, &nobody, me)) {
        crash.signal = number;
        if (!crash.hushed) describe(number, info, context);
    } else if (nobody == me) {  // A second crash, while the first was described.
        Message message = {.len = 0};
        say(&message, "  = the stack is broken: nothing more can be said\n");
        say_event(&message, false);
        flush(&message);
    } else {
        for (;;) pause();       // The other thread ends us all.
    }
    die(crash.signal);
}

void crash_hush(void) { crash.hushed = true; }

void crash_open(const SbJob *job, bool json, bool worker) {
    crash.job = job;
    crash.worker = worker;
    crash.json = json;
    modules_find(&crash.modules);
    struct sigaction action = {.sa_sigaction = on_crash,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatals / sizeof *fatals; i++)
        sigaction(fatals[i].number, &action, nullptr);
}

// Touched by a crash only: until then it costs address space.
void crash_stack_open(CrashStack *stack) {
    void *memory = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    stack->memory = memory == MAP_FAILED ? nullptr : memory;
    if (stack->memory) sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = STACK_BYTES}, nullptr);
}

void crash_stack_close(CrashStack *stack) {
    if (!stack->memory) return;
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, nullptr);
    munmap(stack->memory, STACK_BYTES);
    stack->memory = nullptr;
}

#define _GNU_SOURCE
#include "driver/crash.h"

#include "frontend/diag.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BYTES = 64 * 1024 };

static void say(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

// Only what may be called in a signal handler.
static void on_crash(int number) {
    const char *name = sigabbrev_np(number);
    say("error[");
    say(diag_code(DIAG_CRASHED));
    say("]: sbc was ended by SIG");
    say(name ? name : "?");
    say("\n   = fix: correct the extern functions that it runs; if there are none, it is a defect "
        "of sbc: report it with its input\n");
    raise(number);
}

void crash_report(void) {
    static char stack[STACK_BYTES];
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, nullptr);
    // The handler is gone when it runs, so that raising the signal again ends the process.
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    for (size_t i = 0; i < countof(numbers); i++) sigaction(numbers[i], &action, nullptr);
}

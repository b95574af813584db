// Command: runs another program and keeps what it says.
#ifndef SBC_CODEGEN_BUILD_COMMAND_H
#define SBC_CODEGEN_BUILD_COMMAND_H

#include "ir/text.h"

enum { COMMAND_ARGS_MAX = 256 };

typedef struct Command {
    const char *args[COMMAND_ARGS_MAX];  // The program first; found along PATH.
    unsigned    count;
} Command;

typedef enum CommandOutcome { COMMAND_DONE, COMMAND_REFUSED, COMMAND_NOT_THERE } CommandOutcome;

void command_add(Command *command, const char *arg);

// Waits for its end. What it writes to standard output and error goes to `said`.
CommandOutcome command_run(const Command *command, TextBuf *said);

#endif

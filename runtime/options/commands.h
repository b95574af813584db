// Commands: what may be told to a job that runs (--tell), as text and as values.
#ifndef SBC_RUNTIME_OPTIONS_COMMANDS_H
#define SBC_RUNTIME_OPTIONS_COMMANDS_H

#include "runtime/report.h"

typedef enum CommandKind : uint8_t {
#define COMMAND(name, text, value, doc) COMMAND_##name,
#include "runtime/options/commands.def"
#undef COMMAND
    COMMAND_KINDS,
} CommandKind;

typedef struct Command {
    CommandKind kind;
    int64_t     value;  // 0 where it has none.
} Command;

// "workers=4". False: *trouble.
bool command_read(const char *text, Command *command, Trouble *trouble);
void commands_print_help(FILE *file);

#endif

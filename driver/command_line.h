// Command line: the words behind `sbc`, read into one struct.
#ifndef SBC_DRIVER_COMMAND_LINE_H
#define SBC_DRIVER_COMMAND_LINE_H

#include "ir/text.h"

// What the process ends with; docs/reference.md, Commands.
enum { EXIT_DONE = 0, EXIT_WRONG_PROGRAM = 1, EXIT_WRONG_USAGE = 2, EXIT_MACHINE = 3 };

typedef enum DumpKind { DUMP_NONE, DUMP_AST, DUMP_IR, DUMP_PLAN, DUMP_LLVM, DUMP_ASM } DumpKind;

typedef struct Options {
    Arena      *arena;
    const char **files;          // What is no flag, without the command's name.
    size_t      file_count, file_cap;
    const char *const *job_args; // Behind `--`, for `run`.
    size_t      job_arg_count;
    const char *text;            // -e
    const char *output;          // -o
    const char *after;           // --after=PASS
    const char *target;          // --target=FILE.yaml
    DumpKind    dump;
    bool        json, colour, check_only, help, version;
    bool        no_fuse, no_cache, reference, explain, markdown;
} Options;

// False: what is wrong was said on stderr.
bool command_line_read(Options *options, int argc, char **argv);

// Says that `text` is no `what`, and which of the names was perhaps meant.
void command_line_unknown(const char *what, const char *text, const Text *names, size_t count);

void command_line_print(FILE *stream);  // The list for --help.

#endif

// Command line: the words after `sbc`, read into one struct.
#ifndef SBC_DRIVER_COMMAND_LINE_H
#define SBC_DRIVER_COMMAND_LINE_H

#include "frontend/diag.h"

// What the process ends with; docs/reference.md, Commands.
enum { EXIT_DONE = 0, EXIT_WRONG_PROGRAM = 1, EXIT_WRONG_USAGE = 2, EXIT_MACHINE = 3 };

typedef enum DumpKind { DUMP_NONE, DUMP_AST, DUMP_IR, DUMP_PLAN, DUMP_LLVM, DUMP_ASM,
               DUMP_CUDA, DUMP_PTX, DUMP_SASS } DumpKind;

typedef struct Options {
    Arena      *arena;
    const char **files;          // What is no flag, without the command's name.
    size_t      file_count, file_cap;
    const char *const *job_args; // After `--`, for `run`.
    size_t      job_arg_count;
    const char *text;            // -e
    const char *output;          // -o
    const char *after;           // --after=PASS
    const char *target;          // --target=FILE.yaml
    const char *python;          // --python=PATH
    DumpKind    dump;
    uint64_t    given;           // Flags, by their place in the table.
    bool        json, colour, check_only, help, version;
    bool        no_fuse, no_cache, reference, explain, markdown, overwrite;
} Options;

// False: what is wrong was said on stderr.
bool command_line_read(Options *options, int argc, char **argv);

// Does the command take all flags that were given? False: which one it does not take was said.
bool command_line_fits(const Options *options, const char *command);

// Says on stderr what is wrong, where no place in a program is: as text, or as JSON if the options
// ask for it. `fix` may be null.
void complain(const Options *options, DiagCode code, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Complains of what `error` holds, unless it is empty (it was said), and frees it. Gives `status`.
int complain_of(const Options *options, DiagCode code, TextBuf *error, int status);

// Complains that `text` is no `what`, and says which of the names was perhaps meant.
void complain_unknown(const Options *options, const char *what, const char *text,
                      const Text *names, size_t count);

void command_line_print(FILE *stream);  // The list for --help.

#endif

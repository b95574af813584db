// Commands: what `sbc NAME` does; each takes the files of the options and returns an exit code.
#ifndef SBC_DRIVER_COMMANDS_H
#define SBC_DRIVER_COMMANDS_H

#include "driver/command_line.h"

int check_command(const Options *options);    // check.c
int compile_command(const Options *options);  // FILE -o JOB, --dump, --explain
int format_command(const Options *options);   // format.c
int explain_command(const Options *options);  // explain.c
int schema_command(const Options *options);   // schema.c
int test_command(const Options *options);     // test.c
int doc_command(const Options *options);      // doc.c
int run_command(const Options *options);      // run.c

#endif

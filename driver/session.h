// Session: one program on its way through the phases, and what is said about it.
#ifndef SBC_DRIVER_SESSION_H
#define SBC_DRIVER_SESSION_H

#include "driver/command_line.h"
#include "frontend/check.h"
#include "ir/plan.h"

typedef struct Session {
    const Options *options;
    Arena         *arena;
    SourceSet     *sources;
    Diags         *diags;
    TypeTable     *types;
    uint32_t       file;     // The main file.
    const char    *name;     // Of the main file, for messages.
    Program       *program;  // Null until session_check.
    Remarks       *remarks;  // Of the passes and the plan.
    bool           is_for_here;  // The job runs on this machine alone.
} Session;

typedef struct CheckAs {
    bool want_tests;  // Keep every `let`, and the tests.
    bool table_sink;  // A flow without `write` is written to standard output.
} CheckAs;

Session session_new(const Options *options);

// Loads the main file, or takes the text of -e. False: a diagnostic says why.
bool session_load(Session *s, const char *path);
bool session_take(Session *s, Text text);

// Parses the main file. What is wrong is among the diagnostics; null: it is the text of a graph.
AstFile *session_parse(Session *s);

// Parses and checks, or reads the text of a graph (FILE.ir); s->program->graph is null if there are
// errors.
void session_check(Session *s, CheckAs as);

// Runs the passes, up to --after, which may also be one over the plan. False: there is no such
// pass, which was said.
bool session_optimise(Session *s);

// The same session for what is found after session_report, which said what there was before.
Session session_later(const Session *s);

// Prints what was found, and turns it into an exit code.
int session_report(const Session *s);

// Writes the buffer and frees it.
void put(FILE *stream, TextBuf *buf);

#endif

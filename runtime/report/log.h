// Log: what a job says on standard error while it runs and when it ends: as text, or, with
// --log=json, as one JSON object a line (docs/operating.md has the fields).
//
// Any thread may say something. A line of progress on a terminal stands below what was said: it is
// taken away before a message and written again by the next progress.
#ifndef SBC_RUNTIME_LOG_H
#define SBC_RUNTIME_LOG_H

#include "runtime/report/text.h"
#include "runtime/report/trouble.h"

#include <pthread.h>

typedef struct Log {
    FILE           *file;
    bool            json;
    int64_t         started_ns;  // Of the job; monotonic clock.
    uint32_t        live_lines;  // Of progress, at the end of the terminal.
    pthread_mutex_t lock;
} Log;

void log_open(Log *log, FILE *file, bool json);
void log_close(Log *log);
double log_seconds(const Log *log);  // Since the job began.

// Something that does not end the job. A code whose exit code is 0.
void log_warn(Log *log, TroubleKind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The same for any event; a kind of TROUBLE_NONE has no code.
void log_say(Log *log, const char *event, TroubleKind kind, const char *format, va_list args);
// Why the job ends early.
void log_trouble(Log *log, const Trouble *trouble);

// An event of its own: begins an object with what all events have; fields follow, each with a comma
// before it; log_event writes the line and frees the text. JSON only.
void log_begin(const Log *log, Text *text, const char *event);
void log_event(Log *log, Text *text);

// Lines of text as they are. `live`: they stand until something else is said.
void log_lines(Log *log, const Text *text, bool live);
void log_clear(Log *log);

// ,"name":"text"
void log_add_text(Text *text, const char *name, const char *bytes, int64_t len);
void log_add_number(Text *text, const char *name, int64_t number);

int64_t log_clock_ns(void);

#endif

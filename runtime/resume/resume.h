// Resume: a job with --resume=DIR writes a journal there of what is safe, and goes on from it.
//
//   resume_open       locks DIR and reads the journal; what was being published is published
//   resume_begin      compares the run with the one that began it, or begins one
//   resume_log        what goes on; from now on its observer commits (resume/units.c)
//   resume_publish    all is made: PUBLISH, renames, manifests, DONE
//
// A root is a stage that makes units of its own. It *goes on* at the place that a journal names if
// nothing but the rows after that place is needed. Such a root reads files, a range, inline rows,
// or a finished sort or group. All that is made of these ends in files, or in breakers that are fed
// by such roots alone.
//
// Committed are its first units: the places of the sinks after them, what they put into breakers,
// and counts and rejects of these units. All else runs again from the start. Rows that a sink has
// already are compared with their checksum and dropped. So what a job loses is time, never a row.
#ifndef SBC_RUNTIME_RESUME_H
#define SBC_RUNTIME_RESUME_H

#include "runtime/limits.h"

// A job without --resume has none: nullptr.
typedef struct Resume Resume;

// False: trouble. A finished job: resume_finished says so, and nothing is left to do.
bool resume_open(Job *job);
bool resume_finished(const Resume *resume);
// `opened`: sources are open. A job that is done needs none.
bool resume_begin(Job *job, bool opened);
// Sinks are.
bool resume_log(Job *job);
// Reads the journal there, if there is one, and changes nothing. False: trouble.
bool resume_peek(Job *job, const char *folder);
// Are all rows made? Then the job opens no outputs, and needs no input.
bool resume_made(const Job *job);
// Could a run with --resume=FOLDER begin, or go on? Changes nothing. `open` opens the sources;
// nullptr: they are. No journal there: job->resumed is false.
bool resume_look(Job *job, const char *folder, bool (*open)(Job *job));
// For --journal: says what is done, what is left, and why it cannot go on. Parameters are read;
// `open` opens the sources.
int  resume_show(Job *job, bool (*open)(Job *job));

// For sink_open: the ending of temporary names, and where sink number `sink` goes on.
const char *resume_tag(const Resume *resume);
const struct SinkPlace *resume_place(const Resume *resume, uint32_t sink);

// Of a job with a journal: commits while stages run.
Observer resume_observer(Job *job, Limits *limits);

// All sinks are finished and the closing figures known.
bool resume_publish(Job *job);
// The job failed because of its data, so that it would again: nothing of it stays.
void resume_forget(Resume *resume);
void resume_close(Job *job);

#endif

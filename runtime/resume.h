// Resume: a job with --resume=DIR writes a journal there of what is safe, and goes on from it.
//
//   resume_open       locks DIR and reads the journal; what was being published is published
//   resume_begin      compares the run with the one that began it, or begins one
//   ... sinks and stages ask where they go on ...
//   resume_offered, resume_settled, resume_written   what the engine tells: see README.md
//   resume_publish    all is made: PUBLISH, renames, manifests, DONE
//
// A stage *goes on* where a journal says so if nothing but the rows behind it is needed: it reads
// files (not streams), a range or inline rows, all that it feeds are files that no other stage
// feeds, and it leaves no marks in a join's rows. Its commit is a cut at the end of a unit: its
// sinks' places there, with counts and rejects of all units before. Every other stage runs again
// from the start: what it gives to a sink that has rows already is compared with their checksum and
// dropped. So what such a job loses is time, never a row.
#ifndef SBC_RUNTIME_RESUME_H
#define SBC_RUNTIME_RESUME_H

#include "runtime/job.h"
#include "runtime/stage.h"

// False: trouble. A finished job: job->resume says so, and nothing is left to do.
bool resume_open(Job *job);
bool resume_finished(const Job *job);
// Sources are open.
bool resume_begin(Job *job);
// Sinks are.
bool resume_log(Job *job);
// For --journal: says what is done, what is left, and why it cannot go on. Parameters are read;
// `open` opens the sources.
int  resume_show(Job *job, bool (*open)(Job *job));

// For sink_open: the ending of temporary names, and where sink number `sink` goes on.
const char *resume_tag(const Job *job);
const struct SinkPlace *resume_place(const Job *job, uint32_t sink);

// Brings counts and rejects of the units that are committed back. Before the stage is admitted.
bool resume_stage(StageRun *run, Trouble *trouble);
// Where the first unit that is not begins.
void resume_units(const StageRun *run, UnitsStart *start);

// The partition's rows are given to all terminals. By the thread that offers, without the lock.
void resume_offered(StageRun *run, const Partition *partition);
// Its counts and rejects are final. By the thread that settles, without the lock.
bool resume_settled(StageRun *run, const Partition *partition, Trouble *trouble);
// An extent is written. By any thread, without the lock.
bool resume_written(Job *job, Trouble *trouble);

// All sinks are finished and the closing figures known.
bool resume_publish(Job *job);
// The job failed because of its data, so that it would again: nothing of it stays.
void resume_forget(Job *job);
// Commits what can be.
void resume_close(Job *job);

#endif

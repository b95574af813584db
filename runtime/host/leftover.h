// Leftover: temporary outputs of jobs that were killed, which the next job in their folder removes.
//
// A job holds a shared lock of each folder in which it makes files under random names, until it
// ends. Where nobody holds one, whatever has such a name was left by a job that was killed.
// Temporary files of jobs with a journal have names of another form, and stay.
//
//   .out.csv.~kX3b0    removed, if nobody locks the folder
//   .out.csv.Qd81mZ       kept: the journal goes on with it
#ifndef SBC_RUNTIME_LEFTOVER_H
#define SBC_RUNTIME_LEFTOVER_H

// The first character of a random ending; letters and digits follow.
enum { LEFTOVER_MARK = '~' };

// Before the first file is made beside `path`: removes what is left there, and holds the folder
// until the process ends. Called again for the same folder it does nothing. A folder that cannot be
// locked, as on some networks, is left as it is. False: so many folders are held that this one is
// not; files in it get names that no other job removes.
bool leftover_sweep(const char *path);

#endif

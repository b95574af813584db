// Retry: what a job does about an error of the system. It fails, makes the call again after a
// while, or waits until the disk has room. errors.def says which error is which.
//
//   Retry retry = {.path = path};
//   do got = pread(...); while (got < 0 && retry_again(&retry));
//   retry_done(&retry);
//
// A sync is never made again: the system may have dropped what it could not write.
#ifndef SBC_RUNTIME_RETRY_H
#define SBC_RUNTIME_RETRY_H

#include "runtime/report.h"

typedef enum ErrorClass { ERROR_AGAIN, ERROR_TRANSIENT, ERROR_FULL, ERROR_FATAL } ErrorClass;

ErrorClass retry_class(int error);

// One for the process: the calls are made in many places and on all threads.
typedef struct RetryPolicy {
    int64_t retries;     // Of a transient error, one after the other.
    bool    waits;       // For room on a full disk.
    Log    *log;
    const _Atomic int *cancel;  // Set when the job is to end at once; or nullptr.
    int     cancel_fd;   // Readable when the job is to end: no wait goes on then.
} RetryPolicy;

// nullptr, as it is at first: nothing is made again but what was interrupted.
void retry_use(const RetryPolicy *policy);

typedef struct Retry {
    const char *path;    // For messages.
    int64_t     tries;
    int64_t     full_ns; // Since when it waits for room; 0: it does not.
} Retry;

// After a call that failed, with errno set: has it to be made again? Says so, and waits first.
// False: errno says why; ECANCELED: the job is to end.
bool retry_again(Retry *retry);
// The call was made, well or not.
void retry_done(Retry *retry);

// How many calls wait for room on a full disk.
int retry_waiting(void);

// Waits until the descriptor takes bytes, or has an error to tell. False: the job is to end; where
// `finishes`, only when it takes none for a while after that too. errno is ECANCELED.
bool retry_writable(int fd, bool finishes);

// Sets the trouble that an error is: "cannot WHAT 'PATH'", of this kind, unless it ended a wait.
// False.
bool retry_fail(Trouble *trouble, int error, TroubleKind kind, const char *what, const char *path);

#endif

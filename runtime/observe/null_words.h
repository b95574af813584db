// Null words: says which columns of type str hold words of `null`, which may be meant as null.
#ifndef SBC_RUNTIME_NULL_WORDS_H
#define SBC_RUNTIME_NULL_WORDS_H

#include "runtime/job.h"

// Of a job that succeeded: one warning for each source that has such words.
void null_words_warn(Job *job);

#endif

// Pass: where values end that follow each other in a text, as in an array or line by line.
#ifndef SBC_STDLIB_JSON_PASS_H
#define SBC_STDLIB_JSON_PASS_H

#include "runtime/abi/call.h"

typedef enum SbJsonPassAt : uint8_t {
    SB_PASS_FRONT,   // Before a value: white space, commas, a bracket that closes the array.
    SB_PASS_WORD,    // In a number, or in what is none of JSON's.
    SB_PASS_STRING,
    SB_PASS_NESTED,  // In an object or a list.
    SB_PASS_NESTED_STRING,
} SbJsonPassAt;

// A walk over what stands before a value, and over the value. Zeros are its start.
typedef struct SbJsonPass {
    int64_t      depth;
    SbJsonPassAt at;
    bool         escaped;  // The byte before was a backslash that counts.
    bool         done;
} SbJsonPass;

// Goes on over text[at, len), and gives where it stopped: at the end of the value (`done`), or at
// `len`. A word ends before a byte that cannot be in one, so that `done` needs one more byte then.
int64_t sb_json_pass(SbJsonPass *pass, const char *text, int64_t at, int64_t len);

// May the byte stand between two values?
static inline bool sb_json_is_front(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == ',' ||
           byte == ']';
}

#endif

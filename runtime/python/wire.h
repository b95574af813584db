// Private to this room: what the job and a Python process say to each other. host.py has the other
// side.
//
// Values have one layout in both directions: words of 64 bits, then bytes. The arguments begin with
// the number of rows. While rows are called one by one, the results begin with the row that is
// called. Then they begin with the number of notes and the notes: row, kind, offset
// and length of a text that ends in a zero byte. Then come the arrays, a parent before its
// children. An array is its length and its number of nulls. For each buffer of the Arrow format
// two words follow: the offset from the begin of the memory, and the bytes. The offset 0 is a
// validity bitmap that is not there.
#ifndef SBC_RUNTIME_PYTHON_WIRE_H
#define SBC_RUNTIME_PYTHON_WIRE_H

#include <stdint.h>

// Descriptors of a Python process.
enum { WIRE_SOCKET = 3, WIRE_ARGS = 4, WIRE_RESULTS = 5, WIRE_SCRIPT = 6 };

typedef enum WireAsk : int64_t {
    WIRE_LOAD = 1,  // `rows` bytes in the memory of arguments describe function `fn`.
    WIRE_CALL = 2,
} WireAsk;

typedef struct WireRequest {
    WireAsk ask;
    int64_t fn, rows;
    int64_t bytes;   // Size of the memory of arguments.
} WireRequest;

typedef enum WireStatus : int64_t {
    WIRE_DONE,    // Also the kind of a note: none.
    WIRE_FAILED,  // An exception.
    WIRE_MISFIT,  // A result that does not fit the type.
} WireStatus;

typedef struct WireReply {
    WireStatus status;
    int64_t    used;   // Bytes of the memory of results.
    int64_t    bytes;  // Its size.
    char       words[1000];
} WireReply;

// The first letter of what a process says when it begins, and when it has loaded a function.
enum {
    WIRE_HELLO = 'H',      // The version of Python.
    WIRE_OLD = 'O',        // The version of Python, which is too old.
    WIRE_LACKS = 'I',      // The interpreter lacks a module of its own library.
    WIRE_LOADED = 'L',
    WIRE_NO_MODULE = 'M',
    WIRE_NO_IMPORT = 'E',  // The module, or what makes the state, raised an exception.
    WIRE_NO_FUNCTION = 'F',
    WIRE_SIGNATURE = 'S',
};

#endif

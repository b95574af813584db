// Private to this room: Arrow arrays as wire.h lays them out, and back.
#ifndef SBC_RUNTIME_PYTHON_ARRAYS_H
#define SBC_RUNTIME_PYTHON_ARRAYS_H

#include "stdlib/arrow.h"

// Bytes that the children of `rows`, a struct array of the type, take.
int64_t arrays_bytes(const SbType *type, const struct ArrowArray *rows);
// Writes them to `to`, which is aligned and has so much room.
void arrays_write(const SbType *type, const struct ArrowArray *rows, char *to);

// A reader of results: every number is checked before it is used.
typedef struct ArraysFrom {
    const char *at;
    int64_t     bytes;
    int64_t     word;      // The next word.
    struct ArrowArray *arrays;  // The next free record, of arrays_count(type).
    const void **buffers;       // The next free three.
} ArraysFrom;

int64_t arrays_word(ArraysFrom *from);  // -1 beyond the end.
uint32_t arrays_count(const SbType *type);

// What is said of one of `rows` rows. The text ends in a zero byte. False: `from` holds something
// else.
typedef struct ArraysNote {
    int64_t     row, kind;
    const char *text;
} ArraysNote;

bool arrays_note(ArraysFrom *from, int64_t rows, ArraysNote *note);

// Fills `array` with one of the type that has `count` values. False: `from` holds something else.
bool arrays_read(ArraysFrom *from, const SbType *type, int64_t count, struct ArrowArray *array);

#endif

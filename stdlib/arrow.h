// Arrow: values of any type as arrays of the Arrow C Data Interface, and back; calls of functions
// over batches of rows.
//
// Called by runtime/task and by the reference interpreter. Worked example: the rows
// {x: 1}, {x: 2} go to `extern fn f(x: i64) -> i64 from "f.c" batch` as one struct array of length
// 2. Its child "x" of format "l" has the buffers {null, [1, 2]}. The function fills an array of
// format "l", whose two values come back as two results with the status SB_OK.
#ifndef SBC_STDLIB_ROOM_ARROW_H
#define SBC_STDLIB_ROOM_ARROW_H

#include "stdlib/arrow/arrow.h"
#include "stdlib/arrow/batch.h"

#endif

// A batch of rows to a Python process, and its results.
#include "runtime/python/arrays.h"
#include "runtime/python/pool.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Holds the process until the results are read.
typedef struct Held {
    const SbPythonFn *fn;
    PyProcess        *process;
} Held;

enum { POINTERS = 4 };  // Of an array: three buffers, and its place among the children of another.

static void release(struct ArrowArray *array) {
    Held *held = array->private_data;
    pool_give(held->fn, held->process);
    free(held);
    array->release = nullptr;
}

// The row of the call that a note is about gets its text.
static bool take_note(ArraysFrom *from, int64_t rows, struct SbBatchOwn *own) {
    ArraysNote note;
    if (!arrays_note(from, rows, &note)) return false;
    (note.kind == WIRE_MISFIT ? own->misfits : own->batch.errors)[note.row] = note.text;
    return true;
}

static bool take_results(PyProcess *process, const SbPythonFn *fn, int64_t rows,
                         struct ArrowArray *result, struct SbBatchOwn *own) {
    uint32_t count = arrays_count(fn->result);
    size_t bytes = sizeof(Held) + count * (sizeof *result + POINTERS * sizeof(void *));
    Held *held = calloc(1, bytes);
    if (!held) return false;
    *held = (Held){fn, process};
    ArraysFrom from = {.at = process->results, .bytes = process->results_bytes,
                       .arrays = (struct ArrowArray *)(void *)(held + 1)};
    from.buffers = (const void **)(void *)(from.arrays + count);
    int64_t notes = arrays_word(&from);
    bool good = notes >= 0 && notes <= 2 * rows;
    for (int64_t i = 0; good && i < notes; i++) good = take_note(&from, rows, own);
    good = good && arrays_read(&from, fn->result, rows, result);
    if (!good) {
        free(held);
        *result = (struct ArrowArray){0};
        return false;
    }
    result->private_data = held;
    result->release = release;
    return true;
}

typedef struct Ask {
    const SbPythonFn *fn;
    struct ArrowArray *rows, *result;
    struct SbBatchOwn *own;
} Ask;

static PyOutcome ask(const Ask *to, PyProcess *process, WireReply *reply) {
    char *words = to->own->batch.message;
    size_t len;
    if (!process_room(process, arrays_bytes(to->fn->row, to->rows), words)) return PY_FAILED;
    arrays_write(to->fn->row, to->rows, process->args);
    WireRequest request = {WIRE_CALL, pool_number(to->fn), to->rows->length, process->args_bytes};
    process->timeout = to->own->timeout;
    process->notes_rows = to->fn->by_rows;
    process->row = -1;
    PyOutcome outcome = process_ask(process, &request, reply, sizeof *reply - 1, &len, words);
    to->own->row = process->row;
    to->own->slow = outcome == PY_SLOW;
    process->timeout = 0;
    process->notes_rows = false;
    if (outcome != PY_GOOD) return outcome;
    ((char *)reply)[len] = '\0';
    if (len < offsetof(WireReply, words)) reply->status = WIRE_FAILED;
    if (reply->status == WIRE_DONE && !process_see(process, reply->used, words)) return PY_FAILED;
    return PY_GOOD;
}

// The function did its work, or says why not. Gives what an SbBatchCall gives.
static int32_t heed(const Ask *to, PyProcess *process, const WireReply *reply) {
    int64_t rows = to->rows->length;
    if (reply->status == WIRE_DONE) {
        if (take_results(process, to->fn, rows, to->result, to->own)) return 0;
        snprintf(to->own->batch.message, WORDS_MAX, "the Python process gave results of no use");
        pool_lose(to->fn, process);
        return 1;
    }
    snprintf(to->own->words, sizeof to->own->words, "%s", reply->words);
    pool_give(to->fn, process);
    if (reply->status == WIRE_FAILED) return 1;
    to->own->misfit = true;
    return 1;
}

int32_t sb_python_call(const struct ArrowSchema *schema, struct ArrowArray *rows,
                       struct ArrowArray *result, struct SbBatch *batch) {
    const SbPythonFn *fn = batch->state;
    Ask to = {fn, rows, result, (struct SbBatchOwn *)batch};
    (void)schema;
    // A row that ended a process gets a second one, if nobody minds that it was given before.
    for (int tries = fn->pure && rows->length == 1 ? 2 : 1;; tries--) {
        WireReply reply;
        PyProcess *process = pool_take(fn, batch->message);
        if (!process) return 1;
        PyOutcome outcome = ask(&to, process, &reply);
        if (outcome == PY_GOOD) return heed(&to, process, &reply);
        pool_lose(fn, process);
        if (outcome != PY_DIED || tries == 1) return 1;
    }
}

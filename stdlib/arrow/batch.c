#include "stdlib/arrow/batch.h"

#include "stdlib/arrow/arrow.h"
#include "stdlib/text.h"

#include <string.h>

enum : int64_t { BATCH_BYTES_MAX = 4 << 20 };

typedef struct Run {
    SbCall            *call;
    const SbBatchFn   *fn;
    const void *const *rows;
    SbBatchRows       *out;
    struct ArrowSchema schema;
} Run;

// ---- the size of a batch ------------------------------------------------------------------------

// Bytes of a value that stand elsewhere, about.
static int64_t bytes_elsewhere(const SbType *type, const char *value) {
    int64_t bytes = 0;
    if (!sb_is_valid(type, value)) return 0;
    switch (type->kind) {
    case SB_STR: case SB_BYTES: case SB_JSON: return ((const SbStr *)(const void *)value)->len;
    case SB_LIST: case SB_MAP: {
        const SbList *list = (const SbList *)(const void *)value;
        bytes = list->len * type->elem->size;
        for (int64_t i = 0; i < list->len && bytes < BATCH_BYTES_MAX; i++)
            bytes += bytes_elsewhere(type->elem, (const char *)list->ptr + i * type->elem->size);
        return bytes;
    }
    case SB_TENSOR:
        return ((const SbList *)(const void *)value)->len * type->elem->size;
    case SB_STRUCT:
        for (uint32_t f = 0; f < type->field_count; f++)
            bytes += bytes_elsewhere(type->fields[f].type, value + type->fields[f].offset);
        return bytes;
    default: return 0;
    }
}

int64_t sb_batch_count(const SbBatchFn *fn, const void *const *rows, int64_t count) {
    int64_t most = fn->rows > 0 ? fn->rows : SB_BATCH_ROWS_DEFAULT, bytes = 0, taken = 0;
    if (most > count) most = count;
    while (taken < most && bytes < BATCH_BYTES_MAX)
        bytes += fn->row->size + bytes_elsewhere(fn->row, rows[taken++]);
    return taken;
}

// ---- one call -----------------------------------------------------------------------------------

static SbStr copy_words(SbCall *call, const char *words) {
    size_t len = strnlen(words, SB_MESSAGE_BYTES * 4);
    char *copy = sb_alloc(call, (int64_t)len);
    if (!copy) return (SbStr){0};
    memcpy(copy, words, len);
    if (!sb_utf8_valid(copy, (int64_t)len)) return SB_LITERAL("its message is not valid UTF-8");
    return (SbStr){copy, (int64_t)len};
}

static void fail_rows(const Run *run, int64_t first, int64_t count, int32_t status, SbStr words) {
    run->out->no_room |= status == SB_FAULT_TOO_LARGE;
    for (int64_t i = first; i < first + count; i++) {
        run->out->statuses[i] = status;
        run->out->details[i] = words;
    }
}

static void take_errors(const Run *run, const char **errors, int32_t status, int64_t first,
                        int64_t count) {
    for (int64_t i = 0; errors && i < count; i++) {
        if (!errors[i]) continue;
        run->out->statuses[first + i] = status;
        run->out->details[first + i] = copy_words(run->call, errors[i]);
    }
}

// What an array that was filled gives.
static void take_result(const Run *run, const struct ArrowArray *result, int64_t first,
                        int64_t count) {
    int64_t size = sb_base_size(run->fn->result);
    SbArrowTaken taken = {run->out->values + first * size, run->out->statuses + first,
                          run->out->details + first};
    SbStr wrong;
    int32_t status = sb_arrow_take(run->call, run->fn->result, result, count, &taken, &wrong);
    if (status) fail_rows(run, first, count, status, wrong);
}

// Texts for rows, where the function may give some.
static bool open_errors(const Run *run, int64_t count, struct SbBatchOwn *own) {
    int64_t lists = !run->fn->fallible ? 0 : run->fn->about ? 2 : 1;
    int64_t bytes = lists * count * (int64_t)sizeof *own->misfits;
    if (!lists) return true;
    const char **texts = sb_alloc(run->call, bytes);
    if (!texts) return false;
    memset(texts, 0, (size_t)bytes);
    own->batch.errors = texts;
    if (lists == 2) own->misfits = texts + count;
    return true;
}

// Why a whole batch failed.
typedef struct Failure {
    SbStr   message;
    int32_t status;
    int64_t row;     // SbBatchOwn.row
} Failure;

static SbStr message_of(const Run *run, struct SbBatchOwn *own) {
    own->batch.message[SB_MESSAGE_BYTES - 1] = 0;
    return copy_words(run->call, own->words[0] ? own->words : own->batch.message);
}

// True: the function did its work. False: *failure.
static bool call_once(const Run *run, int64_t first, int64_t count, Failure *failure) {
    const SbBatchFn *fn = run->fn;
    struct ArrowArray rows, result = {0};
    struct SbBatchOwn own;
    own.batch = (struct SbBatch){.state = fn->about ? (void *)(uintptr_t)fn->about
                                                    : run->out->state};
    own.misfits = nullptr;
    own.timeout = fn->timeout;
    own.row = -1;
    own.slow = own.misfit = false;
    own.words[0] = '\0';
    *failure = (Failure){.row = -1};
    if (!open_errors(run, count, &own) ||
        sb_arrow_put(run->call, fn->row, run->rows + first, count, &rows) != SB_OK) {
        fail_rows(run, first, count, SB_FAULT_TOO_LARGE, (SbStr){0});
        return true;
    }
    run->out->called = true;
    run->out->calling = run->out->first + first;
    run->out->calling_count = count;
    int32_t status = fn->call(&run->schema, &rows, &result, &own.batch);
    run->out->calling_count = 0;
    if (status)
        *failure = (Failure){message_of(run, &own),
                             own.slow ? SB_FAULT_EXTERN_SLOW : SB_FAULT_EXTERN_SAID, own.row};
    else if (!result.release)
        fail_rows(run, first, count, SB_FAULT_EXTERN_RESULT, SB_LITERAL("the array is not filled"));
    else take_result(run, &result, first, count);
    if (!status) {
        take_errors(run, own.misfits, SB_FAULT_EXTERN_RESULT, first, count);
        take_errors(run, own.batch.errors, SB_FAULT_EXTERN_SAID, first, count);
    }
    sb_arrow_release(&result);
    sb_arrow_release(&rows);
    if (own.misfit) fail_rows(run, first, count, SB_FAULT_EXTERN_RESULT, failure->message);
    return status == 0 || own.misfit;
}

// The rows of a batch that failed are called again, the one that is to blame alone. If nobody knows
// which one that is, they are called by halves.
static void run_range(const Run *run, int64_t first, int64_t count) {
    Failure is;
    while (count > 0 && !call_once(run, first, count, &is)) {
        if (!run->fn->pure || count == 1) {
            fail_rows(run, first, count, is.status, is.message);
            return;
        }
        int64_t before = is.row >= 0 && is.row < count ? is.row : count / 2;
        if (before > 0) run_range(run, first, before);
        first += before;
        count -= before;
        if (is.row != before) continue;
        run_range(run, first, 1);
        first++;
        count--;
    }
}

bool sb_batch_init(SbCall *call, const SbBatchFn *fn, void **state, SbStr *words) {
    struct SbBatch batch = {0};
    *state = fn->init(&batch);
    batch.message[SB_MESSAGE_BYTES - 1] = 0;
    if (!*state) *words = copy_words(call, batch.message);
    return *state;
}

bool sb_batch_refuse(SbCall *call, int64_t count, int32_t fault, SbStr words, SbBatchRows *out) {
    *out = (SbBatchRows){.first = out->first, .no_room = true};
    out->statuses = sb_alloc(call, count * (int64_t)sizeof *out->statuses);
    out->details = sb_alloc(call, count * (int64_t)sizeof *out->details);
    if (!out->statuses || !out->details) return false;
    out->count = count;
    out->no_room = false;
    fail_rows(&(Run){.out = out}, 0, count, fault, words);
    return true;
}

void sb_batch_run(SbCall *call, const SbBatchFn *fn, const void *const *rows, int64_t count,
                  SbBatchRows *out) {
    Run run = {.call = call, .fn = fn, .rows = rows, .out = out};
    int64_t size = sb_base_size(fn->result), bytes = count * size;
    *out = (SbBatchRows){.first = out->first, .state = out->state, .no_room = true};
    out->values = sb_alloc(call, bytes);
    out->statuses = sb_alloc(call, count * (int64_t)sizeof *out->statuses);
    out->details = sb_alloc(call, count * (int64_t)sizeof *out->details);
    if (!out->values || !out->statuses || !out->details) return;
    memset(out->values, 0, (size_t)bytes);
    memset(out->statuses, 0, (size_t)count * sizeof *out->statuses);
    out->count = count;
    out->no_room = false;
    if (sb_arrow_schema(call, SB_LITERAL(""), fn->row, &run.schema) != SB_OK)
        fail_rows(&run, 0, count, SB_FAULT_TOO_LARGE, (SbStr){0});
    else run_range(&run, 0, count);
}

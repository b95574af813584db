// Resume marks: which right rows of joins were matched, of joins that make rows of the others.
//
// A commit has the marks that probes have made by the time when it is written. It needs the marks
// of the units that it holds. Later units are looked up again by a job that goes on, and match what
// they matched before. So marks of these do no harm, and no mark is taken back.
#include "runtime/resume/run.h"

#include <stdlib.h>

// ---- there --------------------------------------------------------------------------------------

void marks_choose(const Resume *resume, CommitGroup *group) {
    for (uint32_t t = 0; t < group->table_count; t++) {
        GroupTable *table = &group->tables[t];
        table->taken = resume->ready[table->breaker] && !(table->closed && table->last_taken);
    }
}

static bool copy_marks(const SbBreakerState *breaker, Text *bits) {
    bits->cap = sb_breaker_marks_bytes(breaker);
    bits->ptr = malloc((size_t)bits->cap + 1);
    if (!bits->ptr) return false;
    bits->len = bits->cap;
    sb_breaker_copy_marks(breaker, (uint64_t *)(void *)bits->ptr);
    return true;
}

static bool put_marks(const Resume *resume, GroupTable *table, Text *record) {
    Text own = {0};
    const Text *bits = table->closed ? &table->last : &own;
    const SbBreakerState *breaker = resume->breakers[table->breaker];
    if (!table->closed && !copy_marks(breaker, &own)) return false;
    int64_t rows = table->closed ? table->rows : sb_breaker_rows_in(breaker);
    marks_pack(table->breaker, rows, (SbStr){bits->ptr, bits->len}, record);
    table->last_taken = table->closed;
    sb_text_close(&own);
    return true;
}

bool marks_commit(const Resume *resume, CommitGroup *group, Trouble *trouble) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < group->table_count; t++) count += group->tables[t].taken;
    pack_number(&group->record, count);
    for (uint32_t t = 0; t < group->table_count; t++)
        if (group->tables[t].taken && !put_marks(resume, &group->tables[t], &group->record))
            return journal_no_memory(trouble);
    return true;
}

static GroupTable *table_of(const Resume *resume, uint32_t breaker) {
    CommitGroup *group = group_of_table(resume, breaker);
    if (!group) return nullptr;
    GroupTable *table = group->tables;
    while (table->breaker != breaker) table++;
    return table;
}

bool marks_keep(const Resume *resume, uint32_t breaker, Trouble *trouble) {
    GroupTable *table = resume->ready[breaker] ? table_of(resume, breaker) : nullptr;
    if (!table) return true;
    table->rows = sb_breaker_rows_in(resume->breakers[breaker]);
    table->closed = copy_marks(resume->breakers[breaker], &table->last);
    return table->closed || journal_no_memory(trouble);
}

// ---- and back -----------------------------------------------------------------------------------

bool marks_restore(Resume *resume, uint32_t breaker) {
    const MarksState *marks = &resume->state.marks[breaker];
    if (!marks->is) return true;
    SbBreakerState *state = resume->breakers[breaker];
    int64_t rows = sb_breaker_rows_in(state);
    if (rows == marks->rows) {
        sb_breaker_set_marks(state, (const uint64_t *)(const void *)marks->bits.ptr);
        return true;
    }
    SbStr step = resume->what->steps[resume->what->breakers[breaker].step].label;
    return trouble_set(resume->trouble, TROUBLE_RESUME_DIFFERS,
                       "the right side of '%.*s' has %lld rows, and had %lld in the earlier run",
                       (int)step.len, step.ptr, (long long)rows, (long long)marks->rows);
}

#include "runtime/breakers/far.h"

#include "stdlib/aggregate.h"

#include <stdlib.h>

void far_part_close(FarPart *part) {
    free(part->spans);
    *part = (FarPart){0};
}

// States of aggregates may lie elsewhere.
bool far_lies_together(const SbBreaker *what) {
    bool together = true;
    for (uint32_t i = 0; what->kind == SB_BREAK_GROUP && i < what->held_count; i++)
        together &= what->held[i].hold == sb_held_key;
    return together;
}

bool far_part_list(const SbRows *rows, FarPart *part) {
    part->spans = calloc((size_t)rows->state->block_count + 1, sizeof *part->spans);
    if (!part->spans) return false;
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        if (span.count > 0) part->spans[part->span_count++] = (RowBlock){span.begin, span.count};
    part->bytes = rows->state->entries.bytes + rows->state->texts.bytes;
    return true;
}

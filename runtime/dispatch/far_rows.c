// Rows that a task of another machine reads: they go there before its ASK.
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/lives.h"

// Has the worker made these rows itself, in this life? Then it has them.
static bool has_them(const Workers *w, const Flow *flow) {
    const Batch *batch = flow->batches[0];
    if (!batch || !batch->far || flow->loaded[0].entries) return false;
    const Alive *alive = (const Alive *)(const void *)batch->far;
    return alive->node.i == flow->place.i && alive->life == w->lives[flow->place.i].lives;
}

void far_send_rows(Dispatch *d, const Flow *flow, const Ask *ask) {
    Workers *w = d->own->workers;
    const SbStage *stage = flow->run->stage;
    bool reads = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    if (!lives_is_place(w, flow->place) || ask->rows == ASK_ON || !reads || !ask->entries[0] ||
        has_them(w, flow))
        return;
    const Unit *unit = &flow->unit;
    RowRanges ranges = {0};
    row_ranges_add_rows(&ranges, &d->what->breakers[stage->input_index],
                        ask->entries[0] + unit->begin, unit->end - unit->begin);
    row_ranges_sort(&ranges);
    uint32_t range = 0;
    int64_t done = 0;
    for (Text text = {0}; row_ranges_next(&ranges, &range, &done, flow->id.i, &text);
         text = (Text){0})
        workers_say(w, flow->place, WIRE_ROWS, &text);
    if (ranges.failed) dispatch_no_memory(d);
    row_ranges_close(&ranges);
}

// Again: rows that were lost with a worker are made once more, from the units of their root down.
//
//   a worker is lost ─▶ rows that it had put into a breaker are lost ─▶ the schedule launches the
//   item that they came of ─▶ and what its partition was made of, up to the unit
//
// The schedule names a unit by its number. The unit lies where it lay: a piece of a plain file, of
// numbers or of finished rows. So the place of each unit is kept, of roots whose rows workers read
// or make, and of those that read breakers in workers. Rows of a stream cannot be
// read again: what they come to is filled by this process (flow_plan.c). Rows that are found
// corrupt are made again the same way (corrupt.c).
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <string.h>

// ---- who makes rows again -----------------------------------------------------------------------

// Rows that a worker made, or is to read, may be found corrupt; those that it has put into a
// breaker are lost with it.
static bool may_find_lost(const Dispatch *d, uint32_t reader, EdgeId edge) {
    const Bits *home = &schedule_shape(d->schedule)->home;
    return !bits_have(home, reader) || !bits_have(home, d->plan->plan.edges[edge.i].from.i);
}

// Streams are read once.
static bool is_found_again(const Dispatch *d, uint32_t root) {
    const CoreStage *stage = &d->plan->plan.stages[root];
    return stage->kind != STAGE_ZIP && (stage->kind == STAGE_READER || !stage->serial);
}

static void keep_places(Dispatch *d, uint32_t reader, EdgeId edge) {
    const Shape *shape = schedule_shape(d->schedule);
    if (!may_find_lost(d, reader, edge)) return;
    bits_add(&d->own->rereads, reader);
    for (uint32_t root = 0; root < d->what->stage_count; root++)
        d->runs[root].keeps_places |= bits_have(&shape->roots[edge.i], root) &&
                                      is_found_again(d, root);
}

void again_open(Dispatch *d) {
    const CorePlan *plan = &d->plan->plan;
    if (plan->node_kinds < 2) return;
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        d->runs[s].keeps_places |= stage->kind == STAGE_READER && !stage->home;
        for (uint8_t i = 0; i < stage->input_count; i++) keep_places(d, s, stage->inputs[i]);
    }
}

bool again_uses(const Dispatch *d, uint32_t stage) {
    const StageSet *over = schedule_over(d->schedule);
    Bits below = schedule_shape(d->schedule)->beneath[stage];
    uint16_t words = bits_words(d->what->stage_count);
    for (uint16_t w = 0; w < words; w++)
        if (below.words[w] & d->own->rereads.words[w] & ~over->words[w]) return true;
    return false;
}

bool again_can(const Dispatch *d, const LivePartition *live) {
    const StageRun *root = &d->runs[live->root];
    return live->root_unit < root->place_count && root->places[live->root_unit].is;
}

// ---- units --------------------------------------------------------------------------------------

bool again_is_known(Flow *flow) {
    const StageRun *run = flow->run;
    flow->again = flow->number < run->place_count && run->places[flow->number].is;
    if (flow->again) flow->lies = run->places[flow->number];
    return flow->again;
}

void again_note(Dispatch *d, const Flow *flow) {
    StageRun *run = flow->run;
    if (!run->keeps_places || flow->again) return;
    uint64_t room = run->place_count ? run->place_count : 64;
    while (room <= flow->number) room *= 2;
    if (room > run->place_count) {
        UnitPlace *places = realloc(run->places, room * sizeof *places);
        if (!places) {
            dispatch_no_memory(d);
            return;
        }
        memset(places + run->place_count, 0, (room - run->place_count) * sizeof *places);
        run->places = places;
        run->place_count = room;
    }
    run->places[flow->number] = units_place(&flow->unit);
}

UnitTake again_find(Flow *flow, Trouble *trouble) {
    return units_find(&flow->run->units, &flow->lies, flow->number, &flow->unit, trouble);
}

bool again_holds(Flow *flow, Trouble *trouble) {
    if (flow_is_far(flow)) return true;
    return flow->holds = flow_hold_file(flow->run, &flow->unit, trouble);
}

bool again_prepare(Flow *flow, Trouble *trouble) {
    StageRun *run = flow->run;
    UnitBuffer *buffer = &flow->task->buffer;
    return units_chained(&run->units)
               ? units_prepare_from(&run->units, &flow->unit, buffer, &flow->lies.start, trouble)
               : units_prepare(&run->units, &flow->unit, buffer, trouble);
}

void again_ends(Flow *flow) {
    Trouble trouble;
    trouble_clear(&trouble);
    // A file that has changed was found out when its rows were first read, or is by others.
    if (flow->holds) flow_let_file(flow->run, &flow->unit, &trouble);
    flow->holds = false;
}

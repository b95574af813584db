// Rows of tasks: those of one partition, or of two side by side.
#include "runtime/dispatch/state.h"

// ---- input ----------------------------------------------------------------------------------

// The rows of the partition that come along the edge; nullptr: none do.
static Batch *batch_of(const LivePartition *live, uint32_t edge) {
    const SbStage *maker = live->run->stage;
    uint32_t t = 0;
    while (t < maker->terminal_count && maker->terminals[t] != edge) t++;
    return t < maker->terminal_count ? live->batches[t] : nullptr;
}

void flow_input(Flow *flow, const Action *action) {
    flow->input = (LivePartition *)(uintptr_t)action->data;
    flow->input->part = action->part;
    flow->loads = action->load;
    if (action->kind != ACTION_PIECE) return;
    flow->other = (LivePartition *)(uintptr_t)action->other;
    flow->at[0] = action->row;
    flow->at[1] = action->other_row;
    flow->rows = action->rows;
}

// When a job is to end early, breakers are not finished any more.
static bool lacks_table(const Dispatch *d, const SbStage *stage) {
    const Job *job = d->own->job;
    for (uint32_t n = 0; d->draining && n < stage->need_count; n++) {
        uint32_t need = stage->needs[n];
        bool keeps = job->ask.what->breakers[need].kind != SB_BREAK_EDGE;
        if (keeps && !job->breakers.finished[need]) return true;
    }
    return false;
}

bool flow_is_cut_short(const Dispatch *d) {
    return bits_any(&d->own->cut_short, bits_words(d->what->stage_count));
}

// Stages that do not hand on all rows that stand before those that still come.
static Bits losing(const Dispatch *d) {
    const CorePlan *plan = &d->plan->plan;
    Bits all = d->own->cut_short;
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        bool loses = lacks_table(d, &d->what->stages[s]);
        for (uint8_t i = 0; i < plan->stages[s].input_count; i++)
            loses |= bits_have(&all, plan->edges[plan->stages[s].inputs[i].i].from.i);
        if (loses) bits_add(&all, s);
    }
    return all;
}

// Of a union the rows of each input come when those before it are over, for a zip those of both
// sides: only what is missing of the others ends it.
bool flow_is_behind_cut(const Dispatch *d, uint32_t reader, uint32_t from) {
    const CorePlan *plan = &d->plan->plan;
    const CoreStage *stage = &plan->stages[reader];
    if (!d->draining || stage->kind == STAGE_ZIP || stage->input_count < 2) return false;
    Bits all = losing(d);
    for (uint8_t i = 0; i < stage->input_count; i++) {
        uint32_t maker = plan->edges[stage->inputs[i].i].from.i;
        if (maker == from) break;
        if (bits_have(&all, maker)) return true;
    }
    return false;
}

void flow_find_rows(Dispatch *d, Flow *flow) {
    const SbStage *stage = flow->run->stage;
    flow->batches[0] = batch_of(flow->input, stage->input_index);
    if (flow->other) flow->batches[1] = batch_of(flow->other, stage->right_index);
    else flow->rows = flow->batches[0] ? flow->batches[0]->count : 0;
    bool behind = flow_is_behind_cut(d, flow->run->index, flow->input->run->index);
    bool lost = verdict_is_lost(&d->verdict, flow->run->index);
    if (!behind && !lost && !lacks_table(d, stage)) return;
    tell_lost(&d->observers, flow);
    flow->rows = 0;  // They go nowhere.
}

const SbEntry *const *flow_entries(const Flow *flow, int side) {
    const Batch *batch = flow->batches[side];
    if (flow->loaded[side].entries) return flow->loaded[side].entries;
    return batch ? batch->entries : nullptr;
}

void flow_point(Flow *flow) {
    const SbEntry *const *rows[2];
    for (int side = 0; side < 2; side++) {
        rows[side] = flow_entries(flow, side);
        if (rows[side]) rows[side] += flow->at[side] - flow->unit.end;
    }
    flow->unit.entries = rows[0];
    flow->unit.right = rows[1];
}

// Pieces are numbered as the schedule does.
void flow_take_rows(Dispatch *d, Flow *flow) {
    Trouble trouble;
    trouble_clear(&trouble);
    StageRun *run = flow->run;
    int64_t most = d->own->job->ask.setup.stage_rows[run->index];
    int64_t count = flow->rows < most ? flow->rows : most;
    Slice slices[2] = {{.count = count}};
    flow->cut = units_take_slices(&run->units, &flow->unit, slices, &trouble) == UNIT_TAKEN;
    if (flow->other) flow->unit.ordinal = flow->number;
    flow->at[0] += count;
    flow->at[1] += count;
    flow->rows -= count;
    flow_point(flow);
    if (!flow->cut) dispatch_trouble(d, TROUBLE_TOO_MANY, &trouble);
}

// ---- sides that differ ----------------------------------------------------------------------

// Stands after all rows of the zip. Where rows are missing because no more input was taken, it is
// no fault.
void zip_uneven(Dispatch *d, const Action *action) {
    enum { UNIT_SHIFT = 32 };
    const SbJob *what = d->what;
    uint32_t zip = action->stage.i, site = what->stages[zip].zip_site;
    RejectList list = {.memory = d->own->memory};
    RejectFacts facts = {.place = {.behind = true,
                                   .fails = true,
                                   .site = site,
                                   .fault = SB_FAULT_ZIP_LENGTH,
                                   .step = what->sites[site].step,
                                   .weight = 1,
                                   .origin = (uint64_t)action->unit << UNIT_SHIFT}};
    if (flow_is_cut_short(d) || d->own->gave_up) return;
    bool good = rejects_add(&list, what, &facts);
    Keeping keeping = good ? tell_keep_fault(&d->observers, zip, action->unit, &list) : KEEP_NOT;
    good = good && keeping != KEEP_NO_MEMORY;
    VerdictPlace place = {.stage = zip, .root = zip};
    if (good && keeping == KEEP_NOT) good = verdict_take(&d->verdict, &list, place);
    rejects_close(&list);
    if (good) return;
    trouble_set(d->own->trouble, TROUBLE_MEMORY, "no memory for the rejects");
    dispatch_stop(d);
}

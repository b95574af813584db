// Rows that are longer than the room of their stage: a task asks the ledger before it takes memory
// for one, and others give way.
//
// What a stage makes of a row is not known before: flow_row_copies says what is taken for it.
#include "runtime/dispatch/state.h"

enum : int64_t { READ_AHEAD = 128 << 10 };  // Text that a unit may need after its rows.

// What the scratch of a stage's task is for.
static int64_t room_of(const StageRun *run) {
    int64_t bytes = run->setup.partition_bytes;
    const Source *files = run->setup.files;
    if (files && files->unit_bytes > bytes) bytes = files->unit_bytes;
    return 2 * bytes + READ_AHEAD;
}

static int64_t copies_of(const StageRun *run) {
    return flow_row_copies(run->job->ask.what, run->stage);
}

static bool reads_stream(const Flow *flow) {
    const Source *files = flow->run->setup.files;
    return files && flow->run->stage->input == SB_INPUT_TEXT &&
           files->files[flow->unit.file].stream;
}

int64_t flow_text_room(const Flow *flow) {
    return flow->asked ? flow->text : room_of(flow->run);
}

void flow_limit_buffer(Dispatch *d, Flow *flow) {
    UnitBuffer *buffer = &flow->task->buffer;
    buffer->asks = 0;
    buffer->gives_way = false;
    buffer->asks_from = flow_text_room(flow);
    if (flow->asked) spool_drop_spares(d);
}

bool flow_wants_text(Flow *flow) {
    enum { AHEAD = 2 };
    int64_t bytes = flow->task->buffer.asks, copies = copies_of(flow->run);
    int64_t before = flow->text ? copies * flow->text : room_of(flow->run);
    // Nobody knows how long a row of a stream is: it asks for more than it has come to, and perhaps
    // once more.
    bool stream = reads_stream(flow);
    if (stream) bytes *= AHEAD;
    flow->need = bytes ? copies * bytes - before : 0;
    if (bytes && stream) flow->text = bytes;
    flow->asked |= bytes > 0;
    // Whoever only gives way is resumed after the one that asks; if it is wanted at all.
    if (flow->task->buffer.gives_way && !flow->canceled) flow->need = 1;
    if (flow->need == 0) return false;
    // It is read once more when its turn comes; what came from a stream cannot be.
    if (!stream) unit_buffer_close(&flow->task->buffer);
    return true;
}

bool flow_wants_rows(Flow *flow) {
    int64_t bytes = 0;
    for (int side = 0; side < 2 && !flow->asked; side++)
        if (flow->batches[side]) bytes += flow->batches[side]->bytes;
    bool longer = bytes > room_of(flow->run);
    // The rows themselves are there, and charged to the stage that made them.
    flow->need = longer ? (copies_of(flow->run) - 1) * bytes - room_of(flow->run) : 0;
    flow->asked |= longer;
    return longer;
}

bool flow_wants_back(Flow *flow) {
    int64_t bytes = flow->asked ? 0 : units_row_max(&flow->run->units);
    flow->need = copies_of(flow->run) * bytes;
    flow->asked = true;
    return flow->need > 0;
}

bool flow_goes_back(const Dispatch *d, Flow *flow, const Partition *partition) {
    if (!partition->lacks) return false;
    if (flow->alone || !flow->run->setup.goes_back || d->own->spill->failed) {
        task_keep(flow->task);
        return false;
    }
    task_back(flow->task, partition);
    flow->asked = flow->alone = true;
    flow->need = schedule_ledger(d->schedule, (NodeId){0})->common + 1;
    return true;
}

// Where few such rows fit side by side the guess is not worth much: then each goes alone, and has
// nothing more to ask for.
static int64_t round_up(const Dispatch *d, Flow *flow) {
    enum { SIDE_BY_SIDE = 4 };
    int64_t common = schedule_ledger(d->schedule, (NodeId){0})->common;
    if (flow->need == 1 || flow->need <= common / SIDE_BY_SIDE) return flow->need;
    flow->text = 0;
    return common + 1;
}

bool flow_ask(Dispatch *d, Flow *flow) {
    Event event = {.kind = EVENT_NEED, .task = flow->id, .must = true,
                   .bytes = round_up(d, flow)};
    flow->goes_on = false;
    flow->need = 0;
    spool_drop_spares(d);
    dispatch_tell(d, event);
    return flow->goes_on || (flow->canceled && !flow->waits);
}

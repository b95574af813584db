// Launches that take several partitions, one after the other.
#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/state.h"

#include <stdlib.h>

// Its rows are found as those of a flow that begins with it, and have their number among the units
// of the stage from now on.
void flow_add(Dispatch *d, const Action *action) {
    Flow *flow = d->own->flows[action->task.i];
    FlowMore *more = calloc(1, sizeof *more);
    if (!more) {
        dispatch_no_memory(d);
        return;
    }
    LivePartition *input = (LivePartition *)(uintptr_t)action->data;
    Flow begin = {.run = flow->run, .input = input, .root = input->root,
                  .root_unit = input->root_unit,
                  .node = flow_node_of(d, input, flow->run->index, 0)};
    input->part = action->part;
    tell_launched(&d->observers, &begin);
    flow_find_rows(d, &begin);
    begin.attempt = attempt_of(d, action, flow->run->index, input);
    if (begin.rows > 0) tell_taken(&d->observers, &begin);
    if (begin.rows > 0) flow_take_rows(d, &begin);
    if (begin.cut && !attempt_takes(&begin)) attempt_took(&begin);
    *more = (FlowMore){.input = begin.input, .batch = begin.batches[0], .at = begin.at[0],
                       .rows = begin.rows, .unit = begin.unit, .empty = !begin.cut,
                       .loads = action->load, .node = begin.node, .doubt = begin.doubt,
                       .attempt = begin.attempt};
    if (flow->more_last) flow->more_last->next = more;
    else flow->more = more;
    flow->more_last = more;
}

void flow_next(Dispatch *d, Flow *flow) {
    FlowMore *more = flow->more;
    far_fill_ends(d, flow);
    flow->filled = false;
    tell_leaves(&d->observers, flow);
    flow->node = more->node;
    flow->doubt = more->doubt;
    flow->attempt = more->attempt;
    flow->partitions = 0;
    flow->more = more->next;
    if (!flow->more) flow->more_last = nullptr;
    flow->input = more->input;
    flow->root = more->input->root;
    flow->root_unit = more->input->root_unit;
    flow->batches[0] = more->batch;
    flow->at[0] = more->at;
    flow->rows = more->rows;
    flow->unit = more->unit;
    flow->empty = more->empty;
    flow->weight = 0;
    flow->asked = flow->alone = false;
    spool_close(&flow->loaded[0], d->own->memory);
    flow->loads = more->loads;
    flow->cut = !flow->empty;
    flow->arrives = flow->cut && flow->loads && flow->task;
    if (flow->cut && flow->task && !flow->loads) flow_go_on_with_unit(d, flow);
    free(more);
}

bool flow_arrive(Dispatch *d, Flow *flow) {
    if (!flow->arrives) return true;
    flow->arrives = false;
    if (!flow_load(d, flow)) return false;
    flow_go_on_with_unit(d, flow);
    return true;
}

void flow_drop_more(Dispatch *d, Flow *flow) {
    while (flow->more) {
        FlowMore *more = flow->more;
        flow->more = more->next;
        tell_dropped(&d->observers, more);
        free(more);
    }
}

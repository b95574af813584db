// Attempts: work that is begun more than once counts once.
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <string.h>

enum { SHELF = 256 };  // Attempts of one piece of memory: they stay where they are.
enum : int64_t { LEFT_MAX = 1'000'000'000 };

static bool make_room(Dispatch *d, uint32_t item) {
    uint32_t shelves = item / SHELF + 1;
    if (shelves > d->own->attempt_shelves) {
        Attempt **all = realloc(d->own->attempts, shelves * sizeof(Attempt *));
        if (!all) return false;
        memset(all + d->own->attempt_shelves, 0,
               (shelves - d->own->attempt_shelves) * sizeof(Attempt *));
        d->own->attempts = all;
        d->own->attempt_shelves = shelves;
    }
    Attempt **shelf = &d->own->attempts[item / SHELF];
    if (!*shelf) *shelf = calloc(SHELF, sizeof **shelf);
    return *shelf;
}

// The number of an item may stand for other work later: its unit or its partition tells.
Attempt *attempt_of(Dispatch *d, const Action *action, uint32_t stage, const LivePartition *input) {
    enum : uint64_t { OF_PARTITION = UINT64_C(1) << 63 };
    // Nothing is made twice of what no worker has a hand in.
    if (!d->own->workers || !d->plan->moves[d->what->stages[stage].section]) return nullptr;
    if (!make_room(d, action->item)) {
        dispatch_no_memory(d);
        return nullptr;
    }
    Attempt *attempt = &d->own->attempts[action->item / SHELF][action->item % SHELF];
    uint64_t key = input ? input->serial | OF_PARTITION : action->unit;
    // All that it makes was taken over before it was lost.
    bool ended = action->outputs == UINT32_MAX;
    if (attempt->stage != stage || attempt->key != key)
        *attempt = (Attempt){.stage = stage, .key = key};
    if (action->again || ended) attempt->partitions = UINT32_MAX;
    attempt->begun |= ended;
    attempt->ended |= ended;
    return attempt;
}

void attempts_close(Dispatch *d) {
    for (uint32_t i = 0; i < d->own->attempt_shelves; i++) free(d->own->attempts[i]);
    free(d->own->attempts);
}

// The unit is the one that the first attempt took.
bool attempt_takes(Flow *flow) {
    Attempt *attempt = flow->attempt;
    if (!attempt || !attempt->taken) return false;
    flow->unit.ordinal = attempt->unit.ordinal;
    if (flow->input) return true;
    flow->unit = attempt->unit;
    flow->cut = true;
    return true;
}

void attempt_took(Flow *flow) {
    if (!flow->attempt) return;
    flow->attempt->taken = true;
    flow->attempt->unit = flow->unit;
}

bool attempt_begins(Flow *flow) {
    Attempt *attempt = flow->launch = flow->attempt;
    if (!attempt) return true;
    bool first = !attempt->begun;
    attempt->begun = true;
    attempt->alive++;
    return first;
}

bool attempt_ends(const Flow *flow, bool lost) {
    Attempt *attempt = flow->launch;
    if (!attempt) return true;
    attempt->alive--;
    // Another one may go on, or has come to the end before.
    bool ends = !lost && !attempt->ended && !(flow->canceled && attempt->alive > 0);
    attempt->ended |= ends;
    return ends;
}

bool attempt_is_again(const Flow *flow) {
    return flow->attempt && flow->attempt->partitions == UINT32_MAX;
}

bool attempt_counts(Flow *flow) {
    Attempt *attempt = flow->attempt;
    uint32_t number = flow->partitions++;
    if (!attempt) return true;
    if (number < attempt->partitions) return false;
    attempt->partitions = number + 1;
    return true;
}

// ---- what nobody needs --------------------------------------------------------------------------

// Is a worker at the flow, and its work needed no more?
static bool is_left(const Flow *flow) {
    return flow->run && flow->canceled && flow_is_far(flow) && flow->far_asked;
}

NodeId attempts_left(Dispatch *d) {
    NodeId node = {0};
    uint32_t left = 0;
    bool others = d->stop || dispatch_is_paused(d);
    for (uint32_t i = 0; i < d->own->flow_max && !others; i++) {
        const Flow *flow = d->own->flows[i];
        if (!flow) continue;
        others = !is_left(flow);
        node = flow->place;
        left++;
    }
    if (others || left == 0 || left != d->own->far_count) {
        d->own->left_since = 0;
        return (NodeId){0};
    }
    if (!d->own->left_since) d->own->left_since = d->now;
    return d->now - d->own->left_since < LEFT_MAX ? (NodeId){0} : node;
}

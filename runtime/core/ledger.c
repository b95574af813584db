#include "runtime/core/ledger.h"

int64_t ledger_output_bytes(const CoreStage *stage) {
    if (!stage->output_count) return 0;
    return ledger_charged(stage->cut + stage->row_max);
}

// The largest partitions that a task of the stage may have to bring from elsewhere.
static int64_t input_bytes(const CorePlan *plan, const Shape *shape, const CoreStage *stage) {
    bool remote = plan_node_count(plan) > 1 && stage->kind != STAGE_SINK;
    int64_t most = 0, sum = 0;
    for (uint8_t i = 0; i < stage->input_count; i++) {
        EdgeId edge = stage->inputs[i];
        if (!remote && !shape->spools[edge.i]) continue;
        int64_t bytes = ledger_output_bytes(&plan->stages[plan->edges[edge.i].from.i]);
        if (bytes > most) most = bytes;
        sum += bytes;
    }
    return stage->kind == STAGE_ZIP ? sum : most;
}

void reserves_make(Reserves *reserves, const CorePlan *plan, const Shape *shape) {
    reserves->minimum = 0;  // What stands after the plan's stages and breakers is not read.
    bool again = plan_node_count(plan) > 1;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        reserves->tasks[s] = 0;
        reserves->rooms[ROOM_SCRATCH][s] = stage->scratch;
        reserves->rooms[ROOM_OUTPUT][s] = ledger_output_bytes(stage);
        reserves->rooms[ROOM_INPUT][s] = input_bytes(plan, shape, stage);
        for (Room r = ROOM_SCRATCH; r < ROOM_AGAIN; r++) {
            int64_t bytes = reserves->rooms[r][s];
            reserves->rooms[r + ROOM_AGAIN][s] = bytes;
            reserves->tasks[s] += bytes;
            reserves->minimum += again ? 2 * bytes : bytes;
        }
    }
    for (uint16_t b = 0; b < plan->breaker_count; b++) {
        reserves->floors[b] = plan->breakers[b].floor;
        reserves->minimum += reserves->floors[b];
    }
}

bool ledger_init(Ledger *ledger, const Reserves *reserves, int64_t memory) {
    *ledger = (Ledger){.common = memory - reserves->minimum, .tasks_max = INT64_MAX};
    return ledger->common >= 0;
}

bool ledger_pay(Ledger *ledger) {
    int64_t left = ledger->common - (ledger->common_used - ledger->over);
    int64_t paid = left < ledger->owed ? left : ledger->owed;
    if (paid <= 0) return false;
    ledger->common -= paid;
    ledger->owed -= paid;
    return true;
}

void ledger_set(Ledger *ledger, const Reserves *reserves, int64_t memory) {
    ledger->owed = ledger->common - (memory - reserves->minimum);
    if (ledger->owed >= 0) return;
    ledger->common -= ledger->owed;
    ledger->owed = 0;
}

static void note(Ledger *ledger) {
    int64_t used = ledger->common_used + ledger->reserved_used;
    if (used > ledger->peak) ledger->peak = used;
}

bool ledger_take_bytes(Ledger *ledger, int64_t bytes) {
    if (bytes && ledger->common_used + bytes > ledger->common) return false;
    ledger->common_used += bytes;
    note(ledger);
    return true;
}

int64_t ledger_force_bytes(Ledger *ledger, int64_t bytes) {
    int64_t left = ledger->common - (ledger->common_used - ledger->over);
    int64_t missing = bytes > left ? bytes - left : 0;
    ledger->common_used += bytes;
    ledger->over += missing;
    note(ledger);
    return missing;
}

int64_t ledger_left_for_tasks(const Ledger *ledger) {
    if (ledger->waiting) return 0;
    int64_t left = ledger->common - ledger->common_used;
    int64_t part = ledger->tasks_max - (ledger->common_used - ledger->breakers);
    return left < part ? left : part;
}

void ledger_give_bytes(Ledger *ledger, int64_t bytes) { ledger->common_used -= bytes; }

Purse ledger_take(Ledger *ledger, const Reserves *reserves, Room room, StageId stage, bool first) {
    int64_t bytes = reserves->rooms[room][stage.i];
    if (!bytes || bytes <= ledger_left_for_tasks(ledger)) {
        ledger_take_bytes(ledger, bytes);
        return PURSE_COMMON;
    }
    uint64_t *used = &ledger->used[stage.i / WORD_BITS][room];
    if (!first || *used & stage_bit(stage)) return PURSE_NONE;
    *used |= stage_bit(stage);
    ledger->reserved_used += bytes;
    note(ledger);
    return PURSE_RESERVE;
}

static int64_t beyond(int64_t held, int64_t floor) { return held > floor ? held - floor : 0; }

int64_t ledger_common_of(const Reserves *reserves, Room room, StageId stage, Purse purse,
                         int64_t bytes) {
    if (purse == PURSE_COMMON) return bytes;
    return purse == PURSE_RESERVE ? beyond(bytes, reserves->rooms[room][stage.i]) : 0;
}

void ledger_fit(Ledger *ledger, const Reserves *reserves, Room room, StageId stage, Purse purse,
                int64_t bytes) {
    int64_t taken = reserves->rooms[room][stage.i];
    ledger->common_used += ledger_common_of(reserves, room, stage, purse, bytes) -
                           ledger_common_of(reserves, room, stage, purse, taken);
    if (purse != PURSE_NONE) ledger->over += beyond(bytes, taken);
    note(ledger);
}

void ledger_give(Ledger *ledger, const Reserves *reserves, Room room, StageId stage, Purse purse,
                 int64_t bytes) {
    int64_t taken = reserves->rooms[room][stage.i];
    ledger_give_bytes(ledger, ledger_common_of(reserves, room, stage, purse, bytes));
    if (purse != PURSE_NONE) ledger->over -= beyond(bytes, taken);
    if (purse != PURSE_RESERVE) return;
    ledger->used[stage.i / WORD_BITS][room] &= ~stage_bit(stage);
    ledger->reserved_used -= taken;
}

int64_t ledger_stubs_common(const Ledger *ledger, int64_t free) {
    return beyond(ledger->stubs, free);
}

void ledger_stub(Ledger *ledger, int64_t free, int64_t bytes) {
    int64_t before = ledger_stubs_common(ledger, free);
    ledger->stubs += bytes;
    int64_t more = ledger_stubs_common(ledger, free) - before;
    ledger->common_used += more;
    ledger->over += more;
    note(ledger);
}

int64_t ledger_held_common(const Ledger *ledger, const Reserves *reserves, BreakerId breaker) {
    return beyond(ledger->held[breaker.i], reserves->floors[breaker.i]);
}

bool ledger_hold(Ledger *ledger, const Reserves *reserves, BreakerId breaker, int64_t bytes) {
    int64_t held = ledger->held[breaker.i], floor = reserves->floors[breaker.i];
    int64_t more = beyond(held + bytes, floor) - beyond(held, floor);
    if (more && ledger->waiting) return false;
    if (more && ledger->breakers + more > ledger->common - ledger->tasks_part) return false;
    if (!ledger_take_bytes(ledger, more)) return false;
    ledger->held[breaker.i] += bytes;
    ledger->breakers += more;
    ledger->reserved_used += bytes - more;
    note(ledger);
    return true;
}

void ledger_release(Ledger *ledger, const Reserves *reserves, BreakerId breaker, int64_t bytes) {
    int64_t held = ledger->held[breaker.i], floor = reserves->floors[breaker.i];
    int64_t less = beyond(held, floor) - beyond(held - bytes, floor);
    ledger->held[breaker.i] -= bytes;
    ledger->breakers -= less;
    ledger_give_bytes(ledger, less);
    ledger->reserved_used -= bytes - less;
}

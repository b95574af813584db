#include "runtime/core/ledger.h"

// The least that a live partition is charged: so few bytes bound the number of records.
enum : int64_t { PARTITION_BYTES_MIN = 64 << 10 };

int64_t ledger_output_bytes(const CoreStage *stage) {
    int64_t bytes = stage->cut + stage->row_max;
    return bytes < PARTITION_BYTES_MIN ? PARTITION_BYTES_MIN : bytes;
}

bool ledger_init(Ledger *ledger, const CorePlan *plan, int64_t *minimum) {
    *ledger = (Ledger){0};
    *minimum = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        Reserve *reserve = &ledger->reserves[s];
        reserve->scratch = stage->scratch;
        reserve->output = stage->kind == STAGE_SINK ? 0 : ledger_output_bytes(stage);
        *minimum += reserve->scratch + reserve->output;
    }
    ledger->common = plan->memory - *minimum;
    return ledger->common >= 0;
}

static void note(Ledger *ledger) {
    int64_t used = ledger->common_used + ledger->reserved_used;
    if (used > ledger->peak) ledger->peak = used;
}

static Purse take_common(Ledger *ledger, int64_t bytes) {
    if (ledger->common_used + bytes > ledger->common) return PURSE_NONE;
    ledger->common_used += bytes;
    note(ledger);
    return PURSE_COMMON;
}

static Purse take_reserve(Ledger *ledger, bool *used, int64_t bytes) {
    if (*used) return PURSE_NONE;
    *used = true;
    ledger->reserved_used += bytes;
    note(ledger);
    return PURSE_RESERVE;
}

Purse ledger_take_scratch(Ledger *ledger, const CorePlan *plan, StageId stage, bool first) {
    Reserve *reserve = &ledger->reserves[stage.i];
    Purse purse = take_common(ledger, plan->stages[stage.i].scratch);
    if (purse || !first) return purse;
    return take_reserve(ledger, &reserve->scratch_used, reserve->scratch);
}

Purse ledger_take_output(Ledger *ledger, const CorePlan *plan, StageId stage, bool first) {
    const CoreStage *described = &plan->stages[stage.i];
    Reserve *reserve = &ledger->reserves[stage.i];
    if (described->kind == STAGE_SINK) return PURSE_COMMON;  // It hands nothing over.
    Purse purse = take_common(ledger, ledger_output_bytes(described));
    if (purse || !first) return purse;
    return take_reserve(ledger, &reserve->output_used, reserve->output);
}

void ledger_give_scratch(Ledger *ledger, const CorePlan *plan, StageId stage, Purse purse) {
    Reserve *reserve = &ledger->reserves[stage.i];
    if (purse == PURSE_COMMON) ledger->common_used -= plan->stages[stage.i].scratch;
    if (purse != PURSE_RESERVE) return;
    reserve->scratch_used = false;
    ledger->reserved_used -= reserve->scratch;
}

void ledger_give_output(Ledger *ledger, const CorePlan *plan, StageId stage, Purse purse,
                        int64_t bytes) {
    Reserve *reserve = &ledger->reserves[stage.i];
    if (plan->stages[stage.i].kind == STAGE_SINK) return;
    if (purse == PURSE_COMMON) ledger->common_used -= bytes;
    if (purse != PURSE_RESERVE) return;
    reserve->output_used = false;
    ledger->reserved_used -= reserve->output;
}

// Ledger: the hard half of the memory promise. What it has given never passes what it may give.
//
// Each stage has a reserve, enough for one task that hands over one partition at a time. Only the
// first unfinished work of the stage may use it, so that this work can always move. The common pool
// is what the reserves leave.
#ifndef SBC_RUNTIME_CORE_LEDGER_H
#define SBC_RUNTIME_CORE_LEDGER_H

#include "runtime/core/plan.h"

// Whose bytes they are: of the common pool, or of the reserve of a stage.
typedef enum Purse : uint8_t { PURSE_NONE, PURSE_COMMON, PURSE_RESERVE } Purse;

typedef struct Reserve {
    int64_t scratch, output;   // Bytes.
    bool    scratch_used, output_used;
} Reserve;

typedef struct Ledger {
    int64_t  common, common_used;
    int64_t  peak;             // Most bytes ever given, reserves in use included.
    int64_t  reserved_used;
    Reserve  reserves[STAGES_MAX];
} Ledger;

// False: the memory of the plan is below its minimum, which is put into *minimum in any case.
bool ledger_init(Ledger *ledger, const CorePlan *plan, int64_t *minimum);

// Scratch for a task. `first`: it is the first unfinished work of its stage.
Purse ledger_take_scratch(Ledger *ledger, const CorePlan *plan, StageId stage, bool first);
// Room for one output partition.
Purse ledger_take_output(Ledger *ledger, const CorePlan *plan, StageId stage, bool first);

void ledger_give_scratch(Ledger *ledger, const CorePlan *plan, StageId stage, Purse purse);
// `bytes`: of an output's room in the common pool; all of a reserve comes back at once.
void ledger_give_output(Ledger *ledger, const CorePlan *plan, StageId stage, Purse purse,
                        int64_t bytes);

// Bytes that one output may take at most.
int64_t ledger_output_bytes(const CoreStage *stage);

#endif

// Stage set: stages of a plan as bits, in as many words as the plan needs (Shape.words).
#ifndef SBC_RUNTIME_CORE_STAGE_SET_H
#define SBC_RUNTIME_CORE_STAGE_SET_H

#include "runtime/abi/bits.h"
#include "runtime/core/plan.h"

typedef Bits StageSet;
static_assert(BITS_MAX == STAGES_MAX);

static inline uint64_t stage_bit(StageId stage) { return 1ull << stage.i % WORD_BITS; }
// The first stage of those in a word of a set.
static inline StageId word_first(uint16_t word, uint64_t stages) {
    return (StageId){(uint16_t)(word * WORD_BITS + __builtin_ctzll(stages))};
}
static inline bool set_has(const StageSet *set, StageId stage) { return bits_have(set, stage.i); }
static inline void set_put(StageSet *set, StageId stage, bool in) { bits_put(set, stage.i, in); }
static inline void set_add(StageSet *set, StageId stage) { bits_add(set, stage.i); }

#endif

// Stage set: stages of a plan as bits, in as many words as the plan needs.
//
// A set has room for the most stages that a plan may have. What runs in each step looks only at the
// words that are in use (Shape.words), which is one for most plans.
#ifndef SBC_RUNTIME_CORE_STAGE_SET_H
#define SBC_RUNTIME_CORE_STAGE_SET_H

#include "runtime/core/plan.h"

enum { WORD_BITS = 64, STAGE_WORDS = STAGES_MAX / WORD_BITS };

typedef struct StageSet {
    uint64_t words[STAGE_WORDS];
} StageSet;

static inline uint16_t words_of_plan(const CorePlan *plan) {
    return (uint16_t)((plan->stage_count + WORD_BITS - 1) / WORD_BITS);
}
static inline uint64_t stage_bit(StageId stage) { return 1ull << stage.i % WORD_BITS; }
// The first stage of those in a word of a set.
static inline StageId word_first(uint16_t word, uint64_t stages) {
    return (StageId){(uint16_t)(word * WORD_BITS + __builtin_ctzll(stages))};
}
static inline bool set_has(const StageSet *set, StageId stage) {
    return set->words[stage.i / WORD_BITS] & stage_bit(stage);
}
static inline void set_put(StageSet *set, StageId stage, bool in) {
    uint64_t *word = &set->words[stage.i / WORD_BITS];
    *word = in ? *word | stage_bit(stage) : *word & ~stage_bit(stage);
}
static inline void set_add(StageSet *set, StageId stage) { set_put(set, stage, true); }

static inline void set_clear(StageSet *set, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) set->words[w] = 0;
}
// Have they a stage in common?
static inline bool set_meets(const StageSet *a, const StageSet *b, uint16_t words) {
    bool meets = false;
    for (uint16_t w = 0; w < words; w++) meets |= (a->words[w] & b->words[w]) != 0;
    return meets;
}
// Is every stage of `a` in `b`?
static inline bool set_within(const StageSet *a, const StageSet *b, uint16_t words) {
    bool within = true;
    for (uint16_t w = 0; w < words; w++) within &= !(a->words[w] & ~b->words[w]);
    return within;
}
static inline bool set_same(const StageSet *a, const StageSet *b, uint16_t words) {
    return set_within(a, b, words) && set_within(b, a, words);
}
static inline void set_add_all(StageSet *set, const StageSet *more, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) set->words[w] |= more->words[w];
}
static inline void set_keep(StageSet *set, const StageSet *kept, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) set->words[w] &= kept->words[w];
}
static inline void set_remove_all(StageSet *set, const StageSet *less, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) set->words[w] &= ~less->words[w];
}

#endif

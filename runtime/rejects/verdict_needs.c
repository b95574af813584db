#include "runtime/rejects/verdict_needs.h"

#include <stdlib.h>

static bool reads(const SbStage *stage, uint32_t breaker) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    return rows && (stage->input_index == breaker || stage->right_index == breaker);
}

// Stages that read what comes into a breaker or an edge, or look it up.
static Bits takers_of(const SbJob *job, uint32_t breaker) {
    Bits all = {0};
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        bool takes = reads(stage, breaker);
        for (uint32_t n = 0; n < stage->need_count && !takes; n++)
            takes = stage->needs[n] == breaker;
        if (takes) bits_add(&all, s);
    }
    return all;
}

// A zip makes rows of its own.
static bool is_root(const SbJob *job, const SbStage *stage) {
    bool zip = stage->input == SB_INPUT_ROWS && stage->right_index != UINT32_MAX;
    return zip || !sb_reads_edge(job, stage);
}

// What the rows of the stage come to along edges, and what depends on breakers that these fill.
static void spread(const SbJob *job, const Bits *takers, uint32_t from, Bits *along, Bits *behind) {
    uint16_t words = bits_words(job->stage_count);
    Bits before[2];
    bits_add(along, from);
    do {
        before[0] = *along, before[1] = *behind;
        for (uint32_t s = 0; s < job->stage_count; s++) {
            const SbStage *stage = &job->stages[s];
            bool comes = bits_have(along, s), depends = bits_have(behind, s);
            for (uint32_t t = 0; t < stage->terminal_count && (comes || depends); t++) {
                uint32_t to = stage->terminals[t];
                if (to & SB_TERMINAL_SINK) continue;
                if (depends || !sb_is_edge(job, to)) bits_add_all(behind, &takers[to], words);
                if (comes && sb_is_edge(job, to)) bits_add_all(along, &takers[to], words);
            }
        }
    } while (!bits_same(along, &before[0], words) || !bits_same(behind, &before[1], words));
}

bool verdict_needs_find(VerdictNeeds *needs, const SbJob *job) {
    Bits *takers = malloc((job->breaker_count + 1) * sizeof *takers);
    needs->roots = calloc(job->stage_count + 1, sizeof *needs->roots);
    needs->behind = calloc(job->stage_count + 1, sizeof *needs->behind);
    if (!takers || !needs->roots || !needs->behind) {
        free(takers);
        return false;
    }
    for (uint32_t b = 0; b < job->breaker_count; b++) takers[b] = takers_of(job, b);
    needs->words = bits_words(job->stage_count);
    for (uint32_t from = 0; from < job->stage_count; from++) {
        Bits along = {0};
        spread(job, takers, from, &along, &needs->behind[from]);
        for (uint32_t s = 0; s < job->stage_count && is_root(job, &job->stages[from]); s++)
            if (bits_have(&along, s)) bits_add(&needs->roots[s], from);
    }
    free(takers);
    return true;
}

void verdict_needs_close(VerdictNeeds *needs) {
    free(needs->roots);
    free(needs->behind);
}

// Does one of the roots have that rank, or one before it?
static bool has_rank(const Bits *roots, uint16_t words, const uint32_t *ranks, uint32_t rank) {
    for (uint16_t w = 0; w < words; w++)
        for (uint64_t left = roots->words[w]; left; left &= left - 1)
            if (ranks[w * WORD_BITS + (uint32_t)__builtin_ctzll(left)] <= rank) return true;
    return false;
}

bool verdict_needs_all(const VerdictNeeds *needs, uint32_t stage, const Bits *over,
                       const uint32_t *ranks, uint32_t rank) {
    for (uint16_t w = 0; w < needs->words; w++) {
        uint64_t left = needs->behind[stage].words[w] & ~over->words[w];
        for (; left; left &= left - 1) {
            uint32_t later = w * WORD_BITS + (uint32_t)__builtin_ctzll(left);
            if (has_rank(&needs->roots[later], needs->words, ranks, rank)) return true;
        }
    }
    return false;
}

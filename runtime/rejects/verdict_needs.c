#include "runtime/rejects/verdict_needs.h"

static uint64_t bit(uint32_t stage) { return (uint64_t)1 << stage; }

static bool reads(const SbStage *stage, uint32_t breaker) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    return rows && (stage->input_index == breaker || stage->right_index == breaker);
}

// Stages that read what comes into a breaker or an edge, or look it up.
static uint64_t takers(const SbJob *job, uint32_t breaker) {
    uint64_t all = 0;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        bool takes = reads(stage, breaker);
        for (uint32_t n = 0; n < stage->need_count && !takes; n++)
            takes = stage->needs[n] == breaker;
        if (takes) all |= bit(s);
    }
    return all;
}

// A zip makes rows of its own.
static bool is_root(const SbJob *job, const SbStage *stage) {
    bool zip = stage->input == SB_INPUT_ROWS && stage->right_index != UINT32_MAX;
    return zip || !sb_reads_edge(job, stage);
}

// What the rows of the stage come to along edges, and what depends on breakers that these fill.
static void spread(const SbJob *job, uint32_t from, uint64_t *along, uint64_t *behind) {
    *along = bit(from);
    *behind = 0;
    for (int before = 0, now = 1; now != before;) {
        before = now;
        for (uint32_t s = 0; s < job->stage_count; s++) {
            const SbStage *stage = &job->stages[s];
            bool comes = *along >> s & 1, depends = *behind >> s & 1;
            for (uint32_t t = 0; t < stage->terminal_count && (comes || depends); t++) {
                uint32_t to = stage->terminals[t];
                if (to & SB_TERMINAL_SINK) continue;
                uint64_t all = takers(job, to);
                if (depends || !sb_is_edge(job, to)) *behind |= all;
                if (comes && sb_is_edge(job, to)) *along |= all;
            }
        }
        now = __builtin_popcountll(*along) + __builtin_popcountll(*behind);
    }
}

void verdict_needs_find(VerdictNeeds *needs, const SbJob *job) {
    *needs = (VerdictNeeds){0};
    for (uint32_t from = 0; from < job->stage_count; from++) {
        uint64_t along;
        spread(job, from, &along, &needs->behind[from]);
        for (uint32_t s = 0; s < job->stage_count && is_root(job, &job->stages[from]); s++)
            if (along >> s & 1) needs->roots[s] |= bit(from);
    }
}

bool verdict_needs_all(const VerdictNeeds *needs, uint32_t stage, uint64_t over,
                       const uint32_t *ranks, uint32_t rank) {
    for (uint64_t left = needs->behind[stage] & ~over; left; left &= left - 1) {
        uint64_t roots = needs->roots[__builtin_ctzll(left)];
        for (; roots; roots &= roots - 1)
            if (ranks[__builtin_ctzll(roots)] <= rank) return true;
    }
    return false;
}

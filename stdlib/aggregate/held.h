// Held: goes along what a value in memory points to, always in the same order.
//
// Who writes a value down copies what he is shown; who reads it back sets the pointers again, and
// is shown what they point to. States of aggregates give up the room that they do not use.
#ifndef SBC_STDLIB_HELD_H
#define SBC_STDLIB_HELD_H

#include "runtime/abi/kept.h"

struct SbHolder {
    // The pointer at `field` points to `bytes`, which lie at a multiple of 16 where `aligned`.
    // Returns where they lie now; null: nowhere, and nothing after them is gone along.
    void *(*bytes)(SbHolder *self, void *field, int64_t bytes, bool aligned);
};

SbHeldFn sb_held_value;   // Of `type`.
SbHeldFn sb_held_key;     // A SbKeyStr.
SbHeldFn sb_held_place;   // A SbPlace.

// States, as the line `state` of functions.decl names them.
SbHeldFn sb_held_exact_sum, sb_held_spread, sb_held_pairs, sb_held_extreme_str, sb_held_kept,
    sb_held_distinct, sb_held_words, sb_held_texts, sb_held_any_set, sb_held_collected, sb_held_arg,
    sb_held_arg_str, sb_held_sample, sb_held_distinct_sketch, sb_held_buckets;

#endif

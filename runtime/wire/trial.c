#include "runtime/wire/trial.h"

#include <stdlib.h>

#define CASE_FIELDS(NUMBER) NUMBER(identity) NUMBER(site) NUMBER(state) NUMBER(signal) NUMBER(fault)
#define TRIAL_FIELDS(NUMBER) NUMBER(site) NUMBER(identity) NUMBER(whole)

void wire_put_case(Text *text, const GuardCase *is) { CASE_FIELDS(PACK_NUMBER) }

bool wire_get_case(Unpack *from, GuardCase *is) {
    if (from->at == from->end) return false;
    CASE_FIELDS(UNPACK_NUMBER)
    from->bad |= is->state > GUARD_CUT;
    return !from->bad;
}

void wire_put_trial(Text *text, const GuardTrial *is) {
    TRIAL_FIELDS(PACK_NUMBER)
    pack_number(text, is->range_count);
    for (uint32_t i = 0; i < is->range_count; i++) {
        pack_number(text, is->ranges[i].first);
        pack_number(text, is->ranges[i].count);
    }
}

bool wire_get_trial(Unpack *from, GuardTrial *is) {
    *is = (GuardTrial){0};
    TRIAL_FIELDS(UNPACK_NUMBER)
    is->range_count = unpack_count(from, 2 * sizeof(int64_t));
    is->ranges = calloc(is->range_count + 1, sizeof *is->ranges);
    if (!is->ranges) return false;
    for (uint32_t i = 0; i < is->range_count; i++) {
        is->ranges[i].first = unpack_number(from);
        is->ranges[i].count = unpack_number(from);
    }
    return !from->bad;
}

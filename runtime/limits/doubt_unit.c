// Units in doubt: what is known of them until limits have judged their rows.
#include "runtime/limits/state.h"

#include <stdlib.h>
#include <string.h>

// ---- units ----------------------------------------------------------------------------------

DoubtUnit *doubt_unit_find(const DoubtRoot *root, uint32_t number) {
    if (root->count == 0) return nullptr;
    uint32_t at = number - root->units[root->first]->number;
    return at < root->count ? root->units[(root->first + at) % root->cap] : nullptr;
}

static bool grow(DoubtRoot *root) {
    uint32_t cap = root->cap ? 2 * root->cap : 64;
    DoubtUnit **units = malloc(cap * sizeof(DoubtUnit *));
    if (!units) return false;
    for (uint32_t i = 0; i < root->count; i++)
        units[i] = root->units[(root->first + i) % root->cap];
    free(root->units);
    root->units = units;
    root->first = 0;
    root->cap = cap;
    return true;
}

DoubtUnit *doubt_unit_new(Limits *limits, uint32_t s, uint32_t number) {
    DoubtRoot *root = &limits->roots[s];
    bool zip = limits->d->plan->plan.stages[s].kind == STAGE_ZIP;
    uint32_t nodes = root->tree->count;
    if (root->count == root->cap && !grow(root)) return nullptr;
    DoubtUnit *unit = calloc(1, sizeof *unit + (nodes + 1) * sizeof *unit->nodes);
    if (!unit) return nullptr;
    unit->root = s;
    unit->number = number;
    if (zip) unit->piece = calloc(1, sizeof *unit->piece);
    else unit->input = calloc(1, sizeof *unit->input);
    if (!unit->piece && !unit->input) {
        free(unit);
        return nullptr;
    }
    for (uint32_t n = 0; n < nodes; n++) unit->nodes[n].base = -1;
    root->units[(root->first + root->count++) % root->cap] = unit;
    return unit;
}

static void free_slot(DoubtSlot *slot) {
    if (!slot) return;
    rejects_close(&slot->rejects);
    free(slot->counts);
    free(slot);
}

void doubt_unit_free_first(Limits *limits, DoubtRoot *root) {
    DoubtUnit *unit = root->units[root->first];
    root->first = (root->first + 1) % root->cap;
    root->count--;
    for (uint32_t n = 0; n <= root->tree->count; n++) free_slot(unit->nodes[n].slot);
    doubt_forget(limits, unit);
    free(unit->input);
    free(unit->piece);
    free(unit->trouble);
    free(unit->runs);
    free(unit);
}

Unit doubt_unit_input(const DoubtUnit *unit) {
    if (unit->input) return unit->input->unit;
    return (Unit){.ordinal = unit->ordinal, .lines = -1, .range_begin = unit->row,
                  .range_end = unit->row + unit->rows, .end = unit->rows};
}

// ---- what was done ----------------------------------------------------------------------------

DoubtSlot *doubt_slot(Limits *limits, DoubtUnit *unit, uint8_t node) {
    uint8_t at = node == NODE_ROOT ? limits->roots[unit->root].tree->count : node;
    DoubtSlot **slot = &unit->nodes[at].slot;
    if (*slot) return *slot;
    DoubtSlot *made = calloc(1, sizeof *made);
    if (made) made->rejects.memory = limits->memory;
    return *slot = made;
}

// A stage counts for its own steps, which are a few of the job's: so the slot has room for these.
static bool make_room(DoubtSlot *slot, uint32_t begin, uint32_t end) {
    if (begin == end) return true;
    uint32_t from = slot->count > 0 && slot->from < begin ? slot->from : begin;
    uint32_t to = slot->from + slot->count > end ? slot->from + slot->count : end;
    if (slot->count == to - from) return true;
    int64_t *counts = calloc(to - from, sizeof *counts);
    if (!counts) return false;
    if (slot->count > 0)
        memcpy(counts + (slot->from - from), slot->counts, slot->count * sizeof *counts);
    free(slot->counts);
    slot->counts = counts;
    slot->from = from;
    slot->count = to - from;
    return true;
}

bool doubt_slot_add(const Limits *limits, DoubtSlot *slot, Partition *partition) {
    uint32_t begin = 0, end = sb_figure_count(limits->what);
    while (end > 0 && partition->counts[end - 1] == 0) end--;
    while (begin < end && partition->counts[begin] == 0) begin++;
    if (!make_room(slot, begin, end)) return false;
    for (uint32_t i = begin; i < end; i++) slot->counts[i - slot->from] += partition->counts[i];
    slot->made += partition->made;
    slot->end = partition->end;
    slot->bytes += partition->end - partition->begin;
    slot->whole = partition->last && partition->status == SB_STAGE_DONE && !partition->stopped;
    return rejects_move(&slot->rejects, &partition->rejects);
}

void doubt_slot_empty(DoubtSlot *slot) {
    SbMemory *memory = slot->rejects.memory;
    rejects_close(&slot->rejects);
    free(slot->counts);
    *slot = (DoubtSlot){.rejects.memory = memory};
}

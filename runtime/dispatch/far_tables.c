// Tables of joins for workers of other machines, which get a copy of each that they read.
//
//   finished ─ few bytes ─▶ ranges ─ the first ASK of a stage that needs it ─▶ ROWS ─▶ ... LEAVE
//           └─ many ──────▶ stages that need it run in this process
//
// A copy lies at the addresses of the table, as all that the job sends. What there is to send is
// found out before anybody reads the table: to go along what rows point to writes to them for a
// moment.
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/lives.h"

#include <stdlib.h>

// What a place has room for beside copies of rows: for all tables that are there at a time.
int64_t far_tables_room(const Job *job) {
    enum : int64_t { SHARE = 8, MOST = 64 << 20 };
    int64_t share = job->machine.workers.memory / SHARE;
    bool any = false;
    for (uint32_t s = 0; s < job->ask.what->stage_count; s++)
        any |= job->ask.what->stages[s].need_count > 0;
    return !any ? 0 : share < MOST ? share : MOST;
}

bool far_tables_open(Workers *w) {
    w->tables = calloc(w->d->what->breaker_count + 1, sizeof *w->tables);
    w->tables_there = calloc(w->count * (w->d->what->breaker_count + 1), sizeof *w->tables_there);
    return w->tables && w->tables_there;
}

void far_tables_close(Workers *w) {
    for (uint32_t b = 0; w->tables && b < w->d->what->breaker_count; b++)
        row_ranges_close(&w->tables[b]);
    free(w->tables);
    free(w->tables_there);
}

static bool has_places(const Workers *w) { return w && w->own < w->count - 1; }

static void add_table(RowRanges *ranges, const SbTable *table) {
    int64_t slots = sb_join_table_slots(table) * (int64_t)sizeof *table->slots;
    if (table->slots) row_ranges_add(ranges, table->slots, slots);
    if (table->ranges)
        row_ranges_add(ranges, table->ranges, sb_join_ranges_bytes(table->ranges));
}

bool far_table_finished(Dispatch *d, uint32_t breaker) {
    Workers *w = d->own->workers;
    SbBreakerState *state = d->own->breakers[breaker];
    if (!has_places(w) || d->what->breakers[breaker].kind != SB_BREAK_JOIN || !state) return true;
    int64_t room = far_tables_room(d->own->job) - w->tables_bytes, count = 0;
    const SbBreaker *what = &d->what->breakers[breaker];
    const SbEntry *const *entries = sb_breaker_entries(state, &count);
    if (sb_breaker_join(state) || count > room / what->entry_bytes) return false;
    RowRanges *ranges = &w->tables[breaker];
    row_ranges_add_rows(ranges, what, entries, count);
    add_table(ranges, sb_breaker_table(state));
    row_ranges_sort(ranges);
    int64_t bytes = row_pages(ranges->items, ranges->count);
    bool good = !ranges->failed && bytes <= room;
    if (good) w->tables_bytes += bytes;
    else row_ranges_close(ranges);
    return good;
}

static uint32_t *there(const Workers *w, NodeId node, uint32_t breaker) {
    return &w->tables_there[node.i * w->d->what->breaker_count + breaker];
}

static void send(Dispatch *d, NodeId node, uint32_t breaker) {
    const RowRanges *ranges = &d->own->workers->tables[breaker];
    uint32_t range = 0;
    int64_t done = 0;
    for (Text text = {0};
         row_ranges_next(ranges, &range, &done, wire_table_task(breaker), &text); text = (Text){0})
        workers_say(d->own->workers, node, WIRE_ROWS, &text);
}

void far_tables_send(Dispatch *d, const Flow *flow) {
    const SbStage *stage = flow->run->stage;
    const Workers *w = d->own->workers;
    for (uint32_t n = 0; n < stage->need_count && lives_is_place(w, flow->place); n++) {
        uint32_t breaker = stage->needs[n], *life = there(w, flow->place, breaker);
        if (*life == w->lives[flow->place.i].lives) continue;
        *life = w->lives[flow->place.i].lives;
        send(d, flow->place, breaker);
    }
}

void far_table_close(Dispatch *d, uint32_t breaker) {
    Workers *w = d->own->workers;
    if (!has_places(w) || w->tables[breaker].count == 0) return;
    w->tables_bytes -= row_pages(w->tables[breaker].items, w->tables[breaker].count);
    row_ranges_close(&w->tables[breaker]);
    for (uint32_t n = w->own + 1; n < w->count; n++) {
        NodeId node = {(uint16_t)n};
        Text text = {0};
        if (*there(w, node, breaker) != w->lives[n].lives) continue;
        pack_number(&text, wire_table_task(breaker));
        workers_say(w, node, WIRE_LEAVE, &text);
        *there(w, node, breaker) = 0;
    }
}

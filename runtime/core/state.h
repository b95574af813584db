// State: what the files of the schedule share. Nobody else includes it.
//
//   schedule.c   events in, actions out           launch.c   what could run, what does
//   finish.c     outputs and ends of tasks        stop.c     what nobody wants any more
//   spill.c      memory that is asked for         repair.c   nodes that are lost
//   batch.c      several partitions for one launch
//   drain.c      nodes that come, go and drain
//   ahead.c      tasks beyond the slots of a node
#ifndef SBC_RUNTIME_CORE_STATE_H
#define SBC_RUNTIME_CORE_STATE_H

#include "runtime/core/pacing.h"
#include "runtime/core/records.h"

enum { SKIPS_MAX = 256 };  // Intervals of units that were committed before.

typedef struct StageState {
    Heap ready, paused;
    ItemId oldest, newest;  // Of a root: units that have begun and not ended.
    TaskId first, last;     // Tasks in the order of launches.
    uint32_t running, paused_count, ready_count;
    uint32_t ahead;             // Of those that run: tasks without a slot.
    int64_t step;               // Nanoseconds that tasks computed lately, to an output or the end.
    uint32_t steps;             // How many of them were seen.
    int64_t ready_rows;
    int64_t held;               // Since when a batch that is not full waits; 0: none does.
    double batches, batch_busy; // Batches that were begun, and the nanoseconds that they took.
    uint32_t unit_next;  // Of a root: the first unit that was not launched.
    uint32_t units;      // Of a root: where its units end; UNITS_LATER: that is not known.
    uint32_t bound;      // Of a root: from there on nobody wants them.
    ItemId uncut;        // Of a serial root: the unit after which no other may begin yet.
    int64_t unit_bytes;
    int64_t queued, queued_rows;  // Bytes and rows of its outputs that no consumer has taken.
    int64_t waiting_bytes;  // Item.filled of those in front of it that wait.
    uint64_t launched, ended;
    uint32_t live;   // Items.
    uint32_t width;  // Tasks that may run at once.
    uint32_t waiting;  // Tasks that wait for bytes which they must have.
    bool stopped;    // Nobody wants its rows.
    bool crowded;    // So much waits in front of it that sources above it rest.
} StageState;

typedef struct BreakerState {
    State state;
    int64_t total;  // Bytes that all nodes hold.
} BreakerState;

// Of the stages in one word of a set, those in whose sets of nodes it is, as bits.
typedef struct NodeWord {
    uint64_t slots, roomy, spare;
} NodeWord;

typedef struct NodeState {
    uint32_t used[RESOURCES_MAX];
    uint32_t ahead;  // Tasks without a slot.
    NodeWord words[BITS_WORDS];
    bool up, dirty;
    int64_t memory;  // That it has now.
    bool drains;  // It begins nothing.
    bool idle;    // It drains, and only partitions are there.
    PartId spools[2];  // What could be spilled: in front of zips, and others.
    uint32_t spilling, answers_due;
    bool any_spent;
    TaskId tasks;        // On the node.
    PartId parts;
    Ledger ledger;
    bool shrinking[BREAKERS_MAX];  // Breakers that are writing.
    bool spent[BREAKERS_MAX];      // Breakers that had nothing to write when nothing ran, and
                                   // nothing has since.
    // By stage: items whose rows only breakers of the node hold; those that are being made safe.
    ItemId covered[STAGES_MAX], flushing[STAGES_MAX];
    uint16_t covered_count[STAGES_MAX];
    int64_t covered_busy[STAGES_MAX];  // Nanoseconds that it takes to make their rows again.
} NodeState;

// Units of a source that were committed before the start.
typedef struct Skipped {
    StageId stage;
    uint32_t first, count;
} Skipped;

struct Schedule {
    const Policy *policy;
    NodeState *nodes;
    uint32_t node_count;
    bool owing;         // Some node has been given more memory than it has.
    uint32_t draining;  // Nodes that drain and are not idle.
    NodeCounts usable;  // Nodes that may begin work.
    // Of each stage: nodes with a free slot; of those, with common memory, and with a free reserve.
    NodeSet *slots, *roomy, *spare;
    NodeId *dirty;
    uint32_t dirty_count;
    Part *parts;
    Item *items;
    Task *tasks;
    uint32_t part_max, item_max, task_max;
    uint32_t covered_max;  // Items of a stage that a node keeps before it has to flush.
    uint32_t covered_now;  // As many or fewer: nodes have been lost before they flushed.
    uint32_t part_count, item_count, task_count;  // Ever used; 0 is none.
    uint32_t parts_live, tasks_live, items_live, running, outputs_open;
    PartId part_unused;
    ItemId item_unused;
    TaskId task_unused;
    ItemId reruns;         // Work that makes lost partitions again, by `newer`.
    uint32_t answers_due;  // SPILL, SHRINK, FINISH, FLUSH.
    uint32_t skipped_count;
    int64_t now, timer;
    uint16_t words;          // Of sets of stages, that are in use.
    StageSet ready, paused;  // Something is, in their heaps.
    StageSet free;           // A node has a slot for a task of theirs.
    StageSet full;           // They run as many tasks as they may.
    StageSet openers;        // Roots that may begin units as far as other roots go.
    StageSet blocked;        // For this step: memory is missing.
    StageSet hungry;         // They could not begin for want of memory, when they were tried last.
    StageSet standing_back;  // In this step, from memory that others further down wait for.
    StageSet exhausted;      // Roots all of whose units were launched.
    StageSet over;
    uint16_t over_count;
    uint64_t spilled_bytes, twins, aheads;
    uint64_t events;
    bool started, ended;
    bool recheck;       // An item went without its stage being judged.
    bool hurries;       // Nothing runs: a batch waits for no more rows.
    const char *wrong;  // A transition that the table does not know, or what differs.
    bool differs;       // `differing` made other rows than before.
    StageId differing;
    Action *actions;
    uint32_t action_count, action_max;
    // What follows has room for the most stages, and is used as far as the plan goes.
    CorePlan plan;
    Shape shape;
    Reserves reserves;
    Order order;
    Pacing pacing;
    StageState stages[STAGES_MAX];
    BreakerState breakers[BREAKERS_MAX];
    Skipped skipped[SKIPS_MAX];
    int64_t skipped_rows[EDGES_MAX];  // Of a side of a zip: that are still to come again.
    bool closed[EDGES_MAX];           // Nobody wants its rows.
    uint32_t on_edge[EDGES_MAX];      // Items that are not ended.
};

static inline const CoreStage *stage_of(const Schedule *s, StageId stage) {
    return &s->plan.stages[stage.i];
}
static inline StageState *state_of(Schedule *s, StageId stage) { return &s->stages[stage.i]; }
static inline Item *item_of(Schedule *s, ItemId id) { return &s->items[id.i]; }
static inline Task *task_of(Schedule *s, TaskId id) { return &s->tasks[id.i]; }
static inline Part *part_of(Schedule *s, PartId id) { return &s->parts[id.i]; }
static inline NodeState *node_of(Schedule *s, NodeId id) { return &s->nodes[id.i]; }

// ---- schedule.c ---------------------------------------------------------------------------------

void act(Schedule *s, Action action);
// How many tasks of each stage may run at once, on the nodes that may begin work.
void widths_judge(Schedule *s);
// Changes a state; a change that the table does not know breaks the schedule.
void go(Schedule *s, State *state, State to);
void break_off(Schedule *s, const char *why);
// The same: what the stage made again is not what it had made.
void break_differing(Schedule *s, StageId stage, const char *why);
// The node's slots or memory changed. One that is alone nobody chooses: it is asked itself.
static inline void touch(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    if (node->dirty || s->node_count == 1) return;
    node->dirty = true;
    s->dirty[s->dirty_count++] = id;
}

// ---- pool.c: records come and go ----------------------------------------------------------------

ItemId item_new(Schedule *s, Item item);
void item_free(Schedule *s, ItemId id);
PartId part_new(Schedule *s, Part part);
// A reader is done with the partition, or gone.
void part_done(Schedule *s, PartId id);
void part_free(Schedule *s, PartId id);
// Takes it out of the lists of its node, or puts it there.
void part_unlink(Schedule *s, PartId id);
void part_link(Schedule *s, PartId id);
TaskId task_new(Schedule *s, Task task);
void task_free(Schedule *s, TaskId id);
// Finds for which stages the node has slots.
void slots_judge(Schedule *s, NodeId id);
// The same, where there is one only.
void slots_judge_one(Schedule *s);
void slot_take(Schedule *s, StageId stage, NodeId node);
// The task has none, and waits on its node for one.
void slot_await(Schedule *s, Task *task);
// The slot, or the place of a task that waits for one.
void slot_give(Schedule *s, Task *task);
// Does the stage run as many tasks as it may?
static inline bool stage_is_full(const StageState *state) {
    return state->running - state->ahead >= state->width;
}
// Gives back the task's memory of that kind.
void purse_give(Schedule *s, Task *task, Room room);
static inline Room task_room(const Task *task, Room room) {
    return task->rerun ? room + ROOM_AGAIN : room;
}
// The partitions of the item stay while the task reads them.
void task_hold(Schedule *s, Task *task, const Item *item);
void task_release(Schedule *s, Task *task);
void item_ready(Schedule *s, ItemId id);
// Takes the first one that is ready out of its heap; there is one.
ItemId ready_pop(Schedule *s, StageId stage);
// Takes this one out of it.
void ready_remove(Schedule *s, ItemId id);
void paused_push(Schedule *s, ItemId id);
// Takes the first one that is paused out of its heap; there is one.
ItemId paused_pop(Schedule *s, StageId stage);
// Takes this one out of it.
void paused_remove(Schedule *s, ItemId id);

// ---- batch.c ------------------------------------------------------------------------------------

// More partitions for the launch of the item, which was just said.
void coalesce(Schedule *s, StageId stage, ItemId id);
// Could the stage begin with less than a batch only?
bool batch_is_part(const Schedule *s, StageId stage);
// The stage has no slot: less than a batch does not wait for rows, but for that.
static inline void batch_let_go(Schedule *s, StageId stage) { state_of(s, stage)->held = 0; }
// Is there a full batch of what is ready, or is it time for one that is not?
bool batch_may_begin(Schedule *s, StageId stage);
// The task has made all of its item,
void batch_add(Schedule *s, Task *task, Pace pace);
// and all of its launch.
void batch_end(Schedule *s, const Task *task);

// ---- choose.c -----------------------------------------------------------------------------------

// Are there slots for a task of the stage, when one that holds `returned` has gone?
bool node_fits(const Schedule *s, NodeId id, const CoreStage *stage, const uint32_t *returned);
// Is a node up that could run a task of the stage if it had nothing else?
bool has_node(const Schedule *s, StageId stage);
// Of the stages in a word, those with anything that could perhaps run.
uint64_t with_any(const Schedule *s, uint16_t word);
// Puts nodes that changed into the sets of stages that they have slots and memory for.
void judge_nodes(Schedule *s);
static inline bool node_has_slot(const Schedule *s, NodeId id, StageId stage) {
    if (s->node_count == 1) return s->nodes[0].words[stage.i / WORD_BITS].slots & stage_bit(stage);
    return node_set_has(&s->slots[stage.i], id);
}
// The stages that the node may run.
static inline const StageSet *node_runs(const Schedule *s, NodeId id) {
    return id.i ? &s->shape.others : &s->shape.first;
}
// Does the stage run on the first node only?
static inline bool is_at_home(const Schedule *s, StageId stage) {
    return set_has(&s->shape.home, stage);
}
static inline bool has_slot(const Schedule *s, StageId stage) {
    return set_has(&s->free, stage) && !set_has(&s->full, stage);
}
// Will no row come along the edge any more, and has none to be taken?
bool edge_is_done(const Schedule *s, EdgeId edge);
// Is it the first unfinished work of its stage?
bool is_first(Schedule *s, const Item *item);
// May items of a spool be taken yet?
bool is_open(const Schedule *s, const Item *item);
// May the stage have one more open task, for this item, or without one for a new unit?
bool may_open(Schedule *s, StageId stage, const Item *item);
bool is_readable(const Schedule *s, PartId part);
// Of the partitions that the item needs, one that is not there; or none.
PartId missing_part(const Schedule *s, const Item *item);
bool tables_complete(const Schedule *s, const CoreStage *stage);
// May the stage take the item, which is ready, or without one begin a unit?
bool may_take(Schedule *s, StageId stage, ItemId ready);
// Could the stage begin with a unit or a partition?
bool may_begin(Schedule *s, StageId stage);
// While something is made again, the work of the stage that reserves are for, as far as it could
// begin or go on. It is the first rerun and the first of the other work. The heaps hold both kinds,
// so that either can stand after what has no reserve.
enum { FAVORED_MAX = 2 };
typedef struct Favored {
    ItemId items[FAVORED_MAX];
    uint32_t count;
} Favored;
Favored favored_work(Schedule *s, StageId stage);
// The stage whose task is to run next. False: none could.
bool pick(Schedule *s, StageId *best);
// The same of stages for which the node has no slot, if it had one more. False: there is none.
bool pick_ahead(Schedule *s, NodeId node, StageId *best);
// Would better work run in the slot of this task?
bool should_yield(Schedule *s, const Task *task);

// ---- launch.c -----------------------------------------------------------------------------------

// Outputs that attempts before have handed over; what is run again has come to its end before.
static inline uint32_t outputs_before(const Item *item) {
    return item->rerun ? UINT32_MAX : item->outputs;
}
// Does its input lie elsewhere?
bool needs_load(const Schedule *s, const Item *item, NodeId node);
// Room for one more input of the task from elsewhere, when it has done with those before.
bool take_input(Schedule *s, Task *task, int64_t bytes);
// Room for the task's next output.
bool output_take(Schedule *s, Task *task);
// The roots begin after what was committed before.
void roots_start(Schedule *s);
// Null, or that something could run and does not.
const char *check_idle(const Schedule *s);
// The work, which favored_work named, begins or goes on. False: something is missing.
bool start_work(Schedule *s, StageId stage, ItemId id);
// Gives nodes short tasks beyond their slots.
void launch_ahead(Schedule *s);
// Starts second attempts of tasks that take far too long, where slots are free.
void launch_twins(Schedule *s);
// Starts all that can run.
void fill_slots(Schedule *s);
// The stage may begin units no more.
void root_exhaust(Schedule *s, StageId root);
// Has the root launched all units that it has and that are wanted?
void root_judge(Schedule *s, StageId root);

// ---- ahead.c ------------------------------------------------------------------------------------

// A task has computed for so long up to an output, or to its end.
void step_note(Schedule *s, StageId stage, int64_t busy);
// May the stage have tasks beyond the slots of the node?
bool may_go_ahead(const Schedule *s, NodeId node, StageId stage);
// Slots of the node are free: tasks that wait for one have it now.
void slots_pass_on(Schedule *s, NodeId node);

// ---- finish.c -----------------------------------------------------------------------------------

void on_output(Schedule *s, const Event *event);
void on_done(Schedule *s, const Event *event);
void on_next(Schedule *s, const Event *event);
void on_failed(Schedule *s, const Event *event);
void on_finished(Schedule *s, const Event *event);
void on_units(Schedule *s, const Event *event);
void on_cut(Schedule *s, const Event *event);
// The task goes on if there is memory and nothing better for its slot.
void go_on_or_pause(Schedule *s, TaskId id);
void pause_task(Schedule *s, TaskId id);
// Gives back all that the task has; its record goes.
void task_end(Schedule *s, TaskId id);
// It was taken, and is to be taken again.
void item_return(Schedule *s, ItemId id);
// The item's work is done, or nobody wants it.
void item_end(Schedule *s, ItemId id);
// What the launch had taken and not begun is ready again, if it is wanted.
void chain_return(Schedule *s, Task *task);
// Has the stage nothing more to do? Then those after it may be over, too.
void judge_over(Schedule *s, StageId stage);
// The zips whose sides have come to their end.
void zips_judge(Schedule *s);
// The first item of a side, if it is there, with a row at least; none: it is still to come.
ItemId zip_front(Schedule *s, EdgeId edge);

// ---- stop.c -------------------------------------------------------------------------------------

void on_enough(Schedule *s, const Event *event);
void on_bound(Schedule *s, const Event *event);
// The zip makes no more pieces: what comes to it goes nowhere.
void zip_stop(Schedule *s, StageId zip);
// The same, once it has come to its bound; nor do zips that its rows come into.
void zip_bound(Schedule *s, StageId zip);
// Does what comes to the stage go nowhere, because it is a zip that makes no more pieces?
static inline bool zip_is_done(const Schedule *s, StageId stage) {
    return s->plan.stages[stage.i].kind == STAGE_ZIP &&
           s->stages[stage.i].unit_next >= s->stages[stage.i].bound;
}
// Was it made of units that nobody wants?
static inline bool is_behind_bound(const Schedule *s, const Item *item) {
    return item->name.unit >= s->stages[item->name.root.i].bound;
}
// Nobody wants the rows of the stage any more.
void stage_stop(Schedule *s, StageId stage);
void close_inputs(Schedule *s, StageId stage);
void breaker_judge(Schedule *s, BreakerId breaker);
void task_cancel(Schedule *s, TaskId id);
// The item's task, which may be paused.
void task_cancel_of(Schedule *s, ItemId item);

// ---- spill.c ------------------------------------------------------------------------------------

void on_need(Schedule *s, const Event *event);
void on_spilled(Schedule *s, const Event *event);
void on_shrunk(Schedule *s, const Event *event);
void on_hold(Schedule *s, const Event *event);
void on_release(Schedule *s, const Event *event);
// Parts of the common pool: called when stages end and breakers change.
void share_out(Schedule *s);
void on_memory(Schedule *s, const Event *event);
// What came back of memory that nodes do not have any more is given to nobody.
void debts_pay(Schedule *s);
// What an item that waits in front of a stage adds to the figures of its partition: +1, -1.
void part_waits(Schedule *s, const Item *item, int more);
// The task does not wait any more for what it must have.
void need_over(Schedule *s, Task *task);
// The paused task's need, now that it may go on. False: not yet.
bool need_take(Schedule *s, Task *task);
// Puts the partition into the list of what may be spilled, or takes it out.
void spool_judge(Schedule *s, PartId id);
// The partition, which no task reads, goes to disk.
// The node has work again: its breakers may have something to write.
void spent_forget(const Schedule *s, NodeState *node);
void spill_part(Schedule *s, NodeState *node, PartId id);
// Memory is short: asks for what can be written. `stuck`: nothing else moves.
void spill_some(Schedule *s, bool stuck);
// Nothing moves: denies the bytes that the first such task asks for.
bool deny_one(Schedule *s);

// ---- repair.c -----------------------------------------------------------------------------------

// Nothing more comes from the node: what it had is gone.
void node_lose(Schedule *s, NodeId node);
// What breakers held on the node is not there any more.
void breakers_lose(Schedule *s, NodeState *node);
void on_part_lost(Schedule *s, const Event *event);
void on_flushed(Schedule *s, const Event *event);
// The paused task is forgotten; its work is ready again.
void task_drop(Schedule *s, TaskId id);
// The item waits until its partition is there again.
void item_wait(Schedule *s, ItemId id);
void stop_waiting(Schedule *s, ItemId id);
// The items that wait for the partition are ready.
void wake_waiting(Schedule *s, Part *part);
// Nobody wants the lost partition any more.
void lost_drop(Schedule *s, PartId id);
// What a rerun hands over: a lost partition, or what was there before. True: it was lost.
bool rerun_output(Schedule *s, Task *task, const Event *event);
void rerun_remove(Schedule *s, ItemId id);
// The rerun does not make again what is only held by tasks that are canceled, or not come to.
void rerun_let_go(Schedule *s, ItemId rerun);
// Ends reruns that nobody needs: the tables that they probe may be gone. False: there was none.
bool reruns_judge(Schedule *s);
// Nothing moves: what is first of some stage gets the memory or the place that it lacks from tasks
// that are not, and begins. They are dropped, and their work is ready again. False: none began,
// though some may be `dropped`.
bool make_way(Schedule *s, bool *dropped);
// The first work of the stage that is to be run again, or none.
ItemId rerun_first(Schedule *s, StageId stage);
// Is no work of the stage that is to be run again in front of it?
bool rerun_is_first(Schedule *s, const Item *item);
// Puts the item of the task, which has ended, among those that only breakers of its node hold.
void item_cover(Schedule *s, ItemId id, const Task *task);
// Asks that all such items of the stage, or of the node, be made safe.
void flush_stage(Schedule *s, StageId stage);
void flush_node(Schedule *s, NodeId node);

// ---- drain.c ------------------------------------------------------------------------------------

static inline bool node_is_usable(const NodeState *node) { return node->up && !node->drains; }
void on_node_lost(Schedule *s, const Event *event);
void on_node_up(Schedule *s, const Event *event);
void on_node_drain(Schedule *s, const Event *event);
// The stages run on the first node from now on. No task of them has begun.
void stages_go_home(Schedule *s, const StageSet *stages);
// Drops what is paused on nodes that drain, and says which of them are idle.
void drains_judge(Schedule *s);

#endif

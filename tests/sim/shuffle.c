// A shuffle in virtual time: disks, network and processors of each node are queues.
//
// What is asked of a queue is done in the order in which it is asked for. Transfers go by batch and
// node, or by node and range: so many nodes have too many blocks to follow each of them. Random
// accesses are counted by blocks all the same.
#include "tests/sim/shuffle.h"

#include "tests/sim/workloads.h"

#include <stdlib.h>
#include <string.h>

typedef struct Strategy {
    const char *name;
    bool keeps;   // What maps made stays on the disks of their node.
    bool merges;  // The maps of a batch write one file.
    bool pushes;  // Slices go to the nodes of their ranges as soon as they are made.
    bool sorts;   // Who receives them merges what its buffers hold into a run.
} Strategy;

static const Strategy strategies[SHUFFLES] = {
    [SHUFFLE_SIMPLE] = {"simple", .keeps = true},
    [SHUFFLE_MERGED] = {"pre-merged", .keeps = true, .merges = true},
    [SHUFFLE_PUSHED] = {"pushed", .keeps = true, .pushes = true},
    [SHUFFLE_READER] = {"pushed, merged by the reader", .pushes = true, .sorts = true},
};

const char *shuffle_name(ShuffleId strategy) { return strategies[strategy].name; }

double shuffle_bound(const ShuffleLoad *load) {
    enum { PASSES = 4 };  // The input is read, slices are written and read, the output is written.
    double disk = PASSES * (double)load->node_bytes / load->machine->disk_rate;
    double net = (double)load->node_bytes / load->machine->net_rate;
    net *= (double)(load->nodes - 1) / load->nodes;  // What stays on its node does not cross it.
    return disk > net ? disk : net;
}

typedef enum State : uint8_t { WAITS, RUNS, MADE } State;  // MADE: of a range, its output is there.

typedef struct Batch {
    State state;
    bool sent;        // Its slices are on their way.
    uint32_t home;    // Who makes it, or keeps it.
    uint32_t life;    // What was said of an earlier one is ignored.
    double arrived;   // When the last slice is there.
} Batch;

typedef struct Range {
    State state;
    bool read;        // Its slices are in memory.
    uint32_t owner, life;
    uint32_t missing; // Of pulls: nodes of whose slices it has none.
    double arrives;   // The last slice that it has asked for,
    double doomed;    // and of those the last one of the node that will be lost.
} Range;

typedef struct Node {
    double disk, out, in, cpu;  // When each is free.
    double slow;                // Times what its disks take.
    bool dead;
    uint32_t busy;              // Slots.
    int64_t buffered;
    double arrives;             // The last slice that was sent there.
} Node;

// The batches and the ranges that a node begins with.
typedef struct Slot {
    uint32_t batches_left, ranges_left;  // That wait.
    uint32_t unmade;                     // Batches that are not MADE.
    uint32_t arrived;                    // Batches whose slices are here or on their way.
    double arrives, doomed;      // As those of a range.
    bool ready;                          // Of pushes: the ranges may begin.
} Slot;

typedef enum What : uint8_t {
    BATCH_COMPUTED,
    BATCH_DONE,
    BUFFER_FULL,
    SLOT_READY,
    RANGE_READ,
    RANGE_COMPUTED,
    RANGE_DONE,
    LOSS,
} What;

typedef struct Happens {
    double at;
    uint64_t number;
    What what;
    bool again;  // A batch that holds no slot.
    uint32_t id, life;
} Happens;

typedef struct Shuffle {
    const ShuffleLoad *load;
    const Strategy *how;
    ShuffleResult result;
    double now;
    uint32_t nodes, batch_count, range_count;
    uint32_t lost;  // UINT32_MAX: none yet.
    uint32_t doomed;  // What will be lost.
    Node *node;
    Slot *slot;
    Batch *batch;
    Range *range;
    uint8_t *got;  // Pushes: by batch and slot. Pulls: by range and slot. How often it came.
    uint32_t batches_left, ranges_left, unmade, undone;
    int64_t batch_bytes, slice_bytes, range_bytes;  // slice: of a batch for a node.
    Happens *heap;
    size_t heap_count, heap_max;
    uint64_t numbers;
} Shuffle;

// ---- events -------------------------------------------------------------------------------------

static bool is_before(const Happens *a, const Happens *b) {
    return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void happen(Shuffle *s, Happens it) {
    if (s->heap_count == s->heap_max) {
        s->heap_max = s->heap_max ? 2 * s->heap_max : 1024;
        s->heap = realloc(s->heap, s->heap_max * sizeof *s->heap);
        if (!s->heap) abort();
    }
    it.number = s->numbers++;
    size_t at = s->heap_count++;
    for (; at > 0 && is_before(&it, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = it;
}

static Happens next(Shuffle *s) {
    Happens first = s->heap[0], last = s->heap[--s->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= s->heap_count) break;
        if (child + 1 < s->heap_count && is_before(&s->heap[child + 1], &s->heap[child])) child++;
        if (!is_before(&s->heap[child], &last)) break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return first;
}

// ---- the machine --------------------------------------------------------------------------------

static double later(double a, double b) { return a > b ? a : b; }

// What was asked for at `from` is done then.
static double queue(double *free, double from, double seconds) {
    *free = later(*free, from) + seconds;
    return *free;
}

static double disk(Shuffle *s, uint32_t n, int64_t bytes, double accesses) {
    const ShuffleMachine *machine = s->load->machine;
    double seconds = (double)bytes / machine->disk_rate + accesses * machine->seek;
    return queue(&s->node[n].disk, s->now, seconds * s->node[n].slow);
}

static double read_disk(Shuffle *s, uint32_t n, int64_t bytes, int64_t accesses) {
    s->result.read += bytes, s->result.random_reads += accesses;
    return disk(s, n, bytes, (double)accesses);
}

static double write_disk(Shuffle *s, uint32_t n, int64_t bytes, double accesses) {
    s->result.written += bytes;
    return disk(s, n, bytes, accesses);
}

// Of bytes that are ready at `from`. They take their turn at the receiver when they are asked for.
static double move(Shuffle *s, uint32_t a, uint32_t b, int64_t bytes, double from) {
    if (a == b) return from;
    double seconds = (double)bytes / s->load->machine->net_rate;
    s->result.moved += bytes;
    double sent = queue(&s->node[a].out, from, seconds);
    return later(sent, queue(&s->node[b].in, s->now, seconds));
}

static double compute(Shuffle *s, uint32_t n, int64_t bytes, double from) {
    return queue(&s->node[n].cpu, from, (double)bytes / s->load->machine->cpu_rate);
}

static uint32_t alive(const Shuffle *s, uint32_t n) {
    n %= s->nodes;
    return s->node[n].dead ? (n + 1) % s->nodes : n;
}

// ---- batches ------------------------------------------------------------------------------------

static uint32_t slot_of_batch(const Shuffle *s, uint32_t b) { return b / s->load->batches; }
static uint32_t slot_of_range(const Shuffle *s, uint32_t g) { return g / s->load->ranges; }

// Input lies on the node of its slot, and on others, a batch each.
static void begin_batch(Shuffle *s, uint32_t b, uint32_t n, bool again) {
    Batch *batch = &s->batch[b];
    uint32_t slot = slot_of_batch(s, b);
    uint32_t from = slot == n ? n : alive(s, slot + 1 + b);
    batch->state = RUNS, batch->home = n, batch->life++;
    double read = read_disk(s, from, s->batch_bytes, s->load->batch_maps);
    double made = compute(s, n, s->batch_bytes, move(s, from, n, s->batch_bytes, read));
    happen(s, (Happens){made, .what = BATCH_COMPUTED, .again = again, .id = b,
                        .life = batch->life});
}

// To a file for each reducer, or as one run.
static void write_buffer(Shuffle *s, uint32_t n, int64_t bytes) {
    const ShuffleLoad *load = s->load;
    double reducers = (double)load->ranges * load->range_reducers;
    if (bytes > 0 && !s->node[n].dead) write_disk(s, n, bytes, s->how->sorts ? 1 : reducers);
}

// Buffers that are full are written when the last of it has come.
static void receive(Shuffle *s, uint32_t n, int64_t bytes, double at) {
    Node *node = &s->node[n];
    int64_t chunk = s->load->machine->buffers / 2;
    node->arrives = later(node->arrives, at);
    for (node->buffered += bytes; node->buffered >= chunk; node->buffered -= chunk)
        happen(s, (Happens){node->arrives, .what = BUFFER_FULL, .id = n});
}

static void flush(Shuffle *s, uint32_t n) {
    write_buffer(s, n, s->node[n].buffered);
    s->node[n].buffered = 0;
}

static void come(Shuffle *s, uint32_t b, uint32_t c, double at) {
    Slot *slot = &s->slot[c];
    s->got[(size_t)b * s->nodes + c]++;
    slot->arrived++;
    slot->arrives = later(slot->arrives, at);
    if (slot->arrived == s->batch_count)
        happen(s, (Happens){slot->arrives, .what = SLOT_READY, .id = c});
}

// A slice for a slot whose node is lost goes to those who have its ranges now. `from_disk`: it is
// read from where it was kept, block by block.
static double send_spread(Shuffle *s, uint32_t b, uint32_t c, bool from_disk) {
    const ShuffleLoad *load = s->load;
    uint32_t n = s->batch[b].home;
    double last = s->now;
    for (uint32_t g = c * load->ranges; g < (c + 1) * load->ranges; g++) {
        const Range *range = &s->range[g];
        int64_t bytes = s->slice_bytes / load->ranges;
        if (range->state == MADE) continue;
        int64_t blocks = (int64_t)load->batch_maps * load->range_reducers;
        double ready = from_disk ? read_disk(s, n, bytes, blocks) : s->now;
        double at = move(s, n, range->owner, bytes, ready);
        receive(s, range->owner, bytes, at);
        last = later(last, at);
    }
    come(s, b, c, last);
    return last;
}

// Returns when the batch leaves the memory of its node: who receives has room then.
static double push(Shuffle *s, uint32_t b) {
    const ShuffleMachine *machine = s->load->machine;
    Batch *batch = &s->batch[b];
    double room = (double)machine->buffers / machine->disk_rate, leaves = s->now;
    batch->arrived = s->now;
    for (uint32_t i = 0; i < s->nodes; i++) {
        uint32_t c = (batch->home + i) % s->nodes;  // Not all to the same node first.
        if (s->got[(size_t)b * s->nodes + c]) continue;
        double at;
        if (c == s->lost) {
            at = send_spread(s, b, c, false);
        } else {
            at = move(s, batch->home, c, s->slice_bytes, s->now);
            receive(s, c, s->slice_bytes, at);
            come(s, b, c, at);
            if (batch->home == s->doomed) s->slot[c].doomed = at;
            leaves = later(leaves, s->node[c].disk - room);
        }
        batch->arrived = later(batch->arrived, at);
    }
    if (s->load->sends_twice && b == 0) s->got[0]++;
    batch->sent = true;
    return later(leaves, batch->arrived);
}

static void batch_computed(Shuffle *s, const Happens *it) {
    const ShuffleLoad *load = s->load;
    Batch *batch = &s->batch[it->id];
    int64_t held = (int64_t)load->slots * s->batch_bytes;
    double done = s->now;
    if (s->how->keeps && s->how->merges && held > load->machine->buffers) {
        write_disk(s, batch->home, s->batch_bytes, load->batch_maps);
        read_disk(s, batch->home, s->batch_bytes, load->batch_maps);
    }
    if (s->how->keeps)
        done = write_disk(s, batch->home, s->batch_bytes, s->how->merges ? 1 : load->batch_maps);
    if (s->how->pushes) done = later(done, push(s, it->id));
    happen(s, (Happens){done, .what = BATCH_DONE, .again = it->again, .id = it->id,
                        .life = batch->life});
}

// What was on its way from the lost node does not come.
static void judge_arrival(Shuffle *s, double from_doomed) {
    bool came = s->lost == UINT32_MAX || from_doomed <= s->load->lost_at;
    if (!came) s->result.wrong = "a slice came from a node that was lost";
}

// ---- ranges -------------------------------------------------------------------------------------

// Asks for the slices that the batches of slot `a` have for the range, once all of these are made.
static void fetch(Shuffle *s, uint32_t g, uint32_t a) {
    const ShuffleLoad *load = s->load;
    Range *range = &s->range[g];
    int64_t bytes = s->slice_bytes / load->ranges;
    uint32_t files = s->how->merges ? 1 : load->batch_maps;
    for (uint32_t b = a * load->batches, end = b + load->batches; b < end;) {
        uint32_t home = s->batch[b].home, count = 0;
        while (b < end && s->batch[b].home == home) b++, count++;
        double ready =
            read_disk(s, home, count * bytes, (int64_t)count * files * load->range_reducers);
        double at = move(s, home, range->owner, count * bytes, ready);
        range->arrives = later(range->arrives, at);
        if (home == s->doomed) range->doomed = later(range->doomed, at);
    }
    s->got[(size_t)g * s->nodes + a]++;
    if (s->load->sends_twice && g == 0 && a == 0) s->got[0]++;
    if (--range->missing == 0)
        happen(s, (Happens){range->arrives, .what = RANGE_READ, .id = g, .life = range->life});
}

static void begin_range(Shuffle *s, uint32_t g, uint32_t n) {
    const ShuffleLoad *load = s->load;
    Range *range = &s->range[g];
    range->state = RUNS, range->owner = n, range->life++, range->read = false;
    range->arrives = s->now, range->doomed = 0;
    if (s->how->pushes) {
        int64_t chunk = load->machine->buffers / 2;
        int64_t runs = s->how->sorts ? (load->node_bytes + chunk - 1) / chunk : 1;
        double at = read_disk(s, n, s->range_bytes, runs * load->range_reducers);
        happen(s, (Happens){at, .what = RANGE_READ, .id = g, .life = range->life});
        return;
    }
    range->missing = s->nodes;
    for (uint32_t i = 0; i < s->nodes; i++) {
        uint32_t a = (n + i) % s->nodes;
        if (s->slot[a].unmade == 0) fetch(s, g, a);
    }
}

static void range_read(Shuffle *s, const Happens *it) {
    Range *range = &s->range[it->id];
    judge_arrival(s, range->doomed);
    range->read = true;
    double done = compute(s, range->owner, s->range_bytes, s->now);
    happen(s, (Happens){done, .what = RANGE_COMPUTED, .id = it->id, .life = range->life});
}

static void range_computed(Shuffle *s, const Happens *it) {
    const Range *range = &s->range[it->id];
    double done = write_disk(s, range->owner, s->range_bytes, s->load->range_reducers);
    happen(s, (Happens){done, .what = RANGE_DONE, .id = it->id, .life = range->life});
}

// ---- who does what ------------------------------------------------------------------------------

static uint32_t waiting_batch(const Shuffle *s, uint32_t slot) {
    uint32_t b = slot * s->load->batches;
    while (s->batch[b].state != WAITS) b++;
    return b;
}

// A node does its own batches first, then those of the node that has the most left.
static bool start_batch(Shuffle *s, uint32_t n) {
    uint32_t from = n;
    if (s->batches_left == 0) return false;
    for (uint32_t i = 0; s->slot[n].batches_left == 0 && i < s->nodes; i++)
        if (s->slot[i].batches_left > s->slot[from].batches_left) from = i;
    uint32_t b = waiting_batch(s, from);
    s->slot[from].batches_left--, s->batches_left--;
    begin_batch(s, b, n, false);
    return true;
}

static bool start_range_of(Shuffle *s, uint32_t slot, uint32_t n) {
    for (uint32_t g = slot * s->load->ranges; g < (slot + 1) * s->load->ranges; g++) {
        if (s->range[g].state != WAITS || (s->how->pushes && s->range[g].owner != n)) continue;
        s->slot[slot].ranges_left--, s->ranges_left--;
        begin_range(s, g, n);
        return true;
    }
    return false;
}

// Rows that were sent to a node stay there; those that wait on the disks of others go to anyone.
static bool start_range(Shuffle *s, uint32_t n) {
    if (s->ranges_left == 0) return false;
    if (s->how->pushes) {
        if (s->slot[n].ready && s->slot[n].ranges_left && start_range_of(s, n, n)) return true;
        bool any = s->lost != UINT32_MAX && s->slot[s->lost].ready;
        return any && s->slot[s->lost].ranges_left && start_range_of(s, s->lost, n);
    }
    if (s->result.maps_end == 0) return false;
    uint32_t from = n;
    for (uint32_t i = 0; s->slot[n].ranges_left == 0 && i < s->nodes; i++)
        if (s->slot[i].ranges_left > s->slot[from].ranges_left) from = i;
    return start_range_of(s, from, n);
}

static void start(Shuffle *s, uint32_t n) {
    while (!s->node[n].dead && s->node[n].busy < s->load->slots &&
           (start_batch(s, n) || start_range(s, n)))
        s->node[n].busy++;
}

static void start_all(Shuffle *s) {
    for (uint32_t n = 0; n < s->nodes; n++) start(s, n);
}

static void batch_done(Shuffle *s, const Happens *it) {
    Batch *batch = &s->batch[it->id];
    uint32_t slot = slot_of_batch(s, it->id), home = batch->home;
    batch->state = MADE;
    s->slot[slot].unmade--, s->unmade--;
    if (!it->again) s->node[home].busy--;
    if (s->unmade == 0 && s->result.maps_end == 0) {
        s->result.maps_end = s->now;
        start_all(s);
    }
    // Ranges that could not read from the slot go on.
    bool goes_on = !s->how->pushes && it->again && !s->slot[slot].unmade;
    for (uint32_t g = 0; goes_on && g < s->range_count; g++)
        if (s->range[g].state == RUNS && !s->range[g].read && !s->got[(size_t)g * s->nodes + slot])
            fetch(s, g, slot);
    start(s, home);
}

static void slot_ready(Shuffle *s, const Happens *it) {
    Slot *slot = &s->slot[it->id];
    if (slot->ready || slot->arrived < s->batch_count || slot->arrives > s->now) return;
    slot->ready = true;
    judge_arrival(s, slot->doomed);
    if (it->id == s->lost) {
        for (uint32_t n = 0; n < s->nodes; n++) flush(s, n);
        start_all(s);
    } else {
        flush(s, it->id);
        start(s, it->id);
    }
}

static void range_done(Shuffle *s, const Happens *it) {
    Range *range = &s->range[it->id];
    range->state = MADE;
    s->undone--;
    s->node[range->owner].busy--;
    s->result.seconds = s->now;
    start(s, range->owner);
}

// ---- a lost node --------------------------------------------------------------------------------

static bool is_done(const Shuffle *s, uint32_t slot) {
    bool done = true;
    for (uint32_t g = slot * s->load->ranges; g < (slot + 1) * s->load->ranges; g++)
        done &= s->range[g].state == MADE;
    return done;
}

// Ranges that the lost node had not finished begin anew elsewhere, each on another node.
static void move_ranges(Shuffle *s) {
    for (uint32_t g = 0; g < s->range_count; g++) {
        Range *range = &s->range[g];
        bool there = range->owner == s->lost && range->state != MADE;
        if (!there) continue;
        if (range->state == RUNS) {
            s->slot[slot_of_range(s, g)].ranges_left++, s->ranges_left++;
            if (!s->how->pushes) memset(&s->got[(size_t)g * s->nodes], 0, s->nodes);
        }
        range->state = WAITS, range->life++;
        range->owner = alive(s, s->lost + 1 + g % s->load->ranges);
    }
}

// Has somebody what batch `b` holds for the slot, or does nobody need it any more?
static bool is_safe(const Shuffle *s, uint32_t b, uint32_t slot) {
    return s->got[(size_t)b * s->nodes + slot] || is_done(s, slot);
}

// Slices that were sent to the lost node are gone; so are those that were on their way from it.
static void forget_slices(Shuffle *s) {
    Slot *slot = &s->slot[s->lost];
    bool done = is_done(s, s->lost);
    for (uint32_t b = 0; b < s->batch_count; b++) {
        Batch *batch = &s->batch[b];
        uint8_t *got = &s->got[(size_t)b * s->nodes];
        if (!done) got[s->lost] = 0;
        bool away = batch->sent && batch->home == s->lost && batch->arrived > s->now;
        for (uint32_t c = 0; away && c < s->nodes; c++) {
            if (!got[c] || c == s->lost || s->slot[c].ready) continue;
            got[c] = 0, s->slot[c].arrived--, s->slot[c].doomed = 0;
        }
    }
    if (!done) slot->arrived = 0, slot->ready = false, slot->arrives = s->now;
    s->node[s->lost].buffered = 0;
}

// Of pulls: what was read from the lost node and is not all there is asked for again.
static void forget_reads(Shuffle *s, const bool *touched) {
    for (uint32_t g = 0; g < s->range_count; g++) {
        Range *range = &s->range[g];
        if (range->state != RUNS || range->read) continue;
        range->life++;
        for (uint32_t a = 0; a < s->nodes; a++) {
            uint8_t *got = &s->got[(size_t)g * s->nodes + a];
            if (touched[a] && *got) *got = 0, range->missing++, range->doomed = 0;
        }
        if (range->missing == 0)
            happen(s, (Happens){range->arrives, .what = RANGE_READ, .id = g, .life = range->life});
    }
}

static void run_again(Shuffle *s, uint32_t b) {
    Batch *batch = &s->batch[b];
    uint32_t n = s->node[batch->home].dead ? alive(s, batch->home + 1 + b) : batch->home;
    if (batch->state == MADE) s->slot[slot_of_batch(s, b)].unmade++, s->unmade++;
    else if (!s->node[batch->home].dead) s->node[batch->home].busy--;
    s->result.remade++;
    begin_batch(s, b, n, true);
}

// Does the loss take something of a made batch that somebody still needs, and nobody has?
static bool is_lost(const Shuffle *s, uint32_t b, bool reading) {
    const Batch *batch = &s->batch[b];
    bool kept = s->how->keeps && !s->node[batch->home].dead;
    if (!s->how->pushes) return !kept && reading;
    bool safe = true;
    for (uint32_t c = 0; !kept && safe && c < s->nodes; c++) safe = is_safe(s, b, c);
    return !safe;
}

// How many batches have to run again, by the rule of each strategy: those of the lost node, or all
// that sent something there where nobody else has it. `run_again` looks at each slice instead.
static uint32_t expected_again(const Shuffle *s, bool reading) {
    uint32_t there = 0, sent = 0, unsent = 0;
    for (uint32_t b = 0; b < s->batch_count; b++) {
        const Batch *batch = &s->batch[b];
        bool on_lost = batch->state != WAITS && batch->home == s->lost;
        there += on_lost, sent += batch->sent, unsent += on_lost && !batch->sent;
    }
    if (!s->how->pushes) return reading ? there : 0;
    if (is_done(s, s->lost)) return unsent;
    return s->how->keeps ? there : sent + unsent;
}

static void lose(Shuffle *s) {
    s->lost = s->doomed;
    s->node[s->lost].dead = true;
    bool *touched = calloc(s->nodes, sizeof *touched), reading = false;
    if (!touched) abort();
    move_ranges(s);
    if (s->how->pushes) forget_slices(s);
    for (uint32_t g = 0; g < s->range_count; g++)
        reading |= s->range[g].state == WAITS || (s->range[g].state == RUNS && !s->range[g].read);
    s->result.expected = expected_again(s, reading);
    for (uint32_t b = 0; b < s->batch_count; b++)
        touched[slot_of_batch(s, b)] |= s->batch[b].state == MADE && s->batch[b].home == s->lost;
    if (!s->how->pushes) forget_reads(s, touched);
    for (uint32_t b = 0; b < s->batch_count; b++) {
        Batch *batch = &s->batch[b];
        bool there = batch->home == s->lost, sent = batch->state == MADE || batch->sent;
        if (batch->state == WAITS) continue;
        bool gone = sent ? is_lost(s, b, reading) : there;
        bool resends = s->how->pushes && sent && !gone && !is_safe(s, b, s->lost);
        if (gone) run_again(s, b);
        if (resends) send_spread(s, b, s->lost, true);
    }
    free(touched);
    start_all(s);
}

// ---- a run --------------------------------------------------------------------------------------

static bool is_current(const Shuffle *s, const Happens *it) {
    switch (it->what) {
    case BATCH_COMPUTED: case BATCH_DONE: return s->batch[it->id].life == it->life;
    case RANGE_READ: case RANGE_COMPUTED: case RANGE_DONE:
        return s->range[it->id].life == it->life;
    case BUFFER_FULL: case SLOT_READY: case LOSS: break;
    }
    return true;
}

static void step(Shuffle *s, const Happens *it) {
    switch (it->what) {
    case BATCH_COMPUTED: batch_computed(s, it); break;
    case BATCH_DONE: batch_done(s, it); break;
    case BUFFER_FULL: write_buffer(s, it->id, s->load->machine->buffers / 2); break;
    case SLOT_READY: slot_ready(s, it); break;
    case RANGE_READ: range_read(s, it); break;
    case RANGE_COMPUTED: range_computed(s, it); break;
    case RANGE_DONE: range_done(s, it); break;
    case LOSS: lose(s); break;
    }
}

static void open_nodes(Shuffle *s) {
    uint64_t random = s->load->seed;
    for (uint32_t n = 0; n < s->nodes; n++) {
        bool slow = s->load->slow_one_in && draw(&random) % s->load->slow_one_in == 0;
        s->node[n].slow = slow ? 2 : 1;
        s->slot[n] = (Slot){.batches_left = s->load->batches, .ranges_left = s->load->ranges,
                            .unmade = s->load->batches};
    }
    for (uint32_t b = 0; b < s->batch_count; b++) s->batch[b].home = slot_of_batch(s, b);
    for (uint32_t g = 0; g < s->range_count; g++) s->range[g].owner = slot_of_range(s, g);
}

// Each slice came once to where it was used.
static const char *check(const Shuffle *s) {
    uint32_t rows = s->how->pushes ? s->batch_count : s->range_count;
    if (s->undone) return "not all ranges were made";
    for (size_t i = 0; i < (size_t)rows * s->nodes; i++)
        if (s->got[i] != 1) return s->got[i] ? "a slice came twice" : "a slice did not come";
    return nullptr;
}

ShuffleResult shuffle_run(const ShuffleLoad *load, ShuffleId strategy) {
    Shuffle s = {.load = load, .how = &strategies[strategy], .nodes = load->nodes,
                 .lost = UINT32_MAX, .doomed = UINT32_MAX};
    s.batch_count = s.batches_left = s.unmade = load->nodes * load->batches;
    s.range_count = s.ranges_left = s.undone = load->nodes * load->ranges;
    s.batch_bytes = load->node_bytes / load->batches;
    s.range_bytes = load->node_bytes / load->ranges;
    s.slice_bytes = s.batch_bytes / load->nodes;
    uint32_t rows = s.batch_count > s.range_count ? s.batch_count : s.range_count;
    s.node = calloc(s.nodes, sizeof *s.node), s.slot = calloc(s.nodes, sizeof *s.slot);
    s.batch = calloc(s.batch_count, sizeof *s.batch);
    s.range = calloc(s.range_count, sizeof *s.range);
    s.got = calloc(rows, s.nodes);
    if (!s.node || !s.slot || !s.batch || !s.range || !s.got) abort();
    open_nodes(&s);
    if (load->lost_at > 0) s.doomed = (uint32_t)(load->seed % s.nodes);
    if (load->lost_at > 0) happen(&s, (Happens){load->lost_at, .what = LOSS});
    start_all(&s);
    while (s.heap_count > 0) {
        Happens it = next(&s);
        s.now = it.at;
        if (is_current(&s, &it)) step(&s, &it);
    }
    if (!s.result.wrong) s.result.wrong = check(&s);
    free(s.node), free(s.slot), free(s.batch), free(s.range), free(s.got), free(s.heap);
    return s.result;
}

// Ledger: the hard half of the memory promise. What it has given never passes what it may give.
// Each node has one.
//
// Each stage has a reserve on each node, enough for one task that hands over one partition at a
// time. It is scratch, an output, and an input where that may have to come from elsewhere. Only the
// first unfinished work of the stage may use the reserve, so that this work can always move. Each
// breaker has its floor. The common pool is what the reserves and floors leave.
//
// A row may be longer than anybody thought. What a partition has beyond its stage's room is taken
// from the common pool even where it is not there. Nothing more is given of the pool then until
// enough came back; reserves and floors stay what they are, so that work goes on.
//
// Of a partition that goes to disk a stub stays in memory. Nobody can do without it, so that stubs
// are taken where nothing is there, too, but for what was set aside for them.
//
// A task that has come to such a row may say before how much it takes. If that is not there, it
// waits, and as long as one does, others get nothing of the pool: what they have comes back. When
// nothing else moves, it gets its bytes even where they are not there.
#ifndef SBC_RUNTIME_CORE_LEDGER_H
#define SBC_RUNTIME_CORE_LEDGER_H

#include "runtime/core/shape.h"

// The least that a live partition is charged: so few bytes bound the number of records.
enum : int64_t { PARTITION_BYTES_MIN = 64 << 10 };
static inline int64_t ledger_charged(int64_t bytes) {
    return bytes < PARTITION_BYTES_MIN ? PARTITION_BYTES_MIN : bytes;
}

// What a task needs bytes for.
typedef enum Room : uint8_t {
    ROOM_SCRATCH,
    ROOM_OUTPUT,  // One partition that it makes.
    ROOM_INPUT,   // The partitions that it reads, where they come from disk or another node.
    ROOM_AGAIN,   // The same three, of a task that makes lost partitions again.
    ROOMS = ROOM_AGAIN + 3,
} Room;

// Whose bytes they are: of the common pool, or of the reserve of a stage.
typedef enum Purse : uint8_t { PURSE_NONE, PURSE_COMMON, PURSE_RESERVE } Purse;

// The same on every node.
typedef struct Reserves {
    int64_t rooms[ROOMS][STAGES_MAX];
    int64_t tasks[STAGES_MAX];  // Scratch, output and input of a task together.
    int64_t floors[BREAKERS_MAX];
    int64_t minimum;  // All of it together.
} Reserves;

typedef struct Ledger {
    int64_t common, common_used;
    int64_t owed;       // Of `common`: what is to go as soon as it comes back.
    int64_t breakers;   // Of common_used: what breakers hold beyond their floors.
    int64_t tasks_max;  // How much of `common` all but breakers may take.
    int64_t tasks_part; // That breakers leave to tasks.
    int64_t over;  // Of what is used: what partitions have beyond their stage's room, stubs, and
                   // what was given where it was not there.
    int64_t stubs; // Bytes of stubs, those set aside for them included.
    uint32_t waiting;  // Tasks that wait for bytes which they must have.
    int64_t reserved_used, peak;  // peak: most bytes ever given, reserves in use included.
    // Stages whose reserve is in use, as bits: by word, so that one word of all rooms is together.
    uint64_t used[BITS_WORDS][ROOMS];
    int64_t held[BREAKERS_MAX];   // What breakers keep on the node.
} Ledger;

void reserves_make(Reserves *reserves, const CorePlan *plan, const Shape *shape);
// False: the memory of the node is below the minimum.
bool ledger_init(Ledger *ledger, const Reserves *reserves, int64_t memory);

// The node has another `memory` from now on, the minimum at least. What was given beyond is owed.
void ledger_set(Ledger *ledger, const Reserves *reserves, int64_t memory);
// What came back goes to what is owed. False: nothing did.
bool ledger_pay(Ledger *ledger);

// Room for a task of the stage. `first`: it may use the reserve.
Purse ledger_take(Ledger *ledger, const Reserves *reserves, Room room, StageId stage, bool first);
// `bytes`: what came to be in it. A reserve comes back as a whole.
void ledger_give(Ledger *ledger, const Reserves *reserves, Room room, StageId stage, Purse purse,
                 int64_t bytes);
// What is in the room, which was taken, is now known: the rest of common memory comes back, what is
// missing is taken.
void ledger_fit(Ledger *ledger, const Reserves *reserves, Room room, StageId stage, Purse purse,
                int64_t bytes);

// Bytes of the common pool that a room takes with so many bytes in it.
int64_t ledger_common_of(const Reserves *reserves, Room room, StageId stage, Purse purse,
                         int64_t bytes);

// Of the common pool, what tasks and partitions may still take.
int64_t ledger_left_for_tasks(const Ledger *ledger);
// Any number of bytes of the common pool.
bool ledger_take_bytes(Ledger *ledger, int64_t bytes);
void ledger_give_bytes(Ledger *ledger, int64_t bytes);
// The same, whether they are there or not. Returns how many were not: these go back to `over`.
int64_t ledger_force_bytes(Ledger *ledger, int64_t bytes);

// A partition has gone to disk, or one that was there is freed (`bytes` < 0). `free`: bytes of
// stubs that are not of the ledger's memory.
void ledger_stub(Ledger *ledger, int64_t free, int64_t bytes);
// Bytes of the common pool that stubs take.
int64_t ledger_stubs_common(const Ledger *ledger, int64_t free);

// Bytes that a breaker keeps: up to its floor they are always there.
bool ledger_hold(Ledger *ledger, const Reserves *reserves, BreakerId breaker, int64_t bytes);
void ledger_release(Ledger *ledger, const Reserves *reserves, BreakerId breaker, int64_t bytes);
// Of the common pool.
int64_t ledger_held_common(const Ledger *ledger, const Reserves *reserves, BreakerId breaker);

// Bytes that one output may take at most; 0: the stage hands nothing over.
int64_t ledger_output_bytes(const CoreStage *stage);

#endif

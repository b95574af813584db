// Shuffle: rows of all nodes come to all nodes, by four strategies, in virtual time.
//
// A node runs *batches* of maps, and then *ranges* of reducers. Each batch has a slice for each
// range. A strategy says how slices come to the node of their range (docs/shuffle.md).
#ifndef SBC_TESTS_SIM_SHUFFLE_H
#define SBC_TESTS_SIM_SHUFFLE_H

#include <stdint.h>

typedef enum ShuffleId : uint8_t {
    SHUFFLE_SIMPLE,  // Reducers read what each map has written.
    SHUFFLE_MERGED,  // The maps of a batch write one file together.
    SHUFFLE_PUSHED,  // Maps write, and send the same to the nodes of the reducers.
    SHUFFLE_READER,  // Maps send; who receives merges and writes. Nobody else keeps a copy.
    SHUFFLES,
} ShuffleId;

// What a node has.
typedef struct ShuffleMachine {
    const char *name;
    double disk_rate, seek;      // Bytes a second of all its disks; seconds of a random access.
    double net_rate, cpu_rate;   // Bytes a second, each way; of maps and of reducers.
    int64_t buffers;             // Bytes for slices on their way.
} ShuffleMachine;

typedef struct ShuffleLoad {
    const ShuffleMachine *machine;
    uint32_t nodes;
    int64_t node_bytes;                  // Of the input, a node.
    uint32_t batches, ranges;            // A node.
    uint32_t batch_maps, range_reducers; // Maps of a batch, reducers of a range.
    uint32_t slots;                      // Batches and ranges of a node at once.
    uint32_t slow_one_in;                // One node in so many has slow disks; 0: none.
    uint64_t seed;                       // Which nodes are slow, and which one is lost.
    double lost_at;                      // Seconds; 0: none is.
    bool sends_twice;                    // The machine is wrong: that must be found.
} ShuffleLoad;

typedef struct ShuffleResult {
    const char *wrong;             // Null: all is well.
    double seconds, maps_end;      // maps_end: when the last batch was made first.
    int64_t read, written, moved;  // Bytes of disks, and between nodes.
    int64_t random_reads;
    uint32_t remade;               // Batches that ran again after a loss,
    uint32_t expected;             // and how many had to, by the rule of the strategy.
} ShuffleResult;

const char *shuffle_name(ShuffleId strategy);
// Seconds that no strategy beats: 4 D / disks, D / network.
double shuffle_bound(const ShuffleLoad *load);
ShuffleResult shuffle_run(const ShuffleLoad *load, ShuffleId strategy);

// The table for so many nodes with 100 GB each. Adds its good rows to *passed, and returns how many
// are not.
unsigned shuffle_print(uint32_t nodes, uint64_t seed, unsigned *passed);
// Small ones with slow and lost nodes; the order of the strategies; a slice that comes twice must
// be found. Counts and returns the same.
unsigned shuffle_seeds(uint64_t first, uint64_t last, unsigned *passed);

#endif

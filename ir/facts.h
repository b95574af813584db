// Facts: what a pass relies on beyond a well-formed graph or plan.
//
// A pass declares the facts that it needs, gives and breaks. The runner keeps the set that holds,
// and refuses a pass that lacks one: so no wrong order runs.
#ifndef SBC_IR_FACTS_H
#define SBC_IR_FACTS_H

#include "ir/text.h"

// FACT(name, text, meaning): first those of a graph, then those of a plan. docs/ir.md has them too.
#define EACH_FACT(FACT)                                                                           \
    FACT(WRITTEN, "written", "every use of a column is one that the program wrote")               \
    FACT(READS, "reads", "columns say whether they count as `read`, or are `unread`")             \
    FACT(SPELLED, "spelled", "sinks have the spellings that they can copy")                       \
    FACT(JOINED, "joined", "spellings that a sink copies side by side are one")                   \
    FACT(FOLDED, "folded", "no node is left that `fold` decides")                                 \
    FACT(MERGED, "merged", "equal work of a row is one node")                                     \
    FACT(LIVE, "live", "a sink needs every operator, and somebody reads every computed column")   \
    FACT(PROVEN, "proven", "nodes that provably cannot fault say so")                             \
    FACT(STAGES, "stages", "operators stand in stages, between borders and breakers")             \
    FACT(ENTRIES, "entries", "breakers and edges know what they keep of a row, and where")        \
    FACT(COUNTED, "counted", "steps know whether they count the rows that come in")               \
    FACT(LOOPS, "loops", "stages know which of their members run as loops over columns")          \
    FACT(KERNELS, "kernels", "stages for a GPU know which of their members kernels compute")       \
    FACT(PLACED, "placed", "stages know why they run in the job itself, if they do")              \
    FACT(SIZED, "sized", "stages and the job have their estimates of memory")

typedef enum FactIndex {
#define FACT(name, text, meaning) INDEX_##name,
    EACH_FACT(FACT)
#undef FACT
    FACT_COUNT
} FactIndex;

typedef uint32_t Facts;  // A set of facts.

enum : Facts {
#define FACT(name, text, meaning) FACT_##name = (Facts)1 << INDEX_##name,
    EACH_FACT(FACT)
#undef FACT
};

const char *fact_name(FactIndex fact);
const char *fact_meaning(FactIndex fact);

// The facts that hold after a pass, from those before it.
static inline Facts facts_after(Facts before, Facts gives, Facts breaks) {
    return (before & ~breaks) | gives;
}

// Has `holds` all that the pass needs? If not, `errors` names each missing fact on a line.
bool facts_meet(Facts holds, Facts needs, const char *pass, TextBuf *errors);

#ifdef NDEBUG
enum : bool { PASSES_CHECKED = false };
#else
enum : bool { PASSES_CHECKED = true };
#endif

// Unless all is good, a debug build prints the mistake and the errors, and aborts.
// Frees the errors.
void pass_must(bool good, TextBuf *errors, const char *mistake, const char *pass);

#endif

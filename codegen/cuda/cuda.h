// Cuda: the kernels of a stage for a GPU, as CUDA C.
//
//   plan ─ render.c ─▶ CUDA C ─ compiler.c ─▶ cubins for each architecture, PTX
//             │ expr.c: nodes to statements; reduce.c: reductions; keep.c: rows that stay
//             └ table.c: an operator is a template, a type a name, the dialect a struct of strings
//
// The text includes device.cuh and nothing else, so that it compiles for the host too: the tests
// run it there (tests/cuda).
//
// What a kernel is called with, as one struct:
//
//   i64 rows            how many rows it computes: rows times elements of a row stay below 2^31
//   u8 *status          a byte for each row
//   u8 *some            a byte for all of them
//   u64 *groups         the table of a kernel that fills groups
//   u32 *kept, *counts  of kernels that bring kept rows together: how many rows there are in all,
//                       and in each SB_KERNEL_SEGMENT; zero before the first kernel
//   u8 *columns         where these rows go, column by column
//   const T *, u8 *     by column that it reads; the second only where values may be null
//   T *, u8 *           by column that it gives
//   T                   by parameter of the job, in 8 bytes
//
// Columns lie one value after the other, tensors one row after the other. A null has a zero in its
// column of u8, and any value. Status bytes are zero before the first kernel of a stage. After the
// last one a byte is zero, CUDA_FILTERED(n) where the stage's filter n takes the row out, or the
// CPU judges the row. Kernels write `some` with the first of them: where it stays zero, nobody has
// to write or read a byte for each row.
#ifndef SBC_CODEGEN_CUDA_H
#define SBC_CODEGEN_CUDA_H

#include "ir/plan.h"
#include "runtime/abi/kernel.h"

// Two bits below are for rows that the CPU judges.
enum { CUDA_FILTERS_MAX = UINT8_MAX / 4 };
#define CUDA_FILTERED(n) (4 * ((n) + 1))

typedef struct CudaColumn {
    KernelItem  item;  // What gives it: of member 0 a column of the root.
    const Type *type;
    bool        tile;  // Of a kernel over rows: a tensor of numbers that the row lists.
    bool        temp;  // Stays on the GPU. Of `item` the second is an expression of the member.
    uint32_t    pad;   // Of what a product reads: its elements with zeros at the end; 0: none.
} CudaColumn;

static inline bool cuda_same_column(const CudaColumn *a, const CudaColumn *b) {
    return a->temp == b->temp && a->pad == b->pad && a->item.member == b->item.member &&
           a->item.column == b->item.column;
}

// Which threads take a segment of a tensor, along an axis that reductions go over (reduce.c).
typedef enum CudaTeam {
    CUDA_ALONE,   // None: the kernel goes over elements or rows.
    CUDA_THREAD,  // Each its own.
    CUDA_WARP,    // Lanes of a warp.
    CUDA_BLOCK,   // All of a block.
} CudaTeam;

// What a kernel that fills groups puts into its table, and what the job makes of it: numbers of 64
// bits.
//
//   rows taken out, by filter    rows that are in groups    slot, slot, ...
//
// A slot has the key, the complement of the first row, words, and the upper halves of sums of 128
// bits (group.cuh). All is zero before
// the launch. A slot whose first row is zero holds nothing. The parts of a key stand one after the
// other, the last one in the lowest bits; the bit above the first one is set. A part that may be
// null has its lowest bit set where it is not.
typedef struct CudaKeyPart {
    const Type *type;
    uint32_t    bits;        // With the one for nulls.
} CudaKeyPart;

typedef struct CudaGroupAgg {
    KernelAgg kind;
    uint32_t  value, count;  // Words; of KERNEL_BOOLS how many are true, and how many are not.
    uint32_t  beyond;        // Of KERNEL_SUM: the upper half.
} CudaGroupAgg;

typedef struct CudaGroups {
    OpId          op;
    uint32_t      heads;     // Numbers before the slots.
    uint32_t      slots;     // A power of two.
    uint32_t      words;
    uint32_t      stride;    // Numbers of a slot.
    uint64_t      greatest;  // Bit i: of word i the greatest stays.
    uint64_t      wide;      // Bit i: word i is the lower half of a sum.
    uint32_t      hot;       // Groups of a block for which each lane has words.
    uint32_t      lanes;     // Of a block.
    CudaKeyPart  *parts;     // By key.
    CudaGroupAgg *aggs;      // By aggregate; of those that own no state KERNEL_NO_AGG.
} CudaGroups;

// A product of matrices by cuBLASLt in place of a kernel: its input is the left side.
typedef struct CudaProduct {
    PlanProduct of;
    uint32_t    k;              // With what the input is padded by.
    Text        weights, bias;  // In the element type; the second may be empty.
} CudaProduct;

// What one launch does.
typedef struct CudaKernel {
    Text        name;          // By its content: equal kernels have one name.
    Text        text;          // Its part of the unit.
    const Type *shape;         // The tensor whose elements lanes go over. Null: they go over rows.
    CudaTeam    team;          // They go over segments of the shape.
    uint32_t    size;          // Elements of a segment.
    uint64_t    lanes;         // That the segments of a row take.
    uint32_t    width;         // Rows, or elements, that a lane takes at once.
    uint32_t    turn;          // How many such packs it loads before it computes.
    uint32_t    blocks;        // Of a launch at most, for each processor of the GPU.
    bool        tiled;         // Some outputs are put together in shared memory.
    double      work_ns;       // Of a row: its arithmetic on a whole GPU, as ir/plan_cost.h has it.
    CudaGroups *groups;        // That it fills; null: it gives columns.
    uint32_t    filters;       // It tells which of so many filters takes a row out; 0: it does not.
    CudaProduct *product;      // Null: it is a kernel.
    uint8_t      keeps;        // SB_KERNEL_COUNTS or SB_KERNEL_MOVES: what a stage gives is moved.
    CudaColumn *inputs;  size_t input_count, input_cap;
    CudaColumn *outputs; size_t output_count, output_cap;
    uint32_t   *params;  size_t param_count, param_cap;  // Numbers of the job's parameters.
} CudaKernel;

typedef struct CudaUnit {
    Text        text;
    CudaKernel *kernels; size_t kernel_count, kernel_cap;  // In the order of their launches.
    CudaColumn *temps;   size_t temp_count, temp_cap;      // What one kernel gives and others read.
} CudaUnit;

// A unit as code for one architecture.
typedef struct CudaPart {
    unsigned architecture;  // 90 for sm_90.
    bool     is_ptx;        // It runs on later architectures too.
    Text     bytes;
} CudaPart;

// Source files by Span.file, for #line.
typedef struct CudaSources {
    const Text *paths, *texts;
    size_t      count;
} CudaSources;

// Renders the kernels of a stage whose KernelPart is not empty.
CudaUnit cuda_render(Arena *arena, const Plan *plan, const Stage *stage, CudaSources sources);

// Appends the kernels of all stages of the plan: --dump=cuda.
void cuda_print(TextBuf *buf, Arena *arena, const Plan *plan, CudaSources sources);

// What kernels include: device.cuh, reduce.cuh and the functions of the library.
typedef struct CudaHeader {
    const char *name;
    Text        text;
} CudaHeader;

enum { CUDA_HEADERS = 9 };
extern const CudaHeader cuda_headers[CUDA_HEADERS];

#endif

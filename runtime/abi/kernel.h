// Kernels of a stage for a GPU: what code generation says of them, and what they gave.
//
// Code generation writes an SbKernels for a stage. runtime/task takes columns out of entries, and
// runtime/device launches. codegen/cuda/cuda.h says what a kernel is called with.
#ifndef SBC_RUNTIME_ABI_KERNEL_H
#define SBC_RUNTIME_ABI_KERNEL_H

#include "runtime/abi/value.h"

// Lanes of a block. Kernels whose lanes share memory have room for as many.
enum { SB_KERNEL_LANES = 256 };

// Rows that a filter takes out, or that the CPU judges, may stay on the GPU. Then two kernels come
// after all others: one counts the other rows, by segment, and one moves these to the columns that
// come back.
enum { SB_KERNEL_COUNTS = 1, SB_KERNEL_MOVES, SB_KERNEL_SEGMENT = 4096 };

// A column that kernels read of entries, or that they give.
typedef struct SbKernelColumn {
    uint32_t offset;      // Of one that is read: where the value lies in the entry.
    uint32_t size;        // Bytes of a value, or of an element of a tensor.
    int64_t  elements;    // Of a tensor; 0: a number.
    uint8_t  nullable;    // A byte after the value says whether there is one.
    int64_t  filled;      // Elements that an entry has; zeros come after them.
} SbKernelColumn;

// A product of matrices in place of a kernel: each row of the launch has `rows` rows of k elements.
// Weights have k rows of n. Sums are f32; results are of the type of the elements.
enum { SB_PRODUCT_F32, SB_PRODUCT_F16, SB_PRODUCT_BF16 };

typedef struct SbKernelProduct {
    uint32_t k, n;
    int64_t  rows;
    uint8_t  type;             // SB_PRODUCT_F32 and its like.
    uint8_t  relu;             // What is below zero becomes zero.
    SbStr    weights, bias;    // The second is added to each row; empty: there is none.
} SbKernelProduct;

typedef struct SbKernel {
    SbStr    name;
    const SbKernelProduct *product;  // Null: it is a kernel.
    int64_t  elements;         // That a row has of what lanes go over, or the lanes it takes.
    uint32_t width;            // How many of them a lane takes at once.
    uint32_t lanes;            // Of a block.
    uint8_t  groups;           // It fills the table of groups.
    uint8_t  keeps;            // SB_KERNEL_COUNTS, SB_KERNEL_MOVES; 0: it is another one.
    uint32_t blocks;           // Of a launch at most, for each processor of the GPU.
    // Numbers of columns in SbKernels; those from its input_count or output_count on are of temps.
    // One that moves kept rows has none here: it takes all outputs.
    const uint32_t *inputs;
    uint32_t input_count;
    const uint32_t *outputs;
    uint32_t output_count;
    const uint32_t *params;    // Pairs: the number of a parameter of the job, and its bytes.
    uint32_t param_count;
} SbKernel;

typedef struct SbKernelCode {
    uint32_t architecture;     // 90 for sm_90.
    uint8_t  is_ptx;           // It runs on later architectures too.
    SbStr    bytes;
} SbKernelCode;

struct SbTask;

typedef struct SbKernels {
    const SbKernel *items;     // In the order of their launches.
    uint32_t count;
    const SbKernelColumn *inputs;
    uint32_t input_count;
    const SbKernelColumn *outputs;
    uint32_t output_count;
    const SbKernelColumn *temps;  // One kernel gives them, others read them: they stay on the GPU.
    uint32_t temp_count;
    const SbKernelCode *codes;
    uint32_t code_count;
    uint32_t toolkit;          // That the codes are of: 13050 for CUDA 13.5.
    int64_t  rows;             // Of a launch at most; 0: the program does not say.
    int64_t  groups_bytes;     // Of the table of groups; 0: no kernel fills one.
    uint8_t  approx;           // Some are products: all rows are computed by GPUs, or none is.
    uint8_t  keeps;            // Columns come back without rows whose status is not 0.
    uint8_t  eager;            // Fewer than `rows` are launched as soon as a task can.
    // Where a source has columns: lays those of so many rows of the task's input, from number `row`
    // on, at `to`, by input. Null: rows are entries.
    void   (*lay)(struct SbTask *task, int64_t row, int64_t rows, char *const *to);
    int64_t  stride;           // From a row's number to that of the next one.
} SbKernels;

// What kernels gave for the rows first .. first + count - 1 of a task's input.
typedef struct SbKernelRows {
    int64_t  first, count;
    const uint8_t *status;     // By row: not 0 where the CPU judges it. Null: it judges all.
    int64_t  at;               // The row that generated code is at, counted from `first`. Where
                               // kept rows alone have come back: its place among these.
    int64_t  counted, kept;    // How many of the first rows have been counted, and are kept.
    const uint64_t *groups;    // The table, of kernels that fill one: rows whose status is 0 are
                               // in it, and generated code has only to take it over.
    uint64_t order;            // Of these: the order key of row `first`, and that after the last
    uint64_t order_end;        // row; 0: there are none.
    char   **values;           // By output.
    uint8_t **valid;           // By output that may be null.
} SbKernelRows;

#endif

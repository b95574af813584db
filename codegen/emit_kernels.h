// Kernels of a stage: what the files that emit their launches share.
#ifndef SBC_CODEGEN_EMIT_KERNELS_H
#define SBC_CODEGEN_EMIT_KERNELS_H

#include "codegen/emit_stage.h"

// Columns that kernels read, or give, each once: SbKernels numbers them so.
typedef struct KernelColumns {
    CudaColumn *items;
    size_t      count, cap;
} KernelColumns;

KernelColumns kernel_columns(Emit *e, const Stage *stage, bool outputs);
uint32_t kernel_column_number(Emit *e, KernelColumns *all, KernelItem item, const Type *type);

// Launches for the row, and more, unless its launch is there. Where the CPU judges the row, goes to
// `judged`; the builder goes on with the others. Returns the status bytes of the launch.
Val kernels_fill(Emit *e, Val number, Block judged);

// The place of the row in a launch: beyond all of them where it is not in this one.
Val kernels_place(Emit *e, Val number);

// ---- emit_kernel_columns.c ----------------------------------------------------------------------

// From a row's number to that of the next one.
int64_t kernel_stride(const Emit *e, const Stage *stage);

#endif

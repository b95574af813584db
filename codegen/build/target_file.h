// Target file: what a job is compiled for, from the YAML file of --target.
//
//     levels: [x86-64-v3, x86-64-v4]
//     gpus: [sm_80, sm_90]
//
// What a file does not name is as without it. `--target=native` names no file but the level of this
// machine.
#ifndef SBC_CODEGEN_BUILD_TARGET_FILE_H
#define SBC_CODEGEN_BUILD_TARGET_FILE_H

#include "ir/text.h"

enum { LEVEL_V3 = 1, LEVEL_V4 = 2, LEVELS_BOTH = 3 };  // As in CodegenOptions.levels.

enum { TARGET_GPUS_MAX = 32 };

typedef struct Target {
    unsigned levels;
    unsigned gpus[TARGET_GPUS_MAX];  // 90 for sm_90.
    uint32_t gpu_count;              // 0: the file names none.
} Target;

// The level of this machine; v3 if it is older.
unsigned target_native(void);

// What is wrong, each with file, line and caret.
typedef struct TargetMistakes {
    Text  *items;
    size_t count, cap;
} TargetMistakes;

// Reads `path`. False: there are mistakes.
bool target_file_read(Arena *arena, const char *path, Target *target, TargetMistakes *mistakes);

#endif

// Sass: the machine code of a cubin as text, by nvdisasm of the CUDA toolkit.
//
// $SBC_NVDISASM names the program, else it is found along PATH. Nothing else needs it.
#ifndef SBC_CODEGEN_CUDA_SASS_H
#define SBC_CODEGEN_CUDA_SASS_H

#include "ir/text.h"

// Adds the text, with the lines of the program that the code comes from. False: `error` says why
// there is none.
bool cuda_disassemble(Arena *arena, Text cubin, TextBuf *out, TextBuf *error);

#endif

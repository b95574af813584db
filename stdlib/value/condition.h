// Condition: choosing by equality and order, for values of any type.
#ifndef SBC_STDLIB_CONDITION_H
#define SBC_STDLIB_CONDITION_H

#include "runtime/abi/value.h"

int32_t sb_null_if(const SbType *type, const void *x, const void *y, void *out);
int32_t sb_clamp(const SbType *type, const void *x, const void *low, const void *high, void *out);
int32_t sb_greatest(const SbType *type, const void *x, const void *y, void *out);
int32_t sb_least(const SbType *type, const void *x, const void *y, void *out);

#endif

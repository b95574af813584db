// List: functions over lists of any element. `type` is the list's; elements stand in memory layout.
#ifndef SBC_STDLIB_LIST_H
#define SBC_STDLIB_LIST_H

#include "runtime/abi/call.h"

int64_t sb_list_len(SbList xs);
bool sb_list_contains(const SbType *type, SbList xs, const void *x);
int64_t sb_list_count_of(const SbType *type, SbList xs, const void *x);
int32_t sb_list_index_of(const SbType *type, SbList xs, const void *x, int64_t *out);

// SB_NULL beyond either end, and where the element itself is null. Negative: from the end.
int32_t sb_list_get(const SbType *type, SbList xs, int64_t index, void *out);
int32_t sb_list_first(const SbType *type, SbList xs, void *out);
int32_t sb_list_last(const SbType *type, SbList xs, void *out);
int32_t sb_list_min(const SbType *type, SbList xs, void *out);
int32_t sb_list_max(const SbType *type, SbList xs, void *out);

// Views.
SbList sb_list_slice(const SbType *type, SbList xs, int64_t begin, int64_t count);
SbList sb_list_slice_rest(const SbType *type, SbList xs, int64_t begin);

// Made in scratch memory: SB_OK or SB_FAULT_TOO_LARGE. Sorting is stable, nulls last.
int32_t sb_list_sort(SbCall *call, const SbType *type, SbList xs, SbList *out);
int32_t sb_list_sort_desc(SbCall *call, const SbType *type, SbList xs, SbList *out);
// The positions of the elements in that order; of the first of equal ones.
int32_t sb_list_argsort(SbCall *call, const SbType *type, SbList xs, SbList *out);
int32_t sb_list_argdistinct(SbCall *call, const SbType *type, SbList xs, SbList *out);
int32_t sb_list_argsort_desc(SbCall *call, const SbType *type, SbList xs, SbList *out);
int32_t sb_list_reverse(SbCall *call, const SbType *type, SbList xs, SbList *out);
int32_t sb_list_distinct(SbCall *call, const SbType *type, SbList xs, SbList *out);
// `type` is that of the list of lists.
int32_t sb_list_flatten(SbCall *call, const SbType *type, SbList xss, SbList *out);
int32_t sb_list_concat(SbCall *call, const SbType *type, SbList xs, SbList ys, SbList *out);
int32_t sb_list_intersect(SbCall *call, const SbType *type, SbList xs, SbList ys, SbList *out);
int32_t sb_list_except(SbCall *call, const SbType *type, SbList xs, SbList ys, SbList *out);
// Distinct elements in both of those in any, from 0 to 1; 1 where both lists are empty.
int32_t sb_list_jaccard(SbCall *call, const SbType *type, SbList xs, SbList ys, double *out);
int32_t sb_sequence(SbCall *call, int64_t begin, int64_t end, SbList *out);

// Of numbers. The sum of floats is exact, rounded once; of integers it faults beyond i64.
int32_t sb_list_sum_f64(SbCall *call, SbList xs, double *out);
int32_t sb_list_sum_i64(SbList xs, int64_t *out);
int32_t sb_list_mean_f64(SbCall *call, SbList xs, double *out);
int32_t sb_list_mean_i64(SbList xs, double *out);
bool sb_list_any(SbList xs);
bool sb_list_all(SbList xs);

#endif

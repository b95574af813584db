// Private to print.c and read*.c: the words of the text form that both must agree on.
#ifndef SBC_IR_FORM_H
#define SBC_IR_FORM_H

#include "ir/graph.h"

static const char *const form_fn_traits[] = {
    "fallible", "maybe", "call", "typed", "impure", "extern", "random", "costly",
    "out", "columns", "each", "cuts", "batch", "state", "alone",
    "python", "rows", "kernels",
};

static const char *const form_agg_traits[] = {
    "call", "typed", "order", "maybe", "fallible", "nulls", "columns",
    "looks", "sums", "narrow",
};

static const char *const form_handlers[] = {
    [ELSE_VALUE] = "value", [ELSE_REJECT] = "reject", [ELSE_FAIL] = "fail",
};

static const char *const form_places[] = {
    [PLACE_SOURCE] = "source", [PLACE_LINE] = "line", [PLACE_OFFSET] = "offset",
};

enum { FORM_DEPTH_MAX = 64 };  // Nesting of types and constants that the reader follows.

static_assert(1u << (countof(form_fn_traits) - 1) == FN_KERNELS);
static_assert(1u << (countof(form_agg_traits) - 1) == AGG_NARROW);

#endif

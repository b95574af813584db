#include "ir/type.h"

#include <math.h>

// By the definition of the types, for whoever has one number to round: constants, the interpreter.
static double round_half(double x, int fraction, int bias) {
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &exponent);  // Of a number from 0.5 to 1.
    int unit = exponent - 1 - fraction, least = 1 - bias - fraction;
    if (unit < least) unit = least;
    double rounded = ldexp(nearbyint(ldexp(x, -unit)), unit);
    bool large = fabs(rounded) >= ldexp(1, bias + 1);
    return large ? copysign((double)INFINITY, x) : rounded;
}

double type_round(const Type *type, double x) {
    if (type->kind == TYPE_F16) return round_half(x, 10, 15);
    if (type->kind == TYPE_BF16) return round_half(x, 7, 127);
    return type->kind == TYPE_F32 ? (double)(float)x : x;
}

#include "codegen/reference/half.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const HalfForm *half_form(TypeKind kind) {
    static const HalfForm f16 = {10, 15}, bf16 = {7, 127};
    return kind == TYPE_F16 ? &f16 : kind == TYPE_BF16 ? &bf16 : nullptr;
}

// strtod rounds towards zero and away from it. Where both differ, the odd one of them lies on the
// right side of every midpoint of the narrower type.
double half_read(const Type *type, const char *text) {
    int mode = fegetround();
    fesetround(FE_DOWNWARD);
    double below = strtod(text, nullptr);
    fesetround(FE_UPWARD);
    double above = strtod(text, nullptr);
    fesetround(mode);
    uint64_t bits;
    memcpy(&bits, &below, sizeof bits);
    return type_round(type, bits & 1 || below == above ? below : above);
}

double half_of_bits(const HalfForm *form, uint16_t bits) {
    int all = 2 * form->bias + 1, exponent = bits >> form->fraction & all;
    int fraction = bits & ((1 << form->fraction) - 1);
    double size = (double)NAN;
    if (exponent == all && !fraction) size = (double)INFINITY;
    else if (exponent == 0) size = ldexp(fraction, 1 - form->bias - form->fraction);
    else if (exponent < all)
        size = ldexp(fraction + (1 << form->fraction), exponent - form->bias - form->fraction);
    return bits >> 15 ? -size : size;
}

uint16_t half_bits(const HalfForm *form, double x) {
    int all = 2 * form->bias + 1, exponent;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return (uint16_t)(all << form->fraction | 1 << (form->fraction - 1));
    if (isinf(x)) return (uint16_t)(sign | all << form->fraction);
    frexp(x, &exponent);
    int stored = x == 0 ? 0 : exponent - 1 + form->bias;
    if (stored < 1) stored = 0;
    int unit = (stored ? stored : 1) - form->bias - form->fraction;
    int digits = (int)ldexp(fabs(x), -unit);
    if (stored) digits -= 1 << form->fraction;
    return (uint16_t)(sign | stored << form->fraction | digits);
}

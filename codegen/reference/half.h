// f16 and bf16 in the interpreter: their values are f64, rounded by the definition of the types.
#ifndef SBC_CODEGEN_REFERENCE_HALF_H
#define SBC_CODEGEN_REFERENCE_HALF_H

#include "ir/type.h"

typedef struct HalfForm {
    int fraction, bias;  // Bits of the fraction; what the stored exponent is greater by.
} HalfForm;

const HalfForm *half_form(TypeKind kind);  // Null: of another type.

// What strtod takes, rounded once to f16 or bf16.
double half_read(const Type *type, const char *text);

double   half_of_bits(const HalfForm *form, uint16_t bits);
uint16_t half_bits(const HalfForm *form, double x);  // Of a value of the type.

#endif

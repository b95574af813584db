"""Prints stdlib/number/number_powers.def: the powers of ten as 128-bit numbers, rounded down.

Run: python3 stdlib/number/number_powers.py > stdlib/number/number_powers.def
tests/unit/number_test.c checks every line against exact arithmetic of its own.
"""

for q in range(-342, 325):
    # 10^q = value * 2^shift with 2^127 <= value < 2^128.
    if q >= 0:
        power = 10 ** q
        shift = power.bit_length() - 128
        value = power >> shift if shift >= 0 else power << -shift
    else:
        power = 10 ** -q
        value = (1 << (127 + power.bit_length())) // power
        if value.bit_length() > 128:
            value >>= 1
    assert value.bit_length() == 128
    print(f"{{0x{value >> 64:016x}, 0x{value & (2**64 - 1):016x}}},  // {q}")

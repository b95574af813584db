"""Prints tests/unit/math_points.def: reference values of the elementary functions, rounded to f64.

Run: python3 tests/unit/math_points.py > tests/unit/math_points.def    (needs mpmath)
"""
import math
import random

import mpmath as mp

mp.mp.prec = 2400
random.seed(7)


def spread(low, high, count=14):
    """Points between low and high, evenly and by magnitude."""
    points = [random.uniform(low, high) for _ in range(count)]
    top = max(abs(low), abs(high))
    points += [math.copysign(top * 2.0 ** -random.uniform(0, 30), random.uniform(low, high)) for _ in range(count)]
    return [x for x in points if low <= x <= high]


ONE = {
    "exp": (mp.exp, spread(-740, 709) + spread(-1, 1) + [-745.1, 709.78]),
    "exp2": (lambda x: mp.mpf(2) ** x, spread(-1074, 1023) + spread(-1, 1)),
    "expm1": (mp.expm1, spread(-38, 709) + spread(-1, 1)),
    "log": (mp.log, spread(1e-300, 1e300) + spread(0.5, 2) + [5e-324, 1e-310, 0.9999999999999999, 1.0000000000000002]),
    "log2": (lambda x: mp.log(x, 2), spread(1e-300, 1e300) + spread(0.5, 2) + [8.0, 1e-310]),
    "log10": (mp.log10, spread(1e-300, 1e300) + spread(0.5, 2) + [1000.0, 1e22, 1e-5]),
    "log1p": (mp.log1p, spread(-0.999, 1) + spread(0, 1e10)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), spread(-1e300, 1e300) + [27.0, 1e-310, 5e-324, 0.001]),
    "sinh": (mp.sinh, spread(-709, 709) + spread(-2, 2) + [710.4]),
    "cosh": (mp.cosh, spread(-709, 709) + spread(-2, 2) + [710.4]),
    "tanh": (mp.tanh, spread(-20, 20) + spread(-2, 2)),
    "sin": (mp.sin, spread(-7, 7) + spread(-1e6, 1e6) + spread(-1e300, 1e300) + [3.141592653589793, 6381956970095103 * 2.0 ** 797]),
    "cos": (mp.cos, spread(-7, 7) + spread(-1e6, 1e6) + spread(-1e300, 1e300) + [1.5707963267948966, 6381956970095103 * 2.0 ** 797]),
    "tan": (mp.tan, spread(-7, 7) + spread(-1e6, 1e6) + spread(-1e300, 1e300) + [1.5707963267948966]),
    "asin": (mp.asin, spread(-1, 1) + [1.0, 0.9999999999999999]),
    "acos": (mp.acos, spread(-1, 1) + [0.9999999999999999, -1.0]),
    "atan": (mp.atan, spread(-5, 5) + spread(-1e20, 1e20)),
}
TWO = {
    "pow": (mp.power, [(random.uniform(0.01, 100), random.uniform(-100, 100)) for _ in range(30)]
            + [(1.0000001, 1e9), (0.9999999, 1e9), (10.0, -300.0), (2.0, -1074.0), (1.1, 7000.0), (10.0, 308.0), (5e-324, 0.5)]),
    "atan2": (mp.atan2, [(random.uniform(-10, 10), random.uniform(-10, 10)) for _ in range(30)]
              + [(1e-300, 1e-301), (1e300, -1e299), (1e-10, 1e10)]),
    "hypot": (mp.hypot, [(random.uniform(-10, 10), random.uniform(-10, 10)) for _ in range(20)]
              + [(1e300, 1e300), (1e-300, 3e-300), (3.0, 4.0), (1e-320, 1e-321)]),
}

print("// POINT(function, x, value) and POINT2(function, x, y, value), by tests/unit/math_points.py.")
for name, (function, points) in ONE.items():
    for x in points:
        print(f"POINT({name}, {x.hex()}, {float(function(mp.mpf(x))).hex()})")
for name, (function, points) in TWO.items():
    for x, y in points:
        print(f"POINT2({name}, {x.hex()}, {y.hex()}, {float(function(mp.mpf(x), mp.mpf(y))).hex()})")

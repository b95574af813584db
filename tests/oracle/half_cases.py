"""f16 and bf16, judged by NumPy's float16 and by the bits of f32: all values, what lies between, arithmetic."""
import json

import numpy as np

from harness import Different, case

BITS = np.arange(1 << 16, dtype=np.uint16)
F16 = BITS.view(np.float16)
BF16 = (BITS.astype(np.uint32) << 16).view(np.float32)  # Each of them is an f32.


def same(what, got, expected):
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise Different(f"{what}: {got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}")
    good = (got == expected) & (np.signbit(got) == np.signbit(expected)) | (np.isnan(got) & np.isnan(expected))
    if not good.all():
        at = np.argmin(good)
        raise Different(f"{what}: {(~good).sum()} differ, the first is {got.flat[at]}, expected {expected.flat[at]}")


def flow(work, x, kind, steps, name="out.npy"):
    """A file of values, through steps that leave the column v."""
    np.save(work.path / "in.npy", x)
    work.run(f'read npy("in.npy") as {{x: {kind}}} | derive {steps} | select v | write npy("{name}")', name)
    return np.load(work.path / name)


def nearest_bf16(x):
    """An f32 as the nearest f32 that is a bf16, ties to even."""
    bits = x.view(np.uint32).astype(np.uint64)
    near = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, near)


def odd(x):
    """An f64 as the f32 towards zero, its last bit set when something was cut off."""
    near = x.astype(np.float32)
    down = np.where(np.abs(near.astype(np.float64)) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    bits = down.view(np.uint32).copy()
    bits[(down.astype(np.float64) != x) & ~np.isnan(x)] |= 1
    return bits.view(np.float32)


def beside(values):
    """What lies in the middle of neighbours, and next to it."""
    wide = np.sort(values[np.isfinite(values)].astype(np.float64))
    middle = (wide[:-1] + wide[1:]) / 2
    return np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])


@case
def halves_all_values(work):
    same("f32 of f16", flow(work, F16, "f16", "v = f32(x)"), F16.astype(np.float32))
    same("f64 of f16", flow(work, F16, "f16", "v = f64(x)"), F16.astype(np.float64))
    same("f16 of its text", flow(work, F16, "f16", "v = f16(str(x))"), F16)
    same("f16 of its f64", flow(work, F16, "f16", "v = f16(f64(x))"), F16)
    same("f32 of bf16", flow(work, BF16, "f32", "v = f32(bf16(x))"), BF16)
    same("bf16 of its text", flow(work, BF16, "f32", "v = f32(bf16(str(bf16(x))))"), BF16)


@case
def halves_rounded_once(work):
    rng = np.random.default_rng(1)
    some = rng.standard_normal(200_000)
    x = np.concatenate([beside(F16), some * 10.0 ** rng.integers(-9, 4, some.size)])
    x = x[np.abs(x) < 65519]
    same("f16 of f64", flow(work, x, "f64", "v = f16(x)"), x.astype(np.float16))
    narrow = x.astype(np.float32)
    same("f16 of f32", flow(work, narrow, "f32", "v = f16(x)"), narrow.astype(np.float16))
    x = np.concatenate([beside(BF16), some * 10.0 ** rng.integers(-42, 36, some.size)])
    x = x[np.abs(x) < 3.38e38]
    same("bf16 of f64", flow(work, x, "f64", "v = f32(bf16(x))"), nearest_bf16(odd(x)))
    narrow = x.astype(np.float32)
    same("bf16 of f32", flow(work, narrow, "f32", "v = f32(bf16(x))"), nearest_bf16(narrow))


@case
def halves_are_the_shortest(work):
    np.save(work.path / "in.npy", F16)
    got = work.run('read npy("in.npy") as {x: f16} | write csv("out.csv")', "out.csv").decode().split("\n")[1:-1]
    for value, line in zip(F16, got, strict=True):
        if np.isfinite(value):
            ours = np.format_float_scientific(np.float64(line), unique=True, trim="-")
            if ours != np.format_float_scientific(value, unique=True, trim="-"):
                raise Different(f"{value!r} is printed as {line}")


@case
@np.errstate(all="ignore")
def halves_arithmetic(work):
    rng = np.random.default_rng(2)
    x = F16[rng.integers(0, 1 << 16, (100_000, 2))]
    for op, of in (("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide)):
        same(f"f16 {op} f16", flow(work, x, "f16[2]", f"v = x[0] {op} x[1]", f"{of.__name__}.npy"), of(x[:, 0], x[:, 1]))
        wide = nearest_bf16(rng.standard_normal((50_000, 2)).astype(np.float32) * 100)
        same(f"bf16 {op} bf16", flow(work, wide, "f32[2]", f"v = f32(bf16(x[0]) {op} bf16(x[1]))", f"b{of.__name__}.npy"),
             nearest_bf16(of(wide[:, 0], wide[:, 1])))


@case
@np.errstate(all="ignore")
def halves_of_tensors(work):
    rng = np.random.default_rng(3)
    x = F16[rng.integers(0, 1 << 16, (2000, 48))]
    third = np.float16(1 / 3)
    same("operators", flow(work, x, "f16[48]", f"v = x * 0.5 + x / {float(third)!r}"), x * np.float16(0.5) + x / third)
    same("max", flow(work, x, "f16[48]", "v = max(x)", "max.npy"), x.max(axis=1))
    calm = (rng.standard_normal((500, 48)) * 4).astype(np.float16)
    np.save(work.path / "calm.npy", calm)
    rows = work.rows('''read npy("calm.npy") as {x: f16[48]} | derive s = sum(x), m = mean(x), e = exp(x[0]), d = dot(x, x)
        | select s, m, e, d | write jsonl("out.jsonl")''')
    wide = calm.astype(np.float64)
    for row, own in zip(rows, wide, strict=True):
        expected = [own.sum(), own.mean(), np.exp(own[0]), (own * own).sum()]
        near = [abs(own).sum() * 1e-6, abs(own).mean() * 1e-6, 0, 0]  # What f32 loses before the end.
        for text, want, more in zip(row, expected, near, strict=True):
            got = float(np.float16(text))  # The text is the shortest, not the value.
            large = np.isinf(np.float16(want))
            if got != np.inf if large else abs(got - want) > abs(want) * 2.0 ** -11 * 1.01 + more + 2.0 ** -25:
                raise Different(f"{json.dumps(row)}, expected {expected}")

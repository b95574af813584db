"""Functions of whole tensors, judged by NumPy; reductions of floats by the tree of docs/ir.md."""
import json

import numpy as np

from harness import Different, case

SHAPES = ((3,), (2, 3), (4, 1, 5), (2, 33, 3), (1500,), (40, 70), (3, 1100, 2))
LANES, BLOCK = 32, 1024
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u8": np.uint8}


def tree(x, axis, op):
    """The reduction over one dimension, in the order that the IR fixes."""
    x = np.moveaxis(x, axis, 0)
    while len(x) > 1:
        x = np.stack([block(x[i:i + BLOCK], op) for i in range(0, len(x), BLOCK)])
    return x[0]


def block(x, op):
    lanes = list(x[:LANES])
    for i in range(LANES, len(x)):
        lanes[i % LANES] = op(lanes[i % LANES], x[i])
    half = LANES // 2
    while half:
        for i in range(half):
            if i + half < len(lanes):
                lanes[i] = op(lanes[i], lanes[i + half])
        lanes = lanes[:half]
        half //= 2
    return lanes[0]


def whole(x, op):
    return tree(x.reshape(-1), 0, op)


def softmax(x, axis):
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def one_dimension(x, axis):
    """Expressions over one dimension, and what NumPy makes of them; the last member: how near."""
    n, floats = x.shape[axis], x.dtype.kind == "f"
    places = [n - 1, 0, n // 2]
    yield f"max(x, {axis})", x.max(axis=axis), 0
    yield f"argmin(x, {axis})", x.argmin(axis=axis), 0
    yield f"argmax(x, {axis - x.ndim})", x.argmax(axis=axis), 0
    yield f"slice(x, {n // 3}, {n - n // 3}, {axis})", np.take(x, range(n // 3, n), axis=axis), 0
    yield f"gather(x, {places}, {axis})", np.take(x, places, axis=axis), 0
    yield f"concat(x, x, {axis})", np.concatenate((x, x), axis=axis), 0
    yield f"stack(x, x, {axis})", np.stack((x, x), axis=axis), 0
    width = [(2, 1) if i == axis else (0, 0) for i in range(x.ndim)]
    yield f"pad(x, 2, 1, 7, {axis})", np.pad(x, width, constant_values=7), 0
    if floats:
        yield f"sum(x, {axis})", tree(x, axis, np.add), 0
        yield f"sum(x * x - x, {axis})", tree(x * x - x, axis, np.add), 0
        yield f"mean(x, {axis})", tree(x, axis, np.add) / x.dtype.type(n), 0
        yield f"prod(x, {axis})", tree(x, axis, np.multiply), 0
        yield f"softmax(x, {axis})", softmax(x, axis), 1e-6 if x.dtype == np.float32 else 1e-13
    else:
        yield f"sum(x, {axis})", x.sum(axis=axis, dtype=np.int64), 0


def expressions(x):
    floats = x.dtype.kind == "f"
    for axis in range(x.ndim):
        yield from one_dimension(x, axis)
    yield "min(x)", x.min(), 0
    yield "flatten(x)", x.reshape(-1), 0
    yield "reshape(x, 1, -1)", x.reshape(1, -1), 0
    yield "any(x > 50, 0)", (x > 50).any(axis=0), 0
    yield "all(x > 5)", (x > 5).all(), 0
    yield "choose(x > 50, x, 3)", np.where(x > 50, x, x.dtype.type(3)), 0
    order = list(np.random.default_rng(x.size).permutation(x.ndim))
    yield f"transpose(x, {', '.join(map(str, order))})", x.transpose(order), 0
    yield "sum(transpose(x), 0)", sums(x.transpose(), 0), 0
    yield "dot(flatten(x), flatten(x))", products(x.reshape(-1), x.reshape(-1)), 0
    if x.ndim == 3 and x.shape[1] >= x.shape[2]:
        k = x.shape[2]
        yield f"matmul(x, slice(x[0], 0, {k}))", products(x[..., None], x[0, :k], 2), 0
    if x.ndim == 2:
        yield "matmul(transpose(x), x)", products(x.T[:, :, None], x[None], 1), 0
        yield "matmul(x, flatten(slice(x, 0, 1)))", products(x, x[0], 1), 0
    if floats:
        yield "sum(x)", whole(x, np.add), 0
        some = np.arange(1, x.shape[-1] + 1).astype(x.dtype)
        if x.shape[-1] < 40:
            yield f"normalise(x, {[float(v) for v in some]}, 2.0)", (x - some) / x.dtype.type(2), 0


def sums(x, axis):
    return tree(x, axis, np.add) if x.dtype.kind == "f" else x.sum(axis=axis, dtype=np.int64)


def products(x, y, axis=0):
    if x.dtype.kind != "f":
        x, y = x.astype(np.int64), y.astype(np.int64)
    return sums(x * y, axis)


def numbers(value):
    """What a tensor in JSON holds, with NaN and infinities as floats."""
    return [numbers(v) for v in value] if isinstance(value, list) else float(value)


def compare(kind, shape, seed):
    rng = np.random.default_rng(seed)
    x = (rng.normal(50, 30, shape) if kind[0] == "f" else rng.integers(0, 100, shape)).astype(TYPES[kind])
    wanted = list(expressions(x))
    items = ", ".join(f"e{i} = {text}" for i, (text, _, _) in enumerate(wanted))
    kind_of_x = f"{kind}[{', '.join(map(str, shape))}]"
    text = f'read npy("in.npy") as {{x: {kind_of_x}}} | select {items} | write jsonl("out.jsonl")'
    return x, wanted, text


@np.errstate(over="ignore")
def judge(work, kind, shape, seed):
    x, wanted, text = compare(kind, shape, seed)
    np.save(work.path / "in.npy", x[None])
    row = json.loads(work.run(text).decode())
    for i, (text, expected, near) in enumerate(wanted):
        got = np.array(numbers(row[f"e{i}"]))
        expected = np.asarray(expected)
        if got.shape != expected.shape:
            raise Different(f"{text} of {kind}{list(shape)}: {got.shape}, expected {expected.shape}")
        if kind == "f32" and expected.dtype == np.float32:
            got = got.astype(np.float32)
        same = np.allclose(got, expected, rtol=near, atol=0) if near else np.array_equal(got, expected)
        if not same:
            raise Different(f"{text} of {kind}{list(shape)}:\n{got}\nexpected\n{expected}")


def register(kind, shape):
    def run(work):
        judge(work, kind, shape, len(shape) * 1000 + shape[0])
    run.__name__ = f"tensors_{kind}_{'x'.join(map(str, shape))}"
    case(run)


for one in TYPES:
    for size in SHAPES:
        register(one, size)

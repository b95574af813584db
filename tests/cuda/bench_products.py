"""Row GF of bench.py: rows of 39 bf16 through 512 and 256 to one number, with products by cuBLASLt as a job has them.

A job launches for at most 65,536 rows, so that what lies between two products stays in the caches as far as it fits.
"""
import ctypes
import random
import re
import struct

from rows import bf16_bits, of_bf16
from tools import Wrong

SIZES = (39, 512, 256, 1)
ROWS = 1 << 22
CHUNKS = (1 << 16, 1 << 15, 1 << 17, 1 << 22)
WHY_BYTES = 320


def weights():
    """By layer: (matrix, bias), of numbers that bf16 holds."""
    rng, layers = random.Random(5), []
    for k, n in zip(SIZES, SIZES[1:]):
        number = lambda: of_bf16(bf16_bits(rng.gauss(0, k**-0.5)))
        layers.append(([[number() for _ in range(n)] for _ in range(k)], [number() for _ in range(n)]))
    return layers


def program(rows="bf16"):
    """The text of the program. Of f32 rows it converts first, and writes f32, as npy has no bf16."""
    first, second, last = weights()
    x = "x" if rows == "bf16" else "bf16(x)"
    return f"""param input: str = "in.npy"
param output: str = "out.npy"
read {'npy' if rows == 'f32' else 'jsonl'}(input) as {{x: {rows}[39]}}
| on gpu with (approx = true) {{
    derive h = greatest(matmul({x}, {first[0]}) + {first[1]}, 0.0)
    derive g = greatest(matmul(h, {second[0]}) + {second[1]}, 0.0)
    derive y = {'f32' if rows == 'f32' else ''}(dot(g, {[row[0] for row in last[0]]}))
  }}
| select y
| write {'npy' if rows == 'f32' else 'jsonl'}(output)
"""


class Text(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_char_p), ("len", ctypes.c_int64)]


class Product(ctypes.Structure):
    """SbKernelProduct of runtime/abi/kernel.h."""
    _fields_ = [("k", ctypes.c_uint32), ("n", ctypes.c_uint32), ("rows", ctypes.c_int64), ("type", ctypes.c_uint8),
                ("relu", ctypes.c_uint8), ("weights", Text), ("bias", Text)]


LINE = r"// product (\(\d+\.\d+\)) of (\(\d+\.\d+\)): 1 x (\d+) by \d+ x (\d+) of bf16, a bias, none below zero"


def packed(numbers):
    return struct.pack(f"<{len(numbers)}H", *map(bf16_bits, numbers))


class Network:
    """The kernels and products of the program over tensors of torch."""

    def __init__(self, torch, program_class, driver, built):
        self.torch, self.kernels = torch, program_class(torch, driver, "gf")
        text = (built / "bench" / "gf.cu").read_text()
        found, layers = re.findall(LINE, text), weights()
        if len(found) != 2:
            raise Wrong(f"the program has {len(found)} products")
        self.products = (Product * 2)()
        self.columns = []
        for product, (to, of, k, n), (matrix, bias) in zip(self.products, found, layers):
            zeros = [[0.0] * int(n)] * (int(k) - len(matrix))
            data = packed([x for row in matrix + zeros for x in row])
            product.k, product.n, product.rows, product.type, product.relu = int(k), int(n), 1, 2, 1
            product.weights, product.bias = Text(data, len(data)), Text(packed(bias), 2 * int(n))
            self.columns.append((of, to, int(k), int(n)))
        self.calls = ctypes.CDLL(str(built / "product_calls.so"))
        self.calls.calls_open.restype = ctypes.c_void_p
        why = ctypes.create_string_buffer(WHY_BYTES)
        self.opened = self.calls.calls_open(self.products, 2, why)
        if not self.opened:
            raise Wrong(f"no products: {why.value.decode()}")

    def multiply(self, i, source, target, rows, stream):
        error = self.calls.calls_launch(ctypes.c_void_p(self.opened), ctypes.byref(self.products[i]), ctypes.c_uint64(source),
                                        ctypes.c_uint64(target), ctypes.c_int64(rows), ctypes.c_void_p(stream))
        if error:
            raise Wrong(f"product {i} fails with {error}")

    def bind(self, x, y, chunk):
        """A function that computes y of x, whose rows are padded, so many rows at a time."""
        torch = self.torch
        temps = {to: torch.empty((chunk, n), dtype=torch.bfloat16, device="cuda") for _, to, _, n in self.columns}
        steps = []
        stream = torch.cuda.current_stream().cuda_stream
        for first in range(0, len(x), chunk):
            rows = min(chunk, len(x) - first)
            last = self.kernels.bind(rows, {**temps, "y": y[first:first + rows]})
            steps.append((rows, x[first:].data_ptr(), last))
        between = [temps[to].data_ptr() for _, to, _, _ in self.columns]

        def go():
            for rows, source, last in steps:
                for i, target in enumerate(between):
                    self.multiply(i, source if i == 0 else between[i - 1], target, rows, stream)
                last()
        return go


def truth(torch, x, layers):
    """In f64, of some rows."""
    x = x.double()
    for i, (matrix, bias) in enumerate(layers):
        w = torch.tensor(matrix, dtype=torch.float64, device="cuda")
        x = x @ w if i == 2 else torch.relu(x @ w + torch.tensor(bias, dtype=torch.float64, device="cuda"))
    return x.flatten()


def run_gf(torch, program_class, driver, built, measure, rounds):
    layers = weights()
    network = Network(torch, program_class, driver, built)
    k = network.columns[0][2]
    x = torch.zeros((ROWS, k), dtype=torch.bfloat16, device="cuda")
    x[:, :39] = torch.randn((ROWS, 39), device="cuda").bfloat16()
    y = torch.empty(ROWS, dtype=torch.bfloat16, device="cuda")
    plain = x[:, :39].contiguous()
    model = [torch.nn.Linear(a, b, bias=b > 1, device="cuda", dtype=torch.bfloat16) for a, b in zip(SIZES, SIZES[1:])]
    with torch.no_grad():
        for layer, (matrix, bias) in zip(model, layers):
            layer.weight.copy_(torch.tensor(matrix, device="cuda").t())
            if layer.bias is not None:
                layer.bias.copy_(torch.tensor(bias, device="cuda"))

        def forward(rows):
            h = torch.relu(model[0](rows))
            return model[2](torch.relu(model[1](h))).flatten()
        compiled = torch.compile(forward)
        padded = torch.zeros((SIZES[1], k), dtype=torch.bfloat16, device="cuda")
        padded[:, :39] = model[0].weight

        def forward_padded(rows):
            h = torch.relu(torch.nn.functional.linear(rows, padded, model[0].bias))
            return model[2](torch.relu(model[1](h))).flatten()
        compiled_padded = torch.compile(forward_padded)
        contenders = {f"sbc {chunk:,}": network.bind(x, y, chunk) for chunk in CHUNKS}
        contenders |= {"torch": lambda: forward(plain), "compiled": lambda: compiled(plain),
                       "torch padded": lambda: forward_padded(x), "compiled padded": lambda: compiled_padded(x)}
        exact, apart = truth(torch, plain[:65536], layers), {}
        results = set()
        for name, go in contenders.items():
            y.zero_()
            ours = go()
            torch.cuda.synchronize()
            given = y if ours is None else ours
            if ours is None:
                results.add(int(given.view(torch.int16).long().cumsum(0).sum().item()))
            apart[name] = (given[:65536].double() - exact).abs().max().item()
        times = measure(torch, contenders, rounds)
    flops = 2 * ROWS * sum(a * b for a, b in zip(SIZES, SIZES[1:]))
    print("\nGF, rows of 39 through 512 and 256 to 1, bf16, 4 M rows\n\n| by | ms | TFLOP/s | largest difference from f64 |\n|---|---:|---:|---:|")
    for name, ms in times.items():
        print(f"| {name} | {ms:.3f} | {flops / ms / 1e9:.0f} | {apart[name]:.3g} |", flush=True)
    print(f"\nlaunches of {len(CHUNKS)} sizes left {len(results)} results", flush=True)

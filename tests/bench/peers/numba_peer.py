"""numba: byte loops written by hand, one table a thread; compiled before the clock starts."""

import os

import numba
import numpy as np
import timing

SLOTS = 1 << 17
PRIME = np.uint64(1099511628211)
SEED = np.uint64(14695981039346656037)


@numba.njit
def cut(text, parts):
    """Where each part begins: behind a line end."""
    bounds = np.zeros(parts + 1, np.int64)
    for i in range(1, parts):
        at = len(text) * i // parts
        while at < len(text) and text[at - 1] != 10:
            at += 1
        bounds[i] = at
    bounds[parts] = len(text)
    return bounds


@numba.njit
def station_slot(text, begin, size, value, starts, sizes):
    slot = np.int64(value & np.uint64(SLOTS - 1))
    while True:
        if sizes[slot] == 0:
            starts[slot] = begin
            sizes[slot] = size
            return slot
        if sizes[slot] == size:
            other = starts[slot]
            same = True
            for k in range(size):
                if text[other + k] != text[begin + k]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & (SLOTS - 1)


@numba.njit(parallel=True)
def stations(text, bounds, starts, sizes, figures):
    for part in numba.prange(len(bounds) - 1):
        at = bounds[part]
        while at < bounds[part + 1]:
            begin, value = at, SEED
            while text[at] != 59:
                value = (value ^ np.uint64(text[at])) * PRIME
                at += 1
            slot = station_slot(text, begin, at - begin, value ^ (value >> np.uint64(32)), starts[part],
                                sizes[part])
            at += 1
            sign = 1
            if text[at] == 45:
                sign = -1
                at += 1
            tenths = 0
            while text[at] != 10:
                if text[at] != 46:
                    tenths = tenths * 10 + (np.int64(text[at]) - 48)
                at += 1
            at += 1
            tenths *= sign
            row = figures[part, slot]
            if row[0] == 0 or tenths < row[2]:
                row[2] = tenths
            if row[0] == 0 or tenths > row[3]:
                row[3] = tenths
            row[0] += 1
            row[1] += tenths


def run_stations(text, out):
    threads = numba.get_num_threads()
    starts = np.zeros((threads, SLOTS), np.int64)
    sizes = np.zeros((threads, SLOTS), np.int64)
    figures = np.zeros((threads, SLOTS, 4), np.int64)
    stations(text, cut(text, threads), starts, sizes, figures)
    merged = {}
    for part in range(threads):
        for slot in np.nonzero(sizes[part])[0]:
            begin = starts[part, slot]
            name = text[begin:begin + sizes[part, slot]].tobytes()
            count, total, low, high = figures[part, slot].tolist()
            before = merged.get(name, (0, 0, low, high))
            merged[name] = (before[0] + count, before[1] + total, min(before[2], low),
                            max(before[3], high))
    with open(out, "wb") as file:
        file.write(b"station,low,mean,high\n")
        for name in sorted(merged):
            count, total, low, high = merged[name]
            figures_text = f",{low / 10},{total / 10 / count},{high / 10}\n"
            file.write(name + figures_text.encode())


@numba.njit(parallel=True)
def tokens(text, bounds, hashes, counts):
    for part in numba.prange(len(bounds) - 1):
        table = hashes[part]
        value = SEED
        inside = False
        for at in range(bounds[part], bounds[part + 1]):
            c = text[at]
            if 65 <= c <= 90:
                c += 32
            if 97 <= c <= 122 or 48 <= c <= 57:
                value = (value ^ np.uint64(c)) * PRIME
                inside = True
            elif inside:
                value |= np.uint64(1)
                slot = np.int64((value ^ (value >> np.uint64(32))) & np.uint64(len(table) - 1))
                while table[slot] != 0 and table[slot] != value:
                    slot = (slot + 1) & (len(table) - 1)
                table[slot] = value
                counts[part] += 1
                value = SEED
                inside = False


def run_tokens(text, out):
    threads = numba.get_num_threads()
    hashes = np.zeros((threads, 1 << 18), np.uint64)
    counts = np.zeros(threads, np.int64)
    tokens(text, cut(text, threads), hashes, counts)
    different = len(np.unique(hashes[hashes != 0]))
    with open(out, "w") as file:
        file.write(f"tokens,different\n{counts.sum()},{different}\n")


@numba.njit(inline="always")
def steps(x):
    b = x * np.float32(1.5) + np.float32(0.25)
    return min(np.sqrt(abs(b * b - x)), np.float32(3)) / np.float32(3)


@numba.njit(parallel=True)
def add_floats(values):
    total = 0.0
    for i in numba.prange(len(values)):
        total += steps(values[i])
    return total


@numba.njit(parallel=True)
def map_floats(values, to):
    for i in numba.prange(len(values)):
        to[i] = steps(values[i])


def floats_of(text):
    return text[128:].view(np.float32)


def run_floats(text, out):
    with open(out, "w") as file:
        file.write(f"total\n{add_floats(floats_of(text))}\n")


def run_floats_back(text, out):
    values = floats_of(text)
    to = np.empty_like(values)
    map_floats(values, to)
    with open(out, "wb") as file:
        np.save(file, to)


SIZES = np.arange(26, dtype=np.int32) * np.int32(37) + np.int32(1000)


@numba.njit(parallel=True)
def make_features(rows, sizes, dense, folded):
    for r in numba.prange(len(rows)):
        for i in range(13):
            x = np.float32(min(max(rows[r, i], 0), 10000))
            dense[r, i] = np.log1p(x) * np.float32(0.125)
        for i in range(26):
            folded[r, i] = rows[r, 13 + i] % sizes[i]


def run_features(text, out):
    rows = text[128:].view(np.int32).reshape(-1, 39)
    dense, folded = np.empty((len(rows), 13), np.float32), np.empty((len(rows), 26), np.int32)
    make_features(rows, SIZES, dense, folded)
    for path, array in ((out, dense), (f"{out}.categories", folded)):
        with open(path, "wb") as file:
            np.save(file, array)


SAMPLE_NPY = bytes(128) + bytes(64)
SAMPLE_FEATURES = bytes(128) + bytes(4 * 39 * 4)

ROWS = {
    "e1": ("floats.npy", run_floats, SAMPLE_NPY),
    "e1_back": ("floats.npy", run_floats_back, SAMPLE_NPY),
    "ge": ("features.npy", run_features, SAMPLE_FEATURES),
    "b1_413": ("stations_413.txt", run_stations, b"a;1.0\nb;-1.5\n"),
    "b1_10000": ("stations_10000.txt", run_stations, b"a;1.0\nb;-1.5\n"),
    "k1": ("documents.txt", run_tokens, b"a b\nc d\n"),
}


def prepare(row, data, out, mode):
    numba.set_num_threads(int(os.environ["BENCH_THREADS"]))
    name, run, sample = ROWS[row]
    warm = np.memmap(f"{out}.warm", np.uint8, "w+", shape=len(sample))
    warm[:] = np.frombuffer(sample, np.uint8)
    run(np.memmap(f"{out}.warm", np.uint8, "r"), f"{out}.warm.out")
    os.unlink(f"{out}.warm")
    os.unlink(f"{out}.warm.out")
    if row == "ge":
        os.unlink(f"{out}.warm.out.categories")
    return lambda: run(np.memmap(f"{data}/{name}", np.uint8, "r"), out)


timing.main(prepare)

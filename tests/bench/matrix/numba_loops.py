"""Members of the matrix as numba loops by hand over the bytes of the file, on two threads. They check nothing."""

import numba
import numpy as np

GROUPS, ZERO = 19, 9
ROWS_ALL = 1 << 62


def after_header(path):
    text = np.memmap(path, np.uint8, "r")
    head = int(np.argmax(text[:4096] == 10)) + 1
    return text[head:]


@numba.njit(cache=True)
def bounds_of(text, parts):
    """Where each part begins: after a line end."""
    bounds = np.zeros(parts + 1, np.int64)
    for i in range(1, parts):
        at = len(text) * i // parts
        while text[at - 1] != 10:
            at += 1
        bounds[i] = at
    bounds[parts] = len(text)
    return bounds


@numba.njit(parallel=True, cache=True)
def number_loop(text, bounds, task, divisor, least, rows_max, counts, sums, lows, highs):
    for part in numba.prange(len(bounds) - 1):
        at, end, row = bounds[part], bounds[part + 1], 0
        while at < end and row < rows_max:
            row += 1
            group = 0
            if text[at] == 45:
                group = -(np.int64(text[at + 1]) - 48)
                at += 3
            else:
                group = np.int64(text[at]) - 48
                at += 2
            slot = group + ZERO
            counts[part, slot] += task != 2
            if text[at] != 44:
                sign = 1
                if text[at] == 45:
                    sign = -1
                    at += 1
                mantissa = np.int64(0)
                while text[at] != 44:
                    if text[at] != 46:
                        mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
                    at += 1
                value = sign * mantissa / divisor
                if task == 0:
                    sums[part, slot] += sign * mantissa if divisor == 1 else value
                elif task == 1:
                    lows[part, slot] = min(lows[part, slot], value)
                    highs[part, slot] = max(highs[part, slot], value)
                elif value > least:
                    counts[part, 0] += 1
                    counts[part, 1] += group
            while text[at] != 10:
                at += 1
            at += 1


def numbers(path, out, task, digits, least=0.0, rows_max=ROWS_ALL):
    text = after_header(path)
    parts = numba.get_num_threads()
    counts = np.zeros((parts, GROUPS), np.int64)
    sums = np.zeros((parts, GROUPS))
    lows, highs = np.full((parts, GROUPS), np.inf), np.full((parts, GROUPS), -np.inf)
    which = ("sum", "extremes", "filter").index(task)
    number_loop(text, bounds_of(text, parts), which, 10.0 ** digits, least, rows_max, counts, sums, lows, highs)
    counts = counts.sum(axis=0)
    with open(out, "w", encoding="utf-8") as file:
        if task == "filter":
            file.write(f"n,s\n{counts[0]},{counts[1]}\n")
            return
        file.write("g,n,s\n" if task == "sum" else "g,low,high\n")
        for slot in np.nonzero(counts)[0]:
            figures = (counts[slot], sums[:, slot].sum()) if task == "sum" else (lows[:, slot].min(), highs[:, slot].max())
            file.write(f"{slot - ZERO},{figures[0]!s},{figures[1]!s}\n")


@numba.njit(parallel=True, cache=True)
def run_loop(text, bounds, inside, rows_max, counts, sums):
    for part in numba.prange(len(bounds) - 1):
        at, end, row = bounds[part], bounds[part + 1], 0
        while at < end and row < rows_max:
            begin = at
            while inside[text[at]]:
                at += 1
            if at > begin:
                counts[part] += 1
                sums[part] += at - begin
            row += text[at] == 10
            at += 1


def runs(path, out, kind, rows_max=ROWS_ALL):
    """Runs of characters of a class, and their bytes."""
    text = np.memmap(path, np.uint8, "r")
    letters = {"digits": "0-9", "letters_digits": "a-z0-9", "words": "A-Za-z0-9_"}[kind]
    import re
    inside = np.array([bool(re.match(f"[{letters}]", chr(c))) for c in range(256)])
    parts = numba.get_num_threads()
    counts, sums = np.zeros(parts, np.int64), np.zeros(parts, np.int64)
    run_loop(text, bounds_of(text, parts), inside, rows_max, counts, sums)
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"n,b\n{counts.sum()},{sums.sum()}\n")

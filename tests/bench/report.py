"""Prints results as Markdown."""

import os
import time
from pathlib import Path

from rows import ROWS


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def head(bench, versions):
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = ", ".join(f"{x:.2f}" for x in os.getloadavg())
    options = bench.options
    return f"""# Results

Measured on {time.strftime('%Y-%m-%d', time.gmtime())} by `tests/bench/run.sh`: {cpu_name()}, {os.cpu_count()} cores, x86-64-{bench.level},
{options.threads} threads, scale {options.scale:g}, {options.rounds} interleaved rounds, load {load} at the start.
{listed}.

Programs are timed from exec to exit, peers inside their process without their start, the files in the page
cache. Before each run a GiB of memory is used and given back, as the host of a virtual machine may have taken what was free. Only equal outputs count. Memory is the peak of the process; a reference's counts the mapped file.
sbc checks everything: fields, quotes, digits, ranges, UTF-8, overflow; its sums are exact, and it alone
brings its output to the disk (fsync) before it ends.

"""


def table(header, lines, words=1):
    """A table whose first columns hold words, the others figures."""
    rule = ["---" if i < words else "---:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines]) + "\n\n"


def seconds(x):
    return f"{x:.3f}" if x >= 0.01 else f"{x:.5f}"


PROGRAMS = ("reference", "sbc", "before")  # That are timed from exec to exit.


def best_peer(results):
    peers = [r for r in results.values() if r.name not in PROGRAMS and not r.fault]
    return min(peers, key=lambda r: r.best, default=None)


def summary_line(row, results):
    sbc, reference, peer = results["sbc"], results["reference"], best_peer(results)
    line = [row.title]
    if sbc.fault:
        return [*line, "failed", "", "", "", "", "", ""]
    line.append(seconds(sbc.best))
    if peer:
        ratio = peer.best / sbc.best
        line += [f"{peer.name} {seconds(peer.best)}", f"{ratio:.2f}× ({peer.median / sbc.median:.2f}×)",
                 f"{row.peer_target:g}× {'met' if ratio >= row.peer_target else 'missed'}"]
    else:
        line += ["none", "", ""]
    if reference.fault:
        return [*line, "failed", "", ""]
    share = reference.best / sbc.best
    line += [seconds(reference.best), f"{share:.0%} ({reference.median / sbc.median:.0%})"]
    if not row.share_target:
        return [*line, ""]
    return [*line, f"{row.share_target:.0%} {'met' if share >= row.share_target else 'missed'}"]


README_BEGIN = "<!-- made by tests/bench/run.sh --write -->\n"
README_END = "<!-- end -->\n"


def into_readme(text, figures):
    """The README with the rows' ratios between its two marks."""
    lines = []
    for row, results in figures.items():
        sbc, peer, reference = results["sbc"], best_peer(results), results["reference"]
        if sbc.fault or reference.fault or not peer:
            continue
        lines.append([ROWS[row].title, f"{seconds(sbc.best)} s", f"{peer.name} {seconds(peer.best)} s",
                      f"{peer.best / sbc.best:.1f}×", f"{reference.best / sbc.best:.0%}"])
    made = table(["row", "sbc", "best peer", "ratio", "share of C by hand"], lines)
    before, rest = text.split(README_BEGIN)
    return before + README_BEGIN + made.rstrip("\n") + "\n" + README_END + rest.split(README_END)[1]


def detail_lines(bench, row, results):
    source = next(iter(row.inputs.values()))
    rows = bench.rows_of(source)
    bytes_in = sum((bench.data / name).stat().st_size for name in row.inputs.values())
    peer, reference = best_peer(results), results["reference"]
    lines = []
    for result in results.values():
        if result.fault:
            lines.append([row.title, result.name, "does not count", *[""] * 8])
            continue
        cores = result.best * bench.options.threads
        lines.append([
            row.title, result.name, seconds(result.best), seconds(result.median),
            seconds(result.processor) if result.name in PROGRAMS else "",
            f"{peer.best / result.best:.2f}×" if peer else "",
            f"{reference.best / result.best:.0%}" if not reference.fault else "",
            f"{rows / cores / 1e6:.2f}", f"{bytes_in / cores / 1e9:.2f}", f"{result.memory / 1e6:.0f}",
            result.digest,
        ])
    return lines


SLOWER_MAX = 1.02


def since(figures):
    """Jobs beside those of an earlier compiler."""
    text = "## Beside an earlier sbc\n\n"
    text += f"Times of the earlier one are 1. Target: at most {SLOWER_MAX}, by the least processor time; outputs are the same.\n\n"
    lines = []
    for row, results in figures.items():
        now, before = results["sbc"], results["before"]
        if now.fault or before.fault:
            lines.append([ROWS[row].title, "does not count", *[""] * 6])
            continue
        ratio = now.processor / before.processor
        lines.append([ROWS[row].title, seconds(now.best), seconds(before.best), f"{now.best / before.best:.3f}",
                      f"{now.median / before.median:.3f}", seconds(now.processor), f"{ratio:.3f}",
                      "met" if ratio <= SLOWER_MAX else "missed"])
    return text + table(["row", "sbc, s", "before, s", "by the least", "by the median", "processor, s", "by it", "target"],
                        lines).rstrip("\n") + "\n"


def tables(bench, figures):
    if not figures:
        return ""
    text = "## In short\n\nBy the least time, by the median in brackets.\n\n"
    text += table(["row", "sbc, s", "best peer, s", "to best peer", "target", "reference, s",
                   "share of it", "target"],
                  [summary_line(ROWS[row], results) for row, results in figures.items()])
    text += "## In full\n\n"
    lines = [line for row, results in figures.items() for line in detail_lines(bench, ROWS[row], results)]
    text += table(["row", "program", "min, s", "median, s", "processor, s", "to best peer", "share of reference",
                   "M rows/s per core", "GB/s per core", "peak MB", "output"], lines, words=2)
    faults = [f"- {ROWS[row].title}, {r.name}: {r.fault}\n" for row, results in figures.items()
              for r in results.values() if r.fault]
    if faults:
        text += "## What does not count\n\n" + "".join(faults) + "\n"
    text += "## What the references do not check\n\n"
    text += table(["row", "unchecked, fixed"], [[ROWS[row].title, ROWS[row].unchecked] for row in figures],
                  words=2)
    return text.rstrip("\n") + "\n"

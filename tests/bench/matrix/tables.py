"""The tables of the matrix: by member, by family, and what misses a target."""

import math
import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

OWN = ("C", "before", "sbc")
MISSES = Path(__file__).resolve().parent / "misses.md"
LEAST_SHARE, MEAN_SHARE = 0.35, 0.60


@dataclass
class Line:
    member: object
    bytes: int
    figures: dict  # By contender: processor seconds, seconds, peak MiB.
    faults: dict

    @property
    def share(self):
        return self.figures["C"][0] / self.figures["sbc"][0]

    @property
    def best_peer(self):
        """(name, processor seconds) of the peer that took least, or None."""
        peers = {name: of[0] for name, of in self.figures.items() if name not in OWN}
        name = min(peers, key=peers.get, default=None)
        return (name, peers[name]) if name else None

    @property
    def ratio(self):
        """How many times as much the best peer took."""
        return self.best_peer[1] / self.figures["sbc"][0] if self.best_peer else None


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def commit():
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()


def row(cells):
    return "| " + " | ".join(cells) + " |"


class Table:
    def __init__(self, options, versions):
        self.options, self.versions, self.lines = options, versions, []
        self.load = os.getloadavg()[0]
        head = ["member", "MB", "C, s", *(["before, s"] if options.before else []), "sbc, s", "share of C"]
        head += ["best peer", "its s", "times sbc"] if versions else []
        self.head = [row(head), "|---" + "|---:" * (len(head) - 1) + "|"]
        print("\n".join(self.head), flush=True)

    def add(self, line):
        self.lines.append(line)
        return self.row_of(line)

    def row_of(self, line):
        own = [f"{line.figures[name][0]:.3f}" for name in OWN if name in line.figures]
        cells = [line.member.name, f"{line.bytes / 1e6:.0f}", *own, f"{line.share:.0%}"]
        if self.versions:
            peer = line.best_peer
            cells += [peer[0], f"{peer[1]:.3f}", f"{line.ratio:.2f}"] if peer else ["", "", ""]
        return row(cells)

    def families(self):
        """By family: the least share, the geometric mean, and the least and mean ratio of the best peer."""
        head = ["family", "members", "least share of C", "geometric mean"]
        head += ["best peer, least", "mean"] if self.versions else []
        lines = ["", row(head), "|---" + "|---:" * (len(head) - 1) + "|"]
        names = list(dict.fromkeys(line.member.family for line in self.lines))
        for name in [*names, "all"]:
            of = [line for line in self.lines if name in (line.member.family, "all")]
            cells = [name, str(len(of)), f"{min(x.share for x in of):.0%}", f"{mean([x.share for x in of]):.0%}"]
            ratios = [x.ratio for x in of if x.best_peer]
            if self.versions:
                cells += [f"{min(ratios):.2f}", f"{mean(ratios):.2f}"] if ratios else ["", ""]
            lines.append(row(cells))
        return lines

    def missed(self):
        """Members under the least share, and those that a peer does in less."""
        lines = ["", f"## Under {LEAST_SHARE:.0%} of C, or slower than a peer", ""]
        for line in sorted(self.lines, key=lambda line: line.share):
            slower = line.best_peer and line.ratio < 1
            if line.share < LEAST_SHARE or slower:
                peer = f"; {line.best_peer[0]} takes {line.ratio:.2f} of sbc's time" if slower else ""
                lines.append(f"- `{line.member.name}`: {line.share:.0%} of C{peer}.")
        return lines if len(lines) > 3 else [*lines, "None."]

    def without(self):
        """What peers do not do, or do with another result."""
        whys = {}
        for line in self.lines:
            for name, why in line.faults.items():
                if why != "nothing like it":
                    whys.setdefault((name, why.split(" / ")[0][:160]), []).append(f"`{line.member.name}`")
        lines = [f"- {name}, {', '.join(members)}: {why}" for (name, why), members in whys.items()]
        return ["", "## Peers that do not count", "", *lines] if lines else []

    def page(self):
        options = self.options
        command = f"tests/bench/matrix/matrix.py --scale={options.scale:g} --rounds={options.rounds} --write"
        cpu = next((x.split(":")[1].strip() for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")), "")
        tools = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        head = (f"Measured on {time.strftime('%Y-%m-%d')} by `{command}` at commit {commit()}: {cpu}, {os.cpu_count()} cores, 2 threads, "
                f"Linux {platform.release()}, a load of {self.load:.1f} by others when it began. {tools}. Seconds are of the processor, user and system, "
                f"the least of {options.rounds} rounds in turn. Before each run a GiB of memory is used and given back, as the host of a virtual machine may have taken what was free. Outputs were compared and are equal.")
        parts = ["# The matrix", "", head, *self.families(), *self.missed()]
        if MISSES.exists():
            parts += ["", MISSES.read_text().rstrip()]
        parts += ["", "## By member", "", *self.head, *map(self.row_of, self.lines), *self.without(), ""]
        return "\n".join(parts)

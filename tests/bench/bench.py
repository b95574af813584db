"""Runs the benchmark: prepares everything, runs the contenders of each row in turn, prints the table."""

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import report
import start
from rows import DATA, PEERS, ROWS, SEED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "bench"
RUN_SECONDS_MAX = 600
WARNINGS = ["-std=gnu23", "-Wall", "-Wextra"]


@dataclass
class Result:
    """What one contender reached in one row."""

    name: str
    seconds: list = field(default_factory=list)
    memory: int = 0  # Peak bytes.
    processor: float = 0.0  # Least processor seconds of all threads; a peer's start counts.
    digest: str = ""
    fault: str = ""  # Why it does not count.

    @property
    def best(self):
        return min(self.seconds)

    @property
    def median(self):
        return statistics.median(self.seconds)


class Bench:
    def __init__(self, options):
        self.options = options
        self.sbc = Path(options.sbc).resolve()
        self.before = Path(options.before).resolve() if options.before else None
        self.peers = not options.before and not options.no_peers
        self.clang = options.clang
        self.memory = 0
        self.programs = BUILD / "programs"
        self.data = BUILD / "data" / f"scale-{options.scale:g}"
        self.out = BUILD / "out"
        self.level = "v4" if "avx512vl" in Path("/proc/cpuinfo").read_text() else "v3"
        for folder in (self.programs, self.data, self.out):
            folder.mkdir(parents=True, exist_ok=True)

    def say(self, text):
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def build(self, name, sources, *flags):
        """Compiles a C program if a source is newer; returns its path."""
        target = self.programs / name
        newest = max(source.stat().st_mtime for source in [*sources, *HERE.glob("reference/*.h")])
        if not target.exists() or target.stat().st_mtime < newest:
            subprocess.run([self.clang, *WARNINGS, *flags, "-o", target, *sources, "-lm"], check=True)
        return target

    def build_tools(self):
        self.generate = self.build("generate", [HERE / "generate.c"], "-O2")
        self.compare = self.build("compare", [HERE / "compare.c"], "-O2")
        self.measure = self.build("measure", [HERE / "measure.c"], "-O2", "-D_GNU_SOURCE")

    def build_reference(self, pipeline):
        """The program by hand, for the CPU level that the job picks here."""
        sources = [HERE / "reference" / f"{pipeline}.c"]
        if pipeline == "w1":
            sources += [ROOT / "stdlib/number/number_put.c", ROOT / "stdlib/number/number_powers.c"]
        return self.build(f"reference_{pipeline}", sources, "-O3", f"-march=x86-64-{self.level}",
                          "-pthread", "-Wno-unused-function", "-D_GNU_SOURCE", f"-I{ROOT}")

    def build_job(self, pipeline, sbc=None, name="job"):
        target = self.programs / f"{name}_{pipeline}"
        subprocess.run([sbc or self.sbc, HERE / "pipelines" / f"{pipeline}.sbd", "-o", target], check=True)
        return target

    def job_command(self, row, job, params):
        return lambda out: [job, *params, f"--out={out}", *[f"--{name}={out}.{name}" for name in row.outputs],
                            "--overwrite", "--progress=none",
                            f"--threads={self.options.threads}", *([f"--memory={row.memory}"] if row.memory else [])]

    def rows_of(self, name):
        return max(1, round(DATA[name].rows * self.options.scale))

    def make_data(self, name):
        """Generates a file, unless it is newer than the generator."""
        data, path = DATA[name], self.data / name
        if path.exists() and path.stat().st_mtime > self.generate.stat().st_mtime:
            return path
        self.say(f"generating {path.relative_to(ROOT)}")
        words = data.vocabulary
        if data.grows:
            words = max(1, round(words * self.options.scale))
        part = path.with_suffix(".part")
        numbers = [self.rows_of(name), words, SEED]
        subprocess.run([self.generate, data.kind, *map(str, numbers), part], check=True)
        part.rename(path)
        return path

    def timed(self, command, mode="exit"):
        """What a program in C measures of a run: (seconds, peak bytes, processor seconds), exit code,
        output."""
        figures = self.out / "figures"
        figures.unlink(missing_ok=True)
        environment = {**os.environ, "BENCH_THREADS": str(self.options.threads),
                       "BENCH_MEMORY": str(self.memory),
                       "POLARS_MAX_THREADS": str(self.options.threads)}
        try:
            done = subprocess.run([self.measure, figures, mode, *map(str, command)], env=environment,
                                  capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
                                  cwd=self.out)
        except subprocess.TimeoutExpired:
            return (RUN_SECONDS_MAX, 0, 0), 124, "took too long"
        if done.returncode:
            return (0, 0, 0), done.returncode, done.stderr
        seconds, kilobytes, processor, code = figures.read_text().split()
        text = done.stdout + done.stderr
        return (float(seconds), int(kilobytes) * 1024, float(processor)), int(code), text

    def commands(self, row):
        """Each contender's command without its output's path, in the order they run."""
        reference = self.build_reference(row.pipeline)
        paths = {param: self.make_data(name) for param, name in row.inputs.items()}
        job_params = [f"--{param}={path}" for param, path in paths.items()]
        commands = {
            "reference": lambda out: [reference, *paths.values(), out],
            "sbc": self.job_command(row, self.build_job(row.pipeline), job_params),
        }
        if self.before:
            before = self.build_job(row.pipeline, self.before, "before")
            commands["before"] = self.job_command(row, before, job_params)
        return commands

    def peer_command(self, row_id, peer):
        script, mode = PEERS[peer]
        query = row_id.removesuffix("_700")
        return lambda out: [sys.executable, HERE / "peers" / f"{script}_peer.py", query, self.data, out,
                            mode]

    def same(self, mode, expected, got):
        done = subprocess.run([self.compare, mode, expected, got], capture_output=True, text=True)
        return "" if done.returncode == 0 else "other result: " + done.stderr.strip()[:400]

    def run_once(self, result, command, first):
        """One run; the first one's output is kept for comparison."""
        out = self.out / f"{result.name.replace(' ', '_')}.out"
        out.unlink(missing_ok=True)
        (seconds, memory, processor), code, text = self.timed(command(out))
        if code or not out.exists():
            result.fault = f"exit {code}: " + " ".join(text.split())[-300:]
            return
        if result.name not in report.PROGRAMS:
            seconds = json.loads(text.splitlines()[-1])["seconds"]
        result.seconds.append(seconds)
        result.memory = max(result.memory, memory)
        result.processor = min(result.processor or processor, processor)
        if result.name == "sbc":
            with open(out, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
            if not first and digest != result.digest:
                result.fault = "the output differs from run to run"
            result.digest = digest
        if not first:
            out.unlink()

    def check(self, row, results):
        """Compares every first output with the reference's and removes it."""
        expected = self.out / "reference.out"
        for result in results.values():
            got = self.out / f"{result.name.replace(' ', '_')}.out"
            if result.name != "reference" and not result.fault:
                mode = row.peer_compare.get(result.name, row.compare)
                if result.name in report.PROGRAMS:
                    mode = "ordered"
                result.fault = self.same(mode, expected, got)
                for name in row.outputs:
                    result.fault = result.fault or self.same("bytes", f"{expected}.{name}", f"{got}.{name}")
            if result.name != "reference":
                self.remove(row, got)
        self.remove(row, expected)

    @staticmethod
    def remove(row, out):
        for path in (out, *[out.with_name(f"{out.name}.{name}") for name in row.outputs]):
            path.unlink(missing_ok=True)

    def run_row(self, row_id):
        row = ROWS[row_id]
        self.memory = row.memory
        self.say(row.title)
        commands = self.commands(row)
        if self.peers:
            commands |= {peer: self.peer_command(row_id, peer) for peer in row.peers}
        for name in row.inputs.values():  # Into the page cache.
            with open(self.data / name, "rb") as file:
                while file.read(1 << 24):
                    pass
        results = {name: Result(name) for name in commands}
        for turn in range(self.options.rounds):
            for name, command in commands.items():
                if not results[name].fault:
                    self.run_once(results[name], command, turn == 0)
            if turn == 0:
                self.check(row, results)
        for result in results.values():
            if result.fault:
                self.say(f"{row.title}: {result.name}: {result.fault}")
        return results


def peer_versions():
    import datafusion
    import duckdb
    import numba
    import polars

    return {"DuckDB": duckdb.__version__, "Polars": polars.__version__, "DataFusion": datafusion.__version__,
            "numba": numba.__version__}


def versions(bench):
    clang = subprocess.run([bench.clang, "--version"], capture_output=True, text=True).stdout
    return {
        "sbc": subprocess.run([bench.sbc, "--version"], capture_output=True, text=True).stdout.split()[1],
        "clang": clang.splitlines()[0].split("version ")[-1],
        **(peer_versions() if bench.peers else {}),
        "Python": platform.python_version(),
    }


def parse_options():
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help=f"start, {', '.join(ROWS)}; a beginning (a4) takes several; all if none")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full data (1)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each contender (5)")
    parser.add_argument("--threads", type=int, default=2, help="threads of sbc and peers (2)")
    parser.add_argument("--write", action="store_true", help="write tests/bench/RESULTS.md and the table of README.md")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the tables of these rows to a file")
    parser.add_argument("--clean", action="store_true", help="remove the generated data at the end")
    parser.add_argument("--sbc", default=ROOT / "zig-out" / "bin" / "sbc", help="the compiler")
    parser.add_argument("--before", metavar="SBC",
                        help="an earlier compiler: its jobs run in turn with those of --sbc, and no peers; "
                             "--write writes tests/bench/SINCE.md")
    parser.add_argument("--no-peers", action="store_true", help="sbc and the references alone; nothing is installed")
    parser.add_argument("--clang", default="clang-22", help="builds generator and references")
    options = parser.parse_args()
    known = ["start", *ROWS]
    chosen = [name for name in known if any(name.startswith(r.lower()) for r in options.rows)]
    for r in options.rows:
        if not any(name.startswith(r.lower()) for name in known):
            parser.error(f"no row '{r}'; there are {', '.join(known)}")
    options.rows = chosen or known
    if options.before and chosen == ["start"]:
        parser.error("'start' runs no job: --before wants other rows")
    if options.before:
        options.rows = [name for name in options.rows if name != "start"]
    if options.scale <= 0 or options.rounds < 1:
        parser.error("scale and rounds are positive")
    if options.table and not options.table.resolve().parent.is_dir():
        parser.error(f"no folder for {options.table}")
    if options.write and options.no_peers and not options.before:
        parser.error("--write is of all peers")
    if options.write and options.rows != known and not options.before:
        parser.error("--write is of all rows: --table=FILE writes the tables of a few")
    return options


def main():
    options = parse_options()
    bench = Bench(options)
    if not bench.sbc.exists():
        sys.exit(f"bench: no compiler at {bench.sbc}; run ./bootstrap.sh build")
    if bench.before and not bench.before.exists():
        sys.exit(f"bench: no compiler at {bench.before}; build the earlier commit in a folder of its own")
    bench.build_tools()
    text = report.head(bench, versions(bench))
    figures = {}
    for row_id in options.rows:
        if row_id == "start":
            bench.say("compile and start")
            text += start.table(bench)
        else:
            figures[row_id] = bench.run_row(row_id)
    text += report.since(figures) if options.before else report.tables(bench, figures)
    print(text)
    if options.table:
        options.table.write_text(text)
    if options.write and options.before:
        (HERE / "SINCE.md").write_text(text)
    elif options.write:
        (HERE / "RESULTS.md").write_text(text)
        readme = ROOT / "README.md"
        readme.write_text(report.into_readme(readme.read_text(), figures))
    if options.clean:
        shutil.rmtree(bench.data)


main()

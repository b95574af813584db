"""programs.py: what is disturbed: programs of every folder that has some, with the data that they read."""
import gzip
import importlib.util
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
ROOT = TESTS.parent
sys.path += [str(TESTS / "e2e"), str(TESTS / "differential"), str(TESTS / "stress"), str(TESTS / "bench")]

import case as cases  # noqa: E402
import examples  # noqa: E402
import joins  # noqa: E402
import pipeline  # noqa: E402
import rows as bench  # noqa: E402

BENCH_SCALE = 2000  # Rows of a benchmark's data are as many times fewer.
SIZES = ((0, 3), (1, 12), (5, 60)), ((300, 3000),)  # Of tables of differential programs.
OWN = HERE / "foreign"


def module_of(path):
    """A script that is no module of a package."""
    spec = importlib.util.spec_from_file_location(path.parent.name + "_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Program:
    """A text with the files that it and its job read, by name, and what its job is told beside."""

    def __init__(self, name, source, files, arguments=(), options=()):
        self.name, self.source, self.files = name, source, files
        self.arguments, self.options = list(arguments), list(options)
        self.outside = ("kills", "kills", "stops", "sleeps")  # What may be done to its jobs from outside.

    def fill(self, folder):
        for name, body in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)


def of_differential(draw):
    seed = draw.randrange(1 << 30)
    made = pipeline.Maker(random.Random(seed), draw.choice(SIZES)).program()
    files = {name: gzip.compress(b"".join(pieces), 1, mtime=0) if name.endswith(".gz") else b"".join(pieces)
             for name, pieces in made.files.items()}
    files |= {"p.sbd": made.text().encode(), "batch.c": (TESTS / "differential/batch.c").read_bytes()}
    return Program(f"differential {seed}", "p.sbd", files, made.arguments, draw.choice([[], ["--no-fuse"]]))


def of_stress(draw):
    stress = module_of(TESTS / "stress/run.py")
    data = pathlib.Path(os.environ["SBC_CHAOS_WORK"]) / "stress"
    if not data.exists():
        data.mkdir(parents=True)
        stress.make_data(data)
    files = {path.name: path.read_bytes() for path in data.iterdir()}
    known = sorted((TESTS / "stress").glob("*.sbd"))
    number = draw.randrange(2 * len(known))
    name, text = (f"joins {number}", joins.program(random.Random(number))) if number >= len(known) else \
        (known[number].stem, known[number].read_text())
    options = text.split("# compile: ", 1)[1].split("\n", 1)[0].split() if "# compile: " in text else []
    return Program(f"stress {name}", "p.sbd", files | {"p.sbd": text.encode()}, options=options)


def of_case(case):
    files = {name: gzip.compress(body, mtime=0) if name.endswith(".gz") else body for name, body in case.inputs}
    return Program(case.name, case.programs()[0], files, case.args())


def may_be_disturbed(case):
    """One program that reads no standard input and is not about its messages alone."""
    return len(case.programs()) == 1 and "stdin" not in case.settings


def of_e2e(draw):
    folder = TESTS / "e2e"
    paths = sorted(folder.rglob("*.case"))
    while True:
        path = draw.choice(paths)
        case = cases.load(str(path), "e2e " + str(path.relative_to(folder))[:-len(".case")])
        if may_be_disturbed(case):
            return of_case(case)


def of_examples(draw):
    return of_case(draw.choice([case for case in examples.load_all(str(ROOT / "examples")) if may_be_disturbed(case)]))


def bench_data(name):
    """Data of a benchmark, fewer rows, made once."""
    work = pathlib.Path(os.environ["SBC_CHAOS_WORK"]) / "bench"
    work.mkdir(parents=True, exist_ok=True)
    maker, path = work / "generate", work / name
    if not maker.exists():
        zig = ROOT / "bootstrap.sh"
        subprocess.run([zig, "zig", "cc", "-std=gnu23", "-O2", TESTS / "bench/generate.c", "-lm", "-o", maker], check=True,
                       cwd=ROOT, capture_output=True)
    if not path.exists():
        data = bench.DATA[name]
        vocabulary = data.vocabulary // (BENCH_SCALE if data.grows else 1)
        subprocess.run([maker, data.kind, str(max(data.rows // BENCH_SCALE, 1)), str(max(vocabulary, 1)), str(bench.SEED), path], check=True)
    return path.read_bytes()


def of_bench(draw):
    row = bench.ROWS[draw.choice(sorted(bench.ROWS))]
    files = {path.name: path.read_bytes() for path in (TESTS / "bench/pipelines").glob("*.sbd")}
    files |= {name: bench_data(name) for name in row.inputs.values()}
    arguments = [f"--{parameter}={name}" for parameter, name in row.inputs.items()]
    return Program(f"bench {row.pipeline}", row.pipeline + ".sbd", files, arguments)


def of_foreign(draw, name=None):
    """Code in C that crashes or leaks in workers, once and then no more; or crashes and hangs at the same rows. Code in Python."""
    path = OWN / f"{name}.sbd" if name else draw.choice(sorted(OWN.glob("*.sbd")))
    files = {"p.sbd": path.read_bytes(), "foreign.c": (OWN / "foreign.c").read_bytes(), "slow.py": (OWN / "slow.py").read_bytes()}
    files["rows.csv"] = b"id,text\n" + b"".join(b"%d,text %d of it\n" % (i, i * 7919 % 1000) for i in range(4000))
    program = Program(f"foreign {path.stem}", "p.sbd", files)
    if path.stem == "hangs":
        program.outside = ("stops", "sleeps")  # Nothing ends a call whose process always dies before.
    if path.stem == "python":
        program.outside = ("stops", "sleeps", "pythons", "pythons")  # As above.
    return program


KINDS = {"differential": of_differential, "stress": of_stress, "e2e": of_e2e, "examples": of_examples, "bench": of_bench,
         "foreign": of_foreign}


def of(draw, kind=None):
    return KINDS[kind or draw.choice(list(KINDS))](draw)


def for_fault(draw, how, what):
    """A program that can meet it: the one that does the harm, one that lasts, or any."""
    if how == "harm":
        return of_foreign(draw, what)
    if what in ("pythons", "stops"):  # It lasts.
        return of_foreign(draw, "python")
    return of(draw, None if how == "points" else "stress")

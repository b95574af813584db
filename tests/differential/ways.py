"""ways.py: runs a program in every way there is and says where two of them differ."""
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
INTERPRET = os.environ.get("INTERPRET", os.path.join(ROOT, "zig-out", "test", "interpret"))
SECONDS_MAX = 60
INVALID = "invalid"
LEAST = "--memory=least"  # As much as the job needs with the other options.
MIB = 1 << 20
TEMPORARY = re.compile(r"(^|/)\.[^/]*\.[0-9a-z]{6}$")


class Found:
    """What a run left: streams and files by name, and the exit code."""

    def __init__(self, done, folder, inputs):
        self.code = done.returncode
        said = re.sub(rb"\n?^time .*\n", b"", done.stderr, flags=re.M)
        said = re.sub(rb"^(resume: |warning\[SB8040\]).*\n", b"", said, flags=re.M)
        said = re.sub(rb"^warning\[SB8090\].* runs on the CPU: (worker processes|the job has no kernels).*\n(  = fix: .*\n)?", b"", said, flags=re.M)
        self.files = {"stdout": done.stdout, "stderr": said}
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                short = os.path.relpath(path, folder)
                journals = short.startswith("journal/") or name.endswith(".manifest.json")
                if short not in inputs and not journals:
                    with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
                        self.files[short] = file.read()

    def said(self, name):
        """A file or stream; of a failed job's words not how far it came."""
        body = self.files.get(name)
        if name != "stderr" or not body:
            return body
        return body.split(b"\n\n")[0] if self.code else body


def start(command, folder):
    try:
        return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, b"", b"it did not end in time\n")


def write_files(program, folder):
    for name, pieces in program.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        body = b"".join(pieces)
        with open(path, "wb") as file:
            file.write(gzip.compress(body, 1, mtime=0) if name.endswith(".gz") else body)


class Ways:
    """One program in a work folder of its own."""

    def __init__(self, program, work, devices=None):
        self.program, self.work, self.devices = program, work, devices
        self.launched = False
        self.variables = []  # Of jobs with kernels.
        self.records = None
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        self.source = os.path.join(work, "p.sbd")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(program.text())
        for called in ("batch.c", "called.py"):
            shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), called), work)
        # One CPU level: half the time to compile. Every job with all levels runs in tests/e2e.
        self.target = f"--target={os.path.join(ROOT, 'tests', 'least_level.yaml')}"
        if devices:
            self.target = devices.options()

    def run(self, name, command):
        folder = os.path.join(self.work, name)
        os.mkdir(folder)
        write_files(self.program, folder)
        done = start(command, folder)
        found = Found(done, folder, self.program.files)
        shutil.rmtree(folder)
        return found

    def run_lives(self, name, job, lives):
        """A job that is killed or asked to end in each of its lives but the last, each with options of its own, and
        goes on."""
        killed, interrupted = -9, 130
        folder = os.path.join(self.work, name)
        os.mkdir(folder)
        write_files(self.program, folder)
        for life in lives:
            variables = [o for o in life if not o.startswith("-")]
            options = [o for o in life if o.startswith("-")]
            done = start(["env", "SBC_TEST_COMMIT=1", *self.variables, *variables, job, "--progress=none", "--resume=journal",
                          *options, *self.program.arguments], folder)
            if done.returncode not in (killed, interrupted):
                break
        found = Found(done, folder, self.program.files)
        if found.code:  # What an earlier life committed stays for one that comes.
            found.files = {name: body for name, body in found.files.items() if not TEMPORARY.search(name)}
        shutil.rmtree(folder)
        return found

    def check(self):
        """What the compiler finds wrong with the text, or nothing."""
        done = start([SBC, "check", "p.sbd"], self.work)
        return done.stderr.decode(errors="replace") if done.returncode else ""

    def difference(self, options, lives, fusion):
        """(kind, report) of the first difference; None if all ways agree."""
        job = os.path.join(self.work, "job")
        compiling = [f"{name}={value}" for name, value in (self.devices.compiling() if self.devices else {}).items()]
        done = start(["env", *compiling, SBC, "p.sbd", "-o", job, self.target, *([fusion] if fusion else [])], self.work)
        if done.returncode:
            wrong = self.check()
            return (INVALID, wrong) if wrong else (f"sbc ends with {done.returncode}",
                                                   done.stderr.decode(errors="replace"))
        plain = self.interpret("plain", ["--after=spell"], self.program.arguments)
        if plain.code not in (0, 1):
            return f"reference ends with {plain.code}", plain.files["stderr"].decode(errors="replace")
        found = self.compare("passes", plain, self.interpret("passes", [], self.program.arguments))
        if self.devices:
            self.variables, wrong = self.devices.running(self.source, self.work, fusion)
            found = found or (wrong and ("kernels do not compile", wrong))
        found = found or self.run_and_compare(job, fusion, options, lives, plain)
        self.launched = os.path.exists(os.path.join(self.work, "launches"))
        return found

    def interpret(self, name, options, arguments):
        return self.run(name, [INTERPRET, *options, self.source, *arguments])

    def run_and_compare(self, job, fusion, options, lives, plain):
        first = None
        for i, option in enumerate(options):
            variables = [o for o in option if not o.startswith("-")]
            option = self.with_least(job, [o for o in option if o.startswith("-")])
            got = self.run(f"job{i}", ["env", *self.variables, *variables, job, "--progress=none", *option,
                                       *self.program.arguments])
            way = " ".join(["job", fusion, *variables, *option])
            found = self.compare(way, plain, got) or (first and compare_jobs(way, first, got))
            if found:
                return found
            first = first or got
        got = self.run_lives("lives", job, lives)
        way = " ".join(["lives", fusion, *(" ".join(life) + "," for life in lives)])
        return self.compare(way, plain, got) or compare_jobs(way, first, got)

    def with_least(self, job, option):
        """The same options, with the number that --plan says."""
        if LEAST not in option:
            return option
        option = [o for o in option if o != LEAST]
        plan = start([job, "--plan", *option, *self.program.arguments], self.work).stdout
        least = re.search(rb"^--memory +([\d.]+) MiB", plan, re.M)
        return [*option, f"--memory={int(float(least[1]) * MIB)}"] if least else option

    def compare(self, way, want, got):
        if want.code != got.code:
            return (f"{way.split()[0]}: exit code {got.code}, not {want.code}",
                    f"{way}\n--- want\n{shown(want.files['stderr'])}\n--- got\n{shown(got.files['stderr'])}")
        for name in sorted(set(want.files) | set(got.files)):
            a, b = want.said(name), got.said(name)
            if a == b or (want.code and b is not None and self.may_be(name, b)):
                continue
            stem = re.sub(r"\d", "", name)
            how = "is missing" if a is None or b is None else "differs"
            return f"{way.split()[0]}: {stem} {how}", f"{way}: {name}\n{lines_apart(a, b)}"
        return None

    def may_be(self, name, body):
        """Of several faults that each end the job, stages and units decide which one does; but each
        that is told or recorded is one that the interpreter finds when it goes on."""
        records = self.all_records()
        if records is None:
            return True
        if name == "stderr":
            found = re.search(rb"^error\[(\w+)\]: (.*)", body, re.M)
            if not found:
                return False
            code, message = found.groups()
            return any(r["code"] == code.decode() and r["message"] == message.decode() for r in records)
        rows = csv.DictReader(io.StringIO(body.decode(), newline="")) if name.endswith(".csv") else \
            json_lines(body.decode())
        known = {tuple(map(plain_text, record.values())) for record in records}
        return all(tuple(map(plain_text, row.values())) in known for row in rows)

    def all_records(self):
        """What the interpreter rejects when no limit stops it; None if something else does."""
        if self.records is None:
            others = [a for a in self.program.arguments if not a.startswith("--reject")]
            all_of_them = ["--rejects=all.jsonl", "--reject-limit=1000000000"]
            found = self.interpret("all", ["--after=spell"], others + all_of_them)
            body = found.files.get("all.jsonl", b"").decode()
            self.records = None if found.code else json_lines(body)
        return self.records


def compare_jobs(way, first, got):
    """Of one job threads and partitions change nothing, also where it fails."""
    for name in sorted(set(first.files) | set(got.files)):
        a, b = first.said(name), got.said(name)
        if a != b:
            stem = re.sub(r"\d", "", name)
            return f"{way.split()[0]}: {stem} is not always the same", f"{way}: {name}\n{lines_apart(a, b)}"
    return None


def json_lines(text):
    """Not `splitlines`: texts may hold other ends of lines than ours."""
    return [json.loads(line) for line in text.split("\n") if line]


def plain_text(value):
    return "" if value is None else str(value)


def shown(body):
    return body.decode(errors="backslashreplace")[:3000]


def lines_apart(a, b):
    if a is None or b is None:
        return "  there is none in " + ("the reference" if a is None else "the job")
    a, b = a.split(b"\n"), b.split(b"\n")
    out = []
    for i in range(max(len(a), len(b))):
        left, right = (lines[i] if i < len(lines) else None for lines in (a, b))
        if left != right:
            out.append(f"  line {i + 1}\n    reference {left!r}\n    job       {right!r}")
        if len(out) == 5:
            break
    return "\n".join(out)

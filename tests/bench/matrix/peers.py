#!/usr/bin/env python3
"""peers.py: members of the matrix in DuckDB, Polars and numba. `peers.py PEER` answers requests, a line of JSON each.

A request names a member, its files, the output and a mode; the answer has the seconds and the processor seconds of all threads, or
what went wrong. Imports, and what numba compiles, are not timed.
"""

import json
import os
import re
import resource
import sys
import time

from families import MEMBERS

MEMBER = {member.name: member for member in MEMBERS}
TIME_FORM = "%Y-%m-%d %H:%M:%S"
FRACTION_FORM, OFFSET_FORM = f"{TIME_FORM}%.f", "%Y-%m-%dT%H:%M:%S%.f%z"
DUCKDB = {"str": "VARCHAR", "i64": "BIGINT", "f64": "DOUBLE", "bool": "BOOLEAN", "timestamp": "TIMESTAMP"}


def duckdb_type(kind):
    kind = kind.rstrip("?")
    if kind.startswith("{"):
        inner = ", ".join(f"{n.strip()} {duckdb_type(k.strip())}" for n, k in fields_of(kind))
        return f"STRUCT({inner})"
    if kind.startswith("["):
        return duckdb_type(kind[1:-1]) + "[]"
    return DUCKDB.get(kind, kind.upper())


def fields_of(kind):
    """The fields of `{a: T, b: U}` whose types hold no commas."""
    return [part.split(":", 1) for part in kind[1:-1].split(",")]


class Duckdb:
    def __init__(self):
        import duckdb
        self.module = duckdb
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {os.environ['BENCH_THREADS']}")
        self.connection.execute("SET TimeZone = 'UTC'")

    def table(self, file, path):
        types = {n: duckdb_type(k) for n, k in file.types}
        if file.form == "text":
            return (f"read_csv('{path}', auto_detect = false, columns = {{'line': 'VARCHAR'}}, header = false, "
                    "delim = '\\x01', quote = '', escape = '', max_line_size = 10000000)")
        listed = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
        if file.form == "jsonl":
            return f"read_json('{path}', format = 'newline_delimited', columns = {{{listed}}})"
        header = bool(file.header or file.columns)
        quote = "quote = '\"', escape = '\"'" if file.quoted else "quote = '', escape = ''"
        line_end = {"\n": "\\n", "\r\n": "\\r\\n"}[file.end]
        return (f"read_csv('{path}', auto_detect = false, columns = {{{listed}}}, header = {header}, "
                f"delim = '{file.delimiter}', {quote}, new_line = '{line_end}')")

    def work(self, member, paths, out, mode):
        if not member.duckdb:
            return None
        form = {"jsonl": "FORMAT json"}.get(member.out, "FORMAT csv, HEADER")
        query = member.duckdb.format(**{name: self.table(file, paths[name]) for name, file in member.files.items()})
        text = f"COPY ({query}) TO '{out}' ({form})"
        self.connection.execute(f"SET preserve_insertion_order = {'true' if mode == 'ordered' else 'false'}")
        return lambda: self.connection.execute(text).fetchall()


class Polars:
    def __init__(self):
        import polars
        self.module = polars

    def type_of(self, kind):
        pl = self.module
        kind = kind.rstrip("?")
        if kind.startswith("{"):
            return pl.Struct({n.strip(): self.type_of(k.strip()) for n, k in fields_of(kind)})
        if kind.startswith("["):
            return pl.List(self.type_of(kind[1:-1]))
        if kind.startswith("decimal"):
            return pl.Decimal(*map(int, re.findall(r"\d+", kind)))
        return {"str": pl.String, "i64": pl.Int64, "f64": pl.Float64, "bool": pl.Boolean, "timestamp": pl.Datetime("us")}[kind]

    def frame(self, file, path):
        pl = self.module
        if file.form == "text":
            return pl.scan_lines(path, name="line")
        types = {n: self.type_of(k) for n, k in file.types}
        if file.form == "jsonl":
            return pl.scan_ndjson(path, schema=types)
        # Times of other forms than Polars' own are read as texts first.
        times = {n: form for n, kind in types.items() if kind == pl.Datetime("us") and (form := time_form(file, n))}
        types |= dict.fromkeys(times, pl.String)
        return pl.scan_csv(path, schema=types, has_header=bool(file.header or file.columns), separator=file.delimiter,
                           quote_char='"' if file.quoted else None).with_columns(
                               **{n: as_time(pl, n, form) for n, form in times.items()})

    def work(self, member, paths, out, mode):
        if not member.polars:
            return None

        def work():
            frames = [self.frame(file, paths[name]) for name, file in member.files.items()]
            frame = member.polars(self.module, *frames)
            if member.out == "jsonl":
                return frame.sink_ndjson(out, engine=mode)
            return frame.sink_csv(out, engine=mode, datetime_format=TIME_FORM)
        return work


def time_form(file, name):
    """How Polars has to be told to read the times of a column, or an empty text."""
    parts = next((c.split("=")[1].split(":") for c in file.columns if c.startswith(name + "=")), [])
    if len(parts) > 3 and parts[3] == "1":
        return OFFSET_FORM
    return FRACTION_FORM if len(parts) > 2 and parts[2] != "0" else ""


def as_time(pl, name, form):
    time = pl.col(name).str.to_datetime(form, time_unit="us")
    return time.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if form == OFFSET_FORM else time


class Numba:
    def __init__(self):
        import numba
        import numba_loops
        self.module, self.loops = numba, numba_loops
        numba.set_num_threads(int(os.environ["BENCH_THREADS"]))

    def work(self, member, paths, out, mode):
        if not member.numba:
            return None
        loop = getattr(self.loops, member.numba[0])
        loop(paths["input"], out, *member.numba[1:], rows_max=1)  # Compiles.
        return lambda: loop(paths["input"], out, *member.numba[1:])


def answer(peer, request):
    member = MEMBER[request["member"]]
    try:
        work = peer.work(member, request["paths"], request["out"], request["mode"])
        if not work:
            return {"fault": "nothing like it"}
        before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        work()
        seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    except Exception as fault:  # Whatever a peer raises, it is a result: the peer cannot do the member.
        return {"fault": f"{type(fault).__name__}: {fault}"[:300]}
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "processor": processor}


def main():
    peer = {"DuckDB": Duckdb, "Polars": Polars, "numba": Numba}[sys.argv[1]]()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What libraries print is no answer.
    print(json.dumps({"version": peer.module.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(peer, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()

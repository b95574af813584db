"""Sinks: six columns of CSV to CSV, JSON lines and npy, as they are or with one that is computed."""

from member import File, Member, program

FILE = File(1_000_000, ("i=i:0:9", "f=f:0:6", "d=d:0:15", "w=w:0", "t=t:0:20", "x=i:1000"))
# Name: the step, its column in DuckDB and in Polars.
COMPUTES = {
    "copy": ("", None, None),
    "int": ("i = i * 2 + 1", "i * 2 + 1 AS i", lambda pl: pl.col("i") * 2 + 1),
    "float": ("f = f * 1.1", "f * 1.1::DOUBLE AS f", lambda pl: pl.col("f") * 1.1),
    "decimal": ("d = d + d", "d + d AS d", lambda pl: pl.col("d") + pl.col("d")),
    "time": ("w = w + 1h", "strftime(w + INTERVAL 1 HOUR, '%Y-%m-%dT%H:%M:%SZ') AS w",
             lambda pl: (pl.col("w") + pl.duration(hours=1)).dt.strftime("%Y-%m-%dT%H:%M:%SZ")),
    "text": ('t = replace(t, "l", "\\"")', "replace(t, 'l', '\"') AS t", lambda pl: pl.col("t").str.replace_all("l", '"', literal=True)),
}
NPY = {"int": ("i", "i * 2 + 1"), "float": ("f", "f * 1.1")}


def text_sink(name, form):
    step, sql, polars = COMPUTES[name]
    query = f"SELECT * REPLACE ({sql}) FROM {{input}}" if sql else "SELECT * FROM {input}"
    return Member(f"sinks_{form}_{name}", "sinks", program(FILE, f"| derive {step}" if step else "", sink=f"write {form}(out)"), "sinks",
                  (form, name), FILE, duckdb=query, polars=lambda pl, f: f.with_columns(**{step[0]: polars(pl)}) if step else f, out=form)


def npy_sink(name):
    column, expression = NPY[name]
    return Member(f"sinks_npy_{name}", "sinks", program(FILE, f"| select x = {expression}", sink="write npy(out)"), "sinks",
                  (f"npy_{name}", "copy"), FILE, polars=lambda pl, f: f.select(COMPUTES[name][2](pl)), compare="bytes", out="npy")


MEMBERS = (
    *(text_sink(name, form) for form in ("csv", "jsonl") for name in COMPUTES),
    *map(npy_sink, NPY),
)

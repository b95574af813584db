"""The rows of the table: data sets, pipelines, reference programs, peers, targets."""

from dataclasses import dataclass, field

SEED = 20261121


@dataclass(frozen=True)
class Data:
    """A file that generate.c writes; `rows` and `grows` (its vocabulary) are for a scale of 1."""

    kind: str
    rows: int
    vocabulary: int = 1
    grows: bool = False


DATA = {
    "trips.csv": Data("trips", 10_000_000),
    "zones.csv": Data("zones", 0),  # Always its 260 zones.
    "lineitem.tbl": Data("lineitem", 6_001_215),
    "orders.tbl": Data("orders", 1_500_000),
    "stations_413.txt": Data("stations", 100_000_000, 413),
    "stations_10000.txt": Data("stations", 100_000_000, 10_000),
    "groups.csv": Data("groups", 10_000_000),
    "events.jsonl": Data("events", 4_900_000),
    "words_small.txt": Data("words", 11_600_000, 18_285),
    "words_large.txt": Data("words", 20_300_000, 913_081),
    "records.tsv": Data("records", 10_000_000),
    "names.csv": Data("names", 10_000_000, 3_770_000, True),
    "documents.txt": Data("documents", 1_610_000, 50_000),
    "floats.npy": Data("floats", 100_000_000),
    "features.npy": Data("features", 16_000_000),
}

# Contenders by name: the script of `peers/` without `_peer.py`, its mode.
PEERS = {
    "DuckDB": ("duckdb", "ordered"),
    "DuckDB unordered": ("duckdb", "unordered"),
    "Polars streaming": ("polars", "streaming"),
    "Polars in memory": ("polars", "in-memory"),
    "DataFusion": ("datafusion", "sql"),
    "numba": ("numba", "loop"),
}
FRAMES = ("DuckDB", "Polars streaming", "Polars in memory")
SQL = (*FRAMES, "DataFusion")


@dataclass(frozen=True)
class Row:
    title: str
    pipeline: str
    inputs: dict  # The job's parameters and their files, the scanned one first.
    peers: tuple
    unchecked: str  # What the reference does not check.
    peer_target: float  # Times the best peer.
    compare: str = "ordered"
    peer_compare: dict = field(default_factory=dict)  # Where a peer's order may differ.
    share_target: float = 0.6  # Of the reference.
    outputs: tuple = ()  # Parameters of files beside `out`, each at its path with the parameter's name behind a dot.
    memory: int = 0  # Bytes that the job and its peers may take; the reference takes what it wants.


TRIPS = {"input": "trips.csv"}
LINEITEM = {"input": "lineitem.tbl"}
FLOATS = {"input": "floats.npy"}
FIXED_CSV = "field counts, quotes, UTF-8, digits, ranges, overflow"

ROWS = {
    "a0": Row("A0 trips by hour", "a0", TRIPS, SQL, f"{FIXED_CSV}; two decimals", 2.5),
    "a4_q1": Row("A4 TPC-H Q1", "a4_q1", LINEITEM, SQL,
                 f"{FIXED_CSV}; cents as integers, groups by two letters", 2.6),
    "a4_q6": Row("A4 TPC-H Q6", "a4_q6", LINEITEM, SQL, f"{FIXED_CSV}; cents as integers", 2.6),
    "b1_413": Row("B1 413 stations", "b1", {"input": "stations_413.txt"}, (*SQL, "numba"),
                  "UTF-8, digits, fields; names to 32 bytes, tenths as integers", 1.6),
    "b1_10000": Row("B1 10,000 stations", "b1", {"input": "stations_10000.txt"}, (*SQL, "numba"),
                    "UTF-8, digits, fields; names to 32 bytes, tenths as integers", 1.6),
    "b2": Row("B2 group by a whole number", "b2", {"input": "groups.csv"}, SQL,
              f"{FIXED_CSV}; keys below 1,024 index an array", 3.0),
    "c1": Row("C1 JSON lines", "c1", {"input": "events.jsonl"}, SQL,
              "JSON grammar, UTF-8, escapes, keys: only quotes are counted", 2.3),
    "c2_small": Row("C2 word count, 18,285 words", "c2", {"input": "words_small.txt"}, FRAMES,
                    "UTF-8; words to 16 bytes", 5.0, "sorted"),
    "c2_large": Row("C2 word count, 913,081 words", "c2", {"input": "words_large.txt"}, FRAMES,
                    "UTF-8; words to 16 bytes", 1.7, "sorted"),
    "c3": Row("C3 sort trips", "c3", TRIPS, FRAMES,
              f"{FIXED_CSV}; three keys in 64 bits; rows stay bytes", 3.2,
              peer_compare=dict.fromkeys(FRAMES, "bag")),
    "c3_records": Row("C3 sort records", "c3_records", {"input": "records.tsv"}, FRAMES,
                      "everything: records of 100 bytes, keys of capital letters", 1.5,
                      peer_compare=dict.fromkeys(FRAMES, "bag")),
    "c3_700": Row("C3 sort trips, 700 MB", "c3", TRIPS, ("DuckDB",),
                  "the same; it takes 2.6 GB of memory", 3.2, peer_compare={"DuckDB": "bag"},
                  share_target=0, memory=700_000_000),
    "c3_records_700": Row("C3 sort records, 700 MB", "c3_records", {"input": "records.tsv"}, ("DuckDB",),
                          "the same; it takes 2.4 GB of memory", 1.5, peer_compare={"DuckDB": "bag"},
                          share_target=0, memory=700_000_000),
    "e1": Row("E1 eight steps over f32, a sum", "e1", FLOATS, ("numba",), "the header; sums are not exact", 1.4),
    "e1_back": Row("E1 eight steps over f32, written back", "e1_back", FLOATS, ("numba",), "the header", 1.0,
                   "bytes"),
    "ge": Row("GE features of 39 columns to two tensors", "ge", {"input": "features.npy"}, ("numba",),
              "the header; log1p is sbc's own function", 1.0, "bytes", {"numba": "floats"}, outputs=("categories",)),
    "j1": Row("J1 trips with zones", "j1", {**TRIPS, "zones": "zones.csv"}, SQL,
              f"{FIXED_CSV}; zones below 512 index an array", 1.4),
    "j2": Row("J2 line items with orders", "j2", {**LINEITEM, "orders": "orders.tbl"}, SQL,
              f"{FIXED_CSV}; keys below 2^24 index an array", 2.2),
    "j3": Row("J3 distinct names", "j3", {"input": "names.csv"}, (*FRAMES, "DuckDB unordered"),
              f"{FIXED_CSV}; names to 32 bytes", 2.5,
              peer_compare={"DuckDB": "sorted", "DuckDB unordered": "sorted"}),
    "k1": Row("K1 tokens", "k1", {"input": "documents.txt"}, (*FRAMES, "numba"),
              "UTF-8; ASCII letters only, tokens to 16 bytes", 1.0),
    "w1": Row("W1 CSV to JSON lines", "w1", TRIPS, (*FRAMES, "DuckDB unordered"),
              f"{FIXED_CSV}; escapes; floats are put by sbc's own function", 2.0,
              peer_compare={"DuckDB unordered": "bag"}),
}


def chain(steps):
    """A pipeline over trips of that many steps: a filter, derivations, a group, a sort, a write."""
    middle = []
    for i in range(steps - 4):
        before = f"x{i - 1}" if i else "fare"
        middle.append(f"| derive x{i} = {before} * {1 + i / 64} + distance")
    last = f"x{steps - 5}"
    return "\n".join([
        'read csv("trips.csv") as { pickup: timestamp, distance: f64, fare: f64 }',
        "| where fare > 0.0",
        *middle,
        f"| group by hour = hour(pickup) {{ rows = count(), mean = mean({last}) }}",
        "| sort hour",
        '| write csv("chain.csv")',
        "",
    ])


def wide_row(count):
    """A pipeline that passes on rows of that many columns."""
    types = ("i64", "f64", "str", "i64?", "date", "bool")
    columns = ", ".join(f"c{i}: {types[i % len(types)]}" for i in range(count))
    return f'read csv("wide.csv") as {{ {columns} }}\n| write csv("wide_out.csv")\n'

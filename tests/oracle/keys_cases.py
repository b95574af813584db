"""Outputs by key read by DuckDB, and folders that DuckDB has partitioned read back."""
import random

import duckdb

from harness import Different, case, json_lines

TYPE = "type Row = { rid: i64, year: i32, shop: str, price: f64? }\n"
SHOPS = ["north", "south", "é", "a b", "x=y", "50%", "-"]


def hold(so, what):
    if not so:
        raise Different(what)


def rows_of(seed, count):
    r = random.Random(seed)
    return [{"rid": i, "year": r.randint(2020, 2024), "shop": r.choice(SHOPS),
             "price": r.choice([None, r.randint(0, 800) / 8])} for i in range(count)]


@case
def outputs_by_key_are_read_by_duckdb(work):
    rows = rows_of(1, 900)
    work.put("in.jsonl", json_lines(rows))
    # Names with % stay as they are; DuckDB would undo them.
    work.run(TYPE + 'read jsonl("in.jsonl") as Row | where shop != "50%" '
             '| write csv("out/year={year}/shop={shop}.csv")', "out/year=2020/shop=north.csv")
    got = duckdb.sql(f"SELECT rid, year, shop, price, filename FROM read_csv('{work.path}/out/*/*.csv', "
                     "hive_partitioning = false, filename = true, header = true)").fetchall()
    wanted = [row for row in rows if row["shop"] != "50%"]
    hold(sorted((r["rid"], r["year"], r["shop"], r["price"]) for r in wanted) == sorted(row[:4] for row in got),
         "DuckDB reads other rows")
    for rid, year, shop, _, name in got:
        hold(name.endswith(f"/out/year={year}/shop={shop}.csv"), f"row {rid} stands in {name}")
    for name in {row[4] for row in got}:
        own = [int(line.split(",")[0]) for line in open(name, encoding="utf-8").read().split("\n")[1:-1]]
        hold(own == sorted(own), f"{name} has its rows in another order")


@case
def partitions_of_duckdb_are_read_back(work):
    rows = rows_of(2, 700)
    nulls = [{**row, "year": None if row["rid"] % 9 == 0 else row["year"]} for row in rows if row["shop"] != "50%"]
    work.put("in.jsonl", json_lines(nulls))
    db = duckdb.connect()
    db.execute(f"CREATE TABLE t AS FROM read_json('{work.path}/in.jsonl', columns = {{rid: 'BIGINT', year: 'INTEGER', "
               "shop: 'VARCHAR', price: 'DOUBLE'})")
    db.execute(f"COPY t TO '{work.path}/duck' (FORMAT csv, PARTITION_BY (year, shop))")
    read = 'read csv("duck/year={year: i32?}/shop={shop: str}/*.csv") as { rid: i64, price: f64? } '
    tail = '| derive shop = url_decode(shop) | select rid, year, shop, price | sort rid | write jsonl("out.jsonl")'
    got = work.rows(read + tail)
    hold([[str(r["rid"]), r["year"] and str(r["year"]), r["shop"], r["price"]] for r in nulls] ==
           [[str(a), b and str(b), c, d if d is None else float(d)] for a, b, c, d in got], "other rows come back")
    some = work.rows(read + '| where (year ?? 0) >= 2023 and shop != "north" ' + tail)
    want = db.execute("SELECT rid FROM t WHERE year >= 2023 AND shop <> 'north' ORDER BY rid").fetchall()
    hold([[str(w[0])] for w in want] == [[str(row[0])] for row in some], "a filter on keys gives other rows")

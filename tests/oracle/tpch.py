"""Five queries of TPC-H over small tables of our own, judged by DuckDB."""
import random
from datetime import date, timedelta

import duckdb

from harness import HERE, case, expect

LINEITEMS, ORDERS, CUSTOMERS, PARTS = 20_000, 5_000, 500, 400
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
TYPES = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"]

COLUMNS = {
    "lineitem": "orderkey BIGINT, partkey BIGINT, quantity DECIMAL(15,2), extendedprice DECIMAL(15,2), "
                "discount DECIMAL(15,2), tax DECIMAL(15,2), returnflag VARCHAR, linestatus VARCHAR, "
                "shipdate DATE, commitdate DATE, receiptdate DATE, shipmode VARCHAR",
    "orders": "orderkey BIGINT, custkey BIGINT, orderdate DATE, orderpriority VARCHAR, shippriority INTEGER",
    "customer": "custkey BIGINT, mktsegment VARCHAR",
    "part": "partkey BIGINT, type VARCHAR",
}


def cents(n):
    return f"{n // 100}.{n % 100:02}"


def tables():
    """Rows of all tables as lists of texts; the same each time."""
    r = random.Random(1992)
    first = date(1992, 1, 1)
    days = (date(1998, 8, 2) - first).days
    ordered = [first + timedelta(r.randrange(days)) for _ in range(ORDERS)]
    lines = []
    for _ in range(LINEITEMS):
        order = r.randrange(ORDERS)
        ship = ordered[order] + timedelta(r.randint(1, 121))
        commit = ordered[order] + timedelta(r.randint(30, 90))
        receipt = ship + timedelta(r.randint(1, 30))
        flag = r.choice("AR") if receipt <= date(1995, 6, 17) else "N"
        lines.append([order + 1, r.randint(1, PARTS), cents(r.randint(1, 50) * 100), cents(r.randint(90_000, 9_999_999)),
                      cents(r.randint(0, 10)), cents(r.randint(0, 8)), flag, "O" if ship > date(1995, 6, 17) else "F",
                      ship, commit, receipt, r.choice(MODES)])
    return {
        "lineitem": lines,
        "orders": [[k + 1, r.randint(1, CUSTOMERS), day, r.choice(PRIORITIES), 0] for k, day in enumerate(ordered)],
        "customer": [[k + 1, r.choice(SEGMENTS)] for k in range(CUSTOMERS)],
        "part": [[k + 1, f"{r.choice(TYPES)} BRUSHED {r.choice(['TIN', 'STEEL'])}"] for k in range(PARTS)],
    }


def prepare(work):
    """Writes the tables as .tbl, with a bar behind each field, and gives DuckDB over them."""
    db = duckdb.connect()
    for name, rows in tables().items():
        path = work.put(f"{name}.tbl", "".join("".join(f"{field}|" for field in row) + "\n" for row in rows))
        columns = dict(part.strip().split(" ", 1) for part in COLUMNS[name].replace(",2)", ";2)").split(","))
        types = ", ".join(f"'{k}': '{v.replace(';', ',')}'" for k, v in (columns | {"end": "VARCHAR"}).items())
        db.execute(f"CREATE TABLE {name} AS SELECT * EXCLUDE (\"end\") FROM read_csv('{path}', delim='|', header=false, "
                   f"columns={{{types}}})")
    return db


def query(work, number, sql, ulps=0):
    db = prepare(work)
    got = work.rows(HERE / f"tpch/q{number}.sbd", tables=".")
    expect(db.execute(sql).fetchall(), got, ulps)


# A mean of decimals is f64(sum) / f64(n) here; DuckDB divides in another order.
MEAN_ULPS = 1


@case
def tpch_q1(work):
    query(work, 1, """
        SELECT returnflag, linestatus, sum(quantity), sum(extendedprice), sum(extendedprice * (1 - discount)),
            sum(extendedprice * (1 - discount) * (1 + tax)), avg(quantity), avg(extendedprice), avg(discount), count(*)
        FROM lineitem WHERE shipdate <= DATE '1998-09-02' GROUP BY ALL ORDER BY 1, 2""", MEAN_ULPS)


@case
def tpch_q3(work):
    query(work, 3, """
        SELECT l.orderkey, sum(extendedprice * (1 - discount)) AS revenue, orderdate, shippriority
        FROM customer c JOIN orders o ON c.custkey = o.custkey JOIN lineitem l ON l.orderkey = o.orderkey
        WHERE mktsegment = 'BUILDING' AND orderdate < DATE '1995-03-15' AND shipdate > DATE '1995-03-15'
        GROUP BY l.orderkey, orderdate, shippriority ORDER BY revenue DESC, orderdate, l.orderkey LIMIT 10""")


@case
def tpch_q6(work):
    query(work, 6, """
        SELECT sum(extendedprice * discount) FROM lineitem
        WHERE shipdate >= DATE '1994-01-01' AND shipdate < DATE '1995-01-01'
            AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24""")


@case
def tpch_q12(work):
    query(work, 12, """
        SELECT shipmode, count(*) FILTER (orderpriority IN ('1-URGENT', '2-HIGH')),
            count(*) FILTER (orderpriority NOT IN ('1-URGENT', '2-HIGH'))
        FROM orders o JOIN lineitem l ON o.orderkey = l.orderkey
        WHERE shipmode IN ('MAIL', 'SHIP') AND commitdate < receiptdate AND shipdate < commitdate
            AND receiptdate >= DATE '1994-01-01' AND receiptdate < DATE '1995-01-01'
        GROUP BY shipmode ORDER BY shipmode""")


@case
def tpch_q14(work):
    query(work, 14, """
        SELECT 100.0::DOUBLE * sum(CASE WHEN type LIKE 'PROMO%' THEN extendedprice * (1 - discount) ELSE 0 END)::DOUBLE
            / sum(extendedprice * (1 - discount))::DOUBLE
        FROM lineitem l JOIN part p ON l.partkey = p.partkey
        WHERE shipdate >= DATE '1995-09-01' AND shipdate < DATE '1995-10-01'""")

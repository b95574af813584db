"""DataFusion: SQL over registered text files with explicit column types, for rows with small results."""

import os

import columns
import pyarrow as pa
import pyarrow.csv
import timing
from datafusion import SessionConfig, SessionContext

TYPES = {"i32": pa.int32(), "i64": pa.int64(), "f64": pa.float64(), "str": pa.string(),
         "date": pa.date32(), "timestamp": pa.timestamp("us")}
EVENTS = pa.schema([("kind", pa.string()), ("user", pa.struct([("country", pa.string())])),
                    ("value", pa.float64()), ("duration", pa.int64())])
STATIONS = """SELECT station, min(celsius) low, avg(celsius) mean, max(celsius) high
    FROM {} GROUP BY station ORDER BY station"""

FILES = {
    "trips": ("trips.csv", columns.TRIPS, ",", True),
    "zones": ("zones.csv", columns.ZONES, ",", True),
    "lineitem": ("lineitem.tbl", columns.LINEITEM, "|", False),
    "orders": ("orders.tbl", columns.ORDERS, "|", False),
    "stations_413": ("stations_413.txt", columns.STATIONS, ";", False),
    "stations_10000": ("stations_10000.txt", columns.STATIONS, ";", False),
    "groups": ("groups.csv", columns.GROUPS, ",", True),
}

# The tables of a row, its query.
ROWS = {
    "a0": (["trips"], """SELECT date_part('hour', pickup) AS "hour", count(*) trips,
        avg(tip / fare) mean_rate, sum(total) total, max(distance) farthest
        FROM trips WHERE fare > 0 AND distance < 100 GROUP BY 1 ORDER BY 1"""),
    "a4_q1": (["lineitem"], """SELECT returnflag, linestatus, sum(quantity) sum_quantity,
        sum(price) sum_price, sum(price * (1 - discount)) sum_disc_price,
        sum(price * (1 - discount) * (1 + tax)) sum_charge, avg(quantity) mean_quantity,
        avg(price) mean_price, avg(discount) mean_discount, count(*) orders FROM lineitem
        WHERE shipdate <= DATE '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2"""),
    "a4_q6": (["lineitem"], """SELECT sum(price * discount) revenue FROM lineitem
        WHERE shipdate >= DATE '1994-01-01' AND shipdate < DATE '1995-01-01'
        AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24"""),
    "b1_413": (["stations_413"], STATIONS.format("stations_413")),
    "b1_10000": (["stations_10000"], STATIONS.format("stations_10000")),
    "b2": (["groups"], "SELECT id4, sum(v1) total, avg(v3) mean FROM groups GROUP BY id4 ORDER BY id4"),
    "c1": (["events"], """SELECT "user"['country'] country, count(*) events, sum(value) total,
        avg(duration) mean_duration, min(value) low, max(value) high FROM events
        WHERE kind <> 'scroll' AND value > 10 GROUP BY 1 ORDER BY 1"""),
    "j1": (["trips", "zones"], """SELECT borough, count(*) trips, sum(total) total FROM trips
        JOIN zones ON pickup_zone = id GROUP BY borough ORDER BY borough"""),
    "j2": (["lineitem", "orders"], """SELECT priority, count(*) lines, sum(lineitem.price) total
        FROM lineitem JOIN orders ON orderkey = key GROUP BY priority ORDER BY priority"""),
}


def prepare(row, data, out, mode):
    config = SessionConfig().with_target_partitions(int(os.environ["BENCH_THREADS"]))
    context = SessionContext(config)

    def work():
        tables, query = ROWS[row]
        for table in tables:
            if table == "events":
                context.register_json(table, f"{data}/events.jsonl", schema=EVENTS,
                                      file_extension=".jsonl")
                continue
            name, types, delimiter, header = FILES[table]
            schema = pa.schema([(column, TYPES[kind]) for column, kind in types.items()])
            context.register_csv(table, f"{data}/{name}", schema=schema, has_header=header,
                                 delimiter=delimiter, file_extension=os.path.splitext(name)[1])
        result = context.sql(query).to_arrow_table()
        pa.csv.write_csv(result, out, pa.csv.WriteOptions(quoting_style="none"))

    return work


timing.main(prepare)

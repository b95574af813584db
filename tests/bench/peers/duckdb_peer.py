"""DuckDB: SQL over text with explicit column types. Modes: ordered, unordered (rows in any order)."""

import os

import columns
import duckdb
import timing

TYPES = {"i32": "INTEGER", "i64": "BIGINT", "f64": "DOUBLE", "str": "VARCHAR", "date": "DATE",
         "timestamp": "TIMESTAMP"}


def csv(path, types, delimiter=",", header=True):
    listed = ", ".join(f"'{name}': '{TYPES[kind]}'" for name, kind in types.items())
    quote = "quote = '\"'" if delimiter == "," else "quote = '', escape = ''"
    return (f"read_csv('{path}', auto_detect = false, columns = {{{listed}}}, header = {header}, "
            f"delim = '{delimiter}', {quote})")


def lines(path):
    return (f"read_csv('{path}', auto_detect = false, columns = {{'line': 'VARCHAR'}}, header = false, "
            "delim = '\\x01', quote = '', escape = '')")


def events(path):
    return (f"read_json('{path}', format = 'newline_delimited', columns = {{kind: 'VARCHAR', "
            "\"user\": 'STRUCT(country VARCHAR)', value: 'DOUBLE', duration: 'BIGINT'})")


def queries(data):
    trips = csv(f"{data}/trips.csv", columns.TRIPS)
    lineitem = csv(f"{data}/lineitem.tbl", columns.LINEITEM, "|", False)
    orders = csv(f"{data}/orders.tbl", columns.ORDERS, "|", False)
    stations = """SELECT station, min(celsius) low, avg(celsius) mean, max(celsius) high
        FROM {} GROUP BY station ORDER BY station"""
    words = "SELECT word, count(*) n FROM (SELECT unnest(string_split(line, ' ')) word FROM {}) GROUP BY word"
    return {
        "a0": f"""SELECT hour(pickup) AS hour, count(*) trips, avg(tip / fare) mean_rate,
            sum(total) total, max(distance) farthest
            FROM {trips} WHERE fare > 0 AND distance < 100 GROUP BY 1 ORDER BY 1""",
        "a4_q1": f"""SELECT returnflag, linestatus, sum(quantity) sum_quantity, sum(price) sum_price,
            sum(price * (1 - discount)) sum_disc_price,
            sum(price * (1 - discount) * (1 + tax)) sum_charge, avg(quantity) mean_quantity,
            avg(price) mean_price, avg(discount) mean_discount, count(*) orders
            FROM {lineitem} WHERE shipdate <= DATE '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2""",
        "a4_q6": f"""SELECT sum(price * discount) revenue FROM {lineitem}
            WHERE shipdate >= DATE '1994-01-01' AND shipdate < DATE '1995-01-01'
            AND discount BETWEEN 0.05::DOUBLE AND 0.07::DOUBLE AND quantity < 24""",
        "b1_413": stations.format(csv(f"{data}/stations_413.txt", columns.STATIONS, ";", False)),
        "b1_10000": stations.format(csv(f"{data}/stations_10000.txt", columns.STATIONS, ";", False)),
        "b2": f"""SELECT id4, sum(v1) total, avg(v3) mean
            FROM {csv(f'{data}/groups.csv', columns.GROUPS)} GROUP BY id4 ORDER BY id4""",
        "c1": f"""SELECT "user".country country, count(*) events, sum(value) total,
            avg(duration) mean_duration, min(value) low, max(value) high
            FROM {events(f'{data}/events.jsonl')} WHERE kind <> 'scroll' AND value > 10
            GROUP BY 1 ORDER BY 1""",
        "c2_small": words.format(lines(f"{data}/words_small.txt")),
        "c2_large": words.format(lines(f"{data}/words_large.txt")),
        "c3": f"SELECT * FROM {trips} ORDER BY pickup_zone, pickup, total",
        "c3_records": "SELECT * FROM " + csv(f"{data}/records.tsv", columns.RECORDS, "\t", False) +
                      " ORDER BY key",
        "j1": f"""SELECT borough, count(*) trips, sum(total) total FROM {trips} t
            JOIN {csv(f'{data}/zones.csv', columns.ZONES)} z ON t.pickup_zone = z.id
            GROUP BY borough ORDER BY borough""",
        "j2": f"""SELECT priority, count(*) lines, sum(l.price) total FROM {lineitem} l
            JOIN {orders} o ON l.orderkey = o.key GROUP BY priority ORDER BY priority""",
        "j3": f"SELECT DISTINCT \"user\" FROM {csv(f'{data}/names.csv', columns.NAMES)}",
        "k1": f"""SELECT count(*) tokens, count(DISTINCT hash(token)) different FROM
            (SELECT unnest(regexp_extract_all(lower(line), '[a-z0-9]+')) token
             FROM {lines(f'{data}/documents.txt')})""",
        "w1": f"""SELECT vendor, cab, pickup_zone, dropoff_zone, distance, fare, total,
            hour(pickup) AS hour, minutes, distance / minutes * 60 speed, tip / fare rate,
            payment || '/' || passengers AS label
            FROM (SELECT *, (epoch_us(dropoff) - epoch_us(pickup)) / 6e7 AS minutes FROM {trips})""",
    }


def prepare(row, data, out, mode):
    connection = duckdb.connect()
    connection.execute(f"SET threads = {os.environ['BENCH_THREADS']}")
    connection.execute(f"SET preserve_insertion_order = {'false' if mode == 'unordered' else 'true'}")
    if int(os.environ.get("BENCH_MEMORY", 0)):
        connection.execute(f"SET memory_limit = '{os.environ['BENCH_MEMORY']}B'")
        connection.execute(f"SET temp_directory = '{out}.spill'")
    form = {"w1": "FORMAT json", "c3_records": "FORMAT csv, HEADER false, DELIMITER '\t', QUOTE ''"}
    text = f"COPY ({queries(data)[row]}) TO '{out}' ({form.get(row, 'FORMAT csv, HEADER')})"
    return lambda: connection.execute(text).fetchall()


timing.main(prepare)

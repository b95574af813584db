"""The columns of the data sets, as plain type names that each peer translates."""

TRIPS = {
    "vendor": "i32", "pickup": "timestamp", "dropoff": "timestamp", "passengers": "i32",
    "distance": "f64", "rate_code": "i32", "cab": "str", "pickup_zone": "i32",
    "dropoff_zone": "i32", "payment": "str", "fare": "f64", "extra": "f64", "tip": "f64",
    "total": "f64",
}
ZONES = {"id": "i32", "borough": "str", "zone": "str"}
LINEITEM = {
    "orderkey": "i64", "partkey": "i64", "suppkey": "i64", "linenumber": "i32", "quantity": "f64",
    "price": "f64", "discount": "f64", "tax": "f64", "returnflag": "str", "linestatus": "str",
    "shipdate": "date", "commitdate": "date", "receiptdate": "date", "instruct": "str",
    "mode": "str", "comment": "str", "nothing": "str",
}
ORDERS = {
    "key": "i64", "customer": "i64", "status": "str", "price": "f64", "day": "date",
    "priority": "str", "clerk": "str", "ship_priority": "i32", "comment": "str", "nothing": "str",
}
STATIONS = {"station": "str", "celsius": "f64"}
GROUPS = {
    "id1": "str", "id2": "str", "id3": "str", "id4": "i64", "id5": "i64", "id6": "i64",
    "v1": "i64", "v2": "i64", "v3": "f64",
}
RECORDS = {"key": "str", "payload": "str"}
NAMES = {"user": "str", "amount": "f64"}

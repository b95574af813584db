"""What every peer's script shares: `SCRIPT ROW DATA OUT MODE` runs one row and prints its seconds."""

import json
import sys
import time


def main(prepare):
    """`prepare(row, data, out, mode)` does what is not timed and returns the timed function."""
    row, data, out, mode = sys.argv[1:]
    work = prepare(row, data, out, mode)
    begin = time.perf_counter()
    work()
    print(json.dumps({"seconds": time.perf_counter() - begin}))

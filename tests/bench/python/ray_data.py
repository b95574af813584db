"""ray_data.py NAME ROWS BATCH CPUS: one function of functions.py by Ray Data; prints seconds, rows and sum.
The clock begins when Ray stands and its processes have run one small job."""
import sys
import time

import ray

import functions

ray.init(num_cpus=int(sys.argv[4]), include_dashboard=False, log_to_driver=False, logging_level="ERROR",
         runtime_env={"env_vars": {"PYTHONPATH": sys.path[0]}})
ray.data.DataContext.get_current().enable_progress_bars = False


def apply(table, function=getattr(functions, sys.argv[1])):
    import pyarrow
    return pyarrow.table({"id": function(table.column("id"))})


def work(rows):
    data = ray.data.range(rows)
    if sys.argv[1] == "row":
        data = data.map(lambda row: {"id": functions.row(row["id"])})
    else:
        data = data.map_batches(apply, batch_format="pyarrow", batch_size=int(sys.argv[3]))
    return data.aggregate(ray.data.aggregate.Count(), ray.data.aggregate.Sum("id"))


work(1000)
begin = time.monotonic()
found = work(int(sys.argv[2]))
print(f"{time.monotonic() - begin:.3f} {found['count()']} {found['sum(id)']}")

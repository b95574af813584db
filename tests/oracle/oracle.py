"""oracle.py [PART OF A NAME]: every comparison of this folder; run.sh calls it."""
import sys

import function_cases
import half_cases  # noqa: F401
import harness
import keys_cases  # noqa: F401
import list_cases  # noqa: F401
import numbers_cases
import regex_cases  # noqa: F401
import relational
import tensor_cases  # noqa: F401
import text_cases
import tpch  # noqa: F401
import work_cases  # noqa: F401

sys.exit(harness.run_all(sys.argv[1] if len(sys.argv) > 1 else ""))

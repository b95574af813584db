#!/bin/sh
# run.sh [PART OF A NAME]: compares what jobs write with DuckDB, NumPy, Polars and Python, value by
# value.
# Builds nothing of sbc; the engines go into build/oracle/venv/, once. Skipped, with the reason,
# where pip cannot get them.
set -u
cd "$(dirname "$0")/../.." || exit 2
venv=build/oracle/venv
wanted="duckdb==2.0.0 numpy==2.4.6 polars==2.1.0 tzdata==2026.1"
log=build/oracle/pip.log

skip() {
    echo "skip oracle: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

mkdir -p build/oracle
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$wanted" ]; then
    python3 -m venv "$venv" >"$log" 2>&1 || skip "python3 -m venv fails, see $log"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 $wanted >>"$log" 2>&1 ||
        skip "pip cannot install $wanted, see $log"
    echo "$wanted" >"$venv/installed"
fi
[ -x "${SBC:-zig-out/bin/sbc}" ] || skip "sbc is not built"
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" tests/oracle/oracle.py "$@"

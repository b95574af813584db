#!/usr/bin/env bash
# run.sh [--scale=F] [--rounds=N] [--write] [--table=FILE] [ROW...]: the benchmark in one command; --help lists the rest.
#
# Installs the peers into build/bench/venv, builds generator and reference programs, generates data into
# build/bench/data, runs sbc's job, the reference and the peers in turn and prints the table. Nothing but README.md and
# tests/bench/RESULTS.md (--write) leaves build/bench/, which git ignores. Full size takes 20 GB of disk and
# about 40 minutes; --scale=0.01 is a quick check. With --no-peers, --before or --help nothing is installed, with --install
# nothing is measured.
set -euo pipefail
cd "$(dirname "$0")/../.."

PEERS="duckdb==2.0.0 polars==2.1.0 datafusion==55.0.0 pyarrow==26.0.1 numba==0.68.1 numpy==2.4.6"
VENV=build/bench/venv

python=$VENV/bin/python
case " $* " in *" --no-peers "* | *" --before"* | *" --help "*) python=python3 ;; esac
if [ "$python" != python3 ] && [ "$(cat "$VENV/installed" 2>/dev/null)" != "$PEERS" ]; then
    echo "bench: installing $PEERS" >&2
    python3 -m venv "$VENV"
    # shellcheck disable=SC2086  # A list of words.
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check $PEERS
    echo "$PEERS" >"$VENV/installed"
fi
[ "${1:-}" != --install ] || exit 0
[ -x zig-out/bin/sbc ] || ./bootstrap.sh build
exec env PYTHONDONTWRITEBYTECODE=1 "$python" tests/bench/bench.py "$@"

#!/bin/sh
# pyarrow.sh: functions in Python where the interpreter has pyarrow and numpy: the end-to-end cases, which
# may leave nothing else than without them, and the cases of pyarrow/, which need them.
# Builds nothing of sbc; the packages go into build/pyarrow/venv/, once. Skipped, with the reason,
# where pip cannot get them.
set -u
cd "$(dirname "$0")/.." || exit 2
venv=$PWD/build/pyarrow/venv
wanted="pyarrow==26.0.1 numpy==2.4.6"
log=build/pyarrow/pip.log

skip() {
    echo "skip pyarrow: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

mkdir -p build/pyarrow
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$wanted" ]; then
    python3 -m venv "$venv" >"$log" 2>&1 || skip "python3 -m venv fails, see $log"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 $wanted >>"$log" 2>&1 ||
        skip "pip cannot install $wanted, see $log"
    echo "$wanted" >"$venv/installed"
fi
[ -x "${SBC:-zig-out/bin/sbc}" ] || skip "sbc is not built"
export VIRTUAL_ENV="$venv"
{
    tests/e2e/run.py --brief extern/
    tests/cases.py pyarrow
} >build/pyarrow/out 2>&1
# Indented, so that only the line of results below is one for tests/suites.py.
sed 's/^/  /' build/pyarrow/out
awk '/[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $(NF - 5); f += $(NF - 3); s += $(NF - 1); suites++ }
    END { printf "pyarrow: %d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || suites != 2 }' build/pyarrow/out

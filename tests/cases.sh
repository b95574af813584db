# cases.sh: what suites of cases in shell share: cases in folders of their own, and what they say. A suite
# reads it in, compiles its jobs, and ends with `finish`. Its first argument names the only case to run.
root=$(cd "$(dirname "$0")/.." && pwd)
sbc=${SBC:-$root/zig-out/bin/sbc}
only=$1
work=$(mktemp -d) || exit 1
mounted=
leave() {
    [ -z "$mounted" ] || umount "$mounted"
    rm -rf "$work"
}
trap leave EXIT
cd "$work" || exit 1
passed=0 failed=0 skipped=0

# ---- what a case says ---------------------------------------------------------------------------

# begin NAME: is the case wanted? Its files lie in a folder of its own.
begin() {
    [ -z "$only" ] || [ "$only" = "$1" ] || return 1
    case_name=$1 case_good=1
    mkdir "$work/$1" && cd "$work/$1"
}
wrong() {
    [ $case_good = 0 ] || echo "$case_name: failed; alone: $0 $case_name"
    case_good=0
    echo "  $*"
    sed 's/^/    /' "$work/err" | cut -c 1-200 | head -12
}
end() {
    if [ $case_good = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    cd "$work" || exit 1
}
skip() {
    echo "$case_name: skipped: $*"
    skipped=$((skipped + 1))
    cd "$work" || exit 1
}
# gives CODE COMMAND...: runs it, streams to ../out and ../err.
gives() {
    want=$1
    shift
    timeout 60 "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code = "$want" ] || wrong "exit $code instead of $want: $*"
}
says() { grep -qF -e "$1" "$work/err" || wrong "not said: $1"; }
silent_on() { ! grep -qF -e "$1" "$work/err" || wrong "said: $1"; }
prints() { grep -qF -e "$1" "$work/out" || wrong "not printed: $1"; }
# holds FILE TEXT: the whole of it.
holds() { [ "$(cat "$1" 2>&1)" = "$2" ] || wrong "$1 holds: $(head -c 600 "$1" 2>&1)"; }
only_files() {
    found=$(find . -type f | LC_ALL=C sort | tr '\n' ' ')
    [ "$found" = "$1" ] || wrong "files: $found, expected: $1"
}
numbers() { awk -v n="$1" 'BEGIN { print "a,b,x"; for (i = 0; i < n; i++) printf "%d,name%d,%.1f\n", i, i % 100, i / 2 }'; }

# compile NAME [OPTION...]
compile() {
    name=$1
    shift
    cat >"$work/$name.sbd"
    "$sbc" "$work/$name.sbd" -o "$work/$name" "$@" 2>"$work/err" && return
    echo "$name.sbd does not compile"
    cat "$work/err"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

# least JOB [OPTION...]: the option --memory with the minimum of the job, or with --over=N as many MiB
# more.
least() {
    over=0
    for option; do case $option in --over=*) over=${option#--over=} ;; esac; done
    options=
    for option; do case $option in --over=*) ;; *) options="$options $option" ;; esac; done
    $options --plan | awk -v over="$over" '$1 == "--memory" { printf "--memory=%.1fMiB\n", $2 + over }'
}

# The last line of the suite.
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
}

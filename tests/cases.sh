# cases.sh: what suites that are one file of shell share: cases in folders of their own. A suite reads it in,
# compiles its jobs, and ends with `finish`. Its first argument names the only case to run.
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
alone=$0
. "$root/tests/words.sh"

# begin NAME: is the case wanted? Its files lie in a folder of its own.
begin() {
    [ -z "$only" ] || [ "$only" = "$1" ] || return 1
    case_name=$1 checks=0
    rm -f "$work/failed"
    mkdir "$work/$1" && cd "$work/$1"
}
end() {
    if [ ! -e "$work/failed" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    cd "$work" || exit 1
}
skip() {
    echo "$case_name: skipped: $*"
    skipped=$((skipped + 1))
    cd "$work" || exit 1
}
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

# The last line of the suite.
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ] && [ $((passed + skipped)) -gt 0 ]
}

#!/bin/sh
# resume_test.sh: jobs that are killed at their failpoints and go on; journals that they refuse.
# usage: tests/resume_test.sh [CASE]: all cases, or the one of that name. SBC names the compiler.
# SBC_RESUME_SEED=N: the lives of a job get other options.
. "$(dirname "$0")/cases.sh"

# ---- the jobs: every kind of sink and shape of plan -------------------------------------------------

compile file <<'END'
param low: i64 = 0
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | where a >= low | derive l = line() | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile compressed <<'END'
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | write csv("out.csv.zst")
rejects write csv("rejects.csv.gz") limit 10%
END
compile parts <<'END'
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | write csv("parts/", bytes = 300KiB)
rejects write jsonl("rejects.jsonl") limit 5000
END
compile several <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | where a % 3 == 0 | write csv("thirds/", bytes = 100KiB)
rows | where a % 3 != 0 | write jsonl("deep/er/rest.jsonl.gz")
rows | select b | write csv("names.csv")
rows | write json("whole.json")
rows | where a % 2 == 0 | write json("halves/", bytes = 100KiB)
rejects write jsonl("rejects.jsonl") limit 10%
END
compile arrays <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | select x = x ?? 0.5 | write npy("x.npy")
rows | select a | write npy("parts/", bytes = 64KiB)
rows | where a % 97 == 0 | distinct a | select a, t = reshape(one_hot(a % 6, 6), 1 + a % 2, -1) | write npy("one/{a}.npy", stacked = false)
rejects write jsonl("rejects.jsonl") limit 10%
END
# Outputs by key: many small files, folders of parts, compressed files, and headers that come last.
compile keyed <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let keyed = rows | derive k = if starts_with(b, "name") then f"k{a % 6}" else "two"
keyed | write csv("by/{a % 3}/{k}.csv")
keyed | where a % 2 == 0 | write jsonl("half={k}/", bytes = 4KiB)
keyed | select a, k | write csv("{k}.csv.gz")
keyed | select b, k | write json("array/{k}.json.zst")
keyed | where a < 0 | write csv("none/{k}.csv")
keyed | select p = a % 5, v = a | union (keyed | select p = a % 7, v = a) | write csv("u{p}/v.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile breakers <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | write csv("rows.csv")
rows | group by b { n = count(), s = sum(x) } | sort s desc, b | write jsonl("groups.jsonl")
rows | sort b, a desc | write csv("sorted.csv.gz")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Behind a border of stages, from two sources, and one group of all rows.
compile grouped <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let more = range(30000) | select a = i, b = f"name{i % 37}", x = if i % 3 == 0 then null else f64(i)
let both = rows | with (cpus = 1) { where a % 7 != 3 } | union more
both | group by b { n = count(), s = sum(x), first = first(a), all = mean(x) } | write jsonl("groups.jsonl")
both | aggregate { n = count(), s = sum(x), low = min(b) } | write jsonl("all.jsonl")
rows | select b | distinct | write csv("distinct.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile joined <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let names = range(70) | derive b = f"name{i}", half = i // 2
rows | join full names on b | write csv("full.csv")
rows | join names on b | write csv("inner.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Right rows that nothing matches, in front of a sort and behind a union; keys that are null.
compile rests <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let names = range(9000) | derive b = f"name{i}", half = i // 2, y = if i % 5 == 0 then null else f64(i)
rows | with (cpus = 1) { where a % 7 != 3 } | join right names on b | write csv("right.csv")
rows | union (range(500) | select a = i, b = f"name{i + 80}", x = if i % 2 == 0 then null else f64(i)) | join full (names | select y, half) on x == y
  | group by half { n = count(), s = sum(a) } | sort half | write csv("groups.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Partitions of some hundred rows, one of all rows, and keys that are null.
compile windowed <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | window by b sort a { n = row_number(), run = sum(a), before = lag(x), mid = mean(x) rows 2 back 3 ahead, most = last(a), known = fill_forward(x) }
  | write csv("by.csv")
rows | window sort x desc, a { n = dense_rank(), next = lead(b, 2), whole = count() rows all } | write jsonl("all.jsonl")
rows | where a % 2 == 0 | window by x sort a { part = session(a, 40), near = count() range 90 back 10 ahead } | sort part desc, a | write csv("parts.csv.gz")
rejects write jsonl("rejects.jsonl") limit 10%
END
# The nearest row before and after, with a key and without, and of the file's rows.
compile nearest <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let marks = range(6000) | select at = i * 5, name = f"name{i % 90}", mark = i
rows | join left marks on b == name and asof a >= at | write csv("before.csv")
rows | where a % 20 == 0 | join marks on asof a < at within 3 | write csv("after.csv")
marks | join left (rows | select b, a, x) on name == b and asof at >= a within 900 | write csv("marks.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Few rows of each key, many of all, and one of each key.
compile tops <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | top 7 by x, a asc per b | write csv("keys.csv")
rows | top 6000 by a | write csv("all.csv")
rows | distinct b, x keep last by a | write jsonl("last.jsonl")
rows | top 2 by a asc per x | group by b { n = count() } | write csv("groups.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Sides of a zip that make other numbers of rows of a unit; behind it a sort. One zip behind another, one of a flow with itself.
compile zips <<'END'
let more = range(60000) | where i % 2 == 0 | derive k = i * 2
range(60000) | where i % 3 == 0 | derive n = 1 // (i % 11) else 0 | zip (range(40000) | where i % 2 == 1 | select odd = i) | derive m = 1 // (odd % 7) | write csv("zip.csv")
more | sort k desc | zip (range(30000) | select j = i) | zip (range(90000) | where i % 3 == 0 | select l = i) | write csv("zips.csv")
let own = range(20000)
own | with (cpus = 1) { derive z = i * 3 } | zip (own | select o = i) | sort o desc | write csv("own.csv")
rejects write jsonl("rejects.jsonl") limit 90%
END
compile edges <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | where a % 2 == 0 | union (rows | where a % 2 == 1) | write csv("union.csv")
rows | skip 20 | limit 20000 | derive n = 1 // (a % 7) else 0 | write csv("limit.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Rows that wait for others that are made of the same: they can be committed only behind these.
compile selves <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | join (rows | group by b { n = count() }) on b | write csv("joined.csv")
rows | sort b, a | union rows | write csv("union.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# The same beside breakers that go on.
compile apart <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | union rows | select a, b | write csv("union.csv")
let more = read csv("../in/2.csv") as { a: i64, b: str, x: f64? }
more | aggregate { n = count(), m = median(x), s = sum(a) } | write csv("all.csv")
more | group by b { n = count(), m = median(a) } | write csv("groups.csv")
more | sort b desc, a | write csv("sorted.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Two flows that wait for each other's tables.
compile mutual --no-fuse <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let names = range(70) | select n = i, b = f"name{i}"
rows | derive z = a + 1 | join (names | select b, half = n // 2) on b | write csv("rows.csv")
names | derive z = n + 1 | join (rows | select b, y = x) on b | write csv("names.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Steps that judge rows in front of a limit and behind it; one limit behind another.
compile limited <<'END'
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | derive l = line(), m = 1 // (a % 9 - 4) | skip 100 | limit 15000
  | derive n = 1 // (a % 7 - 3) | limit 9000 | write csv("limit.csv")
rejects write jsonl("rejects.jsonl") limit 90%
END
# A limit behind two sources, and beside it all rows of both; one behind a sort, one in front of a group.
compile limits <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let more = range(30000) | select a = i, b = f"name{i % 37}", x = if i % 3 == 0 then null else f64(i)
let both = rows | union more
both | write csv("all.csv")
both | derive n = 1 // (a % 7 - 3) | skip 5 | limit 30000 | write csv("limit.csv")
rows | sort b, a | derive n = 1 // (a % 7 - 3) | limit 2000 | write csv("sorted.csv")
more | where a % 5 == 0 | limit 3000 | group by b { n = count() } | sort b | write csv("groups.csv")
rejects write jsonl("rejects.jsonl") limit 90%
END
compile unfused --no-fuse <<'END'
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | where a % 5 != 0 | derive y = a * 2 | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile made <<'END'
range(60000) | derive s = f"row {i}" | write csv("range.csv")
read files("../in/*.csv") | derive n = len(bytes) | select path, n | write csv("files.csv")
[{ k: 1 }, { k: 2 }, { k: 3 }] | write jsonl("inline.jsonl")
END
compile standard <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
rows | write csv("-")
rows | where a % 2 == 0 | write csv("even.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
# Behind each other: compressed files and a plain one. A row is longer than row_max.
compile packed <<'END'
let rows = read csv(["../packed.csv.gz", "../in/2.csv", "../packed.csv.lz4", "../packed.csv.zst"], row_max = 100KiB) as { a: i64, b: str, x: f64? }
rows | derive l = line() | write csv("out.csv")
rows | group by b { n = count() } | write csv("groups.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile piped <<'END'
read csv("-") as { a: i64, b: str, x: f64? } | derive l = line() | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile pack <<'END'
let rows = read csv("packed.csv") as { a: str, b: str, x: str }
rows | write csv("packed.csv.zst")
rows | write csv("packed.csv.lz4")
END
compile wide <<'END'
read csv("in.csv") as { a: i64, b: str, x: f64? } | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
compile large <<'END'
let rows = read csv("in.csv") as { a: i64, b: str, x: f64? }
rows | write csv("out.csv.zst")
rows | where a % 2 == 0 | write csv("out/", bytes = 1MiB)
END
compile empty <<'END'
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | where a < 0 | write csv("out.csv")
read csv("../in/*.csv") as { a: i64, b: str, x: f64? } | where a < 0 | write jsonl("out.jsonl")
rejects write jsonl("rejects.jsonl") limit 10%
END

# Files with quoted line ends, and one bad row in a hundred.
mkdir in
for i in 1 2 3; do
    awk -v k=$i 'BEGIN { print "a,b,x"
        for (i = 0; i < 9000; i++)
            if (i % 100 == 50) print "bad" i ",name,1"
            else if (i % 31 == 7) printf "%d,\"two\nlines, %d\",%.1f\n", k * i, i % 9, i / 2
            else printf "%d,name%d,%.1f\n", k * i, i % 100, i / 2 }' >in/$i.csv
done
{ cat in/1.csv; awk 'BEGIN { printf "1,"; for (i = 0; i < 50000; i++) printf "long "; print ",1" }'; tail -n +2 in/3.csv; } >packed.csv
gzip -k packed.csv
./pack >out 2>err || { cat err; exit 1; }

# ---- killed and gone on with ------------------------------------------------------------------------

# contents FOLDER: what a run left, without what only a journal adds.
contents() {
    (cd "$1" && find . -type f ! -name '*.manifest.json' ! -path './journal/*' -exec md5sum {} + | LC_ALL=C sort -k 2)
}
# draw N: a number below N, the same in each run of the suite with a seed.
drawn=0 state=${SBC_RESUME_SEED:-1}
draw() {
    state=$(((state * 1103515245 + 12345) % 2147483648))
    drawn=$((state / 65536 % $1))
}
one_of() {
    draw $#
    shift $drawn
    one=$1
}
# draw_way JOB OPTION...: in $way options that change no byte. Memory is the minimum, somewhat more, or plenty; of a job
# whose input has a row of 250 kB $beside more.
draw_way() {
    one_of 1 2 3
    way=--threads=$one
    one_of 16 40 64 200
    way="$way --partition=${one}KiB"
    one_of 0 1 5 2000
    way="$way $(least "$@" $way --over=$((one + beside)))"
}
# run CODE JOB OPTION...: in the folder that is the working one.
run() {
    want=$1
    shift
    draw_way "$@"
    timeout 60 "$@" $way <../packed.csv >stdout.new 2>"$work/err"
    code=$?
    take_stdout
    if [ $code = 3 ] && grep -q '^error\[SB8136\]' "$work/err"; then
        [ -s stdout ] || wrong "nobody has written standard output: $* $way"
        timeout 60 "$@" $way <../packed.csv >stdout.new 2>"$work/err"
        code=$?
        [ ! -s stdout.new ] || wrong "a job that is done writes standard output"
        rm stdout.new
        says "nothing to do; an earlier run has written standard output"
    fi
    [ $code = "$want" ] || wrong "exit $code instead of $want: $* $way"
}
# Standard output is written from its start by each life, and not at all once the outputs are being published.
# Such a life ends with SB8136, and the same command says that the job is finished.
take_stdout() { if [ -s stdout.new ] || [ ! -e stdout ]; then mv stdout.new stdout; else rm stdout.new; fi; }
# killed FAILPOINT: an earlier life of the job that `job` names. It may be done before it comes there.
killed() {
    draw_way "../../$job" $more --resume=journal
    ways="$ways$1 $way, "
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=$1 "../../$job" $more --resume=journal $way <../packed.csv >stdout.new 2>"$work/err"
    code=$?
    take_stdout
    case $code in
    0 | 137) ;;
    3) says "error[SB8136]" ;;
    *) wrong "exit $code: $ways" ;;
    esac
}
# lives NAME FAILPOINT...: dies at each, is resumed, and leaves what one that was left alone left.
lives() {
    mkdir "$1" && cd "$1" || return
    shift
    ways=
    for at; do killed "$at"; done
    run 0 "../../$job" $more --resume=journal
    grep -v '^resume: ' "$work/err" >../summary
    cmp -s ../summary ../expected.summary || wrong "$ways$way: other figures: $(diff ../summary ../expected.summary | head -5)"
    contents . >../left
    cmp -s ../left ../expected.left || wrong "$ways$way: other files: $(diff ../left ../expected.left | head -5)"
    cd ..
    rm -rf "$(basename "$OLDPWD")"
}

# Every file that is not a manifest stands in one, with its size.
manifests() {
    python3 - <<'END' >"$work/out" 2>"$work/err" || wrong "the manifests are wrong"
import json, pathlib
files = {str(f): f.stat().st_size for f in pathlib.Path(".").rglob("*") if f.is_file()}
told = [f for m in files if m.endswith(".manifest.json") for f in json.load(open(m))["files"]]
assert told and all(files[f["path"]] == f["bytes"] and len(f["xxh3_128"]) == 32 for f in told), told
own = {f for f in files if not f.endswith(".manifest.json") and not f.startswith("journal/")}
assert own == {f["path"] for f in told} | {"stdout"}, own
END
}

# NAME, or NAME--first-rows=N.
for job in file compressed parts arrays several keyed breakers grouped joined rests windowed nearest tops zips edges selves apart mutual limited limits unfused made standard packed piped empty file--first-rows=12000 \
    several--first-rows=7000 limited--first-rows=4000; do
    begin "killed_$job" || continue
    case $job in *--*) more=--${job#*--} ;; *) more= ;; esac
    job=${job%%--*}
    case $job in packed | piped) beside=3 ;; *) beside=0 ;; esac
    ln -s ../in in
    for packed in ../packed.csv*; do ln -s "$packed" .; done
    mkdir alone && cd alone || exit 1
    run 0 "../../$job" $more
    cd ..
    cp "$work/err" expected.summary
    contents alone >expected.left
    for at in committed:1 committed:2 committed:4 committed:5 journal-written:3 publish-recorded renamed:1 manifest:1; do
        lives one $at
    done
    [ $job != several ] || for at in checkpoint-synced commit-synced:2 publish-begins renamed:3 published; do
        lives one $at
    done
    lives more committed:2 commit-synced:3 journal-written:2 checkpoint-synced committed:9 renamed:1 manifest:1
    mkdir whole && cd whole || exit 1
    run 0 "../../$job" $more --resume=journal
    manifests
    cd ..
    end
done

# Windows, nearest rows and the greatest of each key, whose rows are on disk in one life and in memory in another.
for job in windowed nearest tops; do
    begin "on_disk_$job" || continue
    ln -s ../in in
    mkdir alone one && cd alone || exit 1
    gives 0 "../../$job"
    cd ..
    contents alone >alone.left
    cd one || exit 1
    # The first life is in memory and the second on disk, then the other way around.
    for ways in "SBC_TEST_SPILL_NOT=1 SBC_TEST_SPILL=1" "SBC_TEST_SPILL=1 SBC_TEST_SPILL_NOT=1"; do
        for at in 20 15; do
            env SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:$at "${ways% *}" "../../$job" --resume=journal --partition=16KiB --threads=1 >"$work/out" 2>"$work/err"
            [ $? = 137 ] || wrong "$ways: it was not killed"
            ways="${ways#* } ${ways% *}"
        done
        gives 0 env SBC_TEST_SPILL=1 "../../$job" --resume=journal --threads=2 --stats=json
        grep -Eq "^resume: .* goes on at (byte|row) [1-9]|goes on at the end" "$work/err" || wrong "$ways: it begins anew"
        grep -Eq '"spilled":[1-9]' "$work/err" || wrong "$ways: nothing is on disk"
        contents . >../one.left
        cmp -s ../one.left ../alone.left || wrong "$ways: other bytes: $(diff ../one.left ../alone.left | head -5)"
        rm -rf journal ./*.csv* ./*.jsonl*
    done
    cd ..
    end
done

# ---- what is said, and what is refused --------------------------------------------------------------

# begun FAILPOINT OPTION...: a journal in the folder `journal`, of a job that was killed.
begun() {
    at=$1
    shift
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=$at ../file --resume=journal --partition=16KiB --threads=1 "$@" >"$work/out" 2>"$work/err"
    [ $? = 137 ] || wrong "it was not killed"
}

if begin shows; then
    gives 2 ../file --journal=journal
    says "error[SB8041]: there is no journal in 'journal'"
    says "fix: give the folder of a run with --resume=DIR"
    prints "it cannot be resumed"
    begun committed:2
    gives 0 ../file --journal=journal
    prints "goes on at byte "
    prints " bytes are left, "
    prints "it can be resumed"
    says_so() { # CODE SB.... : both say why it cannot, and make nothing.
        before=$(ls -A)
        for how in --journal --check\ --resume --resume; do
            gives "$1" ../file $how=journal
            says "error[$2]: "
        done
        [ "$(ls -A)" = "$before" ] || wrong "there is now: $(ls -A), there was: $before"
    }
    own=$(ls -A | grep '^\.out\.csv\.')
    mv "$own" kept
    says_so 3 SB8046
    head -c 100 kept >"$own"
    says_so 3 SB8046
    tr 1 2 <kept >"$own"
    says_so 3 SB8046
    mv kept "$own"
    : >out.csv
    says_so 2 SB8007
    rm out.csv
    gives 2 ../file --check --resume=journal --low=5
    says "error[SB8043]: --low was 0"
    gives 0 ../file --check --resume=journal
    prints "; the job goes on"
    gives 2 ../file --journal=journal --low=5
    prints "it cannot be resumed"
    says "error[SB8043]: --low was 0 when the journal in 'journal' was begun, and is 5 now"
    gives 0 ../file --resume=journal
    says "resume: 'read csv"
    says " are done, "
    gives 0 ../file --journal=journal
    prints "the job is finished"
    gives 0 ../file --resume=journal
    says "resume: the job is finished: nothing to do"
    end
fi

# What runs from the start says so, when the job begins and afterwards.
if begin from_the_start; then
    ln -s ../in in
    mkdir one && cd one || exit 1
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:3 ../../selves --resume=journal --partition=16KiB --threads=1 2>"$work/err"
    [ $? = 137 ] || wrong "it was not killed"
    says "resume: 'read csv("
    says "' will run from the start if the job is resumed, as its rows wait for others that are made of the same"
    gives 0 ../../selves --journal=journal
    prints " runs from the start, as its rows wait for others that are made of the same: what is written already is compared"
    rm -rf journal .u* .j* .r*
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:3 ../../standard --resume=journal --partition=16KiB --threads=1 >stdout 2>"$work/err"
    [ $? = 137 ] || wrong "it was not killed"
    says " will run from the start if the job is resumed, as what it makes goes to a stream, which is written again"
    gives 0 ../../standard --resume=journal
    says " runs from the start, as what it makes goes to a stream, which is written again: what is written already is compared"
    rm -rf journal even.csv* rej*
    gives 0 ../../file --resume=journal
    silent_on "from the start"
    cd ..
    end
fi

if begin other_run; then
    begun committed:2
    gives 2 ../file --resume=journal --low=1
    says "error[SB8043]: --low was 0"
    gives 2 ../file --resume=journal --first-rows=9
    says "error[SB8043]: --first-rows was not given"
    gives 2 ../file --resume=journal --reject-limit=7
    says "error[SB8043]: --reject-limit was 10%"
    gives 2 ../parts --resume=journal
    says "error[SB8043]: the journal in 'journal' is of another program: of '"
    says "file.sbd', and this is '"
    cp ../file.sbd ../own.sbd && sed "s/10%/11%/" ../own.sbd >../file.sbd
    "$sbc" "$work/file.sbd" -o changed 2>"$work/err" || wrong "it does not compile"
    mv ../own.sbd ../file.sbd
    gives 2 ./changed --resume=journal
    says "is of another program: the text of '"
    mkdir elsewhere && cd elsewhere && ln -s ../../in ../in
    gives 2 ../../file --resume=../journal
    says "error[SB8043]: the working folder was "
    cd ..
    # What changes no byte may differ.
    gives 0 ../file --resume=journal --threads=3 --partition=100KiB --memory=1GiB --stats
    end
fi

if begin other_input; then
    numbers 20000 >in.csv
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:2 ../wide --resume=journal --partition=64KiB --threads=1 2>"$work/err"
    touch -d 2020-01-01 in.csv
    gives 1 ../wide --resume=journal
    says "error[SB8044]: 'in.csv' was "
    says " when the journal in 'journal' was begun, and is "
    says " bytes of 2020-01-01T00:00:00.000000000Z now"
    silent_on column
    end
fi

# The same size and time, but other rows: those that were read, or the names above them.
if begin other_rows; then
    numbers 20000 >good.csv
    cp -p good.csv in.csv
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:2 ../wide --resume=journal --partition=64KiB --threads=1 2>"$work/err"
    put() { dd of=in.csv bs=1 seek="$1" conv=notrunc 2>"$work/err" && touch -r good.csv in.csv; }
    tail -c 4096 good.csv | put 6
    gives 1 ../wide --resume=journal
    says "error[SB8044]: the 4096 bytes from byte 6 of 'in.csv' on are not those that the run read whose journal is in 'journal'"
    gives 1 ../wide --journal=journal
    says "error[SB8044]: the 4096 bytes"
    cp -p good.csv in.csv
    printf 'x,b,a' | put 0
    gives 1 ../wide --resume=journal
    says "error[SB8044]: the header of 'in.csv' was a 1, b 2, x 3 when the journal in 'journal' was begun, and is a 3, b 2, x 1 now"
    cp -p good.csv in.csv
    gives 0 ../wide --resume=journal
    says "resume: 'read csv"
    end
fi

if begin damaged; then
    begun committed:4
    cp -r journal good
    restored() { rm -rf journal && cp -r good journal; }
    printf 'no journal' | dd of=journal/journal conv=notrunc 2>"$work/err"
    gives 3 ../file --resume=journal
    says "error[SB8046]: 'journal/journal' is no journal"
    # The head of version 999, with its checksum.
    restored
    printf '\163\142\143\055\152\162\156\154\347\003\000\000\000\000\000\000\032\231\260\077\017\255\141\011\146\126\275\337\251\264\265\234' >journal/journal
    gives 2 ../file --resume=journal
    says "error[SB8045]: the journal in 'journal' is of version 999, this job knows 14"
    restored
    : >journal/journal
    gives 3 ../file --resume=journal
    says "error[SB8046]: "
    # A byte of an early record: those behind it are whole.
    restored
    printf 'X' | dd of=journal/journal bs=1 seek=200 conv=notrunc 2>"$work/err"
    gives 3 ../file --resume=journal
    says "error[SB8046]: the journal in 'journal' is damaged at byte 32"
    # Cut short: the last commits are made again.
    restored
    truncate -s 1500 journal/journal
    gives 0 ../file --resume=journal
    says "resume: "
    end
fi

if begin output_damaged; then
    begun committed:4
    printf 'X' | dd of="$(ls .out.csv.*)" bs=1 seek=100 conv=notrunc 2>"$work/err"
    gives 3 ../file --resume=journal
    says "which an earlier run began, is gone or was changed"
    rm .out.csv.*
    gives 3 ../file --resume=journal
    says "error[SB8046]: "
    end
fi

# The text of a stream is read again, and has to be the same.
if begin streams; then
    numbers 20000 >all.csv
    sed 's/name7,/eman7,/' all.csv >other.csv
    gives 0 ../piped <all.csv
    mv out.csv alone.csv
    rm rejects.jsonl
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:3 ../piped --resume=journal --partition=64KiB --threads=1 <all.csv 2>"$work/err"
    [ $? = 137 ] || wrong "it was not killed"
    gives 0 ../piped --journal=journal
    prints "goes on at byte "
    prints " of the text of '-', which is read again up to there: "
    gives 1 ../piped --resume=journal <other.csv
    says "error[SB8044]: the first "
    says " bytes of the text of '-' are not those that an earlier run read"
    says "fix: give it the same bytes again, from the first one on"
    gives 1 ../piped --resume=journal </dev/null
    says " bytes of the text of '-' are not those that an earlier run read"
    head -c 1000 all.csv >short.csv
    gives 1 ../piped --resume=journal <short.csv
    says "error[SB8044]: the first "
    gives 0 ../piped --resume=journal <all.csv
    says " goes on at byte "
    cmp out.csv alone.csv >"$work/why" 2>&1 || wrong "other bytes: $(cat "$work/why")"
    end
fi

# Which right rows were matched, by numbers that mean the same in memory and on disk (SBC_TEST_SPILL).
# The right side runs from the start, so that no commit brings it to the disk.
if begin right_rows; then
    cat >right.sbd <<'END'
let rows = read csv("../in/*.csv") as { a: i64, b: str, x: f64? }
let names = range(8000) | derive k = if i % 50 == 7 then null else f"{i // 2}", half = i // 2
names | select half | write csv("-")
rows | derive k: str? = f"{a}" | join full names on k | write csv("full.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
    "$sbc" right.sbd -o right 2>"$work/err" || wrong "it does not compile"
    ln -s ../in in
    mkdir one && cd one || exit 1
    gives 0 ../right
    mv full.csv ../full.csv
    rm rejects.jsonl
    life() { # SPILLS FAILPOINT: is killed there.
        SBC_TEST_COMMIT=1 SBC_FAILPOINT=$2 env ${1:+SBC_TEST_SPILL=1} ../right --resume=journal --partition=16KiB --threads=1 >"$work/out" 2>"$work/err"
        [ $? = 137 ] || wrong "$2: it was not killed"
    }
    for first in "" yes; do
        for second in "" yes; do
            life "$first" committed:20
            life "$second" committed:10
            says "resume: 'read csv(\"../in/*.csv\") as { a: i64, b: str, x: f64? }' goes on at byte "
            gives 0 env ${first:+SBC_TEST_SPILL=1} ../right --resume=journal
            says "' goes on at byte "
            cmp -s full.csv ../full.csv || wrong "spills: '$first' '$second': other bytes"
            rm -rf journal ./*.csv* ./*.jsonl*
        done
    done
    # Behind the left rows the right rows that are left go on.
    gives 0 ../../rests
    mv groups.csv ../groups.csv
    mv right.csv ../right.csv
    rm rejects.jsonl
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:60 ../../rests --resume=journal --partition=16KiB --threads=1 2>"$work/err"
    [ $? = 137 ] || wrong "rests: it was not killed"
    gives 0 ../../rests --resume=journal
    grep -Eq "^resume: 'join full .*' goes on at row [1-9]" "$work/err" || wrong "the right rows that are left do not go on"
    cmp -s groups.csv ../groups.csv && cmp -s right.csv ../right.csv || wrong "rests: other bytes"
    cd ..
    end
fi

# More records of rejects than the memory holds, of lives that were killed too.
if begin many_rejects; then
    awk 'BEGIN { for (i = 0; i < 40000; i++) print i % 4 ? "w" i : i }' >lines.txt
    cat >bad.sbd <<'END'
param stop: i64 = -1
read text("lines.txt") | derive a = i64(line) | derive b = (100 // (a - stop)) else fail | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 100%
END
    "$sbc" bad.sbd -o bad 2>"$work/err" || wrong "it does not compile"
    for ends in "0 --stop=-1" "1 --stop=39996" "1 --reject-limit=29990"; do
        want=${ends%% *} option=${ends#* }
        gives $want ./bad $option --memory=1GiB
        sed '/^$/q' "$work/err" >alone.err
        mv rejects.jsonl alone.jsonl
        rm -f out.csv
        for eager in "" SBC_TEST_SPILL=1; do
            way="--threads=1 --partition=16KiB $(least ./bad $option --resume=journal --threads=1 --partition=16KiB)"
            for at in committed:5 commit-synced:4; do
                env $eager SBC_TEST_COMMIT=1 SBC_FAILPOINT=$at ./bad $option --resume=journal $way 2>"$work/err"
                [ $? = 137 ] || wrong "$at: it was not killed"
            done
            gives $want env $eager ./bad $option --resume=journal $way --threads=2
            grep -v '^resume: ' "$work/err" | sed '/^$/q' | cmp -s - alone.err || wrong "$ends $eager: another message"
            cmp -s rejects.jsonl alone.jsonl || wrong "$ends $eager: other records"
            rm -rf journal out.csv* rejects.jsonl*
        done
    done
    end
fi

# Each side of a zip goes on from the unit whose rows stand beside those that are not committed.
if begin zipped; then
    numbers 20000 >left.csv
    awk 'BEGIN { print "n,wide"; for (i = 0; i < 60000; i++) printf "%d,%0*d\n", i, 5 + i % 90, i }' >right.csv
    cat >zip.sbd <<'END'
read csv("left.csv") as { a: i64, b: str, x: f64? } | with (cpus = 1) { derive d = a * 2 }
  | zip (read csv("right.csv") as { n: i64, wide: str } | where n % 3 == 1) | derive m = 1 // (n % 50) | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 10%
END
    cat >mixed.sbd <<'END'
let left = read csv("left.csv") as { a: i64, b: str, x: f64? }
let right = read csv("right.csv") as { n: i64, wide: str } | where n % 3 == 1
left | write csv("left_again.csv")
left | zip right | write csv("out.csv")
END
    cat >limited.sbd <<'END'
read csv("left.csv") as { a: i64, b: str, x: f64? } | zip (read csv("right.csv") as { n: i64, wide: str } | where n % 3 == 1) | limit 9000 | write csv("out.csv")
END
    for job in zip mixed limited; do "$sbc" $job.sbd -o $job 2>"$work/err" || wrong "it does not compile"; done
    gives 0 ./zip
    mv out.csv alone.csv
    mv rejects.jsonl alone.jsonl
    cp "$work/err" alone.err
    for at in committed:20 committed:30 commit-synced:21; do
        for next in committed:7 journal-written:2 commit-synced:9; do
            SBC_TEST_COMMIT=1 SBC_FAILPOINT=$at ./zip --resume=journal --partition=16KiB --threads=1 2>"$work/err"
            [ $? = 137 ] || wrong "$at: it was not killed"
            SBC_TEST_COMMIT=1 SBC_FAILPOINT=$next ./zip --resume=journal --partition=24KiB --threads=1 2>"$work/err"
            [ $? = 137 ] || wrong "$next: it was not killed"
            gives 0 ./zip --resume=journal --threads=3
            [ "$(grep -Ec "^resume: 'read csv\(.*goes on at byte [1-9]" "$work/err")" = 2 ] || wrong "$at $next: a side begins anew"
            grep -v '^resume: ' "$work/err" | cmp -s - alone.err || wrong "$at $next: other figures"
            cmp -s out.csv alone.csv && cmp -s rejects.jsonl alone.jsonl || wrong "$at $next: other bytes"
            rm -rf journal out.csv* rejects.jsonl*
        done
    done
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:3 ./mixed --resume=journal --partition=16KiB --threads=1 2>"$work/err"
    says "will run from the start if the job is resumed, as its rows are zipped, and go elsewhere or with those of others"
    gives 0 ./mixed --resume=journal
    rm -rf journal out.csv* left_again*
    gives 0 ./limited --resume=journal
    says "will run from the start if the job is resumed, as its rows are zipped, and the job has a limit"
    [ "$(wc -l <out.csv)" = 9001 ] || wrong "the limit takes other rows"
    end
fi

# A plain file behind a compressed one is read from its beginning, wherever the job goes on in the text of that one.
if begin behind_a_stream; then
    numbers 3000 >a.csv
    numbers 0 >b.csv
    gzip a.csv b.csv
    numbers 3000 >c.csv
    cat >behind.sbd <<'END'
read csv(["a.csv.gz", "b.csv.gz", "c.csv"]) as { a: i64, b: str, x: f64? } | write csv("out.csv")
END
    "$sbc" behind.sbd -o behind 2>"$work/err" || wrong "it does not compile"
    gives 0 ./behind
    mv out.csv alone.csv
    cp "$work/err" alone.err
    for at in 1 2 5 9 20; do
        SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:$at ./behind --resume=journal --partition=4KiB --threads=1 2>"$work/err"
        [ $? = 137 ] || wrong "$at: it was not killed"
        gives 0 ./behind --resume=journal --partition=7KiB
        cmp -s out.csv alone.csv || wrong "$at: other bytes"
        grep -v '^resume: ' "$work/err" | cmp -s - alone.err || wrong "$at: other figures"
        rm -rf journal out.csv*
    done
    end
fi

# The one group of all rows is there when no row came, where a journal lets it go to disk (SBC_TEST_SPILL), too.
if begin no_rows; then
    numbers 300 >in.csv
    cat >none.sbd <<'END'
read csv("in.csv") as { a: i64, b: str, x: f64? } | where a < 0 | aggregate { n = count(), most = max(a) } | write csv("out.csv")
END
    "$sbc" none.sbd -o none 2>"$work/err" || wrong "it does not compile"
    SBC_TEST_COMMIT=1 SBC_TEST_SPILL=1 gives 0 ./none --resume=journal --partition=1KiB
    holds out.csv "n,most
0,"
    end
fi

# One group of all rows, whose states go to disk between blocks of rows: with a journal memory is short sooner, as there are
# twice as many tables.
if begin one_group; then
    cat >one.sbd <<'END'
read csv("in.csv") as { a: i64, b: str, x: f64? } | aggregate { n = count(), m = median(x), s = sum(a) } | write csv("out.csv")
END
    "$sbc" one.sbd -o one 2>"$work/err" || wrong "it does not compile"
    numbers 60000 >in.csv
    way="--threads=3 --partition=200KiB"
    for over in 0 1 2 4; do
        gives 0 ./one --resume=journal $way $(least ./one --resume=journal $way --over=$over)
        holds out.csv "n,m,s
60000,14999.75,1799970000"
        rm -rf journal out.csv*
    done
    end
fi

# What a sort held when the job was killed is beside its journal.
if begin breaker_damaged; then
    ln -s ../in in
    mkdir one && cd one || exit 1
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:4 ../../breakers --resume=journal --partition=16KiB --threads=1 2>"$work/err"
    [ $? = 137 ] || wrong "it was not killed"
    ls journal/runs.0 >"$work/why" 2>&1 || wrong "no runs are there"
    cp journal/runs.0 runs
    printf 'X' | dd of=journal/runs.0 bs=1 seek=100 conv=notrunc 2>"$work/err"
    gives 3 ../../breakers --resume=journal
    says "error[SB8046]: 'journal/runs.0', which an earlier run wrote, is gone or was changed"
    rm journal/runs.0
    gives 3 ../../breakers --resume=journal
    says "error[SB8046]: 'journal/runs.0'"
    mv runs journal/runs.0
    gives 0 ../../breakers --resume=journal --memory=64MiB --threads=3
    says "goes on at byte "
    [ "$(ls journal)" = journal ] || wrong "runs are left: $(ls journal)"
    cd ..
    end
fi

# An output of an earlier run goes with its manifest, whoever replaces it, and wherever that one dies.
if begin stale_manifest; then
    all="--overwrite --reject-limit=99%"
    gives 0 ../file --resume=one $all
    gives 0 ../file $all --first-rows=10
    [ "$(wc -l <out.csv)" -lt 99 ] && [ ! -e out.csv.manifest.json ] && [ ! -e rejects.jsonl.manifest.json ] || wrong "there is: $(ls -A), $(wc -l <out.csv)"
    gives 0 ../file --resume=two $all
    [ -e out.csv.manifest.json ] || wrong "there is: $(ls -A), $(wc -l <out.csv)"
    SBC_FAILPOINT=renamed ../file --resume=three $all --first-rows=10 2>"$work/err"
    [ $? = 137 ] && [ "$(wc -l <out.csv)" -lt 99 ] && [ ! -e out.csv.manifest.json ] || wrong "there is: $(ls -A), $(wc -l <out.csv)"
    gives 0 ../file --resume=three $all --first-rows=10
    grep -q '"rows":10,' out.csv.manifest.json || wrong "the manifest is that of another run"
    end
fi

# All rows were made by a run that died before a name was taken: the next one may be told to replace it.
if begin name_taken; then
    SBC_FAILPOINT=publish-recorded ../several --resume=journal --reject-limit=99% 2>"$work/err"
    for i in 00 02 77; do echo old >thirds/part-000$i.csv; done
    gives 2 ../several --resume=journal --reject-limit=99%
    says "error[SB8007]: 'thirds/part-00000.csv' exists since the job began"
    [ ! -e thirds/part-00001.csv ] && [ ! -e names.csv ] || wrong "there is: $(ls -A . thirds)"
    rm thirds/part-00000.csv thirds/part-00002.csv
    echo old >rejects.jsonl
    gives 2 ../several --resume=journal --reject-limit=99%
    says "error[SB8007]: 'rejects.jsonl' exists since the job began"
    [ ! -e thirds/part-00000.csv ] && [ ! -e names.csv ] || wrong "there is: $(ls -A . thirds)"
    gives 0 ../several --resume=journal --reject-limit=99% --check
    prints "; all rows are made"
    gives 0 ../several --resume=journal --reject-limit=99% --overwrite
    [ ! -e thirds/part-00077.csv ] || wrong "a part of an earlier run is left"
    rm names.csv
    gives 2 ../several --resume=journal --reject-limit=99% --check
    says "its output 'names.csv' is gone or was changed"
    end
fi

# A commit notes what it has read. With workers the job reads that once more, and goes on where it cannot: it waits for
# nothing, as workers would think it gone.
if begin input_unread; then
    numbers 20000 >in.csv
    for ways in --workers=2 --threads=1; do
        rm -rf journal out.* rejects.*
        gives 0 env SBC_TEST_COMMIT=1 SBC_FAILPOINT=header-read=EIO:1000000+1 timeout 60 ../wide --resume=journal --partition=4KiB $ways
        silent_on "again in"
    done
    end
fi

# A job that is done wants nothing, not even its input.
if begin input_gone; then
    numbers 20 >in.csv
    gives 0 ../wide --resume=journal
    rm in.csv
    gives 0 ../wide --resume=journal
    says "resume: the job is finished: nothing to do"
    gives 0 ../wide --journal=journal
    prints "nothing is left to do"
    end
fi

# Rows that come again have to be the same.
if begin rows_differ; then
    cat >again.sbd <<'END'
let rows = read csv("-") as { a: i64, b: str, x: f64? }
rows | union rows | write csv("out.csv")
END
    "$sbc" again.sbd -o again 2>"$work/err" || wrong "it does not compile"
    numbers 20000 >all.csv
    sed 's/name7,/eman7,/' all.csv >other.csv
    SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed:3 ./again --resume=journal --partition=64KiB --threads=1 <all.csv 2>"$work/err"
    [ $? = 137 ] || wrong "it was not killed"
    gives 1 ./again --resume=journal <other.csv
    says "error[SB8048]: "
    says "fix: give it the input that it had, make the extern functions of the step pure, or "
    gives 0 ./again --resume=journal <all.csv
    end
fi

if begin output_gone; then
    gives 0 ../file --resume=journal
    rm out.csv
    gives 2 ../file --resume=journal
    says "error[SB8043]: the job is finished, but its output 'out.csv' is gone or was changed"
    end
fi

if begin busy; then
    mkdir journal
    gives 2 flock journal ../file --resume=journal
    says "error[SB8042]: another job is at work with 'journal'"
    : >plain
    gives 2 ../file --resume=plain
    says "error[SB8041]: "
    gives 2 ../file --resume=
    says "error[SB8001]: --resume needs a value"
    end
fi

# A job that fails because of its data leaves nothing but its rejects.
if begin data_fails; then
    gives 1 ../file --resume=journal --reject-limit=3
    says "4 rows rejected, the limit is 3"
    only_files "./rejects.jsonl "
    rm rejects.jsonl
    gives 0 ../file --resume=journal
    end
fi
# A breaker is not finished while a commit of its rows is written, whatever the job does.
if begin fails_while_committed; then
    cat >fails.sbd <<'END'
range(9) | derive v = 100 // (i - 30) else fail
| join (range(200000) | derive v = 100 // (i - 300000) else fail | group by i = i % 100 { n = count(), q = quantile(v, 0.5) }) on i
| write csv("a.csv")
range(1) | where hold(100ms) | derive v = 100 // i else fail | write csv("b.csv")
END
    "$sbc" fails.sbd -o fails 2>"$work/err" || wrong "does not compile"
    for at in commit-synced committed; do
        for number in 1 2 3; do
            gives 1 env SBC_TEST_COMMIT=1 SBC_FAILPOINT=$at=WAIT:$number ./fails --resume=journal --partition=4KiB --threads=4
            says "error[SB7021]: division by zero"
            rm -rf journal
        done
    done
    end
fi

# The members of a compressed file are 4 MiB of text: some are in the file, the rest is in the journal.
if begin large_files; then
    ln -s ../in in
    { head -1 in/1.csv; for i in $(seq 70); do tail -n +2 in/1.csv | grep -v '^bad'; done; } >in.csv
    gives 0 ../large
    mv out.csv.zst alone.zst
    mv out alone
    for at in committed:2 committed:12 journal-written:20; do
        SBC_TEST_COMMIT=1 SBC_FAILPOINT=$at ../large --resume=journal --partition=256KiB --threads=1 2>"$work/err"
        [ $? = 137 ] || wrong "it was not killed"
        gives 0 ../large --resume=journal
        says " are done"
        cmp out.csv.zst alone.zst >"$work/why" 2>&1 || wrong "other bytes: $(cat "$work/why")"
        diff -r out alone >"$work/why" 2>&1 || wrong "other bytes: $(cat "$work/why")"
        rm -rf out out.* journal
    done
    end
fi

# It kills itself half-way.
if begin example; then
    cp -r "$root/examples" examples
    SBC=$sbc gives 0 sh examples/resume.sh
    prints "goes on at byte "
    prints "the same bytes"
    end
fi

finish

#!/bin/sh
# job_test.sh: compiled jobs that meet bad input, and every option and kind of input that they have.
# usage: tests/job_test.sh [CASE]: all cases, or the one of that name. SBC names the compiler.
. "$(dirname "$0")/cases.sh"

# ---- the jobs -------------------------------------------------------------------------------------

compile rows <<'END'
param input: [str] = ["in.csv"]
param out: str = "out.csv"
param low: i64 = 0
read csv(input) as { a: i64, b: str, x: f64? } | where a >= low | write csv(out)
END
compile branches <<'END'
let t = read csv("in.csv") as { a: i64, b: str, x: f64? }
t | derive d = 1 // (a - 2500) | write csv("a.csv")
t | where a % 20 == 7 | write csv("b.csv")
END
compile pair <<'END'
param input: [str] = ["in.csv"]
param first: str = "a.csv"
param second: str = "b.csv"
let t = read csv(input) as { a: i64, b: str, x: f64? }
t | write csv(first)
t | where a >= 0 | write csv(second)
END
compile group <<'END'
read csv("in.csv") as { a: i64, b: str, x: f64? } | group by a { n = count(), s = sum(x) } | write csv("out.csv")
END
compile groups <<'END'
param by: i64 = 1
read csv("in.csv") as { a: i64, b: str, x: f64? }
| group by k = (if by == 1 then b else "name") { n = count(), s = sum(x), all = collect(f"{a} {b} and so on") }
| derive all = len(all ?? [])
| write csv("out.csv")
END
compile uneven_zip <<'END'
range(3) | zip (range(4) | rename j = i) | write csv("-")
END
compile sort <<'END'
param out: str = "out.csv"
read csv("in.csv") as { a: i64, b: str, x: f64? } | sort a desc | write csv(out)
END
# More flows than the tables of the scheduler have room for, which sbc does not judge here.
compile wide --no-fuse <<END
$(for i in $(seq 40); do echo "range(3) | write csv(\"$i.csv\")"; done)
END
# Joins of every kind, with forks before, behind and between them.
compile joins <<'END'
param left: i64 = 3000
param right: i64 = 60000
param keys: i64 = 40000
let r = range(right)
| derive k = if i % 7 == 0 then null else i * 31 % keys, text = f"row {i} of the right side"
| select k, text
let l = range(left) | derive k = if i % 11 == 0 then null else i * 17 % keys, a = i | select k, a
l | join r on k | write csv("inner.csv")
l | join left r on k | where a % 3 != 0 | write csv("left.csv")
l | join right r on k | select k, a, text | write csv("right.csv")
l | join full r on k | sort text desc | write csv("full.csv")
l | join semi r on k | write csv("semi.csv")
l | join anti r on k | limit 100 | write csv("anti.csv")
let s = r | select k2 = k, text2 = text
let t = r | select k3 = k, text3 = text
l | where a > 5 | join r on k | derive next = a + 1 | join left s on next == k2
| derive m = [a, len(text2 ?? "")] | explode m | join t on m == k3
| group by a { n = count(), t = max(text), u = min(text3) } | write csv("chain.csv")
l | limit 500 | join r on k | group by k { n = count() } | join r on k | limit 300 | write csv("behind.csv")
END
# Branches of one fork that meet again: the rows of one wait for the other. Some are rejected there.
compile diamonds <<'END'
let f = read csv("in.csv") as { a: i64, b: str, x: f64? } | derive l = [b, str(a)], s = { t: b, n: x }
f | union (f | derive a = a + 1) | derive n = len(l) | write jsonl("union.jsonl")
let g = f | derive k = 1000 // (a % 500)
g | join (g | group by k { n = count(), t = max(b) }) on k | select a, b, n, t | write csv("joined.csv")
f | select a, l | zip (f | sort b desc | select c = b, s) | write jsonl("zip.jsonl")
rejects write jsonl("rejects.jsonl") limit 1000
END
compile left <<'END'
param input: str = "in.csv"
param out: str = "out.csv"
let r = range(200000) | derive k = i * 31 % 100000, text = f"row {i} of the right side" | select k, text
read csv(input) as { k: i64?, a: i64 } | join left r on k | write csv(out)
END
# The keys of rows are few: each has many right rows.
compile hot_key <<'END'
param right: i64 = 300000
let r = range(right) | derive k = if i % 3 == 0 then 7 else i, text = f"row {i} of the right side"
| select k, text
range(400) | derive k = i % 10, a = i | select k, a
| join r on k
| group by a { n = count(), bytes = sum(len(text)), first = min(text) }
| write csv("out.csv")
END
# A row makes many: behind steps that count rows, in loops in each other, of texts, lists, numbers, and sorted.
compile many_matches <<'END'
type Row = { k: i64, words: str }
let r = range(40000) | derive k = if i % 2 == 0 then 7 else i % 50, text = f"right row {i} of many rows" | select k, text
let s = range(9000) | derive key = if i % 3 == 0 then 1 else i % 40, other = f"other {i}" | select key, other
read csv("in.csv") as Row | where k % 5 != 4 | join r on k | derive d = random(7) | write csv("one.csv")
read csv("in.csv") as Row | where k > 9 | join left s on k == key | derive key2 = len(other ?? "") % 4
| join (s | where key < 12 | rename key2 = key, text2 = other) on key2 | where key2 != 3
| derive bad = 100 // (hash(text2) % 20 - 3) | where bad % 5 != 1 | select k, other, text2, bad | write csv("two.csv")
read csv("in.csv") as Row | derive w = split(words, " ") | explode w | derive n = len(w) | join s on n == key
| derive m = [n, k] | explode m | write csv("words.csv")
read csv("in.csv") as Row | derive l = [k, 3, 7] | explode l | join full s on l == key
| select l, other, words | write csv("full.csv")
range(12) | join left r on i == k | where hash(text ?? "") % 7 == 0 | derive i2 = i % 5
| join (s | where key > 0 | select key) on i2 == key | where i == 9 or text == "right row 1 of many rows"
| write csv("range.csv")
read csv("in.csv") as Row | sort words desc | join r on k | derive d = random(3) | select text, d, k
| write jsonl("sorted.jsonl")
rejects write jsonl("rejects.jsonl") limit 1000000
END
compile hot_rows <<'END'
let r = range(300000) | derive k = if i % 100 == 0 then i else 1, text = f"right row {i}" | select k, text
range(3) | join r on i == k | write csv("out.csv")
END
# Short rows, of which every fourth makes a long one.
compile long_values <<'END'
let rows = read csv("in.csv") as { a: i64, b: str, c: str } | derive t = repeat(b, 10000000)
rows | sort a desc | derive n = len(t), h = hash(t) | select a, n, h | write csv("out.csv")
END
compile long_sides <<'END'
let rows = read csv("in.csv") as { a: i64, b: str, c: str }
rows | join (rows | derive t = repeat(b, 10000000) | select a, t) on a
| derive n = len(t), h = hash(t), m = hash(repeat(b, 10000000)) | select a, n, h, m | write csv("out.csv")
END
# Of whose rows most are bad; and of which one may end the job.
compile bad_rows <<'END'
param stop: i64 = -1
read text("in.txt") | derive a = i64(line) | derive b = (100 // (a - stop)) else fail | write csv("out.csv")
rejects write jsonl("rejects.jsonl") limit 100%
END
compile bad_groups <<'END'
param stop: i64 = -1
let t = read text("in.txt")
t | derive a = i64(line) | derive b = (100 // (a - stop)) else fail | write csv("out.csv")
t | group by k = hash(line) % 5000 { n = count() } | derive m = 1 // (n - n) | write csv("groups.csv")
rejects write jsonl("rejects.jsonl") limit 100%
END
compile parts <<'END'
param input: str = "in.csv"
param out: str = "parts/"
read csv(input) as { a: i64, b: str, x: f64? } | write csv(out, bytes = 1KiB)
END
compile objects <<'END'
param input: str = "-"
read jsonl(input) as { a: i64, b: str? } | derive l = line(), o = offset(), s = source() | write jsonl("-")
END
compile lines <<'END'
param input: str = "in.txt"
read text(input) | where line != "" | derive n = len(line) | write csv("-")
END
compile whole <<'END'
param input: str = "tree/**/*.txt"
read files(input) | derive n = len(bytes) | select path, n | write csv("-")
END
compile bad <<'END'
param input: str = "in.csv"
read csv(input) as { a: i64, b: str, x: f64? } | write csv("out.csv")
rejects write csv("rejects.csv") limit 10%
END
compile fails <<'END'
param input: str = "in.csv"
read csv(input) as { a: i64, b: str, x: f64? } | derive y = 100 // a else fail | write csv("out.csv")
rejects limit 100
END
compile meet <<'END'
param input: str = "in.csv"
param most: i64 = 150
let rows = read csv(input) as { a: i64, b: str, x: f64? }
rows | where a < 100 | union (rows | where a >= 900) | limit most | write csv("-")
END
# All stages are at work at once: branches that wait for each other, a sort, a group, a zip.
compile stages <<'END'
param input: [str] = ["in.csv"]
param out: str = "out/"
let rows = read csv(input) as { a: i64, b: str, x: f64? }
rows | where a % 2 == 0 | union (rows | where a % 2 == 1) | write csv(f"{out}union.csv")
rows | select a | zip (rows | select b) | write csv(f"{out}zip.csv")
rows | sort b, a desc | write csv(f"{out}sorted.csv")
rows | group by b { n = count() } | write csv(f"{out}groups.csv")
rows | write csv("-")
END

# Rows wait at the border of a stage before they are judged.
compile waiting --no-fuse <<'END'
read csv("in.csv") as { n: i64 }
| derive x = 1 // (if n < 10000 or n >= 10100 then 1 else 0)
| write csv("out.csv")
END

# ---- bad input ------------------------------------------------------------------------------------

# 100 bad rows behind row 10,000: 0.99% there, 0.83% at the end.
if begin share_in_source_order; then
    numbers 12000 | sed 's/^a/n/' >in.csv
    for threads in 1 4; do
        gives 1 ../waiting --reject-limit=0.985% --threads=$threads --partition=4KiB --overwrite
        says "100 rows rejected, the limit is 0.985%"
        gives 0 ../waiting --reject-limit=0.995% --threads=$threads --partition=4KiB --overwrite
    done
    end
fi

if begin missing_file; then
    gives 1 ../rows
    says "error[SB8010]: "
    says "'in.csv'"
    gives 1 ../rows "--input=*.csv"
    says "error[SB8010]: "
    only_files ""
    end
fi
if begin unreadable_folder; then
    mkdir shut
    numbers 3 >shut/in.csv
    chmod 0 shut
    if ls shut >"$work/out" 2>&1; then
        # Root reads everything unless it gives that right away.
        if command -v setpriv >"$work/out" && chmod 777 . "$work" &&
           setpriv --reuid 65534 --clear-groups true 2>"$work/err"; then
            gives 1 setpriv --reuid 65534 --clear-groups ../rows --input=shut
            says "'shut'"
            says "error[SB80"
            end
        else
            skip "root may read every folder, and setpriv is not here"
        fi
    else
        gives 1 ../rows --input=shut
        says "'shut'"
        end
    fi
    chmod 700 "$work/unreadable_folder/shut"
fi
if begin full_disk; then
    mkdir small
    if mount -t tmpfs -o size=16k none small 2>"$work/err"; then
        mounted=$PWD/small
        numbers 20000 >in.csv
        gives 3 ../rows --out=small/out.csv
        says "error[SB8018]: cannot write 'small/out.csv'"
        silent_on resum
        only_files "./in.csv "
        gives 3 ../rows --out=small/out.csv.zst --threads=1 --input=in.csv --input=in.csv --partition=64KiB
        only_files "./in.csv "
        umount "$mounted"
        mounted=
        end
    else
        skip "a tmpfs needs the right to mount"
    fi
fi
if begin full_device; then
    numbers 20000 >in.csv
    if [ -w /dev/full ]; then
        gives 3 ../rows --out=/dev/full
        says "error[SB8018]: "
        gives 3 sh -c '../rows --out=- >/dev/full'
        says "error[SB8018]: "
        end
    else
        skip "no /dev/full"
    fi
fi
if begin full_disk_stages; then
    mkdir small
    if mount -t tmpfs -o size=64k none small 2>"$work/err"; then
        mounted=$PWD/small
        numbers 20000 >in.csv
        for size in 1KiB 64KiB 4MiB; do
            gives 3 ../stages --out=small/ --partition=$size --threads=4
            says "error[SB8018]: cannot write 'small/"
            only_files "./in.csv "
        done
        umount "$mounted"
        mounted=
        end
    else
        skip "a tmpfs needs the right to mount"
    fi
fi
if begin closed_pipe_stages; then
    # The sink of standard output is done; the others get all their rows.
    numbers 100000 >in.csv
    gives 0 sh -c '{ ../stages --threads=4 --partition=16KiB; echo $? >code; } | head -n 2'
    holds "$work/out" "a,b,x
0,name0,0.0"
    holds code 0
    for name in union zip sorted; do
        [ "$(($(wc -l <out/$name.csv)))" = 100001 ] || wrong "$name.csv lacks rows"
    done
    end
fi
if begin closed_pipe; then
    numbers 300000 >in.csv
    gives 0 sh -c '{ ../rows --out=-; echo $? >code; } | head -n 2'
    holds "$work/out" "a,b,x
0,name0,0.0"
    holds code 0
    end
fi
# changes_while_read ROWS JOB OPTION...: z.csv is opened at the start and read after the pipe in front
# of it; it shrinks, grows or is touched in between.
changes_while_read() {
    rows=$1
    shift
    mkfifo wait
    for change in shrink grow touch; do
        numbers "$rows" >z.csv
        timeout 60 "$@" --input=wait --input=z.csv >"$work/out" 2>"$work/err" &
        job=$!
        {
            numbers $((rows / 4))
            case $change in
            shrink) numbers $((rows / 2)) >z.csv ;;
            grow) numbers $((rows * 3 / 2)) >z.csv ;;
            touch) touch -d 2001-01-01 z.csv ;;
            esac
        } >wait
        wait $job
        code=$?
        [ $code = 1 ] || wrong "$change: exit $code instead of 1"
        says "error[SB8013]: 'z.csv'"
        only_files "./z.csv "
    done
}
if begin changed_source; then
    changes_while_read 100 ../rows
    end
fi
if begin changed_source_stages; then
    changes_while_read 1000 ../stages --threads=4 --partition=1KiB
    end
fi
if begin truncated; then
    numbers 5000 >in.csv
    gzip -k in.csv
    gives 0 ../rows --input=in.csv.gz
    cmp -s in.csv out.csv || wrong "out.csv differs from in.csv"
    gives 0 ../rows --out=out.csv.zst
    gives 0 ../rows --out=out.csv.lz4
    for kind in zst lz4; do
        gives 0 ../rows --input=out.csv.$kind --overwrite
        cmp -s in.csv out.csv || wrong "out.csv differs from in.csv behind .$kind"
    done
    mv out.csv.zst in.csv.zst
    mv out.csv.lz4 in.csv.lz4
    rm out.csv
    for kind in gz zst lz4; do
        head -c 900 in.csv.$kind >cut.csv.$kind
        gives 1 ../rows --input=cut.csv.$kind
        says "error[SB8015]: 'cut.csv.$kind' is damaged at byte 900: the file ends too early"
        printf 'no such thing as this' >cut.csv.$kind
        gives 1 ../rows --input=cut.csv.$kind
        says "error[SB8015]: 'cut.csv.$kind' is damaged at byte "
        [ ! -e out.csv ] || wrong "out.csv exists"
    done
    end
fi
if begin too_wide; then
    gives 2 ../wide
    says "error[SB8069]: the program has 60 stages and 40 sinks"
    only_files ""
    end
fi

if begin memory_least; then
    numbers 1000 >in.csv
    gives 0 ../sort --plan --threads=2
    prints "memory "
    prints "stage 0: scratch "
    prints "stage 1: output "
    prints "program, stacks, tables"
    prints "full speed: 2 at once, of 4096 KiB"
    gives 2 ../sort --memory=33MiB --threads=2
    says "error[SB8067]: the job needs at least "
    says " MiB of memory, and --memory gives 33.0 MiB"
    says "; --plan shows what takes it"
    only_files "./in.csv "
    # The fix that it says works, and the summary says that it is slow.
    fix=$(sed -n 's/.*fix: give it \(--memory=[0-9]*MiB\) or more.*/\1/p' "$work/err")
    gives 0 ../sort --out=slow.csv "$fix" --threads=2 --stats
    says "slots were cut: the memory holds 1 of 2 tasks at once"
    gives 0 ../sort --threads=2 --stats
    silent_on "slots were cut"
    cmp -s slow.csv out.csv || wrong "slow.csv differs"
    # A partition larger than the memory.
    gives 2 ../sort --partition=1GiB --memory=1GiB
    says "error[SB8067]: the job needs at least "
    fix=$(sed -n 's/.*fix: give it \(--memory=[0-9]*MiB\) or more.*/\1/p' "$work/err")
    [ "${fix#--memory=}" != "$fix" ] || wrong "no fix"
    says "MiB or more, or a smaller --partition; "
    # A unit that is missing, and a step that wants it all.
    gives 2 ../sort --memory=33
    says "fix: 33 are bytes: give it --memory="
    # A size need not be a whole number of bytes.
    gives 2 ../sort --memory=33.1234MiB
    says "error[SB8067]: the job needs at least "
    echo 'range(5) | with (memory = 2TiB) { derive s = str(i) } | write csv("-")' >wants.sbd
    "$sbc" wants.sbd -o wants 2>"$work/err" || wrong "it does not compile"
    gives 2 ./wants
    says ", or a task of 'range(5)' less than with (memory = 2TiB)"
    rm wants wants.sbd
    gives 2 ../sort --check --memory=33MiB --overwrite
    prints "; the least is "
    prints SB8067
    end
fi
if begin spill; then
    numbers 200000 >in.csv
    gives 0 ../sort --out=whole.csv --threads=2
    for options in "--threads=1" "--threads=4" "--threads=2 --partition=16KiB"; do
        mkdir disk
        gives 0 ../sort --spill=disk $options $(least ../sort $options) --stats
        says ", spilled "
        cmp -s whole.csv out.csv || wrong "out.csv differs with $options"
        rmdir disk || wrong "something is left in disk/"
        rm out.csv
    done
    gives 0 env TMPDIR="$PWD" ../sort $(least ../sort)
    only_files "./in.csv ./out.csv ./whole.csv "
    end
fi
if begin spill_groups; then
    # A group for each row, and a hundred of them.
    numbers 200000 >in.csv
    for what in group groups; do
        gives 0 ../$what --threads=2
        mv out.csv whole.csv
        for options in "--threads=1" "--threads=4"; do
            gives 0 ../$what $options $(least ../$what $options --over=4) --stats
            [ $what = groups ] || says ", spilled "
            cmp -s whole.csv out.csv || wrong "out.csv differs with $options"
            rm out.csv
        done
    done
    # The list of one group that holds everything.
    gives 3 ../groups --memory=36MiB --by=0 --threads=1 --partition=64KiB
    says "error[SB8019]: one group takes more than "
    says " MiB, which --memory does not leave: "
    says ': {"k":"name"}'
    says "fix: raise --memory"
    only_files "./in.csv ./whole.csv "
    gives 0 ../groups --memory=256MiB --by=0
    # Too large to be made, or too large to be written: the message has the key.
    cat >list.sbd <<'END'
range(300010) | derive k = if i < 5 or i > 300000 then i else 7 | group by k { l = collect(i) } | write jsonl("-")
END
    "$sbc" list.sbd -o list 2>"$work/err" || wrong "does not compile"
    for memory in 40 45 50 55 60 65 70; do
        gives 3 ./list --memory=${memory}MiB --threads=2
        says "error[SB8019]: "
        says ' {"k":7}'
    done
    says " needs more than the 38.0 MiB that --memory=70MiB leaves for rows, at the group "
    # Who does what the messages say gets there.
    status=3 memory=70 tries=0
    while [ $status = 3 ] && [ $tries -lt 12 ]; do
        more=$(sed -n 's/.*fix: raise --memory, to \([0-9]*\)MiB at least$/\1/p' "$work/err")
        [ "${more:-0}" -gt $memory ] || wrong "no way out of --memory=${memory}MiB: '$more'"
        memory=${more:-1000} tries=$((tries + 1)) status=0
        ./list --memory=${memory}MiB --threads=2 >"$work/out" 2>"$work/err" || status=$?
        echo "$tries: $memory, exit $status" >>tries
    done
    [ $status = 0 ] && [ $memory -lt 300 ] || wrong "more memory ends with exit $status: $(cat tries)"
    end
fi
if begin spill_joins; then
    # So many joins take much at least: few rows go to disk unless they have to.
    gives 0 ../joins --threads=2
    mkdir whole && mv ./*.csv whole
    for options in "--threads=1" "--threads=4" "--threads=2 --partition=16KiB"; do
        gives 0 env SBC_TEST_SPILL=1 ../joins $options $(least ../joins $options) --stats
        says ", spilled "
        for file in whole/*; do cmp -s $file ${file#*/} || wrong "${file#*/} differs with $options"; done
        rm ./*.csv
    done
    end
fi
if begin spill_hot_key; then
    gives 0 ../hot_key --threads=2
    mv out.csv whole.csv
    gives 0 ../hot_key --threads=2 $(least ../hot_key --threads=2) --stats
    says ", spilled "
    cmp -s whole.csv out.csv || wrong "out.csv differs"
    end
fi
if begin split_rows; then
    awk 'BEGIN {
        print "k,words"
        for (i = 0; i < 40; i++) {
            words = "w" i
            for (j = 0; j < i % 7; j++) words = words " " substr("abcdefghij", 1, 1 + (i * 3 + j) % 9)
            print (i % 20 == 9 ? 7 : i % 13) "," words
        }
    }' >in.csv
    gives 0 ../many_matches --threads=2
    cp "$work/err" steps
    mkdir whole && mv ./*.csv ./*.jsonl whole && mv whole/in.csv .
    for options in "--threads=1" "--threads=4" "--threads=2 --partition=16KiB"; do
        gives 0 env SBC_TEST_SPILL=1 ../many_matches $options $(least ../many_matches $options)
        cmp -s steps "$work/err" || wrong "other figures with $options"
        for file in whole/*; do cmp -s $file ${file#*/} || wrong "${file#*/} differs with $options"; done
        mv in.csv in && rm ./*.csv ./*.jsonl && mv in in.csv
    done
    # What one row makes does not fit.
    gives 0 ../hot_rows --threads=2
    mv out.csv whole.csv
    gives 0 ../hot_rows --threads=2 $(least ../hot_rows --threads=2)
    cmp -s whole.csv out.csv || wrong "out.csv differs"
    # What has an effect is computed once for each row.
    echo 'long counted(long x) { static long n; return x - x + ++n; }' >counted.c
    cat >effect.sbd <<'END'
extern fn counted(x: i64) -> i64 from "counted.c" impure
let r = range(20000) | derive k = i % 3, text = f"right row {i}" | select k, text
range(3) | derive n = counted(i) | join r on i == k | write csv("effect.csv")
END
    "$sbc" effect.sbd -o effect 2>"$work/err" || wrong "does not compile"
    gives 0 env SBC_TEST_SPILL=1 ./effect --threads=1
    [ "$(cut -d, -f2 effect.csv | sort -u | tr '\n' ' ')" = "1 2 3 n " ] || wrong "computed more than once"
    end
fi
if begin spill_diamonds; then
    numbers 200000 >in.csv
    gives 0 ../diamonds --threads=2 --partition=1MiB
    silent_on ", spilled "
    mkdir whole && mv ./*.csv ./*.jsonl whole && mv whole/in.csv .
    [ "$(wc -l <whole/rejects.jsonl)" = 400 ] || wrong "not 400 rejects"
    for options in "--threads=1" "--threads=4" "--threads=2 --partition=16KiB" "--threads=4 --schedule=static"; do
        gives 0 ../diamonds $options $(least ../diamonds $options --over=1) --stats
        says ", spilled "
        for file in whole/*; do cmp -s $file ${file#*/} || wrong "${file#*/} differs with $options"; done
        rm ./*.jsonl joined.csv
    done
    end
fi
if begin spill_left; then
    # Left rows that can be read once, and twice; many keys are null, and some units ask for nothing.
    awk 'BEGIN { print "k,a"; for (i = 0; i < 50000; i++) printf "%s,%d\n", i % 13 && i < 40000 ? i * 7 % 120000 : "", i }' >in.csv
    gzip -k in.csv
    gives 0 ../left --out=whole.csv
    for options in "--threads=1" "--threads=2" "--input=-" "--input=in.csv.gz --threads=4"; do
        gives 0 ../left $options $(least ../left $options) --stats <in.csv
        says ", spilled "
        cmp -s whole.csv out.csv || wrong "out.csv differs with $options"
        rm out.csv
    done
    gives 0 ../left --first-rows=100 $(least ../left)
    head -101 whole.csv | cmp -s - out.csv || wrong "out.csv differs with --first-rows"
    end
fi
if begin spill_folder; then
    numbers 200000 >in.csv
    gives 2 ../sort --spill=missing
    says "error[SB8028]: cannot make a folder in 'missing': No such file"
    says "fix: give a folder that can be written: --spill=DIR"
    gives 2 ../sort --spill=in.csv
    says "error[SB8028]: cannot make a folder in 'in.csv': Not a directory"
    gives 2 ../diamonds --spill=missing
    says "error[SB8028]: cannot make a folder in 'missing': No such file"
    gives 2 env TMPDIR=/no/such/folder ../sort $(least ../sort)
    says "error[SB8028]: cannot make a folder in '/no/such/folder'"
    gives 0 env TMPDIR=/no/such/folder ../sort
    only_files "./in.csv ./out.csv "
    rm out.csv
    # What a killed job left goes when the next one spills there; a folder that is locked stays.
    mkdir -p disk/sbc-spill-killed disk/sbc-spill-locked
    echo old >disk/sbc-spill-killed/0
    gives 0 flock disk/sbc-spill-locked ../sort --spill=disk $(least ../sort)
    [ "$(ls disk)" = sbc-spill-locked ] || wrong "disk/ holds $(ls disk)"
    gives 0 ../sort --spill=disk $(least ../sort) --overwrite
    [ -z "$(ls disk)" ] || wrong "disk/ holds $(ls disk)"
    end
fi
if begin spill_read_only; then
    mkdir shut
    if mount -t tmpfs -o ro none shut 2>"$work/err"; then
        mounted=$PWD/shut
        numbers 10 >in.csv
        gives 2 ../sort --spill=shut
        says "error[SB8028]: cannot make a folder in 'shut': Read-only file system"
        umount "$mounted"
        mounted=
        only_files "./in.csv "
        end
    else
        skip "a tmpfs needs the right to mount"
    fi
fi
if begin spill_full_disk; then
    mkdir small
    if mount -t tmpfs -o size=256k none small 2>"$work/err"; then
        mounted=$PWD/small
        numbers 200000 >in.csv
        for run in "sort --threads=1" "sort --threads=4" "diamonds --threads=1" "diamonds --threads=4"; do
            gives 3 ../$run --spill=small $(least ../$run)
            says "error[SB8029]: cannot write 'small/sbc-spill-"
            says "No space left on device"
            says "fix: free disk space, or give another folder: --spill=DIR; --on-full=wait waits for room"
            [ -z "$(ls small)" ] || wrong "small/ holds $(ls small)"
        done
        umount "$mounted"
        mounted=
        only_files "./in.csv "
        end
    else
        skip "a tmpfs needs the right to mount"
    fi
fi
if begin spill_long_rows; then
    awk 'BEGIN { print "a,b,x"; for (i = 0; i < 20; i++) { printf "%d,", i * 7 % 20; for (j = 0; j < 100000; j++) printf "%060d%040d", i, j; print ",1.5" } }' >in.csv
    gives 0 ../sort --out=whole.csv
    gives 0 ../sort --memory=208MiB --threads=2 --stats
    says ", spilled "
    cmp -s whole.csv out.csv || wrong "out.csv differs"
    end
fi
# roomy JOB THREADS: the least memory, and what rows of 10 MB take beside it.
roomy() {
    "$1" --plan --threads="$2" | awk '
        $1 == "--memory" { least = $2 }
        /^a row longer than a partition waits/ { match($0, /[0-9]+ times/); times = substr($0, RSTART) + 0 }
        END { printf "--memory=%dMiB --threads='"$2"'", least + 10 * times + 1 }'
}
# long_rows BYTES: short rows, and a long one behind each fifty of them.
long_rows() {
    awk -v bytes="$1" 'BEGIN {
        print "a,b,x"
        for (i = 0; i < 5; i++) {
            for (j = 0; j < 50; j++) printf "%d,short,2.5\n", 100 * i + j
            for (text = sprintf("%060d%040d", i, i); length(text) < bytes; text = text text);
            printf "%d,%s,1.5\n", i, substr(text, 1, bytes)
        }
    }'
}
if begin long_rows_wait; then
    long_rows 10000000 >in.csv
    awk -F, 'NR > 1 { print "{\"a\":" $1 ",\"b\":\"" $2 "\"}" }' in.csv >in.jsonl
    cp in.csv in.txt
    gives 0 ../sort --out=whole.csv
    ../objects --input=in.jsonl >whole.jsonl 2>"$work/err" || wrong "objects: exit $?"
    ../lines >whole.txt 2>"$work/err" || wrong "lines: exit $?"
    for threads in 1 4; do
        gives 0 ../rows $(roomy ../rows $threads)
        cmp -s in.csv out.csv || wrong "rows: other bytes"
        rm out.csv
        gives 0 ../sort $(roomy ../sort $threads)
        cmp -s whole.csv out.csv || wrong "sort: other bytes"
        rm out.csv
        gives 0 ../objects --input=in.jsonl $(roomy ../objects $threads)
        cmp -s whole.jsonl "$work/out" || wrong "objects: other bytes"
        gives 0 ../lines $(roomy ../lines $threads)
        cmp -s whole.txt "$work/out" || wrong "lines: other bytes"
    done
    # A row that does not fit alone.
    gives 3 ../rows --memory=36MiB --threads=4
    says "error[SB8019]: reading input needs 9.3 MiB more than --memory leaves"
    says "fix: raise --memory"
    end
fi
# What is read for a long row stays while it waits for memory, and the same rows come of it.
if begin long_rows_stream; then
    long_rows 10000000 >in.csv
    zstd -q -1 in.csv
    gzip -1 -k in.csv
    awk -F, 'NR > 1 { print "{\"a\":" $1 ",\"b\":\"" $2 "\"}" }' in.csv >in.jsonl
    gives 0 ../sort --out=whole.csv
    ../objects --input=in.jsonl >whole.jsonl 2>"$work/err" || wrong "objects: exit $?"
    sed -i 's/"s":"in.jsonl"/"s":"-"/' whole.jsonl
    for threads in 1 4; do
        for input in in.csv.zst in.csv.gz; do
            gives 0 ../rows --input=$input $(roomy ../rows $threads)
            cmp -s in.csv out.csv || wrong "rows of $input: other bytes"
            rm out.csv
        done
        cat in.csv | gives 0 ../rows --input=- $(roomy ../rows $threads)
        cmp -s in.csv out.csv || wrong "rows: other bytes"
        rm out.csv
        cat in.jsonl | gives 0 ../objects $(roomy ../objects $threads)
        cmp -s whole.jsonl "$work/out" || wrong "objects: other bytes"
        mkfifo pipe
        cat in.csv >pipe &
        gives 0 ../rows --input=pipe --input=in.csv.zst --input=in.csv $(roomy ../rows $threads)
        [ "$(grep -c ^0, out.csv)" = 6 ] || wrong "several files: $(grep -c ^0, out.csv) rows"
        rm out.csv pipe
    done
    # One that is over row_max, and the one behind it.
    { long_rows 17000000 | head -52; tail -206 in.csv; } >over.csv
    gives 0 ../bad --input=over.csv
    mv out.csv whole.csv
    for threads in 1 4; do
        cat over.csv | gives 0 ../bad --input=- $(roomy ../bad $threads) --overwrite
        says "rejects.csv     1 "
        cmp -s whole.csv out.csv || wrong "over row_max: other bytes"
    done
    # Journals know what was read, whatever it waited for.
    cat in.csv | gives 0 ../rows --input=- $(roomy ../rows 2) --resume=journal --overwrite
    cmp -s in.csv out.csv || wrong "rows with a journal: other bytes"
    end
fi
# What threads make of their rows does not fit side by side: who finds too little goes back, takes
# out of the sort, or of the side of a join, what it has put there, and goes alone.
if begin long_values_wait; then
    awk 'BEGIN {
        print "a,b,c"
        for (i = 0; i < 160; i++)
            printf "%d,%s,%06000d\n", i * 7 % 160, i % 4 == 0 ? substr("abcdefghij", i % 10 + 1, 1) : "", i
    }' >in.csv
    for job in long_values long_sides; do
        gives 0 ../$job
        mv out.csv whole.csv
        for run in "64 1" "64 4" "80 4" "140 4"; do
            gives 0 ../$job --memory=${run% *}MiB --threads=${run#* } --partition=64KiB
            cmp -s whole.csv out.csv || wrong "$job, $run: other bytes"
            rm out.csv
        done
        gives 0 env SBC_TEST_SPILL=1 ../$job --memory=100MiB --threads=4 --partition=64KiB
        cmp -s whole.csv out.csv || wrong "$job, rows that go to disk at once: other bytes"
        rm out.csv
    done
    end
fi
# The unit in which a limit ends is made once more, by a task that asked for memory when it ran.
if begin long_rows_again; then
    long_rows 10000000 >in.csv
    for most in 50 51 52 53; do
        ../meet --most=$most >whole.csv 2>"$work/err" || wrong "meet: exit $?"
        for threads in 1 4; do
            gives 0 ../meet --most=$most --memory=192MiB --threads=$threads
            cmp -s whole.csv "$work/out" || wrong "meet, most $most: other bytes"
        done
    done
    end
fi
if begin long_names; then
    numbers 3 >in.csv
    long=$(printf 'n%.0s' $(seq 243)).csv
    gives 0 ../rows --out="$long"
    gives 1 ../rows --out="x$long"
    says "of an output has 248 bytes"
    says "fix: give a name of at most 247 bytes"
    gives 1 ../rows --out="x$long" --check
    says "of an output has 248 bytes"
    gives 1 ../rows --out="$long" --overwrite --resume=journal
    says "fix: give a name of at most 233 bytes"
    end
fi
if begin output_exists; then
    numbers 3 >in.csv
    echo old >out.csv
    gives 2 ../rows
    says "error[SB8007]: 'out.csv' exists"
    holds out.csv old
    gives 0 ../rows --overwrite
    cmp -s in.csv out.csv || wrong "out.csv differs from in.csv"
    mkdir parts
    echo old >parts/x
    gives 2 ../parts
    says "error[SB8007]: the folder 'parts/' is not empty"
    gives 2 ../rows --out=in.csv --overwrite
    says "error[SB8008]: 'in.csv' is read and written"
    gives 1 ../rows --out=parts
    says "fix: end the path in /"
    end
fi
# Until temporary files are there.
until_begun() {
    tries=0
    until [ -n "$(find . -name '.*.csv.*')" ] || [ $tries = 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}
# refused CODE SB.... COMMAND...: by --check and by the run, which makes nothing but the folder of a journal.
refused() {
    want_code=$1 want_error=$2
    shift 2
    before=$(find . ! -path ./journal | LC_ALL=C sort)
    for how in --check ""; do
        gives "$want_code" "$@" $how
        says "error[$want_error]: "
    done
    after=$(find . ! -path ./journal | LC_ALL=C sort)
    [ "$after" = "$before" ] || wrong "there is:" $after
}
if begin own_input; then
    numbers 3 >in.csv
    mkdir -p d/deep
    cp in.csv d/part-00001.csv
    ln -s d other
    ln -s ../in.csv d/to-in.csv
    for to in d/ ./d/ d/deep/../ other/ "$PWD/d/"; do
        for from in d/part-00001.csv 'other/*.csv' d/to-in.csv; do
            refused 2 SB8008 ../parts --input="$from" --out="$to" --overwrite
        done
        says "stands in the output '$to'"
    done
    cmp -s in.csv d/part-00001.csv || wrong "the input is another one"
    # What stands above or below the parts is not among them.
    gives 0 ../parts --input=d/part-00001.csv --out=d/deep/ --overwrite
    gives 0 ../parts --input=d/deep/part-00000.csv --out=d/ --overwrite
    cmp -s in.csv d/part-00000.csv || wrong "d/part-00000.csv differs from in.csv"
    end
fi
if begin two_uses; then
    numbers 3 >in.csv
    for to in new/out/part-00007.csv ./new//out/part-00000.csv new/x/../out/part-00000.csv; do
        refused 2 SB8008 ../pair --first=new/out/ --second="$to"
        says "it is a part of 'new/out/'"
        refused 2 SB8008 ../pair --first="$to" --second=new/out/
    done
    refused 2 SB8008 ../pair --first=new/out.csv --second=./new/out.csv
    refused 2 SB8008 ../pair --second=a.csv.manifest.json
    says "the output 'a.csv.manifest.json' has the name of the manifest of 'a.csv'"
    refused 2 SB8008 ../pair --first=b.csv.manifest.json --resume=journal
    refused 2 SB8008 ../pair --first=out/ --second=out.manifest.json
    for to in journal/ ./journal/ journal/journal journal/runs.0; do
        refused 2 SB8008 ../pair --second=$to --resume=journal
    done
    says "the output 'journal/runs.0' is a file of the journal"
    cp in.csv a.csv.manifest.json
    refused 2 SB8008 ../pair --input=a.csv.manifest.json
    refused 2 SB8008 ../pair --input=a.csv.manifest.json --resume=journal --overwrite
    says "'a.csv.manifest.json' is read, and has the name of the manifest of 'a.csv'"
    # Other files may stand between parts, and stay.
    for i in 1 2; do gives 0 ../pair --first=out/ --second=out/part-00007.txt --rejects=out/rejects.csv --overwrite; done
    gives 0 ../pair --first=out/ --second=b.csv --overwrite
    only_files "./a.csv.manifest.json ./b.csv ./in.csv ./out/part-00000.csv ./out/part-00007.txt ./out/rejects.csv "
    echo file >e.csv
    for to in e.csv/ e.csv/deep/b.csv; do
        refused 1 SB8024 ../rows --out=$to
        says "'e.csv' is no folder"
    done
    end
fi
# What somebody else gave the name of a manifest.
if begin foreign_manifest; then
    numbers 3 >in.csv
    for text in important '{"program":"x"}' ''; do
        printf '%s' "$text" >out.csv.manifest.json
        refused 2 SB8007 ../rows --resume=journal
        says "'out.csv.manifest.json' exists, and is no manifest of an output"
        gives 0 ../rows
        gives 0 ../rows --overwrite
        holds out.csv.manifest.json "$text"
        rm out.csv
    done
    gives 0 ../rows --resume=journal --overwrite
    grep -q '"rows":3,' out.csv.manifest.json || wrong "there is no manifest"
    rm -r out.csv out.csv.manifest.json journal
    mkdir out.csv.manifest.json
    refused 1 SB8024 ../rows --resume=journal --overwrite
    end
fi
# beside OPTION...: a job waits for the last of its input; its outputs have temporary names.
beside() {
    ../pair --input=in.csv --input=- "$@" <wait >"$work/out" 2>"$work/err" &
    job=$!
    exec 9>wait
    until_begun
}
# ends CODE: it gets the rest.
ends() {
    cat in.csv >&9
    exec 9>&-
    wait $job
    code=$?
    [ $code = "$1" ] || wrong "exit $code instead of $1"
}
if begin names_taken; then
    numbers 3 >in.csv
    mkfifo wait
    # All outputs appear, or none.
    beside
    echo mine >b.csv
    ends 2
    says "error[SB8007]: 'b.csv' exists since the job began"
    only_files "./b.csv ./in.csv "
    rm b.csv
    beside --overwrite
    mkdir b.csv
    ends 1
    says "error[SB8024]: 'b.csv' is a folder since the job began"
    only_files "./in.csv "
    rmdir b.csv
    # Another job makes them meanwhile: they keep their manifests.
    beside --resume=two
    ../pair --resume=one >one.out 2>&1 || wrong "the other job failed"
    cp a.csv.manifest.json kept
    ends 2
    says "error[SB8007]: 'a.csv' exists since the job began"
    cmp -s kept a.csv.manifest.json || wrong "the manifest is another one"
    gives 2 ../pair --input=in.csv --input=- --resume=two <in.csv
    says "error[SB8007]: 'a.csv' exists"
    gives 0 ../pair --input=in.csv --input=- --resume=two --overwrite <in.csv
    grep -q '"rows":6,' a.csv.manifest.json || wrong "the manifest is another one"
    # What somebody else calls a manifest meanwhile stays too.
    rm a.csv b.csv a.csv.manifest.json b.csv.manifest.json
    beside --resume=three
    echo mine >b.csv.manifest.json
    ends 2
    says "error[SB8007]: 'b.csv.manifest.json' exists, and is no manifest of an output"
    holds b.csv.manifest.json mine
    [ ! -e a.csv ] || wrong "a.csv is published"
    rm b.csv.manifest.json
    gives 0 ../pair --input=in.csv --input=- --resume=three <in.csv
    # A job that is done is in nobody's way.
    gives 0 ../pair --input=in.csv --input=- --resume=three --check <in.csv
    prints "; all rows are made"
    end
fi
if begin options; then
    numbers 3 >in.csv
    gives 2 ../rows --low=x
    says "error[SB8003]: --low=x: 'x' is no i64"
    gives 2 ../rows --low=99999999999999999999
    says "error[SB8003]: "
    gives 2 ../rows --lwo=1
    says "error[SB8002]: unknown option '--lwo'"
    says "fix: did you mean '--low'?"
    gives 2 ../rows --thread=1
    says "did you mean '--threads'?"
    gives 2 ../rows --threads=0
    says "'0' is no whole number from 1 to 1024"
    gives 2 ../rows --memory=much
    says "fix: a number and a unit: --memory=64MiB"
    for path in spill config trace rejects resume journal; do
        gives 2 ../rows --$path=
        says "error[SB8001]: --$path needs a value: --$path="
    done
    # One thing at a time is shown instead of a run.
    for two in "plan check" "check journal=x" "params plan" "licenses journal=x"; do
        gives 2 ../rows --${two% *} --${two#* }
        says "error[SB8001]: --${two% *} and --"
    done
    gives 0 ../rows --plan --help
    prints "Options:"
    # A line for what is longer than the column of names.
    grep -qx -e '  --schedule=full|paper|pessimistic|static|staged' "$work/out" || wrong "--help: a name runs into its text"
    gives 2 ../rows --workers=2
    says "error[SB8005]: --workers is not in this version"
    gives 2 ../rows file.csv
    says "unexpected argument 'file.csv'"
    gives 2 ../rows --low=1 --low=2
    says "--low is given twice"
    gives 2 ../rows --overwrite=yes
    says "--overwrite takes no value"
    gives 2 ../meet --most=-1
    says "a number of rows is negative: -1"
    only_files "./in.csv "
    end
fi
# interrupt SIGNAL JOB OPTION...: while the job waits for more of its standard input.
interrupt() {
    signal=$1
    shift
    # A background command of a shell ignores SIGINT; env gives it back.
    env --default-signal=INT "$@" --input=in.csv --input=- --partition=1KiB <wait >"$work/out" 2>"$work/err" &
    job=$!
    exec 9>wait
    numbers 50 >&9
    until_begun
    sleep 0.1
    kill -"$signal" $job
    tries=0
    while kill -0 $job 2>"$work/out" && [ $tries != 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    [ $tries != 200 ] || kill -KILL $job
    wait $job
    code=$?
    exec 9>&-
    [ $code = 130 ] || wrong "$signal: exit $code instead of 130"
    says "error[SB8021]: interrupted"
    silent_on resum
    only_files "./in.csv "
}
if begin interrupted; then
    numbers 3000 >in.csv
    mkfifo wait
    for signal in INT TERM; do
        interrupt $signal ../rows
        interrupt $signal ../stages --threads=4
        interrupt $signal ../stages --threads=1
    done
    end
fi
if begin header; then
    printf 'a,bb,x\n1,2,3\n' >in.csv
    gives 1 ../rows
    says "error[SB8014]: 'in.csv' has no column 'b'"
    : >in.csv
    gives 1 ../rows
    says "error[SB8014]: 'in.csv' is empty: it has no header"
    end
fi

# ---- inputs ---------------------------------------------------------------------------------------

if begin stdin; then
    numbers 1000 >in.csv
    gives 0 sh -c '../rows --input=- --out=- --partition=1KiB --threads=3 <in.csv'
    cmp -s in.csv "$work/out" || wrong "standard output differs from standard input"
    gives 0 sh -c 'cat in.csv | ../rows --input=- --out=- --partition=100'
    cmp -s in.csv "$work/out" || wrong "standard output differs from the pipe"
    gives 1 sh -c '../rows --input=- --out=- </dev/null'
    says "'-' is empty: it has no header"
    end
fi
if begin json_lines; then
    printf '{"a":1,"b":"x"}\n\n{"a":2}\n{"b":null,"a":3}' >in.jsonl
    for size in 1 7 4MiB; do
        gives 0 ../objects --input=in.jsonl --partition=$size --threads=3
        holds "$work/out" '{"a":1,"b":"x","l":1,"o":0,"s":"in.jsonl"}
{"a":2,"b":null,"l":3,"o":17,"s":"in.jsonl"}
{"a":3,"b":null,"l":4,"o":25,"s":"in.jsonl"}'
    done
    gives 0 sh -c '../objects <in.jsonl'
    prints '{"a":3,"b":null,"l":4,"o":25,"s":"-"}'
    end
fi
if begin text_lines; then
    printf 'one\r\n\nthree\nfour, too' >in.txt
    for size in 1 5 4MiB; do
        gives 0 ../lines --partition=$size --threads=3
        holds "$work/out" 'line,n
one,3
three,5
"four, too",9'
    done
    end
fi
if begin header_names; then
    printf 'A,b,x\n1,2,3\n' >in.csv
    gives 1 ../rows
    says "error[SB8014]: 'in.csv' has no column 'a'"
    says "fix: did you mean 'A'? Names of columns must be the same"
    printf 'a;b;x\n1;2;3\n' >in.csv
    gives 1 ../rows
    says 'fix: the header is one field: give its delimiter = ";"'
    printf 'a\tb\tx\n1\t2\t3\n' >in.csv
    gives 1 ../rows
    says 'fix: the header is one field: give its delimiter = "\t"'
    printf 'price,bb,"the x"\n1,2,3\n' >in.csv
    gives 1 ../rows
    says "fix: take a name of the header: price, bb, the x"
    end
fi
if begin closed_standard_streams; then
    # What the job opens must not take the place of a stream that it was started without.
    numbers 3 >in.csv
    gives 1 sh -c '../rows --input=- --out=- <&-'
    says "error[SB8012]: cannot read '-': Bad file descriptor"
    gives 3 sh -c '../rows --out=- >&-'
    says "error[SB8018]: cannot write '-': Bad file descriptor"
    gives 0 sh -c '../rows <&- >&- 2>&-'
    cmp -s in.csv out.csv || wrong "out.csv differs from in.csv"
    end
fi
if begin urls; then
    numbers 3 >in.csv
    gives 2 ../rows --input=https://example.com/in.csv
    says "error[SB8031]: URLs are not in this version: 'https://example.com/in.csv'"
    gives 2 ../rows --out=s3://bucket/out.csv
    says "error[SB8031]: URLs are not in this version: 's3://bucket/out.csv'"
    gives 2 ../rows --rejects=s3://bucket/out.csv
    says "error[SB8031]: "
    only_files "./in.csv "
    end
fi
if begin globs; then
    mkdir -p tree/x/y tree/.hidden
    printf 1 >tree/b.txt
    printf 12 >tree/x/a.txt
    printf 123 >tree/x/y/c.txt
    printf 1234 >tree/.hidden/d.txt
    : >tree/x/no.text
    gives 0 ../whole
    holds "$work/out" 'path,n
tree/b.txt,1
tree/x/a.txt,2
tree/x/y/c.txt,3'
    says "tree/x/y/c.txt     1      3"
    gives 0 ../whole --input=tree/x
    holds "$work/out" 'path,n
tree/x/a.txt,2
tree/x/no.text,0'
    gives 0 ../whole "--input=tree/[a-c].t?t"
    holds "$work/out" 'path,n
tree/b.txt,1'
    gives 0 sh -c "printf 'a,b,x\n1,2,3\n' | tee 1.csv >2.csv; ../rows '--input=?.csv' --out=-"
    holds "$work/out" 'a,b,x
1,2,3
1,2,3'
    end
fi

# ---- outputs --------------------------------------------------------------------------------------

if begin folder_of_parts; then
    numbers 300 >in.csv
    for size in 100 4MiB; do
        gives 0 ../parts --partition=$size --threads=3 --overwrite
        { head -n 1 in.csv; for part in parts/part-*.csv; do tail -n +2 "$part"; done; } >all.csv
        cmp -s in.csv all.csv || wrong "the parts do not make in.csv"
        for part in parts/part-0000[0-3].csv; do
            bytes=$(($(wc -c <"$part")))
            [ $bytes -ge 1024 ] && [ $bytes -lt 1050 ] || wrong "$part has $bytes bytes"
        done
    done
    numbers 3 >in.csv
    gives 0 ../parts --overwrite
    cmp -s in.csv parts/part-00000.csv || wrong "the only part differs from in.csv"
    [ "$(ls -A parts)" = part-00000.csv ] || wrong "parts/ holds $(ls -A parts)"
    end
fi
if begin first_rows; then
    numbers 100000 >in.csv
    gives 0 ../rows --first-rows=3 --partition=1KiB --threads=4
    holds out.csv 'a,b,x
0,name0,0.0
1,name1,0.5
2,name2,1.0'
    says "out.csv     3"
    grep -q '^write csv(out) *3 *0 *3 *0 *0 *0$' "$work/err" || wrong "write counts other rows than out.csv holds"
    # Nothing behind the last row that is wanted is judged: row 50,000 is bad.
    sed -i '50002s/.*/bad,bad,bad/' in.csv
    for how in '--threads=1' '--threads=4 --partition=64KiB' '--threads=3 --schedule=staged' '--threads=4 --schedule=paper'; do
        gives 0 ../rows --overwrite --first-rows=50000 $how
        says 'in.csv  50,000  '
        gives 1 ../rows --overwrite --first-rows=50001 $how
        says "'bad' is no integer"
        # Branches of one stage end each at its own row.
        gives 0 ../branches --overwrite --first-rows=1000 $how
        cp "$work/err" figures
        [ -e figures.first ] || cp figures figures.first
        cmp -s figures figures.first || wrong "$how: other figures: $(diff figures figures.first | head -5)"
        gives 1 ../branches --overwrite --first-rows=2501 $how
        says 'error[SB7021]'
    done
    end
fi
if begin uneven; then
    gives 1 ../uneven_zip
    says "error[SB7029]"
    grep -q '^write csv("-") *3 *0 *3 *0 *0 *0$' "$work/err" || wrong "write counts rows that the zip has no pair for"
    end
fi
if begin bounded; then
    # What a job holds does not grow with its input: each of these reads 20 times what its --memory
    # leaves for rows, and
    # every way from stage to stage is there, every reader and every writer.
    numbers 1000000 >in.csv
    gives 0 sh -c '../rows --out=- --memory=96MiB --threads=2 >out.csv'
    cmp -s in.csv out.csv || wrong "out.csv differs from in.csv"
    : >out.csv
    numbers 3600000 >in.csv
    awk -F, 'NR > 1 { printf "{\"a\":%s,\"b\":\"%s\",\"x\":%s}\n", $1, $2, $3 }' in.csv >in.jsonl
    gzip -1 <in.csv >in.csv.gz
    zstd -q -1 in.csv -o in.csv.zst
    # bounded NAME ROWS: a flow from in.csv (left, right: twice) must write as many rows.
    small='--partition=16KiB --threads=2'
    bounded() {
        {
            echo 'type R = { a: i64, b: str, x: f64? }'
            echo 'let left = read csv("in.csv") as R'
            cat
        } >"$1.sbd"
        "$sbc" "$1.sbd" -o "$1" 2>"$work/err" || wrong "$1 does not compile"
        rm -rf out.*
        gives 0 "./$1" $(least "./$1" $small --over=2) $small --overwrite
        [ "$(cat out.* out.parts/* 2>/dev/null | wc -l)" = "$2" ] || wrong "$1: other rows"
    }
    right='let right = read csv("in.csv") as R'
    bounded union 7200001 <<END
$right
left | union right | write csv("out.csv")
END
    bounded zip 3600001 <<END
$right
left | zip (right | select c = a, d = b) | write csv("out.csv")
END
    bounded twice 5400002 <<END
left | select a | zip (left | select b) | write csv("out.csv")
left | where a % 2 == 0 | write csv("out.2.csv")
END
    bounded stream_of_join 4800001 <<END
$right
left | union right | derive k = a % 3 | join ([{ k: 0, c: "x" }, { k: 0, c: "y" }]) on k
| write csv("out.csv")
END
    bounded repartition 3600001 <<END
left | repartition rows 1000 | limit 100000000 | repartition bytes 1MiB | write csv("out.csv")
END
    bounded limits 5300000 <<END
left | skip 10 | limit 9000000 | where a % 2 == 0 | limit 1700000 | select b | write text("out.txt")
left | limit 9000000 | select b | write text("out.2.txt")
END
    says "skip 10                  3,400,009"
    bounded jsonl 3600000 <<END
read jsonl("in.jsonl") as R | write jsonl("out.jsonl")
END
    bounded text 3600001 <<END
read text("in.jsonl") | write csv("out.csv")
END
    bounded packed 7200002 <<END
read csv("in.csv.gz") as R | write csv("out.csv")
read csv("in.csv.zst") as R | write csv("out.2.csv")
END
    bounded parts 3600083 <<END
left | write csv("out.parts/", bytes = 1MiB)
END
    bounded range 9000000 <<END
range(9000000) | select s = str(i) | write text("out.txt")
END
    gives 0 sh -c '../rows --input=- --out=- --memory=35MiB --partition=16KiB --threads=2 <in.csv >out.csv'
    cmp -s in.csv out.csv || wrong "a pipe: out.csv differs from in.csv"
    end
fi
if begin limits; then
    numbers 1000 >in.csv
    for size in 50 1KiB 4MiB; do
        gives 0 ../meet --partition=$size --threads=3
        { numbers 1000 | head -n 101; numbers 1000 | sed -n '902,951p'; } >all.csv
        cmp -s all.csv "$work/out" || wrong "--partition=$size: other rows"
    done
    gives 0 ../meet --most=0
    holds "$work/out" a,b,x
    end
fi
if begin reject_file; then
    printf 'a,b,x\n1,one,0.5\ntwo,2,\n3,"th""ree",z\n4,four,\n' >in.csv
    gives 1 ../bad
    says "error[SB"
    [ ! -e out.csv ] || wrong "a failed job left out.csv"
    [ -e rejects.csv ] || wrong "a failed job left no rejects"
    gives 2 ../bad --rejects=
    says "--rejects needs a value: --rejects=FILE"
    gives 0 ../bad --reject-limit=2 --rejects=r.csv.gz --overwrite
    gzip -dc r.csv.gz | head -n 1 | grep -q '^step,source,' || wrong "r.csv.gz is no CSV"
    gives 0 ../bad --reject-limit=2 --overwrite
    holds out.csv 'a,b,x
1,one,0.5
4,four,'
    prints_rejects=$(cut -d, -f 6-10 rejects.csv | head -n 1)
    [ "$prints_rejects" = "length,code,message,raw" ] || [ "$(wc -l <rejects.csv)" = 3 ] || wrong "rejects.csv: $prints_rejects"
    grep -qF '"two,2,"' rejects.csv || wrong "rejects.csv lacks the raw row"
    grep -qF '"3,""th""""ree"",z"' rejects.csv || wrong "rejects.csv quotes wrongly: $(cat rejects.csv)"
    gives 0 ../bad --reject-limit=50% --rejects=r.jsonl --overwrite
    [ "$(wc -l <r.jsonl)" = 2 ] || wrong "r.jsonl has not two lines"
    yes 1,one,0.5 | head -n 200 >>in.csv  # Two rejects are less than a hundredth, and more than one.
    gives 0 ../bad --reject-limit=1% --rejects=r.jsonl --overwrite
    end
fi
if begin else_fail; then
    printf 'a,b,x\n5,b,\n0,b,\n2,b,\n' >in.csv
    gives 1 ../fails
    says "in.csv:3, byte 11"
    only_files "./in.csv "
    silent_on "-1"
    end
fi

# same_rejects CODE OPTION...: the same records, and the same message, whatever the memory holds of them.
same_rejects() {
    want=$1
    shift
    for job in bad_rows bad_groups; do
        rm -f rejects.*
        gives "$want" ../$job "$@" --overwrite --memory=1GiB --threads=1
        sed "/^$/q" "$work/err" >alone.err
        md5sum rejects.* >alone.sum
        for way in "--threads=3 --partition=16KiB --memory=100MiB" "--threads=3 --partition=300KiB --memory=100MiB" \
            "$(least ../$job --threads=2) --threads=2" "$(least ../$job --threads=1) --threads=1"; do
            for eager in "" SBC_TEST_SPILL=1; do
                rm -f rejects.*
                gives "$want" env $eager ../$job "$@" --overwrite $way
                sed "/^$/q" "$work/err" | cmp -s - alone.err || wrong "$job $* $eager $way: another message"
                md5sum -c --status alone.sum || wrong "$job $* $eager $way: other records"
            done
        done
    done
}
if begin rejects_spill; then
    awk 'BEGIN { for (i = 0; i < 30000; i++) if (i % 3) print "w" i; else print i }' >in.txt
    same_rejects 0
    same_rejects 0 --rejects=rejects.csv.gz
    same_rejects 1 --reject-limit=19990   # Passed late,
    same_rejects 1 --reject-limit=30      # and at once.
    same_rejects 1 --reject-limit=60%
    same_rejects 1 --stop=29997           # A record that fails behind many others,
    same_rejects 1 --stop=29997 --reject-limit=19990
    same_rejects 1 --stop=6
    gives 0 ../bad_rows --overwrite $(least ../bad_rows --threads=1) --threads=1 --stats
    says ", spilled "
    rm -f out.csv rejects.*
    gives 3 env SBC_FAILPOINT=spill-write=ENOSPC:99 ../bad_rows $(least ../bad_rows)
    says "error[SB8029]: cannot write '"
    gives 3 env SBC_FAILPOINT=spill-read=EIO:99 ../bad_rows $(least ../bad_rows) --retries=0
    says "error[SB8030]: cannot read '"
    only_files "./alone.err ./alone.sum ./groups.csv ./in.txt "
    # Of lines of two bytes each a partition has thirty times as many bytes of records.
    awk 'BEGIN { for (i = 0; i < 200000; i++) print i % 50 ? "x" : 7 }' >in.txt
    same_rejects 0
    end
fi

# ---- what a job says of itself ----------------------------------------------------------------------

if begin describes; then
    gives 0 ../rows --help
    prints "--low=i64  (0)"
    prints "--first-rows=N"
    gives 0 ../rows --params
    prints '--input=[str]  (["in.csv"])'
    gives 0 ../rows --plan
    prints "writes \`write csv(out)\`"
    gives 0 ../rows --licenses
    for name in libuv libyaml zlib zstd LZ4 "time zone" utf8proc "GNU C Library" "Apache License"; do prints "$name"; done
    prints "Permission is hereby granted, free of charge"
    prints "Redistributions in binary form must reproduce"
    only_files ""
    end
fi
if begin stats; then
    numbers 10 >in.csv
    gives 0 ../rows --stats --threads=2
    says "s, 2 threads, memory peak"
    gives 0 ../rows --stats=json --overwrite
    says '{"done":true,"seconds":'
    says '"in":0,"made":10,"on":10,"filtered":0,"rejected":0,"merged":0}'
    says '"sources":[{"source":"in.csv","rows":10,"bytes":'
    says '"sinks":[{"sink":"out.csv","rows":10,'
    [ "$(wc -l <"$work/err")" = 1 ] || wrong "more than one line"
    numbers 200000 >in.csv
    gives 3 ../groups --by=0 --stats=json $(least ../groups) --overwrite
    tail -n 1 "$work/err" | grep -q '^{"done":false,.*"sinks":\[\],"stages":.*}$' || wrong "no figures of a job that failed"
    gives 2 ../rows --stats=xml
    end
fi
if begin progress; then
    mkfifo wait
    { numbers 10; sleep 1.5; } >wait &
    gives 0 ../rows --input=wait --progress=plain
    says " MB/s, 0 rows, memory "
    # Rows that are made count too.
    cat >made.sbd <<'END'
range(1000) | select b = str(i) | union (read csv("wait") as { b: str } | select b) | write csv("b.csv")
END
    "$sbc" made.sbd -o made 2>"$work/err"
    { numbers 10; sleep 1.5; } >wait &
    gives 0 ./made --progress=plain
    grep -Eq 'MB/s, 1,0[0-9][0-9] rows' "$work/err" || wrong "rows are missing"
    grep -Eq '^  read csv\("wait"\) .* 0 rows .*/[0-9]+ running' "$work/err" || wrong "no line of a stage"
    numbers 10 >in.csv
    gives 0 ../rows --progress=none --overwrite
    silent_on "MB/s"
    end
fi
if begin terminal; then
    # On a terminal the figures stand on lines that are written over and taken away at the end.
    mkfifo wait
    { numbers 10; sleep 1.5; } >wait &
    if command -v script >/dev/null; then
        gives 0 script -qec "../rows --input=wait" /dev/null
        tr '\r' '\n' <"$work/out" >"$work/err"
        says "MB/s, 0 rows"
        [ "$(grep -c "0 rows/s" "$work/out")" -gt 3 ] || wrong "the lines are not written again"
        [ "$(grep -c "$(printf '\033\\[A')" "$work/out")" -gt 3 ] || wrong "the lines are not written over"
        # None among rows that go to the same terminal.
        { numbers 10; sleep 1; } >wait &
        gives 0 script -qec "../rows --input=wait --out=-" /dev/null
        ! grep -q "MB/s" "$work/out" || wrong "the lines stand among the rows"
        end
    else
        wait
        skip "script (bsdutils) is not installed"
    fi
fi
if begin alone; then
    # On a machine that has nothing but a libc, from a folder that is not its own, without a variable.
    mkdir -p box/lib/x86_64-linux-gnu box/lib64 box/data
    cp ../rows box/
    cp /lib64/ld-linux-x86-64.so.2 box/lib64/
    cp /lib/x86_64-linux-gnu/libc.so.6 /lib/x86_64-linux-gnu/libm.so.6 box/lib/x86_64-linux-gnu/
    numbers 10 >box/data/in.csv
    if ! unshare -r chroot box /rows --help >/dev/null 2>&1; then
        skip "no user namespaces: unshare -r chroot does not work here"
    else
        gives 0 env -i "$(command -v unshare)" -r "$(PATH=$PATH:/usr/sbin command -v chroot)" box \
            /rows --input=data/in.csv --out=out/rows.csv --low=9
        holds box/out/rows.csv 'a,b,x
9,name9,4.5'
        end
    fi
fi
compile sized <<'END'
param n: i64
range(10) | repartition rows n | write csv("-")
END
if begin partition_of_nothing; then
    gives 0 ../sized --n=3
    gives 2 ../sized --n=0
    says "error[SB8009]: repartition: a partition of 0 rows"
    end
fi
compile slots <<'END'
range(1000) | with (accel = 0.5) { derive a = i * 2 } | with (accel = 2, disk = 1) { derive b = a + 1 } | write csv("-")
END
if begin resources; then
    gives 0 ../slots --resource accel=2 --resource=disk=1.5
    prints "999,1998,1999"
    gives 2 ../slots --resource=disk=1
    says "error[SB8027]: a task holds 0.5 of 'accel', and the job has 0"
    says "fix: --resource=accel=0.5, or more for more tasks at once"
    gives 2 ../slots --resource=accel=1 --resource=disk=1
    says "error[SB8027]: a task holds 2 of 'accel', and the job has 1"
    gives 2 ../slots --resource=acel=2
    says "error[SB8027]: --resource=acel=2: no step asks for 'acel'"
    says "fix: did you mean 'accel'?"
    for wrong in accel =1; do
        gives 2 ../slots --resource=$wrong
        says "error[SB8001]: --resource=$wrong: expected a name and an amount"
    done
    for wrong in "" 0 -1 x 1e9 1e2 0x4 nan 99999999999; do
        gives 2 ../slots --resource=accel=$wrong
        says "error[SB8001]: --resource=accel=$wrong: '$wrong' is no amount"
        says "fix: a number from 0.001 to 1000000: --resource=accel=4"
    done
    gives 2 ../slots --resource=accel=1 --resource accel=2
    says "error[SB8001]: --resource=accel=2: --resource=accel=1 is given, too"
    gives 2 ../slots --resource=cpus=3.5
    says "error[SB8027]: --resource=cpus=3.5: --threads says how many cpus there are"
    says "fix: --threads=4"
    gives 2 ../slots --resource
    says "error[SB8001]: --resource needs a value"
    printf 'resource: [accel=2, disk=1]\n' >run.yaml
    gives 0 ../slots --config=run.yaml
    prints "999,1998,1999"
    gives 2 ../slots --config=run.yaml --resource=accel=1
    says "error[SB8027]: a task holds 2 of 'accel', and the job has 1"
    printf 'resource: accel\n' >run.yaml
    gives 2 ../slots --config=run.yaml
    says "error[SB8006]: "
    end
fi
compile shares <<'END'
range(9) | repartition rows 1 | with (cpus = 0.4) { where hold(1ms) } | with (cpus = 0.5, accel = 1) { where i > 0 } | write csv("-")
END
if begin fractions; then
    gives 0 ../shares --threads=2 --resource=accel=1 --stats
    says ", 5 threads,"  # Tasks of 0.4 cpus share two.
    gives 0 ../shares --threads=1 --resource=accel=9 --stats
    says ", 2 threads,"
    end
fi
compile gpus <<'END'
range(4) | repartition rows 1 | with (gpus = 0.5) { where hold(1ms) } | write csv("-")
END
if begin devices; then
    CUDA_VISIBLE_DEVICES='' gives 2 ../gpus
    says "a task holds 0.5 of 'gpus', and the job has 0"
    says "fix: --resource=gpus=0.5, or more for more tasks at once"
    gives 0 ../gpus --threads=1 --resource=gpus=1 --stats
    says ", 3 threads,"  # Two tasks share the device, beside the cpu.
    end
fi
# Partitions of 16 rows; a batch of up to 100 takes 50 ms.
compile together <<'END'
param file: str = "-"
read csv(file, header = false) as { i: i64 }
| with (accel = 1, batch = 100) { where hold(50ms, 100) }
| with (cpus = 1) { select i } | write csv("-")
END
compile too_many_together <<'END'
range(1000) | with (accel = 1, batch = 100000000) { derive a = i } | write csv("-")
END
compile wide_together <<'END'
range(1000) | derive s = str(i), t = s + "x" | with (accel = 1, batch = 200000) { where len(t) > len(s) } | write csv("-")
END
if begin batches; then
    seq 2000 >many.csv
    gives 0 ../together --file=many.csv --resource=accel=1 --partition=64 --memory=64MiB --stats
    seconds=$(sed -n 's/^time \([0-9]*\)\..*/\1/p' "$work/err")
    [ "$seconds" -lt 4 ] || wrong "$seconds s: 20 batches take 1, one for each partition 7"
    (echo i; seq 2000) | cmp - "$work/out" || wrong "batches change the output"
    gives 2 ../too_many_together --resource=accel=1 --memory=256MiB
    says "error[SB8068]: a batch of 100000000 rows of "
    says " takes about 2.2 GiB, and 210.0 MiB are there for rows"
    says "fix: write batch = "
    # What counts is what --memory leaves for rows, and what rows take that have come over a border.
    gives 2 ../wide_together --resource=accel=1 --memory=40MiB
    says "error[SB8068]: a batch of 200000 rows of "
    batch=$(sed -n 's/.*fix: write batch = \([0-9]*\) or less.*/\1/p' "$work/err")
    sed "s/200000/$batch/" ../wide_together.sbd >fits.sbd
    "$sbc" fits.sbd -o fits 2>"$work/err" || wrong "it does not compile"
    gives 0 ./fits --resource=accel=1 --memory=40MiB
    gives 2 ../wide_together --check --resource=accel=1 --memory=40MiB
    says "error[SB8068]: "
    end
fi

# A small input has rows for all slots. Each task works longer than it takes to begin the others.
compile slow_numbers <<'END'
range(400) | with (accel = 1, batch = 10) { where hold(20ms, 10) } | write csv("-")
END
compile slow_text <<'END'
read csv("few.csv", header = false) as { i: i64 } | with (accel = 1) { where hold(2ms) } | write csv("-")
END
compile slow_groups <<'END'
range(4000) | group by i = i % 400 { n = count() } | with (accel = 1) { where hold(2ms) } | write csv("-")
END
if begin small_inputs; then
    seq 400 >few.csv
    for job in slow_numbers slow_text slow_groups; do
        gives 0 ../$job --threads=2 --resource=accel=4 --stats=json
        share=$(python3 -c 'import json, sys
seconds = json.loads(sys.stdin.read().splitlines()[-1])["seconds"]
print(int(100 * seconds / 0.8))' <"$work/err")
        [ "$share" -lt 60 ] || wrong "$job takes $share % of what one slot takes: 25 % is what four take"
    done
    end
fi

# Both readers of a fork, one behind the other: the second one's rows wait on disk.
compile together_on_disk <<'END'
let wide = range(4000) | repartition rows 100 | derive x = repeat("x", 20000)
wide | union wide | with (accel = 1, batch = 100) { where hold(10ms, 100) | derive h = hash(x) } | select h, i | write csv("-")
END
if begin batches_on_disk; then
    gives 0 ../together_on_disk --threads=2 --resource=accel=2 --memory=1GiB
    cp "$work/out" all
    for schedule in full staged; do
        gives 0 ../together_on_disk --threads=2 --resource=accel=2 --memory=50MiB --schedule=$schedule --stats
        says ", spilled "
        cmp "$work/out" all || wrong "batches on disk change the output"
        held=$(sed '1,/^stage/d' "$work/err" | awk 'NF > 11 && /^union wide/ { held = $(NF - 5) } END { print int(held) }')
        [ "${held:-9}" -lt 3 ] || wrong "batches are held for $held s: 80 take 0.8, one for each partition 40"
    done
    end
fi

if begin config; then
    numbers 10 >in.csv
    numbers 5 >other.csv
    printf 'low: 8\nthreads: 2\ninput:\n  - in.csv\n  - other.csv\n' >run.yaml
    gives 0 ../rows --config=run.yaml --out=-
    holds "$work/out" 'a,b,x
8,name8,4.0
9,name9,4.5'
    gives 0 ../rows --config=run.yaml --out=- --low=4 --input=other.csv
    holds "$work/out" 'a,b,x
4,name4,2.0'
    printf 'low: 8\ntreads: 2\n' >run.yaml
    gives 2 ../rows --config=run.yaml
    says "run.yaml:2:1"
    says "did you mean 'threads'?"
    # wrong_at PLACE MESSAGE CONFIGURATION
    wrong_at() {
        printf "$3" >run.yaml
        gives 2 ../rows --config=run.yaml
        says "run.yaml:$1"
        says "$2"
    }
    wrong_at 2:1 'the name stands twice' 'low: 8\nlow: 9\n'
    wrong_at 2:1 'the name stands twice' 'input: [a.csv]\ninput: [b.csv]\n'
    wrong_at 1:6 'expected one value' 'low: [8]\n'
    wrong_at 3:1 'a second document' 'low: 8\n---\nlow: 9\n'
    wrong_at 1:12 'expected true or false' 'overwrite: maybe\n'
    wrong_at 1:9 'fix: a number and a unit' 'memory: x\n'
    # All mistakes are told, those of parameters too, and those of the command line beside them.
    printf 'low: eight\ntreads: 3\nmemory: 4Q\nresource: [a, b=2, c]\nlow: 3\n' >run.yaml
    gives 2 ../rows --config=run.yaml --schedule=ful --first-rows=0
    says "'eight' is no i64"
    says "did you mean 'threads'?"
    says "'4Q' is no size"
    says "resource=a: "
    says "resource=c: "
    says "the name stands twice"
    says "schedule=ful: "
    says "fix: write --schedule=full"
    says "first-rows=0: "
    [ "$(grep -c '^error' "$work/err")" = 8 ] || wrong "not 8 mistakes: $(cat "$work/err")"
    printf 'input: []\n' >run.yaml
    gives 1 ../rows --config=run.yaml
    says "error[SB8010]"
    printf 'low: eight\n' >run.yaml
    gives 2 ../rows --config=run.yaml
    says "run.yaml:1:6"
    printf 'low: [1\n' >run.yaml
    gives 2 ../rows --config=run.yaml
    says "error[SB8006]: "
    gives 2 ../rows --config=none.yaml
    says "cannot open 'none.yaml'"
    end
fi
if begin computed_values; then
    # Values that rows compute count too: one that finds no memory goes alone, and what fits nowhere is no bad row.
    cat >values.sbd <<'END'
param n: i64 = 1000
range(8) | repartition rows 1 | derive t = repeat("x", n) | derive l = len(t) | select i, l | write csv("-")
rejects write jsonl("rejects.jsonl") limit 100%
END
    "$sbc" values.sbd -o values 2>"$work/err" || wrong "does not compile"
    gives 0 ./values --memory=60MiB --threads=4 --n=20000000 --stats=json
    [ "$(grep -c ',20000000$' "$work/out")" = 8 ] || wrong "rows: $(cat "$work/out")"
    gives 3 ./values --memory=60MiB --threads=4 --n=40000000 --overwrite
    says "error[SB8019]: "
    gives 0 ./values --memory=600MiB --threads=4 --n=40000000 --overwrite
    end
fi
if begin foreign_memory; then
    # What C functions take counts like all else: beyond --memory malloc gives null. What was freed is there again.
    cat >foreign.c <<'END'
#include "pipeline.h"
#include <stdlib.h>
#include <string.h>
enum { BYTES = 1 << 20 };
static char *volatile last;
static int64_t fill(char *block, int64_t x) {
    if (!block) return 0;
    last = memset(block, (int)x, BYTES);
    return 1;
}
int64_t keeps(int64_t x) { return fill(malloc(BYTES), x); }
int64_t gives_back(int64_t x) {
    char *block = realloc(calloc(1, BYTES / 2), BYTES), *copy = strdup("not counted");
    int64_t good = fill(block, x);
    free(block);
    free(copy);
    return good;
}
END
    cat >foreign.sbd <<'END'
param rows: i64 = 500
extern fn keeps(x: i64) -> i64 from "foreign.c" impure
extern fn gives_back(x: i64) -> i64 from "foreign.c"
range(rows) | derive kept = keeps(i), given = gives_back(i) | aggregate { kept = sum(kept), given = sum(given) } | write csv("-")
END
    "$sbc" foreign.sbd -o foreign 2>"$work/err" || wrong "does not compile"
    gives 0 ./foreign --memory=100MiB --threads=2 --stats=json
    awk -F, 'NR == 2 { exit !($1 > 20 && $1 < 100) }' "$work/out" || wrong "kept: $(cat "$work/out")"
    gives 0 ./foreign --memory=2GiB --threads=2 --stats=json
    holds "$work/out" "kept,given
500,500"
    grep -q '"memory_peak":5[23][0-9]*,' "$work/err" || wrong "the peak does not count it"
    end
fi
if begin summary; then
    # Steps that no flow reaches are not in the table; the counts add up.
    numbers 1000 >in.csv
    gives 0 ../meet --most=5
    says "limit most"
    awk 'NR == 1 { next } /^$/ { exit }
         { n = NF; gsub(",", ""); if ($(n-5) + $(n-4) != $(n-3) + $(n-2) + $(n-1) + $n) bad = 1 }
         END { exit bad }' "$work/err" || wrong "the figures do not add up"
    end
fi

finish

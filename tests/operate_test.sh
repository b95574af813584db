#!/bin/sh
# operate_test.sh: what a job offers to who operates it: signals, messages, checks, figures.
# usage: tests/operate_test.sh [CASE]: all cases, or the one of that name. SBC names the compiler.
. "$(dirname "$0")/cases.sh"

# ---- the jobs -------------------------------------------------------------------------------------

compile rows <<'END'
param input: [str] = ["in.csv"]
param out: str = "out.csv"
read csv(input) as { a: i64, b: str, x: f64? } | write csv(out)
END
compile sort <<'END'
read csv("in.csv") as { a: i64, b: str, x: f64? } | sort a | write csv("out.csv")
END
# A task of 20 ms, one after the other, and a stage behind it.
compile slow <<'END'
param out: str = "-"
param n: i64 = 100000
range(n) | repartition rows 10 | where hold(2ms) | with (slot = 1) { derive s = str(i) } | write csv(out)
END
compile units <<'END'
param n: i64 = 2000
range(n) | repartition rows 10 | where hold(2ms) | write csv("out.csv")
END
compile sort_slowly <<'END'
range(1000) | repartition rows 10 | where hold(2ms) | derive s = repeat("x", 100) | sort i desc | write csv("sorted.csv")
END
# More than a pipe takes; a row of the second has line ends within quotes.
compile big <<'END'
range(300000) | derive s = f"row {i} x" | write csv("-")
END
compile quoted <<'END'
range(100000) | derive s = if i % 1000 == 7 then repeat("line\n", 2000) else "two\nlines", e = "x" | write csv("-")
END
# A task that takes longer than a test.
compile long <<'END'
param n: i64 = 1000
range(n) | where hold(100ms) | write csv("out.csv")
END
compile whole <<'END'
range(2) | where hold(1s) | write csv("out.csv")
END

# started JOB OPTION...: in the background. A background command of a shell ignores SIGINT; env gives it back.
started() {
    env --default-signal=INT "$@" >"$work/out" 2>"$work/err" &
    job=$!
}
# signal NAME AFTER: to the job, so long after it handles signals.
signal() {
    for try in $(seq 500); do
        caught=$(awk '/^SigCgt:/ { print $2 }' /proc/$job/status 2>/dev/null)
        [ $((0x0$caught >> 14 & 1)) = 1 ] && break
        sleep 0.01
    done
    sleep "$2"
    kill "-$1" $job || wrong "the job has ended"
}
# ended CODE SECONDS: it ends so, and before that time.
ended() {
    tries=0
    while kill -0 $job 2>/dev/null && [ $tries -lt $(($2 * 20)) ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -KILL $job 2>/dev/null && wrong "it goes on after $2 s"
    wait $job
    code=$?
    [ $code = "$1" ] || wrong "exit $code instead of $1"
}
# objects: each line of standard error is a JSON object; EXPRESSION over their list `all` holds.
objects() {
    python3 - "$work/err" "$1" <<'END' >"$work/why" 2>&1 || wrong "log: $1: $(tail -n 3 "$work/why")"
import json, sys
all = [json.loads(line) for line in open(sys.argv[1])]
assert all, "no lines"
for at in all: assert type(at) is dict and "event" in at, at
assert eval(sys.argv[2]), "not so"
END
}

# ---- signals --------------------------------------------------------------------------------------

if begin drains; then
    # What was taken in is written whole; what was not is not begun.
    started ../slow --threads=2 --resource=slot=1
    signal TERM 1
    ended 130 5
    says "warning[SB8040]: SIGTERM: no more input is taken; what runs has 25 s to end"
    says "error[SB8021]: interrupted"
    rows=$(($(wc -l <"$work/out") - 1))
    [ $rows -gt 50 ] && [ $rows -lt 90000 ] && [ $((rows % 10)) = 0 ] || wrong "$rows rows"
    { echo i,s; seq 0 $((rows - 1)) | sed 's/.*/&,&/'; } >all.csv
    cmp -s all.csv "$work/out" || wrong "the output is no prefix of the whole"
    # A file appears whole or not at all.
    started ../slow --threads=2 --resource=slot=1 --out=out.csv
    signal TERM 0.5
    ended 130 5
    only_files "./all.csv "
    end
fi
if begin drains_and_resumes; then
    # What was done is committed: the next run goes on behind it.
    started ../units --resume=journal --threads=2
    signal TERM 0.8
    ended 130 5
    gives 0 ../units --resume=journal --threads=2
    grep -Eq "^resume: 'range\(n\)' goes on at row [0-9,]*0$" "$work/err" || wrong "it does not go on"
    { echo i; seq 0 1999; } | cmp -s - out.csv || wrong "out.csv is not what a whole run gives"
    end
fi
if begin drains_into_breakers; then
    # What came into breakers is committed with them, whoever else reads the same rows.
    cat >head.sbd <<'END'
let f = range(900) | repartition rows 10 | where hold(2ms) | derive k = i % 7
END
    { cat head.sbd; printf 'f | write csv("rows.csv")\nf | aggregate { n = count(), s = sum(i) } | write csv("other.csv")\n'; } >sum.sbd
    { cat head.sbd; printf 'f | write csv("rows.csv")\nf | sort i desc | write csv("other.csv")\n'; } >sorted.sbd
    { cat head.sbd; printf 'f | write csv("rows.csv")\nf | limit 600 | group by k { n = count() } | write csv("other.csv")\n'; } >limited.sbd
    { cat head.sbd; printf 'f | write csv("rows.csv")\nrange(90) | join right f on i | write csv("other.csv")\n'; } >joined.sbd
    for name in sum sorted limited joined; do
        "$sbc" $name.sbd -o $name 2>"$work/err" || wrong "$name does not compile"
        gives 0 ./$name --overwrite
        mv rows.csv rows.all && mv other.csv other.all
        for after in 1 2 3; do
            rm -rf journal rows.csv other.csv
            started ./$name --resume=journal --threads=2
            signal TERM 0.$after
            ended 130 5
            gives 0 ./$name --resume=journal
            cmp -s rows.all rows.csv || wrong "$name: other rows"
            cmp -s other.all other.csv || wrong "$name: other bytes of what a breaker had"
        done
    done
    end
fi
if begin drains_before_tables; then
    # All of the input was in, but a table is not made any more: the job is not done.
    printf 'range(50) | join (range(200000) | derive j = i * 2) on i | write csv("out.csv")\n' >table.sbd
    "$sbc" table.sbd -o table 2>"$work/err" || wrong "it does not compile"
    gives 0 ./table
    mv out.csv all.csv
    for try in 1 2 3 4 5 6 7 8; do
        SBC_FAILPOINT=finish=SIGTERM ./table --overwrite --threads=2 >"$work/out" 2>"$work/err"
        code=$?
        [ $code = 130 ] || [ $code = 0 ] || wrong "exit $code"
        if [ $code = 0 ]; then cmp -s all.csv out.csv || wrong "done, with other rows"
        elif [ -e out.csv ]; then wrong "interrupted, and yet there is an output"; fi
        rm -f out.csv
    done
    end
fi
if begin drains_unions; then
    # Rows behind those that do not come any more go nowhere.
    head='let f = range(600) | repartition rows 3 | where hold(1ms)'
    printf '%s\nf | union f | write csv("-")\n' "$head" >twice.sbd
    printf '%s\n(f | aggregate { i = count() }) | union f | write csv("-")\n' "$head" >before.sbd
    printf '%s\nf | union (f | where i > 10) | limit 900 | write csv("-")\n' "$head" >limit.sbd
    for name in twice before limit; do
        "$sbc" $name.sbd -o $name 2>"$work/err" || wrong "$name does not compile"
        gives 0 ./$name
        mv "$work/out" all.csv
        for after in 05 1; do
            started ./$name --threads=2
            signal TERM 0.$after
            ended 130 5
            head -c "$(stat -c %s "$work/out")" all.csv | cmp -s - "$work/out" || wrong "$name: no prefix of the whole"
        done
    done
    end
fi
if begin drains_what_waits; then
    # Rows that wait for a table which is not made any more go nowhere.
    cat >own.sbd <<'END'
let rows = read csv("slow") as { a: i64, b: str }
rows | join (rows | group by b { n = count() }) on b | write csv("out.csv")
END
    "$sbc" own.sbd -o own 2>"$work/err" || wrong "it does not compile"
    awk 'BEGIN { print "a,b"; for (i = 0; i < 20000; i++) print i ",name" i % 100 }' >in.csv
    mkfifo slow
    cat in.csv >slow &
    gives 0 ./own
    mv out.csv whole.csv
    { cat in.csv; sleep 2; } >slow &
    started ./own --resume=journal --partition=64KiB --threads=2
    signal TERM 0.5
    ended 130 5
    cat in.csv >slow &
    gives 0 ./own --resume=journal
    cmp -s whole.csv out.csv || wrong "other bytes"
    end
fi
if begin drains_to_the_end; then
    # All of the input was in: the job is done.
    started ../whole --threads=2
    signal TERM 0.3
    ended 0 5
    says "warning[SB8040]"
    [ "$(wc -l <out.csv)" = 3 ] || wrong "rows are missing"
    end
fi
if begin grace; then
    started ../long --grace=300ms
    signal TERM 0.3
    ended 130 3
    says "what runs has 0.3 s to end"
    says "error[SB8021]: interrupted"
    only_files ""
    started ../long --grace=0s
    signal TERM 0.3
    ended 130 2
    silent_on "warning"
    says "error[SB8021]: interrupted"
    for wrong in 5 x 1.5us -1s s 1m; do
        gives 2 ../long --grace=$wrong
        says "error[SB8001]: --grace=$wrong: '$wrong' is no duration"
        case $wrong in 5) fix=5s ;; 1m) fix=1min ;; *) fix=25s ;; esac
        says "fix: a number and a unit: --grace=$fix"
    done
    printf 'grace: 1min\n' >run.yaml
    gives 0 ../slow --n=10 --resource=slot=1 --config=run.yaml
    end
fi
if begin second_signal; then
    for second in TERM INT; do
        started ../long
        signal TERM 0.3
        signal $second 0.2
        ended 130 3
        says "error[SB8021]: interrupted twice: the job leaves at once"
    done
    started ../long
    signal INT 0.3
    ended 130 2
    silent_on "warning"
    end
fi
# A terminal that is closed asks like SIGTERM; a job that was begun to outlive it goes on.
if begin hangup; then
    env --default-signal=HUP ../slow --threads=2 --resource=slot=1 >"$work/out" 2>"$work/err" &
    job=$!
    signal HUP 0.5
    ended 130 5
    says "warning[SB8040]: SIGHUP: no more input is taken; what runs has 25 s to end"
    env --ignore-signal=HUP ../slow --n=3000 --threads=2 --resource=slot=1 >"$work/out" 2>"$work/err" &
    job=$!
    signal HUP 0.2
    ended 0 10
    silent_on SIGHUP
    end
fi
# A pipe ends behind a row, though nobody reads when the time is over.
if begin nobody_reads; then
    mkfifo pipe
    # stopped NAME SIGNAL: the job, while its reader sleeps; then the reader goes on.
    stopped() {
        { sleep 2; cat; } <pipe >got.csv &
        reader=$!
        env --default-signal=INT ../$1 --grace=300ms >pipe 2>"$work/err" &
        job=$!
        signal $2 0.5
        ended 130 1
        wait $reader
        size=$(wc -c <got.csv)
        [ "$size" -gt 1000 ] && head -c "$size" whole.csv | cmp -s - got.csv || wrong "$size bytes that are no beginning"
        [ "$(tail -c 2 got.csv)" = x ] || wrong "it ends within a row: $(tail -c 20 got.csv)"
    }
    for name in big quoted; do
        ../$name >whole.csv 2>"$work/err" || wrong "exit $?"
        ../$name 2>"$work/err" | cat | cmp -s - whole.csv || wrong "$name: other bytes in a pipe"
        stopped $name TERM
        says "error[SB8021]: interrupted"
        stopped $name INT
    done
    end
fi
# Two extern functions that do not give the thread back.
if begin no_return; then
    cat >never.c <<'END'
#include "pipeline.h"
#include <stdlib.h>
#include <unistd.h>
int64_t sleeps(int64_t x) {
    while (x == 7) sleep(60);
    return x;
}
int64_t leaves(int64_t x) {
    if (x == 7) exit(0);
    return x;
}
END
    for name in sleeps leaves; do
        cat >$name.sbd <<END
extern fn $name(x: i64) -> i64 from "never.c" pure
range(10) | sort i desc | derive y = $name(i) | write csv("out.csv")
END
        "$sbc" $name.sbd -o $name 2>"$work/err" || wrong "$name.sbd does not compile"
    done
    mkdir spilled
    started ./sleeps --grace=300ms --spill=spilled
    signal TERM 0.3
    ended 130 5
    says "error[SB8021]: interrupted: what runs has not come to an end 2 s after --grace"
    says "fix: run the job again"
    [ -z "$(ls -A | grep out)" ] || wrong "it leaves: $(ls -A)"
    # What the next run goes on with stays.
    started ./sleeps --grace=300ms --resume=journal
    signal TERM 0.3
    ended 130 5
    says "fix: run it again with the same --resume=journal"
    [ "$(ls -A | grep -c '^\.out\.csv\.')" = 1 ] || wrong "it leaves: $(ls -A)"
    gives 1 ./leaves --threads=2
    says "error[SB8070]: an extern function called exit()"
    says "fix: return a value from the extern function"
    [ ! -e out.csv ] || wrong "out.csv is there"
    [ "$(ls -A | grep -c '^\.out\.csv\.')" = 1 ] || wrong "it leaves: $(ls -A)"
    end
fi

# ---- looking before running -----------------------------------------------------------------------

if begin check; then
    numbers 10 >in.csv
    printf 'a;b;x\n' >other.csv
    gives 0 ../rows --check --out=made/deep/out.csv --threads=3
    grep -Eq '^input +in\.csv +1 file, 126 bytes +ok$' "$work/out" || wrong "no line of the input"
    grep -Eq "^output +made/deep/out\.csv +[0-9.]+ [KMGT]iB free in '\.' +ok$" "$work/out" || wrong "no line of the output"
    grep -Eq '^slots .* 3 cpus, 3 threads +ok$' "$work/out" || wrong "no line of the slots"
    grep -Eq '^memory .* of .*; the least is .* MiB +ok$' "$work/out" || wrong "no line of the memory"
    ! grep -q '^spill' "$work/out" || wrong "a job that does not spill looks at a folder"
    [ ! -s "$work/err" ] || wrong "something is said"
    only_files "./in.csv ./other.csv "
    # All that is wrong is found; the exit code is that of the first.
    gives 1 ../rows --check --input=none.csv --input=in.csv --input=other.csv --out=other.csv
    says "error[SB8010]: cannot open 'none.csv'"
    says "error[SB8014]: 'other.csv' has no column 'a'"
    says "error[SB8007]: 'other.csv' exists"
    grep -Eq '^input +none\.csv +SB8010$' "$work/out" || wrong "no line of the missing file"
    gives 2 ../rows --check --out=in.csv --overwrite
    says "error[SB8008]: 'in.csv' is read and written"
    gives 2 ../slow --check
    says "error[SB8027]: a task holds 1 of 'slot'"
    gives 2 ../sort --check --spill=none
    says "error[SB8028]: cannot make a file in 'none': No such file or directory"
    gives 2 ../rows --check --trace=none/trace.json --resume=journal
    says "error[SB8061]"
    grep -Eq "^journal .* ok$" "$work/out" || wrong "no line of the journal"
    gives 2 ../rows --check --trace=in.csv --overwrite
    says "error[SB8008]: 'in.csv' is read and written"
    gives 2 ../rows --check --trace=other.csv
    says "error[SB8007]: 'other.csv' exists"
    gives 3 sh -c 'ulimit -n 20; ../rows --check'
    says "error[SB8066]: a process may open 20 files; the job needs"
    says "fix: ulimit -n "
    gives 0 ../rows --check --log=json --input=- --out=- --rejects=r.csv
    objects '[at["event"] for at in all] == ["check"]'
    objects '[(at["check"], at["name"], at["state"]) for at in all[0]["items"]][1:4] == [("input", "-", "ok"), ("output", "-", "ok"), ("rejects", "r.csv", "ok")]'
    [ ! -s "$work/out" ] || wrong "something is printed"
    gives 1 ../rows --check --log=json --input=none.csv
    objects '[at["event"] for at in all] == ["check", "trouble"] and all[1]["code"] == "SB8010"'
    only_files "./in.csv ./other.csv "
    mkdir disk
    if mount -t tmpfs -o size=4k none disk 2>"$work/err"; then
        mounted=$PWD/disk
        head -c 4096 /dev/zero >disk/all
        gives 3 ../rows --check --out=disk/out.csv
        says "error[SB8018]: the disk of 'disk/' is full"
        gives 3 ../sort --check --spill=disk
        says "error[SB8029]: the disk of 'disk' is full"
        mount -o remount,ro "$mounted"
        gives 1 ../rows --check --out=disk/out.csv
        says "error[SB8024]: cannot make a file in 'disk/': Read-only file system"
        # The run says what the check says.
        for check in --check ""; do
            gives 2 ../rows --resume=disk $check
            says "error[SB8041]: cannot "
            says "Read-only file system"
        done
        mount -o remount,rw,size=512k "$mounted"
        for check in --check ""; do
            gives 3 ../rows --resume=disk $check
            says "error[SB8047]: "
            says "--on-full=wait"
        done
        says "error[SB8047]: cannot write the journal in 'disk': No space left on device"
        rm disk/*
        started ../rows --resume=disk --on-full=wait
        sleep 1
        says "warning[SB8064]: cannot write 'the journal': No space left on device; the job waits for room"
        mount -o remount,size=8m "$mounted"
        ended 0 5
        rm out.csv out.csv.manifest.json
        umount "$mounted"
        mounted=
    fi
    end
fi

# ---- limits of the process ------------------------------------------------------------------------

if begin few_files; then
    # Whatever the job cannot open, a message says so.
    numbers 10 >in.csv
    for files in 5 6 7 8 9 10 11 12 13 14 64; do
        sh -c "ulimit -n $files; ../rows --overwrite --threads=1" >"$work/out" 2>"$work/err"
        code=$?
        case $code in
        0) [ $files -gt 12 ] || wrong "it runs with $files files" ;;
        1 | 3) says "Too many open files" && says "ulimit -n" ;;
        *) wrong "exit $code with $files files" ;;
        esac
    done
    [ $code = 0 ] || wrong "64 files are too few"
    end
fi
if begin file_size; then
    numbers 10000 >in.csv
    gives 3 sh -c 'ulimit -f 20; ../rows'
    says "error[SB8018]: cannot write 'out.csv': File too large"
    says "fix: raise the limit of the size of files (ulimit -f)"
    only_files "./in.csv "
    end
fi

if begin memory_limit; then
    # More than there is: a slip that would end with the job killed.
    numbers 10 >in.csv
    gives 0 ../rows --memory=1000TiB
    says "warning[SB8071]: --memory=1000TiB is more than the "
    gives 0 ../rows --memory=1000TiB --check --overwrite
    says "warning[SB8071]: "
    grep -Eq '^memory .* SB8071$' "$work/out" || wrong "no state of the memory"
    # What the system refuses no --memory gives.
    gives 3 sh -c 'ulimit -v 9000; ../sort --overwrite --memory=64MiB'
    says "error[SB8072]: no memory "
    says "or lower --memory"
    end
fi

# ---- errors of the system -----------------------------------------------------------------------

# warned N CODE: so many warnings of it.
warned() {
    count=$(grep -c "^warning\[$2\]" "$work/err")
    [ "$count" = "$1" ] || wrong "$count warnings $2 instead of $1"
}
if begin retries; then
    numbers 1000 >in.csv
    gzip <in.csv >in.csv.gz
    # A call that fails for a while is made again, wherever it is, and the bytes are the same.
    for call in source-open source-read header-read output-create output-write; do
        SBC_FAILPOINT=$call=EIO:2 gives 0 ../rows --overwrite
        warned 2 SB8063
        cmp -s in.csv out.csv || wrong "$call: out.csv differs from in.csv"
    done
    says "warning[SB8063]: 'out.csv': Input/output error; again in 0."
    SBC_FAILPOINT=source-read=EIO:2 gives 0 ../rows --overwrite --threads=1
    says " s (2 of 3)"
    SBC_FAILPOINT=stream-read=ETIMEDOUT gives 0 ../rows --input=in.csv.gz --out=-
    warned 1 SB8063
    cmp -s in.csv "$work/out" || wrong "stream-read: the output differs from in.csv"
    SBC_FAILPOINT=stream-write=EIO gives 0 ../rows --out=-
    warned 1 SB8063
    cmp -s in.csv "$work/out" || wrong "stream-write: the output differs from in.csv"
    for call in spill-write spill-read; do
        SBC_FAILPOINT=$call=EIO:2 SBC_TEST_SPILL=1 gives 0 ../sort --overwrite
        warned 2 SB8063
        cmp -s in.csv out.csv || wrong "$call: out.csv differs from in.csv"
    done
    # Not for ever, and not what will not pass.
    SBC_FAILPOINT=source-read=EIO:4 gives 1 ../rows --overwrite --threads=1
    warned 3 SB8063
    says "error[SB8012]: cannot read 'in.csv': Input/output error"
    SBC_FAILPOINT=source-read=EIO gives 1 ../rows --overwrite --retries=0
    warned 0 SB8063
    SBC_FAILPOINT=output-write=EACCES gives 1 ../rows --overwrite
    warned 0 SB8063
    says "error[SB8024]: cannot write 'out.csv': Permission denied"
    # More room would not help.
    SBC_FAILPOINT=output-write=EIO:9 gives 3 ../rows --overwrite
    says "error[SB8018]: cannot write 'out.csv': Input/output error"
    says "fix: check the disk or the device"
    SBC_FAILPOINT=output-write=ENOSPC gives 3 ../rows --overwrite
    says "--on-full=wait waits for room"
    SBC_FAILPOINT=spill-read=EIO:99 SBC_TEST_SPILL=1 gives 3 ../sort --overwrite --retries=0
    says "error[SB8030]: cannot read '"
    says "fix: check the disk, or give another folder: --spill=DIR"
    # A signal ends the wait.
    SBC_FAILPOINT=source-read=EIO:100 started ../rows --overwrite --retries=100
    signal INT 0.5
    ended 130 3
    says "error[SB8021]: "
    for wrong in -1 x 1001 1.5; do
        gives 2 ../rows --retries=$wrong
        says "error[SB8001]: --retries=$wrong: '$wrong' is no whole number from 0 to 1000"
    done
    end
fi
if begin full_disk; then
    mkdir small
    if mount -t tmpfs -o size=64k none small 2>"$work/err"; then
        mounted=$PWD/small
        numbers 1000 >in.csv
        head -c 60000 /dev/zero >small/other
        gives 3 ../rows --out=small/out.csv
        says "error[SB8018]: cannot write 'small/out.csv': No space left on device"
        started ../rows --out=small/out.csv --on-full=wait
        sleep 1
        says "warning[SB8064]: cannot write 'small/out.csv': No space left on device; the job waits for room"
        rm small/other
        ended 0 3
        says "warning[SB8064]: 'small/out.csv': the job goes on after "
        warned 2 SB8064
        cmp -s in.csv small/out.csv || wrong "small/out.csv differs from in.csv"
        head -c 40000 /dev/zero >small/other
        for signal in INT TERM; do
            started ../rows --out=small/out.csv --on-full=wait --overwrite
            signal $signal 0.5
            ended 130 2
            says "error[SB8021]: interrupted"
            silent_on "the job goes on"
            silent_on "canceled"
        done
        # Spilled rows wait as well.
        numbers 20000 >in.csv
        started ../sort --spill=small $(least ../sort) --on-full=wait
        sleep 1
        says "the job waits for room"
        mount -o remount,size=8m "$mounted"
        ended 0 5
        cmp -s in.csv out.csv || wrong "out.csv differs from in.csv"
        gives 2 ../rows --on-full=go
        says "error[SB8001]: --on-full=go: expected wait|stop"
        umount "$mounted"
        mounted=
        end
    else
        skip "a tmpfs needs the right to mount"
    fi
fi

# ---- the log --------------------------------------------------------------------------------------

if begin log; then
    numbers 10 >in.csv
    gives 0 ../rows --log=json
    objects '[at["event"] for at in all] == ["start", "end"]'
    objects 'all[0]["job"].endswith("rows.sbd") and all[0]["threads"] > 0 and all[0]["pid"] > 0'
    objects 'all[1]["exit_code"] == 0 and all[1]["summary"]["done"] and all[1]["summary"]["sinks"] == [{"sink": "out.csv", "rows": 10, "bytes": 126}]'
    objects 'all[1]["time"].endswith("Z") and all[0]["seconds"] <= all[1]["seconds"]'
    gives 0 ../rows --out=served.csv --log=json --metrics=0
    objects '[at["event"] for at in all] == ["start", "metrics", "end"]'
    gives 2 ../rows --log=json
    objects '[at["event"] for at in all] == ["trouble"] and all[0]["code"] == "SB8007" and all[0]["fix"].startswith("give another path")'
    printf 'a,b,x\n1,"o""n\te",y\n' >in.csv
    gives 1 ../rows --log=json --overwrite
    objects '[at["event"] for at in all] == ["start", "trouble", "end"] and all[2]["exit_code"] == 1'
    objects 'all[1]["code"] == "SB7003" and all[1]["line"] == 2 and all[1]["source"] == "in.csv" and all[1]["limit"] == "0" and all[1]["raw"] == "1,\"o\"\"n\te\",y"'
    gives 2 ../rows --wrong --log=json
    objects 'all[0]["code"] == "SB8002" and len(all) == 1'
    printf 'log: json\n' >run.yaml
    gives 1 ../rows --config=run.yaml --input=none.csv
    objects 'len(all) == 1'
    gives 2 ../rows --log=xml
    says "error[SB8001]: --log=xml: expected text|json"
    mkfifo wait
    { numbers 10; sleep 1.5; } >wait &
    gives 0 ../rows --input=wait --progress=plain --log=json --overwrite
    objects '[at["event"] for at in all] == ["start", "progress", "end"]'
    objects 'list(all[1])[3:] == ["rows", "bytes", "memory", "memory_limit", "stages"] and all[1]["memory_limit"] == all[0]["memory"]'
    objects 'all[1]["stages"] == [{"stage": all[1]["stages"][0]["stage"], "state": "busy", "rows": 0, "bytes": 0, "rows_rate": 0, "bytes_rate": 0, "queued": 0, "unwritten": 0, "running": 1, "slots": all[0]["threads"]}]'
    rm out.csv
    started ../long --log=json
    signal TERM 0.3
    signal TERM 0.2
    ended 130 3
    objects '[at.get("code") for at in all] == [None, "SB8040", "SB8021"]'
    end
fi
if begin crash; then
    # An event too, put together on the alternate stack.
    cat >crash.c <<'END'
#include "pipeline.h"
#include <stdlib.h>
int64_t aborts(int64_t x) {
    if (x == 7) abort();
    return x;
}
END
    cat >crash.sbd <<'END'
extern fn aborts(x: i64) -> i64 from "crash.c" pure
range(10) | derive y = aborts(i) | write csv("out.csv")
END
    "$sbc" crash.sbd -o crash 2>"$work/err" || wrong "crash.sbd does not compile"
    # Who waits for it says that it was killed, but not into its log.
    sh -c 'ulimit -c 0; exec ./crash --log=json 2>../err' 2>/dev/null
    objects '[at["event"] for at in all] == ["start", "trouble"] and all[1]["code"] == "SB8026"'
    objects '"\n 2 | range(10) | derive y = aborts(i) |" in all[1]["message"] and "= stack:\n" in all[1]["message"]'
    end
fi
if begin parameters_first; then
    # A parameter of the program goes before an option of the same name.
    cat >named.sbd <<'END'
param log: str = "x"
range(1) | derive log = log | write csv("-")
END
    "$sbc" named.sbd -o named 2>"$work/err" || wrong "a param `log` is refused"
    gives 0 ./named --log=json
    prints "0,json"
    gives 0 ./named --help
    ! grep -q -e "--log=text|json" "$work/out" || wrong "the option is shown beside the param"
    end
fi

# ---- figures --------------------------------------------------------------------------------------

# figures EXPRESSION: over the object `job` that --stats=json printed, and its `stages`.
figures() {
    tail -n 1 "$work/err" | python3 -c '
import json, sys
job = json.load(sys.stdin)
stages = job["stages"]
assert eval(sys.argv[1]), "not so"' "$1" >"$work/why" 2>&1 ||
        wrong "figures: $1: $(tail -n 1 "$work/why"); at the end: $(tail -c 1000 "$work/err")"
}

if begin times; then
    gives 0 ../slow --n=400 --threads=2 --resource=slot=1 --stats=json
    figures '[at["stage"] for at in stages] == ["range(n)", "derive s = str(i)", "write csv(out)"]'
    figures 'all(list(at) == ["stage", "busy", "starved", "blocked", "aside", "states", "threads", "runs", "rows_in", "rows_out", "bytes_in", "bytes_out"] for at in stages)'
    figures 'all(list(at["threads"]) == ["task", "read", "write", "finish"] for at in stages)'
    figures '[at["rows_in"] for at in stages] == [400] * 3 and [at["runs"] for at in stages] == [40] * 3'
    # What a stage takes is what the one before it made.
    figures 'all(a["bytes_out"] == b["bytes_in"] for a, b in zip(stages, stages[1:]))'
    figures 'stages[0]["threads"]["task"] > 0.75 and stages[2]["bytes_out"] > 400'
    figures 'job["resources"][0]["resource"] == "cpus" and job["resources"][0]["supply"] == 2 and job["resources"][1]["resource"] == "slot"'
    # In each moment a stage is in one state.
    figures 'all(abs(sum(at["states"].values()) - job["seconds"]) < 1e-4 for at in stages)'
    figures 'all(abs(sum(at[c] for c in ("busy", "starved", "blocked", "aside")) - sum(at["states"].values())) < 1e-4 for at in stages)'
    figures 'job["bound"].startswith("cpus ")'
    gives 0 ../slow --n=400 --threads=2 --resource=slot=1 --stats
    grep -Eq '^stage +busy +starved +blocked +aside +tasks +other +runs +rows in +bytes in +bytes out$' "$work/err" || wrong "no table of stages"
    says "bound: "
    end
fi
if begin steps; then
    # The steps of a fused stage, by the processor time of each; waiting is none.
    cat >fused.sbd <<'END'
range(600000) | derive s = str(i) | where i % 200000 > 0 or hold(30ms) | derive h = sha256(s)
| aggregate { last = max(h) } | write csv("-")
END
    for file in fused.sbd "$PWD/fused.sbd"; do
        "$sbc" "$file" -o fused 2>"$work/err"
        gives 0 ./fused --threads=2 --stats=json
        figures 'max(job["cpu"], key=lambda at: at["seconds"])["step"] == "derive h = sha256(s)"'
        figures 'sum(at["seconds"] for at in job["cpu"]) > 3 * job["cpu_of_no_step"]'
        figures '0.01 < sum(at["seconds"] for at in job["cpu"]) <= 2.1 * job["seconds"]'
        # What was promised to the grouping and not used is not counted.
        figures '0 < job["memory_peak"] < 4 << 20'
    done
    gives 0 ./fused --threads=2 --stats
    grep -Eq '^derive h = sha256\(s\) +[0-9.]+ +[0-9]+ %$' "$work/err" || wrong "the step has no time"
    says "derive h = sha256(s) takes "
    gives 0 ./fused --threads=2 --stats=json --log=json
    end
fi
if begin watchdog; then
    # A step at work is named, once; those that wait for it are not.
    cat >stuck.sbd <<'END'
range(1) | where hold(2s) | sort i desc | write csv("-")
END
    "$sbc" stuck.sbd -o stuck 2>"$work/err"
    gives 0 ./stuck --watchdog=300ms --threads=2
    grep -Eq "^warning\[SB8060\]: 'range\(1\)' has made no progress for 0.3 s: thread [01] runs a task, for [0-9]+\.[0-9] s$" "$work/err" || wrong "the step is not named"
    [ "$(grep -c SB8060 "$work/err")" = 1 ] || wrong "more than one warning"
    gives 0 ./stuck --watchdog=0s
    silent_on SB8060
    # Rows that one task judges are progress, long before it hands anything over.
    cat >steady.sbd <<'END'
read csv("in.csv") as { a: i64, b: str, x: f64? } | where hold(20us) | write csv("steady.csv")
END
    "$sbc" steady.sbd -o steady 2>"$work/err"
    numbers 80000 >in.csv
    gives 0 ./steady --threads=1 --watchdog=600ms --progress=plain --log=json
    objects '[at["event"] for at in all] == ["start", "progress", "end"]'
    objects '0 < all[1]["rows"] < 80000 and 0 < all[1]["bytes"] and all[1]["stages"][0]["rows"] == all[1]["rows"]'
    mkfifo wait
    { numbers 10; sleep 1; } >wait &
    gives 0 ../rows --input=wait --watchdog=300ms
    says "reads its input, for "
    # Nobody reads the output: its stage is at work, and is named.
    { sleep 2; cat >/dev/null; } <wait &
    ../big --watchdog=300ms --progress=plain --stats=json 2>"$work/err" >wait || wrong "exit $?"
    grep -Eq "^warning\[SB8060\]: 'range\(300000\)' has made no progress for 0.3 s: thread [0-9]+ writes, for [0-9]+\.[0-9] s" "$work/err" || wrong "the write is not named"
    says " running  writes, "
    says " MB to be written"
    # Reading on, however slowly, is progress.
    python3 -c 'import os, sys, time
while os.read(0, 65536): time.sleep(0.03)' <wait &
    ../big --watchdog=300ms 2>"$work/err" >wait || wrong "exit $?"
    silent_on SB8060
    # A disk that is full.
    SBC_FAILPOINT=output-write=ENOSPC:4 gives 0 ../rows --out=late.csv --on-full=wait --watchdog=300ms
    says " writes, for "
    says "; the disk is full, and the job waits for room"
    end
fi
if begin trace; then
    gives 0 ../slow --n=400 --threads=2 --resource=slot=1 --trace=trace.json --stats=json
    cat >check.py <<'END'
import collections, json, sys
trace = json.load(open("trace.json"))
events = trace["traceEvents"]
assert trace["otherData"]["spans_lost"] == 0
of = lambda phase: [at for at in events if at["ph"] == phase]
assert {at["args"]["name"] for at in of("M")} == {"job", "slot 0", "slot 1", "slot 2"}
tracks = collections.defaultdict(list)
for at in of("X"): tracks[at["tid"]].append((at["ts"], at["ts"] + at["dur"]))
# A thread does one thing at a time.
for spans in tracks.values():
    spans.sort()
    assert all(a[1] <= b[0] + 0.002 for a, b in zip(spans, spans[1:])), spans
tasks = [at for at in of("X") if at["args"]["work"] == "task"]
rows = collections.Counter()
for at in tasks: rows[at["name"]] += at["args"]["rows"]
assert rows == {"range(n)": 400, "derive s = str(i)": 400, "write csv(out)": 400}, rows
# Each arrow begins in a task and ends where work of a later stage, or of a sink, begins.
starts, ends = {at["id"]: at for at in of("s")}, {at["id"]: at for at in of("f")}
assert starts.keys() == ends.keys() and len(starts) >= 80, len(starts)
for id, at in starts.items():
    own = [t for t in tasks if t["tid"] == at["tid"] and t["ts"] <= at["ts"] <= t["ts"] + t["dur"]]
    to = [t for t in of("X") if t["tid"] == ends[id]["tid"] and abs(t["ts"] - ends[id]["ts"]) < 0.002]
    later = lambda o, t: o["stage"] < t["stage"] or t["work"] == "write"
    assert any(later(o["args"], t["args"]) for o in own for t in to), at
memory = [at for at in of("C") if at["name"] == "memory"]
assert memory and all(at["args"]["used"] >= 0 for at in memory)
END
    python3 check.py 2>"$work/why" || wrong "trace.json: $(tail -n 1 "$work/why" | cut -c 1-200)"
    # Its memory is that of the summary.
    gives 0 ../sort_slowly --threads=2 --trace=memory.json --stats=json
    cat >check.py <<'END'
import json, sys
used = [at["args"]["used"] for at in json.load(open("memory.json"))["traceEvents"] if at["name"] == "memory"]
peak = json.loads(open(sys.argv[1]).read().splitlines()[-1])["memory_peak"]
assert len(used) > 2 and 0 < max(used) <= peak, (used, peak)
END
    python3 check.py "$work/err" 2>"$work/why" || wrong "memory.json: $(tail -n 1 "$work/why" | cut -c 1-200)"
    gives 2 ../slow --n=4 --resource=slot=1 --trace=none/trace.json
    says "error[SB8061]: cannot create 'none/trace.json': No such file or directory"
    # It replaces nothing that is to stay.
    numbers 10 >in.csv
    cp in.csv kept.csv
    for over in "" --overwrite; do
        for to in in.csv ./in.csv $PWD/in.csv out.csv r.jsonl; do
            gives 2 ../rows --trace=$to --rejects=r.jsonl $over
            says "error[SB8008]: "
        done
    done
    gives 2 ../rows --trace=kept.csv
    says "error[SB8007]: 'kept.csv' exists"
    cmp -s in.csv kept.csv || wrong "in.csv is another one"
    # A second name of a file is not the file.
    ln in.csv second.csv
    gives 0 ../rows --trace=second.csv --overwrite
    cmp -s in.csv kept.csv || wrong "in.csv is another one"
    grep -q traceEvents second.csv || wrong "there is no trace"
    # The same command goes on.
    for i in 1 2; do gives 0 ../rows --trace=second.csv --resume=journal --out=new.csv; done
    gives 2 ../rows --trace=kept.csv --resume=other --out=other.csv
    says "error[SB8007]: 'kept.csv' exists"
    if [ -w /dev/full ]; then
        gives 0 ../slow --n=400 --resource=slot=1 --trace=/dev/full
        says "warning[SB8062]: '/dev/full' could not be written to its end"
    fi
    end
fi

finish

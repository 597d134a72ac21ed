# One object per configuration, with the documented keys; numbers that must hold on any machine.
. "$SOURCE/tests/cli/lib.sh"
bench() { "$HONE" bench "$digits" -q --warmup 1 --runs 3 --json "$@"; }
bench -t 1 >one.json
# A baseline that no machine can be slower than: only the keys are of interest here.
sed 's/"\(min\|p50\)": [0-9.e-]*/"\1": 1e9/g; s/"windows_ms": \[[^]]*\]/"windows_ms": [1e9]/' one.json >slow.json
bench -t 1 --baseline slow.json >two.json
[ ! -s two.json ] || documented bench two.json
grep -o '"chosen": [a-z]*, "baseline": null' one.json
bench -b 1,2 -t 1..2 >four.json
grep -o '"schema": "[^"]*"\|"batch": [0-9]*\|"threads": [0-9]*\|"iterations": [0-9]*' four.json
bench -t 1 --streams 3 --isa portable | grep -o '"streams": [0-9]*\|"isa": "[a-z]*"\|"iterations": [0-9]*'
# Latencies are in order, and memory is that of a process.
sed 's/.*"min": \([0-9.e-]*\).*"max": \([0-9.e-]*\).*"p50": \([0-9.e-]*\).*"p90": \([0-9.e-]*\).*"peak_rss_bytes": \([0-9]*\).*/\1 \2 \3 \4 \5/' one.json |
    awk '{ print ($1 > 0), ($1 <= $3), ($3 <= $4), ($4 <= $2), ($5 > 1000000) }'
# Windows and the histogram hold every run.
"$HONE" bench "$digits" -q -t 1 -n 25 --json | tr -d ' ' | grep -o '"counts":\[[0-9,]*\]\|"windows_ms":\[[0-9.e,-]*\]\|"fastest_ms":\[[0-9.e,-]*\]' |
    sed 's/.*\[//; s/\]//' | awk -F, '{ sum = 0; for (i = 1; i <= NF; i++) sum += $i; print NF, NR == 1 ? sum : "" }'

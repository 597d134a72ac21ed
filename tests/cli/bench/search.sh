# What was tried, smallest first, one of it chosen; limits that nothing keeps to.
. "$SOURCE/tests/cli/lib.sh"
search() { "$HONE" bench "$digits" -q --seconds 0.005 -t 1 "$@"; }
search --batch-search | awk '
    NR == 1 { print $1, $2, NF }
    /^ *[0-9]/ { if ($1 <= last) print "not in order"; last = $1; if (/chosen/) chosen++ }
    /^batch [0-9]*, 1 thread: / { said++ }
    END { print chosen + 0, said + 0, (last >= 4) }'
search --batch-search --json | grep -c '"chosen": true'
"$HONE" bench "$digits" -q --seconds 0.005 --threads-search --csv -b 2 | awk -F, '{ print $2, $3 } NR == 2 { exit }'
hone bench "$digits" -q --seconds 0.005 --batch-search --max-latency 0.001 -t 1 | grep -v '^ \|^batch\|^--' | sed 's/p50 of .*/p50 of .../'
"$HONE" bench "$models/wide.onnx" -q -n 2 --batch-search --max-memory 3 -t 1 | sed -n 's/^ *\([0-9]*\) .*- *does/\1 does/p'
hone bench "$models/wide.onnx" -q -n 2 --batch-search --max-memory 1 -t 1 | grep '^hone\|^exit' | sed 's/fits: .*/fits: .../'
hone bench "$models/batch4.onnx" --batch-search
hone bench "$digits" --batch-search -b 4
hone bench "$digits" --batch-search --precision f32,bf16
hone bench "$digits" --max-latency 5
"$HONE" bench "$digits" -q --seconds 0.005 --threads-search --max-latency 0.001 --json 2>/dev/null | grep -o '"chosen": [a-z]*' | sort -u

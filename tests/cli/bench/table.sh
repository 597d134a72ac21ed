# A line per configuration, whatever the numbers; what is the same for all stands above.
. "$SOURCE/tests/cli/lib.sh"
plain() { sed 's/^ *[0-9][0-9.]*/N/; s/   */  /g; s/  [0-9][0-9.]*/  N/g; s/ [kMG]*B/ B/g; s/---*/--/; s/[0-9.]* %/N %/g; /^next: /d; s/ mJ.item//'; }
"$HONE" bench "$digits" -q -b 1,2 -t 1 --warmup 0 --runs 2 --isa portable --precision f32,f32-relaxed | plain
"$HONE" bench "$digits" -q -t 1 --streams 2 -n 20 --isa portable --data synthetic:digits,n=9 -b 4 | plain
"$HONE" bench "$digits" -t 1 --seconds 0.01 2>&1 >/dev/null | grep batch
"$HONE" bench "$digits" -t 1 --hint throughput -n 1 2>&1 >/dev/null | sed 's/--streams [0-9]*/--streams N/'
"$HONE" bench "$models/batch4.onnx" -t 1 --hint latency -n 1 -q --csv |
    awk -F, '{ print NF, NR == 1 ? $2 "," $8 "," $27 : $2 "," ($8 > 0) "," ($27 > 1000000) }'
# What to try next is one line.
"$HONE" bench "$digits" -q -t 1 -n 3 --isa portable | tail -n 1 | cut -c 1-6

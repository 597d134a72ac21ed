# Types chosen by measuring: the limits hold, the table and the recipe say what was chosen.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=16
"$HONE" quantize "$digits" -o a.onnx -q --data $data --mix int8,int4 --group 0 --bits-per-weight 6 --json >a.json
tr '{' '\n' <a.json | grep '"chosen": true' | sed 's/.*"bits_per_weight": \([0-9.]*\).*/\1/' | awk '{ print ($1 <= 6 && $1 > 4) }'
grep -o '"recipe": "[^"]*"' a.json | sed 's/=int[48]/=TYPE/g'
"$HONE" quantize "$digits" -o b.onnx -q -t 2 --data $data --mix int8,int4 --group 0 --bits-per-weight 6 >text
cmp a.onnx b.onnx && echo same bytes
grep -c '^ *> ' text
"$HONE" quantize "$digits" -o c.onnx -q --data $data --mix int8 --max-drop 2% --json | grep -c '"accuracy": [01]'
"$HONE" quantize "$digits" -o d.onnx -q --data $data --mix int8 --max-latency 1000 --json | grep -c '"ms": [0-9]'
"$HONE" quantize "$digits" -o g.onnx -q --data $data --mix int8,int4 --group 0 --bits-per-weight 6 --sensitivity estimated --json >g.json
grep -o 'sensitivity=[a-z]*' g.json
tr '{' '\n' <g.json | grep -c '"noise": null, "estimate": [0-9]'
"$HONE" quantize "$digits" -o f.onnx -q --data $data --mix int8,w4a8 --methods gptq --max-size 0.03 >text
[ "$(wc -c <f.onnx)" -le 30000 ] && grep -q 's4 per channel' text && echo small enough
# A limit that is the size of a set of types has it, one byte less the next, whatever methods add afterwards.
for with in gptq gptq,bias; do
    limit=$(wc -c <f.onnx)
    for less in 0 1; do
        "$HONE" quantize "$digits" -o n.onnx -q --data $data --mix int8,w4a8 --methods $with --max-size $(awk "BEGIN { printf \"%.6f\", ($limit - $less) / 1e6 }") >/dev/null
        bytes=$(wc -c <n.onnx)
        [ "$bytes" -le $((limit - less)) ] && echo $with: kept $((bytes == limit))
    done
done
# What cannot be.
hone quantize "$digits" -o e.onnx -q --data $data --mix int8 --bits-per-weight 9 --sensitivity guessed | sed "s|$digits|DIGITS|"
hone quantize "$digits" -o e.onnx -q --data $data --mix int8 --max-size 0.01 | sed "s|$digits|DIGITS|; s/of [0-9.]* MB/of N MB/"
hone quantize "$digits" -o e.onnx -q --data $data --mix int8 --bits-per-weight 3 | sed "s|$digits|DIGITS|"
hone quantize "$digits" -o e.onnx -q --data $data --mix int8 | sed "s|$digits|DIGITS|"
hone quantize "$digits" -o e.onnx -q --data $data --max-drop 1% | sed "s|$digits|DIGITS|"
hone quantize "$digits" -o e.onnx -q --mix int8 --max-drop 1% | sed "s|$digits|DIGITS|"
hone quantize "$digits" -o e.onnx -q --data random,n=20 --mix int8 --max-drop 1% | sed "s|$digits|DIGITS|"
hone quantize "$digits" -o e.onnx -q --data $data --mix int8,int9 --max-drop 1% | sed "s|$digits|DIGITS|"
[ ! -e e.onnx ] && echo nothing written

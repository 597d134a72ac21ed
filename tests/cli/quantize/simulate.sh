# What numbers of N bits would do: the file stays in floats, the table says what they would take, and fewer bits are worse.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=300
for bits in 16 4 2 1; do
    "$HONE" quantize "$digits" -o w$bits.onnx --simulate --bits $bits >w$bits.txt
    "$HONE" check w$bits.onnx
    grep -m1 fc w$bits.txt | awk '{ print $1, $2, $4, $5, $6, $7, $(NF - 1), $NF }'
    grep simulated w$bits.txt
    grep ^weights w$bits.txt
done
"$HONE" quantize "$digits" -o a.onnx --simulate --bits 4,6 --data $data --quiet >a.txt
grep -m1 fc a.txt
"$HONE" quantize "$digits" -o b.onnx --simulate --bits 4,6 --data $data --quiet --threads 3 --methods gptq,bias >/dev/null
"$HONE" quantize "$digits" -o c.onnx --simulate --bits 4,6 --data $data --quiet --threads 1 --methods gptq,bias >/dev/null
cmp b.onnx c.onnx && echo same bytes
"$HONE" inspect b.onnx | grep -i recipe
for m in w16 w4 a b; do
    "$HONE" check $m.onnx
    "$HONE" eval $m.onnx --data synthetic:digits,n=200,skip=500 --min-accuracy 0.9 --quiet >/dev/null || echo $m has forgotten
done
# What cannot be asked for.
hone quantize "$digits" -o q.onnx --simulate --bits 17
hone quantize "$digits" -o q.onnx --simulate --bits 4,1
hone quantize "$digits" -o q.onnx --simulate --bits 4,4,4
hone quantize "$digits" -o q.onnx --simulate --bits 4,x
hone quantize "$digits" -o q.onnx --simulate --bits 4,4
hone quantize "$digits" -o q.onnx --simulate --bits 4,4 --type int8-weights
hone quantize "$digits" -o q.onnx --simulate --type int8-dynamic
hone quantize "$digits" -o q.onnx --simulate --integer-io --data $data
[ ! -e q.onnx ] && echo nothing is written

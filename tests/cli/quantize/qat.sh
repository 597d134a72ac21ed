# Training in few bits makes a model better than rounding does; the file is the same for any number of
# threads, and its recipe makes it again.
# label: full
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=384
val=synthetic:digits,n=200,seed=7
for t in 1 2; do
    "$HONE" quantize -q "$digits" -o q$t.onnx --qat --type w2a8 --data $data --val $val --epochs 3 --batch 16 --lr 0.006 --threads $t --json >q$t.json
done
cmp q1.onnx q2.onnx && echo same
grep -o '"recipe": *"[^"]*"' q1.json | sed 's/.*: *"//; s/"$//' >recipe
"$HONE" quantize -q "$digits" -o again.onnx --recipe recipe --data $data --val $val >/dev/null && cmp q1.onnx again.onnx && echo again
hone check -q q1.onnx
"$HONE" eval -q q1.onnx --data $val --min-accuracy 70% >/dev/null && echo learned
"$HONE" quantize -q "$digits" -o rounded.onnx --type w2a8 --data $data >/dev/null
"$HONE" eval -q rounded.onnx --data $val --min-accuracy 50% >/dev/null 2>&1 || echo rounded
"$HONE" quantize -q "$digits" -o w4a4.onnx --qat --type w4a4 --bit-steps 8,4 --by-labels --data $data --epochs 2 --batch 32 --augment noise=0.05 >/dev/null
"$HONE" eval -q w4a4.onnx --data $val --min-accuracy 90% >/dev/null && echo learned
rm -f *.onnx *.json recipe
# What cannot be done.
hone quantize "$digits" -o q.onnx --qat
hone quantize "$digits" -o q.onnx --data $data --epochs 3
hone quantize "$digits" -o q.onnx --qat --data $data --bit-steps 4,8
hone quantize "$digits" -o q.onnx --qat --data $data --augment twist | sed 's/, expected.*//'
hone quantize "$digits" -o q.onnx --qat --data $data --optimizer newton
hone quantize "$digits" -o q.onnx -q --qat --data $data --type int4
hone quantize "$digits" -o q.onnx -q --qat --data $data --mix int8,w4a8 --bits-per-weight 6
hone quantize "$digits" -o q.onnx -q --qat --data synthetic:digits,n=120 --batch 200
hone quantize "$digits" -o q.onnx -q --qat --by-labels --data random,n=120
ls

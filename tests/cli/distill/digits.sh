# A student learns from a teacher without labels, and more from two with matched values than it knew.
# label: slow
. "$SOURCE/tests/cli/lib.sh"
data="--data synthetic:digits,n=640 --val synthetic:digits,n=64,seed=9 --epochs 5 --batch 16 --lr 3e-3 --seed 1"
"$HONE" make lenet5 --width 0.5 --seed 2 -q -o student.onnx >/dev/null
right() { "$HONE" eval "$1" --data synthetic:digits,n=64,seed=9 --json | sed 's/.*"name": "top1", "value": \([0-9.]*\).*/\1/'; }
"$HONE" distill "$digits" student.onnx -q $data -o a.onnx >/dev/null
"$HONE" distill "$digits" "$digits" student.onnx -q $data --teacher-shares 2@0-4,1 -o b.onnx \
    --match features:pw_relu=relu2,relation:res_relu=relu1 --ema 0.9 --clip 1 >/dev/null
"$HONE" distill "$digits" student.onnx -q $data -t 2 -o c.onnx >/dev/null
cmp a.onnx c.onnx && echo "the same on two threads"
for m in student a b; do
    echo "$m.onnx $(right $m.onnx)" | awk '{ print $1, ($2 > 0.5 ? "has learned" : "knows little") }'
done
"$HONE" distill a.onnx --student width=0.25 -q --data synthetic:digits,n=64 --epochs 1 --batch 32 -o e.onnx >/dev/null
"$HONE" inspect e.onnx | grep ^parameters
"$HONE" distill "$digits" student.onnx -q --data synthetic:digits,n=64 --val synthetic:digits,n=64,seed=9 --epochs 2 --batch 16 \
    -o d.onnx --json >found.json
documented distill found.json

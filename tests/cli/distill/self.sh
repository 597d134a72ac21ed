# A student that teaches itself, with two views of each sample: the same bytes on two threads, with
# readers and when resumed. The teacher is written with --ema. Other models may teach along.
. "$SOURCE/tests/cli/lib.sh"
data="--data synthetic:digits,n=320 --epochs 2 --batch 16 --lr 3e-3 --seed 1"
itself="--self 0.9 --augment shift=1:noise=0.2:mixup --teacher-augment shift=1 --confidence 0.2"
"$HONE" make lenet5 --width 0.5 --seed 2 -q -o student.onnx >/dev/null
"$HONE" distill student.onnx -q $data $itself -o a.onnx --readers 0 >/dev/null
"$HONE" distill student.onnx -q $data $itself -o b.onnx --readers 2 -t 2 >/dev/null
cmp a.onnx b.onnx && echo "the same on two threads"
"$HONE" distill student.onnx -q $data $itself -o c.onnx --checkpoint run --save-every 7 >/dev/null
"$HONE" distill student.onnx -q $data $itself -o r.onnx --checkpoint run --resume >/dev/null
cmp a.onnx c.onnx && cmp a.onnx r.onnx && echo "the same with checkpoints"
grep -a -o "hone.train.average/[a-z0-9_.]*" run/last.onnx | sort -u | head -2
"$HONE" distill student.onnx -q $data $itself -o d.onnx --ema 0.9 >/dev/null
cmp -s a.onnx d.onnx || echo "the teacher is another model"
"$HONE" distill "$digits" student.onnx -q $data $itself --parts 2 -o e.onnx >/dev/null && echo "two teachers, two parts"
"$HONE" distill student.onnx -q $data $itself -o f.onnx --json >found.json
grep -o '"\(self\|teacher_augment\|confidence\|teachers\)": [^,]*' found.json
documented distill found.json

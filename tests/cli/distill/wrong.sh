# Teachers and students that do not fit are said, and nothing is written.
. "$SOURCE/tests/cli/lib.sh"
data="--data synthetic:digits,n=64 -o o.onnx"
"$HONE" make lenet5 -q -o student.onnx >/dev/null
"$HONE" make lenet5 --classes 7 -q -o seven.onnx >/dev/null
hone distill student.onnx $data
hone distill "$digits" --student width=0.5 $data
hone distill seven.onnx --student wide=0.5 $data
hone distill seven.onnx student.onnx $data
hone distill "$digits" student.onnx $data --match features:a
hone distill "$digits" student.onnx $data --match likes:a=b
hone distill "$digits" student.onnx $data --match features:pw_relu=nothing
hone distill "$digits" student.onnx $data --alpha 2
hone distill "$digits" student.onnx $data --temperature 0
hone distill "$digits" student.onnx $data --teacher-shares 1,1
hone distill "$digits" student.onnx $data --teacher-shares 1@0-10
hone distill student.onnx $data --self 1
hone distill student.onnx $data --self 0.9 --ema 0.8
hone distill student.onnx --data random,n=64 -o o.onnx --self 0.9 --confidence 0.5 --loss mse
hone distill student.onnx $data --self 0.9 --confidence 2
hone distill student.onnx $data --self 0.9 --teacher-augment flip:mixup
hone distill student.onnx $data --self 0.9 --teacher-augment tumble=1
hone distill student.onnx $data --self 0.9 --teacher-shares 1,1
hone train student.onnx $data --class-weights 1,2
hone train student.onnx $data --lr-scale 'fc*'
hone train student.onnx $data --lr-scale 'nothing*=2'
ls

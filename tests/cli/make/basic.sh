# The example of the manual, what is printed, and that a seed decides all bytes.
. "$SOURCE/tests/cli/lib.sh"
hone make lenet5 --seed 1 -o l.onnx
hone make lenet5 -o again.onnx -q
hone make lenet5 --seed 2 -o other.onnx
cmp l.onnx again.onnx && echo same
cmp -s l.onnx other.onnx || echo other
hone check l.onnx
hone make mlp 64-32-10 -o mlp.onnx
hone make resnet20 n=1 --width 0.5 --classes 7 --resolution 16 -o r.onnx
hone inspect r.onnx --top 3

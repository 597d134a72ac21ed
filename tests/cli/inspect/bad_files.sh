# What is not a model is refused in one line.
. "$SOURCE/tests/cli/lib.sh"
hone inspect none.onnx
hone inspect .
: >empty.onnx
hone inspect empty.onnx
echo 'this is a text' >text.onnx
hone inspect text.onnx
head -c 50000 "$digits" >cut.onnx
hone inspect cut.onnx
head -c 100000 /dev/zero >zeros.onnx
hone inspect zeros.onnx
hone inspect "$models/broken.onnx"
cp "$models/external.onnx" .
hone inspect external.onnx
printf 'short' >external.data
hone inspect external.onnx

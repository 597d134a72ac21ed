. "$SOURCE/tests/cli/lib.sh"
hone check none.onnx
: >empty.onnx
hone check empty.onnx
head -c 50000 "$digits" >cut.onnx
hone check cut.onnx

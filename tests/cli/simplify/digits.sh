# The model of the repository: what fires, and the same answers afterwards.
. "$SOURCE/tests/cli/lib.sh"
hone simplify "$digits" -o simple.onnx
hone check simple.onnx
hone eval -q simple.onnx --data synthetic:digits,n=100
hone simplify -q simple.onnx -o again.onnx --level 1
cmp simple.onnx again.onnx && echo "nothing more to do"

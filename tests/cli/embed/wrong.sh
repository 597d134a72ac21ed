# Bad options, and nothing is written.
. "$SOURCE/tests/cli/lib.sh"
cp "$digits" m.onnx
hone embed m.onnx --softmax
hone embed m.onnx --softmax -o m.onnx
hone embed m.onnx -o a.onnx
hone embed m.onnx -o a.onnx --scale 1/x
hone embed m.onnx -o a.onnx --mean 1:2:3
hone embed m.onnx -o a.onnx --order bgr
hone embed m.onnx -o a.onnx --order grb
hone embed m.onnx -o a.onnx --input-type s8
hone embed m.onnx -o a.onnx --resize 28
hone embed m.onnx -o a.onnx --resize 30 --image-size 40x50
hone embed m.onnx -o a.onnx --softmax --scores probs
hone embed m.onnx -o a.onnx --top-k 11
hone embed missing.onnx -o a.onnx --softmax
"$HONE" embed m.onnx -o s.onnx --softmax -q >/dev/null
hone embed s.onnx -o a.onnx --softmax
ls

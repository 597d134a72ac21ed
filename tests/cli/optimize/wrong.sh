. "$SOURCE/tests/cli/lib.sh"
hone optimize
hone optimize "$digits" -q --max-drop 1%
hone optimize "$digits" -q --data synthetic:digits --max-drop much
hone optimize "$digits" -q --data synthetic:digits --max-size -1
hone optimize "$digits" -q --use vidio -o a.onnx
hone optimize "$digits" -q --target toaster -o a.onnx
hone optimize "$digits" -q --target mobile_npu -o a.onnx
hone optimize "$digits" -q --data synthetic:digits,n=5 -o a.onnx
hone optimize "$models/quantized.onnx" -q -o a.onnx
hone optimize "$digits" -q -o none/a.onnx
cp "$digits" m.onnx
hone optimize m.onnx -q -o m.onnx
hone optimize m.onnx -q --data synthetic:digits --metric nonsense -o a.onnx | sed 's/;.*//'
ls
hone optimize m.onnx -q --train-budget 5m
hone optimize m.onnx -q --data synthetic:digits --train-budget 5x
hone optimize m.onnx -q --data synthetic:digits --augment flip
hone optimize m.onnx -q --data synthetic:digits,n=20 --train-budget 5m --augment nonsense -o a.onnx

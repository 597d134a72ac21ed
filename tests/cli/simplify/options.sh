. "$SOURCE/tests/cli/lib.sh"
hone simplify "$models/batch1.onnx" -o fixed.onnx --set-dim x:0=3 --level 0
"$HONE" inspect fixed.onnx | grep inputs
hone simplify "$digits" -o a.onnx --without fold_constants,remove_dead --stop-after remove_identity
hone simplify "$digits" -o a.onnx --opset 21
"$HONE" inspect a.onnx | grep opset

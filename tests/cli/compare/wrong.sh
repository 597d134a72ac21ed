# What cannot be compared, and tolerances that are missed.
. "$SOURCE/tests/cli/lib.sh"
layers="$models/layers.onnx $models/damaged.onnx --no-time --fill ones --samples 1 --top 0"
hone compare "$models/layers.onnx"
hone compare $layers --against reference
hone compare "$models/layers.onnx" --against f16
hone compare "$models/layers.onnx" "$models/add.onnx"
hone compare -q "$models/batch1.onnx" "$models/batch4.onnx" --no-time
hone compare "$models/layers.onnx" none.onnx
hone compare "$models/layers.onnx" "$models/unknown.onnx"
hone compare $layers --tolerance much
hone compare $layers --max-drop 1%
hone compare $layers --max-drop lots --data random
hone compare $layers --max-drop 1% --data random,n=2
hone compare $layers --reduce
hone compare $layers --output small.onnx
hone compare "$models/layers.onnx" $layers --bisect
hone compare $layers --data csv:none.csv
: >empty.csv
hone compare $layers --data csv:empty.csv
"$HONE" compare -q $layers --tolerance 20dB >out
echo "exit $?"
"$HONE" compare -q $layers --tolerance 1000% >out
echo "exit $?"
printf '1,1,1,1,1,1,1,1,2\n1,0,1,0,1,0,1,0,2\n' >d.csv
"$HONE" compare -q $layers --data csv:d.csv --max-drop 100% | grep accuracy
hone compare -q $layers --data csv:d.csv --max-drop 10%rel | tail -2
hone compare -q $layers --data csv:d.csv --max-drop 1% --bisect | tail -1

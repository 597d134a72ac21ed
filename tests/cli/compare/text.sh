# Layers of small integers, three of them damaged: all numbers are exact.
. "$SOURCE/tests/cli/lib.sh"
hone compare "$models/layers.onnx" "$models/damaged.onnx" --no-time --fill ones --samples 1
hone compare -q "$models/layers.onnx" "$models/layers.onnx" --no-time --fill ones --samples 1 --top 1
hone compare -q "$models/layers.onnx" "$models/layers.onnx" "$models/damaged.onnx" --no-time --fill ones --samples 1
hone compare -q "$models/layers.onnx" --against reference --no-time --fill ones --samples 1 --top 0
"$HONE" compare -q "$models/layers.onnx" "$models/damaged.onnx" --top 0 --fill ones --samples 1 |
    sed -n 's/^\(latency\|throughput\|memory\).*/\1 is measured/p'

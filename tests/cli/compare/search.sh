# --bisect and --reduce find the damaged layers.
. "$SOURCE/tests/cli/lib.sh"
layers="$models/layers.onnx $models/damaged.onnx --no-time --fill ones --samples 1 --top 0"
hone compare $layers --bisect
hone compare -q $layers --bisect --tolerance 0dB
hone compare -q $layers --bisect --tolerance 1000%
hone compare -q $models/layers.onnx $models/layers.onnx --no-time --top 0 --bisect
hone compare -q $layers --reduce -o small.onnx
ls
hone check small.onnx
hone compare -q small.first.onnx small.onnx --data npz:small.npz --no-time
hone compare -q $models/layers.onnx $models/layers.onnx --reduce -o none.onnx
hone compare -q $models/layers.onnx --against reference --reduce -o none.onnx
hone compare -q $models/layers.onnx --against reference --reduce --tolerance 0 -o one.onnx --json |
    sed 's/.*"nodes_before"/"nodes_before"/; s/"tried": [0-9]*/"tried": N/'
ls

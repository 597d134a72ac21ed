# Bad options and models; nothing is written.
. "$SOURCE/tests/cli/lib.sh"
cp "$digits" m.onnx
hone prune m.onnx
hone prune m.onnx -o m.onnx
hone prune m.onnx -o p.onnx --kind magnitudes
hone prune m.onnx -o p.onnx --sparsity 1
hone prune m.onnx -o p.onnx --sparsity most
hone prune m.onnx -o p.onnx --scope all
hone prune m.onnx -o p.onnx --sparcity 0.5
hone prune m.onnx -o p.onnx --epochs 3
hone prune m.onnx -o p.onnx --lr 0.1
hone prune m.onnx -o p.onnx --data csv:missing.csv
hone prune missing.onnx -o p.onnx
hone prune "$models/broken.onnx" -o p.onnx | sed 's/: .*//'
ls
# Limits: what is not understood, what does not go together, what there are no samples for.
hone prune m.onnx -o p.onnx --max-drop much
hone prune m.onnx -o p.onnx --max-drop 1% --sparsity 0.5
hone prune m.onnx -o p.onnx --max-drop 1%
hone prune m.onnx -o p.onnx --max-drop 1% --data random,n=8
hone prune m.onnx -o p.onnx --layer-sparsity fc=2
ls
hone prune m.onnx -o p.onnx --max-latency 50%
hone prune m.onnx -o p.onnx --kind channels --max-latency 50
hone prune m.onnx -o p.onnx --kind channels --max-latency 50% --max-drop 1%
hone prune m.onnx -o p.onnx --kind channels --max-latency 1ms --max-macs 50%

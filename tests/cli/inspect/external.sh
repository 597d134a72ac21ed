# Weights in a file of their own count as size.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" inspect "$models/external.onnx" | sed -n '1s/.*(/model (/p'
"$HONE" simplify "$models/external.onnx" -o near.onnx | grep '^file'
"$HONE" compare "$models/external.onnx" near.onnx --json | grep -o '"file_bytes": [0-9]*'

. "$SOURCE/tests/cli/lib.sh"
"$HONE" run -q --json "$models/names.onnx" --fill ones -o out >run.json
sed 's/"peak_bytes": [0-9]*/"peak_bytes": N/' run.json
documented run run.json
"$HONE" run -q --json "$models/add.onnx" --fill ones | sed 's/"peak_bytes": [0-9]*/"peak_bytes": N/'

# Several models, also where one is bad; one of them may be standard input.
. "$SOURCE/tests/cli/lib.sh"
hone check "$digits" "$models/broken.onnx" "$models/add.onnx" | tail -n 3
hone check "$digits" none.onnx "$models/add.onnx"
hone check "$digits" "$models/add.onnx" --json | grep -c '"conforms": true'
hone check - "$models/add.onnx" <"$digits"
head -c 50000 "$digits" | hone check -
hone check - - <"$digits"
hone inspect - <"$models/add.onnx" | head -n 3
hone run - --fill ones <"$models/names.onnx"
hone optimize - --data synthetic:digits <"$digits"

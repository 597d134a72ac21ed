. "$SOURCE/tests/cli/lib.sh"
"$HONE" inspect --json "$digits" >digits.json
documented inspect digits.json
hone inspect --json "$models/unknown.onnx"

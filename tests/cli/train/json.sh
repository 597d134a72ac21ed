# --json: one object with the keys of docs/json.md.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" train -q "$digits" --data synthetic:digits,n=64 --val synthetic:digits,n=32 --epochs 1 --batch 32 --json -o o.onnx >found.json
documented train found.json

. "$SOURCE/tests/cli/lib.sh"
"$HONE" package -q "$digits" -o digits.hone >/dev/null
"$HONE" unpack --json digits.hone -o back.onnx >unpack.json
documented unpack unpack.json
grep -o '"source_bytes": [0-9]*' unpack.json

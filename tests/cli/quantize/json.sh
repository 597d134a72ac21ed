. "$SOURCE/tests/cli/lib.sh"
"$HONE" quantize "$digits" -o a.onnx --data synthetic:digits,n=20 --mix int8 --bits-per-weight 20 --json 2>/dev/null >q.json
documented quantize q.json

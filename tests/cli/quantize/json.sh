. "$SOURCE/tests/cli/lib.sh"
"$HONE" quantize "$digits" -o a.onnx --data synthetic:digits,n=20 --mix int8 --bits-per-weight 20 --json 2>/dev/null >q.json
"$HONE" quantize "$digits" -o b.onnx --data synthetic:digits,n=20 --qat --epochs 1 --batch 10 --val synthetic:digits,n=10 --json 2>/dev/null >t.json
documented quantize q.json t.json

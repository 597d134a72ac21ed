# With labels, the first line says what the second model gains and loses.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" quantize "$digits" -o q.onnx --type int8-weights -q >/dev/null
"$HONE" compare -q "$digits" q.onnx --data synthetic:digits,n=200 | sed -n '1s/[0-9.]*x faster\|[0-9.]*x slower\|as fast/TIME/p'
"$HONE" compare -q "$digits" q.onnx --data synthetic:digits,n=200 --no-time | head -n 1

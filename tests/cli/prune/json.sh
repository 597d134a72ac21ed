. "$SOURCE/tests/cli/lib.sh"
"$HONE" prune "$digits" -o a.onnx -q --json >a.json
python3 -m json.tool a.json >/dev/null
"$HONE" prune "$digits" -o b.onnx -q --no-timing --report r.html >/dev/null
grep -o 'fewer weights that are not zero' r.html

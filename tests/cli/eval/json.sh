. "$SOURCE/tests/cli/lib.sh"
printf '1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n' >d.csv
"$HONE" eval -q --json "$models/batch4.onnx" --data csv:d.csv --per-class --confusion >eval.json
sed 's/"seconds": [0-9.e-]*/"seconds": T/' eval.json
documented eval eval.json
"$HONE" eval -q --json "$digits" --data synthetic:digits,n=2 | sed 's/"seconds": [0-9.e-]*/"seconds": T/'
"$HONE" eval -q --json "$models/batch4.onnx" --data csv:d.csv --metric f1_micro | sed 's/"seconds": [0-9.e-]*/"seconds": T/'

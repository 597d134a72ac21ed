. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=20
"$HONE" prune "$digits" -o a.onnx -q --json >a.json
"$HONE" prune "$digits" -o b.onnx -q --no-timing --data $data --val $data --epochs 1 --batch 10 --json >b.json
"$HONE" prune "$digits" -q --scan --only fc --data $data --json --report s.html >s.json
documented prune a.json b.json s.json
grep -o 'How sensitive the layers are' s.html
"$HONE" prune "$digits" -o c.onnx -q --no-timing --report r.html >/dev/null
grep -o 'fewer weights that are not zero' r.html

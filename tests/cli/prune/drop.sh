# As much goes as the accuracy allows; the recipe has the shares, and does it again.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=40 val=synthetic:digits,n=60,skip=40
"$HONE" prune "$digits" -o a.onnx -q --max-drop 5% --only 'res*' --data $data --val $val --no-timing --json >a.json
sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p' a.json >recipe
grep -o 'prune.*' recipe | sed 's/=0\.[0-9]*/=X/g'
"$HONE" quantize "$digits" -o b.onnx -q --recipe recipe --data $data >/dev/null
cmp a.onnx b.onnx && echo same bytes by the recipe
"$HONE" prune "$digits" -o c.onnx -q --layer-sparsity 'res*=0.9' --layer-sparsity fc=0.5 --no-timing | grep -c zeros
# A limit that holds already takes nothing away.
"$HONE" prune "$digits" -o d.onnx -q --kind channels --max-latency 1e6ms --no-timing --json | sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p'

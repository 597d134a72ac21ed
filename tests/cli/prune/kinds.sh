# Channels go from the file, and hone runs what is left; training keeps zeros; rounds are lines of the recipe.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=40
"$HONE" prune "$digits" -o c.onnx -q --kind channels --max-macs 50% --no-timing | grep -E '^(parameters|MACs) ' | awk '{ print $1, ($NF > 1.9) }'
"$HONE" check c.onnx
"$HONE" run c.onnx --fill random -o out -q | sed 's|  *out.*||'
"$HONE" prune "$digits" -o t.onnx -q --sparsity 0.8 --scope global --rounds 2 --ramp linear --no-timing --data $data --epochs 1 --batch 20 --json >t.json
sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p' t.json
"$HONE" inspect t.onnx | grep -o '[0-9.]* % zeros' | head -1
"$HONE" prune "$digits" -o u.onnx -q -t 2 --sparsity 0.8 --scope global --rounds 2 --ramp linear --no-timing --data $data --epochs 1 --batch 20 >/dev/null
cmp t.onnx u.onnx && echo same bytes on two threads
"$HONE" prune "$digits" -o w.onnx -q --kind wanda --no-timing --data $data | grep -c zeros
hone prune "$digits" -o x.onnx -q --kind wanda --no-timing
hone prune "$digits" -o x.onnx -q --rounds 2 --no-timing
ls
"$HONE" prune "$digits" -o s.onnx -q --sparsity 0.9 --no-timing --sparse-initializers --json | sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p'
"$HONE" prune "$digits" -o d.onnx -q --sparsity 0.9 --no-timing >/dev/null
[ "$(wc -c <s.onnx)" -lt "$(($(wc -c <d.onnx) / 2))" ] && echo less than half the file

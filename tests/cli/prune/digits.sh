# Small weights become zero; the file, the table and the recipe agree, and the recipe does it again.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" prune "$digits" -o a.onnx -q --sparsity 0.75 --no-timing >text
sed "s|$digits|DIGITS|" text
"$HONE" inspect a.onnx | grep -o '[0-9.]* % zeros' | head -1
# The same share of the whole model, by one threshold.
"$HONE" prune "$digits" -o b.onnx -q --sparsity 0.75 --scope global --no-timing | grep 'not zero'
# One layer left alone, one alone pruned.
"$HONE" prune "$digits" -o c.onnx -q --sparsity 0.75 --except 'stem*,fc' --no-timing | grep -c zeros
"$HONE" prune "$digits" -o d.onnx -q --sparsity 0.75 --only 'down*' --no-timing | grep -c zeros
recipe=$("$HONE" prune "$digits" -o e.onnx -q --sparsity 0.75 --no-timing --json | sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p')
echo "$recipe"
cmp a.onnx e.onnx && echo same bytes
echo "$recipe" >r.txt
"$HONE" quantize "$digits" -o f.onnx -q --recipe r.txt >/dev/null
cmp a.onnx f.onnx && echo same bytes by the recipe
# Times are there unless they are not wanted.
"$HONE" prune "$digits" -o g.onnx -q --json | grep -c '"ms": [0-9]'

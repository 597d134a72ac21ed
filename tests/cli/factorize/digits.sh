# Layers of lower rank: fewer weights and multiplications; ranks of single layers; the recipe does it again.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" factorize "$digits" -o a.onnx -q --energy 0.9 --no-timing | grep -E '^(parameters|MACs) ' | awk '{ print $1, ($NF > 1.05) }'
"$HONE" check a.onnx
"$HONE" factorize "$digits" -o b.onnx -q --layer-rank 'res1*=16' --layer-rank 'fc=4' --no-timing --json >b.json
sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p' b.json
documented factorize b.json 2>&1 | grep -v 'history\[\]' | grep '^[-+][a-z]'
"$HONE" inspect b.onnx | grep -o '^[a-z0-9_]*conv/[0-9]' | sort -u
hone factorize "$digits" -o c.onnx -q --rank 0
hone factorize "$digits" -o c.onnx -q --layer-rank fc
hone factorize "$digits" -o c.onnx -q --form triangle

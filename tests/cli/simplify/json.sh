. "$SOURCE/tests/cli/lib.sh"
"$HONE" simplify --json "$digits" -o simple.onnx >simple.json
documented simplify simple.json
# docs/passes.md has a row for every pass, in the same order.
sed -n 's/^| `\([a-z_]*\)` | [0-3] |.*/\1/p' "$SOURCE/docs/passes.md" >documented.passes
grep -o '"name": "[a-z_]*"' simple.json | cut -d'"' -f4 | diff documented.passes - && echo "every pass is documented"

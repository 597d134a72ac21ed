. "$SOURCE/tests/cli/lib.sh"
"$HONE" package --json --ready "$digits" -o digits.hone >package.json
documented package package.json
grep -o '"source_bytes": [0-9]*, ' package.json
"$HONE" package --json --fast "$digits" -o fast.hone | grep -o '"codes": \[{"code": "[a-z]*", "tensors": [0-9]*'
"$HONE" check --json digits.hone | grep -o '"conforms": [a-z]*'

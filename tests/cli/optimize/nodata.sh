# Without data only what needs none is tried, and it says what was left out.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" optimize "$digits" -q -o a.onnx >out
sed -n 1p out | tr -s ' ' | grep -o cosine
grep '^  int8: ' out
grep -o 'accuracy validated? *no *there is no data' out | tr -s ' '

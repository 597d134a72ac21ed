# Without data only what needs none is tried, and it says what was left out.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" optimize "$digits" -q -o a.onnx >out
sed -n 1p out | tr -s ' ' | grep -o 'signal kept'
grep '^  int8, ' out
grep -A1 '^  no  *accuracy validated?' out | tr -s ' '

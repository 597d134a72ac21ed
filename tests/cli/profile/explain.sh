# What of a quantized model runs in floats, and why; what products are computed in, and why.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" profile "$models/quantized.onnx" --runs 1 --no-roofline --explain >table
sed -n 1p table | sed 's/[0-9.]* of [0-9.]* ms ([0-9.]* %)/N of N ms (N %)/'
sed -n '5,$p' table | grep -v '^-*$' | sed 's/[0-9]*\.[0-9]*/N/g' | tr -s ' ' | sort
"$HONE" profile "$models/quantized.onnx" --runs 1 --no-roofline --explain --json >explain.json
grep -o '"integer_macs": [0-9]*' explain.json
"$HONE" profile "$models/quantized.onnx" --runs 1 --no-roofline --precision f32 --explain | grep '^product .*MatMul' | tr -s ' ' | cut -d ' ' -f 2,5-

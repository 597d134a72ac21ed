# A depthwise and a pointwise convolution in the place of one.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" replace "$digits" -o a.onnx -q --only 'res*' --no-timing --json >a.json
documented replace a.json 2>&1 | grep -v 'history\[\]' | grep '^[-+][a-z]'
"$HONE" inspect a.onnx | grep -o '^res[0-9]_conv/[0-9]' | sort -u
"$HONE" check a.onnx
hone replace "$digits" -o b.onnx -q --multiplier 0

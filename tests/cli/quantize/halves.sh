# A model that came in 16 bits is quantized like one of f32, to the same weights but for what f16 has
# rounded; what stays in floats stays in its 16 bits.
. "$SOURCE/tests/cli/lib.sh"
told() { grep '^file\|^weights\|left in\|^ *[0-9]* * convol' | sed 's/ times smaller.*//'; }
"$HONE" quantize "$digits" -o half.onnx --type f16 -q >/dev/null
for type in int8-weights int8-dynamic; do
    "$HONE" quantize half.onnx -o $type.onnx --type $type -q | told
    "$HONE" check $type.onnx
    "$HONE" inspect $type.onnx --top 0 | grep '^inputs\|^f16\|^f32\|^s8'
done
"$HONE" quantize half.onnx -o int8.onnx -q --data synthetic:digits,skip=1000,n=500 | told
"$HONE" check int8.onnx
"$HONE" eval int8.onnx --data synthetic:digits,n=200 -q | grep '^top1' | tr -s ' ' | cut -d ' ' -f 1-3
# A layer that is to stay in f32 does not go back.
"$HONE" quantize half.onnx -o f32.onnx -q --type int8-weights --layer fc=f32 | grep '^fc ' | tr -s ' '

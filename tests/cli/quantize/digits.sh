# Every type on the model that comes with hone: what becomes of its layers, that it still answers, that threads do not matter.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=300
layers() { awk 'NF == 0 || $1 == "and" { exit } NR > 2 { print $1, $2, $3 }' "$1"; }
"$HONE" quantize "$digits" -o int8.onnx --data $data --threads 1 --quiet >int8.txt
layers int8.txt
tail -1 int8.txt | sed "s|$SOURCE|SOURCE|"
"$HONE" quantize "$digits" -o again.onnx --data $data --threads 3 --quiet >/dev/null
cmp int8.onnx again.onnx && echo same bytes
for type in int8-dynamic int8-weights int4 int4-dynamic f16 bf16; do
    "$HONE" quantize "$digits" -o $type.onnx --type $type >$type.txt
    layers $type.txt | tail -1
done
# What is left in floats keeps its parameters.
"$HONE" quantize "$digits" -o left.onnx --data $data --keep-f32 fc --quiet | grep '^fc ' | tr -s ' '
for type in int8 int8-dynamic int8-weights int4 int4-dynamic f16 bf16; do
    "$HONE" check $type.onnx
    "$HONE" eval $type.onnx --data synthetic:digits,n=200,skip=500 --min-accuracy 0.95 --quiet >/dev/null ||
        echo $type has forgotten
done
# Weights that keep to 7 bits, in the same types and a file of the same size.
"$HONE" quantize "$digits" -o reduced.onnx --data $data --reduce-range --quiet | grep '^\(fc\|stem_conv\) ' | tr -s ' '
"$HONE" check reduced.onnx
"$HONE" eval reduced.onnx --data synthetic:digits,n=200,skip=500 --min-accuracy 0.95 --quiet >/dev/null || echo reduced has forgotten

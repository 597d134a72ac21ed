# What training takes is said before it begins. With less activations are computed twice, which gives
# the same bytes; with much less training is refused.
. "$SOURCE/tests/cli/lib.sh"
train="$digits --data synthetic:digits,n=128 --epochs 1 --batch 32 --threads 1 --readers 0"
"$HONE" train $train -o o.onnx 2>&1 | grep -o 'memory: [0-9.]* [kMG]*B planned' | sed 's/[0-9.]\{1,\}/N/'
number() { grep -o "\"$1\": [0-9]*" found.json | tr -dc '0-9\n'; }
"$HONE" train -q $train --json -o o.onnx >found.json
awk -v planned="$(number planned_bytes)" -v peak="$(number peak_bytes)" 'BEGIN {
    print ((peak <= planned && peak >= 0.98 * planned) ? "as planned" : peak " of " planned) }'
allowed=$(awk -v planned="$(number planned_bytes)" 'BEGIN { print 0.9 * planned / 1000000 }')
"$HONE" train $train --max-memory "$allowed" -o less.onnx 2>&1 | grep memory: |
    sed 's/[0-9][0-9.]* \([kMG]*B\)/N \1/g; s/[0-9]\{1,\} \(segment\)s*/K \1/; s/[0-9]* %/P %/'
cmp o.onnx less.onnx && echo the same bytes
"$HONE" train -q $train --max-memory "$allowed" --json -o less.onnx >found.json
awk -v planned="$(number planned_bytes)" -v peak="$(number peak_bytes)" -v allowed="$allowed" 'BEGIN {
    print ((peak <= planned && planned <= allowed * 1000000) ? "as planned" : peak " of " planned) }'
rm o.onnx less.onnx
for mb in 1 6; do hone train -q $train --max-memory $mb -o o.onnx | sed 's/[0-9]\{2,\}/N/g'; done
ls

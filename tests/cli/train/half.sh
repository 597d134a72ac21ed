# Files in f16 and bf16 train in f32 and stay what they are, inputs and outputs too.
. "$SOURCE/tests/cli/lib.sh"
for type in f16 bf16; do
    printf "hone recipe 2\nconvert type=$type io\n" >$type.recipe
    "$HONE" quantize -q "$digits" --recipe $type.recipe -o $type.onnx >/dev/null
    train="$type.onnx --data synthetic:digits,n=256 --epochs 3 --batch 32 --ema 0.9"
    "$HONE" train -q $train -o $type.whole.onnx >/dev/null
    "$HONE" train -q $train --checkpoint $type.run -o $type.first.onnx >/dev/null
    "$HONE" train -q $train --checkpoint $type.run --resume -o $type.again.onnx >/dev/null
    cmp $type.whole.onnx $type.first.onnx && cmp $type.whole.onnx $type.again.onnx && echo same
    "$HONE" inspect $type.whole.onnx | grep -E '^(inputs|outputs|b?f(16|32)) ' | sed 's/  */ /g'
    "$HONE" eval -q $type.whole.onnx --data synthetic:digits,n=256,skip=256 | awk '$1 == "top1" && $2 > 95 { print "learned" }'
done
one_step="--data synthetic:digits,n=256 --epochs 1 --batch 256 --optimizer sgd -o no.onnx"
hone train -q f16.onnx $one_step --lr 1e6 --label-smoothing 0.9 | sed "/^epoch/d; s/ '.*/ .../"
[ -e no.onnx ] || echo nothing written
hone distill -q f16.onnx f16.onnx $one_step --lr 1e-9 | grep -o 'loss 0.00'

# A run that stopped in the middle, by a limit on its time, and one that did not give the same bytes.
. "$SOURCE/tests/cli/lib.sh"
train="$digits --data synthetic:digits,n=256 --epochs 3 --batch 32 --optimizer sgd --lr 0.01 --schedule cosine"
"$HONE" train -q $train -o whole.onnx >/dev/null
"$HONE" train -q $train --checkpoint run --save-every 3 -o first.onnx >/dev/null
cmp whole.onnx first.onnx && echo same
"$HONE" train -q $train --checkpoint run --resume -o again.onnx >/dev/null
cmp whole.onnx again.onnx && echo same
# The best model so far is taken up, too.
val="--val synthetic:digits,n=64,skip=256 --checkpoint judged --patience 3"
"$HONE" train -q $train $val -o judged.onnx >/dev/null
"$HONE" train -q $train $val --resume -o taken.onnx >/dev/null
cmp judged.onnx taken.onnx && echo same
hone check -q judged/best.onnx
hone train -q $train --freeze '*bias' --checkpoint run --resume -o no.onnx | sed 's/options;.*/options/'
hone train $train --checkpoint none --resume -o more.onnx -q >/dev/null
hone train -q $digits --data synthetic:digits,n=256 --epochs 4 --batch 32 --checkpoint run --resume -o no.onnx | sed 's/options;.*/options/'
hone train -q "$models/layers.onnx" --data random,n=64 --loss mse --checkpoint run --resume -o no.onnx | sed 's/options;.*/options/'
hone train -q $digits --data synthetic:digits,n=256 --resume -o no.onnx
ls

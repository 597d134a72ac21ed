# Samples that are augmented and mixed by any number of readers give the same model; rows that do not
# suit the model are refused before training.
. "$SOURCE/tests/cli/lib.sh"
train="$digits --data synthetic:digits,n=96 --epochs 2 --batch 32 --augment crop=2:rotate:zoom:shear:erase:contrast:mixup:cutmix"
for r in 0 1 3; do "$HONE" train -q $train --readers $r -o $r.onnx >/dev/null; done
cmp 0.onnx 1.onnx && cmp 0.onnx 3.onnx && echo same
hone train -q "$digits" --data synthetic:digits,n=96 --augment hue -o o.onnx
hone train -q "$digits" --data synthetic:digits,n=96 --augment drop=0.1/103 -o o.onnx
hone train -q "$digits" --data synthetic:digits,n=96 --augment drop=0.1/x -o o.onnx
hone train -q "$digits" --data synthetic:digits,n=96 --augment mixup=-1 -o o.onnx
hone train -q "$digits" --data synthetic:digits,n=96 --readers 100 -o o.onnx
# Targets are mixed, too.
"$HONE" make -q mlp 4-3 -o mlp.onnx >/dev/null
for i in 1 2 3 4 5 6 7 8; do echo "$i,2,3,4,$i,0,1"; done >rows.csv
hone train -q mlp.onnx --data csv:rows.csv,targets=3 --batch 4 --epochs 1 --augment mixup -o o.onnx | sed 's/loss.*//; s/ in .*//'
ls

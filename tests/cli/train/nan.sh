# A loss that is not finite: exit status 3, the first value that is not and its operator, and a
# checkpoint that stays as it was before.
. "$SOURCE/tests/cli/lib.sh"
train="$digits --data synthetic:digits,n=64 --lr 1e6 --optimizer sgd --epochs 9 --batch 16"
plain() { grep -v '^epoch' | sed "s/step [0-9]* is [-a-z]*/step N is X/; s/'[^']*'/'V'/g; s/of [A-Z][A-Za-z]* .*: element/of OP: element/; s/after [0-9]* steps [a-z]*/after N steps P/; s/element .*/element I/"; }
hone train -q $train -o o.onnx | plain
hone train -q $train --checkpoint run --save-every 1 -o o.onnx | plain
hone check -q run/last.onnx
hone eval -q run/last.onnx --data synthetic:digits,n=16 | grep -c top1
ls

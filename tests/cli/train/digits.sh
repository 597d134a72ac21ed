# Two epochs on digits that hone draws: the model stays one that other verbs take, the output is the
# same bytes for any number of threads, and the files of --checkpoint are models.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=320
for t in 1 2; do
    "$HONE" train -q "$digits" --data $data --val synthetic:digits,n=64,skip=320 --epochs 2 --batch 32 --lr 1e-4 \
        --augment crop=1:noise=0.05 --threads $t --checkpoint run$t -o t$t.onnx |
        sed 's/[0-9]* samples\/s/N samples\/s/; s/in [0-9.]* s/in S s/; s/at most .* of memory/at most M of memory/' | sed 's/, N samples.*//; s/loss 0\.[0-9]*/loss L/'
done
cmp t1.onnx t2.onnx && echo same
cmp run1/last.onnx run2/last.onnx && echo same
hone check -q t1.onnx
hone eval -q run1/last.onnx --data synthetic:digits,n=64 --min-accuracy 90% | grep -c top1
ls run1

# The page of a training: curves of the loss, the metric and the rate, and every mark they promise.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" train -q "$digits" --data synthetic:digits,n=96 --val synthetic:digits,n=32 --epochs 3 --batch 32 --json \
    --report page.html -o o.onnx >found.json
hone report -q found.json -o again.html
cmp page.html again.html && echo same
grep -o '<h[23]>[^<]*' page.html
grep -o 'data-marks="[0-9]*"' page.html
grep -o 'class="mark' page.html | wc -l
grep -o 'class="curve c[0-9]" points="[^"]*"' page.html | awk '{ print $2, NF - 2 }'

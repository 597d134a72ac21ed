# The page: noise of each layer on some samples, what stayed in floats and why, where the model comes from; nothing from elsewhere.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" quantize "$digits" -o q.onnx --data synthetic:digits,n=128 --keep-f32 fc -q --report page.html | grep '^report'
grep -o '<h2>[^<]*' page.html
grep -o 'On [0-9]* samples, both models' page.html
grep -o 'data-marks="[0-9]*"' page.html
grep -o '<td>left in floats by the scheme<small>fc (Gemm)' page.html
grep -c 'samples 128; simplify; quantize type=int8 layer:fc=f32 ranges=auto' page.html
! grep -o 'src="[^"]*\|href="http[^"]*\|@import' page.html
[ "$(wc -c <page.html)" -lt 300000 ] || echo too large
# How the values of activations are spread, the range and what it clips; ranges of a table tell none of it.
sed -n '/<h2>Ranges of activations/,/<\/section>/p' page.html >ranges.html
echo "$(grep -c '^<figure>' ranges.html) spreads, $(grep -o '% clipped' ranges.html | wc -l) say what is clipped, $(grep -o 'class="end"' ranges.html | wc -l) ranges"
grep -o '[0-9]* more</summary>' ranges.html
"$HONE" quantize "$digits" -o q.onnx --data synthetic:digits,n=128 --save-ranges ranges.txt -q --report again.html >/dev/null
"$HONE" quantize "$digits" -o q.onnx --load-ranges ranges.txt -q --report page.html >/dev/null
grep -o 'How values are spread is not known' page.html
grep -c '^<figure>' page.html
# The terminal's table and lines fit 80 columns.
COLUMNS=80 "$HONE" quantize "$digits" -o q.onnx --data synthetic:digits,n=128 -q | grep -v '^next ' | awk 'length > 80'

# What is not a result is refused in one line, and no page is left behind.
. "$SOURCE/tests/cli/lib.sh"
hone report
hone report a.json
hone report none.json -o page.html
hone report . -o page.html
: >empty.json
hone report empty.json -o page.html
echo 'plain text' >text.json
hone report text.json -o page.html
echo '[1, 2]' >list.json
hone report list.json -o page.html
echo '{"model": "m"}' >plain.json
hone report plain.json -o page.html
printf '{"schema": "hone.bench/1"}\n{"schema": "hone.bench/2"}\n' >later.json
hone report later.json -o page.html
printf '\n{"schema": "hone.profile/1",\n "steps": [{"ms": 1}, {"ms": "2"}]}\n' >type.json
hone report type.json -o page.html
printf '{"schema": "hone.profile/1", "steps": [' >cut.json
hone report cut.json -o page.html
printf '\377' >bytes.json
hone report bytes.json -o page.html
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >deep.json
hone report deep.json -o page.html
ls page.html 2>&1
cp "$SOURCE/tests/fuzz/corpus/report/bench.json" good.json
hone report good.json -o good.json
hone report good.json -o none/page.html | sed 's/tmp-[0-9a-f]*/tmp-N/'
# The page of a verb that measures is looked after before it measures.
mkdir folder
cp "$digits" model.onnx
forever="$models/forever.onnx"
hone bench "$forever" --report none/page.html
hone profile "$forever" --report folder
hone inspect "$forever" --report "$forever"/page.html
hone eval "$forever" --data random --report folder/
hone compare model.onnx "$forever" --report ./model.onnx

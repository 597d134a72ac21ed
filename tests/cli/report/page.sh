# A page of saved results, and the page of a verb that measures; the same results give the same page.
. "$SOURCE/tests/cli/lib.sh"
saved=$SOURCE/tests/fuzz/corpus/report
hone report "$saved/profile.json" "$saved/bench.json" "$saved/eval.json" -o page.html
hone report -q - -o again.html "$saved/bench.json" "$saved/eval.json" <"$saved/profile.json"
cmp page.html again.html && echo same
grep -o '<h2>[^<]*' page.html
grep -o 'hone [a-z]* m.onnx.*' page.html
# Every mark that a plot says it drew is there.
sum() { grep -o 'data-marks="[0-9]*"' "$1" | tr -dc '0-9\n' | awk '{ n += $1 } END { print n + 0 }'; }
echo "$(sum page.html) marks, $(grep -o 'class="mark' page.html | wc -l) drawn"
grep -c 'https\?://' page.html
hone inspect "$digits" -q --top 0 --report inspect.html >/dev/null
hone machine -q --report machine.html >/dev/null
hone bench "$digits" -q --warmup 1 --runs 3 -b 1,2 --report bench.html >/dev/null
hone profile "$digits" -q --runs 2 --report profile.html >/dev/null
hone eval "$digits" -q --data synthetic:digits,n=2 --report eval.html >/dev/null
for page in inspect machine bench profile eval; do
    [ "$(sum $page.html)" = "$(grep -o 'class="mark' $page.html | wc -l)" ] || echo "$page: marks are missing"
    tail -c 8 $page.html
    grep -o "hone $page [-a-z\$/]*" $page.html | head -1 | cut -d' ' -f1,2
done
grep -o 'By class\|The confusion matrix' eval.html
# Numbers are those of --json.
"$HONE" inspect "$digits" -q --json | grep -o '"macs": [0-9]*' | head -1
grep -o '<th scope="row">macs</th><td class="n">[0-9]*' inspect.html

# Names that options had in the version before still work, with a note that -q leaves out.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=16

# old VERB WORD...: the note; with -q there is nothing on stderr.
old() {
    echo "$ $*" | sed "s|$digits|M|g"
    "$HONE" "$@" 2>stderr.text >out.text || echo "exit $?"
    grep 'now called' stderr.text
    "$HONE" "$@" -q 2>&1 >/dev/null || echo "exit $?"
}
old inspect "$digits" --nodes 0
old inspect "$digits" -n 0
old inspect "$digits" -n2
tail -n 1 out.text
old bench "$digits" --iterations 2 --warmup 0 --seed 3
old bench "$digits" --iterations=2 --warmup 0
old profile "$digits" --runs 1 --no-roofline --top 0
old simplify "$digits" -o s.onnx --disable fold_constants
old eval "$digits" --data $data --output logits
old eval "$digits" --data $data --metric-command 'echo 1; true' --metric-seconds 9
old optimize "$digits" -o o.onnx --max-memory 900
old quantize "$digits" -o q.onnx --data $data --method minmax --with bias --save-ranges table.txt
old quantize "$digits" -o r.onnx --ranges table.txt --method minmax

# The name that has a meaning of its own now.
"$HONE" quantize "$digits" -o a.onnx --data $data --ranges minmax --save-ranges minmax -q >/dev/null
"$HONE" quantize "$digits" -o b.onnx --data $data --ranges minmax -q >/dev/null
cmp a.onnx b.onnx
hone quantize "$digits" -o c.onnx --data $data --ranges minmux
# An old and a new name of one option are given twice; a letter is not both.
hone bench "$digits" --iterations 2 --runs 2
hone optimize "$digits" --max-memory 1 --max-run-memory 1
hone eval "$digits" --data $data -o logits

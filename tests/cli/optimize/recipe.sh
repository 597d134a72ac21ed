# A recipe gives the same bytes again, whatever the threads; for another model or other data it is refused.
# label: full
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=400,seed=7
"$HONE" optimize "$digits" -q --data $data -o a.onnx >/dev/null
hone optimize "$digits" -q --data $data --recipe a.recipe -o b.onnx --threads 1 |
    sed -e 's/^[a-z0-9-]*, as/NAME, as/' -e '/^spent on/,/^$/c STAGES'
cmp a.onnx b.onnx
cmp a.recipe b.recipe
ls
hone optimize "$models/batch4.onnx" -q --recipe a.recipe -o c.onnx | sed 's/[0-9a-f]*\.\.\./HASH/g'
hone optimize "$digits" -q --recipe none.recipe
echo nonsense >bad.recipe
hone optimize "$digits" -q --recipe bad.recipe
ls

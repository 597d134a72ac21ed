# A command on another host: what it prints and writes is what it prints and writes here, and nothing is left there.
# label: full
. "$SOURCE/tests/cli/lib.sh"
standin
cp "$digits" m.onnx
keys() { awk -f "$SOURCE/tests/cli/keys.awk" "$@" | sort -u; }
timeless() { sed 's/"seconds": [0-9.e-]*/"seconds": 0/' "$@"; }

echo "bench:"
"$HONE" bench -q m.onnx --runs 5 --json | keys >here.keys
"$HONE" bench -q m.onnx --runs 5 --json --on ssh:far | keys >there.keys
cmp here.keys there.keys && echo same
hone bench -q m.onnx --runs none --on ssh:far

echo "eval:"
for how in --json --confusion; do
    "$HONE" eval -q m.onnx --data synthetic:digits,n=50 $how | timeless >here.txt
    "$HONE" eval -q m.onnx --data synthetic:digits,n=50 $how --on ssh:far | timeless >there.txt
    cmp here.txt there.txt && echo same
done
hone eval -q m.onnx --data synthetic:digits,n=1000 --min-accuracy 99.99% --on ssh:far | tail -2
hone eval -q m.onnx --data random --on=ssh:far

echo "run, with files brought back:"
"$HONE" run -q m.onnx --fill random --output here.dir >here.txt
"$HONE" run -q m.onnx --fill random --output there.dir --on ssh:far >there.txt
sed 's/here.dir/there.dir/' here.txt | cmp - there.txt && cmp here.dir/logits.npy there.dir/logits.npy && echo same
"$HONE" run -q m.onnx --in image=in.npy --on ssh:far
echo "exit $?"

echo "compare and profile:"
"$HONE" simplify -q m.onnx -o s.onnx >/dev/null
"$HONE" compare -q m.onnx s.onnx --data synthetic:digits,n=20 --no-time >here.txt
"$HONE" compare -q m.onnx s.onnx --data synthetic:digits,n=20 --no-time --on ssh:far >there.txt
cmp here.txt there.txt && echo same
"$HONE" profile -q m.onnx --runs 2 --no-roofline --trace t.json --folded stacks/f.txt --on ssh:far
echo "exit $?"
mkdir stacks
"$HONE" profile -q m.onnx --runs 2 --no-roofline --trace t.json --folded stacks/f.txt --on ssh:far >/dev/null
wc -l <stacks/f.txt | grep -c '^[1-9]'
grep -c traceEvents t.json

echo "standard input, and files that lie elsewhere:"
"$HONE" run -q - --fill ones -o there.dir --on ssh:far <m.onnx
"$HONE" run -q m.onnx --fill ones -o here.dir >/dev/null
cmp here.dir/logits.npy there.dir/logits.npy
mkdir sub
cd sub
"$HONE" run -q "$models/external.onnx" --fill ones -o ../there.dir --on ssh:far
"$HONE" run -q "$models/external.onnx" --fill ones -o ../here.dir >/dev/null
cd ..
cmp here.dir/y.npy there.dir/y.npy && echo same

echo "names:"
odd=$(printf -- "-a'b\"c\$(touch oops);\`touch oops\`\nd e")
cp m.onnx "./$odd"
mkdir "./$odd.dir"
"$HONE" run -q --fill ones --output="$odd.dir/o" --on ssh:far -- "$odd" >/dev/null
cmp here.dir/logits.npy "./$odd.dir/o/logits.npy" && echo same
ls oops* 2>/dev/null

echo "datasets:"
printf '%s\n' "$(seq -s, 784),3" "$(seq -s, 2 785),4" >'a,b.csv'
echo 'csv:a\,b.csv' >line
"$HONE" eval -q m.onnx --data @line >here.txt
"$HONE" eval -q m.onnx --data @line --on ssh:far | sed 's/ csv:.*/ @line/' >there.txt
cmp here.txt there.txt && echo same
mkdir -p rows/3 rows/4
head -c 784 /dev/urandom >rows/3/x
head -c 784 /dev/urandom >rows/4/y
"$HONE" eval -q m.onnx --data raw:rows --json | timeless >here.txt
"$HONE" eval -q m.onnx --data raw:rows --json --on ssh:far | timeless >there.txt
cmp here.txt there.txt && echo same

echo "left behind:"
left

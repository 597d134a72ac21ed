# label: full
# A recipe makes the same model again, whoever wrote it: optimize, which made it with a part of the samples, or people.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=200,seed=7
"$HONE" optimize -q "$digits" --data $data --max-size 0.03 -o a.onnx >/dev/null
sed -n 's/^part .*/&/p' a.recipe
"$HONE" apply -q "$digits" a.recipe --data $data -o b.onnx >/dev/null
cmp a.onnx b.onnx && echo same bytes
printf 'hone recipe 2\nsamples 32\nsimplify\nprune kind=channels sparsity=0.5 align=8\ntrain epochs=1\nquantize type=int8\n' >own.recipe
hone apply "$digits" own.recipe --data $data --val $data,skip=100 -o c.hone >text
sed -n 's/  *[0-9.]* [kMB]*  *[0-9.]* k*B  *[0-9.]*  *[0-9.]* *%$//p; s/-\{80,\}/-/p; s/[0-9.]* kB/SIZE/g; s/[0-9.]* times/RATIO times/; s|'"$digits"'|DIGITS|p' text
"$HONE" apply -q "$digits" own.recipe --data $data -o c.onnx --json >c.json
documented apply c.json 2>&1 | grep '^[-+][a-z]'
"$HONE" check c.onnx
# Trained by a part of the samples, that of optimize, or by all.
printf 'hone recipe 2\npart rest\nsamples 32\ntrain epochs=1 batch=32\n' >part.recipe
printf 'hone recipe 2\nsamples 32\ntrain epochs=1 batch=32\n' >all.recipe
for r in part all; do "$HONE" apply -q "$digits" $r.recipe --data $data -o $r.onnx >/dev/null; done
cmp -s part.onnx all.onnx || echo others
# Wrong ones; nothing is written.
hone apply "$digits"
hone apply "$digits" a.recipe
hone apply "$digits" a.recipe -q -o d.onnx
hone apply "$digits" a.recipe -q --data synthetic:digits,n=200,seed=8 -o d.onnx | sed -n 's/[0-9a-f]*\.\.\./HASH/g; /^hone:\|^exit/p'
hone apply "$digits" missing.recipe -q -o d.onnx
hone apply "$digits" own.recipe --data $data -o nowhere/d.onnx # before anything is trained
sed 's/^part .*/part nonsense/' part.recipe >bad.recipe
hone apply "$digits" bad.recipe -q --data $data -o d.onnx
ls d.onnx 2>/dev/null
true

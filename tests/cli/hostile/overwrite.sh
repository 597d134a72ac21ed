# What a command reads is never written over, whichever option names it, through whatever link.
. "$SOURCE/tests/cli/lib.sh"
cp "$models/external.onnx" "$models/external.data" .
cp "$digits" m.onnx
ln -s external.data link.data
mkdir photos
cp m.onnx photos/m.onnx
printf '0,0,1,0,1\n' >rows.csv
cksum external.* m.onnx rows.csv photos/m.onnx >before.txt

# A tuning cache is read and written.
hone bench m.onnx -q --tune fast --tune-cache m.onnx --runs 3
hone run external.onnx -q --fill ones --tune fast --tune-cache external.data -o out
# External data, by any option that writes.
hone simplify external.onnx -q -o external.data
hone simplify external.onnx -q -o link.data
hone bench external.onnx -q --runs 3 --report external.data
# Datasets: files, and what lies in their folders.
hone eval m.onnx -q --data csv:rows.csv --report rows.csv
hone quantize m.onnx -q --data csv:rows.csv -o rows.csv
hone quantize m.onnx -q --data csv:rows.csv -o q.onnx --save-ranges rows.csv
hone quantize m.onnx -q --data images:photos -o photos/m.onnx
# What names a dataset, and what describes a machine.
echo 'csv:rows.csv' >rows.txt
echo '{}' >target.json
cksum rows.txt target.json >named.txt
hone eval m.onnx -q --data @rows.txt --report rows.txt
hone advise m.onnx -q --no-run --target target.json --report target.json
cksum rows.txt target.json | cmp - named.txt && rm rows.txt target.json named.txt
# The recipe that is written beside a model.
cp rows.csv q.recipe
hone optimize m.onnx -q --data csv:q.recipe -o q.onnx
cmp rows.csv q.recipe && rm q.recipe
# What other options read; two options for one file.
cp m.onnx a.recipe
hone apply m.onnx a.recipe -q -o a.recipe
hone quantize m.onnx -q --data synthetic:digits,n=8 -o q.onnx --save-ranges q.onnx
hone profile m.onnx -q --trace t.json --folded t.json
hone profile m.onnx -q --trace t.json --folded ./photos/../t.json
# A folder of outputs, one of which would be the external data.
sed 's|external.data|././././y.npy|' external.onnx >same.onnx
cp external.data y.npy
hone run same.onnx -q --fill ones -o .
cmp external.data y.npy
# A file that is no tuning cache is left as it is.
echo 'a letter' >letter.txt
"$HONE" run m.onnx -q --fill ones --tune fast --tune-cache letter.txt -o out >/dev/null
cat letter.txt
cksum external.* m.onnx rows.csv photos/m.onnx | cmp - before.txt && echo 'nothing was changed'
ls

# Deep Compression in one command: a line for each stage, and a package that every verb reads.
# label: slow
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=300,seed=3
val=synthetic:digits,n=200,seed=4
hone compress "$digits" -o a.hone --data $data --val $val --sparsity 0.8 >text
sed -n 's/  *[0-9.]* [kMB]*  *[0-9.]* k*B  *[0-9.]*  *[0-9.]* *%$//p; s/-\{80,\}/-/p; s/[0-9.]* kB/SIZE/g; s/[0-9.]* times/RATIO times/; s|'"$digits"'|DIGITS|p' text
"$HONE" inspect a.hone | grep -o '[0-9.]* % zeros' | head -1
"$HONE" eval -q a.hone --data $val | grep -o 'top1' | head -1
# The recipe of what was done does it again; ONNX by the name.
"$HONE" compress -q "$digits" -o again.hone --data $data --val $val --sparsity 0.8 --json |
    sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p' | tr ';' '\n' | sed 's/^ //' >again.recipe
"$HONE" compress -q "$digits" -o b.hone --data $data --val $val --recipe again.recipe >/dev/null
cmp a.hone again.hone && echo the same bytes
"$HONE" unpack -q a.hone -o a.onnx >/dev/null
"$HONE" unpack -q b.hone -o b.onnx >/dev/null
cmp a.onnx b.onnx && echo same bytes
"$HONE" compress -q "$digits" -o c.onnx --sparsity 0.5 --json >c.json
documented compress c.json 2>&1 | grep '^[-+][a-z]'
"$HONE" check c.onnx
# Wrong options; nothing is written.
hone compress "$digits"
hone compress "$digits" -o d.hone --clusters 1
hone compress "$digits" -o d.hone --sparsity 1
hone compress "$digits" -o d.hone --epochs 2
hone compress "$digits" -o d.hone --recipe again.recipe --sparsity 0.5
hone compress "$digits" -o d.hone --recipe missing.recipe
printf 'hone recipe 2\nprune sparsity=2\n' >bad.recipe
hone compress "$digits" -o d.hone --recipe bad.recipe
ls d.hone 2>/dev/null

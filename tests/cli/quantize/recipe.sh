# What was done is done again from the metadata, to the same bytes; a recipe for another model or other samples is refused.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=120
again() {
    name=$1
    shift
    "$HONE" quantize "$digits" -o $name.onnx -q "$@" >/dev/null
    "$HONE" inspect --json $name.onnx | sed 's/.*"recipe": "\([^"]*\)".*/\1/' >$name.recipe
}
again a --data $data --methods bias,equalize,adaround --ranges percentile --percentile 99.9 --seed 3 --layer 'fc=f16'
"$HONE" quantize "$digits" -o b.onnx -q --data $data --recipe a.recipe -t 1 >/dev/null
cmp a.onnx b.onnx && echo the same with methods
again c --data $data --mix int8,w4a8 --methods gptq --bits-per-weight 7 --keep-f32 stem_conv
"$HONE" quantize "$digits" -o d.onnx -q --data $data --recipe c.recipe >/dev/null
cmp c.onnx d.onnx && echo the same with types that were chosen
again e --type bf16 --integer-io
"$HONE" quantize "$digits" -o f.onnx -q --recipe e.recipe >/dev/null
cmp e.onnx f.onnx && echo the same without data
"$HONE" quantize "$digits" -q -o g.onnx --data $data --save-ranges r.txt >/dev/null
again h --load-ranges r.txt
"$HONE" quantize "$digits" -o i.onnx -q --load-ranges r.txt --recipe h.recipe >/dev/null
cmp h.onnx i.onnx && echo the same with a table of ranges
hone quantize "$digits" -o n.onnx -q --recipe h.recipe | sed 's/[0-9a-f]\{12\}\.\.\./HASH/'
# As version 0.1 wrote it.
echo 'quantize type=int8 with=bias,equalize,adaround ranges=percentile percentile=99.900000000000006 samples=120 seed=3 layer:fc=f16' >old.recipe
"$HONE" quantize "$digits" -o j.onnx -q --data $data --recipe old.recipe >/dev/null
cmp a.onnx j.onnx && echo the same from a line of version 0.1
# By hand.
printf 'hone recipe 2\nequalize\nquantize type=int8-weights # no remark\n' >k.recipe
hone quantize "$digits" -o n.onnx -q --recipe k.recipe
printf 'hone recipe 2\n# a remark\nconvert type=bf16 layer:fc=f32\n' >k.recipe
hone quantize "$digits" -o n.onnx -q --recipe k.recipe --json | grep -o '"type": "bf16", "simulated": false, "recipe": "[^"]*"'
rm n.onnx
# What cannot be.
hone quantize "$digits" -o n.onnx -q --recipe a.recipe --type int8 --seed 2
hone quantize "$digits" -o n.onnx -q --recipe a.recipe
hone quantize "$digits" -o n.onnx -q --recipe none.recipe
printf 'hone recipe 2\nquantize\nequalize\n' >k.recipe
hone quantize "$digits" -o n.onnx -q --data $data --recipe k.recipe
printf 'hone recipe 2\nquantize ranges=widest\n' >k.recipe
hone quantize "$digits" -o n.onnx -q --data $data --recipe k.recipe
printf 'hone recipe 2; source %064d; quantize type=int8-weights\n' 7 >k.recipe
hone quantize "$digits" -o n.onnx -q --recipe k.recipe | sed 's/[0-9a-f]\{12\}\.\.\./HASH/g'
printf 'hone recipe 2; data %064d; quantize\n' 7 >k.recipe
hone quantize "$digits" -o n.onnx -q --data $data --recipe k.recipe | sed 's/[0-9a-f]\{12\}\.\.\./HASH/g'
[ ! -e n.onnx ] && echo nothing written

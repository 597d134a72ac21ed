# Layers of f32, bf16 and f16 in one model: each is computed in what it is written in, which is what naming them gives.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" quantize "$digits" -o mixed.onnx -q --type bf16 --layer res1_conv=f32 --layer res2_conv=f16 --keep-f32 fc >/dev/null
run() { "$HONE" run mixed.onnx -q --dim batch=8 --fill random -o "$@" >/dev/null; }
run own
run said --precision f32 --layer-precision "*:bf16,res?_conv:f32,fc:f32"
cmp own/logits.npy said/logits.npy && echo "the same as by name"
explain() { "$HONE" profile mixed.onnx -q --dim batch=8 --runs 1 --no-roofline --explain | sed '1,2d' | tr -s ' ' | sort; }
explain | sed 's/^\([^ ]*\) .* \([a-z0-9]* in the model.*\)$/\1: \2/; s/;.*//'
export HONE_ISA=portable
explain | cut -d ' ' -f 1,5-
run portable
run portablef32 --precision f32
cmp portable/logits.npy portablef32/logits.npy && echo "f32 where there is no bf16"

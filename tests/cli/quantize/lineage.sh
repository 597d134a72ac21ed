# A model says what it was made of and how, without paths and times.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" quantize "$digits" -o a.onnx --data synthetic:digits,n=120 --quiet >/dev/null
cp "$digits" other-name.onnx
"$HONE" quantize other-name.onnx -o b.onnx --data synthetic:digits,n=120 --quiet >/dev/null
cmp a.onnx b.onnx && echo same bytes
"$HONE" inspect a.onnx | grep -A3 ^lineage | sed 's/[0-9a-f]\{64\}/SHA256/; s/[0-9]\.[0-9]\.[0-9]/VERSION/'
source=$("$HONE" inspect --json a.onnx | sed 's/.*"source": "\([0-9a-f]*\)".*/\1/')
[ "$source" = "$(sha256sum <"$digits" | cut -d' ' -f1)" ] && echo source as it is
"$HONE" quantize "$digits" -o c.onnx --data synthetic:digits,n=121 --quiet >/dev/null
for f in a c; do "$HONE" inspect --json $f.onnx | sed 's/.*"data": "\([0-9a-f]*\)".*/\1/'; done | sort -u | wc -l
"$HONE" quantize "$digits" -o d.onnx --type int4 --group 32 --layer '*=f16' --keep-f32 '*' --seed 2 --quiet >/dev/null
"$HONE" inspect d.onnx | grep recipe

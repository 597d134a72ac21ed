# Ranges can be written, edited and taken instead of data.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=120
"$HONE" quantize "$digits" -o a.onnx --data $data --save-ranges ranges.txt --quiet >/dev/null
"$HONE" quantize "$digits" -o b.onnx --load-ranges ranges.txt --quiet >/dev/null
"$HONE" eval b.onnx --data synthetic:digits,n=100,skip=500 --min-accuracy 0.95 --quiet >/dev/null && echo it answers
"$HONE" inspect b.onnx | grep recipe | sed 's/[0-9a-f]\{64\}/SHA256/'
head -1 ranges.txt
sed -i '$d' ranges.txt
hone quantize "$digits" -o c.onnx --load-ranges ranges.txt | sed "s/'[^']*'/NAME/"
hone quantize "$digits" -o c.onnx --load-ranges "$digits" | sed 's/: .*//'
hone quantize "$digits" -o c.onnx --type f16 --save-ranges r.txt

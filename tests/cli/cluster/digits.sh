# Sixteen numbers for each layer: a package of the file is far smaller, and gives the file back.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" cluster "$digits" -o a.onnx -q --clusters 16 --no-timing | grep clusters | awk '{ print $1, $3, $4 }'
"$HONE" package a.onnx -o a.hone -q >/dev/null
"$HONE" package "$digits" -o m.hone -q >/dev/null
[ $(($(wc -c <a.hone) * 4)) -lt "$(wc -c <m.hone)" ] && echo four times smaller
"$HONE" unpack a.hone -o b.onnx -q >/dev/null
cmp a.onnx b.onnx && echo same bytes
"$HONE" cluster "$digits" -o c.onnx -q --clusters 16 --codebook --no-timing --json >c.json
documented cluster c.json 2>&1 | grep -v 'history\[\]' | grep '^[-+][a-z]'
hone cluster "$digits" -o d.onnx -q --clusters 1
hone cluster "$digits" -o d.onnx -q --start middle

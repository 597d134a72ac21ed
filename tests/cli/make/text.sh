# Descriptions: printing one, changing it, and making models of files.
. "$SOURCE/tests/cli/lib.sh"
hone make lenet5 --width 0.5 --text
"$HONE" make lenet5 --width 0.5 --text >half.txt
hone make half.txt -o half.onnx
"$HONE" make lenet5 --width 0.5 -o same.onnx -q >/dev/null
cat >own.txt <<'TEXT'
# A residual network of one block.
number classes = 3
image 1 8 8
conv 4
bn
relu
block1: basic 8 stride=2
globalpool
flatten
fc: linear classes
TEXT
hone make own.txt classes=4 -o own.onnx
hone make --from own.txt -o own.onnx
mkdir folder
cp own.txt folder/own.text
"$HONE" make folder/own.text -o moved.onnx -q >/dev/null
cmp own.onnx moved.onnx && echo "where the file lies changes nothing"
hone inspect own.onnx --top 0
hone run own.onnx --fill random -o out -q
hone make --list | head -n 6
# Compound scaling, which is written into the text.
"$HONE" make efficientnet-b0 --compound 1 --text | grep -E '^(number (width|depth)|whole resolution)'
"$HONE" make efficientnet-b0 --compound -1 --resolution 32 --text | grep -E '^(number (width|depth)|whole resolution)'

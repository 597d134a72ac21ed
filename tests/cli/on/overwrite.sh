# What comes back from another host overwrites no input, and inputs that lie in a folder of results stay as they are.
. "$SOURCE/tests/cli/lib.sh"
standin
cp "$digits" m.onnx
touch -d 2001-01-01 m.onnx
echo "in the folder of the model:"
"$HONE" run -q m.onnx --fill ones -o . --on ssh:far
find . -maxdepth 1 -name m.onnx ! -newermt 2001-01-02

# An output of the name of an input; there, the two lie in different folders.
mkdir data
sed 's|external.data|././././y.npy|' "$models/external.onnx" >data/m.onnx
cp "$models/external.data" data/y.npy
cksum data/* >before.txt
hone run -q data/m.onnx --fill ones -o data --on ssh:far
hone run -q "$PWD/data/m.onnx" --fill ones -o "$PWD/data" --on ssh:far | sed "s|$PWD|PWD|g"
cksum data/* | cmp - before.txt && echo 'nothing was changed'
echo "left behind:"
left

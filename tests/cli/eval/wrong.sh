# Datasets that are missing, wrong, or do not fit the model.
. "$SOURCE/tests/cli/lib.sh"
hone eval "$digits"
hone eval "$digits" --data digits
hone eval "$digits" --data some/digits.npz
hone eval "$digits" --data synthetic:letters
hone eval "$digits" --data csv:none.csv
hone eval "$digits" --data random
hone eval "$digits" --data random --metric top1
printf '1,2,3\n4,5,6\n' >small.csv
hone eval "$digits" --data csv:small.csv
printf '1,2,3,7\n' >label.csv
hone eval "$models/batch1.onnx" --data csv:label.csv
hone eval "$models/unknown.onnx" --data csv:small.csv
hone eval "$digits" --data synthetic:digits,n=3 --batch 0
hone eval "$digits" --data synthetic:digits,n=1000 --batch 1000 --max-memory 1
# Samples of three floats: 0, 0 and 0, but for a NaN in the third and an infinity in the fourth.
mkdir raw
for name in a b c d; do printf '\000\000\000\000\000\000\000\000\000\000\000\000' >raw/$name; done
printf '\000\000\000\000\000\000\300\177\000\000\000\000' >raw/c
printf '\000\000\000\000\000\000\000\000\000\000\200\377' >raw/d
printf 'a,0\nb,1\nc,0\nd,1\n' >raw/labels.csv
data=raw:raw,labels=labels.csv,dtype=f32
hone eval "$models/batch4.onnx" --data $data | grep warning
hone profile "$models/batch4.onnx" --data $data --runs 1 --no-roofline | grep warning
hone bench "$models/batch4.onnx" --data $data -n 1 -t 1,1 --csv | grep warning
printf '1,2,3,2\n1,2,3,2\n1,2,3,2\n' >same.csv
hone eval "$models/batch1.onnx" --data csv:same.csv | sed 's/[0-9.]* s, [0-9.]* samples/T s, R samples/'
# Samples that are scaled otherwise than those the model was trained with.
hone eval "$digits" --data synthetic:digits,n=200,mean=5 | grep guessing

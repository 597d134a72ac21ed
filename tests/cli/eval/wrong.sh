# Datasets that are missing, wrong, or do not fit the model.
. "$SOURCE/tests/cli/lib.sh"
hone eval "$digits"
hone eval "$digits" --data digits
hone eval "$digits" --data synthetic:letters
hone eval "$digits" --data csv:none.csv
hone eval "$digits" --data random
printf '1,2,3\n4,5,6\n' >small.csv
hone eval "$digits" --data csv:small.csv
printf '1,2,3,7\n' >label.csv
hone eval "$models/batch1.onnx" --data csv:label.csv
hone eval "$models/unknown.onnx" --data csv:small.csv
hone eval "$digits" --data synthetic:digits,n=3 --batch 0
hone eval "$digits" --data synthetic:digits,n=1000 --batch 1000 --max-memory 1
printf '1,2,3,2\n1,2,3,2\n1,2,3,2\n' >same.csv
hone eval "$models/batch1.onnx" --data csv:same.csv | sed 's/[0-9.]* s, [0-9.]* samples/T s, R samples/'

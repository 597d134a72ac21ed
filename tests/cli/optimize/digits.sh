# The whole job on the model that comes with hone: what is tried, and what is written.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" optimize "$digits" -q --data synthetic:digits,n=400,seed=7 -o small.onnx >table
sed -n 1p table | tr -s ' '
grep -o '^.  \(original\|simplified\|bf16\|int8\) ' table | cut -c 4-
grep -c ' chosen' table
sed -n '/^criteria/,$p' table | sed 's/^  \(.*?\)  *\(yes\|no\|not asked\) .*/\1 \2/; s/^int.*times as small.*/.../; s/^bf16:.*/.../' | grep '?\|^criteria\|^small' | sed 's/not needed? .*/not needed? .../'
ls
sed -n 's/^\(hone recipe .*\|seed.*\)/\1/p; s/^\(source\|calibration [0-9]*\) .*/\1 .../p; s/^# \(original: original\).*/\1/p' small.recipe
grep -c '<h2>What was tried' small.html
"$HONE" check small.onnx

# The whole job on the model that comes with hone: what is tried, and what is written.
. "$SOURCE/tests/cli/lib.sh"
COLUMNS=80 "$HONE" optimize "$digits" -q --data synthetic:digits,n=400,seed=7 -o small.onnx >table
sed -n 1p table | tr -s ' '
grep -o '^. \(original\|simplified\|bf16\|int8\) ' table | cut -c 3-
grep -c '^\* .* chosen$' table
grep '^speeds' table
sed -n '/^criteria/,/^$/p' table | grep '?\|^criteria' | sed 's/^  \(yes\|no\)  *\(nothing done\|cost against\)/  ... \2/'
# The verdict, and where all of it is; only commands and paths are wider than the terminal.
sed -n '/^model /,$p' table | sed "s|$SOURCE|SOURCE|"
tr '\n' ' ' <table | grep -c ' times as small; top1 [0-9.]* % (95 % interval [0-9.]* % to [0-9.]* %), the original [0-9.]* %, on 75 samples that nothing was chosen by\(; but reading [^.]* first\)\?  model '
grep -v '^\(again\|next\) ' table | awk 'length > 80'
ls
sed -n 's/^\(hone recipe .*\|seed.*\)/\1/p; s/^\(source\) .*/\1 .../p; s/^# \(original: original\).*/\1/p' small.recipe
grep -c '<h2>What was tried' small.html
"$HONE" check small.onnx

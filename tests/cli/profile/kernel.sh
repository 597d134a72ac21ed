# A kernel that is asked for is taken wherever it serves; what cannot be is said.
. "$SOURCE/tests/cli/lib.sh"
kernels() { grep -o '"kernel": "[a-z_0-9/]*"' | sort | uniq -c | sed 's/^ *//'; }
"$HONE" profile "$digits" -q --runs 1 --no-roofline --json --kernel conv_f32=ref --kernel pool_f32=ref | kernels
"$HONE" profile "$digits" --dim batch=1 --runs 1 --no-roofline --kernel conv_f32=portable_depthwise 2>&1 >/dev/null
"$HONE" profile "$digits" --dim batch=1 --runs 1 --no-roofline --kernel resize_f32=ref 2>&1 >/dev/null
hone profile "$digits" -q --no-roofline --kernel convolution=ref
hone profile "$digits" -q --no-roofline --kernel conv_f32=reference
hone profile "$digits" -q --no-roofline --kernel conv_f32

# What each layer loses alone, as the metric or as noise; nothing is written without -o.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=30
"$HONE" prune "$digits" -q --scan --only 'fc,pw*' --data $data --val $data,skip=5 >scored
awk 'NR > 4 { print $1, NF } NR == 1 { print $1, $2, $3 }' scored
"$HONE" prune "$digits" -q --scan --only 'fc,pw*' --data random,n=30 | awk 'NR > 4 { print $1, NF } NR == 1'
"$HONE" prune "$digits" -o m.onnx -q --scan --only fc --sparsity 0.75 --data $data --no-timing --json | sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p'
hone prune "$digits" -q --scan
hone prune "$digits" -q --scan --kind channels --data $data
hone prune "$digits" -q --scan --only nothing --data $data
hone prune "$digits" -q --scan --epochs 1 --data $data
ls

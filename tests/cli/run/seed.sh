# The same seed makes the same bytes, whatever the number of threads.
. "$SOURCE/tests/cli/lib.sh"
for seed in 1 2; do
    for threads in 1 2; do
        "$HONE" run -q "$digits" --fill random --seed $seed -t $threads -o s${seed}t$threads >/dev/null
    done
done
cmp s1t1/logits.npy s1t2/logits.npy && echo "seed 1: equal"
cmp s2t1/logits.npy s2t2/logits.npy && echo "seed 2: equal"
cmp -s s1t1/logits.npy s2t1/logits.npy || echo "different seeds: different"

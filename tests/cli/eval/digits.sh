# The model that comes with hone, on digits that hone draws.
. "$SOURCE/tests/cli/lib.sh"
hone eval -q "$digits" --data synthetic:digits,n=24,seed=5
hone eval -q "$digits" --data synthetic:digits,n=24,seed=5 --batch 5
hone eval "$digits" --data synthetic:digits,n=1 | sed 's/[0-9.]* s, [0-9.]* samples/T s, R samples/'

# With a dataset, what lies around inference is timed apart.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" profile "$digits" -q --dim batch=4 --runs 2 --no-roofline --data synthetic:digits,n=9 |
    sed -n '/^stages\|bottleneck/{s/[0-9][0-9.]*/N/g; s/? .*/? .../; p}'
hone profile "$digits" -q --no-roofline --runs 1 --data nothing:here | sed 's/;.*/; .../'
hone profile "$digits" -q --no-roofline --runs 1 --data npz:none.npz

# Steps add up, whatever the machine; what is shown can be chosen; wrong options are named.
. "$SOURCE/tests/cli/lib.sh"
p() { "$HONE" profile "$digits" -q --runs 2 --no-roofline "$@"; }
# numbers: stand-ins for what the machine decides.
numbers() { sed 's/[0-9][0-9.]*/N/g; s/ [kM]B/ B/g'; }
p | sed -n '/^run/,$p' | numbers | sed 's/threads)/thread)/' | grep '^[rsm]'
# One more is asked where others used the cores.
p | grep -v 'do the steps add up' | grep -c '?'
p --sort order | sed -n '3p' | cut -d ' ' -f 1
p --sort name --top 2 | sed -n '3,4p' | sed 's/ .*//'
p --by op | sed -n '1p' | tr -s ' '
p --by op --top 1 | sed -n '4p' | sed 's/[0-9.]* ms/N ms/'
p --by scope --top all | sed -n '1p' | tr -s ' '
p --max-latency 5000 | grep -A 1 requirement | numbers
# So few that any machine serves them, so many that none does.
p --requests-per-day 1 --machine-price 7.5 | grep '^cost\|pay?\|twice' | sed 's/ [0-9.]* % busy/ few % busy/'
p --requests-per-day 1e14 --machine-price 7.5 | grep -o '.*pay? [a-z]*'
hone profile "$digits" -q --isa sse9 | sed 's/;.*/; .../'
hone profile "$digits" -q --sort fast
hone profile "$digits" -q --by layer
hone profile "$digits" -q --top -1
hone profile "$digits" -q --requests-per-day 5
hone profile "$models/unknown.onnx" -q --no-roofline

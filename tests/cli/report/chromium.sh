# A browser opens the page without an error, draws every mark, reads points out by keys and sorts
# tables; where the page is 400 pixels wide nothing sticks out of it, tables that scroll keep their
# first column in place and shade the edge, and no names of percentiles overlap. A single finding starts
# where the title does. What `hone optimize` and
# `hone quantize` make has no table that is wider than the page of a desktop.
# label: full
. "$SOURCE/tests/cli/lib.sh"
command -v chromium >/dev/null || { echo "chromium is not installed" >&2; exit 77; }
saved=$SOURCE/tests/fuzz/corpus/report
"$HONE" report -q -o page.html "$saved/profile.json" "$saved/bench.json" "$saved/eval.json" \
    "$saved/compare.json" "$saved/machine.json" || exit
"$HONE" report -q -o lead.html "$saved/eval.json" || exit
"$HONE" report -q -o made.html "$saved/optimize.json" "$saved/quantize.json" || exit
cat >probe.html <<'HTML'
<script>
window.addEventListener('load', () => {
    const all = [...document.querySelectorAll('svg .mark')];
    const drawn = all.filter(m => { const r = m.getBoundingClientRect(); return r.width > 0 && r.height > 0; });
    const svg = document.querySelector('figure svg'), say = svg.closest('figure').querySelector('output');
    for (const key of ['End', 'Home', 'ArrowRight']) svg.dispatchEvent(new KeyboardEvent('keydown', {key}));
    const head = document.querySelector('th.n'), cells = () =>
        [...head.closest('table').tBodies[0].rows].map(r => parseFloat(r.cells[head.cellIndex].textContent));
    head.querySelector('button').click();
    const falls = cells().join(' ');
    head.querySelector('button').click();
    const scrolls = [...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth);
    const kept = scrolls.filter(s => {
        const first = s.querySelector('tr').cells[0], at = first.getBoundingClientRect().left;
        s.scrollLeft = s.scrollWidth;
        return getComputedStyle(s).backgroundImage.includes('gradient') && first.getBoundingClientRect().left === at;
    });
    const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const names = [...document.querySelectorAll('.at text')].map(t => [t.closest('svg'), t.getBoundingClientRect()]);
    const overlap = names.filter(([s, a], i) => names.some(([o, b], k) => k < i && o === s && over(a, b)));
    const lead = document.querySelector('.words:not(.small) li:only-child');
    parent.postMessage([`${location.pathname.match(/[a-z]*\.html$/)} at ${innerWidth}`, `${drawn.length} of ${all.length} marks are drawn`,
        `read out: ${say.textContent}`, `sorted ${falls}, then ${cells().join(' ')}`,
        `${scrolls.length} tables are wider, ${kept.length} keep their first column`, `${overlap.length} of ${names.length} percentiles overlap`,
        `lead ${lead ? Math.round(lead.getBoundingClientRect().left - document.querySelector('h1').getBoundingClientRect().left) : '-'}`,
        document.documentElement.scrollWidth <= innerWidth ? 'nothing sticks out' : 'too wide'].join(' | '), '*');
});
</script>
HTML
cat page.html probe.html >probed.html
cat made.html probe.html >tried.html
cat lead.html probe.html >led.html
# In frames, since a window cannot be as narrow as a phone.
cat >frames.html <<'HTML'
<script>addEventListener('message', e => document.body.append(`[${e.data}]`));</script>
<iframe src="probed.html" width="1000" height="800" frameborder="0"></iframe>
<iframe src="probed.html" width="400" height="800" frameborder="0"></iframe>
<iframe src="led.html" width="400" height="800" frameborder="0"></iframe>
<iframe src="tried.html" width="1000" height="800" frameborder="0"></iframe>
<iframe src="tried.html" width="400" height="800" frameborder="0"></iframe>
HTML
timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
    --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$PWD/frames.html" \
    >dom 2>log
grep -o 'CONSOLE.*' log
grep -o '\[[a-z]*.html at [^]]*' dom | sort | tr '|' '\n'

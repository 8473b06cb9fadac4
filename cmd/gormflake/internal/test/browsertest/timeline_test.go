package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// thousandIDs returns 1,000 IDs of three workers, and a log that contains them. The IDs
// are 20 ms apart, with a gap of a minute after the 600th.
func thousandIDs(t *testing.T) ([]types.ID, string) {
	t.Helper()
	layout := snowflake.TwitterLayout()
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	var ids []types.ID
	var log strings.Builder
	for i := range 1000 {
		if at = at.Add(20 * time.Millisecond); i == 600 {
			at = at.Add(time.Minute)
		}
		worker := []int64{2, 7, 7, 19}[i*7%4]
		id, err := layout.Compose(snowflake.Parts{Time: at, Datacenter: 1, Worker: worker, Sequence: int64(i % 5)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		fmt.Fprintf(&log, "%s INFO order %d created status=201 took=%d.5ms\n", at.Format(iso), id, i)
	}
	return ids, log.String()
}

// The timeline shows the span, workers and gaps of 1,000 IDs, and the reader can move through
// them.
func TestTimeline(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	ids, log := thousandIDs(t)
	p.enter("#input", log)
	p.wantContains("#timeline-summary", "1,000 IDs of 3 workers over 1 min 19 s")
	p.want("#result-id", ids[0].String())
	p.want("#result-place", "oldest of 1,000")
	p.want("#found-worker", "Datacenter/worker")
	p.wantContains("#strip-hint", "Lanes: datacenter/worker.")
	want := [][2]string{{"1/2", "250"}, {"1/7", "500"}, {"1/19", "250"}}
	for i, w := range want {
		p.want(fmt.Sprintf("#timeline-workers tbody tr:nth-child(%d) th", i+1), w[0])
		p.want(fmt.Sprintf("#timeline-workers tbody tr:nth-child(%d) td", i+1), w[1])
	}
	p.want("#timeline-gaps tbody tr td:last-child", "1 min")
	if rows := value[int](p, `document.querySelectorAll("#timeline-gaps tbody tr").length`); rows != 1 {
		t.Errorf("%d gaps, want 1", rows)
	}
	p.wantThreeColours()
	p.driveStrip(ids)
	p.enter("#code", "PAY-")
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.fit("timeline-"+scheme+"-1280", 1280)
	}
}

// wantThreeColours checks that the timeline shows the colour of each worker in its lane, and
// no colour within the gap, the minute from about 0.15 to 0.9 of the width.
func (p page) wantThreeColours() {
	p.t.Helper()
	const draw = `(async () => {
		await new Promise(requestAnimationFrame);
		await new Promise(requestAnimationFrame);
		const canvas = document.getElementById("strip-canvas");
		const context = canvas.getContext("2d");
		const top = 62 * devicePixelRatio; // below the histogram
		const height = canvas.height - top - 24 * devicePixelRatio;
		const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
		return [0, 1, 2].map((lane) => {
			const probe = document.createElement("span");
			probe.style.color = "var(--worker-" + lane + ")";
			document.body.append(probe);
			const want = getComputedStyle(probe).color.match(/\d+/g).map(Number);
			probe.remove();
			const count = (from, to) => {
				let n = 0;
				for (let y = Math.ceil(top + lane * height / 3); y < top + (lane + 1) * height / 3; y++)
					for (let x = Math.ceil(from * canvas.width); x < to * canvas.width; x++)
						if ([0, 1, 2].every((i) => Math.abs(data[4 * (y * canvas.width + x) + i] - want[i]) < 4)) n++;
				return n;
			};
			return [count(0.1, 0.99) > 500, count(0.35, 0.8)].join();
		}).join(" ");
	})()`
	if got := value[string](p, draw); got != "true,0 true,0 true,0" {
		p.t.Errorf("the lanes show %s, want their colour, and none in the gap", got)
	}
}

// driveStrip moves through the timeline by keys and by the pointer, and checks which ID is
// shown after each move. The field by of a move is the number of IDs by which its key moves.
// The ends of the timeline limit a move, and the keys + and - zoom without a move.
func (p page) driveStrip(ids []types.ID) {
	p.t.Helper()
	p.do(chromedp.Focus("#strip"))
	at := 0
	for _, move := range []struct {
		key string
		by  int
	}{{kb.ArrowRight, 1}, {kb.ArrowRight, 1}, {kb.PageDown, 10}, {kb.ArrowLeft, -1}, {kb.End, len(ids)}, {kb.ArrowRight, 1}, {kb.PageUp, -10}, {"+", 0}, {"+", 0}, {"-", 0}, {kb.Home, -len(ids)}} {
		p.press(move.key)
		at = min(max(at+move.by, 0), len(ids)-1)
		p.want("#result-id", ids[at].String())
	}
	if got := value[string](p, `document.getElementById("strip").ariaValueText`); got != "ID 1 of 1,000, worker 1/2, 2026-03-04T05:06:07.020Z" {
		p.t.Errorf("the strip says %q", got)
	}
	p.do(chromedp.Click("#zoom-all"))
	x, y := p.stripAt(-9, 70) // near the right end, in the first lane
	p.do(chromedp.MouseClickXY(x, y))
	if got := p.text("#value-worker"); got != "2" {
		p.t.Errorf("a click into the first lane picked worker %s", got)
	}
	if got := value[int](p, `Number(document.getElementById("strip").ariaValueNow)`); got < 990 {
		p.t.Errorf("a click at the right end picked the %d. ID", got)
	}
}

// stripAt returns the position in the window of a point of the timeline. x counts from the
// left edge, or from the right edge if it is negative. y counts from the top.
func (p page) stripAt(x, y float64) (float64, float64) {
	p.t.Helper()
	box := value[[]float64](p, `(() => { const strip = document.getElementById("strip"); strip.scrollIntoView({ block: "center", behavior: "instant" });
		const { left, right, top } = strip.getBoundingClientRect(); return [left, right, top] })()`)
	if x < 0 {
		return box[1] + x, box[2] + y
	}
	return box[0] + x, box[2] + y
}

// The timeline works for IDs of one millisecond, IDs decades apart, and twenty thousand IDs.
func TestTimelineOfOddInputs(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	p.enter("#input", "5\n6\n7")
	p.wantContains("#timeline-summary", "3 IDs of 1 worker over 0 ms")
	p.enter("#input", "9223372036854775807 1")
	p.wantContains("#timeline-summary", "2 IDs of 2 workers over 69 y")
	var many strings.Builder
	for i := range int64(20_000) {
		fmt.Fprintln(&many, 2_000_000_000_000_000_000+i*7_654_321_987)
	}
	p.enter("#input", many.String())
	p.wantContains("#timeline-summary", "20,000 IDs of 1,024 workers")
	took := value[float64](p, `(() => { const start = performance.now(); document.getElementById("zoom-in").click(); return performance.now() - start })()`)
	t.Logf("20,000 IDs of 1,024 workers drawn in %.0f ms", took)
}

// The page counts an ID only once, even if the text contains it several times.
func TestSameIDTwice(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	p.enter("#input", "5\n5\n5")
	p.want("#result-place", "read as decimal, found 3 times")
	if value[bool](p, `!document.getElementById("timeline").hidden`) {
		t.Error("one ID has a timeline")
	}
	p.enter("#input", "5 4096 5 4")
	p.want("#timeline-summary", "3 IDs of 2 workers over 0 ms; 1 of them found more than once")
	p.want("#status", "3 IDs found")
	p.want("#timeline-workers tbody tr td", "2")
	if got := fmt.Sprint(p.column(2), p.column(1), p.column(p.columns())); got != "[4 5 4096] [4 1 2] [1 2 1]" {
		t.Errorf("the table has %s", got)
	}
	p.do(chromedp.Click("#ids-table tbody tr:nth-child(2) button"))
	p.want("#result-place", "2 of 3 by time, found 2 times")
}

// columns returns the number of columns in the table of IDs.
func (p page) columns() int {
	p.t.Helper()
	return value[int](p, `document.querySelectorAll("#ids-table thead th").length`)
}

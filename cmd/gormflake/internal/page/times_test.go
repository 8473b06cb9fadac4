package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// A timeQuestion asks testdata/times.js how the page parses a text at the time Now, and
// how it writes the age of an ID of the time At. Times are in milliseconds since 1970.
type timeQuestion struct {
	Text string `json:"text"`
	At   string `json:"at"`
	Now  string `json:"now"`
}

// A timeAnswer is the answer of the page, or of the command line, to a timeQuestion.
type timeAnswer struct {
	Time string `json:"time"` // in milliseconds, or "refused"
	Age  string `json:"age"`
}

// The page's JavaScript parses times, and writes the age of an ID, exactly as the command
// line does. The times of the random questions are at all distances from each other, from
// a second to over a century.
func TestTimesInNode(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	random := rand.New(rand.NewPCG(3, 4))
	texts := timeTexts()
	var questions bytes.Buffer
	var asked []timeQuestion
	encoder := json.NewEncoder(&questions)
	for i := range 5000 {
		// The number of bits is random too, so that the numbers are of all magnitudes.
		now := time.UnixMilli(random.Int64N(1 << uint(12+random.IntN(31))))
		at := now.Add(-time.Duration(random.Int64N(1<<uint(10+random.IntN(32)))) * time.Millisecond)
		if i%3 == 0 { // in a third of the questions, the ID is of the future
			at, now = now, at
		}
		// The first questions have the texts of timeTexts, and all others random times.
		q := timeQuestion{texts[i%len(texts)], millis(at), millis(now)}
		if i >= len(texts) {
			q.Text = randomTime(random)
		}
		asked = append(asked, q)
		if err := encoder.Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), node, "testdata/times.js")
	run.Stdin = &questions
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder, refused := json.NewDecoder(bytes.NewReader(out)), 0
	for _, q := range asked {
		var got timeAnswer
		if err := decoder.Decode(&got); err != nil {
			t.Fatal(err)
		}
		want := answerTime(t, q)
		if got != want {
			t.Errorf("%+v: the page has %+v, the command line %+v", q, got, want)
		}
		if want.Time == "refused" {
			refused++
		}
	}
	if refused < 100 || refused > len(asked)/2 {
		t.Errorf("%d of %d texts are refused: too few or too many to compare", refused, len(asked))
	}
}

// answerTime returns the command line's answer to the question.
func answerTime(t *testing.T, q timeQuestion) timeAnswer {
	t.Helper()
	at, now := fromMillis(t, q.At), fromMillis(t, q.Now)
	got := timeAnswer{"refused", terminal.Age(at, now)}
	if read, err := flags.ParseTime(q.Text, now); err == nil {
		got.Time = millis(read)
	}
	return got
}

// fromMillis returns the time of a text in milliseconds since 1970.
func fromMillis(t *testing.T, text string) time.Time {
	t.Helper()
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(ms).UTC()
}

// timeTexts returns texts in all forms of a time, and texts that are almost a time.
func timeTexts() []string {
	texts := []string{
		"", "now", "-1h", "+30m", "-7d12h", "now-1.5h", "-90s", "+250ms", "-", "+", "-d", "-1", "-1x", "1h", "now1h", "-1h30m15s",
		"0", "1795280400", "99999999999", "100000000000", "1795280400000", "0x1a1ff0cee80", "0X1A1FF0CEE80", "0x", "0xg", "x1", "007", "1e3", "1.5", "1_000",
		"9223372036854775807", "9223372036854775808", "0x7fffffffffffffff", "0x8000000000000000", "2024-02-29", "2023-02-29", "2024-00-01", "2024-13-01", "2024-1-1",
		"2026-11-21T17:00:00.123456789Z", "2026-11-21T17:00:00,5Z", "2026-11-21T17:00:00.Z", "2026-11-21T24:00:00Z", "2026-11-21T23:60:00Z", "2026-11-21T23:59:60Z",
		"2026-11-21t17:00:00z", "2026-11-21  17:00", "2026-11-21 17", " 2026-11-21", "2026-11-21T17:00:00+0200", "2026-11-21T17:00:00-00:00", "0001-01-01", "9999-12-31T23:59:59.999Z",
	}
	for _, separator := range []string{"T", " "} {
		for _, clock := range []string{"17:00", "17:00:01", "17:00:01.25"} {
			for _, zone := range []string{"", "Z", " Z", "+02:00", " -11:30", "+24:30", "+02:60"} {
				texts = append(texts, "2026-11-21"+separator+clock+zone)
			}
		}
	}
	return texts
}

// randomTime returns a time that may not exist, because every month may have 31 days here.
func randomTime(random *rand.Rand) string {
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%dZ", 1900+random.IntN(400), 1+random.IntN(12), 1+random.IntN(31),
		random.IntN(25), random.IntN(60), random.IntN(60), random.IntN(1000))
}

package types_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

func TestUnmarshalText(t *testing.T) {
	t.Parallel()
	var id types.ID
	if err := id.UnmarshalText([]byte("7529595880471527425")); err != nil || id != sample {
		t.Errorf("got %d, %v; want %d", int64(id), err, int64(sample))
	}
	for _, test := range badDecimals {
		id := sample
		err := id.UnmarshalText([]byte(test.in))
		checkError(t, id, err, "types: ID.UnmarshalText"+test.want)
	}
}

func TestUnmarshalParam(t *testing.T) {
	t.Parallel()
	// The interface of gin and echo.
	var bind interface{ UnmarshalParam(string) error }
	var id types.ID
	bind = &id
	if err := bind.UnmarshalParam("7529595880471527425"); err != nil || id != sample {
		t.Errorf("got %d, %v; want %d", int64(id), err, int64(sample))
	}
	for _, test := range badDecimals {
		id := sample
		err := id.UnmarshalParam(test.in)
		checkError(t, id, err, "types: ID.UnmarshalParam"+test.want)
	}
}

// XML uses the text of an ID in attributes and elements.
func TestXML(t *testing.T) {
	t.Parallel()
	type order struct {
		XMLName xml.Name   `xml:"order"`
		ID      types.ID   `xml:"id,attr"`
		Parent  *types.ID  `xml:"parent,attr,omitempty"`
		Lines   []types.ID `xml:"line"`
	}
	const want = `<order id="7529595880471527425"><line>1</line><line>0</line></order>`
	text, err := xml.Marshal(order{ID: sample, Lines: []types.ID{1, 0}})
	if err != nil || string(text) != want {
		t.Fatalf("got %s, %v; want %s", text, err, want)
	}
	var back order
	if err := xml.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.ID != sample || len(back.Lines) != 2 || back.Lines[0] != 1 || back.Lines[1] != 0 {
		t.Errorf("got %+v", back)
	}
	if err := xml.Unmarshal([]byte(`<order id="1 "/>`), &back); err == nil {
		t.Error(`id="1 " is not an error`)
	}
}

// Package flag uses the text of an ID for a flag and its default.
func TestFlag(t *testing.T) {
	t.Parallel()
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var id types.ID
	flags.TextVar(&id, "order", types.ID(42), "the order")
	if got := flags.Lookup("order").DefValue; id != 42 || got != "42" {
		t.Errorf("default: got %d, %q", int64(id), got)
	}
	if err := flags.Parse([]string{"-order=7529595880471527425"}); err != nil || id != sample {
		t.Errorf("got %d, %v", int64(id), err)
	}
	if err := flags.Parse([]string{"-order=-5"}); err == nil {
		t.Error("-order=-5 is not an error")
	}
}

// fmt prints all digits of an ID. %x prints the characters, because an ID has a String
// method.
func TestPrinting(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"%v": "7529595880471527425", "%s": "7529595880471527425", "%d": "7529595880471527425",
		"%q": `"7529595880471527425"`, "%x": "37353239353935383830343731353237343235", "%020d": "07529595880471527425",
	} {
		if got := fmt.Sprintf(format, sample); got != want {
			t.Errorf("Sprintf(%q) = %s, want %s", format, got, want)
		}
	}
}

// A JSON log shows the ID as a string, because readers of a number may lose digits.
func TestSlogKeepsAllDigits(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("created", "order", sample)
	if want := `"order":"7529595880471527425"`; !strings.Contains(log.String(), want) {
		t.Errorf("got %s, want %s in it", log.String(), want)
	}
}

//go:build replay

package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gormflake/gormflake/lease/internal/test/model"
)

// Replay replays the events that a recorder has written. It returns an error if the
// model does not allow them, and the number of steps in the model.
func Replay(in io.Reader) (steps int, err error) {
	var events []model.Event
	for d := json.NewDecoder(in); err == nil; {
		var e model.Event
		if err = d.Decode(&e); err == nil {
			events = append(events, e)
		}
	}
	// A trace that ends within an event is replayed up to this event.
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("event %d: %w", len(events), err)
	}
	v := model.NewView()
	if err := v.Check(events); err != nil {
		return v.Steps, fmt.Errorf("the model does not allow what a process did: %w", err)
	}
	return v.Steps, nil
}

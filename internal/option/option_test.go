package option_test

import (
	"errors"
	"testing"

	"github.com/gormflake/gormflake/internal/option"
)

type setting interface{ apply(total *int) error }

type add struct{ n int }

func (a add) apply(total *int) error {
	if a.n < 0 {
		return errors.New("negative")
	}
	*total += a.n
	return nil
}

// TestApply checks that Apply applies each valid option, and joins the errors of the
// invalid options, which include nil.
func TestApply(t *testing.T) {
	t.Parallel()
	total := 0
	apply := func(s setting) error { return s.apply(&total) }
	if err := option.Apply("sums", []setting{add{1}, add{2}}, apply); err != nil || total != 3 {
		t.Errorf("total = %d, %v, want 3 and no error", total, err)
	}
	err := option.Apply("sums", []setting{add{-1}, nil, add{4}}, apply)
	if want := "negative\nsums: option 2 is nil"; err == nil || err.Error() != want {
		t.Errorf("error = %v, want every mistake: %q", err, want)
	}
	if total != 7 {
		t.Errorf("total = %d, want 7: the good options are applied too", total)
	}
}

// TestCheck checks that Check formats an error only for a bad argument.
func TestCheck(t *testing.T) {
	t.Parallel()
	if err := option.Check(true, "sum %d: want less", 3); err != nil {
		t.Errorf("of a good argument: %v", err)
	}
	if err := option.Check(false, "sum %d: want less", 3); err == nil || err.Error() != "sum 3: want less" {
		t.Errorf("of a bad one: %v", err)
	}
}

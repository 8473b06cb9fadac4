package pgsql

import "fmt"

// A Sequence is the parameters of one, as the catalog has them.
type Sequence struct {
	Type              string // smallint, integer or bigint
	Start, Increment  int64
	Smallest, Largest int64
	Cache             int64
	Cycle             bool
}

// Fields are what a row of the catalog is scanned into: the type, and seqstart,
// seqincrement, seqmin, seqmax, seqcache and seqcycle.
func (s *Sequence) Fields() []any {
	return []any{&s.Type, &s.Start, &s.Increment, &s.Smallest, &s.Largest, &s.Cache, &s.Cycle}
}

// Options are the clauses of CREATE SEQUENCE and of an identity. A limit that is
// the type's is not named: it follows the type.
func (s *Sequence) Options() string {
	low, high := s.limits()
	text := fmt.Sprintf("START WITH %d INCREMENT BY %d", s.Start, s.Increment)
	text += limit("MINVALUE", s.Smallest, low) + limit("MAXVALUE", s.Largest, high)
	text += fmt.Sprintf(" CACHE %d", s.Cache)
	if s.Cycle {
		text += " CYCLE"
	}
	return text
}

func limit(word string, value, natural int64) string {
	if value == natural {
		return " NO " + word
	}
	return fmt.Sprintf(" %s %d", word, value)
}

// EndsWithType reports whether the sequence goes as far as its type does.
func (s *Sequence) EndsWithType() bool {
	_, high := s.limits()
	return s.Largest == high
}

// limits are the defaults of the type.
func (s *Sequence) limits() (low, high int64) {
	low, high = -1<<63, 1<<63-1
	switch s.Type {
	case "smallint":
		low, high = -1<<15, 1<<15-1
	case "integer":
		low, high = -1<<31, 1<<31-1
	}
	if s.Increment > 0 {
		return 1, high
	}
	return low, -1
}

package likely

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
)

const (
	// maxValues is the number of values that are compared with keys. It is large enough
	// to find a value that is not a key if some are not.
	maxValues = 200

	// minValues is the smallest number of values that is evidence for a column whose name
	// has no meaning.
	minValues = 5

	// disproof is the number of values that are evidence against the name of a column if
	// none of them is a key.
	disproof = 10
)

// sampleValues are distinct values of a column, sorted.
type sampleValues []int64

// integers matches the integers in a text.
var integers = regexp.MustCompile(`-?\d+`)

// valuesIn returns the number in a text, or the numbers of an array.
func valuesIn(text string) (values sampleValues) {
	for _, digits := range integers.FindAllString(text, -1) {
		if value, err := strconv.ParseInt(digits, 10, 64); err == nil {
			values = append(values, value)
		}
	}
	return values
}

// distinctValues returns the values sorted and without duplicates. It removes 0 and -1,
// which columns without NULL use for no value.
func distinctValues(values sampleValues) sampleValues {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value int64) bool { return value == 0 || value == -1 })
}

// dense reports whether at least half of the values are the successor of another value,
// as the values of a counter are.
func (values sampleValues) dense() bool {
	next := 0
	for i := 1; i < len(values); i++ {
		if values[i] == values[i-1]+1 {
			next++
		}
	}
	return 2*next >= len(values)
}

// thinned returns the values or, if there are more than most, as many of them, evenly
// distributed.
func (values sampleValues) thinned(most int) sampleValues {
	if len(values) <= most {
		return values
	}
	kept := make(sampleValues, most)
	for i := range kept {
		kept[i] = values[i*(len(values)-1)/(most-1)]
	}
	return kept
}

// probes returns most random numbers between the smallest and the largest value, the same
// in every run. If most probes are keys, the keys have few gaps, and it means little that
// all values are keys.
func (values sampleValues) probes(most int) sampleValues {
	if len(values) < minValues {
		return nil
	}
	from, to := values[0], values[len(values)-1]
	span := uint64(to) - uint64(from) // as unsigned numbers, because the difference may exceed the largest int64
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make(sampleValues, most)
	for i := range numbers {
		numbers[i] = int64(uint64(from) + random.Uint64N(max(span+1, span))) // span + 1 is 0 for the whole range of int64
	}
	return numbers
}

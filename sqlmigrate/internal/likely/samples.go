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

// valuesIn returns the numbers in a text, which is the value of an integer column, or of
// an array such as {1,2}.
func valuesIn(text string) (values sampleValues) {
	for _, digits := range integers.FindAllString(text, -1) {
		if value, err := strconv.ParseInt(digits, 10, 64); err == nil {
			values = append(values, value)
		}
	}
	return values
}

// distinctValues returns the values sorted and without duplicates. It removes 0 and -1,
// because columns that cannot be NULL often hold them for no reference.
func distinctValues(values sampleValues) sampleValues {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value int64) bool { return value == 0 || value == -1 })
}

// dense reports whether at least half of the values are larger by 1 than another value,
// as the values of a counter are.
func (values sampleValues) dense() bool {
	successors := 0
	for i := 1; i < len(values); i++ {
		if values[i] == values[i-1]+1 {
			successors++
		}
	}
	return 2*successors >= len(values)
}

// thinned returns up to n of the values, at even distances in the sorted list, with the
// smallest and the largest value.
func (values sampleValues) thinned(n int) sampleValues {
	if len(values) <= n {
		return values
	}
	kept := make(sampleValues, n)
	for i := range kept {
		kept[i] = values[i*(len(values)-1)/(n-1)]
	}
	return kept
}

// probes returns n random numbers between the smallest and the largest value, possibly with
// duplicates. It returns the same numbers in every run, so that a plan does not change. The
// type lookup explains their use. For fewer than minValues values, probes returns nil.
func (values sampleValues) probes(n int) sampleValues {
	if len(values) < minValues {
		return nil
	}
	from, to := values[0], values[len(values)-1]
	span := uint64(to) - uint64(from) // as unsigned numbers, because the difference may exceed the largest int64
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make(sampleValues, n)
	for i := range numbers {
		numbers[i] = int64(uint64(from) + random.Uint64N(max(span+1, span))) // span + 1 is 0 for the whole range of int64
	}
	return numbers
}

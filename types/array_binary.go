package types

import (
	"encoding/binary"
	"slices"
)

// The head of an array in PostgreSQL's binary form has the number of dimensions,
// flags and the type of the elements, and unless it is empty the length and the lower
// bound of each dimension, all in 4 bytes. Each element follows its length.
const (
	emptyHead = 3 * 4
	listHead  = 5 * 4
)

func scanBinaryArray[T ~int64](b []byte) (Array[T], error) {
	field := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	if len(b) == emptyHead && field(0) == 0 {
		return Array[T]{}, nil
	}
	if len(b) < listHead || field(0) != 1 {
		return nil, binaryArrayError(b)
	}
	size, elements := integerSize(field(2)), b[listHead:]
	if size == 0 || uint64(len(elements)) != uint64(field(3))*uint64(4+size) {
		return nil, binaryArrayError(b)
	}
	a := make(Array[T], 0, field(3))
	for element := range slices.Chunk(elements, 4+size) {
		if binary.BigEndian.Uint32(element) != uint32(size) {
			return nil, binaryArrayError(b)
		}
		a = append(a, T(bigEndian(element[4:])))
	}
	return a, nil
}

func binaryArrayError(b []byte) error {
	return &parseError{"Array.Scan", string(b), "want one dimension of integers without NULL"}
}

// integerSize returns the bytes of an integer of the type with this number, 0 for
// all other types.
func integerSize(oid uint32) int {
	switch oid {
	case 20: // bigint
		return 8
	case 21: // smallint
		return 2
	case 23: // integer
		return 4
	}
	return 0
}

// bigEndian reads a signed integer of at most 8 bytes.
func bigEndian(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	unused := 64 - 8*len(b)
	return n << unused >> unused
}

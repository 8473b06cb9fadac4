package torture

import (
	"encoding/binary"
	"os"

	"github.com/gormflake/gormflake/types"
)

// An entry of a journal is an ID, or a marker. A marker has the top bit, a kind and a
// payload. An entry is complete, or is missing at the end of a journal whose process
// was killed.
type entry uint64

// The parts of an entry.
const (
	marker      entry = 1 << 63 // the bit that tells a marker from an ID
	kindShift         = 56      // the bits of the payload, above which the kind is
	payloadMask entry = 1<<kindShift - 1
	entryBytes        = 8
)

// The markers. A grant's payload is its worker's key and the time in Unix milliseconds
// at which the window of the previous grant ended.
const (
	granted entry = iota
	started       // a generator begins, without knowledge of the previous generator
	refused       // a call failed without a window; written once until the process continues
	stepped       // the clock has stepped, once or more often
	lost          // answers to writes were lost; the payload is their number
)

// The parts of a grant's payload, which has the worker's key above the time.
const (
	keyShift       = 44
	timeMask entry = 1<<keyShift - 1
	keyMask  entry = payloadMask >> keyShift
)

// markerOf returns a marker of this kind with the payload.
func markerOf(kind, payload entry) entry { return marker | kind<<kindShift | payload&payloadMask }

// grantMarker returns the marker of a grant of the worker with this key. The boundary is
// the end of the previous grant's window, or 0.
func grantMarker(key int64, boundary int64) entry {
	return markerOf(granted, entry(key)&keyMask<<keyShift|entry(max(0, boundary))&timeMask)
}

// A journal is the file of one process. Appended entries stay even if the process is
// killed immediately afterwards.
type journal struct {
	file *os.File
	buf  []byte
}

// traceSuffix is appended to the name of a journal to get the name of its process's
// trace.
const traceSuffix = ".trace"

// openJournal creates a journal, or opens it to append to it.
func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

// append writes the markers and IDs in one system call.
func (j *journal) append(markers []entry, ids []types.ID) error {
	j.buf = j.buf[:0]
	for _, m := range markers {
		j.buf = binary.LittleEndian.AppendUint64(j.buf, uint64(m))
	}
	for _, id := range ids {
		j.buf = binary.LittleEndian.AppendUint64(j.buf, uint64(id))
	}
	_, err := j.file.Write(j.buf)
	return err
}

func (j *journal) close() error { return j.file.Close() }

// readJournal calls visit for every complete entry.
func readJournal(path string, visit func(entry)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for ; len(data) >= entryBytes; data = data[entryBytes:] {
		visit(entry(binary.LittleEndian.Uint64(data)))
	}
	return nil
}

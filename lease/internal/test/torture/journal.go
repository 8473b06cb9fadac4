package torture

import (
	"encoding/binary"
	"os"

	"github.com/gormflake/gormflake/types"
)

// An entry of a journal is an ID, or a marker: the top bit, a kind and a
// payload. Entries are whole or, at the end of a process that was killed,
// missing.
type entry uint64

const (
	marker      entry = 1 << 63
	kindShift         = 56
	payloadMask entry = 1<<kindShift - 1
	entryBytes        = 8
)

// The markers. A grant's payload is its worker's key and the time in Unix
// milliseconds at which the window of the grant before it ended.
const (
	granted entry = iota
	started       // a generator begins, which knows nothing of the one before
	refused       // for want of a window; once until it continues
	stepped       // the clock, once or more often
	lost          // answers to writes; the payload is how many
)

const (
	keyShift       = 44
	timeMask entry = 1<<keyShift - 1
	keyMask  entry = payloadMask >> keyShift
)

func markerOf(kind, payload entry) entry { return marker | kind<<kindShift | payload&payloadMask }

func grantMarker(key int64, boundary int64) entry {
	return markerOf(granted, entry(key)&keyMask<<keyShift|entry(max(0, boundary))&timeMask)
}

// A journal is the file of one process. What was appended stays, also when
// the process is killed at once.
type journal struct {
	file *os.File
	buf  []byte
}

// traceSuffix makes the name of a journal that of its process's trace.
const traceSuffix = ".trace"

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

// readJournal calls visit for every whole entry.
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

package service

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gormflake/gormflake/types"
)

// A block is what a request needs of memory: its IDs, and the part of the answer
// that is being sent.
type block struct {
	ids  []types.ID
	text []byte
}

const (
	chunkSize = 32 << 10
	idSize    = 8
	longestID = len(`"9223372036854775807",`)

	// pooledIDs is the largest block that is kept for the next request.
	pooledIDs = 4096

	// stallTimeout is how long a client may leave a chunk unread.
	stallTimeout = 5 * time.Second
)

var blocks = sync.Pool{New: func() any { return &block{text: make([]byte, 0, chunkSize)} }}

// blockSize is what a block of n IDs takes of [Config.MaxMemory].
func blockSize(n int) int64 { return chunkSize + idSize*int64(max(n, pooledIDs)) }

// memory is what there is for blocks like one of n IDs: half of all for small ones, which
// would otherwise wait behind large ones whose clients do not read.
func (s *service) memory(n int) *semaphore.Weighted {
	if n <= pooledIDs {
		return s.small
	}
	return s.large
}

func takeBlock(n int) *block {
	if n > pooledIDs {
		return &block{make([]types.ID, n), make([]byte, 0, chunkSize)}
	}
	b := blocks.Get().(*block)
	if cap(b.ids) < n {
		b.ids = make([]types.ID, n, pooledIDs)
	}
	b.ids = b.ids[:n]
	return b
}

func (b *block) free() {
	if len(b.ids) <= pooledIDs {
		blocks.Put(b)
	}
}

const head, tail = `{"ids":[`, "]}\n"

// send writes the answer a chunk at a time, so that a client that reads slowly
// does not hold a long text. Who does not read a chunk in time is cut off.
func (b *block) send(w http.ResponseWriter, until time.Time) {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(b.length())}
	w.WriteHeader(http.StatusOK)
	text := b.text[:0]
	text = append(text, head...)
	for i, id := range b.ids {
		if len(text)+longestID+len(tail) > chunkSize {
			if !sendChunk(w, text, until) {
				return
			}
			text = text[:0]
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = strconv.AppendInt(text, int64(id), 10)
		text = append(text, '"')
	}
	_, _ = w.Write(append(text, tail...))
}

// sendChunk sends a chunk that is not the last one. It moves the deadline of the
// connection ahead, as far as until; where nothing can be late, as in tests,
// there is none.
func sendChunk(w http.ResponseWriter, text []byte, until time.Time) bool {
	deadline := time.Now().Add(stallTimeout)
	if deadline.After(until) {
		deadline = until
	}
	_ = http.NewResponseController(w).SetWriteDeadline(deadline)
	_, err := w.Write(text)
	return err == nil
}

func (b *block) length() int {
	n := len(head) + len(tail) + len(`"",`)*len(b.ids) - 1
	for _, id := range b.ids {
		n += len(strconv.AppendInt(b.text[:0], int64(id), 10))
	}
	return n
}

package service

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A block is the memory of a request for IDs, which consists of its IDs and the chunk of the
// answer that is being sent.
type block struct {
	ids  []types.ID
	text []byte // with the capacity chunkSize
}

const (
	chunkSize = 32 << 10                      // the most bytes of an answer that are sent at once
	idSize    = 8                             // bytes of a types.ID in memory
	longestID = len(`"9223372036854775807",`) // bytes of the longest ID in an answer

	// pooledIDs is the number of IDs of the largest block that is kept for later requests. A
	// block of at most this size is called small.
	pooledIDs = 4096

	// stallTimeout is how long a client may take to read a chunk.
	stallTimeout = 5 * time.Second
)

// blocks keeps small blocks for later requests, so that a request allocates no memory for
// IDs.
var blocks = sync.Pool{New: func() any { return &block{text: make([]byte, 0, chunkSize)} }}

// blockSize returns the number of bytes that a block of n IDs takes of [Config.MaxMemory]. A
// small block counts as a block of pooledIDs IDs, because takeBlock allocates it with this
// capacity.
func blockSize(n int) int64 { return chunkSize + idSize*int64(max(n, pooledIDs)) }

// takeBlock returns a block for n IDs, which is new if it is large, and may come from the pool
// if it is small. The caller frees it.
func takeBlock(n int) *block {
	if n > pooledIDs {
		return &block{make([]types.ID, n), make([]byte, 0, chunkSize)}
	}
	b := blocks.Get().(*block)
	if cap(b.ids) < n { // the block is new
		b.ids = make([]types.ID, n, pooledIDs)
	}
	b.ids = b.ids[:n]
	return b
}

// free keeps the block for a later request, unless it is large. The caller must not use it
// any more.
func (b *block) free() {
	if len(b.ids) <= pooledIDs {
		blocks.Put(b)
	}
}

// A listing is a form of the answer to a request for IDs. head and tail are the texts before
// and after all IDs, quote stands on both sides of an ID, and separator stands between two
// IDs.
type listing struct {
	contentType                  []string
	head, quote, separator, tail string
}

var (
	// asJSON is {"ids":["1","2"]}, and asLines has an ID on each line.
	asJSON  = &listing{jsonType, `{"ids":[`, `"`, ",", "]}\n"}
	asLines = &listing{[]string{"text/plain; charset=utf-8"}, "", "", "\n", "\n"}
)

// listingFor returns asLines if the header Accept of the request names text and does not
// name JSON, as that of curl -H 'Accept: text/plain' in a shell script. Otherwise it returns
// asJSON.
func listingFor(r *http.Request) *listing {
	accept := r.Header.Get("Accept")
	if strings.Contains(accept, "text/plain") && !strings.Contains(accept, "json") {
		return asLines
	}
	return asJSON
}

// send writes the IDs in the form, with status 200. It writes chunks of up to chunkSize bytes,
// so that a slow client does not occupy memory for the whole text. An answer of several chunks
// ends early if the client does not read one of them within stallTimeout, or the whole answer
// before the time until.
func (b *block) send(w http.ResponseWriter, form *listing, until time.Time) {
	header := w.Header()
	header["Content-Type"] = form.contentType
	header["Content-Length"] = []string{strconv.Itoa(b.length(form))}
	w.WriteHeader(http.StatusOK)
	text, chunks := b.text[:0], 0
	text = append(text, form.head...)
	for i, id := range b.ids {
		if len(text)+longestID+len(form.tail) > chunkSize { // the next ID may not fit
			if !sendChunk(w, text, until) {
				return
			}
			text, chunks = text[:0], chunks+1
		}
		if i > 0 {
			text = append(text, form.separator...)
		}
		text = append(text, form.quote...)
		text = strconv.AppendInt(text, int64(id), 10)
		text = append(text, form.quote...)
	}
	text = append(text, form.tail...)
	// The last of several chunks needs a new deadline, because the deadline of the chunk before
	// it may be near. A single chunk keeps the deadline that the server has set.
	if chunks > 0 {
		sendChunk(w, text, until)
		return
	}
	_, _ = w.Write(text)
}

// sendChunk sends a chunk of an answer that has several chunks. It reports whether the client
// has read the chunk within stallTimeout and before the time until. For that it sets the write
// deadline of the connection.
func sendChunk(w http.ResponseWriter, text []byte, until time.Time) bool {
	deadline := time.Now().Add(stallTimeout)
	if deadline.After(until) {
		deadline = until
	}
	// The writers of tests have no deadline, so SetWriteDeadline fails for them.
	_ = http.NewResponseController(w).SetWriteDeadline(deadline)
	_, err := w.Write(text)
	return err == nil
}

// length returns the number of bytes of the answer, for its Content-Length.
func (b *block) length(form *listing) int {
	n := len(form.head) + len(form.tail) + (2*len(form.quote)+len(form.separator))*len(b.ids)
	n -= len(form.separator) // no separator follows the last ID
	for _, id := range b.ids {
		n += len(strconv.AppendInt(b.text[:0], int64(id), 10))
	}
	return n
}

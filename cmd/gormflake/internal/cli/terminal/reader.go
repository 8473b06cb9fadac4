package terminal

import (
	"context"
	"errors"
	"io"
)

// A Reader returns from a Read that lasts once the context has ended. The goroutine
// that still waits for what In has ends with the process.
type Reader struct {
	Ctx context.Context
	In  io.Reader
}

func (r Reader) Read(p []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	got := make(chan answer, 1)
	go func() {
		n, err := r.In.Read(p)
		got <- answer{n, err}
	}()
	select {
	case a := <-got:
		return a.n, a.err
	case <-r.Ctx.Done(): // p is not touched again
		return 0, errors.New("interrupted")
	}
}

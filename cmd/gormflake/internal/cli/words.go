package cli

import "io"

const (
	// chunk is how much of a text is in memory.
	chunk = 256 << 10

	// maxWord is more than an ID has in any form: 32 characters of a serial
	// number's code, and some 40 digits.
	maxWord = 128
)

// words finds the words of a text: runs of ASCII letters and digits. What it
// holds of the text is bounded, however long lines and words are.
type words struct {
	in io.Reader

	last [2]byte // the bytes before the chunk
	long bool    // the chunk goes on with a word that is too long

	text func([]byte) error                   // gets all of the text in order, and
	word func([]byte) (handled bool, _ error) // each word first: text gets it unless handled

	// tail is how much of what follows a word may belong to it; nil: nothing.
	// Where it is not decided it is asked again with more text.
	tail func(after []byte) (n int, decided bool)

	chunkDone func() error
}

func (w *words) run() error {
	buf := make([]byte, 0, chunk)
	for {
		n, readErr := w.in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if readErr != nil && readErr != io.EOF {
			return readErr
		}
		used, err := w.consume(buf, readErr == io.EOF)
		if err != nil {
			return err
		}
		if err := w.chunkDone(); err != nil || readErr == io.EOF {
			return err
		}
		buf = buf[:copy(buf, buf[used:])]
	}
}

// consume deals with the text up to a word that may go on, and returns how much
// that is.
func (w *words) consume(data []byte, eof bool) (int, error) {
	begin, at := 0, 0 // of what text has not got, and of what is not looked at
	for at < len(data) {
		if !isWord[data[at]] {
			at++
			w.long = false
			continue
		}
		end := at + wordLen(data[at:])
		if w.long || end-at > maxWord {
			w.long = end == len(data)
			at = end
			continue
		}
		more, decided := w.more(data[end:])
		if !eof && (!decided || undecided(data[end:])) {
			w.remember(data[:at])
			return at, w.text(data[begin:at])
		}
		if err := w.text(data[begin:at]); err != nil {
			return 0, err
		}
		used, err := w.offer(data, at, end, more)
		if err != nil {
			return 0, err
		}
		begin = at + used
		at = max(end, begin)
	}
	w.remember(data)
	return len(data), w.text(data[begin:])
}

func wordLen(data []byte) int {
	n := 0
	for n < len(data) && isWord[data[n]] {
		n++
	}
	return n
}

func (w *words) more(after []byte) (n int, decided bool) {
	if w.tail == nil {
		return 0, true
	}
	return w.tail(after)
}

// offer offers the word with what may belong to it, then alone, and returns the
// length of what was handled.
func (w *words) offer(data []byte, at, end, more int) (int, error) {
	if more > 0 {
		if handled, err := w.word(data[at : end+more]); handled || err != nil {
			return end + more - at, err
		}
	}
	if w.fraction(data, at, end) {
		return 0, nil
	}
	handled, err := w.word(data[at:end])
	if !handled || err != nil {
		return 0, err
	}
	return end - at, nil
}

// undecided reports whether what follows a word does not show whether the word
// is a part of a number with a fraction.
func undecided(after []byte) bool {
	return len(after) == 0 || len(after) == 1 && after[0] == '.'
}

// fraction reports whether the word is a part of a number such as 0.25.
func (w *words) fraction(data []byte, at, end int) bool {
	before := func(i int) byte {
		if at >= i {
			return data[at-i]
		}
		return w.last[len(w.last)-i+at]
	}
	if before(1) == '.' && isDigit(before(2)) {
		return true
	}
	return end+1 < len(data) && data[end] == '.' && isDigit(data[end+1]) && isDigit(data[end-1])
}

func (w *words) remember(data []byte) {
	for _, b := range data[max(0, len(data)-len(w.last)):] {
		w.last = [2]byte{w.last[1], b}
	}
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

var isWord = func() (is [256]bool) {
	for b := range is {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		is[b] = letter && b < 0x80 || isDigit(byte(b))
	}
	return is
}()

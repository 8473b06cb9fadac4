// Package publicid writes IDs for the public: what a customer sees does not show when
// a row was created, how many there are or which process created it, says what it
// is, and needs no column.
//
//	codec, err := publicid.New(secret)              // 32 random bytes
//	orders, err := publicid.For[types.ID](codec, "ord")
//	text := orders.Format(order.ID)                 // ord_ and 22 characters, always the same for one ID
//	id, err := orders.Parse(text)
//
// A text that was not made with the secret, for this prefix, is rejected, but by a
// chance of 2⁻⁶⁴ for each attempt. It still is not a permission: check on every request
// whether the caller may read the row.
//
// # Format
//
// The text is the prefix, an underscore and one block of AES-256, whose key is the
// secret, as a number in base 58: 22 digits, the highest first, of
// 123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ. The block holds the ID
// and the first 8 bytes of the SHA-256 of "publicid:" and the prefix, both big-endian.
// testdata/vectors.json has examples.
//
// # Secrets
//
// Anyone who has the secret reads and makes texts; without it no text can be read again,
// and links that were given out are dead. So keep it where the passwords of the
// database are, with a copy. To change it, first pass the new one to [WithRetired] in
// all processes, so that they read its texts; then pass the new one to [New] and the old
// one to WithRetired.
package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/gormflake/gormflake/internal/option"
)

// SecretSize is the length of a secret in bytes.
const SecretSize = 32

// ErrInvalid is the error of [Kind.Parse]. It does not say what is wrong with the text,
// of which only guessers would learn.
var ErrInvalid = errors.New("publicid: invalid public ID")

// A Codec has the secrets. It may be used by several goroutines.
type Codec struct {
	ciphers []cipher.Block // the present one first
	blocks  sync.Pool      // of *[aes.BlockSize]byte, which an interface would allocate each time
}

// Option configures [New].
type Option interface {
	apply(c *Codec) error
}

type optionFunc func(*Codec) error

func (f optionFunc) apply(c *Codec) error { return f(c) }

// WithRetired names other secrets under which texts are read: earlier ones, and the next
// one before it is used. None is the default.
func WithRetired(secrets ...[]byte) Option {
	return optionFunc(func(c *Codec) error {
		for _, secret := range secrets {
			if err := c.add("WithRetired", secret); err != nil {
				return err
			}
		}
		return nil
	})
}

// New returns a codec. The secret is [SecretSize] random bytes, for example of
// "openssl rand 32", that no other program uses.
func New(secret []byte, opts ...Option) (*Codec, error) {
	c := &Codec{blocks: sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}}
	if err := c.add("New", secret); err != nil {
		return nil, err
	}
	if err := option.Apply("publicid", opts, func(o Option) error { return o.apply(c) }); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Codec) add(call string, secret []byte) error {
	if len(secret) != SecretSize {
		return fmt.Errorf("publicid: %s: secret of %d bytes: want %d random ones, for example of: openssl rand %[3]d", call, len(secret), SecretSize)
	}
	if [SecretSize]byte(secret) == [SecretSize]byte{} {
		return fmt.Errorf("publicid: %s: every byte of the secret is 0: want random ones", call)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return fmt.Errorf("publicid: %s: %w", call, err)
	}
	c.ciphers = append(c.ciphers, block)
	return nil
}

// A Kind writes and reads the public IDs of one kind of rows. It may be used by several
// goroutines. The zero Kind has no codec: [Kind.Format] returns the empty string, and
// [Kind.Parse] an error.
type Kind[K ~int64] struct {
	codec *Codec
	begin string // of each text
	tag   uint64 // of each block
}

// A Text is a public ID in a struct that is written or read as JSON, a form or a URL.
// [Kind.Text] makes one, and [Kind.Open] reads it.
type Text string

var prefixes = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// For returns the kind with a prefix, which names the rows in each of its texts: a
// lower-case letter and at most 31 more letters or digits. K is the type of the rows'
// keys, such as types.ID or types.Of[Order].
func For[K ~int64](c *Codec, prefix string) (Kind[K], error) {
	if c == nil {
		return Kind[K]{}, errors.New("publicid: For: codec is nil: want one of New")
	}
	if !prefixes.MatchString(prefix) {
		return Kind[K]{}, fmt.Errorf("publicid: For: prefix %q: want a lower-case letter, and at most 31 lower-case letters or digits after it", prefix)
	}
	sum := sha256.Sum256([]byte("publicid:" + prefix))
	return Kind[K]{c, prefix + "_", binary.BigEndian.Uint64(sum[:])}, nil
}

// Format returns the text of an ID, or the empty string if it is not above 0, as no ID
// of a row is.
func (k Kind[K]) Format(id K) string {
	if k.codec == nil || id <= 0 {
		return ""
	}
	block := k.codec.blocks.Get().(*[aes.BlockSize]byte)
	defer k.codec.blocks.Put(block)
	binary.BigEndian.PutUint64(block[:8], uint64(id))
	binary.BigEndian.PutUint64(block[8:], k.tag)
	k.codec.ciphers[0].Encrypt(block[:], block[:])
	var text [64]byte
	return string(appendBase58(append(text[:0], k.begin...), block))
}

// Parse returns the ID of a text that [Kind.Format] returned, under the same or a
// retired secret. Any other text is [ErrInvalid], and the ID is 0.
func (k Kind[K]) Parse(text string) (K, error) {
	if k.codec == nil || len(text) != len(k.begin)+digits || text[:len(k.begin)] != k.begin {
		return 0, ErrInvalid
	}
	high, low, ok := parseBase58(text[len(k.begin):])
	if !ok {
		return 0, ErrInvalid
	}
	block := k.codec.blocks.Get().(*[aes.BlockSize]byte)
	defer k.codec.blocks.Put(block)
	for _, c := range k.codec.ciphers {
		binary.BigEndian.PutUint64(block[:8], high)
		binary.BigEndian.PutUint64(block[8:], low)
		c.Decrypt(block[:], block[:])
		id := K(binary.BigEndian.Uint64(block[:8])) //nolint:gosec // a negative one is rejected
		// One comparison of two words, which takes as long wherever they differ.
		if binary.BigEndian.Uint64(block[8:]) == k.tag && id > 0 {
			return id, nil
		}
	}
	return 0, ErrInvalid
}

// Text is [Kind.Format] for a field of that type.
func (k Kind[K]) Text(id K) Text { return Text(k.Format(id)) }

// Open is [Kind.Parse] of a field of that type.
func (k Kind[K]) Open(text Text) (K, error) { return k.Parse(string(text)) }

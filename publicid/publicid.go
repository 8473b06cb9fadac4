// Package publicid encrypts IDs for public use, for example in URLs. A customer who sees
// a public ID cannot tell when the row was created, how many rows there are, or which
// process created it. The text names the kind of row, and needs no column in the
// database.
//
//	codec, err := publicid.New(secret)              // 32 random bytes
//	orders, err := publicid.For[types.ID](codec, "ord")
//	text := orders.Format(order.ID)                 // ord_ and 22 characters, always the same for one ID
//	id, err := orders.Parse(text)
//
// Parse rejects a text that was not made with the secret for this prefix, except with a
// probability of 2⁻⁶⁴ for each attempt. A public ID still is not a permission. Check on
// every request whether the caller may read the row.
//
// # Format
//
// The text is the prefix, an underscore and one block of AES-256 as a number in base 58.
// The key of the cipher is the secret. The number has 22 digits, the highest first, of
// 123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ. The block holds the ID and
// the first 8 bytes of the SHA-256 of "publicid:" and the prefix, both big-endian.
// testdata/vectors.json has examples.
//
// # Secrets
//
// Anyone who has the secret can read and make public IDs. If the secret is lost, no text
// can be read again, and links that contain public IDs stop working. Therefore keep the
// secret where the passwords of the database are, with a copy.
//
// To change the secret, first pass the new secret to [WithRetired] in all processes, so
// that they can read its texts. Then pass the new secret to [New] and the old secret to
// WithRetired.
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

// ErrInvalid is the error of [Kind.Parse]. It does not give the reason why the text is
// invalid, because the reason would only help someone who guesses texts.
var ErrInvalid = errors.New("publicid: invalid public ID")

// A Codec encrypts and decrypts IDs with its secrets. It may be used by several
// goroutines.
type Codec struct {
	ciphers []cipher.Block // the current secret's cipher first

	// blocks holds values of *[aes.BlockSize]byte to reuse. Format and Parse pass a block to the
	// interface cipher.Block, so a block of their own would be allocated at each call.
	blocks sync.Pool
}

// Option configures [New].
type Option interface {
	apply(c *Codec) error
}

// optionFunc is an [Option] that is a function.
type optionFunc func(*Codec) error

func (f optionFunc) apply(c *Codec) error { return f(c) }

// WithRetired adds secrets with which texts are read, but not written. Pass the secrets that
// were used before. Before the secret changes, also pass the next secret; see the package
// comment. The default is no other secrets.
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

// New returns a codec. The secret is [SecretSize] random bytes, for example from "openssl
// rand 32", that no other program uses. New returns an error if a secret has another
// length or is all zeros.
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

// add adds the cipher of a secret to the codec. call is the name of the calling function, such as
// "New", for errors.
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

// Kind formats and parses the public IDs of one kind of rows. [For] creates it. It is
// safe for concurrent use. The zero Kind has no codec, so its [Kind.Format] returns the
// empty string, and its [Kind.Parse] returns an error.
type Kind[K ~int64] struct {
	codec *Codec
	begin string // the prefix and underscore of each text
	tag   uint64 // the second half of each block, a hash of the prefix
}

// Text is a public ID in a struct that is written or read as JSON, a form or a URL.
// [Kind.Text] returns it for an ID, and [Kind.Open] returns the ID.
type Text string

// prefixes matches the prefixes that For accepts, such as "ord".
var prefixes = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// For returns the kind whose texts begin with prefix. The prefix names the kind of rows,
// and is a lower-case letter followed by at most 31 lower-case letters or digits. K is
// the type of the rows' keys, such as types.ID or types.Of[Order]. For returns an error
// if c is nil or the prefix has another form.
func For[K ~int64](c *Codec, prefix string) (Kind[K], error) {
	if c == nil {
		return Kind[K]{}, errors.New("publicid: For: codec is nil: want one of New")
	}
	if !prefixes.MatchString(prefix) {
		return Kind[K]{}, fmt.Errorf("publicid: For: prefix %q: want a lower-case letter, and at most 31 lower-case letters or digits after it", prefix)
	}
	sum := sha256.Sum256([]byte("publicid:" + prefix))
	return Kind[K]{codec: c, begin: prefix + "_", tag: binary.BigEndian.Uint64(sum[:])}, nil // Uint64 reads 8 bytes
}

// Format returns the text of an ID, such as ord_ and 22 characters. It returns the empty string
// if id is not positive, because no row has such an ID.
func (k Kind[K]) Format(id K) string {
	if k.codec == nil || id <= 0 { // a zero Kind has no codec
		return ""
	}
	block := k.codec.blocks.Get().(*[aes.BlockSize]byte)
	defer k.codec.blocks.Put(block)
	binary.BigEndian.PutUint64(block[:8], uint64(id))
	binary.BigEndian.PutUint64(block[8:], k.tag)
	k.codec.ciphers[0].Encrypt(block[:], block[:]) // with the current secret

	// The longest text has 33 bytes of prefix and underscore, and 22 digits.
	var text [64]byte
	return string(appendBase58(append(text[:0], k.begin...), block))
}

// Parse returns the ID of a text that [Kind.Format] returned, with the current or a
// retired secret. For any other text it returns 0 and [ErrInvalid].
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
	for _, c := range k.codec.ciphers { // the current secret first, and then the retired secrets
		binary.BigEndian.PutUint64(block[:8], high)
		binary.BigEndian.PutUint64(block[8:], low)
		c.Decrypt(block[:], block[:])
		id := K(binary.BigEndian.Uint64(block[:8])) //nolint:gosec // a negative one is rejected

		// If the secret is the right one, the second half of the block is the tag. A comparison
		// of two words takes the same time wherever they differ, so that the time does not help
		// someone who guesses texts.
		if binary.BigEndian.Uint64(block[8:]) == k.tag && id > 0 {
			return id, nil
		}
	}
	return 0, ErrInvalid
}

// Text returns the result of [Kind.Format] as a [Text].
func (k Kind[K]) Text(id K) Text { return Text(k.Format(id)) }

// Open returns the result of [Kind.Parse] for a [Text].
func (k Kind[K]) Open(text Text) (K, error) { return k.Parse(string(text)) }

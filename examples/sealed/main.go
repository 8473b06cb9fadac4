// Command sealed encrypts an ID for the public: one block of AES, of which eight
// bytes say what the token is for and eight are the ID. What was not sealed with
// the same key and for the same purpose does not open, but by a chance of 2⁻⁶⁴ each
// try.
//
//	go run ./examples/sealed
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gormflake/gormflake/types"
)

var encoding = base64.RawURLEncoding.Strict()

// seal returns 22 characters. Purpose has at most 8 bytes, and differs for each
// table.
func seal(secret cipher.Block, purpose string, id types.ID) string {
	var b [aes.BlockSize]byte
	copy(b[:8], purpose)
	binary.BigEndian.PutUint64(b[8:], uint64(id))
	secret.Encrypt(b[:], b[:])
	return encoding.EncodeToString(b[:])
}

func unseal(secret cipher.Block, purpose, token string) (types.ID, error) {
	var want [8]byte
	copy(want[:], purpose)
	b, err := encoding.DecodeString(token)
	if err != nil || len(b) != aes.BlockSize {
		return 0, errors.New("not a token")
	}
	secret.Decrypt(b, b)
	if [8]byte(b[:8]) != want {
		return 0, errors.New("not a token of this purpose")
	}
	return types.ID(binary.BigEndian.Uint64(b[8:])), nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	secret, err := aes.NewCipher([]byte("32 random bytes from your secret")) // openssl rand 32
	if err != nil {
		return err
	}
	token := seal(secret, "invoice", 2124442649149294496)
	id, err := unseal(secret, "invoice", token)
	if err != nil {
		return err
	}
	_, err = unseal(secret, "order", token)
	_, err = fmt.Fprintf(out, "%s\n%s\n%v\n", token, id, err)
	return err
}

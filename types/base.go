package types

const (
	base58Digits = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var (
	base58 = newAlphabet(base58Digits)
	base62 = newAlphabet(base62Digits)
)

// Base58 returns the ID in base 58, in at most 11 characters without 0, O, I and
// l, which people mix up. The alphabet is Flickr's, digits before lower case
// before upper case, as in github.com/bwmarrin/snowflake. A negative ID is written
// as a minus sign and its absolute value.
func (id ID) Base58() string { return id.format(base58Digits) }

// ParseBase58 reads the text of [ID.Base58]. Upper and lower case differ. A minus
// sign, a number above [math.MaxInt64], a leading 1, which is the digit zero, and
// the empty string are errors, as is any other text; the error quotes s. The ID is
// zero if the error is not nil.
func ParseBase58(s string) (ID, error) { return base58.parse("ParseBase58", s) }

// Base62 returns the ID in base 62, in at most 11 characters: digits before upper
// case before lower case. A negative ID is written as a minus sign and its absolute
// value.
func (id ID) Base62() string { return id.format(base62Digits) }

// ParseBase62 reads the text of [ID.Base62]. Upper and lower case differ. A minus
// sign, a number above [math.MaxInt64], a leading zero and the empty string are
// errors, as is any other text; the error quotes s. The ID is zero if the error is
// not nil.
func ParseBase62(s string) (ID, error) { return base62.parse("ParseBase62", s) }

// format is short enough for the compiler to put it into its callers, where the
// base is a constant and division costs a multiplication.
func (id ID) format(digits string) string {
	var buf [12]byte // 11 digits in base 58 and above, and a sign
	i := len(buf)
	base := uint64(len(digits))
	for n := id.magnitude(); ; n /= base {
		i--
		buf[i] = digits[n%base]
		if n < base {
			break
		}
	}
	if id < 0 {
		i--
		buf[i] = '-'
	}
	return string(buf[i:])
}

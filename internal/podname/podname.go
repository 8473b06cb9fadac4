// Package podname reads the names that Kubernetes gives to the pods of a StatefulSet.
package podname

import (
	"fmt"
	"strconv"
	"strings"
)

// Ordinal returns the number that ends the name of a StatefulSet's pod, or an error if host
// is no such name. For example, it returns 7 for web-7 and for
// web-7.web.default.svc.cluster.local.
func Ordinal(host string) (int64, error) {
	name, _, _ := strings.Cut(host, ".")
	dash := strings.LastIndexByte(name, '-')
	digits := name[dash+1:]
	// An ordinal is an int32 that is not negative, and has no leading zeros.
	number, err := strconv.ParseUint(digits, 10, 31)
	if dash < 0 || err != nil || len(digits) > 1 && digits[0] == '0' {
		return 0, fmt.Errorf("host name %q does not end in -<ordinal>: want the name of a StatefulSet's pod such as web-0", host)
	}
	return int64(number), nil
}

//go:build go1.27

package bench_test

import "uuid"

// appendStandardUUID adds the UUIDs of the standard library, which has them since Go 1.27.
func appendStandardUUID(all []codec) []codec { return append(all, newCodec("stduuid", uuid.Max())) }

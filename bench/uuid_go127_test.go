//go:build go1.27

package bench_test

import "uuid"

func appendStandardUUID(all []codec) []codec { return append(all, newCodec("stduuid", uuid.Max())) }

//go:build go1.27

package main

import "uuid"

func appendStandardUUID(all []codec) ([]codec, error) {
	c, err := newCodec("uuid of Go 1.27", uuid.Max())
	return append(all, c), err
}

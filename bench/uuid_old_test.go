//go:build !go1.27

package bench_test

// appendStandardUUID adds nothing, because this standard library has no UUIDs.
func appendStandardUUID(all []codec) []codec { return all }

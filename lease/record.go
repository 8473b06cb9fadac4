package lease

// A Record is what a [Store] keeps of one worker. The zero Record stands for
// one that has never been written.
type Record struct {
	// Bound is in Unix milliseconds. Every tick that was ever issued under
	// this worker, or that anybody can still issue, is below it.
	Bound int64

	// Owner is the token of one grant of the worker, at most 128 characters of
	// printable ASCII: host/process/random, and how often it was written, the
	// bound that the grant replaced and its window, both in milliseconds. It
	// ends in "/released" once the worker is; where a person has freed it, it
	// may be empty.
	Owner string
}
